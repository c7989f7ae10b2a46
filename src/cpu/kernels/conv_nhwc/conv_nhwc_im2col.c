/* Small maps: the elements of each window are copied side by side (im2col), so that a convolution
 * becomes one pointwise product. Cutting such a map into rectangles that touch the same padding
 * costs more than the copies: a 3x3 window over 4 channels of a 4x4 map has nine of them. */
#include "cpu/kernels/conv_nhwc/conv_nhwc_form.h"

#define MOST_OUTPUTS 64
#define MOST_COPIED_ELEMS 8192 /* what stays in the first cache */

int64_t hn_im2col_nhwc_elems(const hn_conv_nhwc_job *job) {
    const hn_window *s = job->window;
    int64_t outs = job->batch * s->out_elems, depth = job->channels * s->kernel_elems;
    bool fits = job->packed_w && job->groups == 1 && s->n_axes == 2 && s->kernel_elems > 1 &&
                outs <= MOST_OUTPUTS && depth <= HN_PRODUCT_MOST_SLICE &&
                outs * depth <= MOST_COPIED_ELEMS;
    return fits ? outs * depth : 0;
}

/* Where taps begin and end that read inside of an axis. */
typedef struct inner_taps {
    int64_t first, past, in; /* in: the element that tap 0 would read */
} inner_taps;

static inner_taps find_inner_taps(const hn_window *s, int32_t a, int64_t out) {
    inner_taps t = {.in = out * s->stride[a] - s->pad[a], .past = s->kernel[a]};
    while (t.first < t.past && t.in + t.first * s->dilation[a] < 0)
        t.first++;
    while (t.past > t.first && t.in + (t.past - 1) * s->dilation[a] >= s->in[a])
        t.past--;
    return t;
}

/* One window, whose padding is zero already. */
static void gather_window(const hn_conv_nhwc_job *job, const float *image, inner_taps line,
                          inner_taps pixel, float *out) {
    const hn_window *s = job->window;
    int64_t channels = job->channels, step = hn_conv_nhwc_x_stride(job);
    bool is_joined = step == channels && s->dilation[1] == 1;
    int64_t at_once = is_joined ? HN_MAX(pixel.past - pixel.first, 1) : 1;
    for (int64_t i = line.first; i < line.past; i++) {
        const float *row = image + (line.in + i * s->dilation[0]) * s->in[1] * step;
        for (int64_t j = pixel.first; j < pixel.past; j += at_once)
            memcpy(out + (i * s->kernel[1] + j) * channels,
                   row + (pixel.in + j * s->dilation[1]) * step,
                   (size_t)(at_once * channels) * sizeof *out);
    }
}

static void gather_windows(const hn_conv_nhwc_job *job, int64_t depth, float *out) {
    const hn_window *s = job->window;
    int64_t image_elems = s->in_elems * hn_conv_nhwc_x_stride(job);
    inner_taps pixels[MOST_OUTPUTS];
    memset(out, 0, (size_t)(job->batch * s->out_elems * depth) * sizeof *out);
    for (int64_t j = 0; j < s->out[1]; j++)
        pixels[j] = find_inner_taps(s, 1, j);
    for (int64_t b = 0; b < job->batch; b++)
        for (int64_t i = 0; i < s->out[0]; i++) {
            inner_taps line = find_inner_taps(s, 0, i);
            for (int64_t j = 0; j < s->out[1]; j++, out += depth)
                gather_window(job, job->x + b * image_elems, line, pixels[j], out);
        }
}

bool hn_im2col_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job) {
    if (hn_im2col_nhwc_elems(job) == 0 || !job->scratch) /* bands of chains bring no scratch */
        return false;
    int64_t outs = job->batch * job->window->out_elems;
    int64_t depth = job->channels * job->window->kernel_elems;
    hn_window points = {.n_axes = 1,
                        .in = {outs},
                        .out = {outs},
                        .kernel = {1},
                        .stride = {1},
                        .dilation = {1},
                        .in_elems = outs,
                        .out_elems = outs,
                        .kernel_elems = 1};
    hn_conv_nhwc_job product = *job;
    hn_product_form form;
    gather_windows(job, depth, job->scratch);
    product.window = &points;
    product.batch = 1;
    product.channels = depth;
    product.x = job->scratch;
    product.x_step = 0;
    hn_product_form_read(&product, NULL, &form);
    hn_product_run(pool, &product, &form, job->packed_w);
    return true;
}
