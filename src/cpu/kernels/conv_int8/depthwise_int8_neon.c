/* Depthwise convolutions of bytes on 64-bit Arm, 16 channels of four positions at a time: one load
 * separates the weights of four taps, which are widened to 16 bits once for the four positions. */
#include "cpu/kernels/conv_int8/depthwise_int8.h"

#if defined(__aarch64__)
#  include "cpu/kernels/simd/simd_bytes_neon.h"

enum { NEON_VECTORS = 4, NEON_CHANNELS = NEON_VECTORS * NEON_ELEMS, NEON_POSITIONS = 4 };

static int neon_channel_of(int slot) {
    return slot;
}

#  define NEON_EACH_POSITION _Pragma("GCC unroll 4") for (int p = 0; p < n; p++)
#  define NEON_EACH_VECTOR _Pragma("GCC unroll 4") for (int v = 0; v < NEON_VECTORS; v++)

NEON_INLINE void neon_depthwise(const hn_depthwise_int8_line *t, int first, const int n) {
    NEON sums[NEON_POSITIONS][NEON_VECTORS];
    NEON_EACH_POSITION NEON_EACH_VECTOR sums[p][v] = NEON_ZERO();
    for (int64_t tap = 0; tap < t->n_taps; tap += HN_U8S8_GROUP) {
        const NEON_FOURTHS w = NEON_LOAD_FOURTHS(t->w + tap * NEON_CHANNELS);
        _Pragma("GCC unroll 4") for (int i = 0; i < HN_U8S8_GROUP; i++) {
            const int64_t at = t->taps[tap + i < t->n_taps ? tap + i : tap];
            const uint8_t *from = t->x + first * t->x_step + at;
            const NEON_WIDE w_low = NEON_LOW_SIGNED(w.val[i]), w_high = NEON_HIGH_SIGNED(w.val[i]);
            NEON_EACH_POSITION {
                const NEON_BYTES x = NEON_LOAD(from + p * t->x_step);
                const NEON_WIDE low = NEON_LOW_UNSIGNED(x), high = NEON_HIGH_UNSIGNED(x);
                NEON_ADD_LOW(sums[p][0], low, w_low);
                NEON_ADD_HIGH(sums[p][1], low, w_low);
                NEON_ADD_LOW(sums[p][2], high, w_high);
                NEON_ADD_HIGH(sums[p][3], high, w_high);
            }
        }
    }
    NEON_EACH_POSITION NEON_EACH_VECTOR NEON_STORE(
        t->sums + (first + p) * (int64_t)HN_DEPTHWISE_INT8_MOST_CHANNELS + v * NEON_ELEMS,
        sums[p][v]);
}

static void depthwise_line__neon(const hn_depthwise_int8_line *t) {
    int p = 0;
    for (; p + NEON_POSITIONS <= t->n_positions; p += NEON_POSITIONS)
        neon_depthwise(t, p, NEON_POSITIONS);
    for (; p < t->n_positions; p++)
        neon_depthwise(t, p, 1);
}

#  undef NEON_EACH_VECTOR
#  undef NEON_EACH_POSITION

const hn_depthwise_int8_set hn_depthwise_int8_set__neon = {
    .channels = NEON_CHANNELS, .channel_of = neon_channel_of, .line = depthwise_line__neon};
#endif
