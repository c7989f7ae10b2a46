/* Depthwise convolutions and pools of channels-last floats against sums over all windows. */
#include "kern/kern.h"

#include <math.h>

#include "cpu/kernels/pool/pool_bytes.h"
#include "cpu/kernels/pool/pool_nhwc.h"

/* ---- one channel per filter ---- */

/* Channels around one and several vectors, windows with rows of their own and without. */
static const kern_conv_case depthwise_cases[] = {
    {2, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 48, 48, 48},
    {2, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 2, 17, 17, 17},
    {2, {29, 28}, {3, 3}, {2, 2}, {1, 1}, {{1, 1}, {1, 1}}, 1, 40, 40, 40},
    {2, {28, 29}, {3, 3}, {2, 2}, {1, 1}, {{0, 0}, {1, 1}}, 1, 16, 16, 16},
    {2, {7, 7}, {5, 5}, {1, 1}, {1, 1}, {{2, 2}, {2, 2}}, 1, 33, 33, 33},
    {2, {15, 22}, {5, 5}, {2, 2}, {1, 1}, {{1, 2}, {2, 1}}, 1, 24, 24, 24},
    {2, {15, 22}, {7, 7}, {1, 1}, {1, 1}, {{3, 3}, {3, 3}}, 1, 65, 65, 65},
    {2, {19, 22}, {7, 7}, {2, 2}, {1, 1}, {{3, 3}, {3, 3}}, 1, 31, 31, 31},
    {2, {15, 23}, {3, 3}, {1, 1}, {2, 2}, {{2, 2}, {2, 2}}, 1, 16, 16, 16},
    {2, {15, 23}, {3, 4}, {3, 1}, {1, 5}, {{2, 9}, {2, 9}}, 1, 32, 32, 32},
    {2, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 3, 130, 130, 130},
    {2, {2, 1}, {3, 5}, {1, 1}, {1, 1}, {{4, 4}, {4, 4}}, 1, 16, 16, 16},
    {1, {97}, {3}, {1}, {1}, {{1}, {1}}, 2, 48, 48, 48},
    {1, {64}, {9}, {1}, {1}, {{8}, {0}}, 1, 20, 20, 20},
    {2, {9, 31}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 18, 54, 18},
};

static double depthwise_exact(const hn_conv_nhwc_job *job, int64_t i, double *size) {
    const hn_window *s = job->window;
    int64_t filter = i % job->filters, pixel = i / job->filters;
    int64_t channel = filter / (job->filters / job->channels);
    const float *image = job->x + pixel / s->out_elems * s->in_elems * job->channels + channel;
    double sum = job->epilogue.col_bias ? job->epilogue.col_bias[filter] : 0;
    *size = fabs(sum);
    for (int64_t t = 0; t < s->kernel_elems; t++) {
        int64_t at = kern_window_at(s, pixel % s->out_elems, t);
        double product =
            at < 0 ? 0 : (double)image[at * job->channels] * job->w[filter * s->kernel_elems + t];
        sum += product;
        *size += fabs(product);
    }
    return sum;
}

static void check_depthwise_outputs(const hn_conv_nhwc_job *job, size_t index) {
    for (int64_t i = 0; i < job->batch * job->window->out_elems * job->filters; i++) {
        double size, sum = depthwise_exact(job, i, &size);
        kern_epilogue_exact(&job->epilogue, i, &sum, &size);
        double allowed = (double)(job->window->kernel_elems + 8) * KERN_EPS * size;
        KERN_CHECK(fabs(job->y[i] - sum) <= allowed,
                   "depthwise convolution %zu: element %d is %g, not %g", index, (int)i,
                   (double)job->y[i], sum);
    }
}

