/* Tiles of 32 x 32 with AMX: four tiles of sums, two of a, two of b. A step takes 64 bytes along k,
 * so that four loads meet four products of 16 cycles each.
 *
 * The second tile of a begins 16 rows before the last one: what both have is computed twice, and
 * nothing behind the rows is read. Fewer than 16 rows need rows behind them that may be read, else
 * they are left to AVX-512. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_amx.h"

enum {
    AMX_COLS = 32,
    AMX_STEP_GROUPS = AMX_ROW_BYTES / HN_U8S8_GROUP,
    AMX_B_ROW = AMX_COLS * HN_U8S8_GROUP,
    AMX_B_STEP = AMX_STEP_GROUPS * AMX_B_ROW,
    AMX_SUMS_ROW = HN_U8S8_MOST_COLS * sizeof(int32_t)
};

extern const hn_u8s8_set hn_u8s8_set__avx512vnni;

static void few_rows_by_vnni(const hn_u8s8_tile *t) {
    const hn_u8s8_set *by = &hn_u8s8_set__avx512vnni;
    for (int row = 0, n; row < t->rows; row += n) {
        hn_u8s8_tile part = *t;
        n = HN_MIN(t->rows - row, by->max_rows);
        part.rows = n;
        part.a += row * t->a_row;
        part.sums += row * HN_U8S8_MOST_COLS;
        by->tiles[n](&part);
    }
}

/* One step of 16 rows. */
#  define AMX_ROWS_STEP(sum0, sum1, left)      \
    AMX_LOAD(left, a, t->a_row);               \
    AMX_LOAD(6, b, AMX_B_ROW);                 \
    AMX_LOAD(7, b + AMX_ROW_BYTES, AMX_B_ROW); \
    AMX_DOT_BYTES(sum0, left, 6);              \
    AMX_DOT_BYTES(sum1, left, 7);              \
    a += AMX_ROW_BYTES;                        \
    b += AMX_B_STEP

/* Sums of even and of odd steps are apart, so that products do not wait for each other. */
static void sixteen_rows(const hn_u8s8_tile *t) {
    const int8_t *b = t->b;
    int32_t odd[AMX_ROWS][AMX_COLS];
    AMX_ZERO_SUMS();
    for (int64_t run = 0; run < t->n_runs; run++) {
        const uint8_t *a = t->a + t->runs[run];
        int64_t n_steps = t->n_groups / AMX_STEP_GROUPS;
        for (; n_steps >= 2; n_steps -= 2) {
            AMX_ROWS_STEP(0, 1, 4);
            AMX_ROWS_STEP(2, 3, 5);
        }
        if (n_steps) {
            AMX_ROWS_STEP(0, 1, 4);
        }
    }
    AMX_STORE(0, t->sums, AMX_SUMS_ROW);
    AMX_STORE(1, t->sums + AMX_ROWS, AMX_SUMS_ROW);
    AMX_STORE(2, odd, sizeof odd[0]);
    AMX_STORE(3, &odd[0][AMX_ROWS], sizeof odd[0]);
    for (int r = 0; r < AMX_ROWS; r++)
        for (int j = 0; j < AMX_COLS; j++) {
            int32_t *sum = t->sums + r * HN_U8S8_MOST_COLS + j;
            *sum = (int32_t)((uint32_t)*sum + (uint32_t)odd[r][j]);
        }
}

static void many_rows(const hn_u8s8_tile *t) {
    const int64_t n_steps = t->n_groups / AMX_STEP_GROUPS, second = t->rows - AMX_ROWS;
    const int8_t *b = t->b;
    int32_t *lower = t->sums + second * HN_U8S8_MOST_COLS;
    AMX_ZERO_SUMS();
    for (int64_t run = 0; run < t->n_runs; run++) {
        const uint8_t *a = t->a + t->runs[run];
        for (int64_t s = 0; s < n_steps; s++, a += AMX_ROW_BYTES, b += AMX_B_STEP) {
            AMX_LOAD(4, a, t->a_row);
            AMX_LOAD(6, b, AMX_B_ROW);
            AMX_LOAD(7, b + AMX_ROW_BYTES, AMX_B_ROW);
            AMX_LOAD(5, a + second * t->a_row, t->a_row);
            AMX_DOT_BYTES(0, 4, 6);
            AMX_DOT_BYTES(1, 4, 7);
            AMX_DOT_BYTES(2, 5, 6);
            AMX_DOT_BYTES(3, 5, 7);
        }
    }
    AMX_STORE(0, t->sums, AMX_SUMS_ROW);
    AMX_STORE(1, t->sums + AMX_ROWS, AMX_SUMS_ROW);
    AMX_STORE(2, lower, AMX_SUMS_ROW);
    AMX_STORE(3, lower + AMX_ROWS, AMX_SUMS_ROW);
}

static void hn_gemm_u8s8_32x32__amx(const hn_u8s8_tile *t) {
    if (t->rows > AMX_ROWS)
        many_rows(t);
    else if (t->rows == AMX_ROWS || t->reads_more_rows)
        sixteen_rows(t);
    else
        few_rows_by_vnni(t);
}

#  define AMX_TILE hn_gemm_u8s8_32x32__amx
#  define AMX_EIGHT AMX_TILE, AMX_TILE, AMX_TILE, AMX_TILE, AMX_TILE, AMX_TILE, AMX_TILE, AMX_TILE
const hn_u8s8_set hn_u8s8_set__amx = {.max_rows = 2 * AMX_ROWS,
                                      .cols = AMX_COLS,
                                      .step_groups = AMX_STEP_GROUPS,
                                      .least_rows = AMX_ROWS,
                                      .begin = hn_amx_begin,
                                      .end = hn_amx_end,
                                      .tiles = {NULL, AMX_EIGHT, AMX_EIGHT, AMX_EIGHT, AMX_EIGHT}};
#  undef AMX_EIGHT
#  undef AMX_TILE
#  undef AMX_ROWS_STEP
#endif
