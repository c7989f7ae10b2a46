/* Inside ops/: integers that rules read from attributes or inputs and propagate through shape
 * computations. */
#ifndef HN_FOLLOW_H
#define HN_FOLLOW_H

#include "ops/infer/infer_int.h"

#define HN_NO_INPUT UINT32_MAX /* for lists that are an attribute in every version */

/* A list that old versions of an operator take as an attribute and newer ones as an input (axes,
 * pads, split). */
typedef struct hn_int_list {
    bool is_given;   /* the attribute or the input is there */
    bool is_counted; /* n and elems are valid; else the list is an input of unknown length */
    uint32_t n;
    const hn_sint *elems; /* any element may be unknown */
} hn_int_list;
hone_status hn_int_list_read(hn_infer *c, const char *attr, uint32_t input, hn_int_list *out);

/* Axes of a tensor as bits: HN_MAX_RANK is 64. */
typedef struct hn_axis_set {
    bool is_known; /* every element of the list is a known number */
    uint64_t bits;
    uint32_t n; /* distinct axes */
} hn_axis_set;
/* Fails for an axis outside [-rank, rank). An axis that is listed twice counts once. */
hone_status hn_axis_set_read(hn_infer *c, const char *what, const hn_int_list *l, int32_t rank,
                             hn_axis_set *out);
static inline bool hn_axis_set_has(const hn_axis_set *s, int32_t axis) {
    return (s->bits >> axis) & 1;
}

bool hn_sint_at_least(const hn_syms *s, hn_sint v, int64_t least); /* true when it is provable */
/* The number of steps from `from` to `to`, never negative; step != 0. */
hn_sint hn_sint_count_steps(hn_syms *s, hn_sint from, hn_sint to, int64_t step);

/* Sets the elements of an output as far as type `elem` can hold them; does nothing when all are
 * unknown. */
hone_status hn_out_followed(hn_infer *c, uint32_t i, hn_dtype elem, uint32_t n,
                            const hn_sint *elems, bool is_scalar);
/* The output has the elements of an input, as type `elem`. */
hone_status hn_out_followed_same(hn_infer *c, uint32_t i, uint32_t input, hn_dtype elem);
/* The output has the shape of an input and the element type that the schema implies. */
hone_status hn_out_shape_of(hn_infer *c, uint32_t i, uint32_t input);

/* Reads the element type that an integer attribute names, `def` when it is absent. Fails when the
 * number is not an element type, or not one that the output may have. */
hone_status hn_attr_dtype(hn_infer *c, const char *name, uint32_t output, hn_dtype def,
                          hn_dtype *out);
/* The same check for a type from another source. */
hone_status hn_expect_out_elem(hn_infer *c, const char *what, uint32_t output, hn_dtype elem);

#endif /* HN_FOLLOW_H */
