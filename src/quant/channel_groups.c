#include "quant/channel_groups.h"

/* ---- groups --------------------------------------------------------------------------------------- */

hn_id hn_channel_group(const hn_equalizer *e, hn_id v) {
    while (e->parent[v] != v)
        v = e->parent[v];
    return v;
}

static void join_channel_groups(hn_equalizer *e, hn_id a, hn_id b) {
    a = hn_channel_group(e, a);
    b = hn_channel_group(e, b);
    e->parent[HN_MAX(a, b)] = HN_MIN(a, b);
    e->is_fixed[HN_MIN(a, b)] |= e->is_fixed[HN_MAX(a, b)];
}

static void fix_group(hn_equalizer *e, hn_id v) {
    if (v != HN_NONE)
        e->is_fixed[hn_channel_group(e, v)] = true;
}

const hn_tensor *hn_channel_own_const(const hn_graph *g, hn_id node, uint32_t slot) {
    const hn_tensor *t = hn_quant_const_input(g, node, slot);
    bool is_own =
        t && t->dtype == HN_F32 && hn_value_at(g, hn_quant_input(g, node, slot))->uses.n == 1;
    return is_own ? t : NULL;
}

/* All of the channels of a value lie along this axis. */
static bool set_channels(hn_equalizer *e, hn_id v, int32_t axis, uint64_t n) {
    if (e->channels[v] == 0) {
        e->channels[v] = n;
        e->axis[v] = axis;
    }
    return e->channels[v] == n && e->axis[v] == axis;
}

static int32_t rank_of(const hn_graph *g, hn_id v) {
    const hn_type *t = hn_value_at(g, v)->type;
    return t && t->kind == HN_TYPE_TENSOR ? t->shape.rank : -1;
}

static bool is_conv(const hn_node *n) {
    return hn_str_is(n->op, "Conv");
}

static int64_t attr_or(const hn_node *n, const char *name, int64_t otherwise) {
    const hn_attr *a = hn_node_attr(n, name);
    return a && a->kind == HN_ATTR_INT ? a->v.i : otherwise;
}

bool hn_channel_weight_of(const hn_graph *g, hn_id node, bool is_output, hn_channel_weight *out) {
    const hn_node *n = hn_node_at(g, node);
    const hn_tensor *w = hn_channel_own_const(g, node, 1);
    if (!w || w->rank < 2 || w->n_elems == 0)
        return false;
    uint64_t rows = (uint64_t)w->dims[0], columns = (uint64_t)w->dims[1];
    *out = (hn_channel_weight){.value = n->inputs[1], .outer_per_group = UINT64_MAX};
    if (is_conv(n)) {
        uint64_t group = (uint64_t)HN_MAX(attr_or(n, "group", 1), 1);
        out->n_inner = w->n_elems / rows / (is_output ? 1 : columns);
        out->n_outer = is_output ? 1 : rows;
        out->n_mid = is_output ? rows : columns;
        out->outer_per_group = is_output ? UINT64_MAX : rows / group;
        out->n_channels = is_output ? rows : columns * group;
        return rows % group == 0;
    }
    bool is_transposed = hn_str_is(n->op, "Gemm") && attr_or(n, "transB", 0) != 0;
    bool along_rows = is_output == is_transposed; /* channels are rows of the stored matrix */
    out->n_outer = along_rows ? 1 : rows;
    out->n_mid = along_rows ? rows : columns;
    out->n_inner = along_rows ? columns : 1;
    out->n_channels = out->n_mid;
    return w->rank == 2;
}

bool hn_channel_layer(const hn_equalizer *e, hn_id node) {
    const hn_node *n = hn_node_at(e->p->g, node);
    const hn_quant_op *op = e->p->nodes[node].op;
    return op && op->role == HN_ROLE_LAYER && !hn_str_is(n->op, "ConvTranspose") &&
           hn_quant_const_input(e->p->g, node, 1);
}

static bool join_layer(hn_equalizer *e, hn_id node) {
    const hn_graph *g = e->p->g;
    const hn_node *n = hn_node_at(g, node);
    hn_channel_weight in, out;
    int32_t rank_in = rank_of(g, n->inputs[0]), rank_out = rank_of(g, n->outputs[0]);
    if (rank_in < 2 || rank_out < 2)
        return false;
    if (!hn_channel_weight_of(g, node, false, &in) || !hn_channel_weight_of(g, node, true, &out))
        return false;
    bool ok = set_channels(e, n->inputs[0], is_conv(n) ? 1 : rank_in - 1, in.n_channels);
    if (!ok)
        fix_group(e, n->inputs[0]);
    bool has_bias = hn_quant_input(g, node, 2) != HN_NONE;
    if (!set_channels(e, n->outputs[0], is_conv(n) ? 1 : rank_out - 1, out.n_channels) ||
        (has_bias && (!hn_channel_own_const(g, node, 2) ||
                      hn_channel_own_const(g, node, 2)->n_elems != out.n_channels)))
        fix_group(e, n->outputs[0]);
    return true;
}

static bool has_same_shape(const hn_graph *g, hn_id a, hn_id b) {
    const hn_type *s = hn_value_at(g, a)->type, *t = hn_value_at(g, b)->type;
    if (!s || !t || s->kind != HN_TYPE_TENSOR || t->kind != HN_TYPE_TENSOR || s->shape.rank < 2 ||
        s->shape.rank != t->shape.rank)
        return false;
    for (int32_t i = 0; i < s->shape.rank; i++)
        if (s->shape.dims[i] == HN_DIM_UNKNOWN || s->shape.dims[i] != t->shape.dims[i])
            return false;
    return true;
}

