/* Winograd's convolution against sums over all windows. */
#include "kern/kern.h"

#include <math.h>

#include "cpu/kernels/winograd/winograd.h"

enum { MOST_CHANNELS = 130 };

typedef struct winograd_case {
    int64_t in[2], pads[2][2], batch, channels, filters;
    int64_t dilation[2];
} winograd_case;

static const winograd_case winograd_cases[] = {
    {{3, 3}, {{0, 0}, {0, 0}}, 1, 1, 1, {1, 1}},
    {{1, 1}, {{1, 1}, {1, 1}}, 1, 5, 3, {1, 1}},
    {{6, 6}, {{0, 0}, {0, 0}}, 1, 16, 32, {1, 1}},
    {{6, 6}, {{1, 1}, {1, 1}}, 2, 17, 33, {1, 1}},
    {{7, 7}, {{1, 1}, {1, 1}}, 3, 31, 64, {1, 1}},
    {{8, 4}, {{1, 1}, {1, 1}}, 1, 64, 65, {1, 1}},
    {{13, 13}, {{1, 1}, {1, 1}}, 1, 48, 96, {1, 1}},
    {{14, 14}, {{1, 1}, {1, 1}}, 5, 20, 9, {1, 1}},
    {{5, 40}, {{2, 0}, {1, 3}}, 1, 67, 15, {1, 1}},
    {{2, 3}, {{4, 7}, {9, 5}}, 1, 8, 16, {1, 1}},
    {{46, 47}, {{1, 1}, {1, 1}}, 1, 16, 16, {1, 1}},
    {{45, 43}, {{0, 1}, {1, 0}}, 1, 9, 70, {1, 1}},
    {{1, 90}, {{1, 1}, {1, 1}}, 1, 130, 17, {1, 1}},
    {{4, 4}, {{0, 0}, {0, 0}}, 0, 16, 16, {1, 1}},
    {{17, 19}, {{2, 2}, {2, 2}}, 2, 33, 18, {2, 2}},
    {{9, 30}, {{3, 3}, {1, 1}}, 1, 16, 64, {3, 1}},
    {{5, 6}, {{7, 7}, {6, 6}}, 1, 20, 35, {7, 6}},
    {{40, 12}, {{0, 1}, {4, 3}}, 1, 64, 16, {5, 4}},
};

static kern_conv_case whole_case(const winograd_case *t) {
    kern_conv_case c = {.n_axes = 2,
                        .kernel = {3, 3},
                        .stride = {1, 1},
                        .dilation = {t->dilation[0], t->dilation[1]},
                        .batch = t->batch,
                        .channels = t->channels,
                        .filters = t->filters,
                        .groups = 1};
    memcpy(c.in, t->in, sizeof t->in);
    memcpy(c.pads[0], t->pads[0], sizeof t->pads[0]);
    memcpy(c.pads[1], t->pads[1], sizeof t->pads[1]);
    return c;
}

/* ---- numbers ---- */

typedef enum winograd_data { EVEN, SHIFTED, ONE_LARGE, SMALL_AND_LARGE, N_DATA } winograd_data;

static void spoil_numbers(winograd_data data, int64_t n, float *x) {
    for (int64_t i = 0; i < n; i++)
        if (data == SHIFTED)
            x[i] += 1000;
        else if (data == SMALL_AND_LARGE)
            x[i] = ldexpf(x[i], (int)kern_between(-20, 20));
    if (data == ONE_LARGE && n > 0)
        x[n / 2] = 1e6f;
}

/* ---- what is right ---- */

/* Outputs of a tile lie a dilation apart. */
static int64_t first_of_tile(int64_t at, int64_t dilation) {
    return at % dilation + at / dilation / HN_WINOGRAD_TILE * HN_WINOGRAD_TILE * dilation;
}

