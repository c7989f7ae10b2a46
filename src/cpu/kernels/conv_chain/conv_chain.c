/* Chains of channels-last convolutions, in bands of output rows.
 *
 * A task is a band of one image. It advances by a few output rows at a time: each stage makes the
 * rows that the next one needs and that it has not made yet, so rows are made twice only where two
 * bands meet. Rows between stages lie one behind the other in memory of the task; when that is
 * full, those that are still needed move to its begin. All rows are made by the methods of single
 * convolutions, as convolutions over a few rows; what a number becomes depends neither on the rows
 * that are made with it nor on the band, so bands may be as many as there are threads.
 *
 * Measured with AVX-512 on one core, how many times faster than one by one (1x1, 3x3 depthwise,
 * 1x1, and the bytes between them in one image): 112x112 by 64 with stride 2 (3.1 MB) 1.4, by 96
 * (4.7 MB) 1.27; 56x56 by 144 (1.8 MB) 1.17, with stride 2 1.17; 56x56 by 72 (0.9 MB) 1.1; 28x28 by
 * 192 (0.6 MB) 1.02, with 8 images 1.16; 14x14 by 384 (0.3 MB) 1.01, with 8 images 1.12. Depthwise
 * and 1x1 over 112x112x32 (1.6 MB) 1.14. With two threads small maps gain as well, because each
 * thread reads what it wrote and they wait for each other once: 28x28 by 192 1.3, by 240 1.1, 14x14
 * by 200, 384, 576 and 672 1.17, 1.15, 1.09 and 1.1, also when filters come from the third cache.
 */
#include "cpu/kernels/conv_chain/conv_chain.h"

enum {
    CHAIN_FAR_BYTES =
        768 * 1024, /* less than this stays in the cache of a thread without bands, too */
    CHAIN_NEAR_ELEMS = 768 * 1024 / (int)sizeof(float), /* of rows between stages, at most */
    CHAIN_STEP_ROWS = 8,   /* more gain nothing, fewer are called too often */
    CHAIN_BAND_ROWS = 7,   /* at least: rows around a band are made twice */
    CHAIN_MACS_SAVED = 20, /* products in the time that a number between stages costs otherwise */
    CHAIN_TASKS = 2        /* per thread, of whole images; fewer images are cut into bands */
};

/* The axis of rows; columns are the next. */
static int32_t row_axis(const hn_window *s) {
    return s->n_axes - 2;
}

static int64_t chain_out_rows(const hn_window *s) {
    return s->out[row_axis(s)];
}

static int64_t chain_out_cols(const hn_window *s) {
    return s->out[row_axis(s) + 1];
}

bool hn_conv_chain_can(const hn_conv_chain *chain) {
    for (int i = 0; i < chain->n_stages; i++) {
        const hn_conv_nhwc_job *job = &chain->stages[i];
        int32_t n_before = row_axis(job->window);
        bool has_rows = n_before == 0 || (i == 0 && n_before == 1 && job->window->out[0] == 1);
        if (!job->packed_w || !has_rows || job->method == HN_CONV_NHWC_WINOGRAD)
            return false;
    }
    return true;
}

/* Into how many bands an image is cut. */
static int64_t bands_wanted(const hn_conv_chain *chain, int n_threads) {
    return chain->stages->batch >= CHAIN_TASKS * n_threads ? 1 : n_threads;
}

/* Products of one image that are made twice where two bands meet. */
static double macs_made_twice(const hn_conv_chain *chain) {
    double macs = 0;
    int64_t rows = 0;
    for (int i = chain->n_stages - 1; i > 0; i--) {
        const hn_window *s = chain->stages[i].window;
        const hn_conv_nhwc_job *before = &chain->stages[i - 1];
        int64_t extent = (s->kernel[0] - 1) * s->dilation[0] + 1;
        rows = HN_MIN(rows * s->stride[0] + HN_MAX(extent - s->stride[0], 0), s->in[0]);
        macs += (double)(rows * s->in[1]) * (double)before->filters *
                (double)(before->channels / before->groups * before->window->kernel_elems);
    }
    return macs;
}

