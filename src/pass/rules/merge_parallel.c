/* Merges convolutions and products with few output channels that read the same value into one node
 * and a Split. Kernels compute a tile of channels at a time: several nodes that fill a tile
 * together cost as much as one. Wider nodes gain nothing and would pay for the Split. */
#include "pass/engine/weights.h"

#define NARROW_CHANNELS 16 /* of one node; merging wider ones was measured to be slower */
#define LEAST_DEPTH 64     /* multiply-accumulates per output; below, the Split costs too much */
#define MAX_MERGED 32

/* Nodes that differ only in their weights. */
typedef struct narrow_group {
    uint32_t n;
    hn_id nodes[MAX_MERGED];
    int64_t sizes[MAX_MERGED]; /* output channels */
    int32_t axis;              /* of the channels in the weight */
    int32_t out_axis;          /* and in the result */
    bool has_bias;
} narrow_group;

/* The axis of a weight that holds the output channels; -1 when this node cannot be merged. */
static int32_t channel_axis(const hn_rule *r, hn_id node, const hn_tensor *w) {
    if (hn_is_op(r, node, "Conv"))
        return hn_node_i(r, node, "group", 1) == 1 ? 0 : -1;
    if (hn_is_op(r, node, "MatMul"))
        return w->rank == 2 ? 1 : -1;
    return hn_node_i(r, node, "transB", 0) != 0 ? 0 : 1;
}

/* True when an activation follows that another pass fuses into the node. */
static bool feeds_activation(const hn_rule *r, hn_id node) {
    hn_id reader = hn_only_reader(r, hn_out(r, node, 0));
    return reader != HN_NONE &&
           hn_is_op(r, reader,
                    "Relu|Clip|Sigmoid|Tanh|LeakyRelu|HardSigmoid|Elu|Add|Mul|Sub|Div|"
                    "BatchNormalization");
}

/* True for a bias vector with one element per channel, or no bias. */
static bool has_plain_bias(const hn_rule *r, hn_id node, int64_t n_channels) {
    const hn_tensor *t = hn_const(r, hn_in(r, node, 2));
    return t && t->data && t->rank == 1 && t->dims[0] == n_channels;
}

static bool is_narrow(hn_rule *r, hn_id node, const hn_tensor *w, int32_t axis) {
    return w->rank >= 2 && axis >= 0 && w->dims[axis] > 0 && w->dims[axis] < NARROW_CHANNELS &&
           w->n_elems / (uint64_t)w->dims[axis] >= LEAST_DEPTH && !feeds_activation(r, node);
}

/* True when the node can be merged with the root. */
static bool merges_with_root(hn_rule *r, hn_id node, const narrow_group *g) {
    const hn_node *a = hn_at(r, r->root), *b = hn_at(r, node);
    const hn_tensor *v = hn_const(r, hn_in(r, r->root, 1)), *w = hn_const(r, hn_in(r, node, 1));
    if (a->op != b->op || a->block != b->block || !hn_domain_is_onnx(b->domain) || !w || !w->data ||
        w->dtype != v->dtype || w->rank != v->rank || hn_n_readers(r, hn_in(r, node, 1)) != 1 ||
        !is_narrow(r, node, w, channel_axis(r, node, w)) || !hn_same_attrs(a, b))
        return false;
    for (int32_t i = 0; i < w->rank; i++)
        if (i != g->axis && w->dims[i] != v->dims[i])
            return false;
    return g->has_bias ? has_plain_bias(r, node, w->dims[g->axis]) : hn_in(r, node, 2) == HN_NONE;
}

static bool collect_alike(hn_rule *r, narrow_group *g) {
    const hn_value *x = hn_value_at(r->g, hn_in(r, r->root, 0));
    for (uint32_t i = 0; i < x->uses.n; i++) {
        hn_id node = x->uses.at[i].node;
        if (node == HN_NONE || x->uses.at[i].slot != 0 || !merges_with_root(r, node, g))
            continue;
        if (g->n == MAX_MERGED)
            return false;
        g->sizes[g->n] = hn_const(r, hn_in(r, node, 1))->dims[g->axis];
        g->nodes[g->n++] = node;
    }
    return g->n >= 2 && hn_stands_first(r, g->n, g->nodes);
}

/* Concatenates input `slot` of all nodes along an axis. */
static hn_id joined_weights(hn_rule *r, const narrow_group *g, uint32_t slot, int32_t axis) {
    hn_id first = hn_in(r, g->nodes[0], slot);
    const hn_tensor *t = hn_const(r, first);
    int64_t *dims = hn_arena_copy(r->pass->rule_scratch, t->dims, (size_t)t->rank * sizeof *dims);
    uint64_t n_outer = 1, at = 0;
    void *data;
    if (!dims)
        return HN_NONE;
    for (int32_t i = 0; i < axis; i++)
        n_outer *= (uint64_t)dims[i];
    dims[axis] = 0;
    for (uint32_t i = 0; i < g->n; i++)
        dims[axis] += g->sizes[i];
    hn_tensor *made = hn_new_tensor(r, t->dtype, t->rank, dims, &data);
    if (!made)
        return HN_NONE;
    for (uint64_t outer = 0; outer < n_outer; outer++)
        for (uint32_t i = 0; i < g->n; i++) {
            const hn_tensor *part_of = hn_const(r, hn_in(r, g->nodes[i], slot));
            uint64_t bytes = part_of->data_bytes / n_outer;
            memcpy((char *)data + at, (const char *)part_of->data + outer * bytes, bytes);
            at += bytes;
        }
    return hn_new_const(r, hn_s(hn_value_at(r->g, first)->name), made);
}

static hone_status merge_parallel(hn_rule *r) {
    narrow_group g = {0};
    hn_id x = hn_in(r, r->root, 0);
    const hn_tensor *w = hn_const(r, hn_in(r, r->root, 1));
    hn_dtype elem = hn_elem_of(r, x);
    int32_t rank = hn_rank_of(r, hn_out(r, r->root, 0));
    if (!w || hn_n_readers(r, x) < 2 || rank < 2 || (elem != HN_F32 && elem != HN_F64) ||
        hn_rule_opset(r) < 7)
        return HONE_OK;
    g.axis = channel_axis(r, r->root, w);
    g.out_axis = hn_is_op(r, r->root, "Conv") ? 1 : rank - 1;
    g.has_bias = hn_in(r, r->root, 2) != HN_NONE;
    if (g.axis < 0 || !merges_with_root(r, r->root, &g) || !collect_alike(r, &g))
        return HONE_OK;
    hn_id in[3] = {x, joined_weights(r, &g, 1, g.axis),
                   g.has_bias ? joined_weights(r, &g, 2, 0) : HN_NONE};
    HN_TRY_PTR(in[1] != HN_NONE && (!g.has_bias || in[2] != HN_NONE));
    hn_id wide = hn_out(r, hn_make_like(r, r->root, 3, in, HN_NO_ATTRS), 0);
    hn_id split = hn_make_split(r, wide, g.out_axis, g.n, g.sizes);
    for (uint32_t i = 0; i < g.n; i++)
        hn_rule_replace_value(r, hn_out(r, g.nodes[i], 0), hn_out(r, split, i));
    hn_detail(r, "%u nodes", g.n);
    return HONE_OK;
}

hone_status hn_pass_merge_parallel(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"narrow", "Conv|MatMul|Gemm", merge_parallel, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
