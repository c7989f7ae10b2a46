/* Pooling, computed: window elements run over whole lines of outputs. */
#include "ops/eval/onnx/pool_eval.h"
#include "cpu/kernels/elementwise/typed_pairs.h"
#include "cpu/kernels/reduce/reduce_loops.h"

#include <math.h>

#define POOL_MOST_TAPS 1e8
#define POOL_UNWATCHED (1 << 16) /* window elements between looks at the deadline */

static double pow_of(double v, double p) {
    return p == 1 ? v : p == 2 ? v * v : p == 0.5 ? sqrt(v) : pow(v, p);
}

/* Elements of the window at output o that count along one axis: those inside the input, or inside
 * the padded input. */
static int64_t pool_count(const hn_pooling *f, int32_t axis, int64_t o) {
    const hn_window *s = &f->window;
    int64_t first = o * s->stride[axis] - s->pad[axis], step = s->dilation[axis];
    int64_t least = f->count_padding ? -s->pad[axis] : 0;
    int64_t past = s->in[axis] + (f->count_padding ? f->pad_end[axis] : 0);
    int64_t begin = least > first ? (least - first + step - 1) / step : 0;
    int64_t end = past > first ? (past - first + step - 1) / step : 0;
    return HN_MAX(HN_MIN(end, s->kernel[axis]) - begin, 0);
}

/* Outputs along an axis whose windows lie inside the input as a whole. */
static void pool_whole_windows(const hn_pooling *f, int32_t axis, int64_t *begin, int64_t *end) {
    int64_t last_end;
    hn_window_inside(&f->window, axis, 0, begin, end);
    hn_window_inside(&f->window, axis, f->window.kernel[axis] - 1, &last_end, end);
    *end = HN_MAX(*begin, *end);
}

/* The index of a maximum in the whole input; `at` counts within the plane, -1: the window was
 * empty. */
static int64_t pool_index(const hn_pooling *f, int64_t plane, int64_t at) {
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

/* p is a float in version 1, an integer later. */
static double read_pool_p(const hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    return hn_infer_version(node) < 2 ? (double)hn_attr_f(node, "p", 2)
                                      : (double)hn_attr_i(node, "p", 2);
}

hone_status hn_pooling_read(hn_eval *c, hn_pooling_kind kind, const int64_t *out, hn_pooling *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    f->kind = kind;
    f->p = kind == HN_POOL_LP ? read_pool_p(c) : 1;
    f->lowest = x->dtype == HN_U8 ? 0 : x->dtype == HN_I8 ? -128 : -HUGE_VAL;
    f->count_padding = kind == HN_POOL_AVERAGE && hn_attr_i(node, "count_include_pad", 0) != 0;
    f->has_vectors = kind == HN_POOL_MAX && x->dtype == HN_F32;
    f->column_major = kind == HN_POOL_MAX && hn_attr_i(node, "storage_order", 0) != 0;
    hn_window_read(node, x->rank - 2, x->dims + 2, out, NULL, &f->window);
    hn_window_pad_end(node, &f->window, f->pad_end);
    double taps =
        1; /* no memory stands behind a window: what counts is the time to go through it */
    for (int32_t i = 0; i < f->window.n_axes; i++)
        taps *= (double)f->window.kernel[i];
    if (taps > POOL_MOST_TAPS)
        return hn_eval_fail(c, HONE_E_LIMIT, "a window of %g elements is too large", taps);
    return HONE_OK;
}

void hn_pooling_run_floats(hn_pool *pool, const hn_pooling *f, int64_t n_planes, const float *x,
                           float *y, int64_t *indices) {
    if (!f->has_vectors || indices || !hn_pool_max_f32(pool, &f->window, n_planes, x, y))
        pool_all_planes_f32(pool, f, n_planes, x, y, indices);
}

void hn_pooling_run_f64(hn_pool *pool, const hn_pooling *f, int64_t n_planes, const double *x,
                        double *y, int64_t *indices) {
    pool_all_planes_f64(pool, f, n_planes, x, y, indices);
}

/* Reads and writes floats, or doubles, whatever the elements are. */
#define POOL_WIDENED(T, name, run)                                                           \
  static hone_status pool_eval_##name(hn_eval *c, const hn_pooling *f) {                     \
    const hn_array *x = hn_arg(c, 0);                                                        \
    hn_array *y = hn_ret(c, 0), *indices = hn_ret(c, 1);                                     \
    const T *wide_x = hn_wide_##name(c, x);                                                  \
    int64_t planes = x->dims[0] * x->dims[1];                                                \
    T *wide = y ? hn_buffer_##name(c, y)                                                     \
                : hn_eval_scratch_n(c, (uint64_t)(planes * f->window.out_elems), sizeof(T)); \
    HN_TRY_PTR(wide_x &&wide);                                                               \
    run(hn_eval_pool(c), f, planes, wide_x, wide, indices ? indices->data : NULL);           \
    if (hn_eval_stopped(c))                                                                  \
      return HONE_E_CANCELLED;                                                               \
    if (y)                                                                                   \
      hn_narrow_##name(y, wide);                                                             \
    return HONE_OK;                                                                          \
  }
