/* Float products over tiles in registers.
 *
 * The output is cut into blocks of columns and tiles of rows; a task is some tiles of one block.
 * Sums stay in registers over a slice of up to HN_GEMM_PACKED_DEPTH steps along k. The block's part
 * of b in that slice stays in the second cache while tiles of a pass by, each staying in the first
 * while it meets all panels; meanwhile the next part of packed weights is prefetched. b is packed
 * in panels, unless it was packed ahead, or few rows read it in place. Half precision becomes
 * floats in registers where there are few rows, else in panels that a block of columns shares. Each
 * element sums its products in the same order whatever the cut, so results do not depend on the
 * number of threads.
 *
 * Measured on one core of an Emerald Rapids server (230 GFLOP/s): 95 % of the peak for 128 x 768 x
 * 768, 97 % for 196 x 1024 x 256 with packed weights, 89 % with k of 3072, 84 % for n of 116; one
 * row reads packed weights at 93 % of what the core can read from its second cache. Weights beyond
 * the second cache: one row reads floats at 17.7 GB/s and float16 at 16.4, two rows 17.5 and 15.2,
 * 8 rows 14.2 and 8.7; with 64 rows float16 takes 1.1 of the time of floats. */
#include "cpu/kernels/convert/convert.h"
#include "cpu/kernels/gemm/gemm_micro.h"
#include "cpu/kernels/gemm_bf16/gemm_bf16.h"

enum {
    FRESH_DEPTH = 256, /* of panels that are packed for one product */
    ROOM_ELEMS = HN_GEMM_PACKED_DEPTH * HN_GEMM_BLOCK_COLS, /* 160 KB on a task's stack */
    LEFT_GAP = 16,            /* floats between packed rows, so that they do not evict each other */
    OUT_ELEMS = 128 * 1024,   /* of c in one task that comes back to it */
    PAGE_ELEMS = 1024,        /* addresses so far apart share a place in the first cache */
    FEW_TILES = 2,            /* that meet b where it lies: packing costs more than it gains */
    NEAR_ELEMS = 128,         /* as long may rows of such a b be for any number of tiles */
    LEAST_PRODUCTS = 1 << 19, /* of a task that is worth another thread */
    LEAST_HEIGHT = 8,         /* fewer rows take as long: all of b is read for them */
    TASKS_PER_THREAD = 4
};

/* ---- tiles ----------------------------------------------------------------------------------- */

typedef enum right_form { RIGHT_PACKED, RIGHT_HALF, RIGHT_FRESH, RIGHT_AS_IS } right_form;

/* A product under way. */
typedef struct gemm_task {
    const hn_gemm_job_f32 *job;
    const hn_gemm_set_f32 *set;
    const hn_pool *pool;
    int64_t n_tiles, depth, padded; /* tiles of rows; steps of a slice; columns of all panels */
    right_form right;
    const hn_gemm_wide_f32 *wide; /* tiles of several panels */
    int64_t half_cols; /* columns of the least of those that reads half precision; 0: none does */
    int64_t n_floats;  /* of a row of a, whose pairs of bfloat16 are the job's elements; 0: its
                          elements are floats */
} gemm_task;

/* What a slice adds to a block of columns. */
typedef struct gemm_slice {
    const gemm_task *task;
    int64_t col0, col1, k0, nk;
    const float *panels;         /* packed, or packed ahead */
    int64_t panels0;             /* the first column that stands there */
    const uint16_t *half_panels; /* from col0 on, when b is packed in half precision */
    /* Packed panels that come next, prefetched by a part in each tile. */
    const char *later, *later_end;
    int64_t later_bytes; /* per step along k */
} gemm_slice;

/* Where the elements of a tile's rows lie. */
typedef struct gemm_left {
    int64_t row0, rows;
    const float *at;
    int64_t row, col; /* strides */
} gemm_left;

static int64_t residual_stride(const hn_gemm_job_f32 *g) {
    return g->epilogue->residual_stride ? g->epilogue->residual_stride : g->c_row;
}

/* The epilogue of a tile whose first element is row i, column j. */
static hn_epilogue_f32 tile_epilogue(const hn_gemm_job_f32 *g, int64_t i, int64_t j) {
    hn_epilogue_f32 e = *g->epilogue;
    e.residual_stride = residual_stride(g);
    e.bias = e.bias ? e.bias + i : NULL;
    e.col_bias = e.col_bias ? e.col_bias + j : NULL;
    e.residual = e.residual ? e.residual + i * e.residual_stride + j : NULL;
    return e;
}

