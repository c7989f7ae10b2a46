/* Products of 8-bit integers over tiles in registers.
 *
 * Kernels multiply unsigned by signed bytes. Signed numbers of a become a + 128, unsigned ones of b
 * become b - 128 (one flipped bit), and so do their zero points za and zb. Of the shifted numbers
 *   sum (a - za) (b - zb) = sum a b - zb * sum a + za * (k * zb - sum b)
 * where sums of rows of a are made while it is packed, sums of columns of b with its panels, and
 * all is modulo 2^32.
 *
 * b is packed in panels as wide as a tile, a in strips as high as one; the last group along k is
 * filled with zeros. A task is some strips times some panels, which stay in the second cache while
 * strips pass by, each staying in the first. Sums are never interrupted along k. */
#include "cpu/kernels/gemm_int8/gemm_int8.h"

#include "cpu/kernels/gemm_int8/gemm_u8s8.h"
#include "cpu/kernels/kernel_select.h"

enum {
    SIGN_BIT = 0x80,
    PANELS_BYTES = 512 * 1024, /* of a task */
    TASK_PRODUCTS = 1 << 20,   /* of a task that is worth another thread */
    INT8_TASKS_PER_THREAD = 4
};

static int64_t groups_of(int64_t k) {
    return (k + HN_U8S8_GROUP - 1) / HN_U8S8_GROUP;
}

static int64_t panels_of(const hn_u8s8_set *set, int64_t n) {
    return (n + set->cols - 1) / set->cols;
}

static size_t aligned_bytes(int64_t n, size_t elem_bytes) {
    size_t bytes = (size_t)n * elem_bytes;
    return (bytes + HN_GEMM_INT8_ALIGN - 1) / HN_GEMM_INT8_ALIGN * HN_GEMM_INT8_ALIGN;
}

bool hn_gemm_int8_is_fast(void) {
    return hn_kernel_picked(HN_FAMILY_gemm_u8s8)->isa != HN_ISA_SCALAR;
}

/* ---- b --------------------------------------------------------------------------------------- */

/* Packed: all panels, then the sum of each column. */
static size_t panels_bytes(const hn_u8s8_set *set, int64_t n, int64_t k) {
    return aligned_bytes(panels_of(set, n) * set->cols * groups_of(k), HN_U8S8_GROUP);
}

size_t hn_gemm_int8_packed_bytes(int64_t n, int64_t k) {
    const hn_u8s8_set *set = hn_u8s8_pick();
    return panels_bytes(set, n, k) + aligned_bytes(panels_of(set, n) * set->cols, sizeof(uint32_t));
}

typedef struct int8_pack {
    const hn_gemm_int8_job *job;
    const hn_u8s8_set *set;
    uint8_t *panels;
    uint32_t *col_sums;
} int8_pack;

/* n rows of b, at most a group, in `cols` columns of a panel. */
static void pack_int8_rows(const hn_gemm_int8_job *job, const uint8_t *from, int64_t n,
                           int64_t cols, uint8_t *out, uint32_t *sums) {
    uint8_t flip = job->b_is_signed ? 0 : SIGN_BIT;
    for (int64_t e = 0; e < n; e++)
        for (int64_t j = 0; j < cols; j++) {
            uint8_t byte = from[e * job->b_row + j * job->b_col] ^ flip;
            int32_t value = (int8_t)byte;
            out[j * HN_U8S8_GROUP + e] = byte;
            sums[j] += (uint32_t)value;
        }
}

/* A whole group of rows whose columns are contiguous. */
static void interleave_int8_rows(const hn_gemm_int8_job *job, const uint8_t *from, int64_t cols,
                                 uint8_t *out, uint32_t *sums) {
    const uint8_t *r0 = from, *r1 = r0 + job->b_row, *r2 = r1 + job->b_row, *r3 = r2 + job->b_row;
    uint8_t flip = job->b_is_signed ? 0 : SIGN_BIT;
    for (int64_t j = 0; j < cols; j++) {
        uint8_t bytes[HN_U8S8_GROUP] = {r0[j] ^ flip, r1[j] ^ flip, r2[j] ^ flip, r3[j] ^ flip};
        int32_t sum = (int8_t)bytes[0] + (int8_t)bytes[1] + (int8_t)bytes[2] + (int8_t)bytes[3];
        memcpy(out + j * HN_U8S8_GROUP, bytes, sizeof bytes);
        sums[j] += (uint32_t)sum;
    }
}

static void pack_int8_panel(const int8_pack *p, int64_t panel) {
    const hn_gemm_int8_job *job = p->job;
    int64_t width = p->set->cols, j0 = panel * width, cols = HN_MIN(width, job->n - j0);
    int64_t group_bytes = width * HN_U8S8_GROUP, panel_bytes = groups_of(job->k) * group_bytes;
    uint8_t *out = p->panels + panel * panel_bytes;
    uint32_t *sums = p->col_sums + j0;
    memset(out, 0, (size_t)panel_bytes);
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int64_t k = 0; k < job->k; k += HN_U8S8_GROUP, out += group_bytes) {
        const uint8_t *from = (const uint8_t *)job->b + k * job->b_row + j0 * job->b_col;
        if (job->b_col == 1 && job->k - k >= HN_U8S8_GROUP)
            interleave_int8_rows(job, from, cols, out, sums);
        else
            pack_int8_rows(job, from, HN_MIN(HN_U8S8_GROUP, job->k - k), cols, out, sums);
    }
}

