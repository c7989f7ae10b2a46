/* Depthwise convolutions of bytes with AVX-512 VNNI, 64 channels at a time: the bytes of four taps
 * are interleaved by eight shuffles, and multiplied by four dot products. Bytes are made of sums in
 * registers. */
#include "cpu/kernels/conv_int8/depthwise_int8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/gemm_int8/int8_bytes_vnni.h"

enum { VNNI_CHANNELS = 64, VNNI_QUARTERS = 4 };

#  define VNNI_EACH_QUARTER _Pragma("GCC unroll 4") for (int v = 0; v < VNNI_QUARTERS; v++)

/* Shuffles stay within quarters of 16 channels: vector v has channels 4 v to 4 v + 3 of each. */
static int vnni_channel_of(int slot) {
    int vector = slot / VNNI_ELEMS, in = slot % VNNI_ELEMS;
    return in / 4 * VNNI_ELEMS + vector * 4 + in % 4;
}

/* What is computed at once: one position of 64 channels, or two of 32, `next` bytes apart. */
typedef struct vnni_at {
    const uint8_t *x;
    int64_t next;
} vnni_at;

VNNI_INLINE VNNI vnni_tap(const vnni_at *at, int64_t tap, const bool is_paired) {
    const uint8_t *x = at->x + tap;
    return is_paired ? VNNI_LOAD_TWO(x, x + at->next) : VNNI_LOAD(x);
}

VNNI_INLINE void vnni_interleave(const vnni_at *at, const int64_t *taps, int64_t n,
                                 const bool is_paired, VNNI out[VNNI_QUARTERS]) {
    VNNI t0 = vnni_tap(at, taps[0], is_paired), t1 = vnni_tap(at, taps[n > 1 ? 1 : 0], is_paired);
    VNNI t2 = vnni_tap(at, taps[n > 2 ? 2 : 0], is_paired);
    VNNI t3 = vnni_tap(at, taps[n > 3 ? 3 : 0], is_paired);
    VNNI low01 = VNNI_LOW_BYTES(t0, t1), high01 = VNNI_HIGH_BYTES(t0, t1);
    VNNI low23 = VNNI_LOW_BYTES(t2, t3), high23 = VNNI_HIGH_BYTES(t2, t3);
    out[0] = VNNI_LOW_PAIRS(low01, low23);
    out[1] = VNNI_HIGH_PAIRS(low01, low23);
    out[2] = VNNI_LOW_PAIRS(high01, high23);
    out[3] = VNNI_HIGH_PAIRS(high01, high23);
}

/* The sums at position p, and the one behind it. */
VNNI_INLINE void vnni_window(const hn_depthwise_int8_line *t, int64_t p, const bool is_paired,
                             VNNI sums[VNNI_QUARTERS]) {
    const vnni_at at = {t->x + p * t->x_step, p + 1 < t->n_positions ? t->x_step : 0};
    VNNI x[VNNI_QUARTERS];
    const int8_t *w = t->w;
    VNNI_EACH_QUARTER sums[v] = VNNI_ZERO();
    for (int64_t tap = 0; tap < t->n_taps; tap += HN_U8S8_GROUP) {
        vnni_interleave(&at, t->taps + tap, t->n_taps - tap, is_paired, x);
        VNNI_EACH_QUARTER {
            VNNI right = VNNI_LOAD(w + v * VNNI_CHANNELS);
            VNNI_DOT(sums[v], x[v], right);
        }
        w += VNNI_CHANNELS * HN_U8S8_GROUP;
    }
}

/* Quarters change places: channels as they are packed are in order then, and the other way round.
 */
VNNI_INLINE void vnni_exchange(const VNNI s[VNNI_QUARTERS], VNNI out[VNNI_QUARTERS]) {
    VNNI a = VNNI_QUARTERS_OF(s[0], s[1], 0x44), b = VNNI_QUARTERS_OF(s[2], s[3], 0x44);
    VNNI c = VNNI_QUARTERS_OF(s[0], s[1], 0xEE), d = VNNI_QUARTERS_OF(s[2], s[3], 0xEE);
    out[0] = VNNI_QUARTERS_OF(a, b, 0x88);
    out[1] = VNNI_QUARTERS_OF(a, b, 0xDD);
    out[2] = VNNI_QUARTERS_OF(c, d, 0x88);
    out[3] = VNNI_QUARTERS_OF(c, d, 0xDD);
}