static void check_depthwise(const kern_conv_case *t, size_t index, int form) {
    if (kern_leaves_out())
        return;
    hn_window s = kern_window(t);
    int64_t n_out = t->batch * s.out_elems * t->filters;
    hn_epilogue_f32 epilogue = kern_epilogue(form, n_out);
    hn_conv_nhwc_job job = kern_conv_nhwc_job(t, &s, form, &epilogue);
    job.method = HN_CONV_NHWC_DEPTHWISE;
    float *packed = kern_floats(hn_depthwise_nhwc_packed_elems(&job)), *first = NULL;
    job.scratch = packed;
    if (form & KERN_PACK && hn_depthwise_nhwc_packed_elems(&job) > 0) {
        hn_depthwise_nhwc_pack(&job, packed);
        job.packed_w = packed;
    }
    for (int i = 0; i < KERN_POOLS; i++) {
        job.y = kern_floats(n_out);
        first = i ? first : job.y;
        hn_depthwise_nhwc_f32(kern_pool(i), &job);
        KERN_CHECK(memcmp(job.y, first, (size_t)n_out * sizeof *first) == 0,
                   "depthwise convolution %zu differs with %d threads", index, i + 1);
    }
    check_depthwise_outputs(&job, index);
    kern_release();
}

/* NaN and infinities reach exactly the outputs whose windows have them. */
static void check_depthwise_odd(const kern_conv_case *t, size_t index) {
    hn_window s = kern_window(t);
    int64_t n_in = t->batch * t->channels * s.in_elems, n_out = t->batch * t->filters * s.out_elems;
    float *x = kern_floats(n_in);
    hn_epilogue_f32 limits = kern_epilogue(KERN_LIMITS, n_out);
    hn_conv_nhwc_job job = kern_conv_nhwc_job(t, &s, KERN_LIMITS, &limits);
    job.method = HN_CONV_NHWC_DEPTHWISE;
    job.x = x;
    job.y = kern_floats(n_out);
    job.scratch = kern_floats(hn_depthwise_nhwc_packed_elems(&job));
    x[kern_between(0, n_in - 1)] = NAN;
    x[kern_between(0, n_in - 1)] = HUGE_VALF;
    hn_depthwise_nhwc_f32(NULL, &job);
    for (int64_t i = 0; i < n_out; i++) {
        double size, sum = depthwise_exact(&job, i, &size);
        KERN_CHECK(isnan(sum) == (isnan(job.y[i]) != 0) &&
                       (!isinf(sum) || job.y[i] == (sum > 0 ? limits.most : limits.least)),
                   "depthwise convolution %zu: element %d is %g, not %g", index, (int)i,
                   (double)job.y[i], sum);
    }
    kern_release();
}

void kern_test_depthwise_nhwc(void) {
    for (size_t i = 0; i < HN_COUNT(depthwise_cases); i++) {
        check_depthwise(&depthwise_cases[i], i, 0);
        check_depthwise(&depthwise_cases[i], i, KERN_PACK | (int)kern_between(1, KERN_ALL_FORMS));
        check_depthwise(&depthwise_cases[i], i, (int)kern_between(1, KERN_ALL_FORMS));
        check_depthwise_odd(&depthwise_cases[i], i);
    }
    for (size_t i = 0; i < 150; i++) {
        kern_conv_case t = kern_random_case();
        t.channels = t.groups = kern_between(1, 70);
        t.filters = t.channels * kern_between(1, i % 4 ? 1 : 3);
        check_depthwise(&t, HN_COUNT(depthwise_cases) + i, (int)kern_between(0, KERN_ALL_FORMS));
    }
}

/* ---- pools ---- */

static float pool_exact(const hn_pool_nhwc_job *job, int64_t i, double *size) {
    const hn_window *s = job->window;
    int64_t pixel = i / job->channels, count = 0;
    const float *image =
        job->x + pixel / s->out_elems * s->in_elems * job->channels + i % job->channels;
    float most = -HUGE_VALF;
    double sum = 0;
    *size = 0;
    for (int64_t t = 0; t < s->kernel_elems; t++) {
        int64_t at = kern_window_at(s, pixel % s->out_elems, t);
        if (at < 0)
            continue;
        float v = image[at * job->channels];
        most = v > most || isnan(v) ? v : most;
        sum += v;
        *size += fabs((double)v);
        count++;
    }
    if (job->kind == HN_POOL_NHWC_MAX)
        return most;
    if (job->pad_end) {
        int64_t at[KERN_AXES];
        hn_window_split(s->n_axes, s->out, pixel % s->out_elems, at);
        count = 1;
        for (int32_t a = 0; a < s->n_axes; a++) {
            int64_t inside = 0;
            for (int64_t t = 0; t < s->kernel[a]; t++)
                inside += at[a] * s->stride[a] + t * s->dilation[a] <
                          s->pad[a] + s->in[a] + job->pad_end[a];
            count *= inside;
        }
    }
    *size /= (double)count;
    return (float)(sum / (double)count);
}

