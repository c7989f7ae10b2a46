/* Lowering of matrix products: constant right sides are packed once, and what follows a product of
 * floats is done before its elements leave the registers. */
#include "cpu/lower/lower.h"

#include <math.h>

#include "ops/eval/eval_broadcast.h"
#include "ops/eval/ms/ms_eval.h"
#include "ops/eval/product.h"

typedef struct product_step {
    hn_product_stack stack;
    hn_packed_side packed_b;
    bool has_epilogue;
    hn_epilogue_f32 epilogue; /* biases are filled in when it runs */
    bool has_bias, bias_is_per_row;
    hn_gemm_form form; /* where the product has to be finished on its own */
} product_step;

/* ---- runs ------------------------------------------------------------------------------------- */

#define RUN_PRODUCT(name, T)                                                                 \
  static hone_status run_product_##name(const void *record, const hn_step_io *io) {          \
    const product_step *s = record;                                                          \
    hn_products_run_##name(                                                                  \
        io->pool, &(hn_products_##name){.stack = &s->stack,                                  \
                                        .a = io->in[0],                                      \
                                        .b = io->in[1],                                      \
                                        .y = io->out[0],                                     \
                                        .packed_b = s->packed_b,                             \
                                        .epilogue = s->has_epilogue ? &s->epilogue : NULL}); \
    return HONE_OK;                                                                          \
  }
HN_KERNEL_TYPES(RUN_PRODUCT)
#undef RUN_PRODUCT

static hone_status run_biased_product(const void *record, const hn_step_io *io) {
    const product_step *s = record;
    hn_epilogue_f32 epilogue = s->epilogue;
    *(s->bias_is_per_row ? &epilogue.bias : &epilogue.col_bias) = io->in[2];
    hn_products_run_f32(io->pool, &(hn_products_f32){.stack = &s->stack,
                                                     .a = io->in[0],
                                                     .b = io->in[1],
                                                     .y = io->out[0],
                                                     .packed_b = s->packed_b,
                                                     .epilogue = &epilogue});
    return HONE_OK;
}

static hone_status run_finished_gemm(const void *record, const hn_step_io *io) {
    const product_step *s = record;
    HN_TRY(run_product_f32(record, io));
    hn_gemm_finish_f32(&s->form, s->has_bias ? io->in[2] : NULL, io->out[0]);
    return HONE_OK;
}

/* ---- what follows a product ------------------------------------------------------------------- */

static const hn_epilogue_f32 no_epilogue = {0};

static hn_unary_fn_f32 loop_named(const char *name) {
    hn_unary_fn_f32 fast = hn_unary_find_f32(name);
    return fast ? fast : hn_unary_find(name)->f32;
}

/* ---- MatMul and what is fused into it --------------------------------------------------------- */

/* NULL, with *status HONE_OK: this product is evaluated. */
static product_step *new_product(hn_eval *c, bool trans_a, bool trans_b, hone_status *status) {
    const hn_array *y = hn_ret(c, 0);
    *status = HONE_OK;
    if (!hn_arg(c, 0) || !hn_arg(c, 1) || !y || y->n_elems == 0)
        return NULL;
    product_step *s = hn_lower_alloc(c, sizeof *s);
    if (!s) {
        *status = HONE_E_NOMEM;
        return NULL;
    }
    s->packed_b = hn_packed_right_side(c);
    hn_product_stack_read(
        &(hn_product){.a = hn_arg(c, 0), .b = hn_arg(c, 1), .trans_a = trans_a, .trans_b = trans_b},
        y, &s->stack);
    return s;
}

static hone_status lower_matmul(hn_eval *c, hn_lowered *out) {
    hone_status status;
    product_step *s = new_product(c, false, false, &status);
    if (!s)
        return status;
    out->record = s;
    switch (hn_ret(c, 0)->dtype) {
    case HN_F32:
        out->run = run_product_f32;
        break;
    case HN_F64:
        out->run = run_product_f64;
        break;
    case HN_I32:
    case HN_U32:
        out->run = run_product_u32;
        break;
    case HN_I64:
    case HN_U64:
        out->run = run_product_u64;
        break;
    default: /* small floats: evaluated */
        break;
    }
    return HONE_OK;
}

/* A product of floats that goes through `epilogue`; sides whose rows stand before the stack are
 * evaluated: they are moved first. */
