/* Inside pass/: float numbers in 16 bits. */
#ifndef HN_PRECISION_H
#define HN_PRECISION_H

#include "pass/engine/pass_int.h"

/* One conversion under way. */
typedef struct hn_narrowing {
    hn_pass *pass;
    hn_graph *g;
    const hn_precision *wish;
    hn_dtype elem;
    bool *is_narrow_node;  /* by node */
    bool *is_narrow_value; /* by value: its type becomes the small one */
    bool *is_size;         /* by value: computed from shapes alone */
    hn_id *other;          /* by value: the same in the other type; HN_NONE: not needed so far */
    const bool *is_large;  /* by value: seen beyond the range of the type */
    uint32_t n_nodes, n_values; /* when it began */
    uint32_t n_casts;
} hn_narrowing;
bool hn_is_float_value(const hn_narrowing *w,
                       hn_id value); /* a tensor of floats; HN_NONE is none */
/* May this input or output of a node have the small type? */
bool hn_narrow_allows(const hn_narrowing *w, hn_id node, bool is_input, uint32_t i);
/* Fills is_narrow_node, and is_size on the way. */
hone_status hn_narrow_judge(hn_narrowing *w);

double hn_narrow_limit(hn_dtype to); /* largest finite number of float16 or bfloat16 */
bool hn_narrow_fits(const hn_tensor *t, hn_dtype to); /* does no finite element become infinite? */
/* A copy in the model's arena: rounds to nearest, but what is not 0 does not become 0 (it may be a
 * divisor): it becomes the smallest number of the type. NULL: no memory. */
const hn_tensor *hn_narrow_tensor(hn_model *m, const hn_tensor *t, hn_dtype to);

#endif /* HN_PRECISION_H */
