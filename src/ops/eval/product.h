/* Inside ops/: products of arrays at run time, for evaluations of any domain that multiply, and for
 * what lowers them. */
#ifndef HN_PRODUCT_H
#define HN_PRODUCT_H

#include "cpu/kernels/kernel.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/widen.h"

/* Numpy's matmul of a and b, whose last two axes may have changed places; vectors have one place
 * only. */
typedef struct hn_product {
    const hn_array *a, *b;
    bool trans_a, trans_b;
    hn_packed_side packed_b; /* b as hn_prepare_right_side packed it */
} hn_product;
hone_status hn_product_eval(hn_eval *c, const hn_product *p, hn_array *y);

/* How many products such a matmul is, and where each begins. */
typedef struct hn_product_stack {
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col; /* strides within a matrix */
    int64_t n_products;
    int32_t n_axes; /* of the stack; 0: one product */
    int64_t dims[HN_MAX_RANK], a_strides[HN_MAX_RANK], b_strides[HN_MAX_RANK];
} hn_product_stack;
void hn_product_stack_read(const hn_product *p, const hn_array *y, hn_product_stack *out);
/* Where the sides of one of them begin, in elements. */
void hn_product_stack_begin(const hn_product_stack *s, int64_t product, int64_t *a, int64_t *b);

/* The products of a stack at work. The epilogue of floats has no residual, and a bias per row only
 * where there is one product; NULL: none. */
#define HN_PRODUCTS(name, T)          \
  typedef struct hn_products_##name { \
    const hn_product_stack *stack;    \
    const T *a, *b;                   \
    T *y;                             \
    hn_packed_side packed_b;          \
    const hn_epilogue_f32 *epilogue;  \
  } hn_products_##name;               \
  void hn_products_run_##name(hn_pool *pool, const hn_products_##name *p);
HN_KERNEL_TYPES(HN_PRODUCTS)
#undef HN_PRODUCTS

/* Sums of (a - a_zero) * (b - b_zero) of integers, modulo 2^32, with the right side that
 * hn_prepare_int8_* packed if there is one. Zero points stand per row of a, per column of b, or for
 * all; NULL: 0. */
hone_status hn_product_eval_int(hn_eval *c, const hn_product *p, const hn_array *a_zero,
                                const hn_array *b_zero, const hn_array *y, int32_t *sums);

/* What Gemm does to a product y[m, n] besides: y = alpha * y + beta * bias. */
typedef struct hn_gemm_form {
    bool trans_a, trans_b;
    int64_t m, n;
    double alpha, beta;
    int64_t bias_strides[2]; /* the bias is stretched to [m, n] */
} hn_gemm_form;
hn_gemm_form hn_gemm_form_read(const hn_eval *c);
void hn_gemm_finish_f32(const hn_gemm_form *f, const float *bias, float *y); /* bias: may be NULL */

#endif /* HN_PRODUCT_H */