typedef void (*pool_nhwc_fn)(hn_pool *pool, const hn_pool_nhwc_job *job);

static void check_pool_outputs(const hn_pool_nhwc_job *job, size_t index) {
    for (int64_t i = 0; i < job->batch * job->window->out_elems * job->channels; i++) {
        double size, allowed = 0;
        float exact = pool_exact(job, i, &size);
        if (job->kind == HN_POOL_NHWC_AVERAGE)
            allowed = (double)(job->window->kernel_elems + 4) * KERN_EPS * size;
        KERN_CHECK(job->y[i] == exact || (isnan(job->y[i]) && isnan(exact)) ||
                       fabs((double)job->y[i] - (double)exact) <= allowed,
                   "pool %zu: element %d is %g, not %g", index, (int)i, (double)job->y[i],
                   (double)exact);
    }
}

static void check_pool(const kern_conv_case *t, size_t index, hn_pool_nhwc_kind kind,
                       bool count_padding) {
    if (kern_leaves_out())
        return;
    static const pool_nhwc_fn fns[] = {hn_pool_nhwc_f32, hn_pool_nhwc_plain_f32};
    static const float odd_ones[] = {NAN, HUGE_VALF, -HUGE_VALF, -0.0f, 0.0f};
    hn_window s = kern_window(t);
    for (int32_t a = 0; a < s.n_axes; a++) /* as ceil_mode does */
        if (s.out[a] && kern_random() % 2) {
            s.out_elems = s.out_elems / s.out[a] * (s.out[a] + 1);
            s.out[a]++;
        }
    int64_t n_in = t->batch * s.in_elems * t->channels,
            n_out = t->batch * s.out_elems * t->channels;
    float *x = kern_floats(n_in), *first = NULL;
    hn_pool_nhwc_job job = {.kind = kind,
                            .window = &s,
                            .batch = t->batch,
                            .channels = t->channels,
                            .x = x,
                            .pad_end = count_padding ? t->pads[1] : NULL};
    for (int64_t i = 0; i < n_in / 16; i++)
        x[kern_between(0, n_in - 1)] = odd_ones[kern_random() % HN_COUNT(odd_ones)];
    for (size_t plain = 0; plain < HN_COUNT(fns); plain++)
        for (int p = 0; p < KERN_POOLS; p++) {
            job.y = kern_floats(n_out);
            fns[plain](kern_pool(p), &job);
            check_pool_outputs(&job, index);
            first = p ? first : job.y;
            KERN_CHECK(memcmp(job.y, first, (size_t)n_out * sizeof *first) == 0,
                       "pool %zu differs with %d threads", index, p + 1);
        }
    kern_release();
}

static void check_global_pool(int64_t batch, int64_t elems, int64_t channels,
                              hn_pool_nhwc_kind kind) {
    if (kern_leaves_out())
        return;
    kern_conv_case t = {.n_axes = 1,
                        .in = {elems},
                        .kernel = {elems},
                        .stride = {1},
                        .dilation = {1},
                        .batch = batch,
                        .channels = channels};
    hn_window s = kern_window(&t);
    float *x = kern_floats(batch * elems * channels);
    for (int p = 0; p < 2 * KERN_POOLS; p++) {
        float *y = kern_floats(batch * channels);
        hn_pool_global_nhwc_job job = {kind, batch, elems, channels, x, y, NULL};
        job.scratch = kern_floats(hn_pool_global_nhwc_scratch_elems(&job));
        if (p < KERN_POOLS)
            hn_pool_global_nhwc_f32(kern_pool(p), &job);
        else
            hn_pool_global_nhwc_plain_f32(kern_pool(p - KERN_POOLS), &job);
        check_pool_outputs(
            &(hn_pool_nhwc_job){
                .kind = kind, .window = &s, .batch = batch, .channels = channels, .x = x, .y = y},
            (size_t)channels);
    }
    kern_release();
}

