/* Helpers for data-movement operators: permutations of axes and constant targets of Reshape. */
#include "pass/rules/moves.h"

/* ---- permutations ---------------------------------------------------------------------------- */

bool hn_perm_read(const hn_rule *r, hn_id transpose, hn_perm *out) {
    const int64_t *perm;
    uint32_t n;
    if (hn_node_ints(r, transpose, "perm", &n, &perm)) {
        if (n > HN_MAX_RANK)
            return false;
        uint64_t seen = 0;
        out->rank = (int32_t)n;
        for (uint32_t i = 0; i < n; i++) {
            if (perm[i] < 0 || perm[i] >= (int64_t)n || ((seen >> perm[i]) & 1))
                return false;
            seen |= (uint64_t)1 << perm[i];
            out->at[i] = (uint8_t)perm[i];
        }
        return true;
    }
    out->rank = hn_rank_of(r, hn_in(r, transpose, 0));
    for (int32_t i = 0; i < out->rank; i++)
        out->at[i] = (uint8_t)(out->rank - 1 - i);
    return out->rank >= 0;
}

hn_perm hn_perm_inverse(const hn_perm *p) {
    hn_perm inverse = {.rank = p->rank};
    for (int32_t i = 0; i < p->rank; i++)
        inverse.at[p->at[i]] = (uint8_t)i;
    return inverse;
}

hn_perm hn_perm_compose(const hn_perm *first, const hn_perm *then) {
    hn_perm both = {.rank = then->rank};
    for (int32_t i = 0; i < then->rank; i++)
        both.at[i] = first->at[then->at[i]];
    return both;
}

bool hn_perm_is_identity(const hn_perm *p) {
    for (int32_t i = 0; i < p->rank; i++)
        if (p->at[i] != i)
            return false;
    return true;
}

bool hn_perm_is_free(const hn_perm *p, const hn_shape *input) {
    int32_t last = -1;
    if (!input || input->rank != p->rank)
        return hn_perm_is_identity(p);
    for (int32_t i = 0; i < p->rank; i++) {
        if (input->dims[p->at[i]] == 1)
            continue;
        if (p->at[i] < last)
            return false;
        last = p->at[i];
    }
    return true;
}

hn_id hn_make_transpose(hn_rule *r, hn_id x, const hn_perm *p) {
    int64_t perm[HN_MAX_RANK];
    for (int32_t i = 0; i < p->rank; i++)
        perm[i] = p->at[i];
    return hn_make1(r, "Transpose", HN_VALUES(x),
                    HN_ATTRS(hn_new_ints(r, "perm", (uint32_t)p->rank, perm)));
}

/* ---- Reshape --------------------------------------------------------------------------------- */

/* A symbol is assumed to be 1 or more; an expression of symbols may be 0. */
static bool may_be_empty(const hn_syms *s, hn_dim d) {
    hn_str name;
    return d == 0 ||
           (hn_dim_is_symbolic(d) && !hn_dim_is_symbol(s, d, &name) && !hn_dim_at_least(s, d, 1));
}

bool hn_reshape_fits(const hn_shape *from, uint32_t n, const int64_t *target) {
    uint64_t all = 1, given = 1;
    bool has_open = false;
    for (int32_t i = 0; from && i < from->rank; i++)
        if (!hn_dim_is_known(from->dims[i]) || !hn_mul_u64(all, (uint64_t)from->dims[i], &all))
            return true; /* nobody knows */
    for (uint32_t i = 0; i < n; i++) {
        bool is_copied = target[i] == 0 && from && (int32_t)i < from->rank;
        has_open |= target[i] < 0;
        if (target[i] >= 0 &&
            !hn_mul_u64(given, (uint64_t)(is_copied ? from->dims[i] : target[i]), &given))
            return false;
    }
    return !from || (has_open && given ? all % given == 0 : all == given);
}

bool hn_reshape_target(const hn_syms *s, const hn_shape *from, uint32_t n, const hn_dim *want,
                       int64_t *target) {
    bool has_open = false, has_empty = false;
    for (uint32_t i = 0; i < n; i++) {
        bool can_copy = from && (int32_t)i < from->rank && from->dims[i] == want[i] &&
                        want[i] != HN_DIM_UNKNOWN;
        if (want[i] > 0) {
            target[i] = want[i];
        } else if (can_copy) {
            target[i] = 0;
            has_empty |= may_be_empty(s, want[i]);
        } else {
            if (has_open || want[i] == 0)
                return false;
            has_open = true;
            target[i] = -1;
        }
    }
    return !(has_open && has_empty) && hn_reshape_fits(from, n, target);
}

hn_id hn_make_reshape_to(hn_rule *r, hn_id x, uint32_t n, const int64_t *target) {
    return hn_make_with_list(r, "Reshape", x, "shape", n, target);
}

hn_id hn_make_reshape(hn_rule *r, hn_id x, uint32_t n, const hn_dim *want) {
    int64_t target[HN_MAX_RANK];
    if (n > HN_MAX_RANK ||
        !hn_reshape_target(r->pass->model->syms, hn_shape_of(r, x), n, want, target))
        return HN_NONE;
    return hn_make_reshape_to(r, x, n, target);
}

/* Finds axes of size 1 that `longer` has and `shorter` does not, when that is the only
 * difference. */
static bool find_extra_ones(const hn_shape *shorter, const hn_shape *longer, uint32_t *n,
                            int64_t *axes) {
    int32_t k = 0;
    *n = 0;
    for (int32_t i = 0; i < longer->rank; i++) {
        bool is_same = k < shorter->rank && shorter->dims[k] == longer->dims[i] &&
                       longer->dims[i] != HN_DIM_UNKNOWN;
        if (is_same)
            k++;
        else if (longer->dims[i] == 1)
            axes[(*n)++] = i;
        else
            return false;
    }
    return k == shorter->rank && *n > 0;
}

hn_id hn_make_shaped_like(hn_rule *r, hn_id x, hn_id like) {
    const hn_shape *from = hn_shape_of(r, x), *to = hn_shape_of(r, like);
    int64_t axes[HN_MAX_RANK];
    uint32_t n;
    if (!to)
        return HN_NONE;
    if (hn_same_shape(r, x, like))
        return x;
    if (from && from->rank > to->rank && find_extra_ones(to, from, &n, axes))
        return hn_make_with_list(r, "Squeeze", x, "axes", n, axes);
    if (from && from->rank < to->rank && find_extra_ones(from, to, &n, axes))
        return hn_make_with_list(r, "Unsqueeze", x, "axes", n, axes);
    return hn_make_reshape(r, x, (uint32_t)to->rank, to->dims);
}

/* ---- axes ------------------------------------------------------------------------------------ */

bool hn_axes_read(const hn_rule *r, hn_id node, uint32_t input, int32_t rank, uint32_t *n,
                  const int64_t **axes) {
    const int64_t *given;
    uint64_t seen = 0;
    if (rank < 0 || rank > HN_MAX_RANK || !hn_node_list(r, node, "axes", input, n, &given) ||
        *n > HN_MAX_RANK)
        return false;
    int64_t *own = HN_NEW_N(r->pass->rule_scratch, int64_t, (size_t)*n + 1);
    for (uint32_t i = 0; own && i < *n; i++) {
        own[i] = given[i];
        if (!hn_axis_normalize(&own[i], rank) || ((seen >> own[i]) & 1))
            return false;
        seen |= (uint64_t)1 << own[i];
    }
    *axes = own;
    return own != NULL;
}
