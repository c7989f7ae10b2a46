/* Weights and biases of static quantization. */
#ifndef HN_QUANT_STATIC_WEIGHTS_H
#define HN_QUANT_STATIC_WEIGHTS_H

#include "quant/quant_int.h"

/* A weight as integers, and how it is dequantized. */
typedef struct hn_static_weight {
    const hn_tensor *w; /* float */
    hn_quant_result result;
    int32_t axis;  /* of the scales; -1: one scale */
    int64_t block; /* 0: not in blocks */
    double sqnr;
} hn_static_weight;
/* Of a layer or a lookup; rounded with feedback where the plan has moments. With a bias whose
 * integers would not fit, scales of channels are larger than their range asks for. */
hone_status hn_static_weight_of(hn_quant_plan *p, hn_id node, hn_static_weight *out,
                                hone_error *err);

typedef struct hn_static_bias {
    const hn_tensor *q, *scale;
    bool is_per_channel;
} hn_static_bias;
/* The bias as int32 with the scale of input times weight. *is_float: it has none, or one that must
 * stay float. */
hone_status hn_static_bias_of(const hn_quant_plan *p, hn_id node, const hn_static_weight *w,
                              hn_static_bias *out, bool *is_float);

#endif /* HN_QUANT_STATIC_WEIGHTS_H */