static void pack_int8_panels(void *ctx, int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; panel++)
        pack_int8_panel(ctx, panel);
}

void hn_gemm_int8_pack(hn_pool *pool, const hn_gemm_int8_job *job, void *out) {
    const hn_u8s8_set *set = hn_u8s8_pick();
    int8_pack p = {.job = job, .set = set, .panels = out};
    p.col_sums = (uint32_t *)(void *)(p.panels + panels_bytes(set, job->n, job->k));
    hn_pool_for(pool, panels_of(set, job->n), 1, pack_int8_panels, &p);
}

/* ---- the product ----------------------------------------------------------------------------- */

/* A product under way, and the parts of its workspace. */
typedef struct int8_run {
    const hn_gemm_int8_job *job;
    const hn_u8s8_set *set;
    const hn_pool *pool;
    int64_t n_strips, n_groups;
    const uint8_t *panels;
    const uint32_t *col_sums;
    uint8_t *strips;
    uint32_t *row_sums, *row_zeros, *col_zeros, *col_terms;
} int8_run;

/* Rows are cut into as few strips as possible, of as even heights as possible. */
static int64_t strip_row(const int8_run *run, int64_t strip) {
    return strip * run->job->m / run->n_strips;
}

/* Sets the parts of the workspace, and returns how large it is. */
static size_t divide_workspace(int8_run *run, void *at) {
    const hn_gemm_int8_job *job = run->job;
    int64_t padded = panels_of(run->set, job->n) * run->set->cols;
    size_t strips = aligned_bytes(job->m * run->n_groups, HN_U8S8_GROUP);
    size_t rows = aligned_bytes(job->m, sizeof(uint32_t));
    size_t cols = aligned_bytes(padded, sizeof(uint32_t));
    size_t fixed = strips + 2 * rows + 2 * cols;
    size_t packed = job->packed_b ? 0 : hn_gemm_int8_packed_bytes(job->n, job->k);
    uint8_t *bytes = at;
    if (bytes) {
        run->strips = bytes;
        run->row_sums = (uint32_t *)(void *)(bytes + strips);
        run->row_zeros = (uint32_t *)(void *)(bytes + strips + rows);
        run->col_zeros = (uint32_t *)(void *)(bytes + strips + 2 * rows);
        run->col_terms = (uint32_t *)(void *)(bytes + strips + 2 * rows + cols);
        run->panels = job->packed_b ? job->packed_b : bytes + fixed;
        run->col_sums =
            (const uint32_t *)(const void *)(run->panels + panels_bytes(run->set, job->n, job->k));
    }
    return fixed + packed;
}

static int8_run begin_int8_run(const hn_gemm_int8_job *job) {
    int8_run run = {.job = job, .set = hn_u8s8_pick(), .n_groups = groups_of(job->k)};
    run.n_strips = (job->m + run.set->max_rows - 1) / run.set->max_rows;
    return run;
}

size_t hn_gemm_int8_workspace_bytes(const hn_gemm_int8_job *job) {
    int8_run run = begin_int8_run(job);
    return divide_workspace(&run, NULL);
}

static uint32_t zero_at(const int32_t *zeros, int64_t n, int64_t i, int32_t shift) {
    return (uint32_t)shift + (n > 0 ? (uint32_t)zeros[i % n] : 0);
}

static void find_column_terms(const int8_run *run) {
    const hn_gemm_int8_job *job = run->job;
    int64_t padded = panels_of(run->set, job->n) * run->set->cols;
    for (int64_t j = 0; j < padded; j++) {
        uint32_t zero = zero_at(job->b_zeros, job->n_b_zeros, j, job->b_is_signed ? 0 : -SIGN_BIT);
        run->col_zeros[j] = zero;
        run->col_terms[j] = (uint32_t)job->k * zero - run->col_sums[j];
    }
}

/* One group of a row, fewer than four numbers at the end of it. Returns their sum. */
static uint32_t pack_int8_group(const uint8_t *from, int64_t step, int64_t n, uint8_t flip,
                                uint8_t *out) {
    uint32_t sum = 0;
    memset(out, 0, HN_U8S8_GROUP);
    for (int64_t e = 0; e < n; e++) {
        out[e] = from[e * step] ^ flip;
        sum += out[e];
    }
    return sum;
}

/* Whole groups of contiguous numbers, as words; two sums of 16 bits grow in one word. */
static uint32_t pack_int8_words(const uint8_t *from, int64_t n_groups, uint8_t flip, uint8_t *out,
                                int64_t out_step) {
    const uint32_t flips = flip * 0x01010101u, low_bytes = 0x00FF00FFu;
    enum { MOST_ADDED = 128 }; /* groups until half a word is full */
    uint32_t sum = 0;
    for (int64_t first = 0; first < n_groups; first += MOST_ADDED) {
        uint32_t pair = 0;
        for (int64_t g = first; g < HN_MIN(first + MOST_ADDED, n_groups); g++) {
            uint32_t word;
            memcpy(&word, from + g * HN_U8S8_GROUP, sizeof word);
            word ^= flips;
            memcpy(out + g * out_step, &word, sizeof word);
            pair += (word & low_bytes) + (word >> 8 & low_bytes);
        }
        sum += (pair & 0xFFFF) + (pair >> 16);
    }
    return sum;
}

