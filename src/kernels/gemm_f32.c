/* Float products over tiles in registers.
 *
 * The output is cut into blocks of HN_GEMM_BLOCK_COLS columns and up to BLOCK_ROWS rows; one block
 * is one task. For every DEPTH steps along k the block's part of b is laid out in panels as wide as
 * a tile (or stands so already, when b was packed ahead); each panel stays in the first cache while
 * all rows of the block pass by. Each element sums its products in the same order whatever the cut,
 * so results do not depend on the number of threads.
 *
 * Measured on one core of an Ice Lake server, AVX-512: 85 to 89 % of the peak with 768 steps along
 * k, 60 to 74 % with 16 rows. */
#include "kernels/gemm_micro.h"

enum {
    DEPTH = 256, /* a panel of 32 columns takes 32 KB, the panels of a task 128 KB on its stack */
    BLOCK_ROWS = 560,
    FEW_PRODUCTS = 4096 /* below, laying out costs more than it gains */
};

/* ---- choosing -------------------------------------------------------------------------------- */

typedef struct gemm_tier {
    const hn_gemm_set_f32 *set;
    uint64_t needs;
} gemm_tier;

#if defined(__x86_64__)
extern const hn_gemm_set_f32 hn_gemm_set_f32__avx512, hn_gemm_set_f32__avx2;
static const gemm_tier gemm_tiers[] = {{&hn_gemm_set_f32__avx512, HN_NEEDS_AVX512},
                                       {&hn_gemm_set_f32__avx2, HN_NEEDS_AVX2},
                                       {NULL, 0}};
#elif defined(__aarch64__)
extern const hn_gemm_set_f32 hn_gemm_set_f32__neon;
static const gemm_tier gemm_tiers[] = {{&hn_gemm_set_f32__neon, HN_NEEDS_NEON}, {NULL, 0}};
#else
static const gemm_tier gemm_tiers[] = {{NULL, 0}};
#endif

const hn_gemm_set_f32 *hn_gemm_set_at_f32(uint32_t i, uint64_t *needs) {
    *needs = gemm_tiers[i].needs;
    return gemm_tiers[i].set;
}

const hn_gemm_set_f32 *hn_gemm_pick_f32(void) {
    for (const gemm_tier *t = gemm_tiers; t->set; t++)
        if (hn_cpu_has_all(t->needs))
            return t->set;
    return NULL;
}

/* ---- laying b out ---------------------------------------------------------------------------- */

/* Columns [j0, j1), row after row: what lies side by side is read in one go. */
static void pack_rows(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                      int64_t width, float *out) {
    for (int64_t k = 0; k < nk; k++) {
        const float *from = g->b + (k0 + k) * g->b_row;
        for (int64_t j = j0; j < j1; j += width)
            memcpy(out + (j - j0) * nk + k * width, from + j,
                   (size_t)HN_MIN(width, j1 - j) * sizeof *out);
    }
}

static void pack_columns(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                         int64_t width, float *out) {
    for (int64_t j = j0; j < j1; j++) {
        const float *from = g->b + k0 * g->b_row + j * g->b_col;
        float *to = out + (j - j0) / width * width * nk + (j - j0) % width;
        for (int64_t k = 0; k < nk; k++)
            to[k * width] = from[k * g->b_row];
    }
}

/* Panels of columns [j0, j1). Columns past the matrix are zero, their sums are dropped. */
static void pack_panels(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                        int64_t width, float *out) {
    int64_t last = j0 + (j1 - 1 - j0) / width * width;
    if (j1 - last < width)
        memset(out + (last - j0) * nk, 0, (size_t)(nk * width) * sizeof *out);
    if (g->panels)
        g->panels(g->fill_ctx, k0, nk, j0, j1, width, out);
    else if (g->fill)
        for (int64_t j = j0; j < j1; j += width)
            g->fill(g->fill_ctx, k0, nk, j, HN_MIN(width, j1 - j), out + (j - j0) * nk, width);
    else if (g->b_col == 1)
        pack_rows(g, k0, nk, j0, j1, width, out);
    else
        pack_columns(g, k0, nk, j0, j1, width, out);
}

