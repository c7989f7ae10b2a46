/* Attention: finds the tensors that queries, keys and values are views of, and the number of
 * heads. */
#include "pass/rules/attention_site.h"

static hn_syms *site_syms(const hn_attn *a) {
    return a->r->pass->model->syms;
}

static hn_id queries(const hn_attn *a) {
    return hn_in(a->r, a->scores, 0);
}

static hn_id turned_keys(const hn_attn *a) {
    return hn_in(a->r, a->scores, 1);
}

static hn_id values(const hn_attn *a) {
    return hn_in(a->r, a->product, 1);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static hn_dim batch_elems(const hn_attn *a, const hn_shape *s, int32_t n_axes) {
    hn_dim n = 1;
    for (int32_t i = 0; i < n_axes; i++)
        n = hn_dim_mul(site_syms(a), n, s->dims[i]);
    return n;
}

static bool find_sizes(hn_attn *a) {
    hn_rule *r = a->r;
    a->n_queries = hn_dim_of(r, queries(a), -2);
    a->size = hn_dim_of(r, queries(a), -1);
    a->n_keys = a->n_new_keys = hn_dim_of(r, turned_keys(a), -1);
    a->value_size = hn_dim_of(r, values(a), -1);
    if (a->n_queries == HN_DIM_UNKNOWN || a->n_keys == HN_DIM_UNKNOWN ||
        !hn_dim_is_known(a->size) || !hn_dim_is_known(a->value_size) || a->size == 0 ||
        a->value_size == 0) {
        hn_miss(r, "the shapes of queries, keys and values are not known well enough");
        return false;
    }
    hn_dim columns =
        hn_dim_of(r, a->probabilities, -1); /* a reshape between them keeps rows and columns */
    return hn_dim_of(r, a->probabilities, -2) == a->n_queries &&
           (columns == a->n_keys || columns == HN_DIM_UNKNOWN) &&
           hn_dim_of(r, values(a), -2) == a->n_keys;
}

/* The axis before the positions holds the heads when at least two axes hold batch and heads. */
static bool heads_from_rank(hn_attn *a, hn_id value, int32_t n_last) {
    const hn_shape *s = hn_shape_of(a->r, value);
    if (!s || s->rank < n_last + 2)
        return false;
    hn_dim heads = s->dims[s->rank - n_last - 1];
    hn_dim batch = batch_elems(a, s, s->rank - n_last - 1);
    if (!hn_dim_is_known(heads) || batch == HN_DIM_UNKNOWN)
        return false;
    a->n_heads = heads;
    a->batch = batch;
    return true;
}

static uint32_t source_place(const hn_view *v, uint32_t atom) {
    uint32_t i = 0;
    while (i < v->of_source.n && v->of_source.atom[i] != atom)
        i++;
    return i;
}

/* One axis holds both batch and heads: in the source, the heads lie directly before the head
 * size. */
static hn_dim heads_in_source(const hn_view *top, uint32_t size_axis) {
    uint32_t n = top->of_value.n, first_size = HN_VIEW_ATOMS;
    for (uint32_t i = n; i-- > 0;)
        if (top->of_value.axis[i] == size_axis)
            first_size = i;
    if (first_size == HN_VIEW_ATOMS)
        return 1;
    uint32_t at = source_place(top, top->of_value.atom[first_size]);
    hn_dim heads = 1;
    for (uint32_t i = n; i-- > 0;) { /* atoms of axis 0, last first */
        uint32_t atom = top->of_value.atom[i];
        if (top->of_value.axis[i] != 0)
            continue;
        if (at == 0 || top->of_source.atom[at - 1] != atom ||
            !hn_dim_is_known(top->atoms[atom].size))
            break;
        heads *= top->atoms[atom].size;
        at--;
    }
    return heads;
}

static bool heads_from_source(hn_attn *a, hn_id value, uint32_t size_axis) {
    hn_view v;
    if (!hn_view_begin(&v, a->r, value) || hn_rank_of(a->r, value) != 3)
        return false;
    hn_dim heads = 1, best = 1;
    do {
        heads = heads_in_source(&v, size_axis);
        best = HN_MAX(best, heads);
    } while (hn_view_up(&v));
    a->n_heads = best;
    a->batch = hn_dim_exact_div(site_syms(a), hn_dim_of(a->r, value, 0), best);
    return best > 1 && a->batch != HN_DIM_UNKNOWN;
}

static bool find_heads(hn_attn *a) {
    hn_rule *r = a->r;
    hn_id scores = hn_out(r, a->scores, 0);
    if (heads_from_rank(a, scores, 2) || heads_from_rank(a, hn_in(r, a->softmax, 0), 2) ||
        heads_from_rank(a, hn_out(r, a->product, 0), 2))
        return true;
    for (uint32_t i = 0; i < a->n_masks; i++)
        if (heads_from_rank(a, a->masks[i].scores, 2))
            return true;
    if (hn_rank_of(r, scores) != 3) {
        hn_miss(r, "the number of heads is not a constant");
        return false;
    }
    if (heads_from_source(a, queries(a), 2) || heads_from_source(a, turned_keys(a), 1) ||
        heads_from_source(a, values(a), 2))
        return true;
    a->n_heads = 1;
    a->batch = hn_dim_of(r, scores, 0);
    return a->batch != HN_DIM_UNKNOWN;
}

/* ---- views ----------------------------------------------------------------------------------- */

static bool view_of(hn_attn *a, hn_id value, bool is_transposed, hn_dim heads, hn_dim length,
                    hn_dim size, hn_view *v) {
    uint8_t perm[HN_VIEW_RANK];
    if (!hn_view_begin(v, a->r, value))
        return false;
    uint32_t rank = v->source_rank;
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = (uint8_t)i;
    if (is_transposed && rank >= 2) {
        perm[rank - 2] = (uint8_t)(rank - 1);
        perm[rank - 1] = (uint8_t)(rank - 2);
        hn_view_permute(v, rank, perm);
    }
    return hn_view_regroup(v, 4, (hn_dim[]){a->batch, heads, length, size});
}

/* Builds the view of keys or values: all heads, or one head that the product broadcasts. */
static bool view_of_kv(hn_attn *a, hn_id value, bool is_transposed, hn_dim size, hn_view *v,
                       hn_dim *heads) {
    *heads = a->n_heads;
    if (view_of(a, value, is_transposed, *heads, a->n_keys, size, v))
        return true;
    *heads = 1;
    return view_of(a, value, is_transposed, 1, a->n_keys, size, v);
}

static bool has_repeats(const hn_view *v, uint32_t axis) {
    return hn_view_axis_size(v, axis, false) != hn_view_axis_size(v, axis, true);
}

/* Returns the number of heads before they are repeated for groups of queries, following the view no
 * further up than needed. */
static hn_dim grouped_heads(const hn_view *v, hn_dim heads) {
    hn_view at = *v;
    while (!has_repeats(&at, 1))
        if (!hn_view_up(&at))
            return heads;
    bool is_plain = !has_repeats(&at, 0) && !has_repeats(&at, 2) && !has_repeats(&at, 3);
    return is_plain && hn_view_repeats_inside(&at, 1) ? hn_view_axis_size(&at, 1, false) : heads;
}

static bool find_groups(hn_attn *a, hn_dim k_heads, hn_dim v_heads) {
    hn_dim k_groups = grouped_heads(&a->k, k_heads), v_groups = grouped_heads(&a->v, v_heads);
    bool is_grouped = k_groups == v_groups && k_groups > 0 && a->n_heads % k_groups == 0;
    a->n_kv_heads = is_grouped ? k_groups : a->n_heads;
    if (is_grouped || (k_heads == a->n_heads && v_heads == a->n_heads))
        return true;
    hn_miss(a->r, "keys and values have different numbers of heads");
    return false;
}

/* ---- past keys and values -------------------------------------------------------------------- */

/* True when the axes of the source are batch, heads, position, size. */
static bool is_four(const hn_view *v, const hn_attn *a, hn_dim size) {
    const hn_dim dims[] = {a->batch, a->n_kv_heads, a->n_keys, size};
    hn_view_plan plan;
    return v->source_rank == 4 && memcmp(v->source_dims, dims, sizeof dims) == 0 &&
           hn_view_plan_write(v, "0,1,2,3", &plan) && plan.n_nodes == 0 && plan.pick_of == 1;
}

static bool is_read_by_chain_alone(const hn_rule *r, hn_id value, hn_id chain) {
    const hn_value *v = hn_value_at(r->g, value);
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node != HN_NONE && v->uses.at[i].node != chain)
            return false;
    return v->block == hn_at(r, r->root)->block;
}

