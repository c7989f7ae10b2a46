/* Products with weights of few bits.
 *
 * Numbers of a become digits of 8 bits, whose products with the weights are summed as integers
 * (gemm_nbits_tile.h): one instruction multiplies four times as many of them as of floats, so that
 * even three digits are faster where there is one for such products. Panels of columns are shared
 * by all threads; each meets all rows, and is read from memory once.
 *
 * Where three digits take longer than floats, and there are many rows, panels are widened to floats
 * and multiplied by the tiles of float products. Rows with infinities or NaN have no digits, and go
 * this way, too.
 *
 * Packed: per panel all blocks, each with its numbers and then its scales, then all zero points.
 *
 * Measured on one core of an AMD EPYC server with AVX-512 VNNI (59 multiply-adds of floats per ns),
 * 4 bits, 4096 x 4096, blocks of 32: one row reads weights from the third cache at 35 GB/s with
 * three digits and at 72 GB/s with one; 128 rows take 59 and 158 products per ns, with blocks of
 * 128 70 and 198. */
#include "cpu/kernels/gemm_nbits/gemm_nbits_tile.h"

#include "cpu/kernels/kernel_select.h"

enum {
    NBITS_ALIGN = 64,
    NBITS_TASK_WORK = 1 << 18, /* products of a task that is worth another thread */
    NBITS_TASKS_PER_THREAD = 8
};

static int64_t rounded_up(int64_t n, int64_t unit) {
    return (n + unit - 1) / unit * unit;
}

/* ---- weights ---------------------------------------------------------------------------------- */

/* How a panel lies; offsets in bytes. */
typedef struct nbits_panels {
    int64_t n, n_blocks;
    int64_t data, block; /* bytes of the numbers of a block, and of all of it */
    int64_t zeros, bytes;
} nbits_panels;

static nbits_panels nbits_panels_of(const hn_nbits_set *set, const hn_nbits_form *form) {
    nbits_panels p = {.n = (form->n + set->cols - 1) / set->cols,
                      .n_blocks = (form->k + form->block - 1) / form->block};
    int64_t per_block = form->zeros == HN_NBITS_INT_ZEROS     ? (int64_t)sizeof(uint8_t)
                        : form->zeros == HN_NBITS_FLOAT_ZEROS ? (int64_t)sizeof(float)
                                                              : 0;
    p.data = form->block * set->cols * form->bits / 8;
    p.block = p.data + set->cols * (int64_t)sizeof(float);
    p.zeros = rounded_up(p.n_blocks * p.block, NBITS_ALIGN);
    p.bytes = p.zeros + rounded_up(p.n_blocks * set->cols * per_block, NBITS_ALIGN);
    return p;
}

static int bits_index(int bits) {
    return bits == 2 ? 0 : bits == 4 ? 1 : 2;
}

bool hn_gemm_nbits_can(const hn_nbits_form *form) {
    enum {
        MOST_BLOCK = 1 << 15, /* sums of a block fit 32 bits */
        MOST_PADDING = 8      /* columns of a panel for each that there is */
    };
    const hn_nbits_set *set = hn_nbits_pick();
    return set && (form->bits == 2 || form->bits == 4 || form->bits == 8) &&
           form->block % HN_NBITS_BLOCK_UNIT == 0 && form->block > 0 && form->block <= MOST_BLOCK &&
           form->n >= set->cols / MOST_PADDING && form->k > 0;
}

size_t hn_gemm_nbits_packed_bytes(const hn_nbits_form *form) {
    nbits_panels p = nbits_panels_of(hn_nbits_pick(), form);
    return (size_t)(p.n * p.bytes);
}

static unsigned nbits_at(const uint8_t *from, int64_t i, int bits) {
    int per_byte = 8 / bits;
    return (unsigned)from[i / per_byte] >> i % per_byte * bits & ((1u << bits) - 1);
}

/* The numbers of a block in one column of a panel of `cols`, whose bytes are zero so far. */
static void pack_nbits_block(const hn_nbits_form *form, const uint8_t *from, int64_t cols,
                             uint8_t *out) {
    int64_t unit = HN_NBITS_GROUP * 8 / form->bits;
    for (int64_t k = 0; k < form->block; k++)
        out[k / unit * cols * HN_NBITS_GROUP + k % HN_NBITS_GROUP] |=
            (uint8_t)(nbits_at(from, k, form->bits) << k % unit / HN_NBITS_GROUP * form->bits);
}

