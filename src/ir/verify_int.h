/* Shared by the files of the structure checker. */
#ifndef HN_VERIFY_INT_H
#define HN_VERIFY_INT_H

#include "ir/graph_int.h"

/* Location of constant data, for messages: "initializer 'w'", "attribute 'value' of node 'c'
 * (Constant)". */
typedef struct hn_verify_location {
    hn_problems *p;
    const hn_graph *g;
    hn_id node, value; /* HN_NONE when not applicable */
    hn_str attr;       /* of the node */
} hn_verify_location;

void hn_verify_tensor(const hn_verify_location *at, const hn_tensor *t);
void hn_verify_sparse(const hn_verify_location *at, const hn_sparse *s);

/* One graph; `f` is the function whose body it is, NULL for the main graph. */
void hn_verify_body(const hn_graph *g, const hn_function *f, hn_problems *p);

#endif /* HN_VERIFY_INT_H */
