/* Inside plan/: ranges of memory before they have a place. */
#ifndef HN_PLAN_INT_H
#define HN_PLAN_INT_H

#include "plan/plan.h"

/* A range that lies by itself, or is a part of another one. */
typedef struct hn_part_range {
    hn_live_range live;
    uint32_t within; /* the range whose part it is, + 1; 0: none. It lives as long as that one */
    uint64_t shift;  /* bytes from the beginning of that one */
} hn_part_range;

typedef struct hn_placing {
    hn_part_range *ranges;
    uint32_t n_ranges;
    uint64_t block_bytes;
} hn_placing;

/* Bytes rounded up to whole cache lines, at which ranges begin; at most UINT64_MAX / 4 of them. */
static inline uint64_t hn_whole_lines(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}
/* The range that a range is a part of, at any depth; itself when it is none. */
hn_part_range *hn_whole_range(const hn_placing *p, hn_part_range *r);
/* Gives all ranges their offsets, so that ranges alive at the same time do not overlap. */
hone_status hn_place_ranges(hn_arena *work, hn_placing *p);

/* groups.c: fills the groups of a plan whose places have their types. types: of all values, as far as
 * they are known. */
hone_status hn_plan_find_groups(hn_plan *p, const hn_type *const *types, int n_threads);

#endif /* HN_PLAN_INT_H */