static void pack_nbits_column(const hn_nbits_source *source, const hn_nbits_set *set,
                              const nbits_panels *p, int64_t j, uint8_t *panel) {
    const hn_nbits_form *form = &source->form;
    int64_t bytes = form->block * form->bits / 8, zeros_bytes = (p->n_blocks * form->bits + 7) / 8,
            column = j % set->cols;
    for (int64_t b = 0; b < p->n_blocks; b++) {
        uint8_t *to = panel + b * p->block + column * HN_NBITS_GROUP;
        int64_t from = j * p->n_blocks + b, zero = b * set->cols + column;
        pack_nbits_block(form, source->data + from * bytes, set->cols, to);
        memcpy(to + p->data, &source->scales[from], sizeof *source->scales);
        if (form->zeros == HN_NBITS_INT_ZEROS)
            panel[p->zeros + zero] =
                (uint8_t)nbits_at(source->zeros + j * zeros_bytes, b, form->bits);
        if (form->zeros == HN_NBITS_FLOAT_ZEROS)
            ((float *)(void *)(panel + p->zeros))[zero] = source->float_zeros[from];
    }
}

void hn_gemm_nbits_pack(const hn_nbits_source *source, void *out) {
    const hn_nbits_set *set = hn_nbits_pick();
    nbits_panels p = nbits_panels_of(set, &source->form);
    memset(out, 0, (size_t)(p.n * p.bytes));
    for (int64_t j = 0; j < source->form.n; j++)
        pack_nbits_column(source, set, &p, j, (uint8_t *)out + j / set->cols * p.bytes);
}

/* ---- products of digits ----------------------------------------------------------------------- */

/* A product under way. */
typedef struct nbits_run {
    const hn_gemm_nbits_job *job;
    const hn_nbits_set *set;
    const hn_pool *pool;
    nbits_panels panels;
    hn_nbits_left left;
} nbits_run;

static bool has_digits(const hn_gemm_nbits_job *job) {
    return job->is_int8 || job->m < hn_nbits_pick()->float_rows;
}

static nbits_run begin_nbits_run(const hn_gemm_nbits_job *job) {
    nbits_run run = {.job = job, .set = hn_nbits_pick()};
    run.panels = nbits_panels_of(run.set, &job->form);
    run.left.n_blocks = run.panels.n_blocks;
    run.left.n_digits = job->is_int8 ? 1 : HN_NBITS_MOST_DIGITS;
    return run;
}

/* Sets the parts of the workspace, and returns how large it is. */
static size_t divide_nbits_workspace(nbits_run *run, void *at) {
    int64_t n = run->job->m * run->panels.n_blocks;
    int64_t steps = rounded_up(n * run->job->form.block * run->left.n_digits, NBITS_ALIGN);
    int64_t sums = steps + rounded_up(n * (int64_t)sizeof(float), NBITS_ALIGN);
    if (at) {
        run->left.digits = at;
        run->left.steps = (float *)(void *)((uint8_t *)at + steps);
        run->left.sums = (int32_t *)(void *)((uint8_t *)at + sums);
    }
    return (size_t)(sums + n * run->left.n_digits * (int64_t)sizeof(int32_t));
}

size_t hn_gemm_nbits_workspace_bytes(const hn_gemm_nbits_job *job) {
    nbits_run run = begin_nbits_run(job);
    return has_digits(job) ? divide_nbits_workspace(&run, NULL) : 0;
}

static hn_nbits_left left_from(const nbits_run *run, int64_t row) {
    hn_nbits_left left = run->left;
    int64_t blocks = row * left.n_blocks;
    left.digits += blocks * run->job->form.block * left.n_digits;
    left.steps += blocks;
    left.sums += blocks * left.n_digits;
    return left;
}

static void digits_of_rows(void *ctx, int64_t begin, int64_t end) {
    const nbits_run *run = ctx;
    for (int64_t i = begin; i < end && !hn_pool_is_stopped(run->pool); i++) {
        hn_nbits_left left = left_from(run, i);
        run->set->to_digits(&run->job->form, run->job->a + i * run->job->form.k, &left);
    }
}

