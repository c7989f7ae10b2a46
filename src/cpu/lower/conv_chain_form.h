/* The convolutions of a ConvChain (ops_cpu.def), two or three of them. Attributes are lists of what
 * each stage has, concatenated. */
#ifndef HN_CONV_CHAIN_FORM_H
#define HN_CONV_CHAIN_FORM_H

#include "cpu/kernels/conv_chain/conv_chain.h"
#include "ops/infer/spatial.h"

/* Inputs: X, then filters and bias of each stage, then what is added to the last one's result. */
enum { HN_CHAIN_AXES = 2, HN_CHAIN_Z = 1 + 2 * HN_CONV_CHAIN_MOST };
static inline uint32_t hn_chain_filters(int stage) {
    return 1 + 2 * (uint32_t)stage;
}
static inline uint32_t hn_chain_bias(int stage) {
    return 2 + 2 * (uint32_t)stage;
}

typedef struct hn_chain_stage {
    int64_t group;
    hn_window_attrs window; /* kernel sizes are those of the weights, unknown where these are */
    hn_bytes activation;    /* empty: none */
    uint32_t n_params;
    const float *params;
} hn_chain_stage;

int hn_chain_n_stages(const hn_infer *c);
/* Is X [N, C, H, W]? */
bool hn_chain_reads_nchw(const hn_infer *c);
/* False: a list is missing or too short. */
bool hn_chain_stage_read(const hn_infer *c, int stage, hn_chain_stage *out);

#endif /* HN_CONV_CHAIN_FORM_H */
