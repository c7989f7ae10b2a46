/* Products of floats with weights of 2, 4 or 8 bits, in blocks along k that share a scale and a
 * zero point. Weights stay as small as they are: they are widened in registers. */
#ifndef HN_GEMM_NBITS_H
#define HN_GEMM_NBITS_H

#include "cpu/kernels/kernel.h"

typedef enum hn_nbits_zero_kind {
    HN_NBITS_NO_ZEROS, /* half of the range is zero */
    HN_NBITS_INT_ZEROS,
    HN_NBITS_FLOAT_ZEROS
} hn_nbits_zero_kind;

#define HN_NBITS_BLOCK_UNIT 16 /* blocks are multiples of it */

/* The weights b[k, n]. */
typedef struct hn_nbits_form {
    int bits; /* 2, 4 or 8 */
    int64_t n, k, block;
    hn_nbits_zero_kind zeros;
} hn_nbits_form;

/* Where they come from: a row of n is whole blocks of bytes, numbers packed from the lowest bit on,
 * and so are zero points, which fill whole bytes for each row. Scales and float zero points are
 * [n, blocks]. What the form does not have is NULL. */
typedef struct hn_nbits_source {
    hn_nbits_form form;
    const uint8_t *data;
    const float *scales;
    const uint8_t *zeros;
    const float *float_zeros;
} hn_nbits_source;

/* Whether this processor has kernels for it; if not, nothing else may be called. */
bool hn_gemm_nbits_can(const hn_nbits_form *form);
/* A multiple of 64. */
size_t hn_gemm_nbits_packed_bytes(const hn_nbits_form *form);
void hn_gemm_nbits_pack(const hn_nbits_source *source, void *out);

/* c[m, n] = a[m, k] * b + bias. Rows are contiguous. */
typedef struct hn_gemm_nbits_job {
    hn_nbits_form form;
    const void *packed;
    int64_t m;
    /* Blocks of a are rounded to 8 bits, which is faster. If not, sums are as precise as those of
     * floats. */
    bool is_int8;
    const float *a, *bias; /* bias: NULL for none */
    float *c;
    void *workspace; /* of hn_gemm_nbits_workspace_bytes, 64-byte aligned */
} hn_gemm_nbits_job;
size_t hn_gemm_nbits_workspace_bytes(const hn_gemm_nbits_job *job);
void hn_gemm_nbits(hn_pool *pool, const hn_gemm_nbits_job *job);

#endif /* HN_GEMM_NBITS_H */
