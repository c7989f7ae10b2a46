/* Depthwise convolutions of bytes with AVX-512 VNNI, 64 channels at a time: the bytes of four taps
 * are interleaved by eight shuffles, and multiplied by four dot products. */
#include "cpu/kernels/conv_int8/depthwise_int8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_avx512vnni.h"

enum { VNNI_CHANNELS = 64, VNNI_QUARTERS = 4 };

/* Shuffles stay within quarters of 16 channels: vector v has channels 4 v to 4 v + 3 of each. */
static int vnni_channel_of(int slot) {
    int vector = slot / VNNI_ELEMS, in = slot % VNNI_ELEMS;
    return in / 4 * VNNI_ELEMS + vector * 4 + in % 4;
}

VNNI_INLINE void vnni_interleave(const uint8_t *x, const int64_t *taps, int64_t n, VNNI out[4]) {
    VNNI t0 = VNNI_LOAD(x + taps[0]), t1 = VNNI_LOAD(x + taps[n > 1 ? 1 : 0]);
    VNNI t2 = VNNI_LOAD(x + taps[n > 2 ? 2 : 0]), t3 = VNNI_LOAD(x + taps[n > 3 ? 3 : 0]);
    VNNI low01 = VNNI_LOW_BYTES(t0, t1), high01 = VNNI_HIGH_BYTES(t0, t1);
    VNNI low23 = VNNI_LOW_BYTES(t2, t3), high23 = VNNI_HIGH_BYTES(t2, t3);
    out[0] = VNNI_LOW_PAIRS(low01, low23);
    out[1] = VNNI_HIGH_PAIRS(low01, low23);
    out[2] = VNNI_LOW_PAIRS(high01, high23);
    out[3] = VNNI_HIGH_PAIRS(high01, high23);
}

/* Quarters change places, so that channels are in order. */
VNNI_INLINE void vnni_store_quarters(int32_t *sums, const VNNI s[4]) {
    VNNI a = VNNI_QUARTERS_OF(s[0], s[1], 0x44), b = VNNI_QUARTERS_OF(s[2], s[3], 0x44);
    VNNI c = VNNI_QUARTERS_OF(s[0], s[1], 0xEE), d = VNNI_QUARTERS_OF(s[2], s[3], 0xEE);
    VNNI_STORE(sums, VNNI_QUARTERS_OF(a, b, 0x88));
    VNNI_STORE(sums + 16, VNNI_QUARTERS_OF(a, b, 0xDD));
    VNNI_STORE(sums + 32, VNNI_QUARTERS_OF(c, d, 0x88));
    VNNI_STORE(sums + 48, VNNI_QUARTERS_OF(c, d, 0xDD));
}

static VNNI_TARGET void depthwise_line__avx512vnni(const hn_depthwise_int8_line *t) {
    for (int p = 0; p < t->n_positions; p++) {
        VNNI sums[VNNI_QUARTERS], x[VNNI_QUARTERS];
        const int8_t *w = t->w;
        for (int v = 0; v < VNNI_QUARTERS; v++)
            sums[v] = VNNI_ZERO();
        for (int64_t tap = 0; tap < t->n_taps; tap += HN_U8S8_GROUP) {
            vnni_interleave(t->x + p * t->x_step, t->taps + tap, t->n_taps - tap, x);
            _Pragma("GCC unroll 4") for (int v = 0; v < VNNI_QUARTERS; v++) {
                VNNI right = VNNI_LOAD(w + v * VNNI_CHANNELS);
                VNNI_DOT(sums[v], x[v], right);
            }
            w += VNNI_CHANNELS * HN_U8S8_GROUP;
        }
        vnni_store_quarters(t->sums + p * (int64_t)HN_DEPTHWISE_INT8_MOST_CHANNELS, sums);
    }
}

const hn_depthwise_int8_set hn_depthwise_int8_set__avx512vnni = {
    .channels = VNNI_CHANNELS, .channel_of = vnni_channel_of, .line = depthwise_line__avx512vnni};
#endif