/* Where a tile of up to `width` columns from column j on finds b. */
static void find_right(const gemm_slice *s, int64_t j, int64_t width, hn_gemm_tile_f32 *tile) {
    const hn_gemm_job_f32 *g = s->task->job;
    int64_t cols = s->task->set->cols;
    bool is_laid_out = j >= s->panels0;
    if (!is_laid_out && !s->half_panels) {
        tile->b = g->b + s->k0 * g->b_row + j;
        tile->b_row = g->b_row;
        tile->b_next = cols;
        return;
    }
    tile->b = is_laid_out ? (const void *)(s->panels + (j - s->panels0) * s->nk)
                          : s->half_panels + (j - s->col0) * s->nk;
    tile->b_row = HN_MIN(width, cols);
    tile->b_next = s->nk * cols;
}

/* A tile that begins at column j and has up to `width` columns. */
static void run_tile(gemm_slice *s, const gemm_left *left, int64_t j, int64_t width,
                     hn_gemm_tile_fn_f32 fn) {
    const hn_gemm_job_f32 *g = s->task->job;
    int64_t at = left->row0 * g->c_row + j;
    hn_epilogue_f32 epilogue;
    hn_gemm_tile_f32 tile = {.k = s->nk,
                             .a = left->at,
                             .a_row = left->row,
                             .a_col = left->col,
                             .c = g->c + at,
                             .c_row = g->c_row,
                             .cols = HN_MIN(width, s->col1 - j),
                             .add = g->add || s->k0 > 0};
    find_right(s, j, width, &tile);
    if (g->epilogue && s->k0 + s->nk == g->k) {
        epilogue = tile_epilogue(g, left->row0, j);
        tile.epilogue = &epilogue;
    }
    if (s->later < s->later_end) {
        tile.later = s->later;
        tile.later_bytes = s->later_bytes;
        s->later += s->later_bytes * s->nk;
    }
    fn(&tile);
}

/* The rows of a tile meet all columns of the slice. */
static void run_tiles(gemm_slice *s, const gemm_left *left) {
    const hn_gemm_set_f32 *set = s->task->set;
    const hn_gemm_job_f32 *g = s->task->job;
    int64_t j = s->col0, rows = left->rows, width;
    int64_t full_end = HN_MIN(s->col1, g->n / set->cols * set->cols);
    for (const hn_gemm_wide_f32 *w = s->task->wide; w->rows; w++)
        for (; w->rows == rows && j + w->cols <= full_end; j += w->cols)
            run_tile(s, left, j, w->cols, w->fn);
    for (; j < s->col1; j += width) {
        width = hn_gemm_width_f32(set, s->col1, j);
        run_tile(s, left, j, width, width == set->cols ? set->full[rows] : set->narrow[rows]);
    }
    if (g->epilogue && s->k0 + s->nk == g->k)
        hn_epilogue_unary_f32(g->epilogue, rows, s->col1 - s->col0, g->c_row,
                              g->c + left->row0 * g->c_row + s->col0);
}

/* ---- sides ----------------------------------------------------------------------------------- */

/* Rows of the left side packed next to each other, for as many panels as the slice has. */
static void lay_rows(const gemm_slice *s, gemm_left *left, float *room) {
    const hn_gemm_job_f32 *g = s->task->job;
    int64_t row0 = left->row0, rows = left->rows;
    left->at = room;
    left->row = s->nk + LEFT_GAP;
    left->col = 1;
    if (g->a_col == 1) {
        for (int64_t i = 0; i < rows; i++)
            memcpy(room + i * left->row, g->a + (row0 + i) * g->a_row + s->k0,
                   (size_t)s->nk * sizeof *room);
    } else {
        left->row = 1;
        left->col = rows;
        hn_gemm_pack_strip_f32(g, row0, rows, s->k0, s->nk, room);
    }
}

