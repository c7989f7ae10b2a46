/* Folds shape computations whose result inference knows: known integers become constants, and the
 * targets of Reshape, Expand and Slice refer to the sizes of their own input instead of computing
 * them. */
#include "pass/rules/moves.h"

/* ---- known integers -------------------------------------------------------------------------- */

static void put_int(hn_dtype elem, void *data, uint32_t i, int64_t v) {
    if (elem == HN_I64)
        ((int64_t *)data)[i] = v;
    else if (elem == HN_I32)
        ((int32_t *)data)[i] = (int32_t)v;
    else
        ((bool *)data)[i] = v != 0;
}

static bool are_numbers(uint32_t n, const hn_sint *elems) {
    for (uint32_t i = 0; i < n; i++)
        if (elems[i].kind != HN_SINT_CONST)
            return false;
    return true;
}

/* Types that hold sizes and results of comparisons. */
static bool is_size_type(const hn_type *t) {
    return t && t->kind == HN_TYPE_TENSOR && t->shape.rank >= 0 && t->shape.rank <= 1 &&
           (t->elem == HN_I64 || t->elem == HN_I32 || t->elem == HN_BOOL);
}

/* True for an integer value that is not constant itself, but all of whose elements are known. A
 * file may declare another shape than that of the elements. */
static bool is_foldable(const hn_pass *p, hn_id value, uint32_t *n, const hn_sint **elems) {
    const hn_value *v = hn_value_at(p->g, value);
    bool is_scalar;
    return v->uses.n > 0 && is_size_type(v->type) && !hn_facts_const(p->facts, value) &&
           hn_facts_ints(p->facts, value, n, elems, &is_scalar) && are_numbers(*n, *elems) &&
           is_scalar == (v->type->shape.rank == 0);
}

static hone_status fold_output(hn_pass *p, hn_id node, hn_id value) {
    const hn_sint *elems;
    uint32_t n;
    void *data;
    if (value == HN_NONE || !is_foldable(p, value, &n, &elems))
        return HONE_OK;
    hn_rule *r = hn_rewrite_begin(p, "numbers", node);
    HN_TRY_PTR(r);
    hn_dtype elem = hn_elem_of(r, value);
    hn_tensor *t = hn_new_tensor(r, elem, hn_rank_of(r, value), (int64_t[]){n}, &data);
    for (uint32_t i = 0; t && i < n; i++)
        put_int(elem, data, i, elems[i].v);
    hn_rule_replace_value(r, value, hn_new_const(r, "numbers", t));
    return hn_rewrite_end(r);
}

/* ---- targets in terms of the input ----------------------------------------------------------- */

/* A computed input and what inference knows of its elements. */
static bool computed_ints(const hn_rule *r, uint32_t input, uint32_t *n, const hn_sint **elems) {
    hn_id value = hn_in(r, r->root, input);
    return value != HN_NONE && !hn_const(r, value) && hn_ints(r, value, n, elems) &&
           *n <= HN_MAX_RANK;
}

/* True when the elements of x may take this shape (0: copied, -1: inferred), as far as sizes are
 * known. A file may ask for an impossible shape in a form that hides it. */
static bool target_fits(const hn_shape *x, uint32_t n, const int64_t *target) {
    uint64_t have = 1, want = 1;
    bool has_rest = false;
    for (int32_t i = 0; x && i < x->rank; i++) {
        if (i < (int32_t)n && target[i] == 0)
            continue;
        if (!hn_dim_is_known(x->dims[i]))
            return true;
        if (!hn_mul_u64(have, (uint64_t)x->dims[i], &have))
            return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        has_rest |= target[i] < 0;
        if (target[i] > 0 && !hn_mul_u64(want, (uint64_t)target[i], &want))
            return false;
    }
    return !x || (has_rest ? have % want == 0 : have == want);
}

/* A size in the target is written as a number; a copied, inferred or unknown entry is the size that
 * inference found for the output. */
