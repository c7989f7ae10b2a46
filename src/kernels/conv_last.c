/* Channels-last convolutions: which method, and the calls of each. */
#include "kernels/conv_last.h"

hn_conv_last_method hn_conv_last_choose(const hn_conv_last_job *job) {
    (void)job;
    return HN_CONV_LAST_PRODUCT;
}

int64_t hn_conv_last_packed_elems(const hn_conv_last_job *job) {
    (void)job;
    return 0;
}

void hn_conv_last_pack(const hn_conv_last_job *job, float *out) {
    (void)job;
    (void)out;
}

int64_t hn_conv_last_scratch_elems(const hn_conv_last_job *job, int n_threads) {
    (void)job;
    (void)n_threads;
    return 0;
}

void hn_conv_last_f32(hn_pool *pool, const hn_conv_last_job *job) {
    hn_conv_last_plain_f32(pool, job);
}
