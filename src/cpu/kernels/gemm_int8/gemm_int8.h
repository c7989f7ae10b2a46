/* Products of 8-bit integers with 32-bit sums:
 *   sum[i, j] = sum over k of (a[i, k] - a_zero[i]) * (b[k, j] - b_zero[j]) + bias[j]
 * modulo 2^32, as int32_t wraps, and what becomes of them (int8_result.h): the sums, floats, or
 * bytes that are quantized again. Results are the same on every processor and for any number of
 * threads. */
#ifndef HN_GEMM_INT8_H
#define HN_GEMM_INT8_H

#include "cpu/kernels/gemm_int8/int8_result.h"

typedef struct hn_gemm_int8_job {
    int64_t m, n, k;
    const void *a; /* int8_t or uint8_t */
    bool a_is_signed;
    int64_t a_row, a_col; /* strides, in elements */
    /* Zero points, of row i the one at i modulo their number; none: all are 0. */
    const int32_t *a_zeros;
    int64_t n_a_zeros;
    const void *b; /* not read when there is packed_b */
    bool b_is_signed;
    int64_t b_row, b_col;
    const int32_t *b_zeros; /* one for all columns, or one for each; none: 0 */
    int64_t n_b_zeros;
    const void *packed_b; /* by hn_gemm_int8_pack; NULL: it is packed in the workspace */
    const int32_t *bias;  /* of the columns; NULL: none */
    const float *scales;  /* of the columns, scale * scales[j] / divisor; not for sums */
    int64_t n_scales;     /* 1: for all columns */
    float scale, divisor;
    const float *float_bias; /* of the columns, for floats; NULL: none */
    hn_int8_result result;   /* to, low, high, zero, residual; the rest is not read */
    void *c;
    int64_t c_row;   /* in elements; columns are contiguous */
    void *workspace; /* hn_gemm_int8_workspace_bytes, aligned to HN_GEMM_INT8_ALIGN */
} hn_gemm_int8_job;

#define HN_GEMM_INT8_ALIGN 64

/* Whether the processor has instructions for it; plain C is no faster than a product of 32-bit
 * integers. */
bool hn_gemm_int8_is_fast(void);

/* Right sides that serve many products are packed once, from b, its strides and n, k of a job. The
 * packed form depends on the processor, not on zero points. */
size_t hn_gemm_int8_packed_bytes(int64_t n, int64_t k);
void hn_gemm_int8_pack(hn_pool *pool, const hn_gemm_int8_job *job, void *out);

/* By m, n, k, a and its strides, and by whether there is packed_b. */
size_t hn_gemm_int8_workspace_bytes(const hn_gemm_int8_job *job);
void hn_gemm_int8(hn_pool *pool, const hn_gemm_int8_job *job);

#endif /* HN_GEMM_INT8_H */
