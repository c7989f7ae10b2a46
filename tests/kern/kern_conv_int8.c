/* Convolutions of bytes, depthwise and as products, against sums element by element. All must agree
 * to the bit. */
#include "kern/kern.h"

#include <math.h>
#include <stdio.h>

#include "cpu/kernels/conv_int8/conv_int8.h"

#define BYTE_SCALE 0x1p-24f /* sums of all sizes become bytes of all sizes */

typedef struct conv_case {
    hn_window s;
    int64_t batch, channels, filters, groups;
    bool x_is_signed, w_is_signed, has_zeros;
} conv_case;

static int32_t byte_at(const uint8_t *bytes, bool is_signed, int64_t at) {
    return is_signed ? ((const int8_t *)bytes)[at] : bytes[at];
}

/* The window of one more axis in front of those there are. */
static void add_axis(hn_window *s, int64_t in, int64_t kernel) {
    int32_t i = s->n_axes++;
    s->in[i] = in;
    s->kernel[i] = kernel;
    s->stride[i] = kern_between(1, 3);
    s->dilation[i] = kern_between(0, 2) ? 1 : 2;
    s->pad[i] = kern_between(0, 1) ? kern_between(0, kernel) : 0;
    int64_t reach = (kernel - 1) * s->dilation[i] + 1, more = kern_between(0, kernel);
    s->out[i] = HN_MAX(0, (in + s->pad[i] + more - reach) / s->stride[i] + 1);
    if (in + s->pad[i] + more < reach)
        s->out[i] = 0;
    s->in_elems = (i == 0 ? 1 : s->in_elems) * in;
    s->out_elems = (i == 0 ? 1 : s->out_elems) * s->out[i];
    s->kernel_elems = (i == 0 ? 1 : s->kernel_elems) * kernel;
}

static int32_t exact_sum(const conv_case *t, const hn_conv_int8_job *job, const uint8_t *w,
                         const int32_t *w_zeros, int64_t image, int64_t position, int64_t filter) {
    const hn_window *s = &t->s;
    int64_t per_group = t->channels / t->groups, group = filter / (t->filters / t->groups);
    int64_t out[2], tap[2], at[2] = {0, 0};
    int32_t x_zero = byte_at(&job->x_zero, t->x_is_signed, 0);
    uint32_t sum = 0;
    hn_window_split(s->n_axes, s->out, position, out);
    for (int64_t k = 0; k < s->kernel_elems; k++) {
        bool is_in = true;
        int64_t pixel = image;
        hn_window_split(s->n_axes, s->kernel, k, tap);
        for (int32_t i = 0; i < s->n_axes; i++) {
            at[i] = out[i] * s->stride[i] - s->pad[i] + tap[i] * s->dilation[i];
            is_in = is_in && at[i] >= 0 && at[i] < s->in[i];
            pixel = pixel * s->in[i] + at[i];
        }
        for (int64_t c = 0; is_in && c < per_group; c++) {
            int32_t x =
                byte_at(job->x, t->x_is_signed, pixel * job->x_step + group * per_group + c);
            int32_t y = byte_at(w, t->w_is_signed, (filter * per_group + c) * s->kernel_elems + k);
            sum += (uint32_t)((x - x_zero) * (y - w_zeros[filter]));
        }
    }
    return (int32_t)sum;
}

/* The same job with bytes as results, against the sums that were found right. */
static void check_conv_bytes(const conv_case *t, hn_conv_int8_job job, int pool,
                             const int32_t *sums) {
    int64_t n_pixels = t->batch * t->s.out_elems;
    int64_t n_y = n_pixels ? (n_pixels - 1) * job.y_step + t->filters : 0;
    uint8_t *y = kern_bytes(n_y);
    hn_int8_result *s = &job.result;
    s->to = HN_INT8_TO_BYTES;
    s->zero = (int32_t)kern_between(0, 255);
    s->low = (float)-s->zero;
    s->high = (float)(255 - s->zero);
    job.y = y;
    hn_conv_int8(kern_pool(pool), &job);
    for (int64_t i = 0; i < n_pixels * t->filters; i++) {
        int64_t at = i / t->filters * job.y_step + i % t->filters;
        float q = hn_round_even(fmaxf(s->low, fminf((float)sums[at] * BYTE_SCALE, s->high)));
        KERN_CHECK(y[at] == (uint8_t)((int32_t)q + s->zero),
                   "%d channels, %d filters, %d groups: byte %d, not of sum %d", (int)t->channels,
                   (int)t->filters, (int)t->groups, y[at], sums[at]);
    }
}

