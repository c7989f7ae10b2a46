/* Inside ops/: attention whose heads share keys in groups, as two operators of com.microsoft have
 * it. Each reads its arguments with these, adds how its queries see keys, and attends. */
#ifndef HN_MS_GROUP_EVAL_H
#define HN_MS_GROUP_EVAL_H

#include "ops/eval/ms/ms_heads_eval.h"

/* A cache that holds the last positions only: rows are added until it is full; then so many of the
 * first are dropped that a window, less the row that comes, is left. */
typedef struct hn_window_cache {
    int64_t room; /* 0: all positions are held */
    int64_t window;
    int64_t *n_left; /* of each batch: rows after this step */
} hn_window_cache;

typedef struct hn_group_parts {
    hn_heads heads;
    hn_kv_cache keys, values;
    int64_t *n_past, *n_keys; /* of each batch: rows of the cache before and after this step */
    int64_t *n_before;        /* of each batch: positions before this step */
    hn_window_cache window;
    int64_t n_fresh;
    bool is_prompt; /* the first step: nothing is past */
} hn_group_parts;

/* Rows of batch b before a step that leaves n_keys, as argument `arg` says. */
hone_status hn_group_past(hone_error *err, uint32_t arg, int64_t b, int64_t n_keys,
                          int64_t n_queries, bool is_prompt, int64_t *n_past);
hone_status hn_group_fits(hone_error *err, int64_t b, int64_t n_keys, int64_t room);

hone_status hn_read_groups(hn_eval *c, hn_group_parts *g);
/* Rows before and after this step, by batch; `less` is 1 when the argument holds the last index
 * instead of the length. */
hone_status hn_read_group_lengths(hn_eval *c, hn_group_parts *g, uint32_t arg, int64_t less,
                                  int64_t total);
/* Queries and fresh keys turned to their positions, with the attribute do_rotary. */
hone_status hn_turn_groups(hn_eval *c, hn_group_parts *g, uint32_t cosines, uint32_t positions);
/* Keys or values of the past and fresh ones in one place. Fresh rows become codes in the present,
 * whether somebody wants that or not. */
hone_status hn_join_group_side(hn_eval *c, const hn_group_parts *g, uint32_t past, uint32_t present,
                               int64_t room, hn_kv_cache *cache, hn_head_rows *out);
/* Output 0 of the node. */
hone_status hn_attend_groups(hn_eval *c, hn_group_parts *g);

#endif /* HN_MS_GROUP_EVAL_H */
