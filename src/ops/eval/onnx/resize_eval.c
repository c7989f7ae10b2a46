/* Resize and Upsample, computed. Interpolation is separable: every axis has a table of the inputs
 * that make up each output. */
#include "cpu/kernels/reduce/reduce_loops.h"
#include "ops/eval/widen.h"
#include "ops/eval/copy.h"
#include "ops/eval/onnx/resize_eval.h"

#include <math.h>

typedef enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC } resize_mode;
typedef enum resize_place {
    PLACE_HALF_PIXEL,
    PLACE_HALF_PIXEL_SYMMETRIC,
    PLACE_PYTORCH_HALF_PIXEL,
    PLACE_ALIGN_CORNERS,
    PLACE_ASYMMETRIC,
    PLACE_CROP
} resize_place;
typedef enum resize_round {
    ROUND_PREFER_FLOOR,
    ROUND_PREFER_CEIL,
    ROUND_FLOOR,
    ROUND_CEIL,
    ROUND_SIMPLE
} resize_round;

typedef struct resize_axis {
    int64_t in, out;
    double scale, roi_begin, roi_end;
    bool is_resized;
} resize_axis;

typedef struct resize_form {
    resize_mode mode;
    resize_place place;
    resize_round round;
    bool antialias, exclude_outside;
    double cubic_a, outside; /* outside: of samples that a crop puts outside the input */
    resize_axis axes[HN_MAX_RANK];
} resize_form;

/* For each output along an axis: where its n inputs lie, and their weights. at[0] < 0: the output
 * lies outside. */
typedef struct resize_taps {
    int64_t n;
    int64_t *at;
    double *weight;
    bool has_outside;
} resize_taps;

enum { RESIZE_GRAIN = 16384 }; /* elements that one thread takes at a time */

/* ---- attributes ------------------------------------------------------------------------------ */

static int find_word(const hn_infer *node, const char *attr, const char *const *words, int n) {
    for (int i = 0; i < n; i++)
        if (hn_attr_is(node, attr, words[i]))
            return i;
    return -1;
}

static hone_status read_resize_modes(hn_eval *c, resize_form *f) {
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear"};
    static const char *const places[] = {"half_pixel",         "half_pixel_symmetric",
                                         "pytorch_half_pixel", "align_corners",
                                         "asymmetric",         "tf_crop_and_resize"};
    static const char *const rounds[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};
    const hn_infer *node = hn_eval_node(c);
    bool is_old = hn_infer_version(node) < 11;
    int mode = find_word(node, "mode", modes, (int)HN_COUNT(modes));
    int place =
        is_old ? PLACE_ASYMMETRIC
               : find_word(node, "coordinate_transformation_mode", places, (int)HN_COUNT(places));
    int round =
        is_old ? ROUND_SIMPLE : find_word(node, "nearest_mode", rounds, (int)HN_COUNT(rounds));
    if (place < 0 && hn_attr_is(node, "coordinate_transformation_mode", "tf_half_pixel_for_nn"))
        place = PLACE_HALF_PIXEL; /* version 11 alone; half a pixel is added below */
    if (mode < 0 || place < 0 || round < 0)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED,
                            "an unknown mode, coordinate_transformation_mode or nearest_mode");
    f->mode = mode == 3 ? RESIZE_LINEAR : (resize_mode)mode;
    f->place = (resize_place)place;
    f->round = (resize_round)round;
    f->antialias = hn_attr_i(node, "antialias", 0) != 0;
    f->exclude_outside = hn_attr_i(node, "exclude_outside", 0) != 0;
    f->cubic_a = (double)hn_attr_f(node, "cubic_coeff_a", -0.75f);
    f->outside = (double)hn_attr_f(node, "extrapolation_value", 0);
    return HONE_OK;
}

/* The axes that scales, sizes and roi speak of. */
static uint32_t resize_axis_list(const hn_infer *node, int32_t rank, int32_t *out) {
    uint32_t n;
    const int64_t *list;
    if (!hn_attr_ints(node, "axes", &n, &list)) {
        for (int32_t i = 0; i < rank; i++)
            out[i] = i;
        return (uint32_t)rank;
    }
    for (uint32_t i = 0; i < n; i++)
        out[i] = (int32_t)(list[i] < 0 ? list[i] + rank : list[i]);
    return n;
}

