/* Quantized operators of com.microsoft that are no products, computed: real numbers come in, real
 * numbers go out. */
#include "ops/eval/ms/ms_qlinear_eval.h"

#include <math.h>

#include "ops/eval/eval_broadcast.h"
#include "ops/eval/copy.h"

static hone_status quantize_into(hn_array *real, hn_affine by, hn_array *y) {
    hn_quantize_f32(real->data, by, y, 0, y->n_elems);
    return HONE_OK;
}

/* ---- element by element ---------------------------------------------------------------------- */

hn_byte_pair hn_qlinear_pair(const hn_eval *c, bool is_sum) {
    hn_affine a = hn_affine_args(c, 1, 2), b = hn_affine_args(c, 4, 5), y = hn_affine_args(c, 6, 7);
    return (hn_byte_pair){.a_zero = a.zero,
                          .b_zero = b.zero,
                          .by_a = is_sum ? a.scale / y.scale : a.scale * b.scale / y.scale,
                          .by_b = b.scale / y.scale,
                          .y_zero = y.zero};
}

hn_byte_pair_fn hn_qlinear_pair_fn(hn_dtype t, bool is_sum) {
    const hn_byte_pair_loops *loops = hn_byte_pair_loops_find();
    return t == HN_U8 ? (is_sum ? loops->add_u8 : loops->mul_u8)
                      : (is_sum ? loops->add_s8 : loops->mul_s8);
}

void hn_qlinear_pair_row(void *ctx, const hn_row *row) {
    const hn_qlinear_pair_job *job = ctx;
    job->fn(row->n, job->a + row->in[0], row->step[0], job->b + row->in[1], row->step[1], &job->by,
            job->y + row->out);
}

/* Data, scale and zero point of either side, then scale and zero point of the result. */
static hone_status run_qlinear_pair(hn_eval *c, bool is_sum) {
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, 3);
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    hn_qlinear_pair_job job = {.fn = hn_qlinear_pair_fn(y->dtype, is_sum),
                               .by = hn_qlinear_pair(c, is_sum),
                               .a = a->data,
                               .b = b->data,
                               .y = y->data};
    return hn_broadcast_rows(c, y, 2, (const hn_array *const[]){a, b}, hn_qlinear_pair_row, &job);
}

static hone_status eval_qlinear_add(hn_eval *c) {
    return run_qlinear_pair(c, true);
}
const hn_impl hn_impl_qlinear_add[1] = {{.eval = eval_qlinear_add}};

static hone_status eval_qlinear_mul(hn_eval *c) {
    return run_qlinear_pair(c, false);
}
const hn_impl hn_impl_qlinear_mul[1] = {{.eval = eval_qlinear_mul}};

static hone_status run_qlinear_map(hn_eval *c, const char *op, double a) {
    hn_array *y = hn_ret(c, 0), real;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_dequantize_array(c, hn_arg(c, 0), hn_affine_args(c, 1, 2), &real));
    HN_TRY(hn_unary_eval(c, hn_unary_find(op), a, 0, &real, &real));
    return quantize_into(&real, hn_affine_args(c, 3, 4), y);
}

static hone_status eval_qlinear_sigmoid(hn_eval *c) {
    return run_qlinear_map(c, "Sigmoid", 0);
}
const hn_impl hn_impl_qlinear_sigmoid[1] = {{.eval = eval_qlinear_sigmoid}};

static hone_status eval_qlinear_leaky_relu(hn_eval *c) {
    return run_qlinear_map(c, "LeakyRelu", (double)hn_attr_f(hn_eval_node(c), "alpha", 0.01f));
}
const hn_impl hn_impl_qlinear_leaky_relu[1] = {{.eval = eval_qlinear_leaky_relu}};

static hone_status eval_qlinear_where(hn_eval *c) {
    hn_array *y = hn_ret(c, 0), a, b, real;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_dequantize_array(c, hn_arg(c, 1), hn_affine_args(c, 2, 3), &a));
    HN_TRY(hn_dequantize_array(c, hn_arg(c, 4), hn_affine_args(c, 5, 6), &b));
    HN_TRY(hn_scratch_array(c, HN_F32, y->rank, y->dims, &real));
    HN_TRY(hn_eval_as(c, hn_eval_where, 3, (const hn_array *const[]){hn_arg(c, 0), &a, &b}, &real));
    return quantize_into(&real, hn_affine_args(c, 7, 8), y);
}
const hn_impl hn_impl_qlinear_where[1] = {{.eval = eval_qlinear_where}};