/* What columns add and their scales are exchanged the same way: as sums are packed to bytes, these
 * come in order. */
VNNI_INLINE void vnni_exchange_columns(vnni_bytes *low, vnni_bytes *high) {
    VNNI add[] = {low->add[0], low->add[1], high->add[0], high->add[1]};
    VNNI scale[] = {VNNI_BITS_OF(low->scale[0]), VNNI_BITS_OF(low->scale[1]),
                    VNNI_BITS_OF(high->scale[0]), VNNI_BITS_OF(high->scale[1])};
    vnni_exchange(add, add);
    vnni_exchange(scale, scale);
    _Pragma("GCC unroll 2") for (int v = 0; v < 2; v++) {
        low->add[v] = add[v];
        high->add[v] = add[2 + v];
        low->scale[v] = VNNI_FLOATS_OF_BITS(scale[v]);
        high->scale[v] = VNNI_FLOATS_OF_BITS(scale[2 + v]);
    }
}

VNNI_INLINE void vnni_depthwise_bytes(const hn_depthwise_int8_line *t, const bool is_paired) {
    const int64_t col = t->block->col, cols = t->block->cols, y_row = t->block->y_row;
    const int64_t second = is_paired ? 0 : VNNI_BYTE_COLS;
    uint8_t *y = t->block->y;
    vnni_bytes low = vnni_bytes_of(t->result, col, cols, false);
    vnni_bytes high = vnni_bytes_of(t->result, col + second, cols - second, false);
    vnni_exchange_columns(&low, &high);
    for (int p = 0; p < t->n_positions; p += is_paired ? 2 : 1) {
        VNNI sums[VNNI_QUARTERS];
        vnni_window(t, p, is_paired, sums);
        VNNI words0 = vnni_words(&low, sums[0], sums[1], NULL, false);
        VNNI words1 = vnni_words(&high, sums[2], sums[3], NULL, false);
        VNNI bytes = VNNI_ROW_OF_BYTES(words0, words1, low.least);
        if (!is_paired)
            VNNI_STORE_BYTES(y + p * y_row, cols, bytes);
        else
            VNNI_STORE_FIRST_ROW(y + p * y_row, low.some_bytes, bytes);
        if (is_paired && p + 1 < t->n_positions)
            VNNI_STORE_SECOND_ROW(y + (p + 1) * y_row, low.some_bytes, bytes);
    }
}

VNNI_INLINE void vnni_depthwise_sums(const hn_depthwise_int8_line *t, const bool is_paired) {
    for (int p = 0; p < t->n_positions; p += is_paired ? 2 : 1) {
        VNNI sums[VNNI_QUARTERS];
        int32_t *to = t->sums + p * (int64_t)HN_DEPTHWISE_INT8_MOST_CHANNELS;
        int32_t *second = to + HN_DEPTHWISE_INT8_MOST_CHANNELS;
        vnni_window(t, p, is_paired, sums);
        vnni_exchange(sums, sums);
        VNNI_STORE(to, sums[0]);
        VNNI_STORE(to + VNNI_ELEMS, sums[1]);
        if (!is_paired)
            second = to + 2 * VNNI_ELEMS;
        else if (p + 1 == t->n_positions)
            return;
        VNNI_STORE(second, sums[2]);
        VNNI_STORE(second + VNNI_ELEMS, sums[3]);
    }
}

static VNNI_TARGET void depthwise_line__avx512vnni(const hn_depthwise_int8_line *t) {
    bool is_paired = 2 * t->n_channels <= VNNI_CHANNELS;
    if (t->result && is_paired)
        vnni_depthwise_bytes(t, true);
    else if (t->result)
        vnni_depthwise_bytes(t, false);
    else if (is_paired)
        vnni_depthwise_sums(t, true);
    else
        vnni_depthwise_sums(t, false);
}

const hn_depthwise_int8_set hn_depthwise_int8_set__avx512vnni = {.channels = VNNI_CHANNELS,
                                                                 .channel_of = vnni_channel_of,
                                                                 .has_pairs = true,
                                                                 .finishes = hn_vnni_finishes,
                                                                 .line =
                                                                     depthwise_line__avx512vnni};
#  undef VNNI_EACH_QUARTER
#endif
