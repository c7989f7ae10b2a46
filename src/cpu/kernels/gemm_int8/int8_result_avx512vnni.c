/* Results of integer products with AVX-512 VNNI: bytes by what int8_bytes_vnni.h has, all else as
 * with AVX-512. */
#include "cpu/kernels/gemm_int8/int8_result.h"

#if defined(__x86_64__)
#  include "cpu/kernels/gemm_int8/int8_bytes_vnni.h"

VNNI_INLINE void vnni_columns_as_bytes(const hn_int8_result *s, const hn_int8_block *t, int64_t j,
                                       const bool has_residual) {
    const vnni_bytes b = vnni_bytes_of(s, t->col + j, t->cols - j, has_residual);
    const int32_t *sums = t->sums + j;
    const uint8_t *z = has_residual ? (const uint8_t *)t->residual + j : NULL;
    uint8_t *y = (uint8_t *)t->y + j;
    for (int r = 0; r < t->rows; r += 2) {
        VNNI words[2] = {VNNI_ZERO(), VNNI_ZERO()};
        _Pragma("GCC unroll 2") for (int i = 0; i < HN_MIN(2, t->rows - r); i++) {
            const int32_t *row = sums + (r + i) * t->sums_row;
            words[i] = vnni_words(
                &b, VNNI_LOAD_SOME(row, b.some[0]), VNNI_LOAD_SOME(row + VNNI_ELEMS, b.some[1]),
                has_residual ? z + (r + i) * s->residual.row : NULL, has_residual);
        }
        vnni_store_bytes(&b, words[0], words[1], y + r * t->y_row,
                         r + 1 < t->rows ? y + (r + 1) * t->y_row : NULL);
    }
}

hn_int8_result_fn hn_int8_result__avx512, hn_int8_result__avx512vnni;
VNNI_TARGET void hn_int8_result__avx512vnni(const hn_int8_result *s, const hn_int8_block *t) {
    if (!hn_vnni_makes_bytes(s))
        hn_int8_result__avx512(s, t);
    else if (s->residual.at)
        for (int64_t j = 0; j < t->cols; j += VNNI_BYTE_COLS)
            vnni_columns_as_bytes(s, t, j, true);
    else
        for (int64_t j = 0; j < t->cols; j += VNNI_BYTE_COLS)
            vnni_columns_as_bytes(s, t, j, false);
}
#endif
