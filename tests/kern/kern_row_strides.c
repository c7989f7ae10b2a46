/* Channels-last kernels on pixels that do not lie side by side: the same bytes as side by side, and
 * nothing between the pixels of a result is touched. */
#include "kern/kern.h"

#include "cpu/kernels/conv_nhwc/conv_transpose_nhwc.h"
#include "cpu/kernels/pool/pool_nhwc.h"
#include "cpu/kernels/rows/rows_nhwc.h"

/* Rows of `cols` floats, `step` apart; nothing stands behind the last one. */
typedef struct parted {
    float *at;
    int64_t rows, cols, step;
} parted;

static parted part_rows(const float *dense, int64_t rows, int64_t cols) {
    parted p = {.rows = rows, .cols = cols, .step = cols + kern_between(0, 40)};
    int64_t n = HN_MAX((rows - 1) * p.step + cols, 0);
    p.at = kern_floats(n);
    for (int64_t i = 0; dense && i < rows; i++)
        memcpy(p.at + i * p.step, dense + i * cols, (size_t)cols * sizeof *p.at);
    return p;
}

static float *copy_of(const parted *p) {
    int64_t n = HN_MAX((p->rows - 1) * p->step + p->cols, 0);
    float *copy = kern_floats(n);
    memcpy(copy, p->at, (size_t)n * sizeof *copy);
    return copy;
}

/* Are the rows those of `dense`, and is what lies between them as it was? */
static void check_parted(const parted *p, const float *dense, const float *before, const char *what,
                         size_t index) {
    for (int64_t i = 0; i < p->rows; i++) {
        const float *row = p->at + i * p->step, *gap = row + p->cols;
        size_t gap_bytes = (size_t)(i + 1 < p->rows ? p->step - p->cols : 0) * sizeof *gap;
        KERN_CHECK(memcmp(row, dense + i * p->cols, (size_t)p->cols * sizeof *row) == 0,
                   "%s %zu: row %d is not what it is side by side", what, index, (int)i);
        KERN_CHECK(memcmp(gap, before + (gap - p->at), gap_bytes) == 0,
                   "%s %zu: something behind row %d was written", what, index, (int)i);
    }
}

/* ---- convolutions ---- */

typedef void (*conv_nhwc_fn)(hn_pool *pool, const hn_conv_nhwc_job *job);

/* A convolution side by side, then apart. */
static void check_both_ways(hn_conv_nhwc_job *job, conv_nhwc_fn run, const char *what,
                            size_t index) {
    int64_t in = job->batch * job->window->in_elems, out = job->batch * job->window->out_elems;
    float *dense = kern_floats(out * job->filters);
    job->y = dense;
    run(NULL, job);
    parted x = part_rows(job->x, in, job->channels), y = part_rows(NULL, out, job->filters),
           residual = part_rows(job->epilogue.residual, out, job->filters);
    const float *before = copy_of(&y);
    job->epilogue.residual = residual.at;
    job->x = x.at;
    job->y = y.at;
    job->x_step = x.step;
    job->y_step = y.step;
    job->epilogue.residual_stride = residual.step;
    run(kern_pool(2), job);
    check_parted(&y, dense, before, what, index);
}

static void check_conv_steps(const kern_conv_case *t, size_t index, hn_conv_nhwc_method method) {
    hn_window s = kern_window(t);
    int form = KERN_BIAS | KERN_RESIDUAL | KERN_UNARY;
    hn_epilogue_f32 epilogue = kern_epilogue(form, t->batch * s.out_elems * t->filters);
    hn_conv_nhwc_job job = kern_conv_nhwc_job(t, &s, form, &epilogue);
    job.method = method;
    if (!kern_leaves_out() && hn_conv_nhwc_fits(&job, method)) {
        float *packed = kern_floats(hn_conv_nhwc_packed_elems(&job));
        hn_conv_nhwc_pack(&job, packed);
        job.packed_w = packed;
        job.scratch = kern_floats(hn_conv_nhwc_scratch_elems(&job, KERN_POOLS));
        check_both_ways(&job, hn_conv_nhwc_f32, hn_conv_nhwc_method_name((int)method), index);
    }
    kern_release();
}

static void check_plain_steps(const kern_conv_case *t, size_t index) {
    hn_window s = kern_window(t);
    hn_epilogue_f32 epilogue = kern_epilogue(KERN_RESIDUAL, t->batch * s.out_elems * t->filters);
    hn_conv_nhwc_job job = kern_conv_nhwc_job(t, &s, KERN_RESIDUAL, &epilogue);
    check_both_ways(&job, hn_conv_nhwc_plain_f32, "plain convolution", index);
    kern_release();
}

