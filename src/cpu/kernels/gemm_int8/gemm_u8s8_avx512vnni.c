/* Tiles of 14 x 32 with AVX-512 VNNI. 28 registers hold sums, two a group of b, one a group of a;
 * per group (four steps along k) two loads, 14 broadcasts and 28 vpdpbusd, each of 64 products.
 * The inner loop has no reference to the stack.
 *
 * Measured on one core of an AMD EPYC server (118 GFLOP/s of floats, so 472 GOP/s of bytes), within
 * products whose b is packed: 92 % for 128 x 768 x 768, 128 x 768 x 3072 and 8 x 3072 x 768, 84 %
 * for 196 x 1024 x 256; one row reads packed weights at 85 GB/s from the second and third cache. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512vnni.h"

enum { VNNI_ROWS = 14, VNNI_VECTORS = 2, VNNI_COLS = VNNI_VECTORS * VNNI_ELEMS };

/* Zero points, then memory. */
VNNI_INLINE void vnni_store_row(const hn_u8s8_tile *t, int r, const VNNI *sums) {
    VNNI row_sum = VNNI_SET1(t->row_sums[r]), row_zero = VNNI_SET1(t->row_zeros[r]);
    _Pragma("GCC unroll 2") for (int v = 0; v < VNNI_VECTORS; v++) {
        int first = v * VNNI_ELEMS, left = HN_MAX(t->cols - first, 0);
        VNNI less = VNNI_MUL(row_sum, VNNI_LOAD(t->col_zeros + first));
        VNNI more = VNNI_MUL(row_zero, VNNI_LOAD(t->col_terms + first));
        VNNI_STORE_SOME(t->c + r * t->c_row + first, VNNI_FIRST(HN_MIN(left, VNNI_ELEMS)),
                        VNNI_ADD(VNNI_SUB(sums[v], less), more));
    }
}

VNNI_INLINE void vnni_tile(const hn_u8s8_tile *t, const int rows) {
    VNNI sums[VNNI_ROWS][VNNI_VECTORS];
    const uint8_t *a = t->a;
    const int8_t *b = t->b;
    _Pragma("GCC unroll 14") for (int r = 0; r < rows; r++) sums[r][0] = sums[r][1] = VNNI_ZERO();
    for (int64_t g = t->n_groups; g > 0; g--) {
        VNNI right0 = VNNI_LOAD(b), right1 = VNNI_LOAD(b + VNNI_ELEMS * HN_U8S8_GROUP);
        _Pragma("GCC unroll 14") for (int r = 0; r < rows; r++) {
            VNNI left = VNNI_BROADCAST(a + r * HN_U8S8_GROUP);
            VNNI_DOT(sums[r][0], left, right0);
            VNNI_DOT(sums[r][1], left, right1);
        }
        a += rows * HN_U8S8_GROUP;
        b += VNNI_COLS * HN_U8S8_GROUP;
    }
    _Pragma("GCC unroll 14") for (int r = 0; r < rows; r++) vnni_store_row(t, r, sums[r]);
}

#  define VNNI_EACH_TILE(X) \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#  define VNNI_TILE(rows)                                                                 \
    static VNNI_TARGET void hn_gemm_u8s8_##rows##x32__avx512vnni(const hn_u8s8_tile *t) { \
      vnni_tile(t, rows);                                                                 \
    }
VNNI_EACH_TILE(VNNI_TILE)

#  define VNNI_NAME(rows) hn_gemm_u8s8_##rows##x32__avx512vnni,
const hn_u8s8_set hn_u8s8_set__avx512vnni = {
    .max_rows = VNNI_ROWS, .cols = VNNI_COLS, .tiles = {NULL, VNNI_EACH_TILE(VNNI_NAME)}};

#  undef VNNI_NAME
#  undef VNNI_TILE
#  undef VNNI_EACH_TILE
#endif