int64_t hn_gemm_packed_elems_f32(int64_t n, int64_t k) {
    const hn_gemm_set_f32 *set = hn_gemm_pick_f32();
    return set ? (n + set->cols - 1) / set->cols * set->cols * k : 0;
}

/* All panels of the first DEPTH rows, then of the next. */
void hn_gemm_pack_f32(const hn_gemm_job_f32 *g, float *out) {
    const hn_gemm_set_f32 *set = hn_gemm_pick_f32();
    for (int64_t k0 = 0; k0 < g->k; k0 += DEPTH) {
        int64_t nk = HN_MIN((int64_t)DEPTH, g->k - k0);
        for (int64_t j0 = 0; j0 < g->n; j0 += set->cols, out += nk * set->cols)
            pack_panels(g, k0, nk, j0, HN_MIN(j0 + set->cols, g->n), set->cols, out);
    }
}

/* ---- laying a out ---------------------------------------------------------------------------- */

/* Rows of one tile: all their elements of one column side by side, then those of the next. */
static void pack_strip(const hn_gemm_job_f32 *g, int64_t row0, int64_t rows, int64_t k0, int64_t nk,
                       float *out) {
    const float *from = g->a + row0 * g->a_row + k0 * g->a_col;
    for (int64_t k = 0; k < nk; k++)
        for (int64_t i = 0; i < rows; i++)
            out[k * rows + i] = from[i * g->a_row + k * g->a_col];
}

int64_t hn_gemm_packed_left_elems_f32(int64_t m, int64_t k) {
    return hn_gemm_pick_f32() ? m * k : 0;
}

