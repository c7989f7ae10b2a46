/* Inside ops/: elementwise evaluation, shared by everything that maps, pairs or broadcasts. */
#ifndef HN_EVAL_BROADCAST_H
#define HN_EVAL_BROADCAST_H

#include "cpu/kernels/kernel.h"
#include "cpu/kernels/elementwise/typed_pairs.h"
#include "ops/eval/eval_int.h"

/* ---- walking through a broadcast ------------------------------------------------------------- */

#define HN_MAX_OPERANDS 4

/* A run of output elements out .. out+n. Operand k stands at in[k] and moves by step[k], 0 or 1. */
typedef struct hn_row {
    uint64_t out, n;
    uint64_t in[HN_MAX_OPERANDS];
    int step[HN_MAX_OPERANDS];
} hn_row;
typedef void (*hn_row_fn)(void *ctx, const hn_row *row);

/* n_rows such runs, one behind the other: operand k moves by jump[k] from each to the next. */
typedef struct hn_box {
    hn_row row;
    uint64_t n_rows;
    uint64_t jump[HN_MAX_OPERANDS];
} hn_box;
typedef void (*hn_box_fn)(void *ctx, const hn_box *box);

/* The order in which a broadcast is walked: axes that follow each other in every operand are one.
 */
typedef struct hn_walk_axis {
    int64_t dim;
    int64_t strides[HN_MAX_OPERANDS]; /* of each operand, in elements; 0: it is repeated */
} hn_walk_axis;
typedef struct hn_broadcast_walk {
    int32_t rank; /* 0: one element */
    uint32_t n_operands;
    uint64_t n_elems;
    hn_walk_axis *axes; /* the caller's, for HN_MAX_RANK of them while it is planned */
} hn_broadcast_walk;
void hn_broadcast_plan(hn_broadcast_walk *w, const hn_array *out, uint32_t n,
                       const hn_array *const *in);
void hn_broadcast_run(hn_pool *pool, const hn_broadcast_walk *w, hn_box_fn fn, void *ctx);
void hn_broadcast_run_rows(hn_pool *pool, const hn_broadcast_walk *w, hn_row_fn fn, void *ctx);

/* Calls fn for runs that cover every element of `out` once, on all threads when there is enough to
 * do. Runs that are long are cut at multiples of 8 elements, so packed outputs are safe. Each
 * operand must broadcast to the shape of `out`. */
hone_status hn_broadcast_rows(hn_eval *c, const hn_array *out, uint32_t n,
                              const hn_array *const *in, hn_row_fn fn, void *ctx);
/* The same for who can do many short runs at once. */
hone_status hn_broadcast_boxes(hn_eval *c, const hn_array *out, uint32_t n,
                               const hn_array *const *in, hn_box_fn fn, void *ctx);

/* `a` with ones behind its dims, so that it lies along out's axes from `axis` on; dims holds
 * HN_MAX_RANK entries and must outlive the result. */
hn_array hn_array_along(const hn_array *a, int64_t axis, int32_t rank, int64_t *dims);

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Loops by element type; see hn_binary_fn. Small floats go through the loop of HN_F32. */
typedef struct hn_binary_op {
    const char *op;
    hn_binary_fn by_type[HN_DTYPE_COUNT];
} hn_binary_op;
/* Add, Sub, Mul, Div, Max, Min, And, Equal, Less ...: by the operator's name; NULL when it is none.
 */
const hn_binary_op *hn_binary_find(const char *op);
/* The fastest loop over elements of a type that there is; NULL: none. */
hn_binary_fn hn_binary_loop_of(const hn_binary_op *op, hn_dtype t);
static inline hn_binary_fn hn_binary_float_loop(const hn_binary_op *op) {
    return hn_binary_loop_of(op, HN_F32);
}
/* One operation at work: what hn_binary_box needs. */
typedef struct hn_binary_job {
    hn_binary_fn fn;
    const void *x, *y;
    void *out;
    size_t x_bytes, out_bytes; /* per element */
} hn_binary_job;
void hn_binary_box(void *job, const hn_box *box); /* an hn_box_fn */
/* The same on arrays: rows that are not contiguous, and floats that are widened. */
typedef struct hn_binary_arrays {
    hn_binary_fn fn;
    const hn_array *x, *y;
    hn_array *out;
    bool is_small; /* floats that are widened */
} hn_binary_arrays;
void hn_binary_small_row(void *arrays, const hn_row *row); /* an hn_row_fn */
void hn_binary_strided_rows(void *arrays, int64_t begin, int64_t end);
/* out = x op y, broadcast; x and y have one type, out the same or bool. */
hone_status hn_binary_eval(hn_eval *c, const hn_binary_op *op, const hn_array *x, const hn_array *y,
                           hn_array *out);

