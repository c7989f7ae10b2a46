/* Convolutions of bytes over tiles in registers. A task is one band of output lines and some panels
 * of filters; where its input lines are not read in place it copies them with their padding, as
 * unsigned bytes. */
#include "cpu/kernels/conv_int8/conv_int8_form.h"

enum { MOST_POSITIONS = 14 }; /* of a depthwise line */

typedef struct conv_int8_run {
    const hn_conv_int8_job *job;
    hn_conv_int8_form form;
    const hn_pool *pool;
    const hn_u8s8_set *tiles;
    const hn_depthwise_int8_set *lines;
    hn_int8_result_fn *finish;
    size_t elem_bytes; /* of y */
    int64_t *runs;
    uint8_t *bands; /* one per thread */
} conv_int8_run;

/* A task under way. */
typedef struct conv_int8_task {
    const conv_int8_run *run;
    int64_t image, line0, line1; /* output lines */
    const uint8_t *x;            /* the first pixel that the first window reads */
} conv_int8_task;

/* ---- bands ----------------------------------------------------------------------------------- */

static void copy_bytes(const hn_conv_int8_job *job, const uint8_t *from, int64_t n, uint8_t *to) {
    if (!job->x_is_signed)
        memcpy(to, from, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i] ^ HN_INT8_SIGN_BIT;
}

static void copy_pixels(const hn_conv_int8_job *job, const uint8_t *from, int64_t n, uint8_t *to) {
    if (job->x_step == job->channels)
        copy_bytes(job, from, n * job->channels, to);
    else
        for (int64_t i = 0; i < n; i++)
            copy_bytes(job, from + i * job->x_step, job->channels, to + i * job->channels);
}

/* Input line `at` as it lies in a band. */
static void copy_line(const conv_int8_run *run, const uint8_t *image, int64_t at, uint8_t *to) {
    const hn_conv_int8_job *job = run->job;
    const hn_conv_int8_form *f = &run->form;
    uint8_t zero = job->x_zero ^ (job->x_is_signed ? HN_INT8_SIGN_BIT : 0);
    int64_t width = f->line_bytes / f->pixel_bytes, first = HN_MIN(f->cols.pad, width);
    bool is_in = at >= 0 && at < f->lines.in;
    int64_t there = is_in ? HN_MIN(f->cols.in, f->pixels_in - at * f->cols.in) : 0;
    int64_t n = HN_MIN(there, width - first);
    memset(to, zero, (size_t)(first * f->pixel_bytes));
    if (n > 0)
        copy_pixels(job, image + at * f->cols.in * job->x_step, n, to + first * f->pixel_bytes);
    memset(to + (first + n) * f->pixel_bytes, zero, (size_t)((width - first - n) * f->pixel_bytes));
}

