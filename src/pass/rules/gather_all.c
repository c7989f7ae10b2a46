/* Replaces a Gather of all rows in order by a Reshape. Exporters that flatten indices write them as
 * Range(0, n) * m + Range(0, m), broadcast over several axes. */
#include "pass/rules/moves.h"

#define MAX_GRID_STEPS 10 /* nodes between an index and its ranges */

/* Integers that are linear in the position: base + sum of step[k] * (position on axis k). */
typedef struct linear_grid {
    int32_t rank;
    hn_dim dims[HN_MAX_RANK];
    hn_sint base, step[HN_MAX_RANK];
} linear_grid;

static const hn_sint no_step = {HN_SINT_CONST, 0};

static bool read_linear_grid(const hn_rule *r, hn_id value, uint32_t n_steps, linear_grid *out);

/* Reads one element, constant or known to inference. */
static bool read_one_size(const hn_rule *r, hn_id value, hn_sint *out) {
    const hn_sint *elems;
    uint32_t n;
    if (!hn_ints(r, value, &n, &elems) || n != 1 || elems[0].kind == HN_SINT_UNKNOWN)
        return false;
    *out = elems[0];
    return true;
}

static bool read_range_grid(const hn_rule *r, hn_id range, linear_grid *out) {
    out->dims[0] = hn_dim_of(r, hn_out(r, range, 0), 0);
    return out->rank == 1 && read_one_size(r, hn_in(r, range, 0), &out->base) &&
           read_one_size(r, hn_in(r, range, 2), &out->step[0]);
}

/* Axes of size 1 may be added or removed; the others keep their order. */
static bool read_reshaped_grid(const hn_rule *r, hn_id node, uint32_t n_steps, linear_grid *out) {
    linear_grid in;
    if (!read_linear_grid(r, hn_in(r, node, 0), n_steps, &in))
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

/* The step of axis k from the end; 0 when the operand does not have it. */
static hn_sint step_from_end(const linear_grid *g, int32_t from_end) {
    return from_end <= g->rank && g->dims[g->rank - from_end] != 1 ? g->step[g->rank - from_end]
                                                                   : no_step;
}

static bool read_sum_grid(const hn_rule *r, hn_id node, uint32_t n_steps, linear_grid *out) {
    linear_grid a, b;
    hn_syms *s = r->pass->model->syms;
    if (!read_linear_grid(r, hn_in(r, node, 0), n_steps, &a) ||
        !read_linear_grid(r, hn_in(r, node, 1), n_steps, &b))
        return false;
    out->base = hn_sint_apply(s, HN_SINT_ADD, a.base, b.base);
    for (int32_t i = 0; i < out->rank; i++)
        out->step[i] = hn_sint_apply(s, HN_SINT_ADD, step_from_end(&a, out->rank - i),
                                     step_from_end(&b, out->rank - i));
    return true;
}

static bool read_scaled_grid(const hn_rule *r, hn_id node, uint32_t n_steps, linear_grid *out) {
    linear_grid in;
    hn_sint factor;
    hn_syms *s = r->pass->model->syms;
    bool is_second = read_one_size(r, hn_in(r, node, 1), &factor);
    if ((!is_second && !read_one_size(r, hn_in(r, node, 0), &factor)) ||
        !read_linear_grid(r, hn_in(r, node, is_second ? 0 : 1), n_steps, &in) ||
        in.rank != out->rank)
        return false;
    out->base = hn_sint_apply(s, HN_SINT_MUL, in.base, factor);
    for (int32_t i = 0; i < out->rank; i++)
        out->step[i] = hn_sint_apply(s, HN_SINT_MUL, in.step[i], factor);
    return true;
}

/* False when the value is not computed from ranges alone. */
static bool read_linear_grid(const hn_rule *r, hn_id value, uint32_t n_steps, linear_grid *out) {
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

/* True when the elements are 0, 1, 2, ... over all axes together. */
static bool counts_up(hn_syms *s, const linear_grid *g, hn_dim *n_all) {
    *n_all = 1;
    for (int32_t i = g->rank - 1; i >= 0; i--) {
        if (g->dims[i] != 1 && !is_same_size(g->step[i], *n_all))
            return false;
        *n_all = hn_dim_mul(s, *n_all, g->dims[i]);
    }
    return g->base.kind == HN_SINT_CONST && g->base.v == 0;
}

/* Skips a chain of reshapes. */
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
    linear_grid grid;
    hn_dim n_all;
    if (!read_linear_grid(r, hn_cap(r, "i"), MAX_GRID_STEPS, &grid) ||
        !counts_up(r->pass->model->syms, &grid, &n_all) || n_all == HN_DIM_UNKNOWN)
        return HONE_OK;
    if (hn_dim_of(r, data, 0) != n_all)
        return hn_miss(r, "it takes rows in order, but maybe not all of them");
    hn_id y = hn_make_shaped_like(r, skip_reshapes(r, data), hn_out(r, r->root, 0));
    if (y == HN_NONE)
        return hn_miss(r, "the shape needs more than one inferred size in a single Reshape");
    hn_rule_replace(r, y);
    return HONE_OK;
}

hone_status hn_pass_gather_all(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {.name = "gather-in-order", .pattern = "Gather[axis=0](x, i)", .fn = gather_in_order},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
