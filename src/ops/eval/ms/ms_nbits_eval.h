/* Inside ops/: weights of few bits in blocks that share a scale and a zero point. */
#ifndef HN_MS_NBITS_EVAL_H
#define HN_MS_NBITS_EVAL_H

#include "cpu/kernels/kernel.h"
#include "ops/eval/ms/ms_eval.h"

/* Output 0 = rows of input 0 * a matrix [depth, width] that is filled in + the bias in an argument,
 * which may be left out. `rows` are the elements of input 0, or what became of them. */
hone_status hn_multiply_filled(hn_eval *c, const float *rows, int64_t depth, int64_t width,
                               hn_fill_f32 fill, const void *fill_ctx, uint32_t bias);

/* A matrix [n_rows, depth]: each row is blocks, each block a run of bytes with numbers packed from
 * the lowest bit on. */
typedef struct hn_nbits {
    const uint8_t *data;
    int bits; /* 2 .. 8 */
    int64_t n_rows, depth;
    int64_t block;         /* numbers in a block, */
    int64_t n_blocks;      /* in a row, */
    int64_t block_bytes;   /* of a block */
    const float *scales;   /* [n_rows, n_blocks] */
    const float *zeros;    /* the same; NULL: half of the range */
    const int32_t *groups; /* of each column: which block's scale it has; NULL: its own block's */
} hn_nbits;
/* Fills columns of the transposed matrix for a product with floats; see hn_gemm_f32. ctx: the
 * weights. */
void hn_nbits_fill(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj, float *out,
                   int64_t out_stride);
/* Sizes from the attributes of MatMulNBits, which the weights and scales, inputs 1 and 2, must fit;
 * no data. */
hone_status hn_nbits_read_form(hn_eval *c, hn_nbits *w);
/* Zero points packed in rows of bytes, as floats [n_rows, n_blocks]. */
void hn_nbits_widen_zeros(const hn_nbits *w, const uint8_t *packed, float *out);
/* Fails unless groups, of which there are enough, name blocks. */
hone_status hn_nbits_check_groups(hone_error *err, const hn_nbits *w);
/* Zero points packed in rows of bytes, as floats [n_rows, n_blocks]; NULL: out of memory. */
float *hn_nbits_zeros(hn_eval *c, const uint8_t *packed, int64_t n_rows, int64_t n_blocks,
                      int bits);
static inline int64_t hn_bits_to_bytes(int64_t n, int bits) {
    return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

#endif /* HN_MS_NBITS_EVAL_H */
