/* Inside pass/: helpers for operators that move data without computing: permutations of axes,
 * targets of Reshape, lists of axes. */
#ifndef HN_MOVES_H
#define HN_MOVES_H

#include "pass/engine/pass_int.h"

/* Axis i of the output is axis at[i] of the input. */
typedef struct hn_perm {
    int32_t rank;
    uint8_t at[HN_MAX_RANK];
} hn_perm;
/* Reads the permutation of a Transpose; false when the attribute is absent and the rank is
 * unknown. */
bool hn_perm_read(const hn_rule *r, hn_id transpose, hn_perm *out);
hn_perm hn_perm_inverse(const hn_perm *p);
hn_perm hn_perm_compose(const hn_perm *first, const hn_perm *then);
bool hn_perm_is_identity(const hn_perm *p);
/* True when the order of elements in memory stays the same: only axes of size 1 change places. */
bool hn_perm_is_free(const hn_perm *p, const hn_shape *input);
hn_id hn_make_transpose(hn_rule *r, hn_id x, const hn_perm *p);

/* False when a tensor of shape `from` (may be NULL) provably has another number of elements than a
 * Reshape to this target wants: nodes between them fail, and hide it from inference. */
bool hn_reshape_fits(const hn_shape *from, uint32_t n, const int64_t *target);
/* Computes the entries of Reshape's shape (0: copied, -1: inferred) for `n` dimensions from an
 * input of shape `from` (may be NULL). False when more than one entry would be inferred, or when
 * one would be next to a size that may be 0, which is undefined; a plain symbol is assumed not to
 * be 0. Nor when the elements are not as many. */
bool hn_reshape_target(const hn_syms *s, const hn_shape *from, uint32_t n, const hn_dim *want,
                       int64_t *target);
/* Reshapes x to these dimensions; HN_NONE when no constant target expresses them. */
hn_id hn_make_reshape(hn_rule *r, hn_id x, uint32_t n, const hn_dim *want);
hn_id hn_make_reshape_to(hn_rule *r, hn_id x, uint32_t n, const int64_t *target);
/* Reshapes x to the shape of another value with the simplest operator: x itself, Squeeze,
 * Unsqueeze, Reshape. HN_NONE when none expresses it. */
hn_id hn_make_shaped_like(hn_rule *r, hn_id x, hn_id like);

/* Reads the constant axes of a node (attribute, or input in newer versions), normalized into [0,
 * rank), in the order given. False when they are absent, not constant, out of range or repeated. */
bool hn_axes_read(const hn_rule *r, hn_id node, uint32_t input, int32_t rank, uint32_t *n,
                  const int64_t **axes);
/* Normalizes an axis into [0, rank); false when it is out of range. */
static inline bool hn_axis_normalize(int64_t *axis, int32_t rank) {
    if (rank < 0 || *axis < -rank || *axis >= rank)
        return false;
    *axis += *axis < 0 ? rank : 0;
    return true;
}

#endif /* HN_MOVES_H */
