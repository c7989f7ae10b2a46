/* Depthwise convolutions of bytes in plain C, 16 channels at a time. */
#include "cpu/kernels/conv_int8/depthwise_int8.h"

enum { SCALAR_CHANNELS = 16 };

static int scalar_channel_of(int slot) {
    return slot;
}

static void depthwise_line_scalar(const hn_depthwise_int8_line *t) {
    for (int p = 0; p < t->n_positions; p++) {
        uint32_t sums[SCALAR_CHANNELS] = {0};
        for (int64_t tap = 0; tap < t->n_taps; tap++) {
            const uint8_t *x = t->x + p * t->x_step + t->taps[tap];
            const int8_t *w =
                t->w + tap / HN_U8S8_GROUP * SCALAR_CHANNELS * HN_U8S8_GROUP + tap % HN_U8S8_GROUP;
            for (int c = 0; c < SCALAR_CHANNELS; c++)
                sums[c] += (uint32_t)(x[c] * w[c * HN_U8S8_GROUP]);
        }
        memcpy(t->sums + p * (int64_t)HN_DEPTHWISE_INT8_MOST_CHANNELS, sums, sizeof sums);
    }
}

const hn_depthwise_int8_set hn_depthwise_int8_set__scalar = {
    .channels = SCALAR_CHANNELS, .channel_of = scalar_channel_of, .line = depthwise_line_scalar};