void hn_gemm_pack_left_f32(const hn_gemm_job_f32 *g, float *out) {
    int64_t most = hn_gemm_pick_f32()->max_rows;
    for (int64_t i = 0; i < g->m; i += most)
        pack_strip(g, i, HN_MIN(most, g->m - i), 0, g->k, out + i * g->k);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

typedef struct gemm_task {
    const hn_gemm_job_f32 *job;
    const hn_gemm_set_f32 *set;
    const hn_pool *pool;
} gemm_task;

/* The part of a block that DEPTH steps along k add. */
typedef struct gemm_slice {
    const gemm_task *task;
    int64_t row0, row1, col0, col1, k0, nk;
    const float *right; /* panels of columns col0 .. col1 */
} gemm_slice;

static void map_rows(const hn_gemm_job_f32 *g, int64_t i, int64_t rows, int64_t j, int64_t cols) {
    for (float *c = g->c + i * g->c_row + j; rows > 0; rows--, c += g->c_row)
        g->end->map(c, c, (uint64_t)cols, g->end->map_a, g->end->map_b);
}

/* One tile: `rows` rows from row i on, the panel at column j. */
static void slice_tile(const gemm_slice *s, int64_t i, int64_t rows, int64_t j, const float *a,
                       int64_t a_row, int64_t a_col) {
    const hn_gemm_job_f32 *g = s->task->job;
    int64_t at = i * g->c_row + j;
    hn_gemm_end_f32 end;
    bool is_last = g->end && s->k0 + s->nk == g->k;
    if (is_last)
        end = (hn_gemm_end_f32){.bias = g->end->bias ? g->end->bias + i : NULL,
                                .col_bias = g->end->col_bias ? g->end->col_bias + j : NULL,
                                .residual = g->end->residual ? g->end->residual + at : NULL,
                                .least = g->end->least,
                                .most = g->end->most};
    int64_t cols = HN_MIN((int64_t)s->task->set->cols, g->n - j);
    s->task->set->micro[rows](s->nk, a, a_row, a_col, s->right + (j - s->col0) * s->nk, g->c + at,
                              g->c_row, cols, g->add || s->k0 > 0, is_last ? &end : NULL);
    if (is_last && g->end->map)
        map_rows(g, i, rows, j, cols);
}

/* A panel stays near while all rows pass by. */
static void panels_by_rows(const gemm_slice *s) {
    const hn_gemm_job_f32 *g = s->task->job;
    int64_t most = s->task->set->max_rows, width = s->task->set->cols;
    for (int64_t j = s->col0; j < s->col1; j += width)
        for (int64_t i = s->row0; i < s->row1; i += most) {
            int64_t rows = HN_MIN(most, s->row1 - i);
            if (g->packed_a)
                slice_tile(s, i, rows, j, g->packed_a + i * g->k + s->k0 * rows, 1, rows);
            else
                slice_tile(s, i, rows, j, g->a + i * g->a_row + s->k0, g->a_row, 1);
        }
}

/* The same when elements of a along k do not lie side by side: rows are laid out for all panels. */
static void rows_by_panels(const gemm_slice *s) {
    const hn_gemm_job_f32 *g = s->task->job;
    int64_t most = s->task->set->max_rows;
    float left[HN_GEMM_MAX_ROWS * DEPTH];
    for (int64_t i = s->row0; i < s->row1; i += most) {
        int64_t rows = HN_MIN(most, s->row1 - i);
        if (g->fill_left)
            g->fill_left(g->fill_left_ctx, i, rows, s->k0, s->nk, left, DEPTH);
        else
            pack_strip(g, i, rows, s->k0, s->nk, left);
        for (int64_t j = s->col0; j < s->col1; j += s->task->set->cols)
            slice_tile(s, i, rows, j, left, g->fill_left ? DEPTH : 1, g->fill_left ? 1 : rows);
    }
}

static void gemm_block(void *ctx, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    const gemm_task *t = ctx;
    const hn_gemm_job_f32 *g = t->job;
    int64_t width = t->set->cols;
    float panels[DEPTH * HN_GEMM_BLOCK_COLS];
    gemm_slice s = {t, row0, row1, col0, col1, 0, 0, panels};
    for (; s.k0 < g->k && !hn_pool_is_stopped(t->pool); s.k0 += DEPTH) {
        s.nk = HN_MIN((int64_t)DEPTH, g->k - s.k0);
        if (g->packed_b)
            s.right = g->packed_b + s.k0 * ((g->n + width - 1) / width * width) + col0 * s.nk;
        else
            pack_panels(g, s.k0, s.nk, col0, col1, width, panels);
        if (g->packed_a || (g->a_col == 1 && !g->fill_left))
            panels_by_rows(&s);
        else
            rows_by_panels(&s);
    }
    if (g->after)
        g->after(g->after_ctx, row0, row1, col0, col1);
}

static void end_plainly(const hn_gemm_job_f32 *g) {
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            int64_t at = i * g->c_row + j;
            float v = g->c[at] + (g->end->bias ? g->end->bias[i] : 0);
            v = g->end->col_bias ? v + g->end->col_bias[j] : v;
            v = g->end->residual ? v + g->end->residual[at] : v;
            v = v < g->end->least ? g->end->least : v;
            g->c[at] = v > g->end->most ? g->end->most : v;
        }
    if (g->end->map)
        map_rows(g, 0, g->m, 0, g->n);
}

static void gemm_plainly(hn_pool *pool, const hn_gemm_job_f32 *job) {
    hn_gemm_job_f32 sums = *job;
    sums.after = NULL;
    hn_gemm_plain_f32(pool, &sums);
    if (job->end)
        end_plainly(job);
    if (job->after && job->m > 0 && job->n > 0)
        job->after(job->after_ctx, 0, job->m, 0, job->n);
}

void hn_gemm_f32(hn_pool *pool, const hn_gemm_job_f32 *job) {
    const hn_gemm_set_f32 *set = hn_gemm_pick_f32();
    bool is_packed = job->packed_a || job->packed_b;
    bool is_small = !is_packed && job->m * job->n * job->k < FEW_PRODUCTS;
    bool is_thin = !is_packed && !job->fill && !job->fill_left && job->m < 4;
    if (!set || is_small || is_thin || job->m <= 0 || job->n <= 0 || job->k <= 0) {
        gemm_plainly(pool, job);
        return;
    }
    gemm_task t = {job, set, pool};
    int64_t row_grain = BLOCK_ROWS / set->max_rows * set->max_rows;
    hn_pool_for_2d(pool, job->m, job->n, HN_MIN(job->m, row_grain), HN_GEMM_BLOCK_COLS, gemm_block,
                   &t);
}
