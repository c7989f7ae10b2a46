/* Products of 8-bit integers over tiles in registers.
 *
 * Kernels multiply unsigned by signed bytes. Signed numbers of a become a + 128, unsigned ones of b
 * become b - 128 (one flipped bit), and so do their zero points za and zb. Of the shifted numbers
 *   sum (a - za) (b - zb) = sum a b - zb * sum a + za * (k * zb - sum b)
 * all modulo 2^32: the last term is added per column, sums of rows of a are made only where a zero
 * point of b is not 0.
 *
 * b is packed in panels as wide as a tile. Rows of a are read where they lie when they are unsigned
 * and contiguous, else from a copy. A task is some strips of rows times some panels, which stay in
 * the second cache while strips pass by, each staying in the first. Sums are never interrupted
 * along k. */
#include "cpu/kernels/gemm_int8/gemm_int8.h"

#include "cpu/kernels/gemm_int8/int8_panels.h"
#include "cpu/kernels/kernel_select.h"

enum {
    PANELS_BYTES = 512 * 1024, /* of a task */
    TASK_PRODUCTS = 1 << 20,   /* of a task that is worth another thread */
    INT8_TASKS_PER_THREAD = 4,
    PREPARED_BYTES = 1 << 16, /* of rows in a task */
    /* Rows so far apart, or by a multiple of it, share too few sets of the first cache. */
    CROWDED_BYTES = 2048,
    CROWDED_GAP = 64,
    FEW_ROWS = 4 /* fewer are not worth a copy */
};

bool hn_gemm_int8_is_fast(void) {
    return hn_kernel_picked(HN_FAMILY_gemm_u8s8)->isa != HN_ISA_SCALAR;
}

/* ---- b --------------------------------------------------------------------------------------- */

size_t hn_gemm_int8_packed_bytes(int64_t n, int64_t k) {
    const hn_u8s8_set *set = hn_u8s8_pick();
    return hn_int8_packed_bytes(set, n, hn_int8_groups(set, k));
}

typedef struct int8_pack {
    const hn_gemm_int8_job *job;
    const hn_u8s8_set *set;
    uint8_t *panels;
    uint32_t *col_sums;
} int8_pack;

static void pack_int8_panels(void *ctx, int64_t begin, int64_t end) {
    const int8_pack *p = ctx;
    const hn_gemm_int8_job *job = p->job;
    int64_t width = p->set->cols;
    int64_t panel_bytes = hn_int8_groups(p->set, job->k) * width * HN_U8S8_GROUP;
    for (int64_t panel = begin; panel < end; panel++) {
        int64_t j = panel * width;
        hn_int8_run_of_b run = {.from = (const uint8_t *)job->b + j * job->b_col,
                                .k = job->k,
                                .row = job->b_row,
                                .col = job->b_col,
                                .cols = HN_MIN(width, job->n - j),
                                .is_signed = job->b_is_signed};
        uint8_t *out = p->panels + panel * panel_bytes;
        memset(out, 0, (size_t)panel_bytes);
        memset(p->col_sums + j, 0, (size_t)width * sizeof *p->col_sums);
        hn_int8_pack_run(&run, width, out, p->col_sums + j);
    }
}

void hn_gemm_int8_pack(hn_pool *pool, const hn_gemm_int8_job *job, void *out) {
    const hn_u8s8_set *set = hn_u8s8_pick();
    int8_pack p = {.job = job, .set = set, .panels = out};
    size_t panels_bytes = hn_int8_panels_bytes(set, job->n, hn_int8_groups(set, job->k));
    p.col_sums = (uint32_t *)(void *)(p.panels + panels_bytes);
    hn_pool_for(pool, hn_int8_panels(set, job->n), 1, pack_int8_panels, &p);
}

/* ---- the product ----------------------------------------------------------------------------- */

/* A product under way, and the parts of its workspace. */
typedef struct int8_run {
    const hn_gemm_int8_job *job;
    const hn_u8s8_set *set;
    const hn_pool *pool;
    hn_int8_result result;
    hn_int8_result_fn *finish;
    int64_t n_strips, n_groups, n_panels;
    const uint8_t *rows; /* of a */
    int64_t row_bytes;   /* from one to the next */
    const uint8_t *panels;
    uint8_t *copy; /* of the rows; NULL: they are read in place */
    uint32_t *row_sums, *row_zeros;
    void *columns, *own_panels;
} int8_run;

/* Rows are cut into as few strips as possible, of as even heights as possible. */
static int64_t strip_row(const int8_run *run, int64_t strip) {
    return strip * run->job->m / run->n_strips;
}

/* Few rows are copied to where rows behind them may be read. */
static bool reads_in_place(const int8_run *run) {
    const hn_gemm_int8_job *job = run->job;
    bool is_crowded = job->a_row % CROWDED_BYTES == 0 && job->m > 1;
    bool is_few = job->m < run->set->least_rows && job->m >= FEW_ROWS;
    bool is_whole = job->k == run->n_groups * HN_U8S8_GROUP;
    return !job->a_is_signed && job->a_col == 1 && is_whole && !is_crowded && !is_few;
}

