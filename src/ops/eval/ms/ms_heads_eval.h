/* Inside ops/: attention over heads at run time, as the attention operators of com.microsoft need
 * it. All numbers are floats here. */
#ifndef HN_MS_HEADS_EVAL_H
#define HN_MS_HEADS_EVAL_H

#include "cpu/kernels/attention/attention.h"
#include "ops/eval/ms/ms_eval.h"

/* Vectors of heads: element e of row r of head h of batch b is at[b * batch + h * head + r * row +
 * e]. */
typedef struct hn_head_rows {
    float *at;
    int64_t batch, head, row;
} hn_head_rows;
/* Rows that stand one after the other in [batch, rows, heads * size], or in [batch, heads, rows,
 * size]. */
hn_head_rows hn_rows_packed(const float *at, int64_t n_rows, int64_t width, int64_t size);
hn_head_rows hn_rows_by_head(const float *at, int64_t n_heads, int64_t n_rows, int64_t size);
static inline float *hn_row_at(const hn_head_rows *r, int64_t b, int64_t h, int64_t i) {
    return r->at + b * r->batch + h * r->head + i * r->row;
}

/* The keys that a query sees: [begin, end). */
typedef struct hn_key_span {
    int64_t begin, end;
} hn_key_span;
/* Changes the scores of query i of one head (adds biases and masks), and tells which keys count. */
typedef hn_key_span (*hn_see_fn)(const void *ctx, int64_t b, int64_t h, int64_t i, int64_t n_keys,
                                 float *scores);

/* What a hn_see_fn does, where it can be said in the words of kernels/attention.h. */
typedef struct hn_key_sight {
    hn_score_mask_f32 mask, key_mask;
    const hn_key_reach *reach; /* of each batch */
    int64_t left, right;
    float unseen;
} hn_key_sight;

typedef enum hn_scores_kind {
    HN_SCORES_MASKED, /* what goes into the softmax */
    HN_SCORES_PROBS   /* what comes out of it */
} hn_scores_kind;

typedef struct hn_heads {
    int64_t batch, n_heads, n_kv_heads; /* heads share keys in groups of n_heads / n_kv_heads */
    int64_t n_queries, key_size, value_size;
    int64_t n_keys;         /* of every batch, */
    const int64_t *keys_of; /* unless this has one for each */
    hn_head_rows q, k, v, out;
    float scale, softcap; /* softcap 0: none */
    const float
        *sinks;  /* one more score per head that takes its share of the softmax; NULL: none */
    bool smooth; /* a sink of 0 for all */
    hn_see_fn see;
    const void *see_ctx;
    const hn_key_sight *sight; /* the same; NULL: it cannot be said so */
    hn_array *scores;          /* [batch, heads, queries, keys]: wanted, too; may be NULL */
    hn_scores_kind scores_kind;
} hn_heads;
hone_status hn_heads_attend(hn_eval *c, const hn_heads *a);
/* Whether a sight is of any use. */
bool hn_heads_are_fast(const hn_heads *a);
/* One number of keys, and of positions before the queries, for all batches. NULL: out of memory. */
const hn_key_reach *hn_even_reach(hn_eval *c, int64_t batch, int64_t n_keys, int64_t first);

/* attribute scale, or 1 / sqrt(size) */
float hn_heads_scale(const hn_eval *c, int64_t size);

/* What is added to scores: an argument [batch or 1, heads or 1, queries, keys or more]. */
typedef struct hn_score_bias {
    const float *at; /* NULL: none */
    int64_t batch, head, row;
} hn_score_bias;
hone_status hn_read_score_bias(hn_eval *c, uint32_t arg, const hn_heads *a, hn_score_bias *out);
void hn_add_score_bias(const hn_score_bias *bias, int64_t b, int64_t h, int64_t i, int64_t n,
                       float *scores);

/* How the rows of a cache hold numbers: as they are, or as codes that a scale multiplies. */
typedef struct hn_kv_codes {
    const float *scales; /* NULL: numbers as they are */
    bool per_channel;    /* [heads, size] of them, else one */
    hn_dtype type;       /* of a code; bytes may hold two */
    float zero;          /* the code of 0 */
    int64_t size;        /* numbers of a row */
    int64_t row;         /* codes from one row to the next */
} hn_kv_codes;
/* What an operator says of a cache [..., bytes of a row]: `kind` is the attribute that names how
 * scales stand (NONE: there are none), `type` that of the codes, and `scales` the argument. */
