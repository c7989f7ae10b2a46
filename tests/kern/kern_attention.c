/* Attention against scores, softmax and sums in double. */
#include "kern/kern.h"

#include <float.h>
#include <math.h>

#include "cpu/kernels/attention/attention.h"

enum { MOST_BATCH = 3 };

/* What a case looks like beside its sizes: bits. */
enum {
    IS_PACKED = 1, /* heads side by side in each row */
    HAS_MASK = 2,
    HAS_KEY_MASK = 4,
    MASK_BY_HEAD = 8,
    IS_CAUSAL = 16,
    HAS_WINDOW = 32,
    HAS_CAP = 64,
    HAS_SINKS = 128,
    IS_SHORT = 256, /* batches have fewer keys than there are rows, and queries stand anywhere */
    HIDES = 512,    /* masks have -infinity here and there */
    STAYS = 1024,   /* unseen keys have a finite score */
    ALL_ATTENTION_FORMS = 2047
};

typedef struct attention_case {
    int64_t batch, heads, kv_heads, queries, keys, key_size, value_size;
    uint32_t form;
} attention_case;

static hn_head_steps case_steps(const attention_case *t, int64_t heads, int64_t rows,
                                int64_t size) {
    return t->form & IS_PACKED ? (hn_head_steps){rows * heads * size, size, heads * size}
                               : (hn_head_steps){heads * rows * size, rows * size, size};
}

static void hide_some(uint32_t form, int64_t n, float *mask) {
    for (int64_t i = 0; (form & HIDES) && i < n; i++)
        if (kern_random() % 3 == 0)
            mask[i] = -HUGE_VALF;
}

static hn_score_mask_f32 case_mask(const attention_case *t, bool by_query) {
    int64_t rows = by_query ? t->queries : 1, matrix = rows * t->keys;
    int64_t heads = t->form & MASK_BY_HEAD ? t->heads : 1;
    float *at = kern_floats(t->batch * heads * matrix);
    hide_some(t->form, t->batch * heads * matrix, at);
    return (hn_score_mask_f32){at, heads * matrix, heads > 1 ? matrix : 0, by_query ? t->keys : 0};
}

static void case_reach(const attention_case *t, hn_key_reach reach[MOST_BATCH]) {
    for (int64_t b = 0; b < t->batch; b++) {
        reach[b] = (hn_key_reach){t->keys, t->keys - t->queries};
        if (t->form & IS_SHORT)
            reach[b] = (hn_key_reach){kern_between(0, t->keys), kern_between(-3, t->keys)};
    }
}

static hn_attention_job_f32 case_job(const attention_case *t, const hn_key_reach *reach) {
    int64_t n_q = t->batch * t->heads * t->queries, n_k = t->batch * t->kv_heads * t->keys;
    return (hn_attention_job_f32){
        .batch = t->batch,
        .n_heads = t->heads,
        .n_kv_heads = t->kv_heads,
        .n_queries = t->queries,
        .key_size = t->key_size,
        .value_size = t->value_size,
        .reach = reach,
        .left = t->form & HAS_WINDOW ? kern_between(-1, 9) : HN_REACH_ALL,
        .right = t->form & IS_CAUSAL    ? 0
                 : t->form & HAS_WINDOW ? 5
                                        : HN_REACH_ALL,
        .unseen = t->form & STAYS ? -FLT_MAX : -HUGE_VALF,
        .q = kern_floats(n_q * t->key_size),
        .k = kern_floats(n_k * t->key_size),
        .v = kern_floats(n_k * t->value_size),
        .q_step = case_steps(t, t->heads, t->queries, t->key_size),
        .k_step = case_steps(t, t->kv_heads, t->keys, t->key_size),
        .v_step = case_steps(t, t->kv_heads, t->keys, t->value_size),
        .out_step = case_steps(t, t->heads, t->queries, t->value_size),
        .scale = 1.5f,
        .softcap = t->form & HAS_CAP ? 0.75f : 0,
        .mask = t->form & HAS_MASK ? case_mask(t, true) : (hn_score_mask_f32){NULL, 0, 0, 0},
        .key_mask =
            t->form & HAS_KEY_MASK ? case_mask(t, false) : (hn_score_mask_f32){NULL, 0, 0, 0},
        .sinks = t->form & HAS_SINKS ? kern_floats(t->heads) : NULL};
}

