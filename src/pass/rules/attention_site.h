/* Inside pass/: one place in a graph where attention is computed from small operators. Recognition
 * fills it, file by file; writing reads it. */
#ifndef HN_ATTENTION_SITE_H
#define HN_ATTENTION_SITE_H

#include "pass/engine/view.h"

/* What masks write into scores that shall not count: this or less. */
#define HN_ATTN_HIDDEN (-1e4)

/* What keeps a query from looking at a key, or makes it look more or less: numbers added to the
 * scores. */
typedef enum hn_attn_mask_kind {
    HN_MASK_ADDED,      /* value */
    HN_MASK_SUBTRACTED, /* -value */
    HN_MASK_CHOSEN      /* Where(value, yes, no) */
} hn_attn_mask_kind;

typedef struct hn_attn_mask {
    hn_attn_mask_kind kind;
    hn_id value;
    hn_id scores;   /* what it meets: tells how it is broadcast */
    double yes, no; /* CHOSEN; below the range of the type: its lowest number */
    double factor;  /* by which the sum is multiplied afterwards */
} hn_attn_mask;

/* Axes of queries, keys and values everywhere below: batch, heads, position, size. */
typedef struct hn_attn {
    hn_rule *r;
    hn_id product, softmax, scores; /* nodes: probabilities x values, and queries x keys */
    hn_id probabilities;            /* value that the product reads */
    hn_id measure;                  /* Shape of the scores, read by Expands of masks; HN_NONE */
    hn_dtype softmax_elem;
    double scale;    /* of the scores */
    double softcap;  /* scores become softcap * tanh(scores / softcap); 0: they do not */
    bool is_guarded; /* probabilities that are NaN become 0 */
    uint32_t n_masks;
    hn_attn_mask masks[6];              /* the last one applied comes first */
    bool is_causal;                     /* instead of a mask */
    bool has_all_queries, has_all_keys; /* does the written mask, provably? */
    bool has_heads;                     /* does it differ from head to head? */
    hn_id shared_length;                /* a mask whose last axis is n_keys, or HN_NONE */
    hn_dim batch, n_queries, n_keys, size, value_size;
    int64_t n_heads, n_kv_heads; /* fewer for keys and values: each serves several in a row */
    hn_view q, k, v;
    hn_view all_k, all_v;       /* the same with the past; equal to k and v when there is none */
    hn_id past_k, past_v;       /* what new keys and values are appended to; HN_NONE */
    hn_id present_k, present_v; /* the result of that */
    hn_dim n_new_keys;          /* n_keys without the past */
} hn_attn;

/* Each part: false when this is no attention that can be written. Where that is worth telling, the
 * near miss is logged. */
bool hn_attn_find_core(hn_attn *a);  /* from the softmax up to queries, keys and masks */
bool hn_attn_find_heads(hn_attn *a); /* what they are views of */
/* Drops a mask that says no more than "not after the query", and sets is_causal. */
void hn_attn_find_causal(hn_attn *a);
hone_status hn_attn_write(hn_attn *a);

/* Can -inf keep a query from all keys? The softmax of such a row is NaN. */
bool hn_attn_may_hide_all(const hn_attn *a);
/* The sum of all masks, of rank 4: batch, heads, queries, keys, each possibly 1. HN_NONE, logged,
 * when one of them cannot be brought into that form. q: new queries, axis 0 is the batch. */
hn_id hn_attn_write_mask(hn_attn *a, hn_view_writer *w, hn_id q);
/* The same with all queries and keys, as runtimes want it. q, k: new values that hold positions on
 * these axes. */
hn_id hn_attn_expand_mask(hn_attn *a, hn_id mask, hn_id q, uint32_t q_axis, hn_id k,
                          uint32_t k_axis);

#endif /* HN_ATTENTION_SITE_H */
