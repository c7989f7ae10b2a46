/* Replaces Slices and Gathers that together partition one value along one axis by one Split. */
#include "pass/engine/pass_int.h"

#define MAX_CUTS 64

/* A node that takes elements begin .. end along one axis of its first input. */
typedef struct part {
    hn_id node;
    int64_t begin, end;
} part;

typedef struct cut_axis {
    int32_t axis, rank;
    int64_t size;
    uint32_t n;
    part parts[MAX_CUTS];
} cut_axis;

static int64_t clamp_index(int64_t i, int64_t size) {
    i += i < 0 ? size : 0;
    return i < 0 ? 0 : i > size ? size : i;
}

static bool sliced_part(const hn_rule *r, hn_id node, int32_t rank, int32_t *axis, part *out) {
    uint32_t n, n_ends, n_axes, n_steps;
    const int64_t *starts, *ends, *axes = NULL, *steps;
    if (!hn_node_list(r, node, "starts", 1, &n, &starts) || n != 1 ||
        !hn_node_list(r, node, "ends", 2, &n_ends, &ends) || n_ends != 1)
        return false;
    bool has_axes = hn_in(r, node, 3) != HN_NONE || hn_node_attr(hn_at(r, node), "axes");
    if (has_axes && (!hn_node_list(r, node, "axes", 3, &n_axes, &axes) || n_axes != 1))
        return false;
    if (hn_in(r, node, 4) != HN_NONE &&
        (!hn_const_i64s(r, hn_in(r, node, 4), &n_steps, &steps) || n_steps != 1 || steps[0] != 1))
        return false;
    int64_t a = has_axes ? axes[0] : 0;
    *axis = (int32_t)(a < 0 ? a + rank : a);
    if (*axis < 0 || *axis >= rank)
        return false;
    hn_dim size = hn_dim_of(r, hn_in(r, node, 0), *axis);
    if (!hn_dim_is_known(size))
        return false;
    *out = (part){node, clamp_index(starts[0], size), clamp_index(ends[0], size)};
    return true;
}

/* A Gather of consecutive elements. */
static bool gathered_part(const hn_rule *r, hn_id node, int32_t rank, int32_t *axis, part *out) {
    uint32_t n;
    const int64_t *indices;
    int64_t a = hn_node_i(r, node, "axis", 0);
    *axis = (int32_t)(a < 0 ? a + rank : a);
    if (*axis < 0 || *axis >= rank || hn_rank_of(r, hn_in(r, node, 1)) != 1)
        return false;
    hn_dim size = hn_dim_of(r, hn_in(r, node, 0), *axis);
    if (!hn_dim_is_known(size) || !hn_const_i64s(r, hn_in(r, node, 1), &n, &indices) || n == 0)
        return false;
    int64_t begin = indices[0] < 0 ? indices[0] + size : indices[0];
    if (begin < 0 || begin >= size)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if ((indices[i] < 0 ? indices[i] + size : indices[i]) != begin + (int64_t)i)
            return false;
    *out = (part){node, begin, begin + (int64_t)n};
    return true;
}

static bool cut_part(const hn_rule *r, hn_id node, int32_t rank, int32_t *axis, part *out) {
    if (hn_is_op(r, node, "Slice"))
        return sliced_part(r, node, rank, axis, out);
    return hn_is_op(r, node, "Gather") && gathered_part(r, node, rank, axis, out);
}

/* Keeps the parts sorted by their first element. */
static bool insert_part(cut_axis *c, part p) {
    uint32_t at = c->n;
    if (c->n == MAX_CUTS || p.end <= p.begin)
        return false;
    for (; at > 0 && c->parts[at - 1].begin > p.begin; at--)
        c->parts[at] = c->parts[at - 1];
    c->parts[at] = p;
    c->n++;
    return true;
}

/* Collects all readers of x in this block that slice it along the axis. */
static bool collect_parts(const hn_rule *r, hn_id x, cut_axis *c) {
    const hn_value *v = hn_value_at(r->g, x);
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_id node = v->uses.at[i].node;
        int32_t axis;
        part p;
        if (node == HN_NONE || v->uses.at[i].slot != 0 ||
            hn_at(r, node)->block != hn_at(r, r->root)->block ||
            !cut_part(r, node, c->rank, &axis, &p) || axis != c->axis)
            continue;
        if (!insert_part(c, p))
            return false;
    }
    return true;
}

static bool covers_axis(const cut_axis *c) {
    int64_t at = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->parts[i].begin != at)
            return false;
        at = c->parts[i].end;
    }
    return c->n > 1 && at == c->size;
}

static hone_status slices_to_split(hn_rule *r) {
    hn_id x = hn_in(r, r->root, 0), nodes[MAX_CUTS];
    int64_t sizes[MAX_CUTS];
    part p;
    cut_axis c = {.rank = hn_rank_of(r, x)};
    if (c.rank < 1 || hn_rule_opset(r) < 2 || hn_n_readers(r, x) < 2 || hn_const(r, x) ||
        !cut_part(r, r->root, c.rank, &c.axis, &p))
        return HONE_OK;
    c.size = hn_dim_of(r, x, c.axis);
    if (!collect_parts(r, x, &c) || !covers_axis(&c))
        return HONE_OK;
    for (uint32_t i = 0; i < c.n; i++) {
        nodes[i] = c.parts[i].node;
        sizes[i] = c.parts[i].end - c.parts[i].begin;
    }
    if (!hn_stands_first(r, c.n, nodes))
        return HONE_OK;
    hn_id split = hn_make_split(r, x, c.axis, c.n, sizes);
    for (uint32_t i = 0; i < c.n; i++)
        hn_rule_replace_value(r, hn_out(r, nodes[i], 0), hn_out(r, split, i));
    hn_detail(r, "%u parts of axis %d", c.n, (int)c.axis);
    return HONE_OK;
}

hone_status hn_pass_slices_to_split(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"split", "Slice|Gather", slices_to_split, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