/* The lines that the windows of the task read, in the memory of a thread. */
static const uint8_t *copy_band(const conv_int8_run *run, const conv_int8_task *task,
                                const uint8_t *image, int lane) {
    const hn_conv_int8_form *f = &run->form;
    uint8_t *band = run->bands + lane * f->band_bytes;
    int64_t first = task->line0 * f->lines.stride - f->lines.pad;
    int64_t n = (task->line1 - task->line0 - 1) * f->lines.stride +
                (f->lines.kernel - 1) * f->lines.dilation + 1;
    for (int64_t i = 0; i < n; i++)
        copy_line(run, image, first + i, band + i * f->line_bytes);
    memset(band + n * f->line_bytes, 0, HN_CONV_INT8_ALIGN);
    return band;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* One panel of a task, and what all of its tiles have in common: where the results of its first
 * column begin, and whence windows read in the first line of the task. */
typedef struct conv_int8_panel {
    const conv_int8_task *task;
    int64_t index, column;
    hn_int8_result result;
    const hn_int8_result *finished; /* by the tiles; NULL: they leave sums */
    hn_int8_block block;
    const uint8_t *x;
    const int8_t *w;
} conv_int8_panel;

static conv_int8_panel begin_conv_panel(const conv_int8_task *task, int64_t panel) {
    const conv_int8_run *run = task->run;
    const hn_conv_int8_form *f = &run->form;
    int64_t group = panel / f->group_panels, first = (panel - group * f->group_panels) * f->width;
    int64_t filters = f->is_depthwise ? run->job->filters : f->group_filters;
    int64_t padded = f->group_panels * f->width;
    conv_int8_panel p = {.task = task,
                         .index = panel,
                         .column = group * filters + first,
                         .result = run->job->result,
                         .x = task->x + (f->is_depthwise ? first : group * f->group_channels),
                         .w = (const int8_t *)run->job->packed_w +
                              panel * hn_conv_int8_panel_bytes(f)};
    p.block.col = group * padded * (int64_t)(HN_INT8_COLUMN_BYTES / sizeof(int32_t)) + first;
    p.block.cols = HN_MIN(f->width, filters - first);
    p.block.y_row = run->job->y_step;
    p.finished = hn_int8_finished(f->is_depthwise ? run->lines->finishes : run->tiles->finishes,
                                  &run->job->result);
    return p;
}

/* Where `rows` positions from `at` on are read, and where their results go. */
static const uint8_t *place_block(conv_int8_panel *p, int64_t line, int64_t at, int64_t rows) {
    const conv_int8_task *task = p->task;
    const hn_conv_int8_job *job = task->run->job;
    const hn_conv_int8_form *f = &task->run->form;
    int64_t pixel = task->image * f->positions + line * f->cols.out + at;
    const uint8_t *residual = p->result.residual.at;
    size_t elem_bytes = task->run->elem_bytes;
    p->block.rows = (int)rows;
    p->block.y = (uint8_t *)job->y + (size_t)(pixel * job->y_step + p->column) * elem_bytes;
    if (residual)
        p->block.residual =
            residual + (size_t)(pixel * p->result.residual.row + p->column) * elem_bytes;
    return p->x + (line - task->line0) * f->lines.stride * f->line_bytes +
           at * f->cols.stride * f->pixel_bytes;
}

static void sum_windows(const conv_int8_run *run, const hn_u8s8_tile *tile, int64_t rows,
                        uint32_t *sums) {
    for (int64_t r = 0; r < rows; r++) {
        sums[r] = 0;
        for (int64_t i = 0; i < tile->n_runs; i++) {
            const uint8_t *bytes = tile->a + r * tile->a_row + tile->runs[i];
            for (int64_t k = 0; k < run->form.run_bytes; k++)
                sums[r] += bytes[k];
        }
    }
}

static void product_tile(conv_int8_panel *p, int64_t line, int64_t at, int64_t rows) {
    const conv_int8_run *run = p->task->run;
    const hn_conv_int8_form *f = &run->form;
    _Alignas(HN_INT8_PANEL_ALIGN) int32_t sums[HN_U8S8_MOST_ROWS * HN_U8S8_MOST_COLS];
    uint32_t row_sums[HN_U8S8_MOST_ROWS];
    hn_u8s8_tile tile = {.a = place_block(p, line, at, rows),
                         .a_row = f->cols.stride * f->pixel_bytes,
                         .runs = run->runs,
                         .n_runs = f->n_runs,
                         .n_groups = hn_int8_groups(run->tiles, f->run_bytes),
                         .rows = (int)rows,
                         .reads_more_rows = f->copies,
                         .b = p->w,
                         .sums = sums,
                         .result = p->finished,
                         .block = &p->block};
    run->tiles->tiles[rows](&tile);
    if (p->finished)
        return;
    if (p->result.zeros)
        sum_windows(run, &tile, rows, row_sums);
    p->block.sums = sums;
    p->block.sums_row = HN_U8S8_MOST_COLS;
    p->block.row_sums = row_sums;
    hn_int8_finish(run->finish, &p->result, &p->block);
}

/* Zero points of filters: the sum of x in each window, times them. */
static void subtract_zeros(const hn_depthwise_int8_line *line, const conv_int8_run *run,
                           int64_t first) {
    const hn_conv_int8_form *f = &run->form;
    int32_t of_x[MOST_POSITIONS * HN_DEPTHWISE_INT8_MOST_CHANNELS];
    hn_depthwise_int8_line ones = *line;
    ones.w = (const int8_t *)run->job->packed_w + f->n_panels * hn_conv_int8_panel_bytes(f);
    ones.sums = of_x;
    run->lines->line(&ones);
    for (int64_t p = 0; p < line->n_positions; p++)
        for (int64_t c = 0; c < f->width; c++) {
            int64_t i = p * HN_DEPTHWISE_INT8_MOST_CHANNELS + c;
            line->sums[i] = (int32_t)((uint32_t)line->sums[i] -
                                      (uint32_t)of_x[i] * run->job->result.zeros[first + c]);
        }
}

static void depthwise_tile(conv_int8_panel *p, int64_t line, int64_t at, int64_t rows) {
    const conv_int8_run *run = p->task->run;
    const hn_conv_int8_form *f = &run->form;
    int32_t sums[MOST_POSITIONS * HN_DEPTHWISE_INT8_MOST_CHANNELS];
    hn_depthwise_int8_line tile = {.x = place_block(p, line, at, rows),
                                   .x_step = f->cols.stride * f->pixel_bytes,
                                   .taps = run->runs,
                                   .n_taps = f->n_runs,
                                   .w = p->w,
                                   .n_channels = (int)p->block.cols,
                                   .n_positions = (int)rows,
                                   .sums = sums,
                                   .result = p->finished,
                                   .block = &p->block};
    run->lines->line(&tile);
    if (p->finished)
        return;
    if (run->job->result.zeros)
        subtract_zeros(&tile, run, p->index * f->width);
    p->result.zeros = NULL;
    p->block.sums = sums;
    p->block.sums_row = HN_DEPTHWISE_INT8_MOST_CHANNELS;
    hn_int8_finish(run->finish, &p->result, &p->block);
}

static void panel_of_band(const conv_int8_task *task, int64_t panel) {
    const conv_int8_run *run = task->run;
    const hn_conv_int8_form *f = &run->form;
    int64_t most = f->is_depthwise ? MOST_POSITIONS : run->tiles->max_rows;
    conv_int8_panel p = begin_conv_panel(task, panel);
    for (int64_t line = task->line0; line < task->line1; line++) {
        int64_t n = HN_MIN(f->cols.out, f->positions - line * f->cols.out);
        int64_t n_tiles = (n + most - 1) / most, height = n / HN_MAX(n_tiles, 1);
        int64_t n_higher = n - n_tiles * height; /* by one */
        for (int64_t i = 0, at = 0, rows; i < n_tiles; i++, at += rows) {
            rows = height + (i < n_higher);
            if (f->is_depthwise)
                depthwise_tile(&p, line, at, rows);
            else
                product_tile(&p, line, at, rows);
        }
    }
}

static void conv_int8_tasks(void *ctx, int lane, int64_t begin, int64_t end) {
    const conv_int8_run *run = ctx;
    const hn_conv_int8_form *f = &run->form;
    int64_t across = (f->n_panels + f->panel_grain - 1) / f->panel_grain;
    hn_u8s8_begin(run->tiles);
    for (int64_t t = begin; t < end && !hn_pool_is_stopped(run->pool); t++) {
        int64_t band = t / across, panel0 = t % across * f->panel_grain;
        conv_int8_task task = {
            .run = run, .image = band / f->n_bands, .line0 = band % f->n_bands * f->band_lines};
        task.line1 = HN_MIN(task.line0 + f->band_lines, f->lines.out);
        const uint8_t *image =
            (const uint8_t *)run->job->x + task.image * f->pixels_in * run->job->x_step;
        task.x = f->copies ? copy_band(run, &task, image, lane)
                           : image + task.line0 * f->lines.stride * f->line_bytes;
        for (int64_t panel = panel0; panel < HN_MIN(panel0 + f->panel_grain, f->n_panels); panel++)
            panel_of_band(&task, panel);
    }
    hn_u8s8_end(run->tiles);
}

/* Offsets of the runs, then the bands. */
size_t hn_conv_int8_workspace_bytes(const hn_conv_int8_job *job) {
    hn_conv_int8_form f = hn_conv_int8_form_of(job);
    return hn_int8_aligned(f.n_runs, sizeof(int64_t)) +
           (f.copies ? (size_t)(f.band_bytes * HN_MAX(job->n_threads, 1)) : 0);
}

void hn_conv_int8(hn_pool *pool, const hn_conv_int8_job *job) {
    conv_int8_run run = {.job = job,
                         .form = hn_conv_int8_form_of(job),
                         .pool = pool,
                         .tiles = hn_u8s8_pick(),
                         .lines = hn_depthwise_int8_pick(),
                         .finish = hn_int8_result_find(),
                         .elem_bytes = job->result.to == HN_INT8_TO_BYTES ? 1 : sizeof(int32_t),
                         .runs = job->workspace};
    const hn_conv_int8_form *f = &run.form;
    if (f->positions <= 0 || f->images <= 0 || f->n_panels <= 0)
        return;
    run.bands = (uint8_t *)job->workspace + hn_int8_aligned(f->n_runs, sizeof(int64_t));
    hn_conv_int8_runs(f, run.runs);
    int64_t across = (f->n_panels + f->panel_grain - 1) / f->panel_grain;
    hn_pool_for_lanes(pool, f->images * f->n_bands * across, 1, conv_int8_tasks, &run);
}
