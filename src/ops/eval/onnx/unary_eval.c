/* Functions of one number, element by element. */
#include "ops/eval/eval_broadcast.h"

#include <math.h>

/* ---- loops over floats ----------------------------------------------------------------------- */

/* Written so that nothing overflows on the way: the exponent is never positive where it could grow.
 */
#define SIGMOID(v) (1 / (1 + F(exp)(-(v))))
#define SOFTPLUS(v) ((v) > 0 ? (v) + F(log1p)(F(exp)(-(v))) : F(log1p)(F(exp)(v)))
#define UNIT(v) ((v) > 0 ? (v) < 1 ? (v) : 1 : (v) <= 0 ? 0 : (v)) /* into [0, 1]; NaN stays */

#define HN_UNARY(op, name_a, def_a, name_b, def_b, expr)                           \
  static void MAP_NAME(op)(const REAL *xs, REAL *ys, uint64_t n, REAL a, REAL b) { \
    (void)a, (void)b;                                                              \
    for (uint64_t i = 0; i < n; i++) {                                             \
      REAL x = xs[i];                                                              \
      ys[i] = (expr);                                                              \
    }                                                                              \
  }

#define REAL float
#define F(name) name##f
#define MAP_NAME(op) map_##op##_f32
#include "ops/eval/onnx/unary.def"
#undef REAL
#undef F
#undef MAP_NAME

#define REAL double
#define F(name) name
#define MAP_NAME(op) map_##op##_f64
#include "ops/eval/onnx/unary.def"
#undef REAL
#undef F
#undef MAP_NAME
#undef HN_UNARY

static const hn_unary_op map_ops[] = {
#define HN_UNARY(op, name_a, def_a, name_b, def_b, expr) \
  {#op, name_a, name_b, def_a, def_b, map_##op##_f32, map_##op##_f64},
#include "ops/eval/onnx/unary.def"
#undef HN_UNARY
};

const hn_unary_op *hn_unary_find(const char *op) {
    hn_count_decision(HN_DECISION_SELECTION);
    for (size_t i = 0; i < HN_COUNT(map_ops); i++)
        if (strcmp(map_ops[i].op, op) == 0)
            return &map_ops[i];
    return NULL;
}

/* ---- running one ----------------------------------------------------------------------------- */

static void map_range_wide(const hn_unary_job *j, uint64_t begin, uint64_t end) {
    double tile[HN_TILE];
    for (uint64_t i = begin; i < end; i += HN_TILE) {
        uint64_t n = HN_MIN(end - i, HN_TILE);
        hn_load_f64(j->x, i, n, tile);
        j->op->f64(tile, tile, n, j->a, j->b);
        hn_store_f64(j->y, i, n, tile);
    }
}

static void map_range_small(const hn_unary_job *j, uint64_t begin, uint64_t end) {
    float tile[HN_TILE];
    for (uint64_t i = begin; i < end; i += HN_TILE) {
        uint64_t n = HN_MIN(end - i, HN_TILE);
        hn_load_f32(j->x, i, n, tile);
        j->f32(tile, tile, n, (float)j->a, (float)j->b);
        hn_store_f32(j->y, i, n, tile);
    }
}

static void map_range(void *ctx, int64_t begin, int64_t end) {
    const hn_unary_job *j = ctx;
    uint64_t n = (uint64_t)(end - begin);
    if (j->x->dtype == HN_F32)
        j->f32((const float *)j->x->data + begin, (float *)j->y->data + begin, n, (float)j->a,
               (float)j->b);
    else if (hn_dtype_is_float(j->x->dtype) && j->x->dtype != HN_F64)
        map_range_small(j, (uint64_t)begin, (uint64_t)end);
    else
        map_range_wide(j, (uint64_t)begin, (uint64_t)end);
}

static void map_parted_rows(void *ctx, int64_t begin, int64_t end) {
    const hn_unary_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        hn_array x = hn_array_row(j->x, i), y = hn_array_row(j->y, i);
        hn_unary_job row = *j;
        row.x = &x;
        row.y = &y;
        map_range(&row, 0, (int64_t)x.n_elems);
    }
}

