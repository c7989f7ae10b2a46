/* Inside cpu/kernels, AVX-512 VNNI: sums in registers become bytes, the same as int8_result.h says,
 * two rows of 32 columns at a time. Only the upper limit is applied to floats: numbers below the
 * lower one, and NaN, become integers that saturate to it when they are packed. Rounding does not
 * change the order of numbers, so that it does not matter which comes first. */
#ifndef HN_INT8_BYTES_VNNI_H
#define HN_INT8_BYTES_VNNI_H

#include "cpu/kernels/gemm_int8/int8_result.h"
#include "cpu/kernels/simd/simd_avx512vnni.h"

enum { VNNI_BYTE_COLS = 2 * VNNI_ELEMS };

/* What all rows of 32 columns, or fewer, have in common. */
typedef struct vnni_bytes {
    VNNI add[2];
    VNNI_FLOATS scale[2];
    VNNI_FLOATS high;              /* of results, or of sums with a residual */
    VNNI least_word, least, order; /* the same for low, and as a byte */
    VNNI_SOME some[2];             /* columns */
    VNNI_SOME_BYTES some_bytes;
    /* With a residual. */
    VNNI_FLOATS low_of_result, high_of_result, of_result, zero, of_residual;
    VNNI_BYTES flip;
} vnni_bytes;

/* Row terms and results that are no bytes are finished elsewhere. */
static inline bool hn_vnni_makes_bytes(const hn_int8_result *s) {
    return s->to == HN_INT8_TO_BYTES && !s->zeros && !s->terms;
}

/* What tiles do themselves. Residuals would double their code for little: behind few channels they
 * are rare. */
static inline bool hn_vnni_finishes(const hn_int8_result *s) {
    return hn_vnni_makes_bytes(s) && !s->residual.at;
}

VNNI_INLINE vnni_bytes vnni_bytes_of(const hn_int8_result *s, int64_t col, int64_t cols,
                                     const bool has_residual) {
    const hn_int8_residual *z = &s->residual;
    int32_t least = (int32_t)hn_round_even(has_residual ? z->low : s->low);
    vnni_bytes b = {.high = VNNI_FLOATS_SET1(has_residual ? z->high : s->high),
                    .least_word = VNNI_WORDS_SET1(least),
                    .least = VNNI_ALL_BYTES_SET1(least + (has_residual ? z->sum_zero : s->zero)),
                    .order = VNNI_ORDER_OF_ROWS(),
                    .some_bytes = cols > 0 ? VNNI_FIRST_BYTES(HN_MIN(cols, VNNI_BYTE_COLS)) : 0};
    _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) {
        b.some[v] = VNNI_FIRST(HN_MIN(HN_MAX(cols - v * VNNI_ELEMS, 0), VNNI_ELEMS));
        b.add[v] = VNNI_LOAD_SOME(s->add + col + v * VNNI_ELEMS, b.some[v]);
        b.scale[v] = VNNI_FLOATS_LOAD_SOME(s->scales + col + v * VNNI_ELEMS, b.some[v]);
    }
    if (has_residual) {
        /* Signed bytes, flipped, are larger by 128. */
        b.flip = VNNI_BYTES_SET1(z->is_signed ? 0x80 : 0);
        b.zero = VNNI_FLOATS_SET1(z->zero + (z->is_signed ? 128.0f : 0.0f));
        b.low_of_result = VNNI_FLOATS_SET1(s->low);
        b.high_of_result = VNNI_FLOATS_SET1(s->high);
        b.of_result = VNNI_FLOATS_SET1(z->of_result);
        b.of_residual = VNNI_FLOATS_SET1(z->of_residual);
    }
    return b;
}

VNNI_INLINE VNNI vnni_quantized(const vnni_bytes *b, const int v, VNNI sum, const uint8_t *z,
                                const bool has_residual) {
    VNNI_FLOATS q = VNNI_FLOATS_MUL(VNNI_FLOATS_OF(VNNI_ADD(sum, b->add[v])), b->scale[v]);
    if (has_residual) {
        VNNI bytes = VNNI_LOAD_BYTES(z + v * VNNI_ELEMS, b->some[v], b->flip);
        VNNI_FLOATS other = VNNI_FLOATS_SUB(VNNI_FLOATS_OF(bytes), b->zero);
        q = VNNI_FLOATS_MIN(VNNI_FLOATS_MAX(q, b->low_of_result), b->high_of_result);
        q = VNNI_FLOATS_ADD(VNNI_FLOATS_MUL(VNNI_FLOATS_ROUND(q), b->of_result),
                            VNNI_FLOATS_MUL(other, b->of_residual));
    }
    return VNNI_OF_FLOATS(VNNI_FLOATS_MIN(b->high, q));
}

/* A row of sums as 32 words that are 0 for the least byte. */
VNNI_INLINE VNNI vnni_words(const vnni_bytes *b, VNNI sum0, VNNI sum1, const uint8_t *z,
                            const bool has_residual) {
    return VNNI_WORDS(vnni_quantized(b, 0, sum0, z, has_residual),
                      vnni_quantized(b, 1, sum1, z, has_residual), b->least_word);
}

VNNI_INLINE void vnni_store_bytes(const vnni_bytes *b, VNNI row0, VNNI row1, uint8_t *y0,
                                  uint8_t *y1) {
    VNNI bytes = VNNI_ROWS_OF_BYTES(row0, row1, b->order, b->least);
    VNNI_STORE_FIRST_ROW(y0, b->some_bytes, bytes);
    if (y1)
        VNNI_STORE_SECOND_ROW(y1, b->some_bytes, bytes);
}

#endif /* HN_INT8_BYTES_VNNI_H */