/* Scale number i of the node, wherever its version keeps them; 0 when sizes say it. */
static double resize_scale(const hn_eval *c, uint32_t i) {
    const hn_infer *node = hn_eval_node(c);
    int version = hn_infer_version(node);
    double v = 0;
    if (version < 7)
        return i < 2 ? 1 : (double)hn_attr_f(node, i == 2 ? "height_scale" : "width_scale", 1);
    if (version < 9) {
        const hn_attr *a = hn_attr_raw(node, "scales");
        return a && i < a->n ? (double)a->v.floats[i] : 1;
    }
    const hn_array *scales = hn_arg(c, version < 11 ? 1 : 2);
    if (scales && i < scales->n_elems)
        hn_load_f64(scales, i, 1, &v);
    return v;
}

/* Sizes stretch every axis on its own, or name the one scale that keeps the ratio. */
static void scale_by_sizes(const hn_eval *c, uint32_t n, const int32_t *axes, resize_form *f) {
    const hn_infer *node = hn_eval_node(c);
    bool smallest = hn_attr_is(node, "keep_aspect_ratio_policy", "not_larger");
    bool stretch = !smallest && !hn_attr_is(node, "keep_aspect_ratio_policy", "not_smaller");
    double common = 0;
    for (uint32_t i = 0; i < n; i++) {
        resize_axis *a = &f->axes[axes[i]];
        int64_t size = a->out;
        if (i < hn_arg(c, 3)->n_elems)
            hn_load_i64(hn_arg(c, 3), i, 1, &size);
        a->scale = (double)size / (double)a->in;
        if (i == 0 || (smallest ? a->scale < common : a->scale > common))
            common = a->scale;
    }
    for (uint32_t i = 0; i < n && !stretch; i++)
        f->axes[axes[i]].scale = common;
}

static hone_status read_resize_axes_of(hn_eval *c, resize_form *f) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0),
                   *roi = hn_infer_version(hn_eval_node(c)) >= 11 ? hn_arg(c, 1) : NULL;
    int32_t axes[HN_MAX_RANK];
    uint32_t n = resize_axis_list(hn_eval_node(c), x->rank, axes);
    for (int32_t a = 0; a < x->rank; a++) {
        int64_t size = x->dims[a];
        f->axes[a] =
            (resize_axis){.in = size, .out = y ? y->dims[a] : size, .scale = 1, .roi_end = 1};
    }
    for (uint32_t i = 0; i < n; i++) {
        resize_axis *a = &f->axes[axes[i]];
        a->scale = resize_scale(c, i);
        if (!y) /* scales that came with the run */
            a->out = (int64_t)fmin(floor((double)a->in * a->scale), 1e15);
        if (roi && roi->n_elems == 2 * (uint64_t)n) {
            hn_load_f64(roi, i, 1, &a->roi_begin);
            hn_load_f64(roi, n + i, 1, &a->roi_end);
        }
    }
    if (n > 0 && f->axes[axes[0]].scale == 0 && hn_arg(c, 3))
        scale_by_sizes(c, n, axes, f);
    for (int32_t a = 0; a < x->rank; a++) {
        if (!(f->axes[a].scale > 0) && f->axes[a].out != 0)
            return hn_eval_fail(c, HONE_E_SHAPE, "the scale of axis %d is %g, but must be positive",
                                a, f->axes[a].scale);
        f->axes[a].is_resized =
            f->axes[a].in != f->axes[a].out || f->axes[a].scale != 1 || f->place == PLACE_CROP;
    }
    return HONE_OK;
}

/* ---- where an output lies in the input ------------------------------------------------------- */

/* In floats, as others do it: a sample that falls between two elements must fall to the same side.
 */
static double resize_source(const resize_form *f, const resize_axis *a, int64_t o) {
    float x = (float)o, size = (float)a->in, last = (float)(a->in - 1), scale = (float)a->scale;
    float width = scale * size, half_pixel = (x + 0.5f) / scale - 0.5f;
    switch (f->place) {
    case PLACE_ALIGN_CORNERS:
        return (double)(width == 1 ? 0 : x * last / (width - 1));
    case PLACE_ASYMMETRIC:
        return (double)(x / scale);
    case PLACE_PYTORCH_HALF_PIXEL:
        return (double)(a->out == 1 ? 0 : half_pixel);
    case PLACE_HALF_PIXEL_SYMMETRIC:
        return (double)(size / 2 * (1 - (float)a->out / width) + (x + 0.5f) / scale - 0.5f);
    case PLACE_CROP: {
        float begin = (float)a->roi_begin * last,
              span = ((float)a->roi_end - (float)a->roi_begin) * last;
        return (double)(begin + (width == 1 ? span / 2 : x * span / (width - 1)));
    }
    case PLACE_HALF_PIXEL:
        break;
    }
    return (double)half_pixel;
}

