/* Inside pass/: values of one type become another one. */
#ifndef HN_RETYPE_H
#define HN_RETYPE_H

#include "pass/engine/pass_int.h"

/* A conversion in progress: nodes compute in the new type or stay in the old one, a value has the
 * type its producer gives it, and one Cast serves all readers that need the other type. The nodes
 * stay the same, so the graph is edited in place. */
typedef struct hn_retyping {
    hn_pass *pass;
    hn_graph *g;
    hn_dtype from, to;
    bool keep_io;       /* inputs and outputs of the graph stay in the old type */
    bool keep_listed;   /* and so do initializers that are listed as inputs */
    bool *is_new_node;  /* by node: computes in the new type */
    bool *takes_either; /* by node: its only input of either type stays as it is */
    bool *is_new_value; /* by value: its type changes */
    hn_id *other;       /* by value: its copy in the other type; HN_NONE: not needed so far */
    uint32_t n_nodes, n_values; /* before the conversion */
    uint32_t n_casts;
    /* A constant in the new type; NULL: out of memory. */
    const hn_tensor *(*convert)(const struct hn_retyping *w, hn_id value, const hn_tensor *t);
} hn_retyping;

/* Makes the tables; pass, from, to and the wishes are set. */
hone_status hn_retype_begin(hn_retyping *w);
/* Changes the graph, once is_new_node says which nodes change, and logs it as one rewrite. */
hone_status hn_retype_apply(hn_retyping *w, const char *rule);

bool hn_retype_is_old(const hn_retyping *w, hn_id value); /* a tensor of `from`; HN_NONE is none */
/* May this input or output of a node have the new type? */
bool hn_retype_allows(const hn_retyping *w, hn_id node, bool is_input, uint32_t i);
/* Does the schema allow the new type for some output or input and for all outputs of the old one?
 * Sequences and optionals stay: all their readers and writers would have to change at once. */
bool hn_retype_schema_fits(const hn_retyping *w, hn_id node);

#endif /* HN_RETYPE_H */
