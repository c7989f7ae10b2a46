/* Clip in two steps: what attributes and types decide, and the work itself. */
#ifndef HN_CLIP_EVAL_H
#define HN_CLIP_EVAL_H

#include "ops/eval/eval_broadcast.h"

/* One number of any type that Clip has. */
typedef union hn_clip_limit {
    uint64_t bits;
    float f32;
    double f64;
} hn_clip_limit;

typedef struct hn_clip {
    hn_dtype type;                /* elements are compared as such */
    hn_clip_limit low, high;      /* where no argument says otherwise */
    bool reads_limits;            /* from arguments 1 and 2 */
    hn_unary_fn_f32 fast;         /* of float32; may be NULL */
    hn_binary_fn larger, smaller; /* of integers */
} hn_clip;

void hn_clip_read(const hn_eval *c, hn_clip *clip);
/* What an argument says about a limit; NULL: nothing. */
void hn_clip_set(const hn_clip *clip, const hn_array *given, hn_clip_limit *limit);
void hn_clip_run(hn_pool *pool, const hn_clip *clip, const hn_array *x, hn_array *y);

#endif /* HN_CLIP_EVAL_H */
