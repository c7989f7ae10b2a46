/* Convolutions of bytes as products: the elements of all windows are copied side by side (im2col),
 * a block of output positions at a time, so that instructions that multiply bytes can be used. */
#include "cpu/kernels/gemm_int8/gemm_int8.h"
#include "ops/eval/onnx/conv_int8_eval.h"

#define BLOCK_BYTES ((int64_t)256 << 10) /* of copied windows: a part of the second-level cache */
#define FEWEST_FILTERS 4                 /* of a group: a product of fewer rows gains nothing */

bool hn_byte_conv_fits(const hn_byte_conv *v) {
    return hn_dtype_is_byte(v->x->dtype) && hn_dtype_is_byte(v->w->dtype) &&
           hn_gemm_int8_is_fast() && v->window->n_axes > 0 && v->w->n_elems > 0 &&
           v->window->out_elems > 0 && v->w->dims[0] / v->groups >= FEWEST_FILTERS;
}

/* Windows of some output positions: one row per channel and window element. */
typedef struct byte_windows {
    const hn_window *s;
    const uint8_t *x; /* the first channel of the group */
    uint8_t padding;
    int64_t first, n; /* output positions */
    uint8_t *out;
} byte_windows;

/* n positions of one output line, from `first` on. */
static void copy_byte_line(const byte_windows *m, const uint8_t *line, int64_t tap, int64_t first,
                           int64_t n, uint8_t *out) {
    const hn_window *s = m->s;
    int32_t last = s->n_axes - 1;
    int64_t begin, end, stride = s->stride[last];
    hn_window_inside(s, last, tap, &begin, &end);
    begin = line ? HN_MIN(HN_MAX(begin - first, 0), n) : n;
    end = HN_MAX(HN_MIN(end - first, n), begin);
    memset(out, m->padding, (size_t)begin);
    memset(out + end, m->padding, (size_t)(n - end));
    if (begin == end)
        return;
    const uint8_t *from = line + (first + begin) * stride - s->pad[last] + tap * s->dilation[last];
    if (stride == 1)
        memcpy(out + begin, from, (size_t)(end - begin));
    for (int64_t j = begin; stride != 1 && j < end; j++, from += stride)
        out[j] = *from;
}

/* NULL: it lies in the padding. */
static const uint8_t *byte_line(const hn_window *s, const uint8_t *plane, const int64_t *taps,
                                const int64_t *at) {
    int64_t line = hn_window_line(s, taps, at);
    return line < 0 ? NULL : plane + line;
}

static void copy_byte_windows(void *ctx, int64_t begin, int64_t end) {
    const byte_windows *m = ctx;
    const hn_window *s = m->s;
    int32_t last = s->n_axes - 1;
    int64_t taps[HN_MAX_SPATIAL], at[HN_MAX_SPATIAL];
    for (int64_t k = begin; k < end; k++) {
        const uint8_t *plane = m->x + k / s->kernel_elems * s->in_elems;
        hn_window_split(s->n_axes, s->kernel, k % s->kernel_elems, taps);
        hn_window_split(s->n_axes, s->out, m->first, at);
        for (int64_t j = 0, n; j < m->n; j += n) {
            n = HN_MIN(m->n - j, s->out[last] - at[last]);
            copy_byte_line(m, byte_line(s, plane, taps, at), taps[last], at[last], n,
                           m->out + k * m->n + j);
            at[last] = 0;
            hn_window_step(last, s->out, at);
        }
    }
}

/* One group of one image. */
static void convolve_byte_group(hn_eval *c, const hn_byte_conv *v, hn_gemm_int8_job *job,
                                byte_windows *windows, int32_t *sums) {
    int64_t block = HN_MIN(v->window->out_elems, HN_MAX(64, BLOCK_BYTES / HN_MAX(job->k, 1)));
    for (int64_t j = 0; j < v->window->out_elems; j += block) {
        windows->first = j;
        windows->n = HN_MIN(block, v->window->out_elems - j);
        hn_pool_for(hn_eval_pool(c), job->k, HN_MAX(1, 4096 / windows->n), copy_byte_windows,
                    windows);
        job->n = job->b_row = windows->n;
        job->c = sums + j;
        hn_gemm_int8(hn_eval_pool(c), job);
    }
}

static void add_int_bias(const hn_byte_conv *v, int64_t n_planes, int32_t *sums) {
    const int32_t *bias = v->bias->data;
    for (int64_t i = 0; i < n_planes; i++)
        for (int64_t j = 0; j < v->window->out_elems; j++) {
            int32_t *sum = &sums[i * v->window->out_elems + j];
            *sum = (int32_t)((uint32_t)*sum + (uint32_t)bias[i % v->w->dims[0]]);
        }
}

static hone_status read_byte_zeros(hn_eval *c, const hn_array *zero, const int32_t **zeros,
                                   int64_t *n) {
    const hn_slices one = {1, 1, UINT64_MAX};
    if (!zero)
        return HONE_OK;
    HN_TRY_PTR(*zeros = hn_wide_i32(c, zero, NULL, &one));
    *n = (int64_t)zero->n_elems;
    return HONE_OK;
}

hone_status hn_byte_conv_sums(hn_eval *c, const hn_byte_conv *v, int32_t *sums) {
    const hn_window *s = v->window;
    int64_t batch = v->x->dims[0], channels = v->w->dims[1], filters = v->w->dims[0] / v->groups;
    hn_gemm_int8_job job = {.m = filters,
                            .k = channels * s->kernel_elems,
                            .a_is_signed = v->w->dtype == HN_I8,
                            .a_row = channels * s->kernel_elems,
                            .a_col = 1,
                            .b_is_signed = v->x->dtype == HN_I8,
                            .b_col = 1,
                            .c_row = s->out_elems};
    const int32_t *w_zeros = NULL;
    HN_TRY(read_byte_zeros(c, v->w_zero, &w_zeros, &job.n_a_zeros));
    HN_TRY(read_byte_zeros(c, v->x_zero, &job.b_zeros, &job.n_b_zeros));
    byte_windows windows = {.s = s, .padding = job.b_zeros ? (uint8_t)job.b_zeros[0] : 0};
    job.n = HN_MIN(s->out_elems, HN_MAX(64, BLOCK_BYTES / HN_MAX(job.k, 1)));
    HN_TRY_PTR(windows.out = hn_eval_scratch_n(c, (uint64_t)(job.n * job.k), 1));
    HN_TRY_PTR(job.workspace = hn_eval_scratch(c, hn_gemm_int8_workspace_bytes(&job)));
    job.b = windows.out;
    for (int64_t i = 0; i < batch * v->groups; i++) {
        int64_t group = i % v->groups;
        windows.x = (const uint8_t *)v->x->data + i * channels * s->in_elems;
        job.a = (const uint8_t *)v->w->data + group * filters * job.k;
        job.a_zeros = w_zeros && job.n_a_zeros > 1 ? w_zeros + group * filters : w_zeros;
        convolve_byte_group(c, v, &job, &windows, sums + i * filters * s->out_elems);
    }
    if (v->bias)
        add_int_bias(v, batch * v->groups * filters, sums);
    return HONE_OK;
}