/* ---- the plain way ---- */

typedef struct plain_query {
    const hn_attention_job_f32 *job;
    int64_t b, h, i;
} plain_query;

static double masked(const hn_score_mask_f32 *m, const plain_query *q, int64_t k, double score) {
    if (!m->at)
        return score;
    float more = m->at[q->b * m->batch + q->h * m->head + q->i * m->query + k];
    return more == -HUGE_VALF ? -HUGE_VAL : score + (double)more;
}

static double plain_score(const plain_query *q, int64_t k) {
    const hn_attention_job_f32 *j = q->job;
    int64_t position = j->reach[q->b].first + q->i, kv = q->h / (j->n_heads / j->n_kv_heads);
    const float *x = j->q + q->b * j->q_step.batch + q->h * j->q_step.head + q->i * j->q_step.row;
    const float *y = j->k + q->b * j->k_step.batch + kv * j->k_step.head + k * j->k_step.row;
    double sum = 0;
    for (int64_t e = 0; e < j->key_size; e++)
        sum += (double)x[e] * (double)y[e];
    sum *= (double)j->scale;
    if (j->softcap > 0)
        sum = (double)j->softcap * tanh(sum / (double)j->softcap);
    sum = masked(&j->key_mask, q, k, masked(&j->mask, q, k, sum));
    return k < position - j->left || k > position + j->right ? (double)j->unseen : sum;
}

/* Weights of all keys; returns what they sum to. */
static double plain_weights(const plain_query *q, double *weights) {
    const hn_attention_job_f32 *j = q->job;
    double most = j->sinks ? (double)j->sinks[q->h] : -HUGE_VAL, sum = 0;
    int64_t n = j->reach[q->b].n_keys;
    for (int64_t k = 0; k < n; k++) {
        weights[k] = plain_score(q, k);
        most = fmax(most, weights[k]);
    }
    most = most == -HUGE_VAL ? 0 : most;
    for (int64_t k = 0; k < n; k++) {
        weights[k] = exp(weights[k] - most);
        sum += weights[k];
    }
    return j->sinks ? sum + exp((double)j->sinks[q->h] - most) : sum;
}

/* Scores lie within a few units, so weights are off by their errors times e^x; sums of weights and
 * of values add theirs. */
static double allowed_error(const hn_attention_job_f32 *j, int64_t n_keys) {
    return (24 + 4 * (double)j->key_size + (double)n_keys / 4) * KERN_EPS;
}

static void check_query(const plain_query *q, const float *out) {
    static double weights[1024];
    const hn_attention_job_f32 *j = q->job;
    int64_t n = j->reach[q->b].n_keys, kv = q->h / (j->n_heads / j->n_kv_heads);
    double sum = plain_weights(q, weights), allowed = allowed_error(j, n);
    const float *v = j->v + q->b * j->v_step.batch + kv * j->v_step.head;
    for (int64_t e = 0; e < j->value_size; e++) {
        double exact = 0;
        for (int64_t k = 0; k < n; k++)
            exact += weights[k] * (double)v[k * j->v_step.row + e];
        exact = sum == 0 && !j->lost_is_nan ? 0 : exact / sum;
        KERN_CHECK(isnan(exact) ? isnan(out[e]) : fabs(out[e] - exact) <= allowed,
                   "%d queries, %d keys: element %d of query %d of head %d is %.9g, not %.9g",
                   (int)j->n_queries, (int)n, (int)e, (int)q->i, (int)q->h, (double)out[e], exact);
    }
}

/* ---- cases ---- */

