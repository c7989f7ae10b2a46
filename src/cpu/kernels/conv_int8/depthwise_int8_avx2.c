/* Depthwise convolutions of bytes with AVX2, 16 channels of four positions at a time: bytes of two
 * taps are interleaved and widened to 16 bits, so that no sum of two products saturates. Weights
 * are widened once for the four positions. */
#include "cpu/kernels/conv_int8/depthwise_int8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_bytes256.h"

enum { YMM_CHANNELS = 2 * YMM_ELEMS, YMM_POSITIONS = 4 };

static int ymm_channel_of(int slot) {
    return slot;
}

/* Taps 0 and 2, then 1 and 3: those are the even and the odd bytes of the weights. */
YMM_INLINE void ymm_depthwise(const hn_depthwise_int8_line *t, int first, const int n) {
    YMM sums[YMM_POSITIONS][2];
    const uint8_t *x = t->x + first * t->x_step;
    const int8_t *w = t->w;
    _Pragma("GCC unroll 4") for (int p = 0; p < n; p++) sums[p][0] = sums[p][1] = YMM_ZERO();
    for (int64_t tap = 0; tap < t->n_taps; tap += HN_U8S8_GROUP) {
        const int64_t *taps = t->taps + tap, left = t->n_taps - tap;
        const int64_t at0 = taps[0], at1 = taps[left > 1 ? 1 : 0];
        const int64_t at2 = taps[left > 2 ? 2 : 0], at3 = taps[left > 3 ? 3 : 0];
        const YMM w0 = YMM_LOAD(w), w1 = YMM_LOAD(w + YMM_ELEMS * HN_U8S8_GROUP);
        const YMM even0 = YMM_EVEN(w0), odd0 = YMM_ODD(w0);
        const YMM even1 = YMM_EVEN(w1), odd1 = YMM_ODD(w1);
        _Pragma("GCC unroll 4") for (int p = 0; p < n; p++) {
            const uint8_t *from = x + p * t->x_step;
            const XMM x0 = XMM_LOAD(from + at0), x1 = XMM_LOAD(from + at1);
            const XMM x2 = XMM_LOAD(from + at2), x3 = XMM_LOAD(from + at3);
            YMM_ADD_PAIRS(sums[p][0], YMM_LOW_PAIRS(x0, x2), even0);
            YMM_ADD_PAIRS(sums[p][1], YMM_HIGH_PAIRS(x0, x2), even1);
            YMM_ADD_PAIRS(sums[p][0], YMM_LOW_PAIRS(x1, x3), odd0);
            YMM_ADD_PAIRS(sums[p][1], YMM_HIGH_PAIRS(x1, x3), odd1);
        }
        w += YMM_CHANNELS * HN_U8S8_GROUP;
    }
    _Pragma("GCC unroll 4") for (int p = 0; p < n; p++) {
        int32_t *to = t->sums + (first + p) * (int64_t)HN_DEPTHWISE_INT8_MOST_CHANNELS;
        YMM_STORE(to, sums[p][0]);
        YMM_STORE(to + YMM_ELEMS, sums[p][1]);
    }
}

static YMM_TARGET void depthwise_line__avx2(const hn_depthwise_int8_line *t) {
    int p = 0;
    for (; p + YMM_POSITIONS <= t->n_positions; p += YMM_POSITIONS)
        ymm_depthwise(t, p, YMM_POSITIONS);
    for (; p < t->n_positions; p++)
        ymm_depthwise(t, p, 1);
}

const hn_depthwise_int8_set hn_depthwise_int8_set__avx2 = {
    .channels = YMM_CHANNELS, .channel_of = ymm_channel_of, .line = depthwise_line__avx2};
#endif
