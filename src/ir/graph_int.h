/* Between the files that edit graphs. */
#ifndef HN_GRAPH_INT_H
#define HN_GRAPH_INT_H

#include "ir/ir.h"

/* Fills a node that stands in no list yet; inputs and outputs are HN_NONE, attrs are copied
 * (shallow). False when out of memory. */
bool hn_node_init(hn_arena *arena, hn_node *out, hn_id block, hn_str domain, hn_str op, hn_str name,
                  uint32_t n_inputs, uint32_t n_outputs, uint32_t n_attrs, const hn_attr *attrs);

/* A value that can be seen from the block and whose name was perhaps meant: small edit distance.
 * NULL when nothing comes close (or the graph is so large that looking would take long). */
hn_str hn_graph_similar_name(const hn_graph *g, hn_id block, hn_str name);

/* That every call can be inlined; adds the imports that the bodies bring along. */
hone_status hn_inline_check(hn_model *m, hn_same_op_fn same_op, hn_arena *scratch, hone_error *err);

#endif /* HN_GRAPH_INT_H */
