/* Shared by regex_parse.c, which parses a pattern into a tree, and regex.c, which compiles the tree
 * into an NFA and runs it. */
#ifndef HN_REGEX_INT_H
#define HN_REGEX_INT_H

#include "base/regex.h"

#define HN_REGEX_MAX_DEPTH 200      /* groups within groups */
#define HN_REGEX_MAX_REPEAT 1000    /* as RE2 */
#define HN_REGEX_MAX_PROGRAM 200000 /* instructions */
#define HN_REGEX_LAST_CODE 0x10FFFF

typedef struct hn_code_range {
    uint32_t lo, hi;
} hn_code_range;

/* A set of code points: ranges in any order that may overlap. */
typedef struct hn_code_set {
    HN_VEC(hn_code_range) ranges;
    bool is_negated;
} hn_code_set;

typedef enum hn_regex_kind {
    HN_RE_EMPTY,
    HN_RE_SET,    /* one code point of a set */
    HN_RE_ASSERT, /* a place, not a character */
    HN_RE_CONCAT, /* left, then right */
    HN_RE_EITHER, /* left or right */
    HN_RE_REPEAT  /* left, min to max times; max < 0: no limit */
} hn_regex_kind;

typedef enum hn_regex_assertion {
    HN_AT_TEXT_START,
    HN_AT_TEXT_END,
    HN_AT_LINE_START,
    HN_AT_LINE_END,
    HN_AT_WORD_EDGE,
    HN_NOT_AT_WORD_EDGE
} hn_regex_assertion;

typedef struct hn_regex_node {
    hn_regex_kind kind;
    const hn_code_set *set;
    hn_regex_assertion place;
    const struct hn_regex_node *left, *right;
    int min, max;
} hn_regex_node;

hone_status hn_regex_parse(hn_arena *arena, hn_bytes pattern, const hn_regex_node **out,
                           const char **why);
/* Does the set hold this code point? */
bool hn_code_set_has(const hn_code_set *set, uint32_t code);
/* Decodes the next code point of UTF-8 and advances *at. An invalid byte gives a code of its own
 * past the last code point. */
uint32_t hn_utf8_next(hn_bytes text, uint64_t *at);

#endif /* HN_REGEX_INT_H */