static int8_run begin_int8_run(const hn_gemm_int8_job *job) {
    int8_run run = {.job = job, .set = hn_u8s8_pick()};
    run.n_groups = hn_int8_groups(run.set, job->k);
    run.n_strips = (job->m + run.set->max_rows - 1) / run.set->max_rows;
    run.n_panels = hn_int8_panels(run.set, job->n);
    run.rows = job->a;
    run.row_bytes = job->a_row;
    if (!reads_in_place(&run)) {
        run.row_bytes = run.n_groups * HN_U8S8_GROUP;
        run.row_bytes += run.row_bytes % CROWDED_BYTES == 0 ? CROWDED_GAP : 0;
    }
    return run;
}

/* Sets the parts of the workspace, and returns how large it is. */
static size_t divide_workspace(int8_run *run, void *at) {
    const hn_gemm_int8_job *job = run->job;
    bool copies = !reads_in_place(run);
    int64_t copied = HN_MAX(job->m, run->set->least_rows);
    size_t copy = copies ? hn_int8_aligned(copied * run->row_bytes, 1) : 0;
    size_t rows = hn_int8_aligned(job->m, sizeof(uint32_t));
    size_t cols = hn_int8_aligned(run->n_panels * run->set->cols, HN_INT8_COLUMN_BYTES);
    size_t fixed = copy + 2 * rows + cols;
    uint8_t *bytes = at;
    if (bytes) {
        run->copy = copies ? bytes : NULL;
        run->rows = copies ? bytes : run->rows;
        run->row_sums = (uint32_t *)(void *)(bytes + copy);
        run->row_zeros = (uint32_t *)(void *)(bytes + copy + rows);
        run->columns = bytes + copy + 2 * rows;
        run->own_panels = bytes + fixed;
        run->panels = job->packed_b ? job->packed_b : run->own_panels;
    }
    return fixed + (job->packed_b ? 0 : hn_gemm_int8_packed_bytes(job->n, job->k));
}

size_t hn_gemm_int8_workspace_bytes(const hn_gemm_int8_job *job) {
    int8_run run = begin_int8_run(job);
    return divide_workspace(&run, NULL);
}

static void find_columns(int8_run *run) {
    const hn_gemm_int8_job *job = run->job;
    int32_t shift = job->a_is_signed ? HN_INT8_SIGN_BIT : 0;
    hn_int8_columns columns = {.n = job->n,
                               .padded = run->n_panels * run->set->cols,
                               .k = job->k,
                               .col_sums =
                                   hn_int8_col_sums(run->set, run->panels, job->n, run->n_groups),
                               .b_zeros = job->b_zeros,
                               .n_b_zeros = job->n_b_zeros,
                               .b_is_signed = job->b_is_signed,
                               .has_row_zeros = job->n_a_zeros > 1,
                               .bias = job->bias,
                               .scales = job->scales,
                               .n_scales = job->n_scales,
                               .scale = job->scale,
                               .divisor = job->divisor,
                               .float_bias = job->float_bias};
    if (job->n_a_zeros <= 1)
        columns.a_zero = shift + (job->n_a_zeros == 1 ? job->a_zeros[0] : 0);
    run->result = job->result;
    hn_int8_columns_fill(&columns, run->columns, &run->result);
}

/* Row i as unsigned bytes, with zeros up to a whole group. */
static void copy_int8_row(const int8_run *run, int64_t i) {
    const hn_gemm_int8_job *job = run->job;
    const uint8_t *from = (const uint8_t *)job->a + i * job->a_row;
    uint8_t *to = run->copy + i * run->row_bytes, flip = job->a_is_signed ? HN_INT8_SIGN_BIT : 0;
    if (job->a_col == 1)
        for (int64_t k = 0; k < job->k; k++)
            to[k] = from[k] ^ flip;
    else
        for (int64_t k = 0; k < job->k; k++)
            to[k] = from[k * job->a_col] ^ flip;
    memset(to + job->k, 0, (size_t)(run->n_groups * HN_U8S8_GROUP - job->k));
}

static uint32_t sum_of_bytes(const uint8_t *bytes, int64_t n) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += bytes[i];
    return sum;
}

static void prepare_int8_rows(void *ctx, int64_t begin, int64_t end) {
    const int8_run *run = ctx;
    const hn_gemm_int8_job *job = run->job;
    uint32_t shift = job->a_is_signed ? HN_INT8_SIGN_BIT : 0;
    for (int64_t i = begin; i < end; i++) {
        if (run->copy)
            copy_int8_row(run, i);
        if (run->result.zeros)
            run->row_sums[i] = sum_of_bytes(run->rows + i * run->row_bytes, job->k);
        if (run->result.terms)
            run->row_zeros[i] = shift + (uint32_t)job->a_zeros[i % job->n_a_zeros];
    }
}