/* The largest input that the tile of an output reads, of each channel. */
static void find_largest(const hn_conv_nhwc_job *job, int64_t pixel, double *largest) {
    const hn_window *s = job->window;
    int64_t out = pixel % s->out_elems, image = pixel / s->out_elems;
    int64_t y0 = first_of_tile(out / s->out[1], s->dilation[0]) - s->pad[0];
    int64_t x0 = first_of_tile(out % s->out[1], s->dilation[1]) - s->pad[1];
    memset(largest, 0, (size_t)job->channels * sizeof *largest);
    for (int64_t i = 0; i < HN_WINOGRAD_WINDOW; i++)
        for (int64_t j = 0; j < HN_WINOGRAD_WINDOW; j++) {
            int64_t y = y0 + i * s->dilation[0], x = x0 + j * s->dilation[1];
            if (y < 0 || y >= s->in[0] || x < 0 || x >= s->in[1])
                continue;
            for (int64_t c = 0; c < job->channels; c++) {
                int64_t at = (image * s->in_elems + y * s->in[1] + x) * job->channels + c;
                largest[c] = fmax(largest[c], fabs((double)job->x[at]));
            }
        }
}

/* Sum of all products of an output in double, without the epilogue. `size` becomes the sum of their
 * absolute values, had every input been as large as the largest one. */
static double winograd_exact(const hn_conv_nhwc_job *job, int64_t pixel, int64_t filter,
                             const double *largest, double *size) {
    const hn_window *s = job->window;
    const float *image = job->x + pixel / s->out_elems * s->in_elems * job->channels;
    double sum = job->epilogue.col_bias ? job->epilogue.col_bias[filter] : 0;
    *size = fabs(sum);
    for (int64_t t = 0; t < 9; t++) {
        int64_t at = kern_window_at(s, pixel % s->out_elems, t);
        for (int64_t c = 0; c < job->channels; c++) {
            double w = job->w[(filter * job->channels + c) * 9 + t];
            sum += at < 0 ? 0 : image[at * job->channels + c] * w;
            *size += largest[c] * fabs(w);
        }
    }
    return sum;
}

static void check_winograd_outputs(const hn_conv_nhwc_job *job, size_t index) {
    double bound = (double)(job->channels + 16) * KERN_EPS, largest[MOST_CHANNELS], size;
    for (int64_t i = 0; i < job->batch * job->filters * job->window->out_elems; i++) {
        if (i % job->filters == 0)
            find_largest(job, i / job->filters, largest);
        double sum = winograd_exact(job, i / job->filters, i % job->filters, largest, &size);
        kern_epilogue_exact(&job->epilogue, i, &sum, &size);
        KERN_CHECK(fabs(job->y[i] - sum) <= bound * size, "Winograd %zu: element %d is %g, not %g",
                   index, (int)i, (double)job->y[i], sum);
    }
}

static void check_winograd(const winograd_case *t, size_t index, int form, winograd_data data) {
    if (kern_leaves_out())
        return;
    kern_conv_case whole = whole_case(t);
    hn_window s = kern_window(&whole);
    int64_t n_in = t->batch * t->channels * s.in_elems, n_out = t->batch * t->filters * s.out_elems;
    float *x = kern_floats(n_in), *packed, *first = NULL;
    hn_epilogue_f32 epilogue = kern_epilogue(form, n_out);
    hn_conv_nhwc_job job = kern_conv_nhwc_job(&whole, &s, form, &epilogue);
    job.method = HN_CONV_NHWC_WINOGRAD;
    job.x = x;
    spoil_numbers(data, n_in, x);
    packed = kern_floats(hn_winograd_packed_elems(&job));
    hn_winograd_pack(&job, packed);
    job.packed_w = packed;
    job.scratch = kern_floats(hn_winograd_scratch_elems(&job, KERN_POOLS));
    for (int i = 0; i < KERN_POOLS; i++) {
        job.y = kern_floats(n_out);
        first = i ? first : job.y;
        hn_winograd_f32(kern_pool(i), &job);
        KERN_CHECK(memcmp(job.y, first, (size_t)n_out * sizeof *first) == 0,
                   "Winograd %zu differs with %d threads", index, i + 1);
    }
    check_winograd_outputs(&job, index);
    kern_release();
}

