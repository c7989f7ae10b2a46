/* How numbers become integers (or small floats) and back: ranges, scales and zero points as
 * onnxruntime's tools compute them, per tensor, per channel or per block of a channel. */
#ifndef HN_QUANT_SCHEME_H
#define HN_QUANT_SCHEME_H

#include "ir/ir.h"

/* dtype: int2/4/8/16, their unsigned forms, or float8 (where a scale has no zero point). */
typedef struct hn_quant_type {
    hn_dtype dtype;
    bool is_symmetric;  /* the range is [-m, m]; signed types have zero point 0 */
    bool is_reduced;    /* one bit less, for products that add pairs in 16 bits */
    bool is_restricted; /* asymmetric uint8: the zero point is 0 or 128 */
} hn_quant_type;

/* real = (integer - zero) * scale */
typedef struct hn_quant_params {
    float scale;
    int32_t zero;
} hn_quant_params;

/* Integers in use, both included. */
typedef struct hn_quant_limits {
    int32_t low, high;
} hn_quant_limits;

bool hn_quant_supports(hn_dtype dtype);
hn_quant_limits hn_quant_limits_of(const hn_quant_type *type); /* zeros for float8 */
/* Of numbers between min and max, which are finite; 0 always has an exact representation. A range
 * too small for a normal scale gives scale 1, zero point 0. */
hn_quant_params hn_quant_params_of(const hn_quant_type *type, double min, double max);
/* The integer of a number: nearest even, clamped. Not for float8. */
int32_t hn_quant_number(float x, hn_quant_params p, hn_quant_limits limits);

/* ---- tensors --------------------------------------------------------------------------------- */

/* Which elements of a tensor share a scale: element (outer, k, inner), where k runs along the
 * axis. */
typedef struct hn_quant_groups {
    int32_t axis; /* < 0: all elements */
    uint64_t n_outer, n_axis, n_inner;
    uint64_t block; /* 0: a scale per index of the axis; else per so many indices, per outer and
                       inner */
    uint64_t n;     /* scales */
} hn_quant_groups;
/* axis < 0: per tensor; block > 0: blocks of so many along the axis. False: the tensor has no such
 * axis. */
bool hn_quant_groups_of(const hn_tensor *w, int32_t axis, int64_t block, hn_quant_groups *out);

/* The groups of consecutive elements. */
typedef struct hn_quant_cursor {
    const hn_quant_groups *groups;
    uint64_t outer, k, inner, base;
} hn_quant_cursor;
static inline void hn_quant_rebase(hn_quant_cursor *c) {
    const hn_quant_groups *g = c->groups;
    uint64_t n_blocks = g->block ? (g->n_axis + g->block - 1) / g->block : 0;
    c->base = g->block ? (c->outer * n_blocks + c->k / g->block) * g->n_inner : c->k;
}
/* Returns the group of the current element and goes to the next one. */
static inline uint64_t hn_quant_next(hn_quant_cursor *c) {
    const hn_quant_groups *g = c->groups;
    uint64_t group = g->block ? c->base + c->inner : c->base;
    if (++c->inner == g->n_inner) {
        c->inner = 0;
        if (++c->k == g->n_axis) {
            c->k = 0;
            c->outer++;
        }
        hn_quant_rebase(c);
    }
    return group;
}

#define HN_QUANT_TILE 256 /* elements that loops read at a time, on the stack */
/* Elements [begin, begin + n), n <= HN_QUANT_TILE, of a float tensor of any width, or of integers,
 * as floats. */
void hn_quant_load(const hn_tensor *w, uint64_t begin, uint64_t n, float *out);

typedef struct hn_quant_range {
    float min, max; /* both 0 for a group without elements */
} hn_quant_range;
/* One per group. Refuses numbers that are not finite, by the name of the tensor. */
hone_status hn_quant_ranges(const hn_tensor *w, const hn_quant_groups *groups, hn_quant_range *out,
                            hone_error *err);

typedef struct hn_quant_result {
    const hn_tensor *q;     /* the shape of w */
    const hn_tensor *scale; /* the type of w (float for double): a scalar, [n], or in blocks the
                               shape of w with fewer along the axis */
    const hn_tensor *zero;  /* the type of q and the shape of scale */
} hn_quant_result;
/* With given params, one per group; their scales are rounded to the type of w first. New tensors
 * in the arena. */
hone_status hn_quant_apply(const hn_tensor *w, const hn_quant_type *type,
                           const hn_quant_groups *groups, const hn_quant_params *params,
                           hn_arena *arena, hn_quant_result *out);
/* With those of the range of each group. w: float, float16, bfloat16 or double, with data. */
hone_status hn_quant_tensor(const hn_tensor *w, const hn_quant_type *type, int32_t axis,
                            int64_t block, hn_arena *arena, hn_quant_result *out, hone_error *err);

#endif /* HN_QUANT_SCHEME_H */
