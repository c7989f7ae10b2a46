/* Chains of 1x1, depthwise and 1x1 convolutions as networks have them: one by one, and together. */
#include "kern/kern.h"

#include <stdio.h>

#include "cpu/kernels/conv_chain/conv_chain.h"

typedef struct chain_row {
    int64_t batch, size, channels, between, kernel, stride, filters;
} chain_row;

static const chain_row chain_rows_timed[] = {
    {1, 112, 16, 64, 3, 2, 24},  {1, 112, 16, 96, 3, 2, 24}, {1, 56, 24, 72, 3, 1, 24},
    {1, 56, 24, 144, 3, 1, 24},  {1, 56, 24, 144, 5, 2, 40}, {1, 28, 32, 192, 3, 1, 32},
    {1, 14, 64, 384, 3, 1, 64},  {8, 28, 32, 192, 3, 1, 32}, {8, 14, 64, 384, 3, 1, 64},
    {8, 7, 160, 960, 3, 1, 160},
};

typedef struct timed_chain {
    hn_window windows[3];
    hn_conv_nhwc_job stages[3];
    hn_conv_chain chain;
    double flops;
} timed_chain;

static void add_timed_stage(timed_chain *t, int i, const hn_conv_nhwc_job *sizes, int64_t in,
                            int64_t kernel, int64_t stride) {
    int64_t pad = kernel / 2, out = (in + 2 * pad - kernel) / stride + 1;
    hn_conv_nhwc_job *job = &t->stages[i];
    t->windows[i] = (hn_window){.n_axes = 2,
                                .in = {in, in},
                                .out = {out, out},
                                .kernel = {kernel, kernel},
                                .stride = {stride, stride},
                                .dilation = {1, 1},
                                .pad = {pad, pad},
                                .in_elems = in * in,
                                .out_elems = out * out,
                                .kernel_elems = kernel * kernel};
    *job = *sizes;
    job->window = &t->windows[i];
    job->method = hn_conv_nhwc_choose(job);
    int64_t depth = job->channels / job->groups * kernel * kernel;
    job->w = kern_floats(job->filters * depth);
    job->x = i > 0 ? t->stages[i - 1].y : kern_floats(job->batch * in * in * job->channels);
    job->y = kern_floats(job->batch * out * out * job->filters);
    job->epilogue.col_bias = kern_floats(job->filters);
    float *room = kern_floats(hn_conv_nhwc_packed_elems(job));
    hn_conv_nhwc_pack(job, room);
    job->packed_w = room;
    t->flops += 2.0 * (double)(job->batch * out * out * job->filters * depth);
}

static void run_one_by_one(hn_pool *pool, const void *job) {
    const timed_chain *t = job;
    for (int i = 0; i < t->chain.n_stages; i++)
        hn_conv_nhwc_f32(pool, &t->stages[i]);
}

static void run_together(hn_pool *pool, const void *job) {
    hn_conv_chain_f32(pool, &((const timed_chain *)job)->chain);
}

static void bench_chain(const chain_row *r) {
    char name[80];
    hn_conv_nhwc_job sizes = {.batch = r->batch,
                              .channels = r->channels,
                              .filters = r->between,
                              .groups = 1,
                              .epilogue = {.is_limited = true, .most = 6}};
    timed_chain t = {.chain = {.n_stages = 3, .stages = t.stages}};
    add_timed_stage(&t, 0, &sizes, r->size, 1, 1);
    sizes.channels = sizes.groups = r->between;
    add_timed_stage(&t, 1, &sizes, r->size, r->kernel, r->stride);
    sizes.groups = 1;
    sizes.filters = r->filters;
    sizes.epilogue.is_limited = false;
    add_timed_stage(&t, 2, &sizes, t.windows[1].out[0], 1, 1);
    t.chain.scratch = kern_floats(hn_conv_chain_scratch_elems(&t.chain, 2));
    for (int together = 0; together < 2 && hn_conv_chain_can(&t.chain); together++) {
        snprintf(name, sizeof name, "%s %d x %dx%d of %d -> %d, %dx%d /%d -> %d",
                 together ? "chain" : "alone", (int)r->batch, (int)r->size, (int)r->size,
                 (int)r->channels, (int)r->between, (int)r->kernel, (int)r->kernel, (int)r->stride,
                 (int)r->filters);
        kern_time(name, &(kern_run){.fn = together ? run_together : run_one_by_one,
                                    .job = &t,
                                    .flops = t.flops,
                                    .with_two = true});
    }
    kern_release();
}

void kern_bench_conv_chain(void) {
    for (size_t i = 0; i < HN_COUNT(chain_rows_timed); i++)
        bench_chain(&chain_rows_timed[i]);
}
