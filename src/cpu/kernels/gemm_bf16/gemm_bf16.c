/* Products of bfloat16: a task is some strips of rows times some panels of columns. The part of b
 * that a slice along k needs stays in the second cache while strips pass by, each rounded once;
 * meanwhile the next part is prefetched.
 *
 * Measured on one core of an Emerald Rapids server: see docs/performance.md. */
#include "cpu/kernels/gemm_bf16/gemm_bf16.h"

enum {
    BF16_CACHE_LINE = 64,
    BF16_PANELS_BYTES = 1200 * 1024, /* of b in the second cache */
    BF16_TASK_PRODUCTS = 1 << 22,    /* of a task that is worth another thread */
    BF16_TASKS_PER_THREAD = 2,       /* each rounds its rows */
    GATHERED = 8 * HN_BF16_STEP      /* numbers of a row that are not neighbours, at a time */
};

typedef struct bf16_run {
    const hn_gemm_job_f32 *job;
    const hn_bf16_blocks *blocks;
    const hn_pool *pool;
    int64_t n_strips, n_panels, depth;
} bf16_run;

/* A slice along k of the columns of a task. */
typedef struct bf16_slice {
    const bf16_run *run;
    int64_t panel0, panel1, k0, nk, n_steps;
    const char *later, *later_end; /* what comes next, prefetched by a part in each block */
    int64_t later_bytes;           /* per step */
} bf16_slice;

static int64_t bf16_strip_row(const bf16_run *run, int64_t strip) {
    return strip * run->job->m / run->n_strips;
}

static const uint16_t *bf16_panel(const bf16_run *run, int64_t k0, int64_t panel) {
    int64_t steps = hn_bf16_steps(HN_MIN(run->depth, run->job->k - k0));
    int64_t before = k0 / HN_BF16_STEP * run->n_panels + panel * steps;
    return (const uint16_t *)run->job->packed_b + before * HN_BF16_STEP_ELEMS;
}

static void round_strip(const bf16_slice *s, int64_t row0, int64_t rows, uint16_t *room) {
    const hn_gemm_job_f32 *g = s->run->job;
    float line[GATHERED];
    for (int64_t r = 0; r < rows; r++) {
        const float *from = g->a + (row0 + r) * g->a_row + s->k0 * g->a_col;
        uint16_t *to = room + r * HN_BF16_STEP;
        if (g->a_col == 1) {
            s->run->blocks->round(s->nk, from, to);
            continue;
        }
        for (int64_t k = 0, n; k < s->nk; k += n) {
            n = HN_MIN(GATHERED, s->nk - k);
            for (int64_t i = 0; i < n; i++)
                line[i] = from[(k + i) * g->a_col];
            s->run->blocks->round(n, line, to + k / HN_BF16_STEP * HN_BF16_STEP_ELEMS);
        }
    }
}

/* The epilogue of a block whose first element is row i, column j. */
static hn_epilogue_f32 bf16_epilogue(const hn_gemm_job_f32 *g, int64_t i, int64_t j) {
    hn_epilogue_f32 e = *g->epilogue;
    e.residual_stride = e.residual_stride ? e.residual_stride : g->c_row;
    e.bias = e.bias ? e.bias + i : NULL;
    e.col_bias = e.col_bias ? e.col_bias + j : NULL;
    e.residual = e.residual ? e.residual + i * e.residual_stride + j : NULL;
    return e;
}

/* Whole blocks are summed where they stay; others in a buffer, which is added to them. */
static void bf16_block(bf16_slice *s, int64_t row0, int64_t rows, hn_bf16_block *block,
                       int64_t panel) {
    const hn_gemm_job_f32 *g = s->run->job;
    int64_t j = panel * HN_BF16_COLS, cols = HN_MIN(HN_BF16_COLS, g->n - j);
    _Alignas(BF16_CACHE_LINE) float room[HN_BF16_ROWS * HN_BF16_COLS];
    float *c = g->c + row0 * g->c_row + j;
    bool in_place = rows == HN_BF16_ROWS && cols == HN_BF16_COLS;
    bool add = g->add || s->k0 > 0, is_last = s->k0 + s->nk == g->k;
    block->b = bf16_panel(s->run, s->k0, panel);
    block->sums = in_place ? c : room;
    block->sums_row = in_place ? g->c_row : HN_BF16_COLS;
    block->add = in_place && add;
    block->later = s->later < s->later_end ? s->later : NULL;
    block->later_bytes = block->later ? s->later_bytes : 0;
    s->later += s->later_bytes * s->n_steps;
    s->run->blocks->block(block);
    hn_epilogue_f32 epilogue;
    hn_bf16_result result = {.sums = block->sums,
                             .sums_row = block->sums_row,
                             .rows = rows,
                             .cols = cols,
                             .add = !in_place && add,
                             .c = c,
                             .c_row = g->c_row};
    if (g->epilogue && is_last) {
        epilogue = bf16_epilogue(g, row0, j);
        result.epilogue = &epilogue;
    }
    if (!in_place || result.epilogue)
        s->run->blocks->finish(&result);
    if (result.epilogue)
        hn_epilogue_unary_f32(&epilogue, rows, cols, g->c_row, c);
}

