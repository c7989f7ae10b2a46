/* Odds and ends of com.microsoft, computed. */
#include "ops/eval/ms/ms_eval.h"

#include <math.h>

#include "ops/eval/eval_broadcast.h"
#include "ops/eval/copy.h"

/* ---- matrices -------------------------------------------------------------------------------- */

/* Elimination with the largest pivot turns `m` into the identity and the identity, in `out`, into
 * the inverse. What has none becomes infinities or what is no number. */
static void invert(int64_t n, double *m, double *out) {
    for (int64_t i = 0; i < n * n; i++)
        out[i] = i / n == i % n;
    for (int64_t k = 0; k < n && !hn_spent((uint64_t)(n * n)); k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            pivot = fabs(m[i * n + k]) > fabs(m[pivot * n + k]) ? i : pivot;
        for (int64_t j = 0; j < n; j++) {
            double t = m[k * n + j], u = out[k * n + j];
            m[k * n + j] = m[pivot * n + j];
            out[k * n + j] = out[pivot * n + j];
            m[pivot * n + j] = t;
            out[pivot * n + j] = u;
        }
        double by = 1 / m[k * n + k];
        for (int64_t j = 0; j < n; j++) {
            m[k * n + j] *= by;
            out[k * n + j] *= by;
        }
        for (int64_t i = 0; i < n; i++) {
            double factor = m[i * n + k];
            for (int64_t j = 0; i != k && j < n; j++) {
                m[i * n + j] -= factor * m[k * n + j];
                out[i * n + j] -= factor * out[k * n + j];
            }
        }
    }
}

static hone_status eval_inverse(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return hn_eval_fail(c, HONE_E_SHAPE, "the last two dimensions must be a square matrix");
    int64_t n = x->dims[x->rank - 1];
    uint64_t all = (uint64_t)(n * n);
    double *m = hn_eval_scratch_n(c, all, sizeof *m), *out = hn_eval_scratch_n(c, all, sizeof *out);
    HN_TRY_PTR(m && out);
    for (uint64_t at = 0; at < x->n_elems; at += all) {
        hn_load_f64(x, at, all, m);
        invert(n, m, out);
        hn_store_f64(y, at, all, out);
    }
    return HONE_OK;
}
const hn_impl hn_impl_inverse[1] = {{.eval = eval_inverse}};

static hone_status eval_cdist(hn_eval *c) {
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    const double *p = hn_wide_f64(c, a), *q = hn_wide_f64(c, b);
    HN_TRY_PTR(p && q);
    int64_t width = a->dims[1], columns = b->dims[0];
    bool is_root = hn_attr_is(hn_eval_node(c), "metric", "euclidean");
    for (uint64_t i = 0; i < y->n_elems && !hn_spent(16 + (uint64_t)width); i++) {
        double sum = 0;
        for (int64_t k = 0; k < width; k++) {
            double d = p[(int64_t)i / columns * width + k] - q[(int64_t)i % columns * width + k];
            sum += d * d;
        }
        sum = is_root ? sqrt(sum) : sum;
        hn_store_f64(y, i, 1, &sum);
    }
    return HONE_OK;
}
const hn_impl hn_impl_cdist[1] = {{.eval = eval_cdist}};

/* ---- elements -------------------------------------------------------------------------------- */

/* X + Y * gate, rounded in between as the two operators would. */
static hone_status eval_gated_add(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    for (uint32_t i = 0; i < 3; i++)
        HN_TRY(hn_want_broadcast(c, i, y));
    HN_TRY(hn_binary_eval(c, hn_binary_find("Mul"), hn_arg(c, 1), hn_arg(c, 2), y));
    return hn_binary_eval(c, hn_binary_find("Add"), hn_arg(c, 0), y, y);
}
const hn_impl hn_impl_gated_add[1] = {{.eval = eval_gated_add}};

static hone_status eval_is_all_finite(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    bool inf_only = hn_attr_i(hn_eval_node(c), "isinf_only", 0) != 0,
         nan_only = hn_attr_i(hn_eval_node(c), "isnan_only", 0) != 0;
    int64_t is_fine = 1;
    double tile[HN_TILE];
    if (!y)
        return HONE_OK;
    for (uint32_t arg = 0; arg < hn_n_args(c); arg++) {
        const hn_array *x = hn_arg(c, arg);
        for (uint64_t begin = 0; begin < x->n_elems && !hn_spent(HN_TILE); begin += HN_TILE) {
            uint64_t n = HN_MIN(HN_TILE, x->n_elems - begin);
            hn_load_f64(x, begin, n, tile);
            for (uint64_t i = 0; i < n; i++)
                if ((isinf(tile[i]) && !nan_only) || (isnan(tile[i]) && !inf_only))
                    is_fine = 0;
        }
    }
    hn_store_i64(y, 0, 1, &is_fine);
    return HONE_OK;
}
const hn_impl hn_impl_is_all_finite[1] = {{.eval = eval_is_all_finite}};