static bool resize_is_outside(const resize_form *f, const resize_axis *a, double x) {
    return f->place == PLACE_CROP && !(x >= 0 && x <= (double)(a->in - 1));
}

static int64_t resize_nearest(const resize_form *f, const resize_axis *a, double x) {
    switch (f->round) {
    case ROUND_PREFER_FLOOR:
        x = ceil(x - 0.5);
        break;
    case ROUND_PREFER_CEIL:
        x = floor(x + 0.5);
        break;
    case ROUND_FLOOR:
        x = floor(x);
        break;
    case ROUND_CEIL:
        x = ceil(x);
        break;
    case ROUND_SIMPLE:
        x = a->scale < 1 ? ceil(x) : floor(x);
        break;
    }
    return (int64_t)fmin(fmax(x, 0), (double)(a->in - 1));
}

/* ---- weights --------------------------------------------------------------------------------- */

static double cubic_weight(double a, double x) {
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double resize_weight(const resize_form *f, double distance) {
    return f->mode == RESIZE_CUBIC ? cubic_weight(f->cubic_a, distance)
                                   : fmax(1 - fabs(distance), 0);
}

/* Weights of the inputs around x; against aliasing a smaller scale widens the filter. */
static void weigh_output(const resize_form *f, const resize_axis *a, double x, double squeeze,
                         int64_t n, int64_t *at, double *weight) {
    double base = ceil(x) - 1,
           sum = 0; /* the inputs on the left begin here; x itself is on the right */
    for (int64_t i = 0; i < n; i++) {
        double p = base + (double)(i + 1 - n / 2);
        bool is_inside = p >= 0 && p < (double)a->in;
        weight[i] = f->exclude_outside && !is_inside ? 0 : resize_weight(f, (p - x) * squeeze);
        at[i] = (int64_t)fmin(fmax(p, 0), (double)(a->in - 1));
        sum += weight[i];
    }
    for (int64_t i = 0; i < n && (squeeze < 1 || f->exclude_outside) && sum != 0; i++)
        weight[i] /= sum;
}

/* Inputs without a weight must not count, not even as 0 times infinity: they give way to another
 * one, in two halves. */
static void drop_weightless(int64_t n, int64_t *at, double *weight) {
    int64_t heavy = 0;
    for (int64_t i = 1; i < n; i++)
        heavy = weight[i] != 0 ? i : heavy;
    for (int64_t i = 0; i < n && weight[heavy] != 0; i++) {
        if (weight[i] != 0)
            continue;
        weight[i] = weight[heavy] /= 2;
        at[i] = at[heavy];
    }
}

/* The places of inputs are multiplied by `inner`. */
static hone_status weigh_taps(hn_eval *c, const resize_form *f, const resize_axis *a, int64_t inner,
                              resize_taps *t) {
    double squeeze = f->antialias && a->scale < 1 ? a->scale : 1,
           reach = f->mode == RESIZE_CUBIC ? 2 : 1;
    double half = -floor(-reach / squeeze);
    if (!(half <= 4 * (double)a->in + 8))
        return hn_eval_fail(c, HONE_E_LIMIT, "scale %g is too small for %lld elements", a->scale,
                            (long long)a->in);
    t->n = 2 * (int64_t)half;
    t->has_outside = false;
    t->at = hn_eval_scratch_n(c, (uint64_t)(a->out * t->n), sizeof *t->at);
    t->weight = hn_eval_scratch_n(c, (uint64_t)(a->out * t->n), sizeof *t->weight);
    HN_TRY_PTR(t->at && t->weight);
    for (int64_t o = 0; o < a->out; o++) {
        double x = resize_source(f, a, o), *weight = t->weight + o * t->n;
        int64_t *at = t->at + o * t->n;
        if (resize_is_outside(f, a, x)) {
            memset(weight, 0, (size_t)t->n * sizeof *weight);
            at[0] = -1;
            t->has_outside = true;
            continue;
        }
        weigh_output(f, a, x, squeeze, t->n, at, weight);
        drop_weightless(t->n, at, weight);
        for (int64_t i = 0; i < t->n; i++)
            at[i] *= inner;
    }
    return HONE_OK;
}

static void weigh_rows_f32(int64_t n, int64_t n_rows, const float *x, const int64_t *offsets,
                           const float *w, float *out) {
    hn_reduce_loops_find_f32()->weigh_rows(n, n_rows, x, offsets, w, out);
}

static void weigh_rows_f64(int64_t n, int64_t n_rows, const double *x, const int64_t *offsets,
                           const double *w, double *out) {
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int64_t t = 0; t < n_rows; t++)
            out[i] += w[t] * x[offsets[t] + i];
    }
}