static void run_job(hn_attention_job_f32 *job) {
    int64_t n = job->batch * job->n_heads * job->n_queries * job->value_size;
    float *first = NULL;
    job->scratch = kern_floats(hn_attention_scratch_elems_f32(job));
    for (int p = 0; p < KERN_POOLS; p++) {
        job->out = kern_floats(n);
        hn_attention_f32(kern_pool(p), job);
        first = first ? first : job->out;
        KERN_CHECK(memcmp(first, job->out, (size_t)n * sizeof *first) == 0,
                   "attention depends on the number of threads");
    }
    for (int64_t i = 0; i < job->batch * job->n_heads * job->n_queries; i++) {
        plain_query q = {job, i / (job->n_heads * job->n_queries),
                         i / job->n_queries % job->n_heads, i % job->n_queries};
        check_query(&q, job->out + q.b * job->out_step.batch + q.h * job->out_step.head +
                            q.i * job->out_step.row);
    }
    kern_release();
}

static void run_case(const attention_case *t) {
    if (kern_leaves_out())
        return;
    hn_key_reach reach[MOST_BATCH];
    case_reach(t, reach);
    hn_attention_job_f32 job = case_job(t, reach);
    run_job(&job);
}

/* One odd number among the queries, keys or masks reaches the queries that see it, no others. */
static void run_odd_numbers(void) {
    static const float odd[] = {NAN, HUGE_VALF, -HUGE_VALF};
    for (int i = 0; i < 18; i++) {
        attention_case t = {1, 2, 1, 70, 150, 5, 6, HAS_KEY_MASK | (i % 6 < 3 ? 0 : HAS_MASK)};
        hn_key_reach reach[MOST_BATCH];
        case_reach(&t, reach);
        hn_attention_job_f32 job = case_job(&t, reach);
        const float *in[] = {job.q, job.k, job.key_mask.at};
        ((float *)(uintptr_t)in[i % 3])[kern_between(0, 149)] = odd[i / 6];
        run_job(&job);
    }
}

/* A row of masks that hides everything: zeros, or NaN where that is wanted; one of lowest numbers
 * hides nothing. */
static void run_lost_queries(void) {
    for (int i = 0; i < 4; i++) {
        attention_case t = {1, 1, 1, 40, 150, 5, 6, HAS_MASK};
        hn_key_reach reach[MOST_BATCH];
        case_reach(&t, reach);
        hn_attention_job_f32 job = case_job(&t, reach);
        for (int64_t k = 0; k < t.keys; k++)
            ((float *)(uintptr_t)job.mask.at)[7 * t.keys + k] = i & 1 ? -FLT_MAX : -HUGE_VALF;
        job.lost_is_nan = i & 2;
        run_job(&job);
    }
}

void kern_test_attention(void) {
    static const attention_case cases[] = {
        {1, 1, 1, 1, 1, 1, 1, 0},
        {1, 2, 2, 64, 140, 64, 64, IS_PACKED},
        {1, 2, 1, 65, 141, 64, 32, IS_PACKED | IS_CAUSAL},
        {2, 4, 2, 33, 281, 16, 33, HAS_MASK},
        {1, 3, 3, 128, 128, 32, 31, HAS_MASK | MASK_BY_HEAD | HIDES},
        {3, 2, 2, 31, 300, 7, 17, HAS_KEY_MASK | HIDES | IS_PACKED},
        {1, 1, 1, 200, 200, 8, 8, IS_CAUSAL | HAS_WINDOW},
        {1, 1, 1, 5, 17, 256, 3, HAS_CAP | HAS_SINKS},
        {2, 2, 1, 7, 0, 4, 5, 0},
        {1, 1, 1, 9, 20, 0, 5, 0},
        {1, 2, 2, 150, 150, 8, 8, IS_CAUSAL | STAYS | HAS_MASK | HIDES}};
    if (!hn_attention_fits_f32(256))
        return;
    for (size_t i = 0; i < HN_COUNT(cases); i++)
        run_case(&cases[i]);
    for (int i = 0; i < 400; i++) {
        attention_case t = {.batch = kern_between(1, MOST_BATCH),
                            .kv_heads = kern_between(1, 2),
                            .queries = kern_between(1, i % 4 ? 40 : 140),
                            .keys = kern_between(0, i % 4 ? 40 : 300),
                            .key_size = kern_between(1, 20),
                            .value_size = kern_between(1, 40),
                            .form = kern_random() & kern_random() & ALL_ATTENTION_FORMS};
        t.heads = t.kv_heads * kern_between(1, 3);
        run_case(&t);
    }
    run_odd_numbers();
    run_lost_queries();
}
