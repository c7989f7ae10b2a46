/* Lowering of products of 8-bit integers: MatMulInteger, QLinearMatMul, and of com.microsoft QGemm,
 * MatMulIntegerToFloat and DynamicQuantizeMatMul. They differ in where scales and zero points come
 * from and in what becomes of the sums, not in the product. */
#include <math.h>

#include "cpu/kernels/gemm_int8/gemm_int8.h"
#include "cpu/kernels/quantize/quantize.h"
#include "cpu/lower/lower.h"
#include "ops/eval/product.h"

/* Arguments of an operator; 0: it has none of that kind. The left side is argument 0. */
typedef struct int8_args {
    uint8_t b, a_scale, a_zero, b_scale, b_zero, y_scale, y_zero;
    uint8_t bias, int_bias; /* added to the scaled results, and to the sums */
} int8_args;

/* Zero points as the product wants them. */
typedef struct int8_zeros {
    int64_t n; /* 0: there are none */
    bool is_signed;
    const int32_t *known; /* NULL: an argument in each run */
} int8_zeros;

typedef struct int8_step {
    hn_product_stack stack;
    int8_args args;
    const void *packed_b;
    bool is_dynamic; /* the left side is floats, which are quantized in each run */
    bool a_is_signed, b_is_signed;
    uint64_t n_a; /* elements of the left side */
    int8_zeros a_zeros, b_zeros;
    float alpha;
    int64_t n_b_scales;
    hn_dtype result;
    /* Of scratch, in bytes: quantized left side, zero points, and the workspace of a product for
     * each lane. */
    size_t a_bytes, zero_bytes, workspace_bytes;
} int8_step;

/* ---- runs ------------------------------------------------------------------------------------- */

/* What a run knows. */
typedef struct int8_work {
    const int8_step *step;
    hn_pool *inner; /* for what one product does */
    const uint8_t *a;
    const uint8_t *b;
    const int32_t *a_zeros, *b_zeros;
    const float *b_scales;
    float scale, divisor;
    const float *bias; /* NULL: none; so is the other one */
    const int32_t *int_bias;
    hn_int8_result result;
    uint8_t *workspaces, *y;
} int8_work;

static void *take_bytes(uint8_t **scratch, size_t bytes) {
    void *taken = *scratch;
    *scratch += bytes;
    return taken;
}

static const int32_t *zeros_at_run(const int8_zeros *z, const void *given, int32_t *to) {
    if (z->n == 0 || z->known)
        return z->known;
    for (int64_t i = 0; i < z->n; i++)
        to[i] = hn_byte_at(given, z->is_signed, i);
    return to;
}

/* All but the operands. */
static hn_gemm_int8_job int8_job_of(const int8_work *w) {
    const int8_step *s = w->step;
    const hn_product_stack *stack = &s->stack;
    return (hn_gemm_int8_job){.m = stack->m,
                              .n = stack->n,
                              .k = stack->k,
                              .a_is_signed = s->a_is_signed,
                              .a_row = stack->a_row,
                              .a_col = stack->a_col,
                              .a_zeros = w->a_zeros,
                              .n_a_zeros = s->a_zeros.n,
                              .b_is_signed = s->b_is_signed,
                              .b_row = stack->b_row,
                              .b_col = stack->b_col,
                              .b_zeros = w->b_zeros,
                              .n_b_zeros = s->b_zeros.n,
                              .packed_b = s->packed_b,
                              .bias = w->int_bias,
                              .scales = w->b_scales,
                              .n_scales = s->n_b_scales,
                              .scale = w->scale,
                              .divisor = w->divisor,
                              .float_bias = w->bias,
                              .result = w->result,
                              .c_row = stack->n};
}

