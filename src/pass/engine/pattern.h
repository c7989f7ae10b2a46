/* Patterns of rules: parsed once per optimization, matched at nodes. The language is described at
 * hn_rule_row in pass_int.h. */
#ifndef HN_PATTERN_H
#define HN_PATTERN_H

#include "pass/engine/pass_int.h"

/* What a pattern may hold: rules of others are read, too. */
#define HN_PATTERN_MAX_BYTES 4096
#define HN_PATTERN_MAX_TERMS 96
#define HN_PATTERN_MAX_DEPTH 32
#define HN_PATTERN_MAX_ARGS 16
#define HN_PATTERN_MAX_NAMES 32

typedef struct hn_word { /* a part of the pattern's text */
    const char *at;
    uint32_t n;
} hn_word;

typedef struct hn_term_op {
    hn_word domain; /* empty: ai.onnx; never "ms" */
    hn_word name;
    bool is_commutative; /* with two inputs */
} hn_term_op;

typedef struct hn_term_attr {
    hn_word name, text;
    uint32_t n;          /* numbers; 0: `text` is the string meant */
    const double *reals; /* n of them */
    const int64_t *ints; /* the same when all are written as integers, else NULL */
} hn_term_attr;

typedef enum hn_pattern_term_kind {
    HN_TERM_ANY,    /* _ */
    HN_TERM_NAME,   /* x */
    HN_TERM_CONST,  /* #c */
    HN_TERM_NUMBER, /* 0.5 */
    HN_TERM_OP,     /* Add(x, y) */
    HN_TERM_EITHER  /* {Mul(x, x) | Pow(x, 2)}: the first of its arguments that fits */
} hn_pattern_term_kind;

typedef struct hn_pattern_term hn_pattern_term;
struct hn_pattern_term {
    hn_pattern_term_kind kind;
    bool is_optional;
    bool has_args; /* written with parentheses */
    bool is_open;  /* "..." at the end of the arguments */
    uint32_t name; /* of what it stands for, in the pattern's names; HN_NONE: none */
    double number;
    HN_VEC(hn_term_op) ops;
    HN_VEC(hn_term_attr) attrs;
    HN_VEC(const hn_pattern_term *) args;
    uint32_t n_nodes; /* operators that must be there, this one and those below */
    hn_word text;
};

typedef struct hn_pattern {
    const hn_pattern_term *root; /* an operator that is not optional */
    uint32_t n_names;
    hn_word names[HN_PATTERN_MAX_NAMES];
} hn_pattern;

/* In the arena, text included. Errors tell the position, counted from 1. */
hone_status hn_pattern_parse(hn_arena *a, const char *text, hn_pattern **out, hone_error *err);
/* Can a match begin at a node of this operator? */
bool hn_pattern_fits_root(const hn_pattern *p, const hn_node *n);

/* Captures of one match; hn_cap reads them where r->match points to. */
typedef struct hn_match {
    const hn_pattern *pattern;
    hn_id values[HN_PATTERN_MAX_NAMES]; /* HN_NONE: the term was missing */
} hn_match;

/* Does the pattern fit at r->root? When not, `why` (which may be NULL) receives a sentence about
 * what was wrong, if that was a single thing in most of a match; else nothing. */
bool hn_pattern_match(const hn_pattern *p, const hn_rule *r, hn_match *out, hn_strbuf *why);

#endif /* HN_PATTERN_H */
