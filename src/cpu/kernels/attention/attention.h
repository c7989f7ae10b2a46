/* Attention of floats: out = softmax(scale * q * k' + masks) * v for every head, without a matrix
 * of scores. */
#ifndef HN_ATTENTION_H
#define HN_ATTENTION_H

#include "base/base.h"

/* Element e of row r of head h of batch b is at[b * batch + h * head + r * row + e]: vectors are
 * read where they lie, in [batch, heads, rows, size] or in [batch, rows, heads * size]. */
typedef struct hn_head_steps {
    int64_t batch, head, row;
} hn_head_steps;

/* What is added to scores: at[b * batch + h * head + i * query + key]; a step of 0 repeats. A key
 * with -infinity is hidden: it counts for nothing, whatever its score is. */
typedef struct hn_score_mask_f32 {
    const float *at; /* NULL: nothing */
    int64_t batch, head, query;
} hn_score_mask_f32;

/* How many keys a batch has, and where its queries stand among them: query i at first + i. */
typedef struct hn_key_reach {
    int64_t n_keys, first;
} hn_key_reach;

#define HN_REACH_ALL (INT64_MAX / 4)

/* A query at position p sees keys p - left .. p + right of its batch; others are hidden, or have
 * the score `unseen` where that is not -infinity. A query from which all keys are hidden gives
 * zeros. */
typedef struct hn_attention_job_f32 {
    int64_t batch, n_heads, n_kv_heads; /* heads share keys in groups of n_heads / n_kv_heads */
    int64_t n_queries, key_size, value_size;
    const hn_key_reach *reach; /* of each batch */
    int64_t left, right;       /* -1 .. HN_REACH_ALL */
    float unseen;
    bool lost_is_nan;
    const float *q, *k, *v;
    float *out;
    hn_head_steps q_step, k_step, v_step, out_step;
    float scale, softcap;             /* softcap 0: none */
    hn_score_mask_f32 mask, key_mask; /* both are added; key_mask without a step of queries */
    const float
        *sinks;     /* one more score per head that takes its share of the softmax; NULL: none */
    float *scratch; /* hn_attention_scratch_elems_f32(job) */
} hn_attention_job_f32;

/* Whether the processor has it, and for keys of such a size. */
bool hn_attention_fits_f32(int64_t key_size);
int64_t hn_attention_scratch_elems_f32(const hn_attention_job_f32 *job);
void hn_attention_f32(hn_pool *pool, const hn_attention_job_f32 *job);

#endif /* HN_ATTENTION_H */