POOL_WIDENED(float, f32, hn_pooling_run_floats)
POOL_WIDENED(double, f64, hn_pooling_run_f64)

static hone_status eval_pool(hn_eval *c, hn_pooling_kind kind) {
    const hn_array *y = hn_ret(c, 0) ? hn_ret(c, 0) : hn_ret(c, 1);
    hn_pooling f;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_pooling_read(c, kind, y->dims + 2, &f));
    return hn_arg(c, 0)->dtype == HN_F64 ? pool_eval_f64(c, &f) : pool_eval_f32(c, &f);
}

hone_status hn_eval_average_pool(hn_eval *c) {
    return eval_pool(c, HN_POOL_AVERAGE);
}
const hn_impl hn_impl_average_pool[1] = {{.eval = hn_eval_average_pool}};

hone_status hn_eval_max_pool(hn_eval *c) {
    return eval_pool(c, HN_POOL_MAX);
}
const hn_impl hn_impl_max_pool[1] = {{.eval = hn_eval_max_pool}};

static hone_status eval_lp_pool(hn_eval *c) {
    return eval_pool(c, HN_POOL_LP);
}
const hn_impl hn_impl_lp_pool[1] = {{.eval = eval_lp_pool}};

/* ---- global ---------------------------------------------------------------------------------- */

typedef struct global_pool_job {
    const hn_global_pooling *form;
    const hn_array *x;
    hn_array *y;
} global_pool_job;

static void global_pool_plane(const global_pool_job *job, int64_t i) {
    const hn_global_pooling *g = job->form;
    double tile[HN_TILE], sum = g->kind == HN_POOL_MAX ? -HUGE_VAL : 0;
    for (uint64_t at = 0; at < g->plane; at += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, g->plane - at);
        hn_load_f64(job->x, (uint64_t)i * g->plane + at, n, tile);
        for (uint64_t k = 0; k < n; k++) {
            if (g->kind == HN_POOL_MAX)
                sum = tile[k] > sum || tile[k] != tile[k] ? tile[k] : sum;
            else
                sum += g->kind == HN_POOL_LP ? pow_of(fabs(tile[k]), g->p) : tile[k];
        }
    }
    if (g->kind != HN_POOL_MAX)
        sum = g->kind == HN_POOL_LP ? pow_of(sum, 1 / g->p) : sum / (double)g->plane;
    hn_store_f64(job->y, (uint64_t)i, 1, &sum);
}

static void global_pool_planes(void *ctx, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
        global_pool_plane(ctx, i);
}