/* Rows of the left side in bfloat16, whose neighbours along k are pairs. */
static void lay_pairs(const gemm_slice *s, gemm_left *left, float *room) {
    const hn_gemm_job_f32 *g = s->task->job;
    const hn_conversions *by = hn_conversions_find();
    int64_t first = 2 * s->k0, n = HN_MIN(2 * s->nk, s->task->n_floats - first);
    float line[2 * HN_GEMM_PACKED_DEPTH];
    left->at = room;
    left->row = s->nk + LEFT_GAP;
    left->col = 1;
    for (int64_t i = 0; i < left->rows; i++) {
        const float *from = g->a + (left->row0 + i) * g->a_row + first * g->a_col;
        uint16_t *to = (uint16_t *)(void *)(room + i * left->row);
        for (int64_t k = 0; g->a_col != 1 && k < n; k++)
            line[k] = from[k * g->a_col];
        by->floats_to_bfloats((uint64_t)n, g->a_col == 1 ? from : line, to);
        if (n < 2 * s->nk)
            to[n] = 0;
    }
}

/* Whether the rows of a tile would evict each other from the first cache. */
static bool rows_collide(const hn_gemm_job_f32 *g) {
    int64_t past = g->a_row % PAGE_ELEMS;
    return g->a_row >= PAGE_ELEMS && HN_MIN(past, PAGE_ELEMS - past) < 64;
}

static void tile_of_rows(gemm_slice *s, int64_t tile) {
    const gemm_task *t = s->task;
    const hn_gemm_job_f32 *g = t->job;
    float room[HN_GEMM_MAX_ROWS * (HN_GEMM_PACKED_DEPTH + LEFT_GAP)];
    gemm_left left = {.row0 = hn_gemm_tile_row_f32(g->m, t->n_tiles, tile)};
    left.rows = hn_gemm_tile_row_f32(g->m, t->n_tiles, tile + 1) - left.row0;
    bool is_met_once = s->col1 - s->col0 <= t->set->cols;
    if (t->n_floats) {
        lay_pairs(s, &left, room);
    } else if (g->packed_a) {
        left.at = g->packed_a + left.row0 * g->k + s->k0 * left.rows;
        left.row = 1;
        left.col = left.rows;
    } else if (is_met_once || (g->a_col == 1 && !rows_collide(g))) {
        left.at = g->a + left.row0 * g->a_row + s->k0 * g->a_col;
        left.row = g->a_row;
        left.col = g->a_col;
    } else {
        lay_rows(s, &left, room);
    }
    run_tiles(s, &left);
}

/* Panels of half precision as floats. */
static void widen_panels(const gemm_slice *s, float *room) {
    const gemm_task *t = s->task;
    const hn_conversions *by = hn_conversions_find();
    int64_t padded = hn_gemm_padded_f32(t->set, s->col1 - s->panels0);
    (t->job->packed_as == HN_STORED_F16 ? by->halves_to_floats : by->bfloats_to_floats)(
        (uint64_t)(padded * s->nk), s->half_panels + (s->panels0 - s->col0) * s->nk, room);
}