static hone_status fold_reshape(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0), y = hn_out(r, r->root, 0);
    const hn_sint *elems;
    hn_dim want[HN_MAX_RANK];
    int64_t target[HN_MAX_RANK];
    uint32_t n;
    bool allow_zero = hn_node_i(r, r->root, "allowzero", 0) != 0;
    if (!computed_ints(r, 1, &n, &elems))
        return HONE_OK;
    for (uint32_t i = 0; i < n; i++) {
        bool is_copied = elems[i].kind == HN_SINT_CONST && elems[i].v == 0 && !allow_zero;
        want[i] = is_copied ? HN_DIM_UNKNOWN : hn_sint_to_dim(elems[i]);
        if (want[i] == HN_DIM_UNKNOWN && hn_rank_of(r, y) == (int32_t)n)
            want[i] = hn_dim_of(r, y, (int32_t)i);
    }
    if (!hn_reshape_target(r->pass->model->syms, hn_shape_of(r, x), n, want, target))
        return hn_miss(r,
                       "its shape has two sizes that are neither constant nor those of the input");
    if (target_fits(hn_shape_of(r, x), n, target))
        hn_rule_replace(r, hn_make_reshape_to(r, x, n, target));
    return HONE_OK;
}

/* Where the target is the size that the input has already, 1 is equivalent. */
static hone_status fold_expand(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0);
    const hn_sint *elems;
    int64_t target[HN_MAX_RANK];
    uint32_t n;
    int32_t rank = hn_rank_of(r, x);
    if (rank < 0 || !computed_ints(r, 1, &n, &elems))
        return HONE_OK;
    for (uint32_t i = 0; i < n; i++) {
        int32_t axis = rank - (int32_t)n + (int32_t)i;
        hn_dim have = axis >= 0 ? hn_dim_of(r, x, axis) : HN_DIM_UNKNOWN;
        bool is_there = elems[i].kind == HN_SINT_DIM && elems[i].v == have;
        if (!is_there && elems[i].kind != HN_SINT_CONST)
            return HONE_OK;
        target[i] = is_there ? 1 : elems[i].v;
    }
    hn_id shape = hn_new_const_i64s(r, "shape", n, target);
    hn_rule_replace(r, hn_make1(r, "Expand", HN_VALUES(x, shape), HN_NO_ATTRS));
    return HONE_OK;
}

/* Writes a bound of a slice without symbols: the size of the axis becomes the maximum, one less
 * becomes -1. Other bounds relative to the end stay, because clamping would differ. */
static bool bound_number(const hn_rule *r, hn_dim size, hn_sint bound, int64_t *out) {
    hn_syms *s = r->pass->model->syms;
    *out = bound.v;
    if (bound.kind == HN_SINT_CONST)
        return true;
    if (bound.kind != HN_SINT_DIM || !hn_dim_is_symbolic(size))
        return false;
    *out = bound.v == size ? INT64_MAX : -1;
    return bound.v == size || hn_dim_add_i(s, bound.v, 1) == size;
}

/* Reads the axes of a slice; when the input is absent, they are the first ones. */
static bool sliced_axes(const hn_rule *r, uint32_t n, int64_t *axes) {
    const int64_t *given;
    uint32_t n_given;
    if (hn_in(r, r->root, 3) == HN_NONE) {
        for (uint32_t i = 0; i < n; i++)
            axes[i] = i;
        return true;
    }
    if (!hn_axes_read(r, r->root, 3, hn_rank_of(r, hn_in(r, r->root, 0)), &n_given, &given) ||
        n_given != n)
        return false;
    memcpy(axes, given, n * sizeof *axes);
    return true;
}

static hone_status fold_slice_bounds(hn_rule *r) {
    int64_t axes[HN_MAX_RANK], bounds[HN_MAX_RANK];
    const hn_sint *elems;
    uint32_t n;
    for (uint32_t input = 1; input <= 2; input++) {
        if (!computed_ints(r, input, &n, &elems) || !sliced_axes(r, n, axes))
            continue;
        bool are_known = true;
        for (uint32_t i = 0; i < n && are_known; i++)
            are_known = bound_number(r, hn_dim_of(r, hn_in(r, r->root, 0), (int32_t)axes[i]),
                                     elems[i], &bounds[i]);
        if (are_known && hn_elem_of(r, hn_in(r, r->root, input)) == HN_I64)
            hn_rule_set_input(r, r->root, input, hn_new_const_i64s(r, "bounds", n, bounds));
    }
    return HONE_OK;
}

/* ---- parts of shapes ------------------------------------------------------------------------- */

