/* Pooling: each window element is applied to whole lines of outputs. */
#include "ops/eval/onnx/window_eval.h"

#include <math.h>

#define POOL_MOST_TAPS 1e8
#define POOL_UNWATCHED (1 << 16) /* window elements between looks at the deadline */

typedef enum pool_kind { POOL_MAX, POOL_AVERAGE, POOL_LP } pool_kind;

typedef struct pool_form {
    pool_kind kind;
    hn_window window;
    double p;           /* POOL_LP */
    double lowest;      /* POOL_MAX: of a window without elements */
    bool count_padding; /* POOL_AVERAGE */
    bool column_major;  /* of indices */
    int64_t pad_end[HN_MAX_SPATIAL];
} pool_form;

static double pow_of(double v, double p) {
    return p == 1 ? v : p == 2 ? v * v : p == 0.5 ? sqrt(v) : pow(v, p);
}

/* Elements of the window at output o that count along one axis: those inside the input, or inside
 * the padded input. */
static int64_t pool_count(const pool_form *f, int32_t axis, int64_t o) {
    const hn_window *s = &f->window;
    int64_t first = o * s->stride[axis] - s->pad[axis], step = s->dilation[axis];
    int64_t least = f->count_padding ? -s->pad[axis] : 0;
    int64_t past = s->in[axis] + (f->count_padding ? f->pad_end[axis] : 0);
    int64_t begin = least > first ? (least - first + step - 1) / step : 0;
    int64_t end = past > first ? (past - first + step - 1) / step : 0;
    return HN_MAX(HN_MIN(end, s->kernel[axis]) - begin, 0);
}

/* The index of a maximum in the whole input; `at` counts within the plane, -1: the window was
 * empty. */
static int64_t pool_index(const pool_form *f, int64_t plane, int64_t at) {
    const hn_window *s = &f->window;
    at = HN_MAX(at, 0);
    if (f->column_major) {
        int64_t coordinates[HN_MAX_SPATIAL], flat = 0;
        hn_window_split(s->n_axes, s->in, at, coordinates);
        for (int32_t a = s->n_axes - 1; a >= 0; a--)
            flat = flat * s->in[a] + coordinates[a];
        at = flat;
    }
    return plane * s->in_elems + at;
}

#define HN_TEMPLATE "ops/eval/onnx/pool_tmpl.h"
#include "base/each_type_tmpl.h"

static void read_pool_form(const hn_eval *c, const int64_t *out, pool_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    hn_window_read(node, x->rank - 2, x->dims + 2, out, NULL, &f->window);
    hn_window_pad_end(node, &f->window, f->pad_end);
}

/* Largest floats without their places; false: this is something else. */
static bool pool_max_fast(const hn_eval *c, const pool_form *f) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    return f->kind == POOL_MAX && x->dtype == HN_F32 && y && !hn_ret(c, 1) &&
           hn_pool_max_f32(hn_eval_pool(c), &f->window, x->dims[0] * x->dims[1], x->data, y->data);
}

static hone_status run_pool(hn_eval *c, pool_form *f) {
    const hn_array *y = hn_ret(c, 0) ? hn_ret(c, 0) : hn_ret(c, 1);
    if (!y)
        return HONE_OK;
    read_pool_form(c, y->dims + 2, f);
    double taps = 1; /* windows take no memory, so only the time limits them */
    for (int32_t i = 0; i < f->window.n_axes; i++)
        taps *= (double)f->window.kernel[i];
    if (taps > POOL_MOST_TAPS)
        return hn_eval_fail(c, HONE_E_LIMIT, "a window of %g elements is too large", taps);
    if (pool_max_fast(c, f))
        return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
    return hn_arg(c, 0)->dtype == HN_F64 ? pool_eval_f64(c, f) : pool_eval_f32(c, f);
}

hone_status hn_eval_average_pool(hn_eval *c) {
    pool_form f = {.kind = POOL_AVERAGE,
                   .count_padding = hn_attr_i(hn_eval_node(c), "count_include_pad", 0) != 0};
    return run_pool(c, &f);
}
const hn_impl hn_impl_average_pool[1] = {{.eval = hn_eval_average_pool}};

hone_status hn_eval_max_pool(hn_eval *c) {
    pool_form f = {.kind = POOL_MAX,
                   .column_major = hn_attr_i(hn_eval_node(c), "storage_order", 0) != 0};
    hn_dtype t = hn_arg(c, 0)->dtype;
    f.lowest = t == HN_U8 ? 0 : t == HN_I8 ? -128 : -HUGE_VAL;
    return run_pool(c, &f);
}
const hn_impl hn_impl_max_pool[1] = {{.eval = hn_eval_max_pool}};

/* p is a float in version 1, an integer later. */
static double read_pool_p(const hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    return hn_infer_version(node) < 2 ? (double)hn_attr_f(node, "p", 2)
                                      : (double)hn_attr_i(node, "p", 2);
}

static hone_status eval_lp_pool(hn_eval *c) {
    pool_form f = {.kind = POOL_LP, .p = read_pool_p(c)};
    return run_pool(c, &f);
}
const hn_impl hn_impl_lp_pool[1] = {{.eval = eval_lp_pool}};

