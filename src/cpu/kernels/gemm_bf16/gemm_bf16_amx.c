/* Products of bfloat16 with AMX: two tiles of a times two of b give four of sums. */
#include "cpu/kernels/gemm_bf16/gemm_bf16.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_amx.h"

#  include "cpu/kernels/simd/simd_avx512.h"

enum { AMX_TILE_ELEMS = AMX_ROWS * AMX_ROW_BYTES / sizeof(uint16_t), PREFETCHED = 64 };

static void bf16_block__amx(const hn_bf16_block *t) {
    const int64_t row_bytes = t->sums_row * (int64_t)sizeof *t->sums;
    const uint16_t *a = t->a, *b = t->b;
    const char *later = t->later;
    float *lower = t->sums + AMX_ROWS * t->sums_row;
    if (t->add) {
        AMX_LOAD(0, t->sums, row_bytes);
        AMX_LOAD(1, t->sums + AMX_ROWS, row_bytes);
        AMX_LOAD(2, lower, row_bytes);
        AMX_LOAD(3, lower + AMX_ROWS, row_bytes);
    } else {
        AMX_ZERO_SUMS();
    }
    for (int64_t s = 0; s < t->n_steps; s++, later += t->later_bytes) {
        AMX_LOAD(4, a, AMX_ROW_BYTES);
        AMX_LOAD(6, b, AMX_ROW_BYTES);
        AMX_LOAD(7, b + AMX_TILE_ELEMS, AMX_ROW_BYTES);
        AMX_LOAD(5, a + AMX_TILE_ELEMS, AMX_ROW_BYTES);
        AMX_DOT_PAIRS(0, 4, 6);
        AMX_DOT_PAIRS(1, 4, 7);
        AMX_DOT_PAIRS(2, 5, 6);
        AMX_DOT_PAIRS(3, 5, 7);
        for (int64_t at = 0; at < t->later_bytes; at += PREFETCHED)
            __builtin_prefetch(later + at, 0, 2);
        a += HN_BF16_STEP_ELEMS;
        b += HN_BF16_STEP_ELEMS;
    }
    AMX_STORE(0, t->sums, row_bytes);
    AMX_STORE(1, t->sums + AMX_ROWS, row_bytes);
    AMX_STORE(2, lower, row_bytes);
    AMX_STORE(3, lower + AMX_ROWS, row_bytes);
}

static V_TARGET void round_floats__amx(int64_t n, const float *x, uint16_t *out) {
    for (int64_t i = 0; i < hn_bf16_steps(n) * HN_BF16_STEP; i += V_ELEMS) {
        int64_t left = HN_MAX(HN_MIN(n - i, V_ELEMS), 0);
        V v = left == V_ELEMS ? V_LOAD(x + i) : V_LOAD_SOME(x + i, V_FIRST(left));
        uint16_t *step = out + i / HN_BF16_STEP * HN_BF16_STEP_ELEMS;
        V_BF16_STORE(step + i % HN_BF16_STEP, V_BF16_OF(v));
    }
}

static V_TARGET void finish_bf16__amx(const hn_bf16_result *t) {
    const hn_epilogue_f32 *e = t->epilogue;
    for (int64_t j = 0; j < t->cols; j += V_ELEMS) {
        V_SOME some = V_FIRST(HN_MIN(t->cols - j, V_ELEMS));
        V col_bias = e && e->col_bias ? V_LOAD_SOME(e->col_bias + j, some) : V_ZERO();
        for (int64_t r = 0; r < t->rows; r++) {
            float *c = t->c + r * t->c_row + j;
            V v = V_LOAD_SOME(t->sums + r * t->sums_row + j, some);
            if (t->add)
                v = V_ADD(v, V_LOAD_SOME(c, some));
            if (e && e->bias)
                v = V_ADD(v, V_BROADCAST(e->bias + r));
            if (e && e->col_bias)
                v = V_ADD(v, col_bias);
            if (e && e->residual)
                v = V_ADD(v, V_LOAD_SOME(e->residual + r * e->residual_stride + j, some));
            if (e && e->is_limited)
                v = V_MIN(V_SET1(e->most), V_MAX(V_SET1(e->least), v));
            V_STORE_SOME(c, some, v);
        }
    }
}

#  include "cpu/kernels/simd/simd_end.h"

const hn_bf16_blocks hn_bf16_blocks__amx = {.begin = hn_amx_begin,
                                            .end = hn_amx_end,
                                            .block = bf16_block__amx,
                                            .round = round_floats__amx,
                                            .finish = finish_bf16__amx};
#endif