void hn_unary_run(hn_pool *pool, const hn_unary_job *job) {
    const hn_array *x = job->x;
    hn_unary_job j = *job;
    if (x->row_stride || job->y->row_stride)
        hn_pool_for(pool, hn_n_rows(x), HN_MAX(1, HN_GRAIN / HN_MAX(x->dims[x->rank - 1], 1)),
                    map_parted_rows, &j);
    else
        hn_pool_for(pool, (int64_t)x->n_elems, HN_GRAIN, map_range, &j);
}

hone_status hn_unary_eval(hn_eval *c, const hn_unary_op *op, double a, double b, const hn_array *x,
                          hn_array *y) {
    hn_unary_fn_f32 fast = hn_unary_find_f32(op->op);
    hn_unary_run(hn_eval_pool(c), &(hn_unary_job){op, fast ? fast : op->f32, a, b, x, y});
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

static hone_status eval_map_named(hn_eval *c, const char *name) {
    const hn_infer *node = hn_eval_node(c);
    const hn_unary_op *op = hn_unary_find(name);
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    if (!op)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "has no evaluation");
    float a = op->attr_a ? hn_attr_f(node, op->attr_a, op->default_a) : 0;
    float b = op->attr_b ? hn_attr_f(node, op->attr_b, op->default_b) : 0;
    return hn_unary_eval(c, op, (double)a, (double)b, hn_arg(c, 0), y);
}

static hone_status eval_unary(hn_eval *c) {
    return eval_map_named(c, hn_infer_op(hn_eval_node(c)));
}
const hn_impl hn_impl_unary[1] = {{.eval = eval_unary, .memory = HN_MEMORY_IN_PLACE}};

static hone_status eval_gelu(hn_eval *c) {
    bool is_tanh = hn_attr_is(hn_eval_node(c), "approximate", "tanh");
    return eval_map_named(c, is_tanh ? "Gelu_tanh" : "Gelu");
}
const hn_impl hn_impl_gelu[1] = {{.eval = eval_gelu, .memory = HN_MEMORY_IN_PLACE}};

/* The gate goes through Swish into the output, which the values then multiply. */
static hone_status eval_swiglu(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    HN_TRY(eval_map_named(c, "Swish"));
    return hn_binary_eval(c, hn_binary_find("Mul"), y, hn_arg(c, 1), y);
}
const hn_impl hn_impl_swiglu[1] = {{.eval = eval_swiglu}};

/* ---- integers -------------------------------------------------------------------------------- */

/* Smallest numbers wrap: their magnitude does not exist. `x < 1 && x != 0` is "negative" for types
 * of either sign. */
#define IS_BELOW_ZERO (x < 1 && x != 0)
#define INT_MAPS(X, T)                                               \
  X(Abs, T, IS_BELOW_ZERO ? (uint64_t)0 - (uint64_t)x : (uint64_t)x) \
  X(Neg, T, (uint64_t)0 - (uint64_t)x)                               \
  X(Sign, T, IS_BELOW_ZERO ? -1 : x != 0)                            \
  X(Relu, T, IS_BELOW_ZERO ? 0 : x)                                  \
  X(BitwiseNot, T, ~(uint64_t)x)
#define INT_LOOP(op, T, expr)                                        \
  static void map_##op##_##T(const void *px, void *py, uint64_t n) { \
    const T *xs = px;                                                \
    T *ys = py;                                                      \
    HN_LANES_APART                                                   \
    for (uint64_t i = 0; i < n; i++) {                               \
      T x = xs[i];                                                   \
      ys[i] = (T)(expr);                                             \
    }                                                                \
  }
#define INT_LOOPS(id, T) INT_MAPS(INT_LOOP, T)
HN_C_INTS(INT_LOOPS)

static void map_not(const void *px, void *py, uint64_t n) {
    const uint8_t *x = px;
    uint8_t *y = py;
    HN_LANES_APART
    for (uint64_t i = 0; i < n; i++)
        y[i] = !x[i];
}

static const struct {
    const char *op;
    hn_unary_int_fn by_type[HN_DTYPE_COUNT];
} int_map_ops[] = {
#define ROW_ABS(id, T) [id] = map_Abs_##T,
#define ROW_NEG(id, T) [id] = map_Neg_##T,
#define ROW_SIGN(id, T) [id] = map_Sign_##T,
#define ROW_RELU(id, T) [id] = map_Relu_##T,
#define ROW_BITNOT(id, T) [id] = map_BitwiseNot_##T,
    {"Abs", {HN_C_INTS(ROW_ABS)}},           {"Neg", {HN_C_INTS(ROW_NEG)}},
    {"Sign", {HN_C_INTS(ROW_SIGN)}},         {"Relu", {HN_C_INTS(ROW_RELU)}},
    {"BitwiseNot", {HN_C_INTS(ROW_BITNOT)}}, {"Not", {[HN_BOOL] = map_not}},
};

