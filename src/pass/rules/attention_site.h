/* Inside pass/: describes one place in a graph where small operators compute attention. The files
 * that match it fill the description, and the file that writes the fused operator reads it. */
#ifndef HN_ATTENTION_SITE_H
#define HN_ATTENTION_SITE_H

#include "pass/engine/view.h"

/* Masks write this number or a lower one into scores that must not count. */
#define HN_ATTN_HIDDEN (-1e4)

/* A mask hides keys from queries or weights them: it adds numbers to the scores. */
typedef enum hn_attn_mask_kind {
    HN_MASK_ADDED,      /* value */
    HN_MASK_SUBTRACTED, /* -value */
    HN_MASK_SELECTED    /* Where(value, yes, no) */
} hn_attn_mask_kind;

typedef struct hn_attn_mask {
    hn_attn_mask_kind kind;
    hn_id value;
    hn_id scores;   /* the scores it applies to, which define how it is broadcast */
    double yes, no; /* SELECTED; below the range of the type: its lowest number */
    double factor;  /* multiplies the sum afterwards */
} hn_attn_mask;

/* Axes of queries, keys and values everywhere below: batch, heads, position, size. */
typedef struct hn_attn {
    hn_rule *r;
    hn_id product, softmax, scores; /* nodes: probabilities x values, and queries x keys */
    hn_id probabilities;            /* value that the product reads */
    hn_id scores_shape;             /* Shape of the scores, read by Expands of masks; HN_NONE */
    hn_dtype softmax_elem;
    double scale;    /* of the scores */
    double softcap;  /* scores become softcap * tanh(scores / softcap); 0: no softcap */
    bool is_guarded; /* probabilities that are NaN become 0 */
    uint32_t n_masks;
    hn_attn_mask masks[6];              /* the last one applied comes first */
    bool is_causal;                     /* replaces a mask */
    bool has_all_queries, has_all_keys; /* true when the mask that is written provably has them */
    bool has_heads;                     /* true when the mask differs by head */
    hn_id shared_length;                /* a mask whose last axis is n_keys, or HN_NONE */
    hn_dim batch, n_queries, n_keys, size, value_size;
    /* when keys and values have fewer heads, each serves several query heads in a row */
    int64_t n_heads, n_kv_heads;
    hn_view q, k, v;
    hn_view all_k, all_v;       /* k and v with the past; equal to k and v without a past */
    hn_id past_k, past_v;       /* what new keys and values are appended to; HN_NONE */
    hn_id present_k, present_v; /* the result of appending */
    hn_dim n_new_keys;          /* n_keys without the past */
} hn_attn;

/* Each function returns false when the place is not an attention that can be written, and logs the
 * near miss where it is worth a message. */
bool hn_attn_find_core(hn_attn *a);  /* from the softmax to queries, keys and masks */
bool hn_attn_find_heads(hn_attn *a); /* the tensors they are views of */
/* Drops a mask that is exactly the causal mask, and sets is_causal. */
void hn_attn_find_causal(hn_attn *a);
hone_status hn_attn_write(hn_attn *a);

/* True when -inf may hide all keys from a query. The softmax of such a row is NaN. */
bool hn_attn_may_hide_all(const hn_attn *a);
/* Writes the sum of all masks, of rank 4: batch, heads, queries, keys, each possibly 1. Returns
 * HN_NONE and logs it when a mask cannot be brought into that form. Axis 0 of q, the new queries,
 * is the batch. */
hn_id hn_attn_write_mask(hn_attn *a, hn_view_writer *w, hn_id q);
/* Expands the mask to all queries and keys, as runtimes require. q and k are new values with the
 * positions on these axes. */
hn_id hn_attn_expand_mask(hn_attn *a, hn_id mask, hn_id q, uint32_t q_axis, hn_id k,
                          uint32_t k_axis);

#endif /* HN_ATTENTION_SITE_H */
