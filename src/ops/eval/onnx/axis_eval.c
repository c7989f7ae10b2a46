/* Operators that look along one axis: the data is [outer, n, inner] with that axis in the middle.
 */
#include "ops/eval/onnx/axis_eval.h"

#include <math.h>

hn_axis_view hn_view_axis(const hn_array *x, int64_t axis) {
    axis += axis < 0 ? x->rank : 0;
    return (hn_axis_view){hn_count((int32_t)axis, x->dims), (uint64_t)x->dims[axis],
                          hn_count(x->rank - (int32_t)axis - 1, x->dims + axis + 1)};
}

/* Calls fn for up to HN_TILE lanes side by side: `at` is their first element on the axis, `lane`
 * the first lane counted over outer and inner. */
typedef void (*lanes_fn)(void *ctx, const hn_axis_view *v, uint64_t at, uint64_t lane,
                         uint64_t n_lanes);

typedef struct lanes_walk {
    const hn_axis_view *v;
    uint64_t tiles_per_row;
    lanes_fn fn;
    void *ctx;
} lanes_walk;

static void walk_lanes(void *ctx, int64_t begin, int64_t end) {
    const lanes_walk *w = ctx;
    const hn_axis_view *v = w->v;
    for (uint64_t tile = (uint64_t)begin; tile < (uint64_t)end; tile++) {
        uint64_t o = tile / w->tiles_per_row, i = tile % w->tiles_per_row * HN_TILE;
        w->fn(w->ctx, v, o * v->n * v->inner + i, o * v->inner + i, HN_MIN(v->inner - i, HN_TILE));
    }
}

static void each_lanes(hn_pool *pool, const hn_axis_view *v, lanes_fn fn, void *ctx) {
    lanes_walk w = {v, (v->inner + HN_TILE - 1) / HN_TILE, fn, ctx};
    uint64_t of_tile = HN_MAX(v->n * HN_MIN(v->inner, HN_TILE), 1);
    hn_pool_for(pool, (int64_t)(v->outer * w.tiles_per_row), (int64_t)HN_MAX(HN_GRAIN / of_tile, 1),
                walk_lanes, &w);
}

/* ---- ArgMax, ArgMin, Hardmax ----------------------------------------------------------------- */