hn_unary_int_fn hn_unary_find_int(const char *op, hn_dtype t) {
    for (size_t i = 0; i < HN_COUNT(int_map_ops); i++)
        if (strcmp(int_map_ops[i].op, op) == 0)
            return int_map_ops[i].by_type[t];
    return NULL;
}

/* Operators that take integers or bools, too, and mean them exactly. */
static hone_status eval_unary_any(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    hn_unary_int_fn fn = hn_unary_find_int(hn_infer_op(hn_eval_node(c)), x->dtype);
    if (!y || !fn)
        return eval_unary(c);
    bool is_parted = x->row_stride || y->row_stride;
    for (int64_t row = 0, n = is_parted ? hn_n_rows(x) : 1; row < n; row++) {
        hn_array from = is_parted ? hn_array_row(x, row) : *x;
        hn_array to = is_parted ? hn_array_row(y, row) : *y;
        fn(from.data, to.data, from.n_elems);
    }
    return HONE_OK;
}
const hn_impl hn_impl_unary_any[1] = {{.eval = eval_unary_any, .memory = HN_MEMORY_IN_PLACE}};

/* ---- questions ------------------------------------------------------------------------------- */

#define ANSWER(T)                                                                              \
  static void answer_##T(const hn_question *q, const T *x, uint64_t n, uint8_t *y) {           \
    T high = q->wants_high ? (T)INFINITY : (T)NAN, low = q->wants_low ? -(T)INFINITY : (T)NAN; \
    if (q->wants_nan) {                                                                        \
      HN_LANES_APART                                                                           \
      for (uint64_t i = 0; i < n; i++)                                                         \
        y[i] = x[i] != x[i];                                                                   \
    } else {                                                                                   \
      HN_LANES_APART                                                                           \
      for (uint64_t i = 0; i < n; i++)                                                         \
        y[i] = (x[i] == high) | (x[i] == low);                                                 \
    }                                                                                          \
  }
ANSWER(float)
ANSWER(double)

static void answer_range(void *ctx, int64_t begin, int64_t end) {
    const hn_question *q = ctx;
    float tile[HN_TILE];
    uint64_t first = (uint64_t)begin, n = (uint64_t)(end - begin);
    uint8_t *y = (uint8_t *)q->y->data + begin;
    if (q->x->dtype == HN_F32)
        answer_float(q, (const float *)q->x->data + begin, n, y);
    else if (q->x->dtype == HN_F64)
        answer_double(q, (const double *)q->x->data + begin, n, y);
    else
        for (uint64_t at = 0; at < n; at += HN_TILE) {
            uint64_t some = HN_MIN(n - at, HN_TILE);
            hn_load_f32(q->x, first + at, some, tile);
            answer_float(q, tile, some, y + at);
        }
}

void hn_question_read(const hn_eval *c, hn_question *q) {
    const hn_infer *node = hn_eval_node(c);
    bool is_nan = strcmp(hn_infer_op(node), "IsNaN") == 0;
    *q = (hn_question){.wants_nan = is_nan,
                       .wants_high = !is_nan && hn_attr_i(node, "detect_positive", 1) != 0,
                       .wants_low = !is_nan && hn_attr_i(node, "detect_negative", 1) != 0,
                       .x = hn_arg(c, 0),
                       .y = hn_ret(c, 0)};
}

void hn_question_run(hn_pool *pool, const hn_question *q) {
    hn_question job = *q;
    hn_pool_for(pool, (int64_t)q->x->n_elems, HN_GRAIN, answer_range, &job);
}

static hone_status eval_question(hn_eval *c) {
    hn_question q;
    hn_question_read(c, &q);
    if (q.y)
        hn_question_run(hn_eval_pool(c), &q);
    return HONE_OK;
}
const hn_impl hn_impl_is_nan[1] = {{.eval = eval_question}};
const hn_impl hn_impl_is_inf[1] = {{.eval = eval_question}};
