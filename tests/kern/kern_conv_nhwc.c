/* Channels-last convolutions against sums over all windows. */
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>

/* Besides those of kern_cases.c. */
static const kern_conv_case last_cases[] = {
    {1, {5}, {1}, {1}, {1}, {{0}, {0}}, 1, 700, 33, 1},
    {2, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {{0}, {0}}, 3, 1024, 65, 1},
    {2, {30, 41}, {1, 1}, {1, 1}, {1, 1}, {{0}, {0}}, 1, 4, 48, 1},
    {2, {5, 4}, {1, 1}, {1, 1}, {1, 1}, {{1, 0}, {1, 2}}, 1, 7, 16, 1},
    {2, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 130, 70, 1},
    {2, {12, 12}, {3, 3}, {1, 1}, {6, 6}, {{6, 6}, {6, 6}}, 1, 9, 20, 1},
    {2, {40, 1}, {9, 1}, {1, 1}, {1, 1}, {{4, 0}, {4, 0}}, 1, 24, 24, 1},
    {2, {3, 20}, {1, 7}, {1, 1}, {1, 1}, {{0, 3}, {0, 3}}, 1, 24, 24, 1},
    {2, {19, 18}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 32, 32, 8},
    {2, {19, 18}, {3, 3}, {2, 2}, {1, 1}, {{1, 1}, {1, 1}}, 2, 64, 64, 8},
    {2, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 72, 120, 3},
    {2, {9, 9}, {5, 5}, {1, 1}, {1, 1}, {{2, 2}, {2, 2}}, 1, 8, 24, 8},
    {2, {6, 6}, {2, 2}, {17, 1}, {1, 1}, {{0}, {0}}, 1, 4, 4, 1},
};

/* Output `pixel` of all images, before the epilogue. */
static double last_exact(const hn_conv_nhwc_job *job, int64_t pixel, int64_t filter, double *size) {
    const hn_window *s = job->window;
    int64_t channels = job->channels / job->groups, per_group = job->filters / job->groups;
    int64_t image = pixel / s->out_elems, first = filter / per_group * channels;
    double sum = job->epilogue.col_bias ? job->epilogue.col_bias[filter] : 0;
    *size = fabs(sum);
    for (int64_t t = 0; t < s->kernel_elems; t++) {
        int64_t at = kern_window_at(s, pixel % s->out_elems, t);
        for (int64_t c = 0; at >= 0 && c < channels; c++) {
            double x = job->x[(image * s->in_elems + at) * job->channels + first + c];
            double product = x * job->w[(filter * channels + c) * s->kernel_elems + t];
            sum += product;
            *size += fabs(product);
        }
    }
    return sum;
}

static void check_last_outputs(const hn_conv_nhwc_job *job, const char *what, size_t index) {
    int64_t depth = job->channels / job->groups * job->window->kernel_elems;
    for (int64_t i = 0; i < job->batch * job->filters * job->window->out_elems; i++) {
        double size, sum = last_exact(job, i / job->filters, i % job->filters, &size);
        kern_epilogue_exact(&job->epilogue, i, &sum, &size);
        KERN_CHECK(fabs(job->y[i] - sum) <= (double)(depth + 8) * KERN_EPS * size,
                   "%s convolution %zu: element %d is %g, not %g", what, index, (int)i,
                   (double)job->y[i], sum);
    }
}

static void check_conv_nhwc(const kern_conv_case *t, size_t index, int form) {
    if (kern_leaves_out())
        return;
    hn_window s = kern_window(t);
    int64_t n_out = t->batch * t->filters * s.out_elems;
    hn_epilogue_f32 epilogue = kern_epilogue(form, n_out);
    hn_conv_nhwc_job job = kern_conv_nhwc_job(t, &s, form, &epilogue);
    job.method = HN_CONV_NHWC_PRODUCT;
    int64_t packed = form & KERN_PACK ? hn_conv_nhwc_packed_elems(&job) : 0;
    float *first = NULL;
    if (packed > 0) {
        float *room = kern_floats(packed);
        hn_conv_nhwc_pack(&job, room);
        job.packed_w = room;
    }
    job.scratch = kern_floats(hn_conv_nhwc_scratch_elems(&job, KERN_POOLS));
    for (int i = 0; i < KERN_POOLS; i++) {
        job.y = kern_floats(n_out);
        first = i ? first : job.y;
        hn_conv_nhwc_f32(kern_pool(i), &job);
        KERN_CHECK(memcmp(job.y, first, (size_t)n_out * sizeof *first) == 0,
                   "channels-last convolution %zu differs with %d threads", index, i + 1);
    }
    check_last_outputs(&job, "fast", index);
    hn_conv_nhwc_plain_f32(kern_pool(1), &job);
    check_last_outputs(&job, "plain", index);
    kern_release();
}

/* What windows do not read does not matter, whatever it is; what they read is not lost. */
static void check_last_nan(void) {
    kern_conv_case t = {2, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 8, 40, 2};
    hn_window s = kern_window(&t);
    float *x = kern_floats(t.channels * s.in_elems), *w = kern_floats(t.filters * 4 * 9);
    hn_conv_nhwc_job job = {.window = &s, .batch = 1, .channels = 8, .filters = 40, .groups = 2};
    x[(4 * 8 + 4) * t.channels + 1] = NAN; /* pixel 4, 4, first group */
    x[6] = HUGE_VALF;                      /* pixel 0, 0, second group */
    job.x = x;
    job.w = w;
    job.y = kern_floats(t.filters * s.out_elems);
    job.scratch = kern_floats(hn_conv_nhwc_scratch_elems(&job, 1));
    hn_conv_nhwc_f32(NULL, &job);
    for (int64_t i = 0; i < s.out_elems * t.filters; i++) {
        int64_t line = i / t.filters / 8, column = i / t.filters % 8;
        bool is_first = i % t.filters < t.filters / 2;
        bool near_nan = llabs(line - 4) <= 1 && llabs(column - 4) <= 1 && is_first;
        bool near_inf = line <= 1 && column <= 1 && !is_first;
        KERN_CHECK(!isnan(job.y[i]) == !near_nan && !isinf(job.y[i]) == !near_inf,
                   "element %d is %g", (int)i, (double)job.y[i]);
    }
    kern_release();
}

static void check_last_forms(const kern_conv_case *t, size_t index) {
    check_conv_nhwc(t, index, 0);
    check_conv_nhwc(t, index, KERN_PACK);
    check_conv_nhwc(t, index, KERN_PACK | KERN_BIAS | KERN_RESIDUAL | KERN_LIMITS);
    check_conv_nhwc(t, index, (int)kern_between(1, KERN_ALL_FORMS));
}

void kern_test_conv_nhwc(void) {
    for (size_t i = 0; i < HN_COUNT(last_cases); i++)
        check_last_forms(&last_cases[i], i);
    for (size_t i = 0; i < KERN_CONV_CASES; i++)
        check_last_forms(&kern_conv_cases[i], 100 + i);
    for (size_t i = 0; i < 150; i++) {
        kern_conv_case t = kern_random_case();
        t.filters *= kern_between(1, 3);
        check_conv_nhwc(&t, 200 + i, (int)kern_between(0, KERN_ALL_FORMS));
    }
    check_last_nan();
}
