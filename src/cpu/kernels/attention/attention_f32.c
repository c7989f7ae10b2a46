/* Attention over tiles of queries and blocks of keys, with a running softmax.
 *
 * One task is a tile of up to TILE queries of one head. Its queries are turned once, so that those
 * of a panel lie side by side; a block of up to BLOCK keys then meets each panel as the left side
 * of a product, the powers of its scores stay where they are and are the left side of a second
 * product with the block's values, which is added to the rows of the result. Neither keys nor
 * values are packed. When a block brings a larger score, what the rows hold so far is scaled
 * down. Registers are those of the tiles of products; scores of a tile take 35 KB, queries of 64
 * elements 16 KB.
 *
 * Queries and keys are cut by sizes alone: results do not depend on the number of threads.
 *
 * Measured on one core of an Emerald Rapids server, AVX-512, 12 heads of 64 elements: 71 % of the
 * peak with 128 queries and keys, 73 % with 512; 62 and 65 % with heads of 32. One query meets its
 * keys at the speed of memory. */
#include "cpu/kernels/attention/attention.h"

#include <math.h>

#include "cpu/kernels/attention/attention_int.h"
#include "cpu/kernels/gemm/gemm_micro.h"
#include "cpu/kernels/transpose/transpose.h"

enum { TILE = 64, BLOCK = 140, MOST_SIZE = 256 /* of a key */, THIN = 4 /* queries */ };

typedef struct attention_task {
    const hn_attention_job_f32 *job;
    const hn_gemm_set_f32 *set;
    const hn_attention_loops_f32 *loops;
    const hn_pool *pool;
    int64_t tile, n_tiles; /* queries of a tile, tiles of a head */
    int64_t n_keys;        /* of the batch that has most */
    int64_t mask_row;      /* of the turned mask */
    int64_t thin_row;      /* of queries that are not turned: whole vectors */
} attention_task;

