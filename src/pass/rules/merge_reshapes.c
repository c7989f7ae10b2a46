/* Merges Reshape, Squeeze, Unsqueeze and Flatten in a row into one node, also across Transposes
 * that keep the order of elements. */
#include "pass/rules/moves.h"

/* ---- two reshapes into one ------------------------------------------------------------------- */

/* True when the last reshape depends on nothing but the number of elements, which x may have. */
static bool is_absolute(const hn_rule *r, hn_id x) {
    const int64_t *target;
    uint32_t n;
    if (!hn_is_op(r, r->root, "Reshape") || !hn_node_list(r, r->root, "shape", 1, &n, &target))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (target[i] == 0)
            return false;
    return hn_reshape_fits(hn_shape_of(r, x), n, target);
}

static hone_status merge_two(hn_rule *r) {
    hn_id x = hn_cap(r, "x");
    hn_id whole = hn_make_shaped_like(r, x, hn_out(r, r->root, 0));
    if (whole != HN_NONE)
        hn_rule_replace(r, whole);
    else if (is_absolute(r, x))
        hn_rule_set_input(r, r->root, 0, x);
    else
        return hn_miss(r, "the shape needs more than one inferred size in a single Reshape");
    return HONE_OK;
}

/* A Transpose that only moves axes of size 1, next to a reshape, is a reshape itself. */
static hone_status untangle_ones(hn_rule *r) {
    hn_id transpose = hn_is_op(r, r->root, "Transpose") ? r->root : hn_cap_node(r, "moved");
    hn_id x = hn_in(r, transpose, 0);
    hn_perm perm;
    if (!hn_perm_read(r, transpose, &perm) || !hn_perm_is_free(&perm, hn_shape_of(r, x)))
        return HONE_OK;
    hn_id moved = hn_make_shaped_like(r, x, hn_out(r, transpose, 0));
    if (moved != HN_NONE)
        hn_rule_replace_value(r, hn_out(r, transpose, 0), moved);
    return HONE_OK;
}

/* ---- splitting before a Transpose ------------------------------------------------------------ */

/* How the last node of Reshape, Transpose, Reshape splits each of its axes. */
typedef struct axis_cut {
    int32_t begin[HN_MAX_RANK + 1]; /* first axis of the result for each axis; then the rank */
} axis_cut;

/* True when the result only splits the axes of `moved`, in their order, and adds or drops axes of
 * size 1. */
static bool find_cuts(hn_syms *s, const hn_shape *moved, const hn_shape *out, axis_cut *cut) {
    int32_t k = 0;
    for (int32_t i = 0; i < moved->rank; i++) {
        hn_dim all = 1;
        cut->begin[i] = k;
        while (all != moved->dims[i] && k < out->rank) {
            all = hn_dim_mul(s, all, out->dims[k++]);
            if (all == HN_DIM_UNKNOWN || all == 0)
                return false;
        }
        if (all != moved->dims[i])
            return false;
    }
    while (k < out->rank && out->dims[k] == 1)
        k++;
    cut->begin[moved->rank] = k;
    return k == out->rank;
}

/* The axes of the result before the Transpose, and the permutation that remains. */
static void cut_before(const hn_perm *perm, const axis_cut *cut, const hn_shape *out, hn_dim *dims,
                       hn_perm *rest) {
    hn_perm back = hn_perm_inverse(perm);
    uint8_t n = 0;
    rest->rank = out->rank;
    for (int32_t a = 0; a < perm->rank; a++)
        for (int32_t k = cut->begin[back.at[a]]; k < cut->begin[back.at[a] + 1]; k++) {
            rest->at[k] = n;
            dims[n++] = out->dims[k];
        }
}

static bool has_dims(const hn_shape *s, int32_t rank, const hn_dim *dims) {
    return s && s->rank == rank && memcmp(s->dims, dims, (size_t)rank * sizeof *dims) == 0;
}

/* A Reshape that only splits axes after a Transpose can split them before it, next to another
 * Reshape. */
static hone_status split_first(hn_rule *r) {
    hn_id x = hn_cap(r, "x"), moved = hn_cap_node(r, "moved");
    const hn_shape *between = hn_shape_of(r, hn_out(r, moved, 0));
    const hn_shape *out = hn_shape_of(r, hn_out(r, r->root, 0));
    hn_perm perm, rest;
    axis_cut cut;
    hn_dim dims[HN_MAX_RANK];
    if (!between || !out || out->rank > HN_MAX_RANK || !hn_perm_read(r, moved, &perm) ||
        perm.rank != between->rank || !find_cuts(r->pass->model->syms, between, out, &cut))
        return HONE_OK;
    cut_before(&perm, &cut, out, dims, &rest);
    hn_id split = x;
    if (!has_dims(hn_shape_of(r, x), out->rank, dims))
        split = hn_make_reshape(r, x, (uint32_t)out->rank, dims);
    if (split == HN_NONE)
        return hn_miss(r, "the shape needs more than one inferred size in a single Reshape");
    hn_rule_replace(r, hn_perm_is_identity(&rest) ? split : hn_make_transpose(r, split, &rest));
    return HONE_OK;
}

#define RESHAPES "Reshape|Squeeze|Unsqueeze|Flatten"

hone_status hn_pass_merge_reshapes(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "two-reshapes",
         .pattern = RESHAPES "(" RESHAPES "(x, ...), ...)",
         .fn = merge_two,
         .allow_shared = true},
        {.name = "ones-then-reshape",
         .pattern = RESHAPES "(Transpose(x):moved, ...)",
         .fn = untangle_ones},
        {.name = "reshape-then-ones",
         .pattern = "Transpose(" RESHAPES "(x, ...))",
         .fn = untangle_ones,
         .allow_shared = true},
        {.name = "split-first",
         .pattern = RESHAPES "(Transpose(" RESHAPES "(x, ...)):moved, ...)",
         .fn = split_first},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
