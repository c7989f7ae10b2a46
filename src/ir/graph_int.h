/* Shared by the files that edit graphs. */
#ifndef HN_GRAPH_INT_H
#define HN_GRAPH_INT_H

#include "ir/ir.h"

/* Fills a node that stands in no list yet; inputs and outputs are HN_NONE, attrs are copied
 * (shallow). False when out of memory. */
bool hn_node_init(hn_arena *arena, hn_node *out, hn_id block, hn_str domain, hn_str op, hn_str name,
                  uint32_t n_inputs, uint32_t n_outputs, uint32_t n_attrs, const hn_attr *attrs);

/* A value visible from the block whose name has a small edit distance to the given one. NULL when
 * there is none, or when the graph is too large to search. */
hn_str hn_graph_similar_name(const hn_graph *g, hn_id block, hn_str name);

/* Checks that every call can be inlined; adds the imports that the bodies need. */
hone_status hn_inline_check(hn_model *m, hn_same_op_fn same_op, hn_arena *scratch, hone_error *err);

#endif /* HN_GRAPH_INT_H */
