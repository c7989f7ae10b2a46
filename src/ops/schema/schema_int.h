/* Inside ops/: the text of the rows of ops.def, walked piece by piece. */
#ifndef HN_SCHEMA_INT_H
#define HN_SCHEMA_INT_H

#include <string.h>

#include "ops/ops.h"

/* A piece of a row; not NUL-terminated. */
typedef struct hn_span {
    const char *at;
    size_t n;
} hn_span;

static inline hn_span hn_span_z(const char *text) {
    return (hn_span){text, strlen(text)};
}
bool hn_span_is(hn_span s, const char *text);
/* Cuts the next token off the front, false at the end. Parentheses protect separators. */
bool hn_span_cut(hn_span *rest, char separator, hn_span *token);
/* Takes a trailing "@V" off and returns V; 0 when there is none. */
int hn_span_take_since(hn_span *token);
/* Parameters and attributes of a row that schema_memo.c remembers: a row with more of them is
 * walked each time, which takes longer than all else that is done to plan a node. */
enum { HN_MEMO_PARAMS = 28, HN_MEMO_ATTRS = 24 };
/* What schema_memo.c remembers: the same as hn_op_find, hn_op_attr and hn_op_attr_find, from the
 * text of the rows each time. */
const hn_op *hn_walk_find(const hn_op_registry *r, hn_domain d, const char *name, int64_t opset,
                          uint32_t *found_row, int *since, bool *deprecated);
bool hn_walk_attr(const hn_op *op, int version, uint32_t i, hn_attr_spec *out);
bool hn_walk_attr_find(const hn_op *op, int version, const char *name, size_t n, hn_attr_spec *out);
/* Element types of the tensors that a parameter allows: bit k stands for type k. */
uint32_t hn_walk_tensors(const hn_op *op, int version, const hn_param *p);
bool hn_typeset_exists(hn_span name); /* of typesets.def, without the dollar */

#endif /* HN_SCHEMA_INT_H */