/* The first element that is 0; n_elems: there is none. */
uint64_t hn_first_zero(const hn_array *divisor);
#define HN_DIVIDES_BY_ZERO "divides by zero: element %llu of B is 0"

/* z = x to the power of y. */
typedef struct hn_pow_job {
    const hn_array *x, *y;
    hn_array *z;
    hn_binary_fn multiply; /* floats */
} hn_pow_job;
hn_row_fn hn_pow_row(hn_dtype x, hn_dtype y); /* takes an hn_pow_job */
/* ---- choices --------------------------------------------------------------------------------- */

/* z = condition ? x : y. */
typedef struct hn_select_job {
    const uint8_t *condition;
    const void *x, *y;
    void *z;
    size_t elem_bytes;
    hn_select_fn fast; /* for elements of this size; may be NULL */
} hn_select_job;
/* What fits the elements: an hn_row_fn of the job, whose operands are the condition, x and y. */
hn_row_fn hn_select_row_fn(const hn_select_job *job);

/* ---- conversions ----------------------------------------------------------------------------- */

/* Numbers to numbers of another type. */
typedef struct hn_cast_job {
    const hn_pool *pool; /* whose run may be stopped */
    const hn_array *x;
    hn_array *y;
    bool is_saturated; /* float8 */
    hn_round round;    /* float8e8m0 */
} hn_cast_job;
void hn_cast_read_attrs(const hn_infer *node, hn_cast_job *job);
void hn_cast_range(void *job, int64_t begin, int64_t end); /* an hn_range_fn */

/* ---- maps ------------------------------------------------------------------------------------ */

/* y[i] = f(x[i]) with the parameters of the operator's attributes; y may be x. */
typedef void (*hn_unary_fn_f64)(const double *x, double *y, uint64_t n, double a, double b);
typedef struct hn_unary_op {
    const char *op;
    const char *attr_a, *attr_b; /* names of the parameters; NULL: none */
    float default_a, default_b;  /* where the schema has no default */
    hn_unary_fn_f32 f32;
    hn_unary_fn_f64 f64;
} hn_unary_op;
/* Relu, Sigmoid, Tanh, LeakyRelu, Gelu ...: by the operator's name; NULL when it is none. */
const hn_unary_op *hn_unary_find(const char *op);
/* y = f(x) of any float type; integers go through double. */
hone_status hn_unary_eval(hn_eval *c, const hn_unary_op *op, double a, double b, const hn_array *x,
                          hn_array *y);
typedef struct hn_unary_job {
    const hn_unary_op *op;
    hn_unary_fn_f32 f32; /* the fastest there is */
    double a, b;
    const hn_array *x;
    hn_array *y;
} hn_unary_job;
void hn_unary_run(hn_pool *pool, const hn_unary_job *job);
/* Exact loops over integers and bools: Abs, Neg, Not ...; NULL: there is none. */
typedef void (*hn_unary_int_fn)(const void *x, void *y, uint64_t n);
hn_unary_int_fn hn_unary_find_int(const char *op, hn_dtype t);

/* Questions about elements of any float type: begin .. end. */
typedef struct hn_question {
    bool wants_nan, wants_high, wants_low; /* infinities */
    const hn_array *x;
    hn_array *y;
} hn_question;
void hn_question_read(const hn_eval *c, hn_question *q); /* IsNaN or IsInf */
void hn_question_run(hn_pool *pool, const hn_question *q);

/* ---- reductions ------------------------------------------------------------------------------ */

/* Reduces the axes of a bit set by ReduceSum, ReduceMean, ReduceMax ...; `out` has an element for
 * each place along the other axes, and may be of another type. Floats are folded as doubles,
 * integers as 64-bit integers. */
hone_status hn_reduce(hn_eval *c, const char *op, const hn_array *x, uint64_t axes, hn_array *out);
/* Sum of (x - from)^power over the elements begin .. begin+n; power is 1 or 2. */
double hn_sum_run(const hn_array *x, uint64_t begin, uint64_t n, double from, int power);

/* ---- copies ---------------------------------------------------------------------------------- */

/* All elements of `from`, of the same type and count; strings are copied. */
hone_status hn_array_copy(hn_eval *c, hn_array *to, const hn_array *from);

/* Elements that one thread takes at a time in loops over large arrays. */
#define HN_GRAIN 16384

#endif /* HN_EVAL_BROADCAST_H */
