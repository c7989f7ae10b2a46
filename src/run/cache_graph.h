/* Inside run/: optimized graphs, as bytes that a later process can read. */
#ifndef HN_CACHE_GRAPH_H
#define HN_CACHE_GRAPH_H

#include "ir/ir.h"

/* The optimized graph of a model, in memory of the allocator; *data is NULL when it is one that
 * cannot be written, or would be large. */
hone_status hn_cached_graph_write(const hn_model *source, const hn_model *optimized,
                                  const hone_allocator *a, void **data, size_t *n);
/* A model of its own, with weights in the files of the source, which must outlive it; NULL when the
 * bytes are no such graph. Nothing in it is checked but where its data lie. */
hone_status hn_cached_graph_read(const hn_model *source, hn_bytes bytes, hn_model **out);

#endif /* HN_CACHE_GRAPH_H */
