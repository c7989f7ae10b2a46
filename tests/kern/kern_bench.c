/* How fast the kernels are, beside what the processor could do. */
#include "kern/kern.h"

#include <math.h>
#include <stdio.h>

#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/rows/row_loops.h"

static double seconds(void) {
    return (double)hn_now_ns() * 1e-9;
}

/* ---- rows of the table ---- */

static double best_seconds(const kern_run *run, hn_pool *pool) {
    double best = 1e9, began = seconds();
    for (int i = 0; i < 5 || (i < 1000 && seconds() - began < 0.3); i++) {
        double start = seconds();
        run->fn(pool, run->job);
        best = HN_MIN(best, seconds() - start);
    }
    return best;
}

/* The best of many: other programs only ever make it slower. */
void kern_time(const char *name, const kern_run *run) {
    double best = best_seconds(run, NULL), rate = run->flops / best * 1e-9;
    printf("%-40s %9.1f us %8.1f %s", name, best * 1e6, rate, run->is_int ? "GOP/s" : "GFLOP/s");
    if (!run->is_int) {
        double peak = kern_peak_gflops();
        printf(" %5.1f %% of %.0f", 100 * rate / peak, peak);
    }
    if (run->with_two)
        printf(", two threads %.2f x", best / best_seconds(run, kern_pool(1)));
    putchar('\n');
    fflush(stdout);
}

static void run_conv(hn_pool *pool, const void *job) {
    hn_conv_f32(pool, job);
}

static void bench_conv(int64_t channels, int64_t size, int64_t filters, int64_t kernel,
                       int64_t stride, int64_t groups) {
    char name[64];
    int64_t out = (size + 2 * (kernel / 2) - kernel) / stride + 1;
    hn_window s = {.n_axes = 2,
                   .in_elems = size * size,
                   .out_elems = out * out,
                   .kernel_elems = kernel * kernel};
    for (int a = 0; a < 2; a++) {
        s.in[a] = size;
        s.out[a] = out;
        s.kernel[a] = kernel;
        s.stride[a] = stride;
        s.dilation[a] = 1;
        s.pad[a] = kernel / 2;
    }
    int64_t depth = channels / groups * kernel * kernel;
    hn_conv_job_f32 job = {.window = &s,
                           .batch = 1,
                           .channels = channels,
                           .filters = filters,
                           .groups = groups,
                           .x = kern_floats(channels * size * size),
                           .w = kern_floats(filters * depth),
                           .bias = kern_floats(filters),
                           .y = kern_floats(filters * out * out)};
    int64_t packed = hn_conv_packed_elems_f32(&job);
    float *room = kern_floats(packed);
    if (packed) {
        hn_conv_pack_f32(&job, room);
        job.packed_w = room;
    }
    snprintf(name, sizeof name, "conv %dx%dx%d -> %d, %dx%d /%d%s", (int)channels, (int)size,
             (int)size, (int)filters, (int)kernel, (int)kernel, (int)stride,
             groups > 1 ? " depthwise" : "");
    kern_time(name, &(kern_run){.fn = run_conv,
                                .job = &job,
                                .flops = 2.0 * (double)(filters * out * out * depth)});
    kern_release();
}

static void run_attention(hn_pool *pool, const void *job) {
    hn_attention_f32(pool, job);
}

/* One batch, heads side by side, as many keys as queries. */
static void bench_attention(int64_t heads, int64_t n, int64_t size, bool causal, bool masked) {
    char name[64];
    hn_head_steps step = {heads * n * size, size, heads * size};
    hn_key_reach reach = {n, 0};
    hn_attention_job_f32 job = {.batch = 1,
                                .n_heads = heads,
                                .n_kv_heads = heads,
                                .n_queries = n,
                                .key_size = size,
                                .value_size = size,
                                .reach = &reach,
                                .left = HN_REACH_ALL,
                                .right = causal ? 0 : HN_REACH_ALL,
                                .unseen = -HUGE_VALF,
                                .q = kern_floats(step.batch),
                                .k = kern_floats(step.batch),
                                .v = kern_floats(step.batch),
                                .out = kern_floats(step.batch),
                                .q_step = step,
                                .k_step = step,
                                .v_step = step,
                                .out_step = step,
                                .scale = 1};
    if (masked)
        job.mask = (hn_score_mask_f32){kern_floats(n * n), 0, 0, n};
    job.scratch = kern_floats(hn_attention_scratch_elems_f32(&job));
    snprintf(name, sizeof name, "attention %d heads of %d, %d%s%s", (int)heads, (int)size, (int)n,
             causal ? " causal" : "", masked ? " masked" : "");
    double flops = 4.0 * (double)(heads * n * n * size) / (causal ? 2 : 1);
    kern_time(name, &(kern_run){.fn = run_attention, .job = &job, .flops = flops});
    kern_release();
}

static void bench_attentions(void) {
    if (!hn_attention_fits_f32(64))
        return;
    bench_attention(12, 128, 64, false, false);
    bench_attention(12, 128, 64, false, true);
    bench_attention(12, 197, 64, false, false);
    bench_attention(12, 512, 64, false, false);
    bench_attention(12, 512, 64, false, true);
    bench_attention(12, 512, 64, true, false);
    bench_attention(12, 128, 32, false, false);
    bench_attention(12, 512, 32, false, false);
    bench_attention(16, 512, 64, false, false);
    bench_attention(8, 512, 128, false, false);
}

void kern_bench(void) {
    bench_attentions();
    kern_bench_gemm();
    kern_bench_gemm_int8();
    kern_bench_conv_int8();
    kern_bench_gemm_nbits();
    bench_conv(256, 56, 64, 1, 1, 1);
    bench_conv(64, 56, 256, 1, 1, 1);
    bench_conv(1024, 14, 256, 1, 1, 1);
    bench_conv(2048, 7, 512, 1, 1, 1);
    bench_conv(256, 56, 512, 1, 2, 1);
    bench_conv(64, 56, 64, 3, 1, 1);
    bench_conv(128, 28, 128, 3, 1, 1);
    bench_conv(256, 14, 256, 3, 1, 1);
    bench_conv(512, 7, 512, 3, 1, 1);
    bench_conv(128, 56, 128, 3, 2, 1);
    bench_conv(3, 224, 64, 7, 2, 1);
    bench_conv(3, 224, 32, 3, 2, 1);
    bench_conv(96, 112, 96, 3, 2, 96);
    bench_conv(144, 56, 144, 3, 1, 144);
    bench_conv(384, 14, 384, 3, 1, 384);
    bench_conv(960, 7, 960, 3, 1, 960);
    kern_bench_conv_nhwc();
    kern_bench_conv_chain();
    kern_bench_move();
}
