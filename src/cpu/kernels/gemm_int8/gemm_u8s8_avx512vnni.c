/* Tiles of 14 x 32 with AVX-512 VNNI: 28 registers of sums, two of b, one of a. Every dot product
 * of 64 bytes needs one load of a for two of them, and two loads of b for all rows. Where results
 * are bytes they are made of the sums in registers: where few channels are multiplied, storing and
 * reading sums would take a third of the time. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/gemm_int8/int8_bytes_vnni.h"

enum { VNNI_ROWS = 14, VNNI_VECTORS = 2, VNNI_COLS = VNNI_VECTORS * VNNI_ELEMS, VNNI_HALF = 7 };
enum { VNNI_AHEAD = 4096 }; /* bytes of b that are prefetched: what prefetchers lose is a page */

/* The addresses of seven rows from one pointer and three strides: what x86 adds in one load. */
VNNI_INLINE const uint8_t *vnni_row(const uint8_t *a, int64_t by1, int64_t by3, int64_t by5,
                                    const int r) {
    const int64_t steps[] = {0, by1, 2 * by1, by3, 4 * by1, by5, 2 * by3};
    return a + steps[r];
}

#  define VNNI_EACH_ROW _Pragma("GCC unroll 14") for (int r = 0; r < rows; r++)

VNNI_INLINE void vnni_sums(const hn_u8s8_tile *t, const int rows,
                           VNNI sums[VNNI_ROWS][VNNI_VECTORS]) {
    const int64_t by1 = t->a_row, by3 = 3 * by1, by5 = 5 * by1;
    const int8_t *b = t->b;
    VNNI_EACH_ROW sums[r][0] = sums[r][1] = VNNI_ZERO();
    for (int64_t run = 0; run < t->n_runs; run++) {
        const uint8_t *upper = t->a + t->runs[run], *lower = upper + VNNI_HALF * by1;
        for (int64_t g = t->n_groups; g > 0; g--) {
            VNNI right0 = VNNI_LOAD(b), right1 = VNNI_LOAD(b + VNNI_ELEMS * HN_U8S8_GROUP);
            VNNI_PREFETCH(b + VNNI_AHEAD);
            VNNI_PREFETCH(b + VNNI_AHEAD + VNNI_ELEMS * HN_U8S8_GROUP);
            VNNI_EACH_ROW {
                VNNI left =
                    VNNI_BROADCAST(r < VNNI_HALF ? vnni_row(upper, by1, by3, by5, r)
                                                 : vnni_row(lower, by1, by3, by5, r - VNNI_HALF));
                VNNI_DOT(sums[r][0], left, right0);
                VNNI_DOT(sums[r][1], left, right1);
            }
            upper += HN_U8S8_GROUP;
            lower += HN_U8S8_GROUP;
            b += VNNI_COLS * HN_U8S8_GROUP;
        }
    }
}

VNNI_INLINE void vnni_tile_as_bytes(const hn_u8s8_tile *t, const int rows,
                                    VNNI sums[VNNI_ROWS][VNNI_VECTORS]) {
    const hn_int8_block *k = t->block;
    const vnni_bytes b = vnni_bytes_of(t->result, k->col, k->cols, false);
    uint8_t *y = k->y;
    _Pragma("GCC unroll 7") for (int r = 0; r < rows; r += 2) {
        const int next = HN_MIN(r + 1, rows - 1);
        VNNI row0 = vnni_words(&b, sums[r][0], sums[r][1], NULL, false), row1 = row0;
        if (next > r)
            row1 = vnni_words(&b, sums[next][0], sums[next][1], NULL, false);
        vnni_store_bytes(&b, row0, row1, y, next > r ? y + k->y_row : NULL);
        y += 2 * k->y_row;
    }
}

VNNI_INLINE void vnni_tile(const hn_u8s8_tile *t, const int rows) {
    VNNI sums[VNNI_ROWS][VNNI_VECTORS];
    vnni_sums(t, rows, sums);
    if (t->result)
        vnni_tile_as_bytes(t, rows, sums);
    else
        VNNI_EACH_ROW {
            VNNI_STORE(t->sums + r * HN_U8S8_MOST_COLS, sums[r][0]);
            VNNI_STORE(t->sums + r * HN_U8S8_MOST_COLS + VNNI_ELEMS, sums[r][1]);
        }
}

#  define VNNI_EACH_TILE(X) \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#  define VNNI_TILE(rows)                                                                 \
    static VNNI_TARGET void hn_gemm_u8s8_##rows##x32__avx512vnni(const hn_u8s8_tile *t) { \
      vnni_tile(t, rows);                                                                 \
    }
VNNI_EACH_TILE(VNNI_TILE)

#  define VNNI_NAME(rows) hn_gemm_u8s8_##rows##x32__avx512vnni,
const hn_u8s8_set hn_u8s8_set__avx512vnni = {.max_rows = VNNI_ROWS,
                                             .cols = VNNI_COLS,
                                             .step_groups = 1,
                                             .least_rows = 1,
                                             .finishes = hn_vnni_finishes,
                                             .tiles = {NULL, VNNI_EACH_TILE(VNNI_NAME)}};

#  undef VNNI_NAME
#  undef VNNI_TILE
#  undef VNNI_EACH_TILE
#  undef VNNI_EACH_ROW
#endif
