/* Inside cpu/lower/: attention of floats, lowered. Operators say in their own words what is
 * attended to; they run alike. */
#ifndef HN_ATTENTION_STEP_H
#define HN_ATTENTION_STEP_H

#include "cpu/kernels/attention/attention.h"
#include "cpu/lower/lower.h"
#include "ops/infer/rules/attention_form.h"

/* Arguments 0 to 2 are queries, keys and values; results 0 to 2 what comes out, and all keys and
 * values so far. */
enum { HN_ATTENTION_Q, HN_ATTENTION_K, HN_ATTENTION_V };

typedef struct hn_attention_step {
    hn_attention_form form;             /* without arrays */
    hn_attention_job_f32 job;           /* without data */
    uint32_t i_mask, i_past, i_lengths; /* arguments; 0: none. Past values follow past keys */
    bool has_truths;                    /* the mask is no floats */
    uint64_t n_truths;
    /* Filled in by hn_attention_step_lower: floats of scratch for keys and values that are joined
     * with those of the past, for reaches, and for all. */
    int64_t n_joined[3], n_reach, n_scratch;
    bool is_joined[3], has_present[3];
} hn_attention_step;

/* A step that has a form, a job without reach and without steps of keys and values, and arguments.
 * Where the job has a reach, that is used. */
hone_status hn_attention_step_lower(hn_eval *c, const hn_attention_step *filled, hn_lowered *out);

/* [batch, rows, heads * size], or [batch, heads, rows, size]. */
static inline hn_head_steps hn_steps_packed(int64_t heads, int64_t rows, int64_t size) {
    return (hn_head_steps){rows * heads * size, size, heads * size};
}
static inline hn_head_steps hn_steps_by_head(int64_t heads, int64_t rows, int64_t size) {
    return (hn_head_steps){heads * rows * size, rows * size, size};
}
/* Keys or values where they lie, or joined with those of the past. */
hn_head_steps hn_attention_side_steps(const hn_attention_form *f, bool is_joined, int64_t size);

/* lengths: of the keys of each batch; NULL: all count. */
void hn_attention_fill_reach(const hn_attention_form *f, const int64_t *lengths,
                             hn_key_reach *reach);
/* Truths become what is added. */
void hn_attention_fill_mask(uint64_t n, const uint8_t *truths, float *to);
void hn_attention_set_mask(const hn_attention_form *f, const float *at, hn_attention_job_f32 *job);

#endif /* HN_ATTENTION_STEP_H */
