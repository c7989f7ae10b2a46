/* Inside pass/: conversion of float to half precision. */
#ifndef HN_PRECISION_H
#define HN_PRECISION_H

#include "pass/engine/pass_int.h"

/* A conversion in progress. */
typedef struct hn_narrowing {
    hn_pass *pass;
    hn_graph *g;
    const hn_precision *wish;
    hn_dtype elem;
    bool *is_narrow_node;  /* by node */
    bool *is_narrow_value; /* by value: its type becomes half precision */
    bool *is_size;         /* by value: computed from shapes alone */
    hn_id *other;          /* by value: its copy in the other type; HN_NONE: not needed so far */
    const bool *is_large;  /* by value: samples exceeded the range of the type */
    uint32_t n_nodes, n_values; /* before the conversion */
    uint32_t n_casts;
} hn_narrowing;
bool hn_is_float_value(const hn_narrowing *w, hn_id value); /* a float tensor; false for HN_NONE */
/* True when this input or output of a node may be in half precision. */
bool hn_narrow_allows(const hn_narrowing *w, hn_id node, bool is_input, uint32_t i);
/* Fills is_narrow_node and is_size. */
hone_status hn_narrow_judge(hn_narrowing *w);

double hn_narrow_limit(hn_dtype to); /* largest finite number of float16 or bfloat16 */
/* true when no finite element becomes infinite */
bool hn_narrow_fits(const hn_tensor *t, hn_dtype to);
/* Returns a copy in the model's arena. Rounds to nearest, but a nonzero element becomes the
 * smallest number of the type instead of 0, because it may be a divisor. NULL: out of memory. */
const hn_tensor *hn_narrow_tensor(hn_model *m, const hn_tensor *t, hn_dtype to);

#endif /* HN_PRECISION_H */
