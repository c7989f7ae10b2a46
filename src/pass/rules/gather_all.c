/* Gather of all rows in their order is a Reshape. Exporters that flatten indices write the order as
 * Range(0, n) * m + Range(0, m), spread over several axes. */
#include "pass/rules/moves.h"

#define MAX_GRID_STEPS 10 /* nodes between an index and its ranges */

/* Integers that grow evenly along each axis: base + sum of step[k] * (position on axis k). */
typedef struct even_grid {
    int32_t rank;
    hn_dim dims[HN_MAX_RANK];
    hn_sint base, step[HN_MAX_RANK];
} even_grid;

static const hn_sint no_step = {HN_SINT_CONST, 0};

static bool read_even_grid(const hn_rule *r, hn_id value, uint32_t n_steps, even_grid *out);

/* One known number, or the sizes that inference followed. */
static bool read_one_size(const hn_rule *r, hn_id value, hn_sint *out) {
    const hn_sint *elems;
    uint32_t n;
    if (!hn_ints(r, value, &n, &elems) || n != 1 || elems[0].kind == HN_SINT_UNKNOWN)
        return false;
    *out = elems[0];
    return true;
}

static bool read_range_grid(const hn_rule *r, hn_id range, even_grid *out) {
    out->dims[0] = hn_dim_of(r, hn_out(r, range, 0), 0);
    return out->rank == 1 && read_one_size(r, hn_in(r, range, 0), &out->base) &&
           read_one_size(r, hn_in(r, range, 2), &out->step[0]);
}

/* Axes of size 1 come and go; the others stay in order. */
static bool read_reshaped_grid(const hn_rule *r, hn_id node, uint32_t n_steps, even_grid *out) {
    even_grid in;
    if (!read_even_grid(r, hn_in(r, node, 0), n_steps, &in))
        return false;
    int32_t k = 0;
    out->base = in.base;
    for (int32_t i = 0; i < out->rank; i++) {
        while (k < in.rank && in.dims[k] == 1 && out->dims[i] != 1)
            k++;
        bool is_same = k < in.rank && in.dims[k] == out->dims[i];
        out->step[i] = is_same ? in.step[k] : no_step;
        k += is_same;
        if (!is_same && out->dims[i] != 1)
            return false;
    }
    while (k < in.rank && in.dims[k] == 1)
        k++;
    return k == in.rank;
}

/* Element k from the end, where an operand has one. */
static hn_sint step_from_end(const even_grid *g, int32_t from_end) {
    return from_end <= g->rank && g->dims[g->rank - from_end] != 1 ? g->step[g->rank - from_end]
                                                                   : no_step;
}

static bool read_sum_grid(const hn_rule *r, hn_id node, uint32_t n_steps, even_grid *out) {
    even_grid a, b;
    hn_syms *s = r->pass->model->syms;
    if (!read_even_grid(r, hn_in(r, node, 0), n_steps, &a) ||
        !read_even_grid(r, hn_in(r, node, 1), n_steps, &b))
        return false;
    out->base = hn_sint_apply(s, HN_SINT_ADD, a.base, b.base);
    for (int32_t i = 0; i < out->rank; i++)
        out->step[i] = hn_sint_apply(s, HN_SINT_ADD, step_from_end(&a, out->rank - i),
                                     step_from_end(&b, out->rank - i));
    return true;
}

static bool read_scaled_grid(const hn_rule *r, hn_id node, uint32_t n_steps, even_grid *out) {
    even_grid in;
    hn_sint factor;
    hn_syms *s = r->pass->model->syms;
    bool is_second = read_one_size(r, hn_in(r, node, 1), &factor);
    if ((!is_second && !read_one_size(r, hn_in(r, node, 0), &factor)) ||
        !read_even_grid(r, hn_in(r, node, is_second ? 0 : 1), n_steps, &in) || in.rank != out->rank)
        return false;
    out->base = hn_sint_apply(s, HN_SINT_MUL, in.base, factor);
    for (int32_t i = 0; i < out->rank; i++)
        out->step[i] = hn_sint_apply(s, HN_SINT_MUL, in.step[i], factor);
    return true;
}

/* False when the value is not made of ranges alone. */
static bool read_even_grid(const hn_rule *r, hn_id value, uint32_t n_steps, even_grid *out) {
    const hn_shape *shape = hn_shape_of(r, value);
    hn_id node = hn_maker(r, value, "Range|Unsqueeze|Squeeze|Reshape|Add|Mul");
    if (!shape || shape->rank > HN_MAX_RANK || node == HN_NONE || n_steps == 0)
        return false;
    out->rank = shape->rank;
    for (int32_t i = 0; i < shape->rank; i++)
        out->dims[i] = shape->dims[i];
    if (hn_is_op(r, node, "Range"))
        return read_range_grid(r, node, out);
    if (hn_is_op(r, node, "Add"))
        return read_sum_grid(r, node, n_steps - 1, out);
    if (hn_is_op(r, node, "Mul"))
        return read_scaled_grid(r, node, n_steps - 1, out);
    return read_reshaped_grid(r, node, n_steps - 1, out);
}

static bool is_same_size(hn_sint a, hn_dim b) {
    return b != HN_DIM_UNKNOWN && hn_sint_to_dim(a) == b;
}

/* 0, 1, 2, ... over all axes together? */
static bool counts_up(hn_syms *s, const even_grid *g, hn_dim *n_all) {
    *n_all = 1;
    for (int32_t i = g->rank - 1; i >= 0; i--) {
        if (g->dims[i] != 1 && !is_same_size(g->step[i], *n_all))
            return false;
        *n_all = hn_dim_mul(s, *n_all, g->dims[i]);
    }
    return g->base.kind == HN_SINT_CONST && g->base.v == 0;
}

/* Behind a row of reshapes, the value whose elements they hand on. */
static hn_id skip_reshapes(const hn_rule *r, hn_id value) {
    hn_id node;
    for (uint32_t i = 0; i < MAX_GRID_STEPS; i++) {
        node = hn_maker(r, value, "Reshape|Flatten|Squeeze|Unsqueeze");
        if (node == HN_NONE)
            break;
        value = hn_in(r, node, 0);
    }
    return value;
}

static hone_status gather_in_order(hn_rule *r) {
    hn_id data = hn_cap(r, "x");
    even_grid grid;
    hn_dim n_all;
    if (!read_even_grid(r, hn_cap(r, "i"), MAX_GRID_STEPS, &grid) ||
        !counts_up(r->pass->model->syms, &grid, &n_all) || n_all == HN_DIM_UNKNOWN)
        return HONE_OK;
    if (hn_dim_of(r, data, 0) != n_all)
        return hn_miss(r, "it takes rows in their order, but not known to be all of them");
    hn_id y = hn_make_shaped_like(r, skip_reshapes(r, data), hn_out(r, r->root, 0));
    if (y == HN_NONE)
        return hn_miss(r, "the shape cannot be said in one step with at most one size left over");
    hn_rule_replace(r, y);
    return HONE_OK;
}

hone_status hn_pass_gather_all(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "gather-in-order", .pattern = "Gather[axis=0](x, i)", .fn = gather_in_order},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