static void run_int8_products(void *ctx, int lane, int64_t begin, int64_t end) {
    const int8_work *w = ctx;
    const int8_step *s = w->step;
    const hn_product_stack *stack = &s->stack;
    hn_gemm_int8_job job = int8_job_of(w);
    int64_t y_bytes = stack->m * stack->n * (int64_t)hn_elem_bytes(s->result);
    job.workspace = w->workspaces + (size_t)lane * s->workspace_bytes;
    for (int64_t i = begin; i < end; i++) {
        int64_t a, b;
        hn_product_stack_begin(stack, i, &a, &b);
        job.a = w->a + a;
        job.b = s->packed_b ? NULL : w->b + b;
        job.c = w->y + i * y_bytes;
        hn_gemm_int8(w->inner, &job);
    }
}

/* y_zero: NULL for 0. */
static hn_int8_result int8_result_of(const int8_step *s, const void *y_zero) {
    if (s->result == HN_I32)
        return (hn_int8_result){.to = HN_INT8_TO_I32};
    if (s->result == HN_F32)
        return (hn_int8_result){.to = HN_INT8_TO_F32, .low = -HUGE_VALF, .high = HUGE_VALF};
    bool is_signed = s->result == HN_I8;
    int32_t zero = y_zero ? hn_byte_at(y_zero, is_signed, 0) : 0;
    return (hn_int8_result){.to = HN_INT8_TO_BYTES,
                            .low = (float)((is_signed ? INT8_MIN : 0) - zero),
                            .high = (float)((is_signed ? INT8_MAX : UINT8_MAX) - zero),
                            .zero = zero};
}

/* The left side as bytes, with its scale and zero point. */
static float quantize_left(const int8_step *s, const hn_step_io *io, uint8_t *bytes,
                           int32_t *zero) {
    float scale, zero_byte;
    hn_quantize_find_scale(io->pool, s->n_a, io->in[0], &scale, &zero_byte);
    hn_quantize_to_u8(io->pool, s->n_a, io->in[0], scale, zero_byte, bytes);
    *zero = (int32_t)zero_byte;
    return scale;
}

static const void *given_at_run(const hn_step_io *io, uint8_t arg) {
    return arg ? io->in[arg] : NULL;
}

static hone_status run_int8_step(const void *record, const hn_step_io *io) {
    const int8_step *s = record;
    const int8_args *args = &s->args;
    uint8_t *scratch = io->scratch;
    uint8_t *a_bytes = take_bytes(&scratch, s->a_bytes);
    int32_t *zeros = take_bytes(&scratch, s->zero_bytes);
    const float *a_scale = given_at_run(io, args->a_scale),
                *y_scale = given_at_run(io, args->y_scale);
    bool is_one = s->stack.n_products == 1;
    int8_work w = {.step = s,
                   .inner = is_one ? io->pool : NULL,
                   .a = io->in[0],
                   .b = io->in[args->b],
                   .a_zeros = zeros,
                   .b_zeros = zeros_at_run(&s->b_zeros, given_at_run(io, args->b_zero), zeros + 1),
                   .b_scales = given_at_run(io, args->b_scale),
                   .scale = s->alpha * (a_scale ? *a_scale : 1),
                   .divisor = y_scale ? *y_scale : 1,
                   .bias = given_at_run(io, args->bias),
                   .int_bias = given_at_run(io, args->int_bias),
                   .result = int8_result_of(s, given_at_run(io, args->y_zero)),
                   .workspaces = scratch,
                   .y = io->out[0]};
    if (s->is_dynamic) {
        w.scale = quantize_left(s, io, a_bytes, zeros);
        w.a = a_bytes;
    } else {
        w.a_zeros = zeros_at_run(&s->a_zeros, given_at_run(io, args->a_zero), zeros);
    }
    if (is_one)
        run_int8_products(&w, 0, 0, 1);
    else
        hn_pool_for_lanes(io->pool, s->stack.n_products, 1, run_int8_products, &w);
    return HONE_OK;
}

/* ---- lowering --------------------------------------------------------------------------------- */

static bool is_bytes(const hn_array *a) {
    return a && hn_dtype_is_byte(a->dtype);
}

