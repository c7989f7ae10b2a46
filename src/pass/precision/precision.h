/* Inside pass/: conversion of float to half precision. */
#ifndef HN_PRECISION_H
#define HN_PRECISION_H

#include "pass/precision/retype.h"

typedef struct hn_narrowing {
    hn_retyping types;
    const hn_precision *wish;
    bool *is_size;        /* by value: computed from shapes alone */
    const bool *is_large; /* by value: samples exceeded the range of the type */
} hn_narrowing;
/* Fills is_new_node and is_size. */
hone_status hn_narrow_judge(hn_narrowing *w);

double hn_narrow_limit(hn_dtype to); /* largest finite number of float16 or bfloat16 */
/* true when no finite element becomes infinite */
bool hn_narrow_fits(const hn_tensor *t, hn_dtype to);
/* Returns a copy in the model's arena. Rounds to nearest, but a nonzero element becomes the
 * smallest number of the type instead of 0, because it may be a divisor. NULL: out of memory. */
const hn_tensor *hn_narrow_tensor(hn_model *m, const hn_tensor *t, hn_dtype to);

#endif /* HN_PRECISION_H */
