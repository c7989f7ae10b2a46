/* Float products over tiles in registers.
 *
 * The output is cut into blocks of BLOCK_COLS columns and up to BLOCK_ROWS rows; one block is one
 * task. For every DEPTH steps along k the block's part of b is laid out in panels as wide as a tile
 * (or stands so already, when b was packed ahead); each panel stays in the first cache while all
 * rows of the block pass by. Each element sums its products in the same order whatever the cut, so
 * results do not depend on the number of threads. */
#include "kernels/gemm_micro.h"

enum {
    DEPTH = 256,      /* a panel of 32 columns takes 32 KB */
    BLOCK_COLS = 128, /* the panels of a task: 128 KB on its stack */
    BLOCK_ROWS = 448,
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

static void pack_rows(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t nj,
                      int64_t width, float *out) {
    const float *from = g->b + k0 * g->b_row + j0 * g->b_col;
    if (g->b_col == 1) {
        for (int64_t k = 0; k < nk; k++)
            memcpy(out + k * width, from + k * g->b_row, (size_t)nj * sizeof *out);
        return;
    }
    for (int64_t j = 0; j < nj; j++)
        for (int64_t k = 0; k < nk; k++)
            out[k * width + j] = from[j * g->b_col + k * g->b_row];
}

/* One panel; columns past the matrix are zero, their sums are dropped. */
static void pack_panel(const hn_gemm_job_f32 *g, int64_t k0, int64_t nk, int64_t j0, int64_t width,
                       float *out) {
    int64_t nj = HN_MIN(width, g->n - j0);
    if (nj < width)
        memset(out, 0, (size_t)(nk * width) * sizeof *out);
    if (g->fill)
        g->fill(g->fill_ctx, k0, nk, j0, nj, out, width);
    else
        pack_rows(g, k0, nk, j0, nj, width, out);
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
            pack_panel(g, k0, nk, j0, set->cols, out);
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

typedef struct gemm_task {
    const hn_gemm_job_f32 *job;
    const hn_gemm_set_f32 *set;
    const hn_pool *pool;
} gemm_task;

/* Rows [row0, row1) of one panel. */
static void panel_rows(const gemm_task *t, int64_t row0, int64_t row1, int64_t k0, int64_t nk,
                       int64_t j0, const float *panel, const float *a, int64_t a_row) {
    const hn_gemm_job_f32 *g = t->job;
    int64_t cols = HN_MIN((int64_t)t->set->cols, g->n - j0);
    bool add = g->add || k0 > 0;
    for (int64_t i = row0; i < row1;) {
        int64_t rows = HN_MIN((int64_t)t->set->max_rows, row1 - i);
        t->set->micro[rows](nk, a + (i - row0) * a_row, a_row, panel, g->c + i * g->c_row + j0,
                            g->c_row, cols, add);
        i += rows;
    }
}

/* Rows of a whose elements along k do not lie side by side. */
static void gather_left(const hn_gemm_job_f32 *g, int64_t row0, int64_t rows, int64_t k0,
                        int64_t nk, float *out) {
    for (int64_t k = 0; k < nk; k++) {
        const float *from = g->a + row0 * g->a_row + (k0 + k) * g->a_col;
        for (int64_t i = 0; i < rows; i++)
            out[i * DEPTH + k] = from[i * g->a_row];
    }
}

static void block_depth(const gemm_task *t, int64_t row0, int64_t row1, int64_t col0, int64_t col1,
                        int64_t k0, float *panels) {
    const hn_gemm_job_f32 *g = t->job;
    int64_t nk = HN_MIN((int64_t)DEPTH, g->k - k0), width = t->set->cols;
    const float *right = panels;
    float left[HN_GEMM_MAX_ROWS * DEPTH];
    if (g->packed_b)
        right = g->packed_b + k0 * ((g->n + width - 1) / width * width) + col0 * nk;
    else
        for (int64_t j = col0; j < col1; j += width)
            pack_panel(g, k0, nk, j, width, panels + (j - col0) * nk);
    if (g->a_col == 1) {
        for (int64_t j = col0; j < col1; j += width)
            panel_rows(t, row0, row1, k0, nk, j, right + (j - col0) * nk,
                       g->a + row0 * g->a_row + k0, g->a_row);
        return;
    }
    for (int64_t i = row0; i < row1; i += t->set->max_rows) {
        int64_t rows = HN_MIN((int64_t)t->set->max_rows, row1 - i);
        gather_left(g, i, rows, k0, nk, left);
        for (int64_t j = col0; j < col1; j += width)
            panel_rows(t, i, i + rows, k0, nk, j, right + (j - col0) * nk, left, DEPTH);
    }
}

static void gemm_block(void *ctx, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    const gemm_task *t = ctx;
    float panels[DEPTH * BLOCK_COLS];
    for (int64_t k0 = 0; k0 < t->job->k && !hn_pool_is_stopped(t->pool); k0 += DEPTH)
        block_depth(t, row0, row1, col0, col1, k0, panels);
    if (t->job->after)
        t->job->after(t->job->after_ctx, row0, row1, col0, col1);
}

void hn_gemm_f32(hn_pool *pool, const hn_gemm_job_f32 *job) {
    const hn_gemm_set_f32 *set = hn_gemm_pick_f32();
    bool is_small = !job->packed_b && job->m * job->n * job->k < FEW_PRODUCTS;
    bool is_thin = !job->packed_b && !job->fill && job->m < 4;
    if (!set || is_small || is_thin || job->m <= 0 || job->n <= 0 || job->k <= 0) {
        hn_gemm_plain_f32(pool, job);
        return;
    }
    gemm_task t = {job, set, pool};
    hn_pool_for_2d(pool, job->m, job->n, HN_MIN(job->m, (int64_t)BLOCK_ROWS), BLOCK_COLS,
                   gemm_block, &t);
}