/* The next slice of these columns, or the first one of those that this thread is likely to take. */
static void find_later(bf16_slice *s, int64_t n_strips) {
    const bf16_run *run = s->run;
    int64_t panels = s->panel1 - s->panel0, k0 = s->k0 + run->depth, panel0 = s->panel0;
    s->later = s->later_end = NULL;
    s->later_bytes = 0;
    if (k0 >= run->job->k) {
        k0 = 0;
        panel0 += panels * hn_pool_threads(run->pool);
    }
    if (panel0 >= run->n_panels)
        return;
    int64_t panel1 = HN_MIN(panel0 + panels, run->n_panels), calls = n_strips * panels;
    s->later = (const char *)bf16_panel(run, k0, panel0);
    s->later_end = (const char *)bf16_panel(run, k0, panel1);
    s->later_bytes = (s->later_end - s->later) / (calls * s->n_steps) + 1;
}

static void bf16_tasks(void *ctx, int64_t strip0, int64_t strip1, int64_t panel0, int64_t panel1) {
    const bf16_run *run = ctx;
    const hn_gemm_job_f32 *g = run->job;
    _Alignas(BF16_CACHE_LINE) uint16_t room[HN_BF16_ROWS * HN_BF16_DEPTH]; /* 72 KB */
    bf16_slice s = {.run = run, .panel0 = panel0, .panel1 = panel1};
    run->blocks->begin();
    for (; s.k0 < g->k && !hn_pool_is_stopped(run->pool); s.k0 += run->depth) {
        s.nk = HN_MIN(run->depth, g->k - s.k0);
        s.n_steps = hn_bf16_steps(s.nk);
        hn_bf16_block block = {.n_steps = s.n_steps, .a = room};
        find_later(&s, strip1 - strip0);
        for (int64_t strip = strip0; strip < strip1; strip++) {
            int64_t row0 = bf16_strip_row(run, strip), rows = bf16_strip_row(run, strip + 1) - row0;
            round_strip(&s, row0, rows, room);
            for (int64_t panel = panel0; panel < panel1; panel++)
                bf16_block(&s, row0, rows, &block, panel);
        }
    }
    run->blocks->end();
    if (g->after)
        g->after(g->after_ctx, bf16_strip_row(run, strip0), bf16_strip_row(run, strip1),
                 panel0 * HN_BF16_COLS, HN_MIN(panel1 * HN_BF16_COLS, g->n));
}

/* Panels that the second cache holds times all strips, then less until all threads have work. */
static void cut_bf16_tasks(const bf16_run *run, int64_t *strip_grain, int64_t *panel_grain) {
    int64_t threads = hn_pool_threads(run->pool), k = run->job->k;
    int64_t wanted = threads > 1 ? threads * BF16_TASKS_PER_THREAD : 1;
    int64_t panel_bytes = run->depth * HN_BF16_COLS * (int64_t)sizeof(uint16_t);
    *strip_grain = run->n_strips;
    *panel_grain = HN_MIN(HN_MAX(BF16_PANELS_BYTES / panel_bytes, 1), run->n_panels);
    for (;;) {
        int64_t down = (run->n_strips + *strip_grain - 1) / *strip_grain;
        int64_t across = (run->n_panels + *panel_grain - 1) / *panel_grain;
        int64_t products = *strip_grain * *panel_grain * HN_BF16_ROWS * HN_BF16_COLS * k;
        bool is_one = *strip_grain == 1 && *panel_grain == 1;
        if (down * across >= wanted || products < 2 * BF16_TASK_PRODUCTS || is_one)
            return;
        if (*strip_grain > *panel_grain)
            *strip_grain = (*strip_grain + 1) / 2;
        else
            *panel_grain = (*panel_grain + 1) / 2;
    }
}

void hn_gemm_bf16_blocks(hn_pool *pool, const hn_gemm_job_f32 *job) {
    bf16_run run = {.job = job,
                    .blocks = hn_bf16_blocks_pick(),
                    .pool = pool,
                    .n_strips = (job->m + HN_BF16_ROWS - 1) / HN_BF16_ROWS,
                    .n_panels = hn_bf16_panels(job->n),
                    .depth = hn_bf16_depth(job->k)};
    int64_t strip_grain, panel_grain;
    cut_bf16_tasks(&run, &strip_grain, &panel_grain);
    hn_pool_for_2d(pool, run.n_strips, run.n_panels, strip_grain, panel_grain, bf16_tasks, &run);
}
