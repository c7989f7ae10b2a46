/* What a file declares of shapes beyond its nodes is a claim: that inputs whose dimensions share a
 * name have equal sizes, and which shapes inner values and outputs have. While a graph is rewritten
 * only what follows from its nodes counts; what the file declares is set aside, and comes back
 * where the nodes say nothing else. */
#ifndef HN_CLAIMS_H
#define HN_CLAIMS_H

#include "ops/ops.h"

/* Names of dimensions of inputs that need not be one size wherever they stand: each dimension is a
 * symbol of its own. */
typedef struct hn_split_dims {
    bool all; /* whatever its name */
    uint32_t n;
    const char *const *names; /* of the others; texts of dimensions: "seq", "past + seq" */
} hn_split_dims;

typedef struct hn_claims hn_claims;
/* split: NULL for none. Everything lives in the arena. */
hone_status hn_claims_set_aside(hn_model *m, const hn_split_dims *split, hn_arena *arena,
                                hn_claims **out);
/* Without memory types stay as inference has left them. */
void hn_claims_restore(hn_claims *c); /* NULL is fine */

/* A dimension of inputs that has two sizes. */
typedef struct hn_dim_clash {
    const char *name;
    int64_t sizes[2];
} hn_dim_clash;
typedef HN_VEC(hn_dim_clash) hn_dim_clashes;
/* Lists the names that these shapes contradict, but for those that are split anyway. shapes: by
 * input of the main graph; rank -1 where it is no tensor. */
hone_status hn_claims_check(const hn_model *m, const hn_split_dims *split, const hn_shape *shapes,
                            hn_arena *arena, hn_dim_clashes *out);

#endif /* HN_CLAIMS_H */
