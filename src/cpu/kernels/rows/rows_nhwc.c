/* Channels-last rows in blocks that fit the first cache: scales and shifts, means and variances.
 * The moments of blocks are joined one after the other, in double precision. */
#include "cpu/kernels/rows/rows_nhwc.h"

#define BLOCK_FLOATS 8192 /* of a block of rows */
#define MOST_BLOCK_ROWS 256
#define PER_BLOCK 3   /* numbers for each channel: mean, squares, rest */
#define SCALE_GRAIN 4 /* blocks that one thread takes at a time */

/* ---- plain C --------------------------------------------------------------------------------- */

static void plain_scale(int64_t n_rows, const hn_scale_rows_job *job, const float *x, float *y) {
    for (int64_t row = 0; row < n_rows; row++, x += job->x_step, y += job->y_step)
        for (int64_t i = 0; i < job->channels; i++)
            y[i] = (x[i] - job->center[i]) * job->scale[i] + job->shift[i];
}

static void plain_sum(int64_t n_rows, int64_t channels, const float *x, int64_t step, float *sums) {
    memset(sums, 0, (size_t)channels * sizeof *sums);
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t i = 0; i < channels; i++)
            sums[i] += x[row * step + i];
}

static void plain_spread(int64_t n_rows, int64_t channels, const float *x, int64_t step,
                         const float *mean, float *squares, float *rests) {
    memset(squares, 0, (size_t)channels * sizeof *squares);
    memset(rests, 0, (size_t)channels * sizeof *rests);
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t i = 0; i < channels; i++) {
            float d = x[row * step + i] - mean[i];
            squares[i] += d * d;
            rests[i] += d;
        }
}

const hn_rows_nhwc_f32 hn_rows_nhwc_f32__scalar = {plain_scale, plain_sum, plain_spread};

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t block_rows(int64_t channels) {
    return HN_MIN(HN_MAX(BLOCK_FLOATS / HN_MAX(channels, 1), 1), MOST_BLOCK_ROWS);
}

static int64_t count_blocks(int64_t n_rows, int64_t channels) {
    int64_t rows = block_rows(channels);
    return (n_rows + rows - 1) / rows;
}

typedef struct scale_task {
    const hn_scale_rows_job *job;
    const hn_rows_nhwc_f32 *rows;
} scale_task;

static void scale_blocks(void *ctx, int64_t begin, int64_t end) {
    const scale_task *t = ctx;
    const hn_scale_rows_job *job = t->job;
    int64_t rows = block_rows(job->channels);
    for (int64_t i = begin; i < end; i++) {
        int64_t n = HN_MIN(rows, job->n_rows - i * rows);
        float *y = job->y + i * rows * job->y_step;
        t->rows->scale(n, job, job->x + i * rows * job->x_step, y);
        hn_epilogue_activate_f32(&job->epilogue, n, job->channels, job->y_step, y);
    }
}

void hn_scale_rows_f32(hn_pool *pool, const hn_scale_rows_job *job) {
    scale_task t = {job, hn_rows_nhwc_pick_f32()};
    hn_pool_for(pool, count_blocks(job->n_rows, job->channels), SCALE_GRAIN, scale_blocks, &t);
}

/* ---- moments --------------------------------------------------------------------------------- */

int64_t hn_moments_rows_scratch_elems(int64_t n_rows, int64_t channels) {
    return PER_BLOCK * count_blocks(n_rows, channels) * channels;
}

typedef struct moments_task {
    const hn_moments_rows_job *job;
    const hn_rows_nhwc_f32 *rows;
    int64_t n_blocks;
} moments_task;

/* Each block leaves its means, then its sums of squared distances from them, and of distances. */
static void measure_blocks(void *ctx, int64_t begin, int64_t end) {
    const moments_task *t = ctx;
    int64_t channels = t->job->channels, rows = block_rows(channels);
    for (int64_t i = begin; i < end; i++) {
        int64_t n = HN_MIN(rows, t->job->n_rows - i * rows);
        int64_t step = t->job->x_step;
        const float *x = t->job->x + i * rows * step;
        float *mean = t->job->scratch + PER_BLOCK * i * channels;
        t->rows->sum(n, channels, x, step, mean);
        for (int64_t k = 0; k < channels; k++)
            mean[k] /= (float)n;
        t->rows->spread(n, channels, x, step, mean, mean + channels, mean + 2 * channels);
    }
}

static void join_moments(void *ctx, int64_t begin, int64_t end) {
    const moments_task *t = ctx;
    int64_t channels = t->job->channels, rows = block_rows(channels);
    for (int64_t k = begin; k < end; k++) {
        double mean = 0, spread = 0, n = 0;
        for (int64_t i = 0; i < t->n_blocks; i++) {
            const float *block = t->job->scratch + PER_BLOCK * i * channels + k;
            double more = (double)HN_MIN(rows, t->job->n_rows - i * rows),
                   rest = (double)block[2 * channels];
            double distance = (double)block[0] + rest / more - mean;
            mean += distance * more / (n + more);
            spread += (double)block[channels] - rest * rest / more +
                      distance * distance * n * more / (n + more);
            n += more;
        }
        t->job->mean[k] = mean;
        t->job->variance[k] = spread > 0 || spread != spread ? spread / n : 0;
    }
}

void hn_moments_rows_f32(hn_pool *pool, const hn_moments_rows_job *job) {
    moments_task t = {job, hn_rows_nhwc_pick_f32(), count_blocks(job->n_rows, job->channels)};
    hn_pool_for(pool, t.n_blocks, SCALE_GRAIN, measure_blocks, &t);
    hn_pool_for(pool, job->channels, 64, join_moments, &t);
}

/* ---- with vectors --------------------------------------------------------------------------- */

#define SIMD_TEMPLATE "cpu/kernels/rows/rows_nhwc_tmpl.h"
#include "cpu/kernels/simd/simd_each_tmpl.h"
