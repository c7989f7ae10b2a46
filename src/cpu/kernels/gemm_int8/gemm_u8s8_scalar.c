/* Tiles of 4 x 16 in plain C. The loop over columns has a constant length, which compilers turn
 * into vectors of whatever the target has; the sums of a row are 16 numbers. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

enum { SCALAR_ROWS = 4, SCALAR_COLS = 16 };

static void u8s8_row_sums(const hn_u8s8_tile *t, int r, uint32_t sums[SCALAR_COLS]) {
    const uint8_t *a = t->a + r * HN_U8S8_GROUP;
    const int8_t *b = t->b;
    int32_t s[SCALAR_COLS];
    memset(s, 0, sizeof s);
    for (int64_t g = 0; g < t->n_groups; g++) {
        for (int j = 0; j < SCALAR_COLS; j++) {
            const int8_t *by = b + j * HN_U8S8_GROUP;
            int32_t group = a[0] * by[0] + a[1] * by[1] + a[2] * by[2] + a[3] * by[3];
            s[j] = (int32_t)((uint32_t)s[j] + (uint32_t)group);
        }
        a += t->rows * HN_U8S8_GROUP;
        b += SCALAR_COLS * HN_U8S8_GROUP;
    }
    memcpy(sums, s, sizeof s);
}

static void u8s8_tile_scalar(const hn_u8s8_tile *t) {
    uint32_t sums[SCALAR_COLS];
    for (int r = 0; r < t->rows; r++) {
        u8s8_row_sums(t, r, sums);
        for (int j = 0; j < t->cols; j++)
            t->c[r * t->c_row + j] = (int32_t)(sums[j] - t->row_sums[r] * t->col_zeros[j] +
                                               t->row_zeros[r] * t->col_terms[j]);
    }
}

const hn_u8s8_set hn_u8s8_set__scalar = {
    .max_rows = SCALAR_ROWS,
    .cols = SCALAR_COLS,
    .tiles = {NULL, u8s8_tile_scalar, u8s8_tile_scalar, u8s8_tile_scalar, u8s8_tile_scalar}};
