/* Inside pass/: one place where positions are written into queries or keys by turning pairs of
 * elements (rotary embedding). */
#ifndef HN_ROTARY_SITE_H
#define HN_ROTARY_SITE_H

#include "pass/engine/view.h"

typedef struct hn_rope {
    hn_rule *r;
    hn_view x;           /* what is turned, with the axes of `turned` */
    hn_id cos, sin;      /* as they are multiplied with x */
    hn_id turned;        /* x with its first n_turned elements turned: to be replaced */
    int64_t n_turned;    /* of the last axis */
    bool is_interleaved; /* pairs are neighbours; else they lie half of n_turned apart */
    bool is_by_pair;     /* cos and sin have one number for a pair, else one for each element */
} hn_rope;

/* Is the root the end of a rotary embedding? */
bool hn_rope_find(hn_rope *p);
/* Has a cache the same number for both elements of every pair, provably? */
bool hn_rope_is_paired(const hn_rope *p, hn_id cache);

#endif /* HN_ROTARY_SITE_H */
