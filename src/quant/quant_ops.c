/* Operators that can be quantized. */
#include "quant/quant_int.h"

#include <math.h>

#define LAYER(name, slots, weight, bias, is_default, keeps_float) \
  { name, HN_ROLE_LAYER, slots, weight, bias, is_default, keeps_float }
#define ELEMENTWISE(name, slots, is_default) \
  { name, HN_ROLE_ELEMENTWISE, slots, -1, -1, is_default, false }
#define MOVER(name) \
  { name, HN_ROLE_MOVER, 1, -1, -1, true, false }
#define ALL_SLOTS (1u << 31 | 1u)

static const hn_quant_op quant_op_rows[] = {
    LAYER("Conv", 1, 1, 2, true, false),
    /* runtimes have no integer kernel for it: smaller files, but not faster */
    LAYER("ConvTranspose", 1, 1, 2, false, false),
    LAYER("MatMul", 3, 1, -1, true, true),
    LAYER("Gemm", 1, 1, 2, true, true),
    ELEMENTWISE("Add", 3, true),
    ELEMENTWISE("Mul", 3, true),
    ELEMENTWISE("Concat", ALL_SLOTS, true),
    ELEMENTWISE("AveragePool", 1, true),
    ELEMENTWISE("GlobalAveragePool", 1, true),
    ELEMENTWISE("Sigmoid", 1, true),
    ELEMENTWISE("LeakyRelu", 1, true),
    /* its input decides by differences that 8 bits do not show */
    ELEMENTWISE("Softmax", 1, false),
    ELEMENTWISE("Where", 6, false),
    MOVER("MaxPool"),
    MOVER("Reshape"),
    MOVER("Transpose"),
    MOVER("Squeeze"),
    MOVER("Unsqueeze"),
    MOVER("Flatten"),
    MOVER("Slice"),
    MOVER("Split"),
    MOVER("Gather"),
    MOVER("Resize"),
};
static const hn_quant_op quant_lookup = {"Gather", HN_ROLE_LOOKUP, 0, 0, -1, true, false};
/* Any other operator that the caller names. */
static const hn_quant_op quant_other_op = {"",   HN_ROLE_ELEMENTWISE, ALL_SLOTS, -1, -1, false,
                                           false};

const hn_tensor *hn_quant_const_input(const hn_graph *g, hn_id node, uint32_t slot) {
    hn_id v = hn_quant_input(g, node, slot);
    if (v == HN_NONE || hn_value_at(g, v)->producer != HN_NONE || hn_value_at(g, v)->is_input)
        return NULL;
    const hn_tensor *t = hn_value_at(g, v)->init;
    return t && t->data ? t : NULL;
}

static bool is_nearest(const hn_node *n) {
    const hn_attr *mode = hn_node_attr(n, "mode");
    return !mode || (mode->kind == HN_ATTR_STRING && mode->v.s.n == 7 &&
                     memcmp(mode->v.s.at, "nearest", 7) == 0);
}

const hn_quant_op *hn_quant_op_of(const hn_graph *g, hn_id node) {
    const hn_node *n = hn_node_at(g, node);
    if (!hn_domain_is_onnx(n->domain))
        return NULL;
    if (hn_str_is(n->op, "Gather") && hn_quant_const_input(g, node, 0))
        return &quant_lookup;
    if (hn_str_is(n->op, "Resize") && !is_nearest(n))
        return &quant_other_op;
    for (size_t i = 0; i < HN_COUNT(quant_op_rows); i++)
        if (hn_str_is(n->op, quant_op_rows[i].name))
            return &quant_op_rows[i];
    return &quant_other_op;
}

bool hn_quant_is_data(const hn_quant_op *op, uint32_t slot) {
    if (op->data_slots == ALL_SLOTS)
        return true;
    return slot < 31 && (op->data_slots >> slot & 1);
}

static int64_t int_attr(const hn_node *n, const char *name, int64_t otherwise) {
    const hn_attr *a = hn_node_attr(n, name);
    return a && a->kind == HN_ATTR_INT ? a->v.i : otherwise;
}

int32_t hn_quant_channel_axis(const hn_graph *g, hn_id node, const hn_tensor *w) {
    const hn_node *n = hn_node_at(g, node);
    if (hn_str_is(n->op, "Conv"))
        return 0;
    if (hn_str_is(n->op, "ConvTranspose"))
        return int_attr(n, "group", 1) == 1 ? 1 : -1;
    if (hn_str_is(n->op, "Gemm"))
        return int_attr(n, "transB", 0) ? 0 : 1;
    return w->rank == 2 ? 1 : -1; /* MatMul, and columns of a table */
}

int32_t hn_quant_axis_of(const hone_quantize_options *o, const hn_graph *g, hn_id node,
                         const hn_tensor *w) {
    for (uint32_t i = 0; i < o->n_channel_axes; i++) {
        int32_t axis = o->channel_axes[i].axis;
        axis += axis < 0 ? w->rank : 0;
        if (hn_str_is(hn_node_at(g, node)->op, o->channel_axes[i].op_type))
            return axis >= 0 && axis < w->rank ? axis : -1;
    }
    return hn_quant_channel_axis(g, node, w);
}

static bool scalar_const(const hn_graph *g, hn_id node, uint32_t slot, double *out) {
    const hn_tensor *t = hn_quant_const_input(g, node, slot);
    return t && t->n_elems == 1 && hn_tensor_get_f64(t, 0, out);
}

/* Bounds are inputs since version 11. */
bool hn_quant_clamp(const hn_graph *g, hn_id node, double *low, double *high) {
    const hn_node *n = hn_node_at(g, node);
    *low = 0;
    *high = INFINITY;
    if (!hn_domain_is_onnx(n->domain))
        return false;
    if (hn_str_is(n->op, "Relu"))
        return true;
    if (!hn_str_is(n->op, "Clip") || n->n_attrs > 0)
        return false;
    *low = -INFINITY;
    return (hn_quant_input(g, node, 1) == HN_NONE || scalar_const(g, node, 1, low)) &&
           (hn_quant_input(g, node, 2) == HN_NONE || scalar_const(g, node, 2, high));
}