static void turn_floats(int64_t rows, int64_t cols, const float *from, int64_t from_row, float *to,
                        int64_t to_row) {
    hn_transpose(&(hn_transpose_job){sizeof(float), rows, cols, from, from_row, to, to_row});
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* A mask that differs from query to query is turned like the scores, [key, query], once for all
 * heads that share it. Rows are as long as whole tiles. */
static int64_t mask_copies(const hn_attention_job_f32 *j) {
    if (!j->mask.at)
        return 0;
    return (j->mask.batch ? j->batch : 1) * (j->mask.head ? j->n_heads : 1);
}

static int64_t most_keys(const hn_attention_job_f32 *j) {
    int64_t most = 0;
    for (int64_t b = 0; b < j->batch; b++)
        most = HN_MAX(most, j->reach[b].n_keys);
    return most;
}

static int64_t turned_row(const hn_attention_job_f32 *j) {
    return (j->n_queries + TILE - 1) / TILE * TILE;
}

int64_t hn_attention_scratch_elems_f32(const hn_attention_job_f32 *job) {
    return mask_copies(job) * most_keys(job) * turned_row(job);
}

static void turn_mask(void *ctx, int64_t begin, int64_t end) {
    const attention_task *t = ctx;
    const hn_attention_job_f32 *j = t->job;
    int64_t n_heads = j->mask.head ? j->n_heads : 1, n_blocks = (t->n_keys + BLOCK - 1) / BLOCK;
    for (int64_t i = begin; i < end; i++) {
        int64_t copy = i / n_blocks, first = i % n_blocks * BLOCK;
        int64_t n = HN_MIN((int64_t)BLOCK, t->n_keys - first);
        const float *from =
            j->mask.at + copy / n_heads * j->mask.batch + copy % n_heads * j->mask.head + first;
        float *to = j->scratch + (copy * t->n_keys + first) * t->mask_row;
        turn_floats(j->n_queries, n, from, j->mask.query, to, t->mask_row);
        for (int64_t k = 0; k < n; k++)
            memset(to + k * t->mask_row + j->n_queries, 0,
                   (size_t)(t->mask_row - j->n_queries) * sizeof *to);
    }
}

static const float *mask_of_head(const attention_task *t, int64_t b, int64_t h) {
    const hn_attention_job_f32 *j = t->job;
    int64_t copy = (j->mask.batch ? b : 0) * (j->mask.head ? j->n_heads : 1);
    copy += j->mask.head ? h : 0;
    return mask_copies(j) ? j->scratch + copy * t->n_keys * t->mask_row : NULL;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* A tile of queries of one head. Panels have the width of a tile of products. */
typedef struct query_tile {
    const attention_task *task;
    int64_t b, h, first, n;
    bool is_thin;
    const float *k, *v; /* of the head */
    float *out;         /* of the first query */
    const float *key_mask, *mask;
    float queries[MOST_SIZE * TILE]; /* [panel, element, query]; when thin, [query, element] */
    float scores[BLOCK * TILE];      /* [panel, key, query] */
    float values[BLOCK * HN_GEMM_MAX_COLS];
    float most[TILE], sum[TILE], decay[TILE];
} query_tile;

/* Queries of the panel at query i, as wide as it is: the last one may have half the width. */
static int64_t panel_width(const query_tile *q, int64_t i) {
    return hn_gemm_width_f32(q->task->set, q->n, i);
}

static void lay_queries(query_tile *q) {
    const hn_attention_job_f32 *j = q->task->job;
    const hn_attention_loops_f32 *loops = q->task->loops;
    int64_t row = j->q_step.row, laid = q->n * q->task->thin_row;
    const float *from = j->q + q->b * j->q_step.batch + q->h * j->q_step.head + q->first * row;
    if (q->is_thin)
        loops->gather(q->n, j->key_size, from, row, q->queries, q->task->thin_row);
    for (int64_t i = 0, width; !q->is_thin && i < q->n; i += width) {
        width = panel_width(q, i);
        float *to = q->queries + i * j->key_size;
        if (q->n - i < width)
            memset(to, 0, (size_t)(width * j->key_size) * sizeof *to);
        turn_floats(HN_MIN(width, q->n - i), j->key_size, from + i * row, row, to, width);
        laid = (i + width) * j->key_size;
    }
    loops->multiply(laid, q->queries, j->scale * HN_BITS_PER_E);
}

/* n rows in pieces of about the same size, none of more than `most`. */
static int64_t even_piece(int64_t n, int64_t most) {
    int64_t n_pieces = (n + most - 1) / most;
    return (n + n_pieces - 1) / n_pieces;
}

/* Scores of keys [first, first + n) and all panels. */
static void score_block(query_tile *q, int64_t first, int64_t n) {
    const hn_attention_job_f32 *j = q->task->job;
    const hn_gemm_set_f32 *set = q->task->set;
    int64_t piece = even_piece(n, set->max_rows);
    hn_gemm_tile_f32 tile = {.k = j->key_size, .a_row = j->k_step.row, .a_col = 1};
    for (int64_t k = 0; k < n; k += piece)
        for (int64_t i = 0, width; i < q->n; i += width) {
            int64_t rows = HN_MIN(piece, n - k);
            width = panel_width(q, i);
            tile.a = q->k + (first + k) * j->k_step.row;
            tile.b = q->queries + i * j->key_size;
            tile.c = q->scores + i * BLOCK + k * width;
            tile.b_row = tile.c_row = tile.cols = width;
            (width == set->cols ? set->full : set->narrow)[rows](&tile);
        }
}

/* The same for few queries: a panel would be empty for the most part. */
static void score_block_thinly(query_tile *q, int64_t first, int64_t n) {
    const hn_attention_job_f32 *j = q->task->job;
    int64_t width = panel_width(q, 0);
    memset(q->scores, 0, (size_t)(n * width) * sizeof *q->scores);
    for (int64_t i = 0; i < q->n; i++)
        q->task->loops->dots(n, j->key_size, q->k + first * j->k_step.row, j->k_step.row,
                             q->queries + i * q->task->thin_row, q->scores + i, width);
}

static void soften_panel(query_tile *q, int64_t i, int64_t first, int64_t n) {
    const hn_attention_job_f32 *j = q->task->job;
    int64_t width = panel_width(q, i), position = j->reach[q->b].first + q->first + i;
    int64_t from = position - j->left - first, to = position + j->right - first;
    q->task->loops->soften(
        &(hn_score_block_f32){.scores = q->scores + i * BLOCK,
                              .n_keys = n,
                              .width = width,
                              .softcap = j->softcap * HN_BITS_PER_E,
                              .key_mask = q->key_mask ? q->key_mask + first : NULL,
                              .mask = q->mask ? q->mask + first * q->task->mask_row + i : NULL,
                              .mask_row = q->task->mask_row,
                              .has_edge = from + width > 1 || to < n - 1,
                              .from = from,
                              .to = to,
                              .unseen = j->unseen,
                              .most = q->most + i,
                              .sum = q->sum + i,
                              .decay = q->decay + i});
}

/* Adds what the values of a block give, columns [col, col + cols) of the result. */
static void add_values(query_tile *q, int64_t first, int64_t n, int64_t col, bool add) {
    const hn_attention_job_f32 *j = q->task->job;
    const hn_gemm_set_f32 *set = q->task->set;
    int64_t width = hn_gemm_width_f32(set, j->value_size, col);
    hn_gemm_tile_f32 tile = {.k = n,
                             .a_row = 1,
                             .b = q->v + first * j->v_step.row + col,
                             .b_row = j->v_step.row,
                             .c_row = j->out_step.row,
                             .cols = HN_MIN(width, j->value_size - col),
                             .add = add};
    if (tile.cols < width) { /* a tile would read past the end of rows */
        q->task->loops->gather(n, tile.cols, tile.b, tile.b_row, q->values, width);
        tile.b = q->values;
        tile.b_row = width;
    }
    for (int64_t i = 0; i < q->n; i += tile.a_col) {
        tile.a_col = panel_width(q, i);
        int64_t in_panel = HN_MIN(tile.a_col, q->n - i);
        int64_t piece = even_piece(in_panel, set->max_rows);
        for (int64_t r = 0; r < in_panel; r += piece) {
            tile.a = q->scores + i * BLOCK + r;
            tile.c = q->out + (i + r) * j->out_step.row + col;
            (width == set->cols ? set->full : set->narrow)[HN_MIN(piece, in_panel - r)](&tile);
        }
    }
}

static void scale_rows(query_tile *q, const float *by) {
    const hn_attention_job_f32 *j = q->task->job;
    for (int64_t i = 0; i < q->n; i++)
        if (by[i] != 1)
            q->task->loops->multiply(j->value_size, q->out + i * j->out_step.row, by[i]);
}

static void attend_keys(query_tile *q, int64_t first, int64_t n, bool is_first) {
    const hn_attention_job_f32 *j = q->task->job;
    if (q->is_thin)
        score_block_thinly(q, first, n);
    else
        score_block(q, first, n);
    for (int64_t i = 0; i < q->n; i += panel_width(q, i))
        soften_panel(q, i, first, n);
    if (!is_first)
        scale_rows(q, q->decay);
    for (int64_t col = 0; col < j->value_size; col += q->task->set->cols)
        add_values(q, first, n, col, !is_first);
}

/* The keys that some query of the tile sees. */
static void tile_reach(const query_tile *q, int64_t *begin, int64_t *end) {
    const hn_attention_job_f32 *j = q->task->job;
    const hn_key_reach *reach = &j->reach[q->b];
    int64_t position = reach->first + q->first;
    bool skips = j->unseen == -HUGE_VALF;
    *begin = skips ? HN_MAX(position - j->left, 0) : 0;
    *end = skips ? HN_MIN(position + q->n + j->right, reach->n_keys) : reach->n_keys;
}

static void attend_tile(query_tile *q) {
    const hn_attention_job_f32 *j = q->task->job;
    int64_t begin, end;
    tile_reach(q, &begin, &end);
    if (begin >= end) {
        for (int64_t i = 0; i < q->n; i++)
            memset(q->out + i * j->out_step.row, 0, (size_t)j->value_size * sizeof *q->out);
        return;
    }
    lay_queries(q);
    for (int64_t i = 0; i < TILE; i++) {
        q->most[i] = j->sinks ? j->sinks[q->h] * HN_BITS_PER_E : -HUGE_VALF;
        q->sum[i] = j->sinks ? 1 : 0;
    }
    int64_t piece = even_piece(end - begin, BLOCK);
    for (int64_t at = begin; at < end && !hn_pool_is_stopped(q->task->pool); at += piece)
        attend_keys(q, at, HN_MIN(piece, end - at), at == begin);
    for (int64_t i = 0; i < q->n; i++)
        q->sum[i] = q->sum[i] == 0 && !j->lost_is_nan ? 0 : 1 / q->sum[i];
    scale_rows(q, q->sum);
}

static void attend_tiles(void *ctx, int64_t begin, int64_t end) {
    const attention_task *t = ctx;
    const hn_attention_job_f32 *j = t->job;
    query_tile q;
    q.task = t;
    for (int64_t i = begin; i < end; i++) {
        int64_t head = i / t->n_tiles;
        q.b = head / j->n_heads;
        q.h = head % j->n_heads;
        q.first = i % t->n_tiles * t->tile;
        q.n = HN_MIN(t->tile, j->n_queries - q.first);
        q.is_thin = q.n <= THIN;
        int64_t kv = q.h / (j->n_heads / j->n_kv_heads);
        q.k = j->k + q.b * j->k_step.batch + kv * j->k_step.head;
        q.v = j->v + q.b * j->v_step.batch + kv * j->v_step.head;
        q.out =
            j->out + q.b * j->out_step.batch + q.h * j->out_step.head + q.first * j->out_step.row;
        const float *mask = mask_of_head(t, q.b, q.h);
        q.mask = mask ? mask + q.first : NULL;
        q.key_mask = j->key_mask.at
                         ? j->key_mask.at + q.b * j->key_mask.batch + q.h * j->key_mask.head
                         : NULL;
        attend_tile(&q);
    }
}

bool hn_attention_fits_f32(int64_t key_size) {
    return hn_gemm_pick_f32() && hn_attention_loops_pick_f32() && key_size <= MOST_SIZE;
}

void hn_attention_f32(hn_pool *pool, const hn_attention_job_f32 *job) {
    attention_task t = {.job = job,
                        .set = hn_gemm_pick_f32(),
                        .loops = hn_attention_loops_pick_f32(),
                        .pool = pool,
                        .n_keys = most_keys(job),
                        .mask_row = turned_row(job),
                        .thin_row = (job->key_size + 15) / 16 * 16};
    t.tile = TILE / t.set->cols * t.set->cols;
    t.n_tiles = (job->n_queries + t.tile - 1) / t.tile;
    int64_t n_blocks = (t.n_keys + BLOCK - 1) / BLOCK;
    hn_pool_for(pool, mask_copies(job) * n_blocks, 1, turn_mask, &t);
    hn_pool_for(pool, job->batch * job->n_heads * t.n_tiles, 1, attend_tiles, &t);
}