/* ---- global ---------------------------------------------------------------------------------- */

typedef struct global_pool_job {
    const hn_array *x;
    hn_array *y;
    pool_kind kind;
    double p;
    uint64_t plane;
} global_pool_job;

static void global_pool_plane(const global_pool_job *job, int64_t i) {
    double tile[HN_TILE], sum = job->kind == POOL_MAX ? -HUGE_VAL : 0;
    for (uint64_t at = 0; at < job->plane; at += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, job->plane - at);
        hn_load_f64(job->x, (uint64_t)i * job->plane + at, n, tile);
        for (uint64_t k = 0; k < n; k++) {
            if (job->kind == POOL_MAX)
                sum = tile[k] > sum || tile[k] != tile[k] ? tile[k] : sum;
            else
                sum += job->kind == POOL_LP ? pow_of(fabs(tile[k]), job->p) : tile[k];
        }
    }
    if (job->kind != POOL_MAX)
        sum = job->kind == POOL_LP ? pow_of(sum, 1 / job->p) : sum / (double)job->plane;
    hn_store_f64(job->y, (uint64_t)i, 1, &sum);
}

/* Averages of floats where there are vectors. */
static bool average_plane_f32(const global_pool_job *job, int64_t i) {
    float sum;
    if (job->kind != POOL_AVERAGE || job->x->dtype != HN_F32 || job->y->dtype != HN_F32 ||
        !hn_sum_row_f32((int64_t)job->plane, (const float *)job->x->data + (uint64_t)i * job->plane,
                        &sum))
        return false;
    ((float *)job->y->data)[i] = sum / (float)job->plane;
    return true;
}

static void global_pool_planes(void *ctx, int64_t begin, int64_t end) {
    const global_pool_job *job = ctx;
    for (int64_t i = begin; i < end; i++)
        if (!average_plane_f32(job, i))
            global_pool_plane(job, i);
}

static hone_status run_global_pool(hn_eval *c, pool_kind kind, double p) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    global_pool_job job = {x, y, kind, p, x->n_elems / y->n_elems};
    hn_pool_for(hn_eval_pool(c), (int64_t)y->n_elems, 8, global_pool_planes, &job);
    return HONE_OK;
}

hone_status hn_eval_global_average_pool(hn_eval *c) {
    return run_global_pool(c, POOL_AVERAGE, 1);
}
const hn_impl hn_impl_global_average_pool[1] = {{.eval = hn_eval_global_average_pool}};
hone_status hn_eval_global_max_pool(hn_eval *c) {
    return run_global_pool(c, POOL_MAX, 1);
}
const hn_impl hn_impl_global_max_pool[1] = {{.eval = hn_eval_global_max_pool}};
static hone_status eval_global_lp_pool(hn_eval *c) {
    return run_global_pool(c, POOL_LP, read_pool_p(c));
}
const hn_impl hn_impl_global_lp_pool[1] = {{.eval = eval_global_lp_pool}};

/* ---- unpooling ------------------------------------------------------------------------------- */

/* Indices count within the output that the windows cover; a larger output_shape has that in its
 * first corner. */
static hone_status eval_max_unpool(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *indices = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    pool_form f;
    if (!y)
        return HONE_OK;
    int32_t rank = x->rank;
    int64_t covered[HN_MAX_RANK], at[HN_MAX_RANK], strides[HN_MAX_RANK];
    read_pool_form(c, y->dims + 2, &f);
    for (int32_t i = 0; i < rank; i++)
        covered[i] = i < 2 ? x->dims[i]
                           : (x->dims[i] - 1) * f.window.stride[i - 2] + f.window.kernel[i - 2] -
                                 f.window.pad[i - 2] - f.pad_end[i - 2];
    hn_strides(rank, y->dims, strides);
    size_t bytes = hn_elem_bytes(y->dtype);
    memset(y->data, 0, y->n_elems * bytes);
    int64_t n_covered = (int64_t)hn_count(rank, covered);
    for (int32_t a = 0; a < rank; a++)
        if (covered[a] < 0)
            n_covered = 0;
    if (indices->n_elems != x->n_elems)
        return hn_eval_fail(c, HONE_E_SHAPE, "%llu elements, but %llu indices",
                            (unsigned long long)x->n_elems, (unsigned long long)indices->n_elems);
    for (uint64_t i = 0; i < x->n_elems; i++) {
        int64_t index = ((const int64_t *)indices->data)[i], to = 0;
        bool inside = index >= 0 && index < n_covered;
        if (inside)
            hn_window_split(rank, covered, index, at);
        for (int32_t a = 0; a < rank && inside; a++) {
            inside = at[a] < y->dims[a];
            to += at[a] * strides[a];
        }
        if (!inside)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "index %lld of element %llu is outside the output",
                                (long long)index, (unsigned long long)i);
        memcpy((uint8_t *)y->data + (size_t)to * bytes, (const uint8_t *)x->data + i * bytes,
               bytes);
    }
    return HONE_OK;
}
const hn_impl hn_impl_max_unpool[1] = {{.eval = eval_max_unpool}};
