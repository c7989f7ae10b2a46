/* Rows of channels, and transposed convolutions of them, against sums in double. */
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernels/conv_nhwc/conv_transpose_nhwc.h"
#include "cpu/kernels/rows/rows_nhwc.h"

/* ---- scales ---- */

static void add_one(const float *xs, float *ys, uint64_t n, float a, float b) {
    for (uint64_t i = 0; i < n; i++)
        ys[i] = xs[i] * a + b;
}

static void check_scale(int64_t n_rows, int64_t channels, bool in_place, bool has_unary) {
    int64_t n = n_rows * channels;
    float *x = kern_floats(n), *y = in_place ? x : kern_floats(n), *kept = kern_floats(n);
    hn_scale_rows_job job = {.x_step = channels,
                             .y_step = channels,
                             .n_rows = n_rows,
                             .channels = channels,
                             .x = x,
                             .center = kern_floats(channels),
                             .scale = kern_floats(channels),
                             .shift = kern_floats(channels),
                             .y = y,
                             .epilogue = {.unary = has_unary ? add_one : NULL, .a = 2, .b = 1}};
    memcpy(kept, x, (size_t)n * sizeof *x);
    hn_scale_rows_f32(kern_pool(1), &job);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i % channels;
        double want = ((double)kept[i] - job.center[k]) * job.scale[k] + job.shift[k];
        want = has_unary ? want * 2 + 1 : want;
        KERN_CHECK(fabs(y[i] - want) <= 32 * KERN_EPS, "scale of %d x %d: element %d is %g, not %g",
                   (int)n_rows, (int)channels, (int)i, (double)y[i], want);
    }
    kern_release();
}

/* ---- moments ---- */

/* Numbers that are all the same have that mean, and no variance. */
static void check_same_rows(int64_t n_rows, int64_t channels) {
    float *x = kern_floats(n_rows * channels);
    double *mean = malloc((size_t)channels * sizeof *mean),
           *variance = malloc((size_t)channels * sizeof *variance);
    hn_moments_rows_job job = {.n_rows = n_rows,
                               .x_step = channels,
                               .channels = channels,
                               .x = x,
                               .mean = mean,
                               .variance = variance,
                               .scratch =
                                   kern_floats(hn_moments_rows_scratch_elems(n_rows, channels))};
    for (int64_t i = channels; i < n_rows * channels; i++)
        x[i] = x[i % channels];
    hn_moments_rows_f32(kern_pool(1), &job);
    for (int64_t k = 0; k < channels; k++)
        KERN_CHECK((float)mean[k] == x[k] && variance[k] < 1e-14,
                   "channel %d is %g everywhere, not %g with variance %g", (int)k, (double)x[k],
                   mean[k], variance[k]);
    free(mean);
    free(variance);
    kern_release();
}

/* The variance of numbers far from 0 is still that of their distances. */
static void check_moments(int64_t n_rows, int64_t channels, float offset) {
    int64_t n = n_rows * channels;
    float *x = kern_floats(n);
    double *mean = malloc((size_t)channels * sizeof *mean),
           *variance = malloc((size_t)channels * sizeof *variance);
    double *first = malloc((size_t)channels * sizeof *first);
    for (int64_t i = 0; i < n; i++)
        x[i] += offset;
    hn_moments_rows_job job = {.n_rows = n_rows,
                               .x_step = channels,
                               .channels = channels,
                               .x = x,
                               .mean = mean,
                               .variance = variance,
                               .scratch =
                                   kern_floats(hn_moments_rows_scratch_elems(n_rows, channels))};
    for (int i = 0; i < KERN_POOLS; i++) {
        hn_moments_rows_f32(kern_pool(i), &job);
        if (i == 0)
            memcpy(first, variance, (size_t)channels * sizeof *first);
        KERN_CHECK(memcmp(first, variance, (size_t)channels * sizeof *first) == 0,
                   "moments of %d x %d depend on threads", (int)n_rows, (int)channels);
    }
    for (int64_t k = 0; k < channels; k++) {
        double sum = 0, spread = 0;
        for (int64_t row = 0; row < n_rows; row++)
            sum += (double)x[row * channels + k] / (double)n_rows;
        for (int64_t row = 0; row < n_rows; row++) {
            double d = (double)x[row * channels + k] - sum;
            spread += d * d / (double)n_rows;
        }
        double size = 1 + fabs((double)offset);
        KERN_CHECK(fabs(mean[k] - sum) <= 32 * KERN_EPS * size &&
                       fabs(variance[k] - spread) <= 128 * KERN_EPS * size,
                   "moments of %d x %d: channel %d has %g and %g, not %g and %g", (int)n_rows,
                   (int)channels, (int)k, mean[k], variance[k], sum, spread);
    }
    free(mean);
    free(variance);
    free(first);
    kern_release();
}

