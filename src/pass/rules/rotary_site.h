/* Inside pass/: describes one place where pairs of elements of queries or keys are rotated by an
 * angle that depends on the position (rotary embedding). */
#ifndef HN_ROTARY_SITE_H
#define HN_ROTARY_SITE_H

#include "pass/engine/view.h"

typedef struct hn_rope {
    hn_rule *r;
    hn_view x;           /* the data that is rotated, with the axes of `rotated` */
    hn_id cos, sin;      /* as they are multiplied with x */
    hn_id rotated;       /* x with its first n_rotated elements rotated: the value to replace */
    int64_t n_rotated;   /* of the last axis */
    bool is_interleaved; /* pairs are adjacent; else they are n_rotated / 2 apart */
    bool is_by_pair;     /* cos and sin have one element per pair, else one per element of x */
} hn_rope;

/* True when the root is the last node of a rotary embedding. */
bool hn_rope_find(hn_rope *p);
/* True when a cache provably has the same number for both elements of every pair. */
bool hn_rope_is_paired(const hn_rope *p, hn_id cache);

#endif /* HN_ROTARY_SITE_H */
