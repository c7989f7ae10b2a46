/* Inside ops/: definitions that the evaluations of Attention share. */
#ifndef HN_ATTENTION_FORM_H
#define HN_ATTENTION_FORM_H

#include "ops/eval/widen.h"

typedef struct hn_attention_form {
    bool is_packed; /* rank 3 */
    int64_t batch, q_heads, kv_heads, q_len, kv_len, total, head_size, v_size;
    int64_t past_len;
    double scale, softcap;
    int qk_mode;
    bool is_causal;
    int64_t left, right; /* window; -1: none */
    const hn_array *mask, *lengths;
    int64_t mask_strides[4]; /* of batch, head, query, key */
    int64_t mask_len;        /* keys that the mask speaks of; all without a mask */
} hn_attention_form;

/* Of a node: sizes and attributes, which fit each other. kv_heads 0: there is nothing to do. */
hone_status hn_attention_form_read(hn_eval *c, hn_attention_form *f);

/* Past and new keys (or values) as [batch, heads, total, size]; new ones may stand packed, [batch,
 * length, heads * size]. past: NULL where past_len is 0. */
void hn_attention_join_rows_f32(const hn_attention_form *f, const float *past, const float *fresh,
                                int64_t size, float *all);
void hn_attention_join_rows_f64(const hn_attention_form *f, const double *past, const double *fresh,
                                int64_t size, double *all);
/* The same of arrays, in the memory of `present` when that is wanted (not NULL) and has the type.
 * NULL: out of memory. */
float *hn_attention_join_f32(hn_eval *c, const hn_attention_form *f, const hn_array *past,
                             const hn_array *fresh, int64_t size, hn_array *present);
double *hn_attention_join_f64(hn_eval *c, const hn_attention_form *f, const hn_array *past,
                              const hn_array *fresh, int64_t size, hn_array *present);

/* True when the attention can be computed without storing the scores, because no output needs
 * them. */
bool hn_attention_is_fast(const hn_eval *c, const hn_attention_form *f);
hone_status hn_attention_run_fast(hn_eval *c, const hn_attention_form *f);

#endif /* HN_ATTENTION_FORM_H */