static void check_transposed_steps(const kern_conv_case *t, size_t index) {
    hn_window s = kern_window(t);
    int64_t positions = t->batch * s.out_elems, pixels = t->batch * s.in_elems;
    hn_conv_transpose_nhwc_job job = {.window = &s,
                                      .batch = t->batch,
                                      .channels = t->channels,
                                      .filters = t->filters,
                                      .x = kern_floats(positions * t->channels),
                                      .w = kern_floats(t->channels * t->filters * s.kernel_elems),
                                      .bias = kern_floats(t->filters),
                                      .y = kern_floats(pixels * t->filters)};
    job.scratch = kern_floats(hn_conv_transpose_nhwc_scratch_elems(&job));
    hn_conv_transpose_nhwc_f32(NULL, &job);
    const float *dense = job.y;
    parted x = part_rows(job.x, positions, t->channels), y = part_rows(NULL, pixels, t->filters);
    const float *before = copy_of(&y);
    job.x = x.at;
    job.y = y.at;
    job.x_step = x.step;
    job.y_step = y.step;
    hn_conv_transpose_nhwc_f32(kern_pool(1), &job);
    check_parted(&y, dense, before, "transposed convolution", index);
    kern_release();
}

/* ---- pools, scales ---- */

static void check_pool_steps(const kern_conv_case *t, size_t index, hn_pool_nhwc_kind kind,
                             void (*pool)(hn_pool *pool, const hn_pool_nhwc_job *job)) {
    hn_window s = kern_window(t);
    int64_t in = t->batch * s.in_elems, out = t->batch * s.out_elems;
    hn_pool_nhwc_job job = {.kind = kind,
                            .window = &s,
                            .batch = t->batch,
                            .channels = t->channels,
                            .x = kern_floats(in * t->channels),
                            .y = kern_floats(out * t->channels)};
    pool(NULL, &job);
    const float *dense = job.y;
    parted x = part_rows(job.x, in, t->channels), y = part_rows(NULL, out, t->channels);
    const float *before = copy_of(&y);
    job.x = x.at;
    job.y = y.at;
    job.x_step = x.step;
    job.y_step = y.step;
    pool(kern_pool(2), &job);
    check_parted(&y, dense, before, "pool", index);
    kern_release();
}

static void check_scale_steps(int64_t rows, int64_t channels) {
    hn_scale_rows_job job = {.n_rows = rows,
                             .channels = channels,
                             .x = kern_floats(rows * channels),
                             .center = kern_floats(channels),
                             .scale = kern_floats(channels),
                             .shift = kern_floats(channels),
                             .y = kern_floats(rows * channels),
                             .epilogue = {.unary = kern_line, .a = 3, .b = 1},
                             .x_step = channels,
                             .y_step = channels};
    hn_scale_rows_f32(NULL, &job);
    const float *dense = job.y;
    parted x = part_rows(job.x, rows, channels), y = part_rows(NULL, rows, channels);
    const float *before = copy_of(&y);
    job.x = x.at;
    job.y = y.at;
    job.x_step = x.step;
    job.y_step = y.step;
    hn_scale_rows_f32(kern_pool(1), &job);
    check_parted(&y, dense, before, "scale", (size_t)rows);
    kern_release();
}

static void check_all_steps(const kern_conv_case *t, size_t index) {
    for (int method = 0; hn_conv_nhwc_method_name(method); method++)
        check_conv_steps(t, index, (hn_conv_nhwc_method)method);
    if (kern_leaves_out())
        return;
    check_plain_steps(t, index);
    if (t->groups == 1)
        check_transposed_steps(t, index);
    for (int kind = 0; kind < 2; kind++) {
        check_pool_steps(t, index, (hn_pool_nhwc_kind)kind, hn_pool_nhwc_f32);
        check_pool_steps(t, index, (hn_pool_nhwc_kind)kind, hn_pool_nhwc_plain_f32);
    }
}

void kern_test_row_strides(void) {
    static const kern_conv_case more[] = {
        {2, {17, 14}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 2, 24, 80, 1},
        {2, {13, 12}, {3, 3}, {2, 2}, {1, 1}, {{1, 1}, {1, 1}}, 1, 40, 40, 40},
        {2, {9, 9}, {5, 5}, {1, 1}, {1, 1}, {{2, 2}, {2, 2}}, 1, 6, 18, 6},
        {2, {23, 9}, {1, 1}, {1, 1}, {1, 1}, {{0}, {0}}, 2, 48, 70, 1},
    };
    for (size_t i = 0; i < HN_COUNT(more); i++)
        check_all_steps(&more[i], i);
    for (size_t i = 0; i < KERN_CONV_CASES; i++)
        check_all_steps(&kern_conv_cases[i], 100 + i);
    for (size_t i = 0; i < 60; i++) {
        kern_conv_case t = kern_random_case();
        t.filters *= kern_between(1, 3);
        check_all_steps(&t, 200 + i);
    }
    for (int64_t channels = 1; channels < 70; channels += 11)
        check_scale_steps(kern_between(1, 700), channels);
}
