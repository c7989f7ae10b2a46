/* Channels-last convolutions as networks have them: what a product needs, and the method that is
 * chosen where it is another one; with two threads as well. */
#include "kern/kern.h"

#include <stdio.h>

#include "cpu/kernels/conv_nhwc/conv_nhwc.h"

typedef struct conv_row {
    int64_t channels, size, filters, kernel[2], stride, groups;
} conv_row;

static const conv_row conv_rows[] = {
    /* first layers */
    {3, 224, 64, {7, 7}, 2, 1},
    {3, 224, 32, {3, 3}, 2, 1},
    {3, 224, 96, {4, 4}, 4, 1},
    /* 1 x 1: ResNet, MobileNet, DenseNet, Inception, ConvNeXt */
    {64, 56, 64, {1, 1}, 1, 1},
    {64, 56, 256, {1, 1}, 1, 1},
    {256, 56, 64, {1, 1}, 1, 1},
    {512, 28, 128, {1, 1}, 1, 1},
    {128, 28, 512, {1, 1}, 1, 1},
    {1024, 14, 256, {1, 1}, 1, 1},
    {256, 14, 1024, {1, 1}, 1, 1},
    {2048, 7, 512, {1, 1}, 1, 1},
    {512, 7, 2048, {1, 1}, 1, 1},
    {256, 56, 512, {1, 1}, 2, 1},
    {1024, 14, 2048, {1, 1}, 2, 1},
    {32, 112, 16, {1, 1}, 1, 1},
    {16, 112, 96, {1, 1}, 1, 1},
    {144, 56, 24, {1, 1}, 1, 1},
    {120, 28, 40, {1, 1}, 1, 1},
    {80, 14, 200, {1, 1}, 1, 1},
    {672, 14, 112, {1, 1}, 1, 1},
    {160, 7, 960, {1, 1}, 1, 1},
    {512, 28, 128, {1, 1}, 1, 1},
    {192, 35, 64, {1, 1}, 1, 1},
    {96, 56, 384, {1, 1}, 1, 1},
    {960, 1, 240, {1, 1}, 1, 1},
    /* larger windows */
    {64, 56, 64, {3, 3}, 1, 1},
    {128, 28, 128, {3, 3}, 1, 1},
    {256, 14, 256, {3, 3}, 1, 1},
    {512, 7, 512, {3, 3}, 1, 1},
    {64, 13, 256, {3, 3}, 1, 1},
    {128, 28, 32, {3, 3}, 1, 1},
    {128, 56, 128, {3, 3}, 2, 1},
    {512, 14, 512, {3, 3}, 2, 1},
    {48, 35, 64, {5, 5}, 1, 1},
    {192, 17, 192, {1, 7}, 1, 1},
    {192, 17, 192, {7, 1}, 1, 1},
    {96, 56, 192, {2, 2}, 2, 1},
    /* groups: ResNeXt, RegNet */
    {128, 56, 128, {3, 3}, 1, 32},
    {256, 28, 256, {3, 3}, 1, 32},
    {512, 14, 512, {3, 3}, 1, 32},
    {1024, 7, 1024, {3, 3}, 1, 32},
    {240, 28, 240, {3, 3}, 1, 10},
    /* one channel per filter: MobileNet, EfficientNet, ConvNeXt */
    {32, 112, 32, {3, 3}, 1, 32},
    {96, 112, 96, {3, 3}, 2, 96},
    {144, 56, 144, {3, 3}, 1, 144},
    {192, 28, 192, {3, 3}, 1, 192},
    {384, 14, 384, {3, 3}, 1, 384},
    {576, 14, 576, {3, 3}, 2, 576},
    {960, 7, 960, {3, 3}, 1, 960},
    {120, 28, 120, {5, 5}, 1, 120},
    {480, 14, 480, {5, 5}, 1, 480},
    {672, 14, 672, {5, 5}, 2, 672},
    {1152, 7, 1152, {5, 5}, 1, 1152},
    {384, 14, 384, {7, 7}, 1, 384},
};

static hn_window row_window(const conv_row *t) {
    hn_window s = {.n_axes = 2, .in_elems = 1, .out_elems = 1, .kernel_elems = 1};
    for (int a = 0; a < 2; a++) {
        s.in[a] = t->size;
        s.kernel[a] = t->kernel[a];
        s.stride[a] = t->stride;
        s.dilation[a] = 1;
        s.pad[a] = t->kernel[a] % 2 ? t->kernel[a] / 2 : 0;
        s.out[a] = (t->size + 2 * s.pad[a] - t->kernel[a]) / t->stride + 1;
        s.in_elems *= s.in[a];
        s.out_elems *= s.out[a];
        s.kernel_elems *= s.kernel[a];
    }
    return s;
}

static void run_conv_nhwc(hn_pool *pool, const void *job) {
    hn_conv_nhwc_f32(pool, job);
}

static void bench_method(const conv_row *t, hn_conv_nhwc_job *job, const char *method) {
    char name[80];
    const hn_window *s = job->window;
    int64_t depth = t->channels / t->groups * s->kernel_elems;
    float *room = kern_floats(hn_conv_nhwc_packed_elems(job));
    hn_conv_nhwc_pack(job, room);
    job->packed_w = room;
    job->scratch = kern_floats(hn_conv_nhwc_scratch_elems(job, 2));
    snprintf(name, sizeof name, "%s %dx%d of %d -> %d, %dx%d /%d g%d", method, (int)t->size,
             (int)t->size, (int)t->channels, (int)t->filters, (int)t->kernel[0], (int)t->kernel[1],
             (int)t->stride, (int)t->groups);
    kern_time(name, &(kern_run){.fn = run_conv_nhwc,
                                .job = job,
                                .flops = 2.0 * (double)(t->filters * s->out_elems * depth),
                                .with_two = true});
}

static void bench_conv_row(const conv_row *t) {
    hn_window s = row_window(t);
    hn_epilogue_f32 epilogue = {.col_bias = kern_floats(t->filters), .is_limited = true, .most = 6};
    hn_conv_nhwc_job job = {
        .window = &s,
        .batch = 1,
        .channels = t->channels,
        .filters = t->filters,
        .groups = t->groups,
        .x = kern_floats(t->channels * s.in_elems),
        .w = kern_floats(t->filters * (t->channels / t->groups) * s.kernel_elems),
        .y = kern_floats(t->filters * s.out_elems),
        .epilogue = epilogue};
    if (t->channels != t->groups)
        bench_method(t, &job, "product");
    job.method = hn_conv_nhwc_choose(&job);
    if (job.method != HN_CONV_NHWC_PRODUCT)
        bench_method(t, &job, "chosen ");
    kern_release();
}

void kern_bench_conv_nhwc(void) {
    kern_at_start = true; /* no vector reaches into a page that cannot be touched */
    for (size_t i = 0; i < HN_COUNT(conv_rows); i++)
        bench_conv_row(&conv_rows[i]);
}