static hone_status eval_mul_integer(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *y = hn_arg(c, 2);
    hn_array *z = hn_ret(c, 0), a = *x, b = *y;
    const hn_slices one = {1, 1, UINT64_MAX};
    if (!z)
        return HONE_OK;
    HN_TRY(hn_want_elems(c, 1, 1));
    HN_TRY(hn_want_elems(c, 3, 1));
    a.dtype = b.dtype = HN_I32;
    a.data = hn_wide_i32(c, x, hn_arg(c, 1), &one);
    b.data = hn_wide_i32(c, y, hn_arg(c, 3), &one);
    HN_TRY_PTR(a.data && b.data);
    return hn_binary_eval(c, hn_binary_find("Mul"), &a, &b, z);
}
const hn_impl hn_impl_mul_integer[1] = {{.eval = eval_mul_integer}};

/* ---- along axes ------------------------------------------------------------------------------ */

/* Elements v[0], v[step], ... */
static void soften_line(float *v, uint64_t n, uint64_t step) {
    float most = -INFINITY;
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        most = fmaxf(most, v[i * step]);
    for (uint64_t i = 0; i < n; i++)
        sum += (double)(v[i * step] = expf(v[i * step] - most));
    for (uint64_t i = 0; i < n; i++)
        v[i * step] = (float)((double)v[i * step] / sum);
}

/* Before opset 13 a softmax runs over all axes from `axis` on together. */
static hone_status eval_qlinear_softmax(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_array *y = hn_ret(c, 0), real;
    int32_t axis;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(node, "axis", -1), y->rank, &axis));
    HN_TRY(hn_dequantize_array(c, hn_arg(c, 0), hn_affine_args(c, 1, 2), &real));
    hn_split3 sizes = hn_split_at(y->rank, y->dims, axis);
    if (hn_attr_i(node, "opset", 13) < 13) {
        sizes.mid *= sizes.inner;
        sizes.inner = 1;
    }
    uint64_t mid = (uint64_t)sizes.mid, inner = (uint64_t)sizes.inner;
    for (uint64_t i = 0; i < (uint64_t)sizes.outer * inner; i++)
        soften_line((float *)real.data + i / inner * mid * inner + i % inner, mid, inner);
    return quantize_into(&real, hn_affine_args(c, 3, 4), y);
}
const hn_impl hn_impl_qlinear_softmax[1] = {{.eval = eval_qlinear_softmax}};

/* A bit for each axis that the attribute names; all when there are none. */
static hone_status read_axis_bits(hn_eval *c, int32_t rank, uint64_t *bits) {
    uint32_t n = 0;
    const int64_t *axes;
    int32_t axis;
    *bits = 0;
    bool has_axes = hn_attr_ints(hn_eval_node(c), "axes", &n, &axes) && n > 0;
    for (uint32_t i = 0; has_axes && i < n; i++) {
        HN_TRY(hn_axis_of(c, axes[i], rank, &axis));
        *bits |= UINT64_C(1) << axis;
    }
    for (int32_t i = 0; !has_axes && i < rank; i++)
        *bits |= UINT64_C(1) << i;
    return HONE_OK;
}

static hone_status eval_qlinear_reduce_mean(hn_eval *c) {
    hn_array *y = hn_ret(c, 0), real, mean;
    uint64_t axes;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_dequantize_array(c, hn_arg(c, 0), hn_affine_args(c, 1, 2), &real));
    HN_TRY(hn_scratch_array(c, HN_F32, y->rank, y->dims, &mean));
    HN_TRY(read_axis_bits(c, real.rank, &axes));
    HN_TRY(hn_reduce(c, "ReduceMean", &real, axes, &mean));
    return quantize_into(&mean, hn_affine_args(c, 3, 4), y);
}
const hn_impl hn_impl_qlinear_reduce_mean[1] = {{.eval = eval_qlinear_reduce_mean}};

static hone_status eval_reduce_sum_integer(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    uint64_t axes;
    if (!y)
        return HONE_OK;
    HN_TRY(read_axis_bits(c, hn_arg(c, 0)->rank, &axes));
    return hn_reduce(c, "ReduceSum", hn_arg(c, 0), axes, y);
}
const hn_impl hn_impl_reduce_sum_integer[1] = {{.eval = eval_reduce_sum_integer}};

