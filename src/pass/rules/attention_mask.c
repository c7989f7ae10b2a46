/* Attention: combines all masks into one sum with axes batch, heads, queries, keys. */
#include "pass/rules/attention_site.h"
#include "pass/rules/moves.h"

#include <float.h>
#include <math.h>

/* ---- alignment ------------------------------------------------------------------------------- */

/* True when every axis is repeated as a whole or not at all. */
static bool is_cleanly_repeated(const hn_view *v) {
    for (uint32_t axis = 0; axis < 4; axis++) {
        hn_dim all = hn_view_axis_size(v, axis, true), own = hn_view_axis_size(v, axis, false);
        if (own != all && own != 1)
            return false;
    }
    return true;
}

static bool is_own_axis(const hn_view *v, uint32_t axis) {
    return hn_view_axis_size(v, axis, false) == hn_view_axis_size(v, axis, true);
}

/* Chooses the source from which a rank-4 mask needs the fewest nodes. Among equals the closest one
 * wins, because layers share masks. */
static bool plan_mask(hn_view *v, bool is_expanded_to_scores, hn_view_plan *plan, bool *is_whole_q,
                      bool *is_whole_k) {
    uint32_t best = UINT32_MAX;
    do {
        hn_view_plan here;
        bool q = is_own_axis(v, 2), k = is_own_axis(v, 3);
        if ((is_expanded_to_scores && v->n_steps == 0) || !is_cleanly_repeated(v) ||
            !hn_view_plan_write(v, "0,1,2,3", &here))
            continue;
        uint32_t cost = here.n_nodes + (here.pick_of > 1) + (q && k ? 0 : 1);
        if (cost < best) {
            best = cost;
            *plan = here;
            *is_whole_q = q;
            *is_whole_k = k;
        }
    } while (hn_view_up(v));
    return best != UINT32_MAX;
}

/* Adds leading axes of size 1 up to rank 4, for masks whose sizes are not known well enough. */
static hn_id with_leading_axes(hn_rule *r, hn_id value) {
    const int64_t axes[] = {0, 1, 2, 3};
    int32_t rank = hn_rank_of(r, value);
    if (rank < 0 || rank > 4)
        return HN_NONE;
    return rank == 4 ? value
                     : hn_make_with_list(r, "Unsqueeze", value, "axes", (uint32_t)(4 - rank), axes);
}

/* True when the scores that a mask applies to have the axes batch, heads, queries, keys. */
static bool meets_four_axes(const hn_attn *a, const hn_attn_mask *m) {
    const hn_dim dims[] = {a->batch, a->n_heads, a->n_queries, a->n_keys};
    const hn_shape *s = hn_shape_of(a->r, m->scores);
    return s && s->rank == 4 && memcmp(s->dims, dims, sizeof dims) == 0;
}

/* True when a mask is expanded to the shape of the scores, which the rewrite removes. */
static bool is_expanded_to_scores(const hn_attn *a, const hn_attn_mask *m) {
    hn_id expand = a->scores_shape == HN_NONE ? HN_NONE : hn_maker(a->r, m->value, "Expand");
    return expand != HN_NONE && hn_in(a->r, expand, 1) == hn_out(a->r, a->scores_shape, 0);
}

/* Swin windows: the scores have the axes (images, windows, heads, queries, keys) and the mask
 * differs by window. It is repeated for all images; q provides their number when it is not
 * constant. */
static hn_id repeated_by_windows(hn_attn *a, const hn_attn_mask *m, hn_id q) {
    hn_rule *r = a->r;
    const hn_shape *met = hn_shape_of(r, m->scores), *s = hn_shape_of(r, m->value);
    if (!met || !s || met->rank != 5 || s->rank != 5 || met->dims[2] != a->n_heads ||
        !hn_is_static(r, m->value) || s->dims[0] != 1 || s->dims[1] != met->dims[1])
        return HN_NONE;
    int64_t n_windows = s->dims[1], sizes[] = {met->dims[0], 1, 1, 1, 1};
    hn_id shape;
    if (hn_dim_is_known(met->dims[0])) {
        shape = hn_new_const_i64s(r, "images", 5, sizes);
    } else {
        hn_id n_images = hn_make1(
            r, "Div",
            HN_VALUES(hn_make_axis_size(r, q, 0), hn_new_const_i64s(r, "windows", 1, &n_windows)),
            HN_NO_ATTRS);
        shape =
            hn_make1(r, "Concat", HN_VALUES(n_images, hn_new_const_i64s(r, "ones", 4, sizes + 1)),
                     HN_ATTRS(hn_new_i(r, "axis", 0)));
    }
    hn_id all = hn_make1(r, "Expand", HN_VALUES(m->value, shape), HN_NO_ATTRS);
    int64_t target[] = {-1, s->dims[2], s->dims[3], s->dims[4]};
    a->has_heads |= s->dims[2] != 1;
    a->has_all_queries |= s->dims[3] == a->n_queries;
    a->has_all_keys |= s->dims[4] == a->n_keys;
    return hn_make_reshape_to(r, all, 4, target);
}