/* NaN and infinities spread over the tiles that read them, and no further. */
static void check_winograd_nan(void) {
    const winograd_case t = {{16, 16}, {{1, 1}, {1, 1}}, 1, 16, 16, {1, 1}};
    kern_conv_case whole = whole_case(&t);
    hn_window s = kern_window(&whole);
    float *x = kern_floats(16 * 256), *packed;
    x[(6 * 16 + 6) * 16] = NAN; /* pixel 6, 6: read by the outputs around it and their tile */
    hn_conv_nhwc_job job = {.window = &s, .batch = 1, .channels = 16, .filters = 16, .groups = 1};
    job.x = x;
    job.w = kern_floats(16 * 16 * 9);
    job.y = kern_floats(16 * 256);
    packed = kern_floats(hn_winograd_packed_elems(&job));
    hn_winograd_pack(&job, packed);
    job.packed_w = packed;
    job.scratch = kern_floats(hn_winograd_scratch_elems(&job, 1));
    hn_winograd_f32(NULL, &job);
    for (int64_t i = 0; i < 256 * 16; i++) {
        int64_t tile = i / 16 / 16 / 4 * 4 + i / 16 % 16 / 4;
        KERN_CHECK(!isnan(job.y[i]) == (tile != 5), "element %d is %g", (int)i, (double)job.y[i]);
    }
    kern_release();
}

static void check_winograd_fits(void) {
    hn_window s = {.n_axes = 2, .out = {28, 28}, .out_elems = 784, .kernel = {3, 3}};
    s.stride[0] = s.stride[1] = s.dilation[0] = s.dilation[1] = 1;
    hn_conv_nhwc_job job = {.window = &s, .batch = 1, .channels = 64, .filters = 64, .groups = 1};
    KERN_CHECK(hn_winograd_fits(&job), "28x28 is not for Winograd");
    s.out[0] = s.out[1] = s.out_elems = 0;
    KERN_CHECK(hn_winograd_fits(&job), "unknown sizes are not for Winograd");
    s.out[0] = s.out[1] = 7;
    s.out_elems = 49;
    KERN_CHECK(!hn_winograd_fits(&job), "7x7 is for Winograd");
    job.batch = 16;
    KERN_CHECK(hn_winograd_fits(&job), "many images of 7x7 are not for Winograd");
    s.in[0] = s.in[1] = s.pad[0] = s.pad[1] = s.dilation[0] = s.dilation[1] = 7;
    KERN_CHECK(!hn_winograd_fits(&job), "pixels that do not meet are for Winograd");
    s.out[0] = s.out[1] = s.in[0] = s.in[1] = 28;
    s.pad[0] = s.pad[1] = s.dilation[0] = s.dilation[1] = 2;
    KERN_CHECK(hn_winograd_fits(&job), "28x28 with gaps is not for Winograd");
    job.channels = 3;
    KERN_CHECK(!hn_winograd_fits(&job), "3 channels are for Winograd");
    job.channels = 64;
    s.stride[1] = 2;
    KERN_CHECK(!hn_winograd_fits(&job), "stride 2 is for Winograd");
}

void kern_test_winograd(void) {
    if (!hn_winograd_pick())
        return;
    for (size_t i = 0; i < HN_COUNT(winograd_cases); i++) {
        check_winograd(&winograd_cases[i], i, 0, EVEN);
        check_winograd(&winograd_cases[i], i, KERN_BIAS | KERN_RESIDUAL | KERN_LIMITS, EVEN);
        check_winograd(&winograd_cases[i], i, (int)kern_between(1, KERN_ALL_FORMS),
                       (winograd_data)kern_between(1, N_DATA - 1));
    }
    for (size_t i = 0; i < 60; i++) {
        int64_t d = i % 3 ? 1 : kern_between(1, 5);
        winograd_case t = {{kern_between(1, 18), kern_between(1, 18)},
                           {{kern_between(d, 3 * d), kern_between(d, 3 * d)},
                            {kern_between(1, 3), kern_between(1, 3)}},
                           kern_between(1, 2),
                           kern_between(1, 40),
                           kern_between(1, 70),
                           {d, 1}};
        check_winograd(&t, 100 + i, (int)kern_between(0, KERN_ALL_FORMS),
                       (winograd_data)(i % N_DATA));
    }
    check_winograd_nan();
    check_winograd_fits();
}