/* Windows that have rows of their own, with columns in the padding on both sides. */
static void check_pool_rows(void) {
    static const int64_t sizes[][2] = {{2, 2}, {3, 1}, {3, 2}, {5, 1}};
    for (size_t i = 0; i < HN_COUNT(sizes); i++)
        for (int64_t channels = 1; channels < 150; channels += channels < 4 ? 1 : 13) {
            int64_t k = sizes[i][0], stride = sizes[i][1], pad = kern_between(0, k - 1);
            kern_conv_case t = {2,      {kern_between(k, 12), kern_between(k, 30)},
                                {k, k}, {stride, stride},
                                {1, 1}, {{pad, pad}, {pad, kern_between(0, k - 1)}},
                                2,      channels,
                                1,      1};
            check_pool(&t, 1000 + i, HN_POOL_NHWC_MAX, false);
            check_pool(&t, 1000 + i, HN_POOL_NHWC_AVERAGE, channels % 2);
        }
}

/* The largest of bytes, where the model has other elements between its pixels, too. */
static void check_byte_max(const kern_conv_case *t, size_t index) {
    hn_window s = kern_window(t);
    int64_t step = t->channels + kern_between(0, 1) * 5, n_in = t->batch * s.in_elems;
    int64_t n_y = t->batch * s.out_elems * t->channels;
    hn_pool_bytes_job job = {.window = &s,
                             .batch = t->batch,
                             .channels = t->channels,
                             .is_signed = kern_random() & 1,
                             .x_step = step,
                             .x = kern_hostile_bytes((n_in - 1) * step + t->channels)};
    uint8_t flip = job.is_signed ? 0x80 : 0;
    for (int p = 0; p < KERN_POOLS; p++) {
        job.y = kern_bytes(n_y);
        hn_pool_bytes(kern_pool(p), &job);
        for (int64_t i = 0; i < n_y; i++) {
            int64_t out = i / t->channels, image = out / s.out_elems;
            uint8_t most = 0;
            for (int64_t tap = 0; tap < s.kernel_elems; tap++) {
                int64_t at = kern_window_at(&s, out % s.out_elems, tap);
                const uint8_t *x = job.x + (image * s.in_elems + at) * step + i % t->channels;
                most = at >= 0 ? HN_MAX(most, *x ^ flip) : most;
            }
            KERN_CHECK(job.y[i] == (most ^ flip), "bytes %zu: element %d is %d, not %d", index,
                       (int)i, job.y[i], most ^ flip);
        }
    }
    kern_release();
}

void kern_test_pool_bytes(void) {
    for (size_t i = 0; i < KERN_CONV_CASES; i++)
        check_byte_max(&kern_conv_cases[i], i);
    for (size_t i = 0; i < 200; i++) {
        kern_conv_case t = kern_random_case();
        t.channels = kern_between(1, 140);
        if (!kern_leaves_out())
            check_byte_max(&t, KERN_CONV_CASES + i);
    }
}

void kern_test_pool_nhwc(void) {
    check_pool_rows();
    for (size_t i = 0; i < KERN_CONV_CASES + 150; i++) {
        kern_conv_case t = i < KERN_CONV_CASES ? kern_conv_cases[i] : kern_random_case();
        t.channels = i < KERN_CONV_CASES ? t.channels : kern_between(1, 150);
        check_pool(&t, i, HN_POOL_NHWC_MAX, false);
        check_pool(&t, i, HN_POOL_NHWC_AVERAGE, i % 2);
    }
    for (int64_t channels = 1; channels < 200; channels += channels < 70 ? 1 : 31) {
        check_global_pool(2, 49, channels, HN_POOL_NHWC_AVERAGE);
        check_global_pool(1, kern_between(1, 5), channels, HN_POOL_NHWC_MAX);
        check_global_pool(2, kern_between(400, 900), channels,
                          channels % 2 ? HN_POOL_NHWC_AVERAGE : HN_POOL_NHWC_MAX);
    }
}