/* A NaN is larger and smaller than every number; the first one, or else the last, is found. */
#define ARG_LANES(name, T, load)                                                                \
  static void name(void *ctx, const hn_axis_view *v, uint64_t at, uint64_t lane, uint64_t n) {  \
    const hn_arg_job *j = ctx;                                                                  \
    T best[HN_TILE], tile[HN_TILE];                                                             \
    for (uint64_t k = 0; k < v->n; k++) {                                                       \
      load(j->x, at + k * v->inner, n, tile);                                                   \
      for (uint64_t i = 0; i < n; i++) {                                                        \
        T x = tile[i], old = best[i];                                                           \
        bool is_tie = k > 0 && (x == old || (x != x && old != old));                            \
        bool is_better = k == 0 || (old == old && (x != x || (j->is_max ? x > old : x < old))); \
        if (is_better || (is_tie && j->is_last)) {                                              \
          best[i] = x;                                                                          \
          j->out[lane + i] = (int64_t)k;                                                        \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }

/* uint64 in the order of int64. */
static void load_ordered(const hn_array *x, uint64_t at, uint64_t n, int64_t *out) {
    hn_load_i64(x, at, n, out);
    for (uint64_t i = 0; x->dtype == HN_U64 && i < n; i++)
        out[i] ^= INT64_MIN;
}

ARG_LANES(arg_lanes_int, int64_t, load_ordered)
ARG_LANES(arg_lanes_real, double, hn_load_f64)

/* The same along one lane whose elements lie side by side: most are worse than the best so far. */
#define ARG_RUN(name, T, load)                                                                 \
  static void name(void *ctx, const hn_axis_view *v, uint64_t at, uint64_t lane, uint64_t n) { \
    const hn_arg_job *j = ctx;                                                                 \
    bool is_max = j->is_max, is_last = j->is_last;                                             \
    T best = 0, tile[HN_TILE];                                                                 \
    int64_t found = -1;                                                                        \
    for (uint64_t done = 0; done < v->n; done += n) {                                          \
      n = HN_MIN(v->n - done, HN_TILE);                                                        \
      load(j->x, at + done, n, tile);                                                          \
      for (uint64_t i = 0; i < n; i++) {                                                       \
        T x = tile[i];                                                                         \
        if (found >= 0 && (is_max ? x < best : x > best))                                      \
          continue;                                                                            \
        bool is_tie = x == best || (x != x && best != best);                                   \
        if (found < 0 || (is_tie ? is_last : best == best)) {                                  \
          best = x;                                                                            \
          found = (int64_t)(done + i);                                                         \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
    j->out[lane] = found;                                                                      \
  }
ARG_RUN(arg_run_int, int64_t, load_ordered)
ARG_RUN(arg_run_real, double, hn_load_f64)

/* The first of float32, without branches. */
static void arg_lanes_float(void *ctx, const hn_axis_view *v, uint64_t at, uint64_t lane,
                            uint64_t n) {
    const hn_arg_job *j = ctx;
    float best[HN_TILE], sign = j->is_max ? 1 : -1;
    int32_t found[HN_TILE];
    for (uint64_t k = 0; k < v->n; k++) {
        const float *x = (const float *)j->x->data + at + k * v->inner;
        for (uint64_t i = 0; i < n; i++) {
            float here = sign * x[i], old = k ? best[i] : here;
            bool is_better = (k == 0) | ((old == old) & !(here <= old));
            best[i] = is_better ? here : old;
            found[i] = is_better ? (int32_t)k : found[i];
        }
    }
    for (uint64_t i = 0; i < n; i++)
        j->out[lane + i] = found[i];
}

/* Runs of float32: the best one first, then where it stands. */
typedef struct arg_rows {
    const hn_arg_job *job;
    uint64_t n;
} arg_rows;

/* Elements before the first that is `best`, by whole blocks, whose size the compiler knows. */
static uint64_t blocks_without(uint64_t n, const float *x, float best) {
    enum { IN_BLOCK = 16 };
    uint64_t at = 0;
    for (; at + IN_BLOCK <= n; at += IN_BLOCK) {
        int n_equal = 0;
        for (int i = 0; i < IN_BLOCK; i++)
            n_equal += x[at + (uint64_t)i] == best;
        if (n_equal)
            break;
    }
    return at;
}

static int64_t arg_of_run(const arg_rows *r, const float *x) {
    float best = r->job->best((int64_t)r->n, x);
    bool skips = !r->job->is_last && best == best;
    for (uint64_t i = skips ? blocks_without(r->n, x, best) : 0; i < r->n; i++) {
        uint64_t at = r->job->is_last ? r->n - 1 - i : i;
        if (x[at] == best || (x[at] != x[at] && best != best))
            return (int64_t)at;
    }
    return 0;
}

static void arg_row_range(void *ctx, int64_t begin, int64_t end) {
    const arg_rows *r = ctx;
    for (int64_t row = begin; row < end; row++)
        r->job->out[row] = arg_of_run(r, (const float *)r->job->x->data + (uint64_t)row * r->n);
}

void hn_arg_run(hn_pool *pool, const hn_axis_view *v, const hn_arg_job *job) {
    hn_arg_job j = *job;
    arg_rows rows = {job, v->n};
    bool is_int = hn_dtype_is_int(job->x->dtype);
    if (job->x->dtype == HN_F32 && v->inner == 1)
        hn_pool_for(pool, (int64_t)v->outer, (int64_t)HN_MAX(HN_GRAIN / v->n, 1), arg_row_range,
                    &rows);
    else if (v->inner == 1)
        each_lanes(pool, v, is_int ? arg_run_int : arg_run_real, &j);
    else if (job->x->dtype == HN_F32 && !job->is_last && v->n <= INT32_MAX)
        each_lanes(pool, v, arg_lanes_float, &j);
    else
        each_lanes(pool, v, is_int ? arg_lanes_int : arg_lanes_real, &j);
}

void hn_arg_read(const hn_eval *c, hn_arg_job *job) {
    const hn_infer *node = hn_eval_node(c);
    *job = (hn_arg_job){.is_max = strcmp(hn_infer_op(node), "ArgMin") != 0,
                        .is_last = hn_attr_i(node, "select_last_index", 0) != 0};
    job->best = hn_reduce_loops_find_f32()->run[job->is_max ? HN_REDUCE_MAX : HN_REDUCE_MIN];
}

static hone_status find_args(hn_eval *c, const hn_axis_view *v, int64_t *out) {
    hn_arg_job job;
    if (v->n == 0 && v->outer * v->inner > 0)
        return hn_eval_fail(c, HONE_E_INVALID, "the axis is empty, so there is no index to find");
    if (v->outer * v->inner == 0)
        return HONE_OK;
    hn_arg_read(c, &job);
    job.x = hn_arg(c, 0);
    job.out = out;
    hn_arg_run(hn_eval_pool(c), v, &job);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

static hone_status eval_argreduce(hn_eval *c) {
    if (!hn_ret(c, 0))
        return HONE_OK;
    hn_axis_view v = hn_view_axis(hn_arg(c, 0), hn_attr_i(hn_eval_node(c), "axis", 0));
    return find_args(c, &v, hn_ret(c, 0)->data);
}
const hn_impl hn_impl_argreduce[1] = {{.eval = eval_argreduce}};

/* ---- CumSum, CumProd ------------------------------------------------------------------------- */

/* Lanes side by side: an exclusive result is what there was before the element. */
#define CUMULATE_LANES(name, T, load, store, sum, product)                                     \
  static void name(void *ctx, const hn_axis_view *v, uint64_t at, uint64_t lane, uint64_t n) { \
    const hn_cumulation *j = ctx;                                                              \
    T acc[HN_TILE], tile[HN_TILE];                                                             \
    (void)lane;                                                                                \
    for (uint64_t i = 0; i < n; i++)                                                           \
      acc[i] = j->is_product;                                                                  \
    for (uint64_t step = 0; step < v->n; step++) {                                             \
      uint64_t first = at + (j->is_reverse ? v->n - 1 - step : step) * v->inner;               \
      load(j->x, first, n, tile);                                                              \
      if (j->is_exclusive)                                                                     \
        store(j->y, first, n, acc);                                                            \
      if (j->is_product)                                                                       \
        for (uint64_t i = 0; i < n; i++) {                                                     \
          T x = tile[i], old = acc[i];                                                         \
          acc[i] = (product);                                                                  \
        }                                                                                      \
      else                                                                                     \
        for (uint64_t i = 0; i < n; i++) {                                                     \
          T x = tile[i], old = acc[i];                                                         \
          acc[i] = (sum);                                                                      \
        }                                                                                      \
      if (!j->is_exclusive)                                                                    \
        store(j->y, first, n, acc);                                                            \
    }                                                                                          \
  }
/* The same along one lane whose elements lie side by side. */
#define CUMULATE_RUN(name, T, load, store, sum, product)                                       \
  static void name(void *ctx, const hn_axis_view *v, uint64_t at, uint64_t lane, uint64_t n) { \
    const hn_cumulation *j = ctx;                                                              \
    T acc = j->is_product, tile[HN_TILE];                                                      \
    (void)lane;                                                                                \
    for (uint64_t done = 0; done < v->n; done += n) {                                          \
      n = HN_MIN(v->n - done, HN_TILE);                                                        \
      uint64_t first = at + (j->is_reverse ? v->n - done - n : done);                          \
      load(j->x, first, n, tile);                                                              \
      for (uint64_t step = 0; step < n; step++) {                                              \
        T *here = &tile[j->is_reverse ? n - 1 - step : step], x = *here, old = acc;            \
        acc = j->is_product ? (product) : (sum);                                               \
        *here = j->is_exclusive ? old : acc;                                                   \
      }                                                                                        \
      store(j->y, first, n, tile);                                                             \
    }                                                                                          \
  }
#define WRAPPED(op) (int64_t)((uint64_t)old op(uint64_t) x)
CUMULATE_LANES(cumulate_reals, double, hn_load_f64, hn_store_f64, old + x, old *x)
CUMULATE_LANES(cumulate_ints, int64_t, hn_load_i64, hn_store_i64, WRAPPED(+), WRAPPED(*))
CUMULATE_RUN(cumulate_real_run, double, hn_load_f64, hn_store_f64, old + x, old *x)
CUMULATE_RUN(cumulate_int_run, int64_t, hn_load_i64, hn_store_i64, WRAPPED(+), WRAPPED(*))

void hn_cumulation_read(const hn_eval *c, hn_cumulation *job) {
    const hn_infer *node = hn_eval_node(c);
    *job = (hn_cumulation){.is_product = strcmp(hn_infer_op(node), "CumProd") == 0,
                           .is_exclusive = hn_attr_i(node, "exclusive", 0) != 0,
                           .is_reverse = hn_attr_i(node, "reverse", 0) != 0};
}

void hn_cumulation_run(hn_pool *pool, const hn_axis_view *v, const hn_cumulation *job) {
    hn_cumulation j = *job;
    bool is_int = hn_dtype_is_int(job->x->dtype);
    if (v->inner == 1)
        each_lanes(pool, v, is_int ? cumulate_int_run : cumulate_real_run, &j);
    else
        each_lanes(pool, v, is_int ? cumulate_ints : cumulate_reals, &j);
}

static hone_status eval_cumulative(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *axis_given = hn_arg(c, 1);
    hn_cumulation job;
    int64_t axis = 0;
    if (!hn_ret(c, 0))
        return HONE_OK;
    if (axis_given->n_elems != 1)
        return hn_eval_fail(c, HONE_E_SHAPE, "axis must be one number");
    hn_load_i64(axis_given, 0, 1, &axis);
    if (axis < -(int64_t)x->rank || axis >= x->rank)
        return hn_eval_fail(c, HONE_E_SHAPE, "axis %lld does not exist in data of rank %d",
                            (long long)axis, x->rank);
    hn_axis_view v = hn_view_axis(x, axis);
    hn_cumulation_read(c, &job);
    job.x = x;
    job.y = hn_ret(c, 0);
    hn_cumulation_run(hn_eval_pool(c), &v, &job);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_cumulative[1] = {{.eval = eval_cumulative}};

/* ---- Softmax and its family ------------------------------------------------------------------ */

/* Differences from an infinite largest element are NaN, and with them the sum and all results. */
static void apply_log_softmax(double *x, uint64_t n, const double *log_sums, uint64_t step) {
    for (uint64_t i = 0; i < n; i++) {
        double log_sum = log_sums[i * step];
        x[i] = isinf(log_sum) ? (double)NAN : x[i] - log_sum;
    }
}
static void apply_softmax(double *x, uint64_t n, const double *log_sums, uint64_t step) {
    apply_log_softmax(x, n, log_sums, step);
    for (uint64_t i = 0; i < n; i++)
        x[i] = exp(x[i]);
}
static void apply_norm(double *x, uint64_t n, const double *norms, uint64_t step) {
    if (step) {
        for (uint64_t i = 0; i < n; i++)
            x[i] = norms[i] == 0 ? 0 : x[i] / norms[i];
    } else if (norms[0] == 0) {
        memset(x, 0, (size_t)n * sizeof *x);
    } else {
        double norm = norms[0];
        for (uint64_t i = 0; i < n; i++)
            x[i] /= norm;
    }
}

void hn_lane_row(void *ctx, const hn_row *row) {
    const hn_lane_job *j = ctx;
    double tile[HN_TILE];
    uint64_t step = row->step[0] != 0;
    for (uint64_t at = 0; at < row->n; at += HN_TILE) {
        uint64_t n = HN_MIN(row->n - at, HN_TILE);
        hn_load_f64(j->x, row->out + at, n, tile);
        j->apply(tile, n, j->of_lane + row->in[0] + step * at, step);
        hn_store_f64(j->y, row->out + at, n, tile);
    }
}

hn_lane_form hn_lane_form_softmax(bool is_log) {
    return (hn_lane_form){"ReduceLogSumExp", is_log ? apply_log_softmax : apply_softmax};
}

hn_lane_form hn_lane_form_norm(int64_t p) {
    return (hn_lane_form){p == 1 ? "ReduceL1" : "ReduceL2", apply_norm};
}

/* y = apply(x, reduction of x along the axis). */
static hone_status apply_reduced(hn_eval *c, const hn_axis_view *v, hn_lane_form form) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    const int64_t dims[] = {(int64_t)v->outer, (int64_t)v->n, (int64_t)v->inner};
    const int64_t lane_dims[] = {dims[0], 1, dims[2]};
    hn_array lanes = {
        .dtype = HN_F64, .rank = 3, .dims = lane_dims, .n_elems = v->outer * v->inner};
    hn_array middle = *x;
    middle.rank = 3;
    middle.dims = dims;
    lanes.data = hn_eval_scratch(c, lanes.n_elems * sizeof(double));
    HN_TRY_PTR(lanes.data);
    HN_TRY(hn_reduce(c, form.reduce, &middle, 2, &lanes));
    const hn_array *in[] = {&lanes};
    hn_lane_job job = {x, y, lanes.data, form.apply};
    return hn_broadcast_rows(c, &middle, 1, in, hn_lane_row, &job);
}

/* Before version 13 the axis cut the shape in two, and everything behind it was one row. */
hn_axis_view hn_view_softmax(const hn_eval *c, const hn_array *x) {
    const hn_infer *node = hn_eval_node(c);
    int64_t axis = hn_attr_i(node, "axis", -1);
    if (hn_infer_version(node) >= 13)
        return x->rank ? hn_view_axis(x, axis) : (hn_axis_view){1, 1, 1};
    axis += axis < 0 ? x->rank : 0;
    return (hn_axis_view){hn_count((int32_t)axis, x->dims),
                          hn_count(x->rank - (int32_t)axis, x->dims + axis), 1};
}

hone_status hn_eval_softmax(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    bool is_log = strcmp(hn_infer_op(hn_eval_node(c)), "LogSoftmax") == 0;
    if (!y || x->n_elems == 0)
        return HONE_OK;
    hn_axis_view v = hn_view_softmax(c, x);
    hn_softmax form;
    if (!hn_softmax_plan(&form, &v, is_log, x->dtype))
        return apply_reduced(c, &v, hn_lane_form_softmax(is_log));
    hn_softmax_run(hn_eval_pool(c), &form, x->data, y->data);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_softmax[1] = {{.eval = hn_eval_softmax, .memory = HN_MEMORY_IN_PLACE}};

void hn_hardmax_write(const hn_axis_view *v, const int64_t *indices, hn_array *y) {
    const float one = 1;
    uint64_t bytes = 0;
    hn_dtype_bytes(y->dtype, y->n_elems, &bytes);
    memset(y->data, 0, (size_t)bytes);
    for (uint64_t o = 0; o < v->outer; o++)
        for (uint64_t i = 0; i < v->inner; i++)
            hn_store_f32(y, (o * v->n + (uint64_t)indices[o * v->inner + i]) * v->inner + i, 1,
                         &one);
}

static hone_status eval_hardmax(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    if (!hn_ret(c, 0) || x->n_elems == 0)
        return HONE_OK;
    hn_axis_view v = hn_view_softmax(c, x);
    int64_t *indices = hn_eval_scratch(c, v.outer * v.inner * sizeof *indices);
    HN_TRY_PTR(indices);
    HN_TRY(find_args(c, &v, indices));
    hn_hardmax_write(&v, indices, hn_ret(c, 0));
    return HONE_OK;
}
const hn_impl hn_impl_hardmax[1] = {{.eval = eval_hardmax}};

static hone_status eval_lp_norm(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    if (!hn_ret(c, 0) || x->n_elems == 0)
        return HONE_OK;
    int64_t p = hn_attr_i(node, "p", 2);
    if (p != 1 && p != 2)
        return hn_eval_fail(c, HONE_E_INVALID, "p is %lld, but must be 1 or 2", (long long)p);
    hn_axis_view v =
        x->rank ? hn_view_axis(x, hn_attr_i(node, "axis", -1)) : (hn_axis_view){1, 1, 1};
    return apply_reduced(c, &v, hn_lane_form_norm(p));
}
const hn_impl hn_impl_lp_norm[1] = {{.eval = eval_lp_norm}};