/* Triples of data, scale and zero point after those of the result. */
static hone_status eval_qlinear_concat(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_affine by = hn_affine_args(c, 0, 1);
    int32_t axis;
    float tile[HN_TILE];
    uint64_t before = 0;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), y->rank, &axis));
    hn_split3 all = hn_split_at(y->rank, y->dims, axis);
    uint64_t row = (uint64_t)(all.mid * all.inner);
    for (uint32_t arg = 2; arg + 2 < hn_n_args(c); arg += 3) {
        const hn_array *x = hn_arg(c, arg);
        uint64_t run = (uint64_t)(x->dims[axis] * all.inner);
        for (uint64_t i = 0; i < x->n_elems;) {
            uint64_t n = HN_MIN(HN_TILE, run - i % run);
            hn_dequantize_f32(x, hn_affine_args(c, arg + 1, arg + 2), i, n, tile);
            hn_quantize_f32(tile, by, y, i / run * row + before + i % run, n);
            i += n;
        }
        before += run;
    }
    return HONE_OK;
}
const hn_impl hn_impl_qlinear_concat[1] = {{.eval = eval_qlinear_concat}};

/* ---- pooling --------------------------------------------------------------------------------- */

#define MOST_BYTE_POOL_TAPS 1e8 /* windows take no memory, so only the time limits them */

hone_status hn_qlinear_pool_fill(hn_eval *c, const hn_array *x, hn_array *y, hn_qlinear_pool *p) {
    const hn_infer *node = hn_eval_node(c);
    bool is_global = strcmp(hn_infer_op(node), "QLinearGlobalAveragePool") == 0;
    hn_affine by_x = hn_affine_args(c, 1, 2), by_y = hn_affine_args(c, 3, 4);
    hn_window *s = &p->window;
    hn_window_read(node, x->rank - 2, x->dims + 1, y->dims + 1, is_global ? x->dims + 1 : NULL, s);
    if (!is_global)
        hn_window_pad_end(node, s, p->pad_end);
    double taps = 1;
    for (int32_t i = 0; i < s->n_axes; i++)
        taps *= (double)s->kernel[i];
    if (taps > MOST_BYTE_POOL_TAPS)
        return hn_eval_fail(c, HONE_E_LIMIT, "a window of %g elements is too large", taps);
    bool counts_padding = !is_global && hn_attr_i(node, "count_include_pad", 0) != 0;
    p->job = (hn_pool_bytes_job){.window = s,
                                 .batch = x->dims[0],
                                 .channels = x->dims[x->rank - 1],
                                 .is_signed = x->dtype == HN_I8,
                                 .x = x->data,
                                 .y = y->data,
                                 .is_average = true,
                                 .scale = by_x.scale / by_y.scale,
                                 .x_zero = (int32_t)by_x.zero,
                                 .y_zero = (int32_t)by_y.zero,
                                 .pad_end = counts_padding ? p->pad_end : NULL};
    return HONE_OK;
}

/* An array in scratch for the elements of x, channels last. */
static hone_status scratch_channels_last(hn_eval *c, const hn_array *x, int64_t *dims,
                                         hn_array *out) {
    dims[0] = x->dims[0];
    for (int32_t i = 1; i < x->rank; i++)
        dims[i] = x->dims[i == x->rank - 1 ? 1 : i + 1];
    return hn_scratch_array(c, x->dtype, x->rank, dims, out);
}

static hone_status pool_channels_first(hn_eval *c, const hn_array *x, hn_array *y) {
    int64_t x_dims[HN_MAX_RANK], y_dims[HN_MAX_RANK], dims[HN_MAX_RANK];
    hn_array x_last, y_last, first;
    hn_qlinear_pool p;
    HN_TRY(scratch_channels_last(c, x, x_dims, &x_last));
    HN_TRY(hn_channels_last(c, x, &x_last));
    HN_TRY(scratch_channels_last(c, y, y_dims, &y_last));
    HN_TRY(hn_qlinear_pool_fill(c, &x_last, &y_last, &p));
    hn_pool_bytes(hn_eval_pool(c), &p.job);
    HN_TRY(hn_channels_first(c, &y_last, dims, &first));
    memcpy(y->data, first.data, (size_t)y->n_elems);
    return HONE_OK;
}

static hone_status eval_qlinear_average(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_qlinear_pool p;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    if (!hn_attr_i(hn_eval_node(c), "channels_last", 0))
        return pool_channels_first(c, hn_arg(c, 0), y);
    HN_TRY(hn_qlinear_pool_fill(c, hn_arg(c, 0), y, &p));
    hn_pool_bytes(hn_eval_pool(c), &p.job);
    return HONE_OK;
}
const hn_impl hn_impl_qlinear_average_pool[1] = {{.eval = eval_qlinear_average}};
const hn_impl hn_impl_qlinear_global_average_pool[1] = {{.eval = eval_qlinear_average}};