static const hn_array *optional_arg(const hn_eval *c, uint8_t arg) {
    return arg ? hn_arg(c, arg) : NULL;
}

/* Whether a number is left out, or there is one float or byte. */
static bool is_one_or_none(const hn_array *a, bool is_float) {
    return !a || (a->n_elems == 1 && (is_float ? a->dtype == HN_F32 : is_bytes(a)));
}

static bool is_one_or_each(const hn_array *a, int64_t n) {
    return !a || a->n_elems == 1 || a->n_elems == (uint64_t)n;
}

/* One per column. */
static bool is_column_bias(const hn_array *bias, hn_dtype dtype, const hn_array *y) {
    int64_t strides[HN_MAX_RANK];
    if (!bias)
        return true;
    if (bias->dtype != dtype || y->rank < 1 || bias->rank > y->rank)
        return false;
    hn_broadcast_strides(bias, y->rank, strides);
    for (int32_t i = 0; i < y->rank - 1; i++)
        if (strides[i] != 0)
            return false;
    return bias->n_elems == (uint64_t)y->dims[y->rank - 1];
}

/* Types and numbers of the usual forms; all others are evaluated. */
static bool is_usual_product(const hn_eval *c, const int8_step *s) {
    const int8_args *args = &s->args;
    const hn_array *y = hn_ret(c, 0), *b_zero = optional_arg(c, args->b_zero),
                   *b_scale = optional_arg(c, args->b_scale);
    int64_t n = s->stack.n;
    return s->stack.k > 0 && (s->result == HN_I32 || s->result == HN_F32 || is_bytes(y)) &&
           is_one_or_none(optional_arg(c, args->a_zero), false) &&
           is_one_or_none(optional_arg(c, args->a_scale), true) &&
           is_one_or_none(optional_arg(c, args->y_zero), false) &&
           is_one_or_none(optional_arg(c, args->y_scale), true) && is_one_or_each(b_zero, n) &&
           is_one_or_each(b_scale, n) && (!b_scale || b_scale->dtype == HN_F32) &&
           is_column_bias(optional_arg(c, args->bias), HN_F32, y) &&
           is_column_bias(optional_arg(c, args->int_bias), HN_I32, y);
}

static hone_status keep_zero_points(hn_eval *c, uint8_t arg, int8_zeros *z) {
    const hn_array *given = optional_arg(c, arg);
    if (!given)
        return HONE_OK;
    *z = (int8_zeros){.n = (int64_t)given->n_elems, .is_signed = given->dtype == HN_I8};
    if (!given->data)
        return HONE_OK;
    int32_t *known = hn_lower_alloc(c, given->n_elems * sizeof *known);
    HN_TRY_PTR(known);
    for (int64_t i = 0; i < z->n; i++)
        known[i] = hn_byte_at(given->data, z->is_signed, i);
    z->known = known;
    return HONE_OK;
}

static size_t whole_cache_lines(int64_t n, size_t elem_bytes) {
    return ((size_t)n * elem_bytes + HN_GEMM_INT8_ALIGN - 1) / HN_GEMM_INT8_ALIGN *
           HN_GEMM_INT8_ALIGN;
}

static size_t plan_int8_scratch(const hn_eval *c, int8_step *s) {
    const hn_product_stack *stack = &s->stack;
    size_t lanes = stack->n_products == 1 ? 1 : (size_t)hn_lower_threads(c);
    s->a_bytes = s->is_dynamic ? whole_cache_lines((int64_t)s->n_a, 1) : 0;
    s->zero_bytes = whole_cache_lines(1 + s->b_zeros.n, sizeof(int32_t));
    s->workspace_bytes = whole_cache_lines(
        (int64_t)hn_gemm_int8_workspace_bytes(&(hn_gemm_int8_job){.m = stack->m,
                                                                  .n = stack->n,
                                                                  .k = stack->k,
                                                                  .a_is_signed = s->a_is_signed,
                                                                  .a_row = stack->a_row,
                                                                  .a_col = stack->a_col,
                                                                  .packed_b = s->packed_b}),
        1);
    return s->a_bytes + s->zero_bytes + lanes * s->workspace_bytes;
}

