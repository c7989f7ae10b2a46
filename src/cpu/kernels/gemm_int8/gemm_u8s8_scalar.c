/* Tiles of 4 x 16 in plain C. The loop over columns has a constant length, which compilers turn
 * into vectors of whatever the target has; the sums of a row are 16 numbers. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

enum { SCALAR_ROWS = 4, SCALAR_COLS = 16 };

static void u8s8_row_sums(const hn_u8s8_tile *t, int r, int32_t sums[SCALAR_COLS]) {
    const int8_t *b = t->b;
    memset(sums, 0, SCALAR_COLS * sizeof *sums);
    for (int64_t run = 0; run < t->n_runs; run++) {
        const uint8_t *a = t->a + r * t->a_row + t->runs[run];
        for (int64_t g = 0; g < t->n_groups; g++) {
            for (int j = 0; j < SCALAR_COLS; j++) {
                const int8_t *by = b + j * HN_U8S8_GROUP;
                int32_t group = a[0] * by[0] + a[1] * by[1] + a[2] * by[2] + a[3] * by[3];
                sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)group);
            }
            a += HN_U8S8_GROUP;
            b += SCALAR_COLS * HN_U8S8_GROUP;
        }
    }
}

#define U8S8_SCALAR_TILE(rows)                                       \
  static void u8s8_tile_scalar_##rows(const hn_u8s8_tile *t) {       \
    for (int r = 0; r < (rows); r++)                                 \
      u8s8_row_sums(t, r, t->sums + r * (int64_t)HN_U8S8_MOST_COLS); \
  }
U8S8_SCALAR_TILE(1)
U8S8_SCALAR_TILE(2)
U8S8_SCALAR_TILE(3)
U8S8_SCALAR_TILE(4)
#undef U8S8_SCALAR_TILE

const hn_u8s8_set hn_u8s8_set__scalar = {.max_rows = SCALAR_ROWS,
                                         .cols = SCALAR_COLS,
                                         .step_groups = 1,
                                         .least_rows = 1,
                                         .tiles = {NULL, u8s8_tile_scalar_1, u8s8_tile_scalar_2,
                                                   u8s8_tile_scalar_3, u8s8_tile_scalar_4}};
