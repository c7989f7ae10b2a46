/* Inside plan/: the map of memory while it is made. */
#ifndef HN_PLAN_INT_H
#define HN_PLAN_INT_H

#include "plan/plan.h"

/* A range that lies by itself, or is a part of another one. */
typedef struct hn_part_range {
    hn_live_range live;
    uint64_t row_bytes; /* of a row of the last axis */
    bool is_rigid;   /* rows of some value that lies here, or in a part, must stay side by side */
    uint32_t within; /* the range whose part it is, + 1; 0: none. It lives as long as that one */
    uint64_t shift;  /* bytes from the beginning of that one */
    uint64_t whole_row; /* it is some columns of that one, whose rows have so many bytes; 0: it lies
                           there in one piece */
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

/* ---- values and their ranges ----------------------------------------------------------------- */

typedef struct hn_memory_map {
    hn_plan *plan;
    const hn_graph *g;
    const hn_step_list *list;
    uint32_t *last_use; /* by value: step after which nobody reads it; n_steps: lives to the end */
    uint32_t *range_of; /* by value: its range + 1; 0 when it is not in the block */
    uint32_t *first_beside, *last_beside; /* by step: of those that may run at the same time */
    bool *is_steady; /* by value: its memory stays where it is as long as the plan says so, so that
                        views may look at it */
    bool joins;      /* pieces of a concatenation lie in its result, results of a Split in its
                        argument */
    uint32_t n_joined;
    uint8_t *deals_with_strides; /* by step: 0: not known yet, 1: no, 2: yes */
    /* The outputs of a Split are asked for in their order: where the next one begins. */
    const hn_node *split;
    uint32_t split_next;
    uint64_t split_at;
    hn_placing placing;
} hn_memory_map;

const hn_type *hn_map_type(const hn_memory_map *l, hn_id id);  /* NULL: not known, or HN_NONE */
hn_part_range *hn_map_range(const hn_memory_map *l, hn_id id); /* NULL: it has none */
/* Bytes of the value of a type; false when they are too many. */
bool hn_map_bytes_of(const hn_type *t, uint64_t *bytes);
/* Are all shapes of the step those of the plan? */
bool hn_map_is_exact(const hn_memory_map *l, const hn_step *step, const hn_node *node);

/* joins.c: may the rows of a value lie apart, as far as its maker and all its readers go? */
bool hn_rows_may_part(const hn_memory_map *l, hn_id id);
/* Arguments of a concatenation, whose result has got the range `whole`, become parts of it. */
void hn_join_arguments(hn_memory_map *l, uint32_t s, const hn_node *node, hn_part_range *whole);
/* Output i of a Split becomes a part of its argument; false: it needs a range of its own. */
bool hn_lie_in_argument(hn_memory_map *l, uint32_t s, const hn_node *node, uint32_t i);
/* Bytes from one row of the range to the next; 0: side by side. */
uint64_t hn_range_row_stride(const hn_placing *p, const hn_part_range *r);

/* groups.c: fills the groups of a plan whose places have their types. types: of all values, as far
 * as they are known. */
hone_status hn_plan_find_groups(hn_plan *p, const hn_type *const *types, int n_threads);

#endif /* HN_PLAN_INT_H */