/* Whether no row has infinities or NaN. */
static bool are_digits(const nbits_run *run) {
    for (int64_t i = 0; i < run->job->m; i++) {
        float first = run->left.steps[i * run->left.n_blocks];
        if (first != first)
            return false;
    }
    return true;
}

static void multiply_nbits_panel(const nbits_run *run, int64_t panel) {
    const hn_gemm_nbits_job *job = run->job;
    const hn_nbits_form *form = &job->form;
    const uint8_t *at = (const uint8_t *)job->packed + panel * run->panels.bytes;
    int64_t col0 = panel * run->set->cols;
    const hn_nbits_tile_fn *tiles = run->set->tiles[bits_index(form->bits)][run->left.n_digits > 1];
    hn_nbits_tile tile = {.form = form,
                          .weights = at,
                          .zeros = at + run->panels.zeros,
                          .bias = job->bias ? job->bias + col0 : NULL,
                          .cols = HN_MIN(run->set->cols, form->n - col0)};
    for (int64_t i = 0, rows; i < job->m; i += rows) {
        int log = job->m - i >= 4 ? 2 : job->m - i >= 2 ? 1 : 0;
        rows = 1 << log;
        tile.left = left_from(run, i);
        tile.c = job->c + i * form->n + col0;
        tiles[log](&tile);
    }
}

static void multiply_nbits_panels(void *ctx, int64_t begin, int64_t end) {
    const nbits_run *run = ctx;
    for (int64_t panel = begin; panel < end && !hn_pool_is_stopped(run->pool); panel++)
        multiply_nbits_panel(run, panel);
}

/* Tasks that are worth it, few for each thread. */
static int64_t panels_of_task(const nbits_run *run) {
    int64_t work = run->job->m * run->job->form.k * run->set->cols;
    int64_t wanted = hn_pool_threads(run->pool) * NBITS_TASKS_PER_THREAD;
    return HN_MAX(HN_MAX(NBITS_TASK_WORK / work, run->panels.n / wanted), 1);
}

/* ---- products of floats ----------------------------------------------------------------------- */

static void widen_nbits_panels(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                               int64_t width, float *out) {
    const nbits_run *run = ctx;
    const hn_nbits_form *form = &run->job->form;
    int64_t cols = run->set->cols, vector = run->set->vector;
    for (int64_t j = j0; j < j1; j += vector) {
        const uint8_t *panel = (const uint8_t *)run->job->packed + j / cols * run->panels.bytes;
        int64_t first = j % cols;
        int64_t zero_bytes = form->zeros == HN_NBITS_FLOAT_ZEROS ? (int64_t)sizeof(float) : 1;
        hn_nbits_column column = {.form = form,
                                  .weights = panel + first * HN_NBITS_GROUP,
                                  .zeros = panel + run->panels.zeros + first * zero_bytes,
                                  .k0 = k0,
                                  .nk = nk,
                                  .out = out + (j - j0) / width * width * nk + (j - j0) % width,
                                  .out_stride = width};
        run->set->widen[bits_index(form->bits)](&column);
    }
}

static void multiply_nbits_floats(hn_pool *pool, const nbits_run *run) {
    const hn_gemm_nbits_job *job = run->job;
    hn_epilogue_f32 epilogue = {.col_bias = job->bias};
    hn_gemm_f32(pool, &(hn_gemm_job_f32){.m = job->m,
                                         .n = job->form.n,
                                         .k = job->form.k,
                                         .a = job->a,
                                         .a_row = job->form.k,
                                         .a_col = 1,
                                         .panels = widen_nbits_panels,
                                         .fill_ctx = run,
                                         .c = job->c,
                                         .c_row = job->form.n,
                                         .epilogue = job->bias ? &epilogue : NULL});
}

void hn_gemm_nbits(hn_pool *pool, const hn_gemm_nbits_job *job) {
    nbits_run run = begin_nbits_run(job);
    run.pool = pool;
    if (has_digits(job)) {
        divide_nbits_workspace(&run, job->workspace);
        hn_pool_for(pool, job->m, HN_MAX(NBITS_TASK_WORK / 16 / job->form.k, 1), digits_of_rows,
                    &run);
        if (are_digits(&run)) {
            hn_pool_for(pool, run.panels.n, panels_of_task(&run), multiply_nbits_panels, &run);
            return;
        }
    }
    multiply_nbits_floats(pool, &run);
}