static void check_conv_int8(const conv_case *t) {
    const hn_window *s = &t->s;
    int64_t per_group = t->channels / t->groups;
    hn_conv_int8_job job = {.window = s,
                            .batch = t->batch,
                            .channels = t->channels,
                            .filters = t->filters,
                            .groups = t->groups,
                            .x_is_signed = t->x_is_signed,
                            .x_step = t->channels + kern_between(0, 1) * 3,
                            .x_zero = (uint8_t)kern_random(),
                            .y_step = t->filters + kern_between(0, 1) * 2};
    int64_t n_in = t->batch * s->in_elems,
            n_x = n_in > 0 ? (n_in - 1) * job.x_step + t->channels : 0;
    int64_t n_pixels = t->batch * s->out_elems;
    const float scale = BYTE_SCALE;
    job.x = kern_hostile_bytes(n_x);
    const uint8_t *w = kern_hostile_bytes(t->filters * per_group * s->kernel_elems);
    int32_t *w_zeros = kern_bytes(t->filters * 4), *bias = kern_bytes(t->filters * 4);
    for (int64_t f = 0; f < t->filters; f++) {
        uint8_t zero = t->has_zeros ? (uint8_t)kern_random() : t->w_is_signed ? 0 : 0x80;
        w_zeros[f] = byte_at(&zero, t->w_is_signed, 0);
        bias[f] = (int32_t)kern_random();
    }
    void *packed = kern_bytes((int64_t)hn_conv_int8_packed_bytes(&job));
    hn_conv_int8_pack(&job, w, t->w_is_signed, packed);
    job.packed_w = packed;
    void *columns = kern_bytes((int64_t)hn_conv_int8_columns_bytes(&job));
    hn_conv_int8_fill_columns(&(hn_int8_columns){.b_zeros = w_zeros,
                                                 .n_b_zeros = t->filters,
                                                 .b_is_signed = t->w_is_signed,
                                                 .bias = bias,
                                                 .scales = &scale,
                                                 .n_scales = 1,
                                                 .scale = 1,
                                                 .divisor = 1},
                              columns, &job);
    for (int pool = 0; pool < KERN_POOLS; pool++) {
        int64_t n_y = n_pixels ? (n_pixels - 1) * job.y_step + t->filters : 0;
        int32_t *y = kern_bytes(n_y * 4);
        job.y = y;
        job.n_threads = pool + 1;
        job.workspace = kern_bytes((int64_t)hn_conv_int8_workspace_bytes(&job));
        hn_conv_int8(kern_pool(pool), &job);
        for (int64_t i = 0; i < n_pixels * t->filters; i++) {
            int64_t pixel = i / t->filters, f = i % t->filters;
            int32_t exact =
                exact_sum(t, &job, w, w_zeros, pixel / s->out_elems, pixel % s->out_elems, f);
            exact = (int32_t)((uint32_t)exact + (uint32_t)bias[f]);
            KERN_CHECK(y[pixel * job.y_step + f] == exact,
                       "%d channels, %d filters, %d groups, %d positions: %d, not %d at %d, %d",
                       (int)t->channels, (int)t->filters, (int)t->groups, (int)n_pixels,
                       y[pixel * job.y_step + f], exact, (int)pixel, (int)f);
        }
        check_conv_bytes(t, job, pool, y);
    }
    kern_release();
}

static void check_some(int64_t channels, int64_t filters, int64_t groups) {
    int form = (int)kern_between(0, 7);
    conv_case t = {.batch = kern_between(1, 2),
                   .channels = channels,
                   .filters = filters,
                   .groups = groups,
                   .x_is_signed = form & 1,
                   .w_is_signed = form & 2,
                   .has_zeros = form & 4};
    bool is_pixelwise = kern_between(0, 2) == 0;
    for (int64_t i = kern_between(0, 1); i < 2; i++)
        add_axis(&t.s, kern_between(1, 20), is_pixelwise ? 1 : kern_between(1, 4));
    for (int32_t i = 0; is_pixelwise && i < t.s.n_axes; i++) {
        t.s.stride[i] = 1;
        t.s.pad[i] = 0;
        t.s.out[i] = t.s.in[i];
        t.s.out_elems = t.s.in_elems;
    }
    if (!kern_leaves_out())
        check_conv_int8(&t);
}

