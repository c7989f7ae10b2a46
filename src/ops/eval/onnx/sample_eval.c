/* Sampling images where a grid says, and the grids of affine maps. */
#include "ops/eval/onnx/sample_eval.h"
#include "ops/eval/widen.h"

#include <math.h>

enum { SAMPLE_MOST_TAPS = 4096 }; /* inputs of one sample, over all axes */
#define SAMPLE_FAR 1e9            /* farther outside than any image is large */

/* The inputs of one sample: flat offsets in a plane, -1 for a zero, with their weights. */
typedef struct sample_point {
    int64_t n;
    int64_t at[SAMPLE_MOST_TAPS];
    double weight[SAMPLE_MOST_TAPS];
} sample_point;

/* ---- coordinates ----------------------------------------------------------------------------- */

static double sample_reflect(double x, double lo, double hi) {
    double range = hi - lo, beyond = x < lo ? lo - x : x - hi;
    if (beyond <= 0)
        return x;
    if (!(range > 0) || !isfinite(beyond))
        return lo;
    double turns = floor(beyond / range), rest = beyond - turns * range;
    bool starts_low = (x < lo) == (fmod(turns, 2) == 0);
    return starts_low ? lo + rest : hi - rest;
}

static double sample_border_lo(const hn_sample_form *f) {
    return f->align_corners ? 0 : -0.5;
}
static double sample_border_hi(const hn_sample_form *f, int32_t axis) {
    return (double)f->dims[axis] - (f->align_corners ? 1 : 0.5);
}

double hn_sample_place(const hn_sample_form *f, int32_t axis, double v) {
    double size = (double)f->dims[axis], lo = sample_border_lo(f), hi = sample_border_hi(f, axis);
    double x =
        (double)(float)(f->align_corners ? (v + 1) / 2 * (size - 1) : ((v + 1) * size - 1) / 2);
    if (f->taps == 1)
        x = rint(x);
    if (x >= lo && x <= hi)
        return x;
    if (f->padding == HN_SAMPLE_REFLECTION)
        return sample_reflect(x, lo, hi);
    if (f->padding == HN_SAMPLE_BORDER &&
        f->taps == 4) /* each input of a wide filter is cut for itself */
        return fmin(fmax(x, -SAMPLE_FAR), SAMPLE_FAR);
    if (f->padding == HN_SAMPLE_BORDER)
        return fmin(fmax(x, 0), size - 1);
    return fmin(fmax(x, -8),
                size + 8); /* as far outside as any filter reaches; also what is no number */
}

int64_t hn_sample_index(const hn_sample_form *f, int32_t axis, double p) {
    double last = (double)(f->dims[axis] - 1);
    if (f->padding == HN_SAMPLE_ZEROS && !(p >= 0 && p <= last))
        return -1;
    if (f->padding == HN_SAMPLE_REFLECTION)
        p = trunc(sample_reflect(p, sample_border_lo(f), sample_border_hi(f, axis)));
    return (int64_t)fmin(fmax(p, 0), last);
}

/* ---- weights --------------------------------------------------------------------------------- */

