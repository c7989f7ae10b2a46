/* The products of AMX tiles in plain C, for tests on processors without them. */
#ifdef HN_AMX_EMULATED
#  include "cpu/kernels/simd/simd_amx.h"

_Thread_local hn_amx_tile hn_amx_tiles[8];

void hn_amx_dot_bytes(int sum, int a, int b) {
    hn_amx_tile *to = &hn_amx_tiles[sum];
    const hn_amx_tile *left = &hn_amx_tiles[a], *right = &hn_amx_tiles[b];
    for (int r = 0; r < AMX_ROWS; r++)
        for (int k = 0; k < AMX_ROW_BYTES; k++)
            for (int j = 0; j < AMX_ROWS; j++) {
                int32_t product = left->bytes[r][k] * right->signed_bytes[k / 4][4 * j + k % 4];
                to->words[r][j] += (uint32_t)product;
            }
}

/* Numbers that are not normal are zero, before and after. */
static float normal(float x) {
    union {
        float value;
        uint32_t bits;
    } u = {x};
    return u.bits & 0x7F800000u ? x : 0;
}

static float wide(uint16_t half) {
    union {
        uint32_t bits;
        float value;
    } u = {(uint32_t)half << 16};
    return normal(u.value);
}

/* First and second numbers of pairs are summed apart. */
void hn_amx_dot_pairs(int sum, int a, int b) {
    hn_amx_tile *to = &hn_amx_tiles[sum];
    const hn_amx_tile *left = &hn_amx_tiles[a], *right = &hn_amx_tiles[b];
    for (int r = 0; r < AMX_ROWS; r++)
        for (int j = 0; j < AMX_ROWS; j++) {
            float sums[2] = {0, 0};
            for (int k = 0; k < AMX_ROW_BYTES / 2; k++) {
                float x = wide(left->halves[r][k]), y = wide(right->halves[k / 2][2 * j + k % 2]);
                sums[k % 2] = normal(__builtin_fmaf(x, y, sums[k % 2]));
            }
            to->floats[r][j] = normal(to->floats[r][j] + normal(sums[0] + sums[1]));
        }
}
#else
typedef int hn_amx_is_not_emulated; /* a translation unit has to declare something */
#endif
