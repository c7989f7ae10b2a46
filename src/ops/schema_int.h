/* Inside ops/: the text of the rows of ops.def, walked piece by piece. */
#ifndef HN_SCHEMA_INT_H
#define HN_SCHEMA_INT_H

#include <string.h>

#include "base/base.h"

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
bool hn_typeset_exists(hn_span name); /* of typesets.def, without the dollar */

#endif /* HN_SCHEMA_INT_H */
