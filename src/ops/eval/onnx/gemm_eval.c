/* Gemm, computed: a product, then what is added to it. */
#include "ops/eval/product.h"

hn_gemm_form hn_gemm_form_read(const hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_gemm_form f = {.trans_a = hn_attr_i(node, "transA", 0) != 0,
                      .trans_b = hn_attr_i(node, "transB", 0) != 0,
                      .alpha = (double)hn_attr_f(node, "alpha", 1),
                      .beta = (double)hn_attr_f(node, "beta", 1)};
    f.m = hn_arg(c, 0)->dims[f.trans_a];
    f.n = hn_arg(c, 1)->dims[!f.trans_b];
    if (hn_arg(c, 2))
        hn_broadcast_strides(hn_arg(c, 2), 2, f.bias_strides);
    return f;
}

static int64_t gemm_to_int(double v) {
    return v > -9223372036854775808.0 && v < 9223372036854775808.0 ? (int64_t)v : 0;
}

/* Factors other than 1 round integers toward zero; sums of integers wrap. */
#define PLAIN_SUM(a, b) ((a) + (b))
#define WRAPPED_SUM(a, b) ((uint64_t)(a) + (uint64_t)(b))
#define GEMM_FINISH(id, T, ROUND, SUM)                                                 \
  static void gemm_finish_##id(const hn_gemm_form *f, const T *bias, T *y) {           \
    for (int64_t i = 0; i < f->m && (bias || f->alpha != 1); i++)                      \
      for (int64_t j = 0; j < f->n; j++) {                                             \
        T v = y[i * f->n + j], b = 0;                                                  \
        if (bias)                                                                      \
          b = bias[i * f->bias_strides[0] + j * f->bias_strides[1]];                   \
        v = f->alpha == 1 ? v : (T)ROUND(f->alpha * (double)v);                        \
        y[i * f->n + j] = (T)SUM(v, f->beta == 1 ? b : (T)ROUND(f->beta * (double)b)); \
      }                                                                                \
  }
GEMM_FINISH(HN_F32, float, , PLAIN_SUM)
GEMM_FINISH(HN_F64, double, , PLAIN_SUM)
GEMM_FINISH(HN_I32, int32_t, gemm_to_int, WRAPPED_SUM)
GEMM_FINISH(HN_U32, uint32_t, gemm_to_int, WRAPPED_SUM)
GEMM_FINISH(HN_I64, int64_t, gemm_to_int, WRAPPED_SUM)
GEMM_FINISH(HN_U64, uint64_t, gemm_to_int, WRAPPED_SUM)
#undef PLAIN_SUM
#undef WRAPPED_SUM
#undef GEMM_FINISH

void hn_gemm_finish_f32(const hn_gemm_form *f, const float *bias, float *y) {
    gemm_finish_HN_F32(f, bias, y);
}

/* Small floats are rounded once, at the end. */
static hone_status gemm_eval_f32(hn_eval *c, const hn_gemm_form *f, const hn_product *p,
                                 hn_array *y) {
    const hn_array *bias = hn_arg(c, 2);
    hn_product_stack stack;
    hn_product_stack_read(p, y, &stack);
    hn_products_f32 run = {.stack = &stack,
                           .a = hn_wide_f32(c, p->a),
                           .b = hn_wide_f32(c, p->b),
                           .y = hn_buffer_f32(c, y),
                           .packed_b = p->packed_b};
    const float *added = bias ? hn_wide_f32(c, bias) : NULL;
    HN_TRY_PTR(run.a && (run.b || run.packed_b.at) && run.y && (!bias || added));
    hn_products_run_f32(hn_eval_pool(c), &run);
    hn_gemm_finish_f32(f, added, run.y);
    hn_narrow_f32(y, run.y);
    return HONE_OK;
}

hone_status hn_eval_gemm(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    hn_gemm_form f = hn_gemm_form_read(c);
    hn_product p = {.a = hn_arg(c, 0),
                    .b = hn_arg(c, 1),
                    .trans_a = f.trans_a,
                    .trans_b = f.trans_b,
                    .packed_b = hn_packed_right_side(c)};
    const void *bias = hn_arg(c, 2) ? hn_arg(c, 2)->data : NULL;
#define GEMM_CASE(id)                    \
  case id:                               \
    HN_TRY(hn_product_eval(c, &p, y));   \
    gemm_finish_##id(&f, bias, y->data); \
    return HONE_OK;
    switch (y->dtype) {
        GEMM_CASE(HN_F64)
        GEMM_CASE(HN_I32)
        GEMM_CASE(HN_U32)
        GEMM_CASE(HN_I64)
        GEMM_CASE(HN_U64)
    default:
        return gemm_eval_f32(c, &f, &p, y);
    }
#undef GEMM_CASE
}
const hn_impl hn_impl_gemm[1] = {{.eval = hn_eval_gemm}};