/* Finds the Concat that appends new keys or values to the past, or HN_NONE. `top` is the view up to
 * it. */
static hn_id find_append(const hn_attn *a, const hn_view *v, hn_id reader, hn_dim size,
                         hn_view *top) {
    *top = *v;
    do {
        hn_id node = hn_maker(a->r, top->source, "Concat");
        if (node != HN_NONE && hn_at(a->r, node)->n_inputs == 2 && is_four(top, a, size)) {
            int64_t axis = hn_node_i(a->r, node, "axis", 0);
            bool fits =
                (axis == 2 || axis == -2) && is_read_by_chain_alone(a->r, top->source, reader);
            return fits ? node : HN_NONE;
        }
        reader = hn_value_at(a->r->g, top->source)->producer;
    } while (hn_view_up(top));
    return HN_NONE;
}

static void find_past(hn_attn *a) {
    hn_view k, v, new_k, new_v;
    hn_id k_node = find_append(a, &a->k, a->scores, a->size, &k);
    hn_id v_node = find_append(a, &a->v, a->product, a->value_size, &v);
    if (k_node == HN_NONE || v_node == HN_NONE || v.factor != 1)
        return;
    hn_dim n_new = hn_dim_of(a->r, hn_in(a->r, k_node, 1), 2);
    if (n_new == HN_DIM_UNKNOWN || n_new != hn_dim_of(a->r, hn_in(a->r, v_node, 1), 2) ||
        !view_of(a, hn_in(a->r, k_node, 1), false, a->n_kv_heads, n_new, a->size, &new_k) ||
        !view_of(a, hn_in(a->r, v_node, 1), false, a->n_kv_heads, n_new, a->value_size, &new_v))
        return;
    if (hn_rank_of(a->r, hn_in(a->r, k_node, 0)) != 4 ||
        hn_rank_of(a->r, hn_in(a->r, v_node, 0)) != 4)
        return;
    new_k.factor = k.factor;
    a->past_k = hn_in(a->r, k_node, 0);
    a->past_v = hn_in(a->r, v_node, 0);
    a->present_k = k.source;
    a->present_v = v.source;
    a->n_new_keys = n_new;
    a->k = new_k;
    a->v = new_v;
    a->v.keeps_factor = true;
}

bool hn_attn_find_heads(hn_attn *a) {
    hn_dim k_heads, v_heads;
    a->past_k = a->past_v = a->present_k = a->present_v = HN_NONE;
    if (!find_sizes(a) || !find_heads(a))
        return false;
    if (!view_of(a, queries(a), false, a->n_heads, a->n_queries, a->size, &a->q)) {
        hn_miss(a->r, "queries are broadcast over batch or heads");
        return false;
    }
    if (!view_of_kv(a, turned_keys(a), true, a->size, &a->k, &k_heads) ||
        !view_of_kv(a, values(a), false, a->value_size, &a->v, &v_heads)) {
        hn_miss(a->r, "keys or values are broadcast over the batch");
        return false;
    }
    a->v.keeps_factor = true;
    if (!find_groups(a, k_heads, v_heads))
        return false;
    a->all_k = a->k;
    a->all_v = a->v;
    find_past(a);
    return true;
}
