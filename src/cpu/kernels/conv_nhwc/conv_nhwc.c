/* Channels-last convolutions: which method, and the calls of each. */
#include "cpu/kernels/conv_nhwc/conv_nhwc_tile.h"

/* ---- methods --------------------------------------------------------------------------------- */

typedef struct conv_nhwc_way {
    const char *name;
    bool (*can)(const hn_conv_nhwc_job *job);
    int64_t (*packed_elems)(const hn_conv_nhwc_job *job);
    void (*pack)(const hn_conv_nhwc_job *job, float *out);
    void (*run)(hn_pool *pool, const hn_conv_nhwc_job *job);
    int64_t (*scratch_elems)(const hn_conv_nhwc_job *job, int n_threads);
} conv_nhwc_way;

/* Filters that were not packed ahead are packed in scratch memory. */
static int64_t no_scratch_but_filters(const hn_conv_nhwc_job *job, int n_threads) {
    (void)n_threads;
    return job->packed_w ? 0 : hn_conv_nhwc_packed_elems(job);
}

static int64_t product_scratch_elems(const hn_conv_nhwc_job *job, int n_threads) {
    return job->packed_w ? hn_im2col_nhwc_elems(job) : no_scratch_but_filters(job, n_threads);
}

static bool is_any_convolution(const hn_conv_nhwc_job *job) {
    (void)job;
    return true;
}

static bool has_group_per_channel(const hn_conv_nhwc_job *job) {
    return job->channels == job->groups;
}

static const conv_nhwc_way conv_nhwc_ways[] = {
    [HN_CONV_NHWC_PRODUCT] = {"product", is_any_convolution, hn_product_nhwc_packed_elems,
                              hn_product_nhwc_pack, hn_product_nhwc_f32, product_scratch_elems},
    [HN_CONV_NHWC_WINOGRAD] = {"winograd", hn_winograd_can, hn_winograd_packed_elems,
                               hn_winograd_pack, hn_winograd_f32, hn_winograd_scratch_elems},
    [HN_CONV_NHWC_DEPTHWISE] = {"depthwise", has_group_per_channel, hn_depthwise_nhwc_packed_elems,
                                hn_depthwise_nhwc_pack, hn_depthwise_nhwc_f32,
                                no_scratch_but_filters},
    /* Without a name: choices that are measured do not have it, for it computes something else. */
    [HN_CONV_NHWC_BF16] = {NULL, hn_bf16_nhwc_can, hn_bf16_nhwc_packed_elems, hn_bf16_nhwc_pack,
                           hn_bf16_nhwc_f32, no_scratch_but_filters},
};

bool hn_conv_nhwc_fits(const hn_conv_nhwc_job *job, hn_conv_nhwc_method method) {
    const conv_nhwc_way *way = &conv_nhwc_ways[method];
    return way->can(job) && way->packed_elems(job) > 0;
}

const char *hn_conv_nhwc_method_name(int method) {
    return (size_t)method < HN_COUNT(conv_nhwc_ways) ? conv_nhwc_ways[method].name : NULL;
}

hn_conv_nhwc_method hn_conv_nhwc_choose(const hn_conv_nhwc_job *job) {
    bool is_gray = job->channels == 1 && job->filters > 1; /* its vectors would have one element */
    return job->channels == job->groups && !is_gray ? HN_CONV_NHWC_DEPTHWISE
           : hn_winograd_fits(job)                  ? HN_CONV_NHWC_WINOGRAD
                                                    : HN_CONV_NHWC_PRODUCT;
}

int64_t hn_conv_nhwc_packed_elems(const hn_conv_nhwc_job *job) {
    return conv_nhwc_ways[job->method].packed_elems(job);
}

void hn_conv_nhwc_pack(const hn_conv_nhwc_job *job, float *out) {
    conv_nhwc_ways[job->method].pack(job, out);
}

int64_t hn_conv_nhwc_scratch_elems(const hn_conv_nhwc_job *job, int n_threads) {
    return conv_nhwc_ways[job->method].scratch_elems(job, n_threads);
}

void hn_conv_nhwc_f32(hn_pool *pool, const hn_conv_nhwc_job *job) {
    if (job->batch > 0 && job->window->out_elems > 0 && job->filters > 0)
        conv_nhwc_ways[job->method].run(pool, job);
}