void kern_test_depthwise_int8(void) {
    static const int64_t depthwise[] = {2, 3, 16, 17, 63, 64, 65, 130};
    static const int64_t sizes[][3] = {
        {1, 1, 1},   {3, 32, 1}, {4, 33, 1},  {16, 7, 1},   {31, 5, 1}, {8, 12, 4},   {10, 70, 2},
        {64, 64, 1}, {6, 3, 3},  {36, 36, 9}, {40, 100, 5}, {2, 4, 2},  {128, 40, 2}, {192, 33, 1}};
    for (size_t i = 0; i < HN_COUNT(depthwise); i++)
        for (int n = 0; n < 8; n++)
            check_some(depthwise[i], depthwise[i], depthwise[i]);
    for (size_t i = 0; i < HN_COUNT(sizes); i++)
        for (int n = 0; n < 12; n++)
            check_some(sizes[i][0], sizes[i][1], sizes[i][2]);
}

/* ---- speed ---- */

static void run_conv_int8(hn_pool *pool, const void *job) {
    hn_conv_int8(pool, job);
}

static void bench_one(int64_t size, int64_t kernel, int64_t stride, int64_t channels,
                      int64_t filters, int64_t groups) {
    char name[64];
    int64_t out = (size + stride - 1) / stride, pad = kernel / 2, n_out = out * out * filters;
    hn_window s = {.n_axes = 2,
                   .in = {size, size},
                   .out = {out, out},
                   .kernel = {kernel, kernel},
                   .stride = {stride, stride},
                   .dilation = {1, 1},
                   .pad = {pad, pad},
                   .in_elems = size * size,
                   .out_elems = out * out,
                   .kernel_elems = kernel * kernel};
    hn_conv_int8_job job = {.window = &s,
                            .batch = 1,
                            .channels = channels,
                            .filters = filters,
                            .groups = groups,
                            .x = kern_hostile_bytes(size * size * channels),
                            .x_step = channels,
                            .y = kern_bytes(n_out),
                            .y_step = filters};
    void *packed = kern_bytes((int64_t)hn_conv_int8_packed_bytes(&job));
    hn_conv_int8_pack(&job, kern_hostile_bytes(filters * channels / groups * s.kernel_elems), true,
                      packed);
    job.packed_w = packed;
    float scale = 1e-4f;
    hn_conv_int8_fill_columns(
        &(hn_int8_columns){
            .b_is_signed = true, .scales = &scale, .n_scales = 1, .scale = 1, .divisor = 1},
        kern_bytes((int64_t)hn_conv_int8_columns_bytes(&job)), &job);
    job.result.to = HN_INT8_TO_BYTES;
    job.result.high = 255;
    job.n_threads = 2;
    job.workspace = kern_bytes((int64_t)hn_conv_int8_workspace_bytes(&job));
    snprintf(name, sizeof name, "conv int8 %dx%d s%d %dx%d, %d to %d", (int)kernel, (int)kernel,
             (int)stride, (int)size, (int)size, (int)channels, (int)filters);
    double macs = (double)n_out * (double)(channels / groups * s.kernel_elems);
    kern_time(name, &(kern_run){.fn = run_conv_int8,
                                .job = &job,
                                .flops = 2.0 * macs,
                                .with_two = true,
                                .is_int = true});
    kern_release();
}

void kern_bench_conv_int8(void) {
    static const int64_t layers[][6] = {
        {224, 7, 2, 3, 64, 1},    {56, 1, 1, 64, 64, 1},     {56, 3, 1, 64, 64, 1},
        {56, 1, 1, 64, 256, 1},   {28, 3, 1, 128, 128, 1},   {14, 3, 1, 256, 256, 1},
        {14, 1, 1, 1024, 256, 1}, {7, 3, 1, 512, 512, 1},    {7, 1, 1, 2048, 512, 1},
        {112, 1, 1, 16, 96, 1},   {56, 3, 1, 144, 144, 144}, {14, 3, 1, 576, 576, 576},
        {14, 5, 1, 672, 672, 672}};
    for (size_t i = 0; i < HN_COUNT(layers); i++)
        bench_one(layers[i][0], layers[i][1], layers[i][2], layers[i][3], layers[i][4],
                  layers[i][5]);
}