static void int8_tile(const int8_run *run, int64_t row0, int64_t rows, int64_t panel) {
    static const int64_t one_run[] = {0};
    const hn_gemm_int8_job *job = run->job;
    int64_t width = run->set->cols, j = panel * width, at = row0 * job->c_row + j;
    _Alignas(HN_INT8_PANEL_ALIGN) int32_t sums[HN_U8S8_MOST_ROWS * HN_U8S8_MOST_COLS];
    hn_u8s8_tile tile = {.a = run->rows + row0 * run->row_bytes,
                         .a_row = run->row_bytes,
                         .runs = one_run,
                         .n_runs = 1,
                         .n_groups = run->n_groups,
                         .rows = (int)rows,
                         .reads_more_rows = run->copy != NULL,
                         .b = (const int8_t *)run->panels +
                              panel * run->n_groups * width * HN_U8S8_GROUP,
                         .sums = sums};
    size_t elem_bytes = job->result.to == HN_INT8_TO_BYTES ? 1 : sizeof(int32_t);
    const uint8_t *residual = job->result.residual.at;
    int64_t of_residual = row0 * job->result.residual.row + j;
    hn_int8_block block = {.rows = (int)rows,
                           .col = j,
                           .cols = HN_MIN(width, job->n - j),
                           .sums = sums,
                           .sums_row = HN_U8S8_MOST_COLS,
                           .row_sums = run->row_sums + row0,
                           .row_zeros = run->row_zeros + row0,
                           .y = (uint8_t *)job->c + (size_t)at * elem_bytes,
                           .y_row = job->c_row,
                           .residual =
                               residual ? residual + (size_t)of_residual * elem_bytes : NULL};
    tile.result = hn_int8_finished(run->set->finishes, &run->result);
    tile.block = &block;
    run->set->tiles[rows](&tile);
    if (!tile.result)
        hn_int8_finish(run->finish, &run->result, &block);
}

static void int8_tiles(void *ctx, int64_t strip0, int64_t strip1, int64_t panel0, int64_t panel1) {
    const int8_run *run = ctx;
    hn_u8s8_begin(run->set);
    for (int64_t strip = strip0; strip < strip1 && !hn_pool_is_stopped(run->pool); strip++) {
        int64_t row0 = strip_row(run, strip), rows = strip_row(run, strip + 1) - row0;
        for (int64_t panel = panel0; panel < panel1; panel++)
            int8_tile(run, row0, rows, panel);
    }
    hn_u8s8_end(run->set);
}

/* Panels that the second cache holds times all strips, then less until all threads have work. */
static void cut_int8_tasks(const int8_run *run, int64_t *strip_grain, int64_t *panel_grain) {
    int64_t panel_bytes = HN_MAX(run->n_groups, 1) * run->set->cols * HN_U8S8_GROUP;
    int64_t threads = hn_pool_threads(run->pool);
    int64_t wanted = threads > 1 ? threads * INT8_TASKS_PER_THREAD : 1;
    int64_t rows = run->set->max_rows, cols = run->set->cols;
    *strip_grain = run->n_strips;
    *panel_grain = HN_MIN(HN_MAX(PANELS_BYTES / panel_bytes, 1), run->n_panels);
    for (;;) {
        int64_t down = (run->n_strips + *strip_grain - 1) / *strip_grain;
        int64_t across = (run->n_panels + *panel_grain - 1) / *panel_grain;
        int64_t products = *strip_grain * rows * *panel_grain * panel_bytes;
        if (down * across >= wanted || products < 2 * TASK_PRODUCTS ||
            (*strip_grain == 1 && *panel_grain == 1))
            return;
        if (*strip_grain * rows > *panel_grain * cols && *strip_grain > 1)
            *strip_grain = (*strip_grain + 1) / 2;
        else if (*panel_grain > 1)
            *panel_grain = (*panel_grain + 1) / 2;
        else
            *strip_grain = (*strip_grain + 1) / 2;
    }
}

void hn_gemm_int8(hn_pool *pool, const hn_gemm_int8_job *job) {
    int8_run run = begin_int8_run(job);
    int64_t strip_grain, panel_grain;
    if (job->m <= 0 || job->n <= 0)
        return;
    run.pool = pool;
    run.finish = hn_int8_result_find();
    divide_workspace(&run, job->workspace);
    if (!job->packed_b)
        hn_gemm_int8_pack(pool, job, run.own_panels);
    find_columns(&run);
    if (run.copy || run.result.zeros || run.result.terms)
        hn_pool_for(pool, job->m, HN_MAX(1, PREPARED_BYTES / HN_MAX(job->k, 1)), prepare_int8_rows,
                    &run);
    cut_int8_tasks(&run, &strip_grain, &panel_grain);
    hn_pool_for_2d(pool, run.n_strips, run.n_panels, strip_grain, panel_grain, int8_tiles, &run);
}