hone_status hn_read_kv_codes(hn_eval *c, const hn_array *cache, const char *kind, hn_dtype type,
                             uint32_t scales, int64_t n_heads, int64_t size, hn_kv_codes *out);
/* Rows of one head, the first of them row `row` of the whole cache. Storing leaves in `rows` what
 * loading will give. */
void hn_kv_load(const hn_kv_codes *codes, const hn_array *cache, int64_t row, int64_t head,
                int64_t n_rows, float *rows);
void hn_kv_store(const hn_kv_codes *codes, hn_array *cache, int64_t row, int64_t head,
                 int64_t n_rows, float *rows);

/* Keys or values of all steps so far, [batch, heads, room, size]: rows of the past, then the fresh
 * ones. They stand in the present when that is wanted, else in scratch. */
typedef struct hn_kv_cache {
    int64_t batch, n_heads, room, size;
    hn_kv_codes codes;    /* of the past and the present; size 0: numbers as they are */
    const hn_array *past; /* [..., past_room, size] from row past_begin on; NULL: none */
    int64_t past_begin, past_room;
    const int64_t *n_past; /* rows of each batch that count */
    hn_head_rows fresh;
    int64_t n_fresh;
    hn_array *present; /* NULL: not wanted */
    int64_t present_begin;
} hn_kv_cache;
/* Whether a cache of `room` rows holds those of a past of `past_room` and the fresh ones. */
hone_status hn_kv_fits(hone_error *err, int64_t n_past, int64_t n_fresh, int64_t past_room,
                       int64_t room);
hone_status hn_kv_cache_join(hn_eval *c, const hn_kv_cache *cache, float **out);

/* ---- heads that do not share keys ------------------------------------------------------------ */

/* Fresh queries, keys and values, and where the past and the present are. */
typedef struct hn_attention_parts {
    hn_heads heads;
    int64_t n_fresh, n_past;
    hn_kv_cache keys, values; /* batch, heads, sizes and counts are filled in by hn_attention_run */
    uint32_t mask, bias;      /* arguments */
} hn_attention_parts;
/* Puts the past and the fresh keys and values together; heads.n_keys tells how many there are then.
 */
hone_status hn_attention_join(hn_eval *c, hn_attention_parts *p);
/* Output 0 of the node: attention under its mask, its bias and, with the attribute unidirectional,
 * the order of time. */
hone_status hn_attention_run(hn_eval *c, hn_attention_parts *p);

/* ---- sequences without padding --------------------------------------------------------------- */

/* Attention within each of the sequences whose tokens stand one after the other: q, k, v and out of
 * `a` hold all tokens as a batch of one. */
typedef struct hn_token_args {
    uint32_t offsets; /* [sequences, length with padding], */
    uint32_t starts;  /* [sequences + 1]: cumulated lengths, */
    uint32_t bias;    /* [sequences or 1, heads or 1, length, length], may be left out */
} hn_token_args;
hone_status hn_attend_sequences(hn_eval *c, const hn_token_args *args, int64_t n_tokens,
                                hn_heads *a);

/* ---- rotary positions ------------------------------------------------------------------------ */

/* Tables [positions, half], as wide as half of what is turned. */
typedef struct hn_rotary {
    const float *cosines, *sines;
    int64_t n_positions, half;
    bool interleaved; /* pairs are neighbours; else one of each pair stands in either half */
} hn_rotary;
/* Reads the tables from two arguments and checks that they fit heads of `size`; the attribute named
 * says how pairs stand. */
hone_status hn_read_rotary(hn_eval *c, uint32_t cosines, uint32_t sines, int64_t size,
                           const char *interleaved, hn_rotary *out);
/* Turns the first 2 * half elements of v in place, by rows of the tables. */
void hn_rotate(const hn_rotary *r, const float *cosines, const float *sines, float *v);
/* Every head of rows that stand at positions[batch, rows], which must be in range. */
hone_status hn_rotate_heads(hn_eval *c, const hn_rotary *r, const int64_t *positions,
                            const hn_head_rows *rows, int64_t batch, int64_t n_heads,
                            int64_t n_rows);

/* Root-mean-square normalization of every head of `size`, where the argument has a weight for it.
 */
hone_status hn_normalize_heads(hn_eval *c, uint32_t arg, const hn_head_rows *rows, int64_t batch,
                               int64_t n_heads, int64_t n_rows, int64_t size);

#endif /* HN_MS_HEADS_EVAL_H */