#define HN_TEMPLATE "ops/eval/onnx/resize_tmpl.h"
#include "base/each_type_tmpl.h"

/* ---- nearest --------------------------------------------------------------------------------- */

/* The input of every output along an axis, -1 outside. */
static hone_status nearest_picks(hn_eval *c, const resize_form *f, const resize_axis *axis,
                                 const int64_t **picks) {
    bool adds_half =
        hn_attr_is(hn_eval_node(c), "coordinate_transformation_mode", "tf_half_pixel_for_nn");
    int64_t *at = hn_eval_scratch_n(c, (uint64_t)axis->out, sizeof *at);
    HN_TRY_PTR(at);
    for (int64_t o = 0; o < axis->out; o++) {
        double x = resize_source(f, axis, o) + (adds_half ? 0.5 : 0);
        at[o] = resize_is_outside(f, axis, x) ? -1 : resize_nearest(f, axis, x);
    }
    *picks = at;
    return HONE_OK;
}

typedef struct resize_rows {
    const hn_array *x;
    hn_array *y;
    const int64_t *const *picks;
    const hn_array *fill;
} resize_rows;

/* Whole rows of the last axis, which keeps its size. */
static void pick_nearest_rows(void *ctx, int64_t begin, int64_t end) {
    const resize_rows *job = ctx;
    int32_t last = job->x->rank - 1;
    size_t bytes = hn_elem_bytes(job->x->dtype);
    for (int64_t i = begin; i < end; i++) {
        hn_array to = hn_array_row(job->y, i);
        int64_t rest = i, from = 0, step = 1;
        for (int32_t a = last - 1; a >= 0; a--) {
            int64_t at = rest % job->y->dims[a], pick = job->picks[a] ? job->picks[a][at] : at;
            from = pick < 0 || from < 0 ? -1 : from + pick * step;
            step *= job->x->dims[a];
            rest /= job->y->dims[a];
        }
        if (from >= 0)
            memcpy(to.data, hn_array_row(job->x, from).data, (size_t)to.n_elems * bytes);
        for (uint64_t k = 0; from < 0 && k < to.n_elems; k++)
            memcpy((uint8_t *)to.data + k * bytes, job->fill->data, bytes);
    }
}

/* What is picked along each axis, and what stands for what lies outside: no text. */
static hone_status pick_nearest(hn_eval *c, const resize_form *f, const hn_array *x,
                                const int64_t **picks, hn_array *fill) {
    float outside = (float)f->outside;
    *fill = (hn_array){.dtype = x->dtype, .n_elems = 1, .data = hn_eval_scratch(c, 16)};
    HN_TRY_PTR(fill->data);
    if (x->dtype != HN_STRING)
        hn_store_f32(fill, 0, 1, &outside);
    for (int32_t a = 0; a < x->rank; a++) {
        picks[a] = NULL;
        if (f->axes[a].is_resized)
            HN_TRY(nearest_picks(c, f, &f->axes[a], &picks[a]));
    }
    return HONE_OK;
}

static hone_status resize_by_nearest(hn_eval *c, const resize_form *f, const hn_array *x,
                                     hn_array *y) {
    const int64_t *picks[HN_MAX_RANK];
    hn_array fill;
    HN_TRY(pick_nearest(c, f, x, picks, &fill));
    if ((x->row_stride || y->row_stride) && !picks[x->rank - 1]) {
        resize_rows job = {x, y, picks, &fill};
        hn_pool_for(hn_eval_pool(c), hn_n_rows(y), 64, pick_nearest_rows, &job);
        return HONE_OK;
    }
    return hn_copy_picked(c, y, x, picks, y->dtype == HN_STRING ? NULL : &fill);
}

/* ---- the operators --------------------------------------------------------------------------- */

/* A weighted sum can leave the range of an integer. */
static void store_clamped(hn_array *y, double *v) {
    int bits = hn_dtype_bits(y->dtype);
    bool is_unsigned =
        y->dtype == HN_U8 || y->dtype == HN_U16 || y->dtype == HN_U32 || y->dtype == HN_U64;
    double hi = ldexp(1, is_unsigned ? bits : bits - 1), lo = is_unsigned ? 0 : -hi;
    for (uint64_t i = 0; i < y->n_elems; i++)
        v[i] = fmin(fmax(v[i], lo), bits == 64 ? nextafter(hi, 0) : hi - 1);
    hn_store_f64(y, 0, y->n_elems, v);
}

