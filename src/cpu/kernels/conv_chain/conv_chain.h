/* Consecutive channels-last convolutions of which nobody else reads the intermediate maps: their
 * rows are computed shortly before they are read, and never leave the second cache. */
#ifndef HN_CONV_CHAIN_H
#define HN_CONV_CHAIN_H

#include "cpu/kernels/conv_nhwc/conv_nhwc.h"

#define HN_CONV_CHAIN_MOST 3

/* Each stage reads what the one before it makes, over two spatial axes: sizes fit together. The
 * first may have an axis before them along which its windows cover everything. Of the jobs x of the
 * first and y of the last count, of all filters, sizes, steps and epilogue; a residual has the
 * shape of the stage's output. */
typedef struct hn_conv_chain {
    int n_stages; /* 1 to HN_CONV_CHAIN_MOST */
    const hn_conv_nhwc_job *stages;
    float *scratch; /* hn_conv_chain_scratch_elems floats */
} hn_conv_chain;

/* Whether rows of all stages can be made on this processor: filters were packed for a method that
 * makes some rows of a map like all of them. */
bool hn_conv_chain_can(const hn_conv_chain *chain);
/* Whether it is faster than one stage after the other, by sizes and threads. */
bool hn_conv_chain_pays(const hn_conv_chain *chain, int n_threads);
int64_t hn_conv_chain_scratch_elems(const hn_conv_chain *chain, int n_threads);
/* The same bytes as the stages one by one by hn_conv_nhwc_f32, for any number of threads. Neither
 * x, filters, residuals nor scratch memory overlap y. */
void hn_conv_chain_f32(hn_pool *pool, const hn_conv_chain *chain);

#endif /* HN_CONV_CHAIN_H */