/* True for consecutive indices counted from the front, all within the axis. */
static bool is_run(uint32_t n, const int64_t *at, hn_dim length, int64_t *begin) {
    if (n == 0 || !hn_dim_is_known(length) || at[0] < -length || at[0] >= length)
        return false;
    for (uint32_t i = 1; i < n; i++)
        if (at[i] != at[0] + (int64_t)i)
            return false;
    *begin = at[0] + (at[0] < 0 ? length : 0);
    return *begin + (int64_t)n <= length;
}

/* Since opset 15, Shape can return a range of dimensions. */
static hone_status shape_range(hn_rule *r) {
    hn_id shape = hn_cap_node(r, "shape");
    const hn_node *n = hn_at(r, shape);
    const int64_t *at;
    uint32_t count;
    int64_t begin, start = hn_node_i(r, shape, "start", 0);
    hn_id index = hn_cap(r, "i");
    if (hn_rule_opset(r) < 15 || start < 0 || hn_rank_of(r, index) != 1 ||
        hn_node_i(r, r->root, "axis", 0) > 0 || !hn_const_i64s(r, index, &count, &at) ||
        !is_run(count, at, hn_dim_of(r, hn_out(r, shape, 0), 0), &begin))
        return HONE_OK;
    begin += start;
    hn_rule_replace(r, hn_make1(r, "Shape", HN_VALUES(n->inputs[0]),
                                HN_ATTRS(hn_new_i(r, "start", begin),
                                         hn_new_i(r, "end", begin + (int64_t)count))));
    return HONE_OK;
}

static const hn_rule_row target_rules[] = {
    {.name = "reshape-target", .pattern = "Reshape(x, shape)", .fn = fold_reshape},
    {.name = "expand-target", .pattern = "Expand(x, shape)", .fn = fold_expand},
    {.name = "slice-bounds", .pattern = "Slice(x, starts, ...)", .fn = fold_slice_bounds},
    {.name = "shape-range",
     .pattern = "Gather(Shape(x):shape, #i)",
     .fn = shape_range,
     .allow_shared = true},
};

/* ---- the pass -------------------------------------------------------------------------------- */

static bool is_fully_known(const hn_pass *p, hn_id value) {
    const hn_type *t = hn_value_at(p->g, value)->type;
    const hn_sint *elems;
    uint32_t n;
    bool is_scalar;
    if (!t || t->kind != HN_TYPE_TENSOR || t->shape.rank < 0)
        return false;
    for (int32_t i = 0; i < t->shape.rank; i++)
        if (t->shape.dims[i] == HN_DIM_UNKNOWN)
            return false;
    if (!is_size_type(t))
        return true;
    if (!hn_facts_ints(p->facts, value, &n, &elems, &is_scalar))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (elems[i].kind == HN_SINT_UNKNOWN)
            return false;
    return true;
}

/* Newly constant values may determine the values computed from them. */
static hone_status learn_again(hn_pass *p, hn_id node) {
    const hn_node *n = hn_node_at(p->g, node);
    bool is_known = true;
    for (uint32_t i = 0; i < n->n_outputs && is_known; i++)
        is_known = n->outputs[i] == HN_NONE || is_fully_known(p, n->outputs[i]);
    hone_error unused = {0}; /* contradictions in the file are reported elsewhere */
    hone_status status = is_known ? HONE_OK : hn_facts_visit(p->facts, node, &unused);
    return status == HONE_E_NOMEM ? status : HONE_OK;
}

static hone_status fold_block(hn_pass *p, hn_id block) {
    const hn_block *b = hn_block_at(p->g, block);
    uint32_t n = b->nodes.n;
    /* a copy, because the list changes */
    hn_id *nodes = hn_arena_copy(p->scratch, b->nodes.at, n * sizeof *nodes);
    HN_TRY_PTR(nodes);
    for (uint32_t i = 0; i < n; i++) {
        if (hn_node_at(p->g, nodes[i])->block == HN_NONE)
            continue;
        HN_TRY(learn_again(p, nodes[i]));
        for (uint32_t k = 0; k < hn_node_at(p->g, nodes[i])->n_outputs; k++)
            HN_TRY(fold_output(p, nodes[i], hn_node_at(p->g, nodes[i])->outputs[k]));
    }
    return HONE_OK;
}

hone_status hn_pass_fold_shapes(hn_pass *p) {
    for (hn_id block = 0; block < p->g->blocks.n; block++)
        HN_TRY(fold_block(p, block));
    return hn_pass_rules(p, target_rules, HN_COUNT(target_rules));
}