double hn_sample_weight(int64_t taps, double distance) {
    const double a = -0.75;
    double x = fabs(distance);
    if (taps == 1)
        return 1;
    if (taps == 2)
        return 1 - x;
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

/* Multiplies the inputs found so far with those of one more axis. */
static void sample_add_axis(const hn_sample_form *f, int32_t axis, double x, sample_point *p) {
    double first = f->taps == 1 ? x : floor(x) - (f->taps == 4 ? 1 : 0);
    int64_t n = p->n;
    for (int64_t i = n - 1; i >= 0;
         i--) /* backwards: an entry makes room at and behind its own place */
        for (int64_t t = f->taps - 1; t >= 0; t--) {
            int64_t index = hn_sample_index(f, axis, first + (double)t), outer = p->at[i];
            double outer_weight = p->weight[i];
            p->at[i * f->taps + t] = index < 0 || outer < 0 ? -1 : outer * f->dims[axis] + index;
            p->weight[i * f->taps + t] =
                outer_weight * hn_sample_weight(f->taps, x - (first + (double)t));
        }
    p->n = n * f->taps;
}

static void sample_find(const hn_sample_form *f, const hn_array *grid, uint64_t position,
                        sample_point *p) {
    double v[HN_MAX_RANK];
    hn_load_f64(grid, position * (uint64_t)f->n_axes, (uint64_t)f->n_axes, v);
    p->n = 1;
    p->at[0] = 0;
    p->weight[0] = 1;
    for (int32_t a = 0; a < f->n_axes; a++) /* the grid names the last axis first */
        sample_add_axis(f, a, hn_sample_place(f, a, v[f->n_axes - 1 - a]), p);
}

/* ---- GridSample ------------------------------------------------------------------------------ */

hone_status hn_sample_read(hn_eval *c, const hn_array *x, hn_sample_form *f) {
    const hn_infer *node = hn_eval_node(c);
    bool nearest = hn_attr_is(node, "mode", "nearest"),
         cubic = hn_attr_is(node, "mode", "cubic") || hn_attr_is(node, "mode", "bicubic");
    *f = (hn_sample_form){.n_axes = x->rank - 2,
                          .taps = nearest ? 1
                                  : cubic ? 4
                                          : 2,
                          .dims = x->dims + 2};
    f->align_corners = hn_attr_i(node, "align_corners", 0) != 0;
    f->padding = hn_attr_is(node, "padding_mode", "border")       ? HN_SAMPLE_BORDER
                 : hn_attr_is(node, "padding_mode", "reflection") ? HN_SAMPLE_REFLECTION
                                                                  : HN_SAMPLE_ZEROS;
    int64_t all = 1;
    for (int32_t a = 0; a < f->n_axes; a++) {
        all *= f->taps;
        if (all > SAMPLE_MOST_TAPS)
            return hn_eval_fail(c, HONE_E_LIMIT, "%d spatial axes are too many for this mode",
                                f->n_axes);
    }
    return HONE_OK;
}

static hone_status sample_copy(hn_eval *c, const hn_array *x, int64_t from, hn_array *y,
                               uint64_t to) {
    size_t bytes = hn_elem_bytes(x->dtype);
    if (x->dtype == HN_STRING) {
        hn_bytes text = from < 0 ? (hn_bytes){"", 0} : ((const hn_bytes *)x->data)[from];
        return hn_array_set_string(c, y, to, text.at, text.n);
    }
    if (from < 0)
        memset((uint8_t *)y->data + to * bytes, 0, bytes);
    else
        memcpy((uint8_t *)y->data + to * bytes, (const uint8_t *)x->data + (size_t)from * bytes,
               bytes);
    return HONE_OK;
}

static double sample_sum(const sample_point *p, const double *plane) {
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (p->at[i] >= 0)
            sum += p->weight[i] * plane[p->at[i]];
    return sum;
}

static hone_status eval_grid_sample(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *grid = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    hn_sample_form f;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_sample_read(c, x, &f));
    bool copies = f.taps == 1;
    if (!copies && !hn_dtype_is_float(x->dtype) && !hn_dtype_is_int(x->dtype))
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "elements of type %s cannot be interpolated",
                            hn_dtype_name(x->dtype));
    const double *planes = copies ? NULL : hn_wide_f64(c, x);
    sample_point *p = hn_eval_scratch(c, sizeof *p);
    HN_TRY_PTR(p && (copies || planes));
    int64_t channels = x->dims[1], in = (int64_t)hn_count(f.n_axes, f.dims),
            out = (int64_t)hn_count(f.n_axes, y->dims + 2);
    if (in == 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "the images have no elements to sample");
    for (int64_t i = 0; i < y->dims[0] * out; i++) {
        sample_find(&f, grid, (uint64_t)i, p);
        if (i % 4096 == 0 && hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        for (int64_t ch = 0; ch < channels; ch++) {
            int64_t plane = i / out * channels + ch;
            uint64_t to = (uint64_t)(plane * out + i % out);
            if (copies) {
                HN_TRY(sample_copy(c, x, p->at[0] < 0 ? -1 : plane * in + p->at[0], y, to));
                continue;
            }
            double sum = sample_sum(p, planes + plane * in);
            hn_store_f64(y, to, 1, &sum);
        }
    }
    return HONE_OK;
}
const hn_impl hn_impl_grid_sample[1] = {{.eval = eval_grid_sample}};

/* ---- AffineGrid ------------------------------------------------------------------------------ */

/* Element i of n, seen from -1 to 1: between the corners, or between the middles of the outermost
 * elements. */
static double affine_coordinate(int64_t i, int64_t n, bool align_corners) {
    if (align_corners)
        return n == 1 ? -1 : -1 + 2 * (double)i / (double)(n - 1);
    return -1 + (double)(2 * i + 1) / (double)n;
}

static hone_status eval_affine_grid(hn_eval *c) {
    const hn_array *theta = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    int64_t n_axes = y->dims[y->rank - 1],
            per_image = (int64_t)hn_count(y->rank - 1, y->dims + 1) / n_axes;
    bool align_corners = hn_attr_i(hn_eval_node(c), "align_corners", 0) != 0;
    double matrix[12], point[4], out[3];
    for (int64_t i = 0; i < y->dims[0] * per_image && !hn_spent(32); i++) {
        int64_t at = i % per_image;
        for (int64_t a = n_axes; a >= 1; a--) { /* x first: the last axis */
            point[n_axes - a] = affine_coordinate(at % y->dims[a], y->dims[a], align_corners);
            at /= y->dims[a];
        }
        point[n_axes] = 1;
        uint64_t matrix_elems = (uint64_t)(n_axes * (n_axes + 1));
        hn_load_f64(theta, (uint64_t)(i / per_image) * matrix_elems, matrix_elems, matrix);
        for (int64_t r = 0; r < n_axes; r++) {
            out[r] = 0;
            for (int64_t k = 0; k <= n_axes; k++)
                out[r] += matrix[r * (n_axes + 1) + k] * point[k];
        }
        hn_store_f64(y, (uint64_t)(i * n_axes), (uint64_t)n_axes, out);
    }
    return HONE_OK;
}
const hn_impl hn_impl_affine_grid[1] = {{.eval = eval_affine_grid}};