static void forget_missing(const hn_eval *c, uint8_t *arg) {
    if (*arg && !hn_arg(c, *arg))
        *arg = 0;
}

static int8_args args_given(const hn_eval *c, const int8_args *all) {
    int8_args args = *all;
    forget_missing(c, &args.a_zero);
    forget_missing(c, &args.b_zero);
    forget_missing(c, &args.y_scale);
    forget_missing(c, &args.y_zero);
    forget_missing(c, &args.bias);
    forget_missing(c, &args.int_bias);
    return args;
}

static hone_status lower_int8_product(hn_eval *c, const int8_args *all, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, all->b), *y = hn_ret(c, 0);
    if (!a || !y || y->n_elems == 0 || (!is_bytes(a) && a->dtype != HN_F32) || !is_bytes(b))
        return HONE_OK;
    int8_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (int8_step){.args = args_given(c, all),
                     .packed_b = hn_packed_int8(c),
                     .is_dynamic = a->dtype == HN_F32,
                     .a_is_signed = a->dtype == HN_I8,
                     .b_is_signed = b->dtype == HN_I8,
                     .n_a = a->n_elems,
                     .a_zeros = {.n = a->dtype == HN_F32},
                     .alpha = hn_attr_f(node, "alpha", 1),
                     .result = y->dtype};
    hn_product_stack_read(&(hn_product){.a = a,
                                        .b = b,
                                        .trans_a = hn_attr_i(node, "transA", 0) != 0,
                                        .trans_b = hn_attr_i(node, "transB", 0) != 0},
                          y, &s->stack);
    if (!is_usual_product(c, s))
        return HONE_OK;
    s->n_b_scales = all->b_scale ? (int64_t)hn_arg(c, all->b_scale)->n_elems : 0;
    HN_TRY(keep_zero_points(c, s->args.a_zero, &s->a_zeros));
    HN_TRY(keep_zero_points(c, s->args.b_zero, &s->b_zeros));
    *out =
        (hn_lowered){.run = run_int8_step, .record = s, .scratch_bytes = plan_int8_scratch(c, s)};
    return HONE_OK;
}

#define INT8_LOWERING(name, prepare_side, ...)                   \
  static hone_status lower_##name(hn_eval *c, hn_lowered *out) { \
    static const int8_args args = {__VA_ARGS__};                 \
    return lower_int8_product(c, &args, out);                    \
  }                                                              \
  const hn_lowering hn_lower_##name[1] = {                       \
      {.lower = lower_##name, .prepare = prepare_side, .release = hn_release_weights}};
INT8_LOWERING(matmul_integer, hn_prepare_int8_arg1, .b = 1, .a_zero = 2, .b_zero = 3)
INT8_LOWERING(matmul_integer_to_float, hn_prepare_int8_arg1, .b = 1, .a_scale = 2, .b_scale = 3,
              .a_zero = 4, .b_zero = 5, .bias = 6)
INT8_LOWERING(dynamic_quantize_matmul, hn_prepare_int8_arg1, .b = 1, .b_scale = 2, .b_zero = 3,
              .bias = 4)
INT8_LOWERING(qlinear_matmul, hn_prepare_int8_arg3, .a_scale = 1, .a_zero = 2, .b = 3, .b_scale = 4,
              .b_zero = 5, .y_scale = 6, .y_zero = 7)
INT8_LOWERING(qgemm, hn_prepare_int8_arg3, .a_scale = 1, .a_zero = 2, .b = 3, .b_scale = 4,
              .b_zero = 5, .int_bias = 6, .y_scale = 7, .y_zero = 8)
#undef INT8_LOWERING

/* Evaluated, with weights that were packed before. */
const hn_lowering hn_lower_qattention[1] = {
    {.prepare = hn_prepare_int8_arg1, .release = hn_release_weights}};
