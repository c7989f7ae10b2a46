/* Inside cpu/kernels: depthwise convolutions of bytes, some positions of a line and one block of
 * channels at a time. Four taps make a group. */
#ifndef HN_DEPTHWISE_INT8_H
#define HN_DEPTHWISE_INT8_H

#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#define HN_DEPTHWISE_INT8_MOST_CHANNELS 64

/* sums[p, c] = sum over taps of x[p * x_step + taps[t] + c] * w[t, c], modulo 2^32, for all
 * channels of the block; each reads a whole block, whatever the model has. */
typedef struct hn_depthwise_int8_line {
    const uint8_t *x;
    int64_t x_step;
    const int64_t *taps;
    int64_t n_taps;
    const int8_t *w; /* [group of taps, slot, 4] */
    int n_channels;  /* that matter */
    int n_positions;
    int32_t *sums; /* positions are HN_DEPTHWISE_INT8_MOST_CHANNELS apart */
    /* As hn_u8s8_tile has them. */
    const hn_int8_result *result;
    const hn_int8_block *block;
} hn_depthwise_int8_line;

typedef struct hn_depthwise_int8_set {
    int channels;                /* of a block */
    int (*channel_of)(int slot); /* channels are not packed in order */
    /* Blocks of no more than half of the channels are packed twice, for two positions at once. */
    bool has_pairs;
    hn_int8_finishes_fn *finishes;
    void (*line)(const hn_depthwise_int8_line *line);
} hn_depthwise_int8_set;

static inline bool hn_depthwise_int8_is_paired(const hn_depthwise_int8_set *set,
                                               int64_t n_channels) {
    return set->has_pairs && 2 * n_channels <= set->channels;
}

/* The best that this processor has; there is always one. */
const hn_depthwise_int8_set *hn_depthwise_int8_pick(void);

#endif /* HN_DEPTHWISE_INT8_H */
