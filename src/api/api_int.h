/* Inside api/: the public handles are the internal objects under another name. */
#ifndef HN_API_INT_H
#define HN_API_INT_H

#include "ir/ir.h"

static inline hn_model *model_of(const hone_model *m) { return (hn_model *)(uintptr_t)m; }
static inline const hn_graph *graph_of(const hone_graph *g) { return (const hn_graph *)(const void *)g; }

const hn_problems *hn_api_problems(const hone_problems *problems);

/* Copies into a caller's buffer as snprintf does; frees the strbuf. */
size_t hn_api_give_text(hn_strbuf *b, char *text, size_t text_size);

#endif /* HN_API_INT_H */