/* Panels for the columns of the slice; those that can be read where they lie are left there. */
static void lay_right(gemm_slice *s, float *room) {
    const gemm_task *t = s->task;
    int64_t cols = s->col1 - s->col0, unit = t->set->cols;
    s->panels = room;
    s->panels0 = s->col0;
    if (t->right == RIGHT_AS_IS)
        s->panels0 += cols / unit * unit;
    else if (t->half_cols)
        s->panels0 += cols / t->half_cols * t->half_cols;
    if (s->panels0 >= s->col1)
        return;
    if (s->half_panels)
        widen_panels(s, room);
    else
        hn_gemm_pack_panels_f32(t->set, t->job, s->k0, s->nk, s->panels0, s->col1, room);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* The next slice of the block, or the first one of the block that this thread is likely to take. */
static void look_ahead(const gemm_task *t, int64_t n_tiles, gemm_slice *s) {
    const hn_gemm_job_f32 *g = t->job;
    int64_t cols = s->col1 - s->col0, k0 = s->k0 + t->depth, col0 = s->col0;
    if (k0 >= g->k) {
        k0 = 0;
        col0 += cols * hn_pool_threads(t->pool);
        cols = HN_MIN(cols, g->n - col0);
    }
    int64_t nk = HN_MIN(t->depth, g->k - k0), calls = n_tiles * (s->col1 - s->col0);
    int64_t elem_bytes = s->half_panels ? sizeof *s->half_panels : sizeof *s->panels;
    s->later = s->later_end = NULL;
    if (cols <= 0)
        return;
    s->later = (const char *)g->packed_b + (k0 * t->padded + col0 * nk) * elem_bytes;
    s->later_end = s->later + cols * nk * elem_bytes;
    s->later_bytes = (cols * t->set->cols * elem_bytes + calls - 1) / calls;
}

/* The part of packed panels that the slice needs. */
static void find_packed(const gemm_task *t, gemm_slice *s) {
    int64_t at = s->k0 * t->padded + s->col0 * s->nk;
    if (t->right == RIGHT_HALF)
        s->half_panels = (const uint16_t *)t->job->packed_b + at;
    else
        s->panels = (const float *)t->job->packed_b + at;
}

static void run_slices(const gemm_task *t, int64_t tile0, int64_t tile1, gemm_slice *s,
                       float *room) {
    const hn_gemm_job_f32 *g = t->job;
    for (; s->k0 < g->k && !hn_pool_is_stopped(t->pool); s->k0 += t->depth) {
        s->nk = HN_MIN(t->depth, g->k - s->k0);
        if (g->packed_b) {
            find_packed(t, s);
            look_ahead(t, tile1 - tile0, s);
        }
        if (t->right != RIGHT_PACKED)
            lay_right(s, room);
        for (int64_t tile = tile0; tile < tile1; tile++)
            tile_of_rows(s, tile);
    }
}

static void packed_block(const gemm_task *t, int64_t tile0, int64_t tile1, gemm_slice *s) {
    run_slices(t, tile0, tile1, s, NULL);
}

/* Panels are packed here, on the stack, whose size base/thread_pool.c states. */
static void fresh_block(const gemm_task *t, int64_t tile0, int64_t tile1, gemm_slice *s) {
    float room[ROOM_ELEMS];
    run_slices(t, tile0, tile1, s, room);
}

static void gemm_block(void *ctx, int64_t tile0, int64_t tile1, int64_t col0, int64_t col1) {
    const gemm_task *t = ctx;
    const hn_gemm_job_f32 *g = t->job;
    gemm_slice s = {.task = t, .col0 = col0, .col1 = col1, .panels0 = col0};
    (t->right == RIGHT_PACKED ? packed_block : fresh_block)(t, tile0, tile1, &s);
    if (g->after)
        g->after(g->after_ctx, hn_gemm_tile_row_f32(g->m, t->n_tiles, tile0),
                 hn_gemm_tile_row_f32(g->m, t->n_tiles, tile1), col0, col1);
}

/* In how many pieces of whole units n is cut, and how large those are. */
static int64_t grain_of(int64_t n, int64_t pieces, int64_t unit) {
    int64_t units = (n + unit - 1) / unit;
    return HN_MAX((units + pieces - 1) / pieces, 1) * unit;
}

/* Columns of the widest tile: blocks are whole ones. */
static int64_t widest_tile(const gemm_task *t) {
    for (const hn_gemm_wide_f32 *w = t->wide; w->rows; w++)
        if (w->rows == t->job->m)
            return w->cols;
    return t->set->cols;
}

/* Columns that a block may have. Nothing is read twice where all rows are one wide tile. */
static int64_t most_columns(const gemm_task *t, int64_t unit) {
    if (t->right == RIGHT_FRESH || (t->right == RIGHT_HALF && !t->half_cols))
        return HN_GEMM_BLOCK_COLS;
    return unit > t->set->cols ? INT64_MAX
                               : HN_MAX(t->set->working_set_elems / t->depth / unit * unit, unit);
}

/* What caches hold, then smaller until all threads have work. */
static void cut_into_tasks(const gemm_task *t, int64_t *tile_grain, int64_t *col_grain) {
    const hn_gemm_job_f32 *g = t->job;
    int64_t rows = t->set->max_rows, unit = widest_tile(t), threads = hn_pool_threads(t->pool);
    int64_t most_cols = most_columns(t, unit);
    int64_t across = g->n / most_cols + (g->n % most_cols != 0), down = 1;
    int64_t wanted = threads > 1 ? threads * TASKS_PER_THREAD : 1;
    if (t->right == RIGHT_FRESH)
        unit = t->set->cols;
    *col_grain = grain_of(g->n, across, unit);
    if (t->depth < g->k)
        down = (g->m * *col_grain + OUT_ELEMS - 1) / OUT_ELEMS;
    *tile_grain = grain_of(t->n_tiles, down, 1);
    while (across * down < wanted) {
        int64_t height = HN_MIN(*tile_grain * rows, g->m);
        bool few_rows = *tile_grain == 1, few_cols = *col_grain == unit;
        if ((few_rows && few_cols) ||
            HN_MAX(height, LEAST_HEIGHT) * *col_grain * g->k < 2 * LEAST_PRODUCTS)
            return;
        bool is_laid_out = t->right == RIGHT_FRESH || t->right == RIGHT_HALF;
        bool by_rows = !is_laid_out && height > *col_grain;
        if (few_cols || (by_rows && !few_rows))
            *tile_grain = grain_of(t->n_tiles, down *= 2, 1);
        else
            *col_grain = grain_of(g->n, across *= 2, unit);
    }
}

static right_form choose_right(const hn_gemm_job_f32 *g, int64_t n_tiles) {
    if (g->packed_b)
        return g->packed_as == HN_STORED_F32 || g->packed_as == HN_STORED_BF16_PAIRS ? RIGHT_PACKED
                                                                                     : RIGHT_HALF;
    bool lies_well = !g->fill && !g->panels && g->b_col == 1;
    return lies_well && (n_tiles <= FEW_TILES || g->b_row <= NEAR_ELEMS) ? RIGHT_AS_IS
                                                                         : RIGHT_FRESH;
}

/* Half precision is read by tiles of several panels alone, where all rows are one of them. */
static void choose_wide_tiles(gemm_task *t) {
    t->wide = t->set->wide[HN_STORED_F32];
    if (t->right != RIGHT_HALF)
        return;
    const hn_gemm_wide_f32 *half = t->set->wide[t->job->packed_as];
    for (const hn_gemm_wide_f32 *w = half; w->rows; w++)
        if (w->rows == t->job->m)
            t->half_cols = w->cols;
    if (t->half_cols)
        t->wide = half;
}

static void apply_epilogue_plainly(const hn_gemm_job_f32 *g) {
    const hn_epilogue_f32 *e = g->epilogue;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            float v = g->c[i * g->c_row + j] + (e->bias ? e->bias[i] : 0);
            v = e->col_bias ? v + e->col_bias[j] : v;
            g->c[i * g->c_row + j] = e->residual ? v + e->residual[i * residual_stride(g) + j] : v;
        }
    hn_epilogue_activate_f32(e, g->m, g->n, g->c_row, g->c);
}