/* Row i of the strip at `out`, which has `rows`. Returns the sum of its numbers. */
static uint32_t pack_int8_row(const hn_gemm_int8_job *job, int64_t i, int64_t rows, uint8_t *out) {
    const uint8_t *from = (const uint8_t *)job->a + i * job->a_row;
    uint8_t flip = job->a_is_signed ? SIGN_BIT : 0;
    int64_t out_step = rows * HN_U8S8_GROUP, n_groups = groups_of(job->k), g = 0;
    uint32_t sum = 0;
    if (job->a_col == 1) {
        g = job->k / HN_U8S8_GROUP;
        sum = pack_int8_words(from, g, flip, out, out_step);
    }
    for (; g < n_groups; g++) {
        int64_t k = g * HN_U8S8_GROUP;
        sum += pack_int8_group(from + k * job->a_col, job->a_col, HN_MIN(HN_U8S8_GROUP, job->k - k),
                               flip, out + g * out_step);
    }
    return sum;
}

static void pack_int8_strips(void *ctx, int64_t begin, int64_t end) {
    const int8_run *run = ctx;
    const hn_gemm_int8_job *job = run->job;
    for (int64_t strip = begin; strip < end; strip++) {
        int64_t row0 = strip_row(run, strip), rows = strip_row(run, strip + 1) - row0;
        uint8_t *out = run->strips + row0 * run->n_groups * HN_U8S8_GROUP;
        for (int64_t i = row0; i < row0 + rows; i++) {
            run->row_sums[i] = pack_int8_row(job, i, rows, out + (i - row0) * HN_U8S8_GROUP);
            run->row_zeros[i] =
                zero_at(job->a_zeros, job->n_a_zeros, i, job->a_is_signed ? SIGN_BIT : 0);
        }
    }
}

static void int8_tiles(void *ctx, int64_t strip0, int64_t strip1, int64_t panel0, int64_t panel1) {
    const int8_run *run = ctx;
    const hn_gemm_int8_job *job = run->job;
    int64_t width = run->set->cols, panel_bytes = run->n_groups * width * HN_U8S8_GROUP;
    for (int64_t strip = strip0; strip < strip1 && !hn_pool_is_stopped(run->pool); strip++) {
        int64_t row0 = strip_row(run, strip), rows = strip_row(run, strip + 1) - row0;
        for (int64_t panel = panel0; panel < panel1; panel++) {
            int64_t j0 = panel * width;
            run->set->tiles[rows](
                &(hn_u8s8_tile){.n_groups = run->n_groups,
                                .a = run->strips + row0 * run->n_groups * HN_U8S8_GROUP,
                                .b = (const int8_t *)run->panels + panel * panel_bytes,
                                .row_sums = run->row_sums + row0,
                                .row_zeros = run->row_zeros + row0,
                                .col_zeros = run->col_zeros + j0,
                                .col_terms = run->col_terms + j0,
                                .c = job->c + row0 * job->c_row + j0,
                                .c_row = job->c_row,
                                .rows = (int)rows,
                                .cols = (int)HN_MIN(width, job->n - j0)});
        }
    }
}

/* Panels that the second cache holds times all strips, then less until all threads have work. */
static void cut_int8_tasks(const int8_run *run, int64_t *strip_grain, int64_t *panel_grain) {
    const hn_gemm_int8_job *job = run->job;
    int64_t n_panels = panels_of(run->set, job->n);
    int64_t panel_bytes = HN_MAX(run->n_groups, 1) * run->set->cols * HN_U8S8_GROUP;
    int64_t threads = hn_pool_threads(run->pool);
    int64_t wanted = threads > 1 ? threads * INT8_TASKS_PER_THREAD : 1;
    int64_t rows = run->set->max_rows, cols = run->set->cols;
    *strip_grain = run->n_strips;
    *panel_grain = HN_MIN(HN_MAX(PANELS_BYTES / panel_bytes, 1), n_panels);
    for (;;) {
        int64_t down = (run->n_strips + *strip_grain - 1) / *strip_grain;
        int64_t across = (n_panels + *panel_grain - 1) / *panel_grain;
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
    divide_workspace(&run, job->workspace);
    if (!job->packed_b)
        hn_gemm_int8_pack(pool, job, (uint8_t *)job->workspace + (run.panels - run.strips));
    find_column_terms(&run);
    hn_pool_for(pool, run.n_strips, 1, pack_int8_strips, &run);
    cut_int8_tasks(&run, &strip_grain, &panel_grain);
    hn_pool_for_2d(pool, run.n_strips, panels_of(run.set, job->n), strip_grain, panel_grain,
                   int8_tiles, &run);
}
