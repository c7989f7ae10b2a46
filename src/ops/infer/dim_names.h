/* Which dimensions of inputs are claimed to be equal. */
#ifndef HN_DIM_NAMES_H
#define HN_DIM_NAMES_H

#include "ops/claims.h"

typedef struct hn_dim_names {
    const hn_model *model;
    const hn_split_dims *split;
    hn_arena *arena;
    hn_map bare; /* names of symbols that are the dimension of an input by themselves */
    hn_map seen; /* dimensions met so far by hn_dim_names_meet */
    bool failed; /* out of memory */
} hn_dim_names;
hone_status hn_dim_names_read(hn_dim_names *n, const hn_model *m, const hn_split_dims *split,
                              hn_arena *arena);

typedef enum hn_dim_fate {
    HN_DIM_KEPT,   /* it is what its name or expression says */
    HN_DIM_OPAQUE, /* an expression that says nothing a run could check: one symbol per text */
    HN_DIM_SPLIT   /* a symbol of its own */
} hn_dim_fate;
/* Called for every dimension of the inputs in order: the first of a name keeps it. */
hn_dim_fate hn_dim_names_meet(hn_dim_names *n, hn_dim d);

#endif /* HN_DIM_NAMES_H */
