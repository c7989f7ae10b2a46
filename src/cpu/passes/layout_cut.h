/* Inside cpu/: the cheapest way to divide the vertices of a graph into two sides. */
#ifndef HN_LAYOUT_CUT_H
#define HN_LAYOUT_CUT_H

#include "base/base.h"

#define HN_CUT_SOURCE 0u
#define HN_CUT_SINK 1u
#define HN_CUT_MOST INT64_C(0x0fffffffffffffff) /* an arc that is never cut */

typedef struct hn_cut_arc {
    uint32_t to, next; /* next arc that leaves the same vertex */
    int64_t room;
} hn_cut_arc;

/* Arcs lie in pairs: the way back of arc i is arc i ^ 1. */
typedef struct hn_cut {
    hn_arena *arena;
    HN_VEC(uint32_t) first; /* by vertex: the first arc that leaves it */
    HN_VEC(hn_cut_arc) arcs;
    uint32_t *level, *at; /* while solving, by vertex: distance from the source, arc to be tried */
    bool failed;          /* no memory */
} hn_cut;

void hn_cut_init(hn_cut *c, hn_arena *arena); /* with a source and a sink */
uint32_t hn_cut_vertex(hn_cut *c);            /* one more */
/* What it costs when `from` comes to the side of the source and `to` to that of the sink. */
void hn_cut_add(hn_cut *c, uint32_t from, uint32_t to, int64_t cost);
/* Finds the cheapest division; of several the one with the fewest vertices beside the source. False
 * when that would take too long, or without memory. */
bool hn_cut_solve(hn_cut *c);
/* After that: on which side? */
bool hn_cut_is_with_source(const hn_cut *c, uint32_t vertex);

#endif /* HN_LAYOUT_CUT_H */
