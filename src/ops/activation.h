/* Activations by the names that attributes have for them: of fused products and convolutions, of
 * channels-last operators, of recurrent layers. */
#ifndef HN_ACTIVATION_H
#define HN_ACTIVATION_H

#include "base/base.h"

/* In the order of activations.def. */
typedef enum hn_activation_id {
#define HN_ACTIVATION(name, n_params, attr_a, a, attr_b, b, is_limit, users) HN_ACT_##name,
#include "ops/activations.def"
#undef HN_ACTIVATION
    HN_N_ACTIVATIONS
} hn_activation_id;

/* Who may have an activation, as a set of bits. */
typedef enum hn_activation_users {
    HN_ACT_ATTRIBUTE = 0,  /* evaluations know it, no rewrite makes it */
    HN_ACT_FUSED_CONV = 1, /* ms.FusedConv */
    HN_ACT_FUSED_GEMM = 2, /* ms.FusedGemm */
    HN_ACT_NHWC = 4,       /* channels-last convolutions and normalizations */
    HN_ACT_RNN = 8         /* RNN, GRU and LSTM, whose names may have other cases */
} hn_activation_users;

typedef struct hn_activation_row {
    const char *name; /* of the operator and of its function in unary.def */
    uint32_t n_params;
    const char *params[2]; /* attributes of the operator; NULL: none */
    double defaults[2];    /* of the parameters, or what they always are */
    bool is_limit;         /* the parameters are the least and the largest result */
    unsigned users;
} hn_activation_row;

const hn_activation_row *hn_activation_at(hn_activation_id id);
/* By its name; NULL: it is unknown. */
const hn_activation_row *hn_activation_find(hn_bytes name);
/* The same in any case, for recurrent layers; false: they do not have it. */
bool hn_activation_find_rnn(hn_bytes name, hn_activation_id *id);

#endif /* HN_ACTIVATION_H */