bool hn_conv_chain_pays(const hn_conv_chain *chain, int n_threads) {
    const hn_conv_nhwc_job *last = &chain->stages[chain->n_stages - 1];
    int64_t most_bands = HN_MAX(chain_out_rows(last->window) / CHAIN_BAND_ROWS, 1);
    int64_t n_bands = bands_wanted(chain, n_threads);
    double most = 0, between = 0;
    for (int i = 1; i < chain->n_stages; i++) {
        double elems =
            (double)chain->stages[i].window->in_elems * (double)chain->stages[i].channels;
        most = HN_MAX(most, elems);
        between += elems;
    }
    bool is_far = most * (double)last->batch * sizeof(float) >= CHAIN_FAR_BYTES;
    return (is_far || n_bands > 1) && last->batch >= (n_threads + most_bands - 1) / most_bands &&
           macs_made_twice(chain) * (double)(n_bands - 1) <= CHAIN_MACS_SAVED * between;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* How many rows of the map outputs up to row `past` need. */
static int64_t rows_needed(const hn_window *s, int64_t past) {
    int32_t h = row_axis(s);
    int64_t last = (past - 1) * s->stride[h] - s->pad[h] + (s->kernel[h] - 1) * s->dilation[h];
    return HN_MIN(HN_MAX(last + 1, 0), s->in[h]);
}

/* The first row of the map that outputs from `row` on need. */
static int64_t first_needed(const hn_window *s, int64_t row) {
    int32_t h = row_axis(s);
    return HN_MIN(HN_MAX(row * s->stride[h] - s->pad[h], 0), s->in[h]);
}

/* Rows first .. past of a map. */
typedef struct chain_rows {
    float *at;
    int64_t row_elems, room; /* room: rows that can be kept; does not matter for y */
    int64_t first, past;
} chain_rows;

typedef struct chain_run {
    const hn_conv_chain *chain;
    hn_pool *pool;
    int64_t step_rows, band_rows, n_bands; /* of y; bands of an image */
    int64_t room[HN_CONV_CHAIN_MOST];      /* rows that are kept of what each stage reads */
    int64_t task_elems;                    /* of scratch */
} chain_run;

/* One band that is being made: the stages as convolutions over some rows of it. */
typedef struct chain_band {
    const chain_run *run;
    int64_t image;
    const float *x; /* of the image */
    hn_conv_nhwc_job jobs[HN_CONV_CHAIN_MOST];
    hn_window windows[HN_CONV_CHAIN_MOST];
    chain_rows made[HN_CONV_CHAIN_MOST]; /* by each stage */
} chain_band;

static void open_stage(chain_band *b, int i, int64_t row0, float *memory) {
    const hn_conv_nhwc_job *stage = &b->run->chain->stages[i];
    bool is_last = i == b->run->chain->n_stages - 1;
    b->windows[i] = *stage->window;
    b->jobs[i] = *stage;
    b->jobs[i].window = &b->windows[i];
    b->jobs[i].batch = 1;
    b->made[i] = (chain_rows){.at = memory,
                              .row_elems = chain_out_cols(stage->window) * stage->filters,
                              .room = is_last ? 0 : b->run->room[i + 1],
                              .first = row0,
                              .past = row0};
    if (is_last) {
        int64_t row = b->image * chain_out_rows(stage->window) + row0;
        b->made[i].row_elems = chain_out_cols(stage->window) * hn_conv_nhwc_y_stride(stage);
        b->made[i].at = stage->y + row * b->made[i].row_elems;
    }
}

static void open_band(chain_band *b, const chain_run *run, int64_t image, int64_t row0,
                      float *memory) {
    const hn_conv_nhwc_job *stages = run->chain->stages;
    b->run = run;
    b->image = image;
    b->x = stages->x + image * stages->window->in_elems * hn_conv_nhwc_x_stride(stages);
    for (int i = run->chain->n_stages - 1; i >= 0; i--) {
        open_stage(b, i, row0, memory);
        memory += b->made[i].room * b->made[i].row_elems;
        row0 = first_needed(stages[i].window, row0);
    }
}

/* Makes room for rows up to `past`; none before `needed` will be read any more. */
static void drop_chain_rows(chain_rows *map, int64_t needed, int64_t past) {
    if (past - map->first <= map->room)
        return;
    if (needed < map->past)
        memmove(map->at, map->at + (needed - map->first) * map->row_elems,
                (size_t)((map->past - needed) * map->row_elems) * sizeof *map->at);
    map->first = needed;
    map->past = HN_MAX(map->past, needed); /* rows that no window reads are not made */
}

/* What stage i reads, from row `first` on: how many rows there are, and where they are. Where
 * planes of channels lie behind each other no row can be left out. */
static int64_t rows_to_read(const chain_band *b, int i, int64_t first, const float **x) {
    const hn_conv_nhwc_job *stage = &b->run->chain->stages[i];
    int32_t h = row_axis(stage->window);
    if (i == 0) {
        *x = b->x + first * stage->window->in[h + 1] * hn_conv_nhwc_x_stride(stage);
        return stage->window->in[h] - first;
    }
    const chain_rows *before = &b->made[i - 1];
    *x = before->at + (first - before->first) * before->row_elems;
    return before->past - first;
}

/* Stage i makes its rows up to `past`; what it reads has been made. */
static void make_stage_rows(chain_band *b, int i, int64_t past) {
    const hn_conv_nhwc_job *stage = &b->run->chain->stages[i];
    hn_conv_nhwc_job *job = &b->jobs[i];
    hn_window *s = &b->windows[i];
    chain_rows *made = &b->made[i];
    int32_t h = row_axis(s);
    int64_t row = made->past, first = h > 0 ? 0 : first_needed(stage->window, row);
    if (past <= row)
        return;
    s->in[h] = rows_to_read(b, i, first, &job->x);
    s->out[h] = past - row;
    s->pad[h] = first - (row * stage->window->stride[h] - stage->window->pad[h]);
    s->in_elems = s->in[h] * s->in[h + 1] * (h > 0 ? s->in[0] : 1);
    s->out_elems = s->out[h] * s->out[h + 1];
    job->y = made->at + (row - made->first) * made->row_elems;
    if (stage->epilogue.residual)
        job->epilogue.residual =
            stage->epilogue.residual + (b->image * chain_out_rows(stage->window) + row) *
                                           s->out[h + 1] * hn_conv_nhwc_residual_stride(stage);
    hn_conv_nhwc_f32(NULL, job);
    made->past = past;
}

/* Rows of y up to `past`. */
static void make_band_step(chain_band *b, int64_t past) {
    const hn_conv_nhwc_job *stages = b->run->chain->stages;
    int last = b->run->chain->n_stages - 1;
    int64_t need[HN_CONV_CHAIN_MOST];
    need[last] = past;
    for (int i = last; i > 0; i--)
        need[i - 1] = rows_needed(stages[i].window, need[i]);
    for (int i = 0; i <= last; i++) {
        if (i < last)
            drop_chain_rows(&b->made[i], first_needed(stages[i + 1].window, b->made[i + 1].past),
                            need[i]);
        make_stage_rows(b, i, need[i]);
    }
}

/* ---- bands ----------------------------------------------------------------------------------- */

static void chain_bands(void *ctx, int lane, int64_t begin, int64_t end) {
    const chain_run *run = ctx;
    int64_t rows = chain_out_rows(run->chain->stages[run->chain->n_stages - 1].window);
    chain_band band;
    for (int64_t t = begin; t < end; t++) {
        int64_t row0 = t % run->n_bands * run->band_rows,
                row1 = HN_MIN(row0 + run->band_rows, rows);
        open_band(&band, run, t / run->n_bands, row0, run->chain->scratch + lane * run->task_elems);
        for (int64_t row = row0; row < row1 && !hn_pool_is_stopped(run->pool);
             row += run->step_rows)
            make_band_step(&band, HN_MIN(row + run->step_rows, row1));
    }
}

/* Rows that must be kept between stages: what a step reads, and as many as it makes again, so that
 * rows move only after several steps. Returns the elements. */
static int64_t read_rooms(chain_run *run) {
    int64_t rows = run->step_rows, elems = 0;
    run->room[0] = 0;
    for (int i = run->chain->n_stages - 1; i > 0; i--) {
        const hn_window *s = run->chain->stages[i].window;
        int64_t more = rows * s->stride[0], extent = (s->kernel[0] - 1) * s->dilation[0] + 1;
        rows = HN_MIN(more + HN_MAX(extent - s->stride[0], 0), s->in[0]);
        run->room[i] = extent > s->stride[0] ? HN_MIN(rows + more, s->in[0]) : rows;
        elems += run->room[i] * s->in[1] * run->chain->stages[i].channels;
    }
    return elems;
}

static chain_run cut_chain(const hn_conv_chain *chain, int n_threads) {
    chain_run run = {.chain = chain};
    int64_t rows = chain_out_rows(chain->stages[chain->n_stages - 1].window);
    int64_t parts = bands_wanted(chain, n_threads);
    run.band_rows = HN_MAX((rows + parts - 1) / parts, CHAIN_BAND_ROWS);
    run.n_bands = (rows + run.band_rows - 1) / run.band_rows;
    run.step_rows = HN_MIN(CHAIN_STEP_ROWS, run.band_rows);
    while ((run.task_elems = read_rooms(&run)) > CHAIN_NEAR_ELEMS && run.step_rows > 1)
        run.step_rows = (run.step_rows + 1) / 2;
    return run;
}

int64_t hn_conv_chain_scratch_elems(const hn_conv_chain *chain, int n_threads) {
    return cut_chain(chain, n_threads).task_elems * n_threads;
}

void hn_conv_chain_f32(hn_pool *pool, const hn_conv_chain *chain) {
    chain_run run = cut_chain(chain, hn_pool_threads(pool));
    run.pool = pool;
    hn_pool_for_lanes(pool, chain->stages->batch * run.n_bands, 1, chain_bands, &run);
}
