/* Attention over heads. Blocks of queries meet all keys of a head at once: products run on all
 * threads, and scratch is one block. */
#include "ops/eval/ms/ms_heads_eval.h"

#include <math.h>

#include "cpu/kernels/kernel.h"

#define QUERIES_AT_ONCE 256

hn_head_rows hn_rows_packed(const float *at, int64_t n_rows, int64_t width, int64_t size) {
    return (hn_head_rows){(float *)(uintptr_t)at, n_rows * width, size, width};
}

hn_head_rows hn_rows_by_head(const float *at, int64_t n_heads, int64_t n_rows, int64_t size) {
    return (hn_head_rows){(float *)(uintptr_t)at, n_heads * n_rows * size, n_rows * size, size};
}

float hn_heads_scale(const hn_eval *c, int64_t size) {
    float scale = hn_attr_f(hn_eval_node(c), "scale", 0);
    return scale != 0 ? scale : 1 / sqrtf((float)HN_MAX(size, 1));
}

/* ---- biases ---------------------------------------------------------------------------------- */

hone_status hn_read_score_bias(hn_eval *c, uint32_t arg, const hn_heads *a, hn_score_bias *out) {
    const hn_array *bias = hn_arg(c, arg);
    *out = (hn_score_bias){NULL, 0, 0, 0};
    if (!bias)
        return HONE_OK;
    if (bias->rank != 4 || (bias->dims[0] != 1 && bias->dims[0] != a->batch) ||
        (bias->dims[1] != 1 && bias->dims[1] != a->n_heads) || bias->dims[2] != a->n_queries ||
        bias->dims[3] < a->n_keys)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "input %u must be [%lld or 1, %lld or 1, %lld, %lld]: batch, heads, queries, keys", arg,
            (long long)a->batch, (long long)a->n_heads, (long long)a->n_queries,
            (long long)a->n_keys);
    out->at = hn_wide_f32(c, bias);
    HN_TRY_PTR(out->at);
    out->row = bias->dims[3];
    out->head = bias->dims[1] == 1 ? 0 : out->row * bias->dims[2];
    out->batch = bias->dims[0] == 1 ? 0 : out->row * bias->dims[2] * bias->dims[1];
    return HONE_OK;
}

void hn_add_score_bias(const hn_score_bias *bias, int64_t b, int64_t h, int64_t i, int64_t n,
                       float *scores) {
    if (!bias->at)
        return;
    const float *row = bias->at + b * bias->batch + h * bias->head + i * bias->row;
    for (int64_t k = 0; k < n; k++)
        scores[k] = row[k] == -INFINITY ? row[k] : scores[k] + row[k];
}

/* ---- normalization --------------------------------------------------------------------------- */