static hone_status resize_by_weights(hn_eval *c, const resize_form *f, const hn_array *x,
                                     hn_array *y) {
    if (hn_dtype_is_int(x->dtype) || x->dtype == HN_F64) {
        const double *wide_x = hn_wide_f64(c, x);
        double *wide = hn_buffer_f64(c, y);
        HN_TRY_PTR(wide_x && wide);
        HN_TRY(resize_weighted_f64(c, f, wide_x, x->rank, wide));
        if (y->dtype != HN_F64)
            store_clamped(y, wide);
        return HONE_OK;
    }
    if (!hn_dtype_is_float(x->dtype))
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "elements of type %s cannot be interpolated",
                            hn_dtype_name(x->dtype));
    const float *wide_x = hn_wide_f32(c, x);
    float *wide = hn_buffer_f32(c, y);
    HN_TRY_PTR(wide_x && wide);
    HN_TRY(resize_weighted_f32(c, f, wide_x, x->rank, wide));
    hn_narrow_f32(y, wide);
    return HONE_OK;
}

static hone_status resize_array(hn_eval *c, const resize_form *f, const hn_array *x, hn_array *y) {
    return f->mode == RESIZE_NEAREST ? resize_by_nearest(c, f, x, y)
                                     : resize_by_weights(c, f, x, y);
}

static hone_status take_dense(hn_eval *c, const hn_array *a, hn_array *dense) {
    *dense = *a;
    dense->row_stride = 0;
    dense->data = hn_eval_scratch_n(c, a->n_elems, hn_elem_bytes(a->dtype));
    return dense->data ? HONE_OK : HONE_E_NOMEM;
}

/* Rows that lie apart go through memory where they do not. */
static hone_status resize_parted(hn_eval *c, const resize_form *f, const hn_array *x, hn_array *y) {
    hn_array dense_x, dense_y;
    HN_TRY(take_dense(c, x, &dense_x));
    HN_TRY(take_dense(c, y, &dense_y));
    hn_copy_rows(&dense_x, x);
    HN_TRY(resize_array(c, f, &dense_x, &dense_y));
    hn_copy_rows(y, &dense_y);
    return HONE_OK;
}

static hone_status eval_resize(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    resize_form f;
    int64_t dims[HN_MAX_RANK];
    if (!hn_wants_ret(c, 0))
        return HONE_OK;
    HN_TRY(read_resize_modes(c, &f));
    HN_TRY(read_resize_axes_of(c, &f));
    for (int32_t a = 0; a < x->rank; a++)
        dims[a] = f.axes[a].out;
    if (!y)
        HN_TRY(hn_ret_alloc(c, 0, x->dtype, x->rank, dims, &y));
    if (y->n_elems == 0)
        return HONE_OK;
    if (x->n_elems == 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "an input without elements cannot be resized");
    bool is_parted = x->row_stride || y->row_stride;
    bool by_rows = x->rank > 0 && f.mode == RESIZE_NEAREST && !f.axes[x->rank - 1].is_resized;
    return is_parted && !by_rows ? resize_parted(c, &f, x, y) : resize_array(c, &f, x, y);
}
const hn_impl hn_impl_resize[1] = {{.eval = eval_resize}};

/* ---- what a lowering keeps ------------------------------------------------------------------- */

struct hn_resize_plan {
    resize_plan_f32 plan;
};

hone_status hn_resize_plan_new(hn_eval *c, const int64_t **picks, hn_array *fill,
                               hn_resize_plan **out) {
    const hn_array *x = hn_arg(c, 0);
    resize_form f;
    *out = NULL;
    HN_TRY(read_resize_modes(c, &f));
    HN_TRY(read_resize_axes_of(c, &f));
    if (f.mode == RESIZE_NEAREST)
        return pick_nearest(c, &f, x, picks, fill);
    *out = hn_eval_scratch(c, sizeof **out);
    HN_TRY_PTR(*out);
    return plan_resize_f32(c, &f, x->rank, &(*out)->plan);
}

size_t hn_resize_scratch(const hn_resize_plan *plan) {
    return (size_t)plan->plan.room * sizeof(float);
}

void hn_resize_run(const hn_resize_plan *plan, hn_pool *pool, const float *x, float *y,
                   float *scratch) {
    run_resize_f32(&plan->plan, pool, x, y, scratch);
}