static hn_id aligned(hn_attn *a, hn_view_writer *w, const hn_attn_mask *m, hn_id q) {
    const hn_dim dims[] = {a->batch, a->n_heads, a->n_queries, a->n_keys};
    const hn_shape *met = hn_shape_of(a->r, m->scores);
    hn_view v;
    hn_view_plan plan;
    bool is_whole_q, is_whole_k;
    if (met && met->rank <= HN_VIEW_RANK && hn_view_begin(&v, a->r, m->value) &&
        hn_view_broadcast(&v, met) && hn_view_regroup(&v, 4, dims)) {
        v.keeps_factor = true;
        if (!plan_mask(&v, is_expanded_to_scores(a, m), &plan, &is_whole_q, &is_whole_k))
            return repeated_by_windows(a, m, q);
        a->has_all_queries |= is_whole_q;
        a->has_all_keys |= is_whole_k;
        a->has_heads |= plan.dims[1] != 1;
        if (is_whole_k && plan.source == m->value)
            a->shared_length = m->value;
        return hn_view_write(w, &plan);
    }
    if (meets_four_axes(a, m) && !is_expanded_to_scores(a, m)) {
        a->has_all_queries |= hn_dim_of(a->r, m->value, -2) == a->n_queries;
        a->has_all_keys |= hn_dim_of(a->r, m->value, -1) == a->n_keys;
        a->has_heads |= hn_rank_of(a->r, m->value) > 2 && hn_dim_of(a->r, m->value, -3) != 1;
        return with_leading_axes(a->r, m->value);
    }
    return HN_NONE;
}

/* ---- the sum --------------------------------------------------------------------------------- */

static double lowest_of(hn_dtype t) {
    return t == HN_F16 ? -65504.0 : t == HN_F64 ? -DBL_MAX : t == HN_BF16 ? -0x1.fep127 : -FLT_MAX;
}

static double in_range(double x, hn_dtype t) {
    return isinf(x) ? x : HN_MAX(x, lowest_of(t));
}

/* Converts a mask to numbers that are added to the scores. */
static hn_id as_numbers(hn_attn *a, const hn_attn_mask *m, hn_id x, hn_dtype elem) {
    hn_rule *r = a->r;
    if (m->kind == HN_MASK_SELECTED) {
        hn_id yes = hn_new_const_f(r, "yes", elem, in_range(m->yes * m->factor, elem));
        hn_id no = hn_new_const_f(r, "no", elem, in_range(m->no * m->factor, elem));
        return hn_make1(r, "Where", HN_VALUES(x, yes, no), HN_NO_ATTRS);
    }
    if (hn_elem_of(r, m->value) != elem)
        x = hn_make1(r, "Cast", HN_VALUES(x), HN_ATTRS(hn_new_i(r, "to", elem)));
    double factor = m->kind == HN_MASK_SUBTRACTED ? -m->factor : m->factor;
    if (factor == 1)
        return x;
    return hn_make1(r, "Mul", HN_VALUES(x, hn_new_const_f(r, "factor", elem, factor)), HN_NO_ATTRS);
}

hn_id hn_attn_write_mask(hn_attn *a, hn_view_writer *w, hn_id q) {
    hn_dtype elem = hn_elem_of(a->r, a->q.value);
    hn_id sum = HN_NONE;
    a->shared_length = HN_NONE;
    for (uint32_t i = a->n_masks; i-- > 0;) {
        hn_id x = aligned(a, w, &a->masks[i], q);
        if (x == HN_NONE) {
            hn_miss(a->r, "a mask does not fit batch x heads x queries x keys");
            return HN_NONE;
        }
        x = as_numbers(a, &a->masks[i], x, elem);
        sum = sum == HN_NONE ? x : hn_make1(a->r, "Add", HN_VALUES(sum, x), HN_NO_ATTRS);
    }
    return sum;
}

/* ---- all queries and keys -------------------------------------------------------------------- */

static hn_id key_count(hn_attn *a, hn_id k, uint32_t k_axis) {
    hn_id n = hn_make_axis_size(a->r, k, k_axis);
    if (a->past_k == HN_NONE || a->n_new_keys == a->n_keys)
        return n;
    return hn_make1(a->r, "Add", HN_VALUES(hn_make_axis_size(a->r, a->past_k, 2), n), HN_NO_ATTRS);
}

hn_id hn_attn_expand_mask(hn_attn *a, hn_id mask, hn_id q, uint32_t q_axis, hn_id k,
                          uint32_t k_axis) {
    hn_rule *r = a->r;
    const int64_t one = 1, ones[] = {1, 1};
    hn_id queries, keys;
    if (a->has_all_queries && a->has_all_keys)
        return mask;
    bool is_shared = a->n_queries == a->n_keys && a->shared_length != HN_NONE;
    if (a->has_all_queries)
        queries = hn_new_const_i64s(r, "one", 1, &one);
    else if (hn_dim_is_known(a->n_queries))
        queries = hn_new_const_i64s(r, "queries", 1, &a->n_queries);
    else if (is_shared) /* gives the same nodes for all layers that share the mask */
        queries =
            hn_make_axis_size(r, a->shared_length, (uint32_t)hn_rank_of(r, a->shared_length) - 1);
    else
        queries = hn_make_axis_size(r, q, q_axis);
    if (a->has_all_keys)
        keys = hn_new_const_i64s(r, "one", 1, &one);
    else if (hn_dim_is_known(a->n_keys))
        keys = hn_new_const_i64s(r, "keys", 1, &a->n_keys);
    else
        keys = key_count(a, k, k_axis);
    hn_id shape =
        hn_make1(r, "Concat", HN_VALUES(hn_new_const_i64s(r, "ones", 2, ones), queries, keys),
                 HN_ATTRS(hn_new_i(r, "axis", 0)));
    return hn_make1(r, "Expand", HN_VALUES(mask, shape), HN_NO_ATTRS);
}
