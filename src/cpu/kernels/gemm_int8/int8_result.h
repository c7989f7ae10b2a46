/* Inside and above cpu/kernels: what becomes of the 32-bit sums of products of bytes. All of it is
 * the same bits on every instruction set.
 *
 *   sum    = sums[r, j] + add[j] - row_sums[r] * zeros[j] + row_zeros[r] * terms[j], modulo 2^32
 *   I32:     sum
 *   F32:     unary(sum * scales[j] + bias[j] + residual[r, j], between low and high); NaN stays NaN
 *   bytes:   q = sum * scales[j], between low and high, rounded to the nearest (ties to even)
 *            q + zero, or with a residual z:
 *            q * of_result + (z - residual_zero) * of_residual, between sum_low and sum_high,
 *            rounded, + sum_zero */
#ifndef HN_INT8_RESULT_H
#define HN_INT8_RESULT_H

#include "cpu/kernels/kernel.h"

typedef enum hn_int8_to { HN_INT8_TO_I32, HN_INT8_TO_F32, HN_INT8_TO_BYTES } hn_int8_to;

/* A second operand that is added to the result: floats to floats, bytes to bytes. */
typedef struct hn_int8_residual {
    const void *at; /* NULL: none */
    int64_t row;    /* stride */
    /* Of bytes. */
    bool is_signed;
    float zero, of_residual, of_result, low, high;
    int32_t sum_zero;
} hn_int8_residual;

/* Arrays have an element per column, and as many more as fill the last panel of b. */
typedef struct hn_int8_result {
    hn_int8_to to;
    const int32_t *add;
    const uint32_t *zeros, *terms; /* NULL: they are all 0 */
    const float *scales, *bias;    /* bias NULL: 0 */
    float low, high;               /* bytes: of q, so that q + zero is within the type */
    int32_t zero;
    hn_unary_fn_f32 unary; /* of floats; NULL: none */
    float a, b;            /* its parameters */
    hn_int8_residual residual;
} hn_int8_result;

/* Sums of some rows, all columns from `col` on, and where their results go. */
typedef struct hn_int8_block {
    int rows;
    int64_t col, cols;
    int32_t *sums; /* changed; a whole vector is read behind the last column */
    int64_t sums_row;
    const uint32_t *row_sums, *row_zeros; /* where there are zeros, terms */
    void *y;                              /* of the first row and column */
    int64_t y_row;                        /* in elements */
    const void *residual;                 /* as y */
} hn_int8_block;

typedef void hn_int8_result_fn(const hn_int8_result *result, const hn_int8_block *block);
hn_int8_result_fn *hn_int8_result_find(void); /* the best for this processor */
hn_int8_result_fn hn_int8_result__scalar;     /* kernels leave `unary` to hn_int8_finish */
/* All of it, by a kernel. */
void hn_int8_finish(hn_int8_result_fn *kernel, const hn_int8_result *result,
                    const hn_int8_block *block);

/* Whether kernels that make sums can do it themselves, in registers; NULL: they cannot. */
typedef bool hn_int8_finishes_fn(const hn_int8_result *result);
/* The result where they can, else NULL. */
static inline const hn_int8_result *hn_int8_finished(hn_int8_finishes_fn *finishes,
                                                     const hn_int8_result *result) {
    return finishes && finishes(result) ? result : NULL;
}

/* What the columns of a product add, from what is known of b, a and the result. */
typedef struct hn_int8_columns {
    int64_t n, padded, k;     /* padded: with those that fill the last panel */
    const uint32_t *col_sums; /* of the packed numbers of b */
    const int32_t *b_zeros;   /* of b, as its type has them; none: all are 0 */
    int64_t n_b_zeros;
    bool b_is_signed;
    int32_t a_zero;     /* of all rows, of unsigned bytes; 0 where each row has its own */
    bool has_row_zeros; /* each row has its own */
    const int32_t *bias;
    const float *scales; /* scale * scales[j] / divisor */
    int64_t n_scales;    /* 1: for all columns; 0: none */
    float scale, divisor;
    const float *float_bias;
} hn_int8_columns;
#define HN_INT8_COLUMN_BYTES 20 /* of memory, for each padded column */
/* Sets the arrays of a result, in memory of the caller. `zeros` stays NULL where they are all 0. */
void hn_int8_columns_fill(const hn_int8_columns *columns, void *memory, hn_int8_result *result);

#endif /* HN_INT8_RESULT_H */