hone_status hn_normalize_heads(hn_eval *c, uint32_t arg, const hn_head_rows *rows, int64_t batch,
                               int64_t n_heads, int64_t n_rows, int64_t size) {
    hn_norm_row_f32 norm = {.epsilon = hn_attr_f(hn_eval_node(c), "qk_norm_epsilon", 1e-6f),
                            .simplified = true};
    float mean, inverse;
    HN_TRY(hn_want_elems(c, arg, (uint64_t)size));
    HN_TRY_PTR(hn_arg_f32s(c, arg, &norm.gamma));
    for (int64_t i = 0; norm.gamma && i < batch * n_rows; i++)
        for (int64_t h = 0; h < n_heads; h++) {
            float *row = hn_row_at(rows, i / n_rows, h, i % n_rows);
            hn_normalize_row(&norm, (uint64_t)size, row, row, &mean, &inverse);
        }
    return HONE_OK;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* A block of queries of one head. */
typedef struct head_block {
    const hn_heads *a;
    int64_t b, h, first, n_keys;
    float *scores; /* [queries of the block, n_keys] */
} head_block;

static void soften(const hn_heads *a, int64_t h, int64_t n, float *scores) {
    bool has_sink = a->sinks || a->smooth;
    float sink = a->sinks ? a->sinks[h] : 0, most = has_sink ? sink : -INFINITY;
    double sum = 0;
    if (!has_sink && hn_softmax_row_f32(n, scores, scores))
        return;
    for (int64_t k = 0; k < n; k++)
        most = fmaxf(most, scores[k]);
    for (int64_t k = 0; k < n; k++) {
        scores[k] = expf(scores[k] - most);
        sum += (double)scores[k];
    }
    if (has_sink)
        sum += exp((double)(sink - most));
    for (int64_t k = 0; k < n; k++)
        scores[k] = (float)((double)scores[k] / sum);
}

static void keep_scores(const head_block *block, int64_t i, hn_scores_kind kind, const float *row) {
    const hn_heads *a = block->a;
    if (!a->scores || a->scores_kind != kind)
        return;
    int64_t width = a->scores->dims[3],
            at = ((block->b * a->n_heads + block->h) * a->n_queries + i) * width;
    hn_store_f32(a->scores, (uint64_t)at, (uint64_t)HN_MIN(width, block->n_keys), row);
}

static void head_block_rows(void *ctx, int64_t begin, int64_t end) {
    const head_block *block = ctx;
    const hn_heads *a = block->a;
    for (int64_t r = begin; r < end; r++) {
        int64_t i = block->first + r, n = block->n_keys;
        float *row = block->scores + r * n;
        for (int64_t k = 0; k < n; k++)
            row[k] *= a->scale;
        for (int64_t k = 0; a->softcap > 0 && k < n; k++)
            row[k] = a->softcap * tanhf(row[k] / a->softcap);
        hn_key_span seen = a->see(a->see_ctx, block->b, block->h, i, n, row);
        seen.begin = HN_MIN(HN_MAX(seen.begin, 0), n);
        seen.end = HN_MAX(HN_MIN(seen.end, n), seen.begin);
        memset(row, 0, (size_t)seen.begin * sizeof *row);
        memset(row + seen.end, 0, (size_t)(n - seen.end) * sizeof *row);
        keep_scores(block, i, HN_SCORES_MASKED, row);
        soften(a, block->h, seen.end - seen.begin, row + seen.begin);
        keep_scores(block, i, HN_SCORES_PROBS, row);
    }
}

static void attend_block(hn_pool *pool, const head_block *block, int64_t n) {
    const hn_heads *a = block->a;
    int64_t kv = block->h / (a->n_heads / a->n_kv_heads);
    hn_gemm_f32(pool, &(hn_gemm_job_f32){.m = n,
                                         .n = block->n_keys,
                                         .k = a->key_size,
                                         .a = hn_row_at(&a->q, block->b, block->h, block->first),
                                         .a_row = a->q.row,
                                         .a_col = 1,
                                         .b = hn_row_at(&a->k, block->b, kv, 0),
                                         .b_row = 1,
                                         .b_col = a->k.row,
                                         .c = block->scores,
                                         .c_row = block->n_keys});
    hn_pool_for(pool, n, 16, head_block_rows, (void *)(uintptr_t)block);
    hn_gemm_f32(pool, &(hn_gemm_job_f32){.m = n,
                                         .n = a->value_size,
                                         .k = block->n_keys,
                                         .a = block->scores,
                                         .a_row = block->n_keys,
                                         .a_col = 1,
                                         .b = hn_row_at(&a->v, block->b, kv, 0),
                                         .b_row = a->v.row,
                                         .b_col = 1,
                                         .c = hn_row_at(&a->out, block->b, block->h, block->first),
                                         .c_row = a->out.row});
}

/* ---- the same without scores in memory ------------------------------------------------------- */

bool hn_heads_are_fast(const hn_heads *a) {
    return !a->scores && hn_attention_fits_f32(a->key_size);
}

const hn_key_reach *hn_even_reach(hn_eval *c, int64_t batch, int64_t n_keys, int64_t first) {
    hn_key_reach *reach = hn_eval_scratch_n(c, (uint64_t)batch, sizeof *reach);
    for (int64_t b = 0; reach && b < batch; b++)
        reach[b] = (hn_key_reach){n_keys, first};
    return reach;
}

static hn_head_steps steps_of_rows(const hn_head_rows *rows) {
    return (hn_head_steps){rows->batch, rows->head, rows->row};
}

static hone_status attend_by_sight(hn_eval *c, const hn_heads *a) {
    const hn_key_sight *s = a->sight;
    hn_attention_job_f32 job = {.batch = a->batch,
                                .n_heads = a->n_heads,
                                .n_kv_heads = a->n_kv_heads,
                                .n_queries = a->n_queries,
                                .key_size = a->key_size,
                                .value_size = a->value_size,
                                .reach = s->reach,
                                .left = s->left,
                                .right = s->right,
                                .unseen = s->unseen,
                                .lost_is_nan = true,
                                .q = a->q.at,
                                .k = a->k.at,
                                .v = a->v.at,
                                .out = a->out.at,
                                .q_step = steps_of_rows(&a->q),
                                .k_step = steps_of_rows(&a->k),
                                .v_step = steps_of_rows(&a->v),
                                .out_step = steps_of_rows(&a->out),
                                .scale = a->scale,
                                .softcap = a->softcap,
                                .mask = s->mask,
                                .key_mask = s->key_mask,
                                .sinks = a->sinks};
    if (!a->sinks && a->smooth) {
        float *sinks = hn_eval_scratch_n(c, (uint64_t)a->n_heads, sizeof *sinks);
        HN_TRY_PTR(sinks);
        memset(sinks, 0, (size_t)a->n_heads * sizeof *sinks);
        job.sinks = sinks;
    }
    job.scratch =
        hn_eval_scratch_n(c, (uint64_t)hn_attention_scratch_elems_f32(&job), sizeof *job.scratch);
    HN_TRY_PTR(job.scratch);
    hn_attention_f32(hn_eval_pool(c), &job);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

hone_status hn_heads_attend(hn_eval *c, const hn_heads *a) {
    uint64_t n_scores;
    int64_t most = a->n_keys;
    if (a->sight && hn_heads_are_fast(a))
        return attend_by_sight(c, a);
    for (int64_t b = 0; a->keys_of && b < a->batch; b++)
        most = HN_MAX(most, a->keys_of[b]);
    if (!hn_mul_u64((uint64_t)HN_MIN(a->n_queries, QUERIES_AT_ONCE), (uint64_t)most, &n_scores))
        return HONE_E_NOMEM;
    float *scores = hn_eval_scratch_n(c, n_scores, sizeof *scores);
    HN_TRY_PTR(scores);
    if (a->scores && hn_elem_bytes(a->scores->dtype) > 0)
        memset(a->scores->data, 0, a->scores->n_elems * hn_elem_bytes(a->scores->dtype));
    for (int64_t i = 0; i < a->batch * a->n_heads; i++) {
        head_block block = {.a = a, .b = i / a->n_heads, .h = i % a->n_heads, .scores = scores};
        block.n_keys = a->keys_of ? a->keys_of[block.b] : a->n_keys;
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        for (; block.first < a->n_queries; block.first += QUERIES_AT_ONCE)
            attend_block(hn_eval_pool(c), &block,
                         HN_MIN(QUERIES_AT_ONCE, a->n_queries - block.first));
    }
    return HONE_OK;
}
