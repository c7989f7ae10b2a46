/* Convolutions and pools against sums over all windows. */
#include "kern/kern.h"

#include <math.h>

#include "cpu/kernels/conv/conv_form.h"
#include "cpu/kernels/conv/conv_int.h"

static double conv_exact(const hn_conv_job_f32 *job, int64_t plane, int64_t out, double *size) {
    const hn_window *s = job->window;
    int64_t channels = job->channels / job->groups, per_group = job->filters / job->groups;
    int64_t filter = plane % job->filters, group = filter / per_group;
    int64_t first = plane / job->filters * job->channels + group * channels;
    double sum = job->bias ? job->bias[filter] : 0;
    *size = fabs(sum);
    for (int64_t c = 0; c < channels; c++)
        for (int64_t t = 0; t < s->kernel_elems; t++) {
            int64_t at = kern_window_at(s, out, t);
            double product = at < 0 ? 0
                                    : (double)job->x[(first + c) * s->in_elems + at] *
                                          job->w[(filter * channels + c) * s->kernel_elems + t];
            sum += product;
            *size += fabs(product);
        }
    return sum;
}

static void check_outputs(const hn_conv_job_f32 *job, size_t index) {
    int64_t depth = job->channels / job->groups * job->window->kernel_elems;
    for (int64_t i = 0; i < job->batch * job->filters * job->window->out_elems; i++) {
        double size,
            sum = conv_exact(job, i / job->window->out_elems, i % job->window->out_elems, &size);
        kern_epilogue_exact(job->epilogue, i, &sum, &size);
        KERN_CHECK(fabs(job->y[i] - sum) <= (double)(depth + 8) * KERN_EPS * size,
                   "convolution %zu: element %d is %g, not %g", index, (int)i, (double)job->y[i],
                   sum);
    }
}

static void check_conv(const kern_conv_case *t, size_t index, int form) {
    if (kern_leaves_out())
        return;
    hn_window s = kern_window(t);
    int64_t channels = t->channels / t->groups, n_out = t->batch * t->filters * s.out_elems;
    hn_conv_job_f32 job = {.window = &s,
                           .batch = t->batch,
                           .channels = t->channels,
                           .filters = t->filters,
                           .groups = t->groups,
                           .x = kern_floats(t->batch * t->channels * s.in_elems),
                           .w = kern_floats(t->filters * channels * s.kernel_elems),
                           .bias = form & KERN_BIAS ? kern_floats(t->filters) : NULL};
    hn_epilogue_f32 epilogue = kern_epilogue(form, n_out);
    job.epilogue = form & (KERN_EPILOGUE & ~KERN_BIAS) ? &epilogue : NULL;
    int64_t packed = form & KERN_PACK ? hn_conv_packed_elems_f32(&job) : 0;
    float *first = NULL, *room = kern_floats(packed);
    if (packed > 0) {
        hn_conv_pack_f32(&job, room);
        job.packed_w = room;
    }
    for (int i = 0; i < KERN_POOLS; i++) {
        job.y = kern_floats(n_out);
        first = i ? first : job.y;
        hn_conv_f32(kern_pool(i), &job);
        KERN_CHECK(memcmp(job.y, first, (size_t)n_out * sizeof *first) == 0,
                   "convolution %zu differs with %d threads", index, i + 1);
    }
    check_outputs(&job, index);
    if (!job.epilogue) {
        hn_conv_plain_f32(kern_pool(1), &job);
        check_outputs(&job, index);
    }
    kern_release();
}

/* Small maps with all sorts of padding. */
void kern_test_conv_small(void) {
    int n_small = 0;
    for (size_t i = 0; i < 300; i++) {
        kern_conv_case t = kern_random_case();
        t.n_axes = HN_MIN(t.n_axes, 2);
        for (int32_t a = 0; a < t.n_axes; a++) {
            t.in[a] = kern_between(1, t.n_axes == 2 ? 7 : 60);
            t.stride[a] = 1;
        }
        hn_window s = kern_window(&t);
        hn_conv_job_f32 job = {
            .window = &s, .channels = t.channels, .filters = t.filters, .groups = t.groups};
        hn_conv_small_f32 small;
        n_small += hn_conv_small_pick() && s.out_elems > 0 && hn_conv_small_read(&job, &small);
        check_conv(&t, i, (int)kern_between(0, KERN_ALL_FORMS));
    }
    KERN_CHECK(!hn_conv_small_pick() || n_small > 100, "only %d maps were small", n_small);
}