/* The same elements with another shape, or the same. */
static hone_status eval_ms_copy(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    return y ? hn_copy_all(c, y, hn_arg(c, 0)) : HONE_OK;
}
const hn_impl hn_impl_ms_copy[1] = {{.eval = eval_ms_copy}};

/* Windows along one axis; the place in the window is the last axis. */
static hone_status eval_unfold_tensor(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    int64_t from[HN_MAX_RANK + 1], to[HN_MAX_RANK + 1];
    int32_t axis;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "dim", -1), x->rank, &axis));
    hn_strides(x->rank, x->dims, from);
    hn_strides(y->rank, y->dims, to);
    from[x->rank] = from[axis];
    from[axis] *= hn_attr_i(hn_eval_node(c), "step", 1);
    return hn_copy_grid(c, y->rank, y->dims, y, &(hn_grid){0, to}, x, &(hn_grid){0, from});
}
const hn_impl hn_impl_unfold_tensor[1] = {{.eval = eval_unfold_tensor}};

/* ---- CropAndResize --------------------------------------------------------------------------- */

typedef struct crop_form {
    int64_t height, width, crop_height, crop_width, channels;
    bool is_nearest;
    float outside;
} crop_form;

/* Where output o of n looks along an axis of `size`; corners are fractions of it. */
static float crop_place(float begin, float end, int64_t o, int64_t n, int64_t size) {
    float last = (float)(size - 1);
    if (n == 1)
        return 0.5f * (begin + end) * last;
    if (o == n - 1)
        return end * last;
    return begin * last + (float)o * ((end - begin) * last / (float)(n - 1));
}

static float crop_sample(const crop_form *f, const float *plane, float y, float x) {
    bool is_inside = y >= 0 && y <= (float)(f->height - 1) && x >= 0 && x <= (float)(f->width - 1);
    if (!is_inside)
        return f->outside;
    if (f->is_nearest)
        return plane[(int64_t)roundf(y) * f->width + (int64_t)roundf(x)];
    int64_t top = (int64_t)floorf(y), bottom = (int64_t)ceilf(y), left = (int64_t)floorf(x),
            right = (int64_t)ceilf(x);
    float down = y - (float)top, across = x - (float)left;
    float above = plane[top * f->width + left], below = plane[bottom * f->width + left];
    above += (plane[top * f->width + right] - above) * across;
    below += (plane[bottom * f->width + right] - below) * across;
    return above + (below - above) * down;
}

static void crop_region(const crop_form *f, const float *image, const float *roi, float *out) {
    for (int64_t k = 0; k < f->channels; k++)
        for (int64_t i = 0; i < f->crop_height && !hn_spent(16 * (uint64_t)f->crop_width); i++) {
            float y = crop_place(roi[0], roi[2], i, f->crop_height, f->height);
            for (int64_t j = 0; j < f->crop_width; j++)
                *out++ = crop_sample(f, image + k * f->height * f->width, y,
                                     crop_place(roi[1], roi[3], j, f->crop_width, f->width));
        }
}

static hone_status eval_crop_and_resize(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *size = hn_arg(c, 3);
    int64_t crop[2], n_regions = hn_arg(c, 1)->dims[0], image;
    hn_array *y;
    const float *data, *rois;
    HN_TRY(hn_want_elems(c, 3, 2));
    hn_load_i64(size, 0, 2, crop);
    if (crop[0] < 1 || crop[1] < 1)
        return hn_eval_fail(c, HONE_E_INVALID, "crop_size is %lld and %lld; both must be 1 or more",
                            (long long)crop[0], (long long)crop[1]);
    HN_TRY(hn_ret_alloc(c, 0, x->dtype, 4,
                        (const int64_t[]){n_regions, x->dims[1], crop[0], crop[1]}, &y));
    if (!y || y->n_elems == 0)
        return HONE_OK;
    const crop_form f = {x->dims[2],
                         x->dims[3],
                         crop[0],
                         crop[1],
                         x->dims[1],
                         hn_attr_is(hn_eval_node(c), "mode", "nearest"),
                         hn_attr_f(hn_eval_node(c), "extrapolation_value", 0)};
    HN_TRY_PTR(hn_arg_f32s(c, 0, &data) && hn_arg_f32s(c, 1, &rois));
    float *out = hn_buffer_f32(c, y);
    HN_TRY_PTR(out);
    for (int64_t i = 0; i < n_regions; i++) {
        hn_load_i64(hn_arg(c, 2), (uint64_t)i, 1, &image);
        if (image < 0 || image >= x->dims[0])
            return hn_eval_fail(c, HONE_E_INVALID, "region %lld names image %lld of %lld",
                                (long long)i, (long long)image, (long long)x->dims[0]);
        crop_region(&f, data + image * f.channels * f.height * f.width, rois + i * 4,
                    out + i * f.channels * f.crop_height * f.crop_width);
    }
    hn_narrow_f32(y, out);
    return HONE_OK;
}
const hn_impl hn_impl_crop_and_resize[1] = {{.eval = eval_crop_and_resize}};