static void gemm_plainly(hn_pool *pool, const hn_gemm_job_f32 *job) {
    hn_gemm_job_f32 sums = *job;
    sums.after = NULL;
    hn_gemm_plain_f32(pool, &sums);
    if (job->epilogue)
        apply_epilogue_plainly(job);
    if (job->after && job->m > 0 && job->n > 0)
        job->after(job->after_ctx, 0, job->m, 0, job->n);
}

static void run_gemm(hn_pool *pool, const hn_gemm_set_f32 *set, const hn_gemm_job_f32 *job,
                     int64_t n_floats) {
    gemm_task t = {.job = job, .set = set, .pool = pool, .n_floats = n_floats};
    int64_t tile_grain, col_grain;
    t.n_tiles = hn_gemm_n_tiles_f32(set, job->m);
    t.right = choose_right(job, t.n_tiles);
    t.depth =
        hn_gemm_depth_f32(job->k, t.right == RIGHT_FRESH ? FRESH_DEPTH : HN_GEMM_PACKED_DEPTH);
    t.padded = hn_gemm_padded_f32(set, job->n);
    choose_wide_tiles(&t);
    cut_into_tasks(&t, &tile_grain, &col_grain);
    hn_pool_for_2d(pool, t.n_tiles, job->n, tile_grain, col_grain, gemm_block, &t);
}

void hn_gemm_f32(hn_pool *pool, const hn_gemm_job_f32 *job) {
    const hn_gemm_set_f32 *set = hn_gemm_pick_f32();
    if (!set || job->m <= 0 || job->n <= 0 || job->k <= 0) {
        gemm_plainly(pool, job);
    } else if (job->packed_b && job->packed_as == HN_STORED_BF16_PAIRS && hn_bf16_blocks_pick()) {
        hn_gemm_bf16_blocks(pool, job);
    } else if (job->packed_b && job->packed_as == HN_STORED_BF16_PAIRS) {
        hn_gemm_job_f32 pairs = *job;
        pairs.k = (job->k + 1) / 2;
        run_gemm(pool, hn_gemm_pick_bf16(), &pairs, job->k);
    } else {
        run_gemm(pool, set, job, 0);
    }
}