void kern_test_rows_nhwc(void) {
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 200};
    static const int64_t rows[] = {1, 2, 5, 67, 300};
    for (size_t i = 0; i < HN_COUNT(sizes); i++)
        for (size_t k = 0; k < HN_COUNT(rows); k++) {
            check_scale(rows[k], sizes[i], k % 2 == 0, i % 2 == 0);
            check_moments(rows[k], sizes[i], i % 3 == 0 ? 100 : 0);
        }
    check_moments(5, 9000, 0);
    check_same_rows(12, 3);
    check_same_rows(1000, 37);
    check_scale(0, 16, false, false);
}

/* ---- transposed convolutions ---- */

/* Each position adds its window to the image. */
static void add_windows(const hn_conv_transpose_nhwc_job *job, double *image, double *size) {
    const hn_window *s = job->window;
    for (int64_t p = 0; p < s->out_elems; p++)
        for (int64_t tap = 0; tap < s->kernel_elems; tap++) {
            int64_t at = kern_window_at(s, p, tap);
            for (int64_t f = 0; at >= 0 && f < job->filters; f++)
                for (int64_t c = 0; c < job->channels; c++) {
                    double product = (double)job->x[p * job->channels + c] *
                                     job->w[(c * job->filters + f) * s->kernel_elems + tap];
                    image[at * job->filters + f] += product;
                    size[at * job->filters + f] += fabs(product);
                }
        }
}

static void check_image(hn_conv_transpose_nhwc_job *job, const float *y, size_t index) {
    int64_t n = job->window->in_elems * job->filters;
    double *image = calloc((size_t)n + 1, sizeof *image),
           *size = calloc((size_t)n + 1, sizeof *size);
    add_windows(job, image, size);
    for (int64_t i = 0; i < n; i++) {
        double want = image[i] + (job->bias ? (double)job->bias[i % job->filters] : 0);
        double bound = (double)(job->channels * job->window->kernel_elems + 8) * KERN_EPS;
        KERN_CHECK(fabs(y[i] - want) <= bound * (size[i] + 1),
                   "transposed convolution %zu: element %d is %g, not %g", index, (int)i,
                   (double)y[i], want);
    }
    free(image);
    free(size);
}

/* The image of the case is what windows lie on, its windows are the positions. */
static void check_transposed(const kern_conv_case *t, size_t index, bool is_packed, bool has_bias) {
    hn_window s = kern_window(t);
    hn_conv_transpose_nhwc_job job = {
        .window = &s, .batch = t->batch, .channels = t->channels, .filters = t->filters};
    int64_t n_in = s.out_elems * t->channels, n_out = s.in_elems * t->filters;
    float *y = kern_floats(t->batch * n_out);
    const float *x = kern_floats(t->batch * n_in);
    job.w = kern_floats(t->channels * t->filters * s.kernel_elems);
    job.bias = has_bias ? kern_floats(t->filters) : NULL;
    int64_t n_packed = hn_conv_transpose_nhwc_packed_elems(&job);
    if (is_packed && n_packed > 0) {
        float *packed = kern_floats(n_packed);
        hn_conv_transpose_nhwc_pack(&job, packed);
        job.packed_w = packed;
    }
    job.scratch = kern_floats(hn_conv_transpose_nhwc_scratch_elems(&job));
    for (int i = 0; i < KERN_POOLS; i++) {
        job.x = x;
        job.y = y;
        memset(y, 0x7f, (size_t)(t->batch * n_out) * sizeof *y);
        hn_conv_transpose_nhwc_f32(kern_pool(i), &job);
        for (int64_t b = 0; b < t->batch; b++) {
            job.x = x + b * n_in;
            check_image(&job, y + b * n_out, index);
        }
    }
    kern_release();
}

void kern_test_conv_transpose_nhwc(void) {
    static const kern_conv_case cases[] = {
        {2, {8, 6}, {2, 2}, {2, 2}, {1, 1}, {{0}, {0}}, 2, 5, 7, 1},
        {1, {12}, {3}, {3}, {1}, {{0}, {0}}, 1, 17, 33, 1},
        {2, {13, 9}, {2, 3}, {3, 2}, {1, 1}, {{0, 1}, {0, 1}}, 1, 4, 3, 1},
    };
    for (size_t i = 0; i < HN_COUNT(cases); i++)
        for (int form = 0; form < 4; form++)
            check_transposed(&cases[i], i, form & 1, form & 2);
    for (size_t i = 0; i < KERN_CONV_CASES; i++)
        if (kern_conv_cases[i].groups == 1 && kern_conv_cases[i].channels < 80)
            check_transposed(&kern_conv_cases[i], i, i & 1, i & 2);
    for (int i = 0; i < 60; i++) {
        kern_conv_case t = kern_random_case();
        if (t.groups == 1)
            check_transposed(&t, 1000 + (size_t)i, i & 1, i & 2);
    }
}