static hone_status lower_product_with(hn_eval *c, const hn_epilogue_f32 *epilogue,
                                      hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    hone_status status;
    if (!hn_ret(c, 0) || hn_ret(c, 0)->dtype != HN_F32 || hn_attr_i(node, "transBatchA", 0) != 0 ||
        hn_attr_i(node, "transBatchB", 0) != 0)
        return HONE_OK;
    product_step *s = new_product(c, hn_attr_i(node, "transA", 0) != 0,
                                  hn_attr_i(node, "transB", 0) != 0, &status);
    if (!s)
        return status;
    s->has_epilogue = epilogue != NULL;
    s->epilogue = epilogue ? *epilogue : no_epilogue;
    *out = (hn_lowered){.run = run_product_f32, .record = s};
    return HONE_OK;
}

static hone_status lower_fused_matmul(hn_eval *c, hn_lowered *out) {
    hn_epilogue_f32 epilogue = no_epilogue;
    epilogue.a = hn_attr_f(hn_eval_node(c), "alpha", 1);
    epilogue.unary = loop_named("Scale");
    return lower_product_with(c, epilogue.a == 1 ? NULL : &epilogue, out);
}

static hone_status lower_fused_matmul_activation(hn_eval *c, hn_lowered *out) {
    hn_epilogue_f32 epilogue = no_epilogue;
    if (hn_attr_f(hn_eval_node(c), "alpha", 1) != 1 || !hn_fused_epilogue(c, &epilogue))
        return HONE_OK;
    return lower_product_with(c, &epilogue, out);
}

static hone_status lower_gemm_fast_gelu(hn_eval *c, hn_lowered *out) {
    const hn_array *bias = hn_arg(c, 2), *y = hn_ret(c, 0);
    hn_epilogue_f32 epilogue = no_epilogue;
    epilogue.unary = loop_named("Gelu_tanh");
    if (bias && (!y || y->rank < 1 || bias->n_elems != (uint64_t)y->dims[y->rank - 1]))
        return HONE_OK;
    HN_TRY(lower_product_with(c, &epilogue, out));
    if (out->run && bias)
        out->run = run_biased_product;
    return HONE_OK;
}

/* ---- Gemm ------------------------------------------------------------------------------------- */

/* Whether the bias can be added before sums leave the registers. */
static bool bias_meets_sums(const product_step *s) {
    const int64_t *strides = s->form.bias_strides;
    bool is_per_column = strides[0] == 0 && (strides[1] == 1 || s->form.n == 1);
    return s->form.alpha == 1 &&
           (!s->has_bias || (s->form.beta == 1 && (is_per_column || s->bias_is_per_row)));
}

/* epilogue: NULL for none. */
static hone_status lower_gemm_with(hn_eval *c, const hn_epilogue_f32 *epilogue, hn_lowered *out) {
    hone_status status;
    if (!hn_arg(c, 0) || !hn_arg(c, 1) || hn_arg(c, 0)->dtype != HN_F32)
        return HONE_OK;
    hn_gemm_form form = hn_gemm_form_read(c);
    product_step *s = new_product(c, form.trans_a, form.trans_b, &status);
    if (!s)
        return status;
    s->form = form;
    s->has_bias = hn_arg(c, 2) != NULL;
    s->bias_is_per_row = form.bias_strides[0] == 1 && form.bias_strides[1] == 0;
    s->epilogue = epilogue ? *epilogue : no_epilogue;
    out->record = s;
    if (!bias_meets_sums(s)) {
        out->run = epilogue ? NULL : run_finished_gemm;
        return HONE_OK;
    }
    s->has_epilogue = epilogue != NULL;
    out->run = s->has_bias ? run_biased_product : run_product_f32;
    return HONE_OK;
}

static hone_status lower_gemm(hn_eval *c, hn_lowered *out) {
    return lower_gemm_with(c, NULL, out);
}

static hone_status lower_fused_gemm(hn_eval *c, hn_lowered *out) {
    hn_epilogue_f32 epilogue = no_epilogue;
    return hn_fused_epilogue(c, &epilogue) ? lower_gemm_with(c, &epilogue, out) : HONE_OK;
}

#define PRODUCT_LOWERING(name)             \
  const hn_lowering hn_lower_##name[1] = { \
      {.lower = lower_##name, .prepare = hn_prepare_right_side, .release = hn_release_weights}};
PRODUCT_LOWERING(matmul)
PRODUCT_LOWERING(fused_matmul)
PRODUCT_LOWERING(fused_matmul_activation)
PRODUCT_LOWERING(gemm_fast_gelu)
PRODUCT_LOWERING(gemm)
PRODUCT_LOWERING(fused_gemm)
#undef PRODUCT_LOWERING