/* One channel per filter along one axis: lines and windows that no band holds. */
static const kern_conv_case line_cases[] = {
    {1, {17000}, {15}, {1}, {1}, {{7}, {7}}, 1, 1, 1, 1},
    {1, {5001}, {301}, {3}, {1}, {{20}, {22}}, 1, 2, 4, 2},
    {1, {300}, {300}, {1}, {1}, {{0}, {0}}, 2, 1, 1, 1},
    {1, {9000}, {130}, {2}, {3}, {{400}, {5}}, 1, 1, 2, 1},
    {2, {1, 17100}, {1, 9}, {1, 16}, {1, 4}, {{0, 3}, {0, 0}}, 1, 2, 2, 2},
};

void kern_test_conv(void) {
    for (size_t i = 0; i < HN_COUNT(line_cases); i++) {
        check_conv(&line_cases[i], i, 0);
        check_conv(&line_cases[i], i, KERN_EPILOGUE);
    }
    for (size_t i = 0; i < KERN_CONV_CASES; i++) {
        check_conv(&kern_conv_cases[i], i, 0);
        check_conv(&kern_conv_cases[i], i, KERN_PACK);
        check_conv(&kern_conv_cases[i], i, (int)kern_between(1, KERN_ALL_FORMS));
    }
    for (size_t i = 0; i < 150; i++) {
        kern_conv_case t = kern_random_case();
        check_conv(&t, KERN_CONV_CASES + i, (int)kern_between(0, KERN_ALL_FORMS));
    }
}

/* ---- the largest of each window ---- */

static float most_exact(const hn_window *s, const float *plane, int64_t out) {
    float most = -HUGE_VALF;
    for (int64_t t = 0; t < s->kernel_elems; t++) {
        int64_t at = kern_window_at(s, out, t);
        if (at >= 0 && !(plane[at] <= most))
            most = isnan(most) ? most : plane[at];
    }
    return most;
}

static void check_pool_max(const kern_conv_case *t, size_t index) {
    if (kern_leaves_out())
        return;
    static const float odd_ones[] = {NAN, HUGE_VALF, -HUGE_VALF, -0.0f, 0.0f};
    hn_window s = kern_window(t);
    int64_t planes = t->batch * t->channels;
    float *x = kern_floats(planes * s.in_elems), *first = NULL;
    for (int64_t i = 0; i < planes * s.in_elems / 8; i++)
        x[kern_between(0, planes * s.in_elems - 1)] = odd_ones[kern_random() % HN_COUNT(odd_ones)];
    for (int p = 0; p < KERN_POOLS; p++) {
        float *y = kern_floats(planes * s.out_elems);
        if (!hn_pool_max_f32(kern_pool(p), &s, planes, x, y))
            break;
        for (int64_t i = 0; i < planes * s.out_elems; i++) {
            float most = most_exact(&s, x + i / s.out_elems * s.in_elems, i % s.out_elems);
            KERN_CHECK(y[i] == most || (isnan(y[i]) && isnan(most)),
                       "pool %zu: element %d is %g, not %g", index, (int)i, (double)y[i],
                       (double)most);
        }
        first = first ? first : y;
        KERN_CHECK(memcmp(y, first, (size_t)(planes * s.out_elems) * sizeof *y) == 0,
                   "pool %zu differs with %d threads", index, p + 1);
    }
    kern_release();
}

void kern_test_pool_max(void) {
    for (size_t i = 0; i < KERN_CONV_CASES; i++)
        check_pool_max(&kern_conv_cases[i], i);
    for (size_t i = 0; i < 100; i++) {
        kern_conv_case t = kern_random_case();
        check_pool_max(&t, KERN_CONV_CASES + i);
    }
}