static void max_planes(void *ctx, int64_t begin, int64_t end) {
    const global_pool_job *job = ctx;
    const float *x = job->x->data;
    int64_t plane = (int64_t)job->form->plane;
    hn_reduce_run_fn largest = hn_reduce_loops_find_f32()->run[HN_REDUCE_MAX];
    for (int64_t i = begin; i < end; i++)
        ((float *)job->y->data)[i] = largest(plane, x + i * plane);
}

/* Averages of floats where there are vectors. */
static void average_planes(void *ctx, int64_t begin, int64_t end) {
    const global_pool_job *job = ctx;
    const float *x = job->x->data;
    int64_t plane = (int64_t)job->form->plane;
    for (int64_t i = begin; i < end; i++) {
        float sum = 0;
        hn_sum_row_f32(plane, x + i * plane, &sum);
        ((float *)job->y->data)[i] = sum / (float)plane;
    }
}

void hn_global_pooling_read(const hn_eval *c, hn_pooling_kind kind, hn_global_pooling *g) {
    *g = (hn_global_pooling){.kind = kind,
                             .p = kind == HN_POOL_LP ? read_pool_p(c) : 1,
                             .plane = hn_arg(c, 0)->n_elems / hn_ret(c, 0)->n_elems};
    bool is_float = hn_arg(c, 0)->dtype == HN_F32;
    g->range = kind == HN_POOL_MAX && is_float                                 ? max_planes
               : kind == HN_POOL_AVERAGE && is_float && hn_rows_are_fast_f32() ? average_planes
                                                                               : global_pool_planes;
}

void hn_global_pooling_run(hn_pool *pool, const hn_global_pooling *g, const hn_array *x,
                           hn_array *y) {
    global_pool_job job = {g, x, y};
    hn_pool_for(pool, (int64_t)y->n_elems, 8, g->range, &job);
}

static hone_status eval_global_pool(hn_eval *c, hn_pooling_kind kind) {
    hn_global_pooling g;
    if (!hn_ret(c, 0) || hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    hn_global_pooling_read(c, kind, &g);
    hn_global_pooling_run(hn_eval_pool(c), &g, hn_arg(c, 0), hn_ret(c, 0));
    return HONE_OK;
}

hone_status hn_eval_global_average_pool(hn_eval *c) {
    return eval_global_pool(c, HN_POOL_AVERAGE);
}
const hn_impl hn_impl_global_average_pool[1] = {{.eval = hn_eval_global_average_pool}};
hone_status hn_eval_global_max_pool(hn_eval *c) {
    return eval_global_pool(c, HN_POOL_MAX);
}
const hn_impl hn_impl_global_max_pool[1] = {{.eval = hn_eval_global_max_pool}};
static hone_status eval_global_lp_pool(hn_eval *c) {
    return eval_global_pool(c, HN_POOL_LP);
}
const hn_impl hn_impl_global_lp_pool[1] = {{.eval = eval_global_lp_pool}};

/* ---- unpooling ------------------------------------------------------------------------------- */

/* Indices count within the output that the windows cover; a larger output_shape has that in its
 * first corner. */
static hone_status eval_max_unpool(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *indices = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    hn_window window;
    int64_t pad_end[HN_MAX_SPATIAL];
    if (!y)
        return HONE_OK;
    int32_t rank = x->rank;
    int64_t covered[HN_MAX_RANK], at[HN_MAX_RANK], strides[HN_MAX_RANK];
    hn_window_read(hn_eval_node(c), rank - 2, x->dims + 2, y->dims + 2, NULL, &window);
    hn_window_pad_end(hn_eval_node(c), &window, pad_end);
    for (int32_t i = 0; i < rank; i++)
        covered[i] = i < 2 ? x->dims[i]
                           : (x->dims[i] - 1) * window.stride[i - 2] + window.kernel[i - 2] -
                                 window.pad[i - 2] - pad_end[i - 2];
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
    for (uint64_t i = 0; i < x->n_elems && !hn_spent(16); i++) {
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
