/* Inference of registered operators. Results of their functions are checked before they are
 * used. */
#include "ops/custom.h"

/* ---- inputs ---------------------------------------------------------------------------------- */

int32_t hn_custom_input_elem_type(const hone_op_node *node, uint32_t i) {
    return (int32_t)hn_in_elem(node->infer, i);
}

int32_t hn_custom_input_rank(const hone_op_node *node, uint32_t i) {
    return hn_in_rank(node->infer, i);
}

hone_dim hn_custom_input_dim(const hone_op_node *node, uint32_t i, int32_t axis) {
    return hn_in_dim(node->infer, i, axis);
}

bool hn_custom_input_dims(const hone_op_node *node, uint32_t i, uint32_t *n,
                          const hone_dim **dims) {
    const hn_sint *elems;
    if (!hn_in_ints(node->infer, i, n, &elems, NULL))
        return false;
    hone_dim *list = HN_NEW_N(hn_infer_arena(node->infer), hone_dim, (size_t)*n + 1);
    for (uint32_t k = 0; list && k < *n; k++)
        list[k] = hn_sint_to_dim(elems[k]);
    *dims = list;
    return list != NULL;
}

/* At run time many threads share the table of symbols, so nothing is added to it. All sizes are
 * numbers then. */
hone_dim hn_custom_dim_apply(hone_op_node *node, hone_dim_op op, hone_dim a, hone_dim b) {
    hn_syms *s = hn_infer_syms(node->infer);
    bool is_fixed = node->infer->scope->job->ignore_declared;
    if (!hn_dim_is_valid(s, a) || !hn_dim_is_valid(s, b) ||
        (is_fixed && (!hn_dim_is_known(a) || !hn_dim_is_known(b))))
        return HONE_DIM_UNKNOWN;
    switch (op) {
    case HONE_DIM_ADD:
        return hn_dim_add(s, a, b);
    case HONE_DIM_SUBTRACT:
        return hn_dim_sub(s, a, b);
    case HONE_DIM_MULTIPLY:
        return hn_dim_mul(s, a, b);
    case HONE_DIM_DIVIDE:
        return hn_dim_floor_div(s, a, b);
    case HONE_DIM_DIVIDE_UP:
        return hn_dim_ceil_div(s, a, b);
    case HONE_DIM_MAX:
        return hn_dim_max(s, a, b);
    case HONE_DIM_MIN:
        return hn_dim_min(s, a, b);
    }
    return HONE_DIM_UNKNOWN;
}

/* ---- outputs --------------------------------------------------------------------------------- */

hone_status hn_custom_output_type(hone_op_node *node, uint32_t i, int32_t elem_type, int32_t rank,
                                  const hone_dim *dims) {
    hn_infer *c = node->infer;
    if (node->eval)
        return hn_custom_refuse(
            node, "the operator sets an output type in compute; do that in its infer function");
    if (i >= hn_n_outputs(c))
        return hn_custom_refuse(node,
                                "the operator's infer sets output %u, but the node has %u outputs",
                                i, hn_n_outputs(c));
    if (elem_type != HN_UNDEFINED && !hn_custom_elem_fits(node, i, elem_type))
        return hn_custom_refuse(node,
                                "the operator's infer gives output %u the element type %s, which "
                                "its own notation does not allow",
                                i, hone_elem_type_name(elem_type));
    if (rank < -1 || rank > HN_MAX_RANK)
        return hn_custom_refuse(node, "the operator's infer gives output %u rank %d", i, rank);
    for (int32_t k = 0; k < rank; k++)
        if (!hn_dim_is_valid(hn_infer_syms(c), dims[k]))
            return hn_custom_refuse(node,
                                    "the operator's infer gives dimension %d of output %u the "
                                    "size %lld",
                                    k, i, (long long)dims[k]);
    hone_status status = hn_out_tensor(c, i, (hn_dtype)elem_type, rank, dims);
    node->refused = node->refused ? node->refused : status;
    return status;
}

/* The output already has the element type that the schema implies. */
static int32_t implied_elem(const hn_infer *c, uint32_t i) {
    const hn_type *t = hn_has_output(c, i) ? c->out[i] : NULL;
    return t && t->kind == HN_TYPE_TENSOR ? (int32_t)t->elem : HN_UNDEFINED;
}

hone_status hn_custom_output_shape(hone_op_node *node, uint32_t i, int32_t rank,
                                   const hone_dim *dims) {
    int32_t elem = node->eval ? HN_UNDEFINED : implied_elem(node->infer, i);
    return hn_custom_output_type(node, i, elem, rank, dims);
}

hone_status hn_custom_output_like(hone_op_node *node, uint32_t i, uint32_t input) {
    const hn_shape *shape = hn_in_shape(node->infer, input);
    return hn_custom_output_shape(node, i, shape ? shape->rank : -1, shape ? shape->dims : NULL);
}

hone_status hn_infer_custom(hn_infer *c) {
    hone_op_node node = {.infer = c, .err = &c->fail};
    const hone_op_def *def = &hn_custom_of(&node)->def;
    return def->infer ? hn_custom_end(&node, "infer", def->infer(&hn_op_api, &node)) : HONE_OK;
}