bool hn_channel_vector(const hn_equalizer *e, hn_id node, const char *op, uint32_t *slot) {
    const hn_graph *g = e->p->g;
    const hn_node *n = hn_node_at(g, node);
    for (*slot = 0; hn_str_is(n->op, op) && *slot < 2; ++*slot) {
        const hn_tensor *c = hn_channel_own_const(g, node, *slot);
        if (c && c->rank == 1 && c->n_elems > 1 && n->inputs[1 - *slot] != HN_NONE &&
            rank_of(g, n->inputs[1 - *slot]) >= 2)
            return true;
    }
    return false;
}

bool hn_channel_normalization(const hn_equalizer *e, hn_id node) {
    const hn_graph *g = e->p->g;
    const hn_node *n = hn_node_at(g, node);
    int32_t rank = rank_of(g, n->outputs[0]);
    int64_t axis = attr_or(n, "axis", -1);
    const hn_tensor *scale = hn_channel_own_const(g, node, 1);
    return hn_str_is(n->op, "LayerNormalization") && rank >= 2 &&
           (axis == -1 || axis == rank - 1) && scale && scale->rank == 1 &&
           (hn_quant_input(g, node, 2) == HN_NONE || hn_channel_own_const(g, node, 2));
}

/* Does a Transpose leave the last axis where it is? */
static bool transpose_keeps_last(const hn_node *n) {
    const hn_attr *perm = hn_node_attr(n, "perm");
    return hn_str_is(n->op, "Transpose") && perm && perm->kind == HN_ATTR_INTS && perm->n > 0 &&
           perm->v.ints[perm->n - 1] == (int64_t)perm->n - 1;
}

static bool join_node(hn_equalizer *e, hn_id node) {
    const hn_graph *g = e->p->g;
    const hn_node *n = hn_node_at(g, node);
    static const char *const passing[] = {"Relu", "LeakyRelu", "MaxPool", "AveragePool",
                                          "GlobalAveragePool"};
    uint32_t slot;
    if (n->block != 0 || n->n_outputs != 1 || !hn_domain_is_onnx(n->domain))
        return false;
    if (hn_channel_layer(e, node))
        return join_layer(e, node);
    for (size_t i = 0; i < HN_COUNT(passing); i++)
        if (hn_str_is(n->op, passing[i])) {
            join_channel_groups(e, n->inputs[0], n->outputs[0]);
            return true;
        }
    if (hn_str_is(n->op, "Add") && has_same_shape(g, n->inputs[0], n->inputs[1])) {
        join_channel_groups(e, n->inputs[0], n->outputs[0]);
        join_channel_groups(e, n->inputs[1], n->outputs[0]);
        return true;
    }
    if (transpose_keeps_last(n)) {
        int32_t last = rank_of(g, n->outputs[0]) - 1;
        join_channel_groups(e, n->inputs[0], n->outputs[0]);
        return last >= 0 && (e->channels[n->inputs[0]] == 0 || e->axis[n->inputs[0]] == last);
    }
    if (hn_channel_vector(e, node, "Add", &slot)) {
        join_channel_groups(e, n->inputs[1 - slot], n->outputs[0]);
        return set_channels(e, n->outputs[0], rank_of(g, n->outputs[0]) - 1,
                            hn_channel_own_const(g, node, slot)->n_elems);
    }
    if (hn_channel_vector(e, node, "Mul", &slot)) {
        fix_group(e, n->inputs[1 - slot]);
        return set_channels(e, n->outputs[0], rank_of(g, n->outputs[0]) - 1,
                            hn_channel_own_const(g, node, slot)->n_elems);
    }
    if (!hn_channel_normalization(e, node))
        return false;
    fix_group(e, n->inputs[0]);
    return set_channels(e, n->outputs[0], rank_of(g, n->outputs[0]) - 1,
                        hn_channel_own_const(g, node, 1)->n_elems);
}

static void join_all(hn_equalizer *e) {
    const hn_graph *g = e->p->g;
    for (hn_id v = 0; v < e->p->n_values; v++) {
        const hn_value *value = hn_value_at(g, v);
        e->parent[v] = v;
        e->is_fixed[v] = value->is_input || value->init || hn_value_is_output(value, HN_NONE);
    }
    for (hn_id node = 0; node < e->p->n_nodes; node++) {
        const hn_node *n = hn_node_at(g, node);
        if (n->block == HN_NONE || join_node(e, node))
            continue;
        for (uint32_t i = 0; i < n->n_inputs; i++)
            fix_group(e, n->inputs[i]);
        for (uint32_t i = 0; i < n->n_outputs; i++)
            fix_group(e, n->outputs[i]);
    }
}

/* Channels of values that an operator passes on are those of the values beside them. */
static void spread_channels(hn_equalizer *e) {
    for (hn_id v = 0; v < e->p->n_values; v++) {
        hn_id root = hn_channel_group(e, v);
        if (e->channels[v] && !e->channels[root]) {
            e->channels[root] = e->channels[v];
            e->axis[root] = e->axis[v];
        }
        if (e->channels[v] && (e->channels[v] != e->channels[root] || e->axis[v] != e->axis[root]))
            e->is_fixed[root] = true;
    }
    for (hn_id v = 0; v < e->p->n_values; v++) {
        hn_id root = hn_channel_group(e, v);
        e->channels[v] = e->channels[root];
        e->axis[v] = e->axis[root];
    }
}

void hn_channel_groups_find(hn_equalizer *e) {
    join_all(e);
    spread_channels(e);
}
