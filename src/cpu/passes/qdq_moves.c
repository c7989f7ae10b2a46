/* Data movement between quantized operators: it moves bytes, not the floats that they stand for. */
#include "cpu/passes/qdq.h"

#include "ops/eval_engine.h"
#include "pass/rules/moves.h"

/* ---- constants ------------------------------------------------------------------------------- */

/* Floats that a QuantizeLinear makes bytes of in every run, as tools for training with quantization
 * write weights. */
hone_status hn_qdq_constant(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_object objects[3], *args[3] = {NULL}, *ret = NULL;
    hn_eval_host host = {.heap = hn_heap_new(hn_arena_allocator(r->pass->model->arena)),
                         .scratch = r->pass->rule_scratch};
    hone_error unused = {0};
    HN_TRY_PTR(host.heap);
    hone_status status = n->n_inputs <= HN_COUNT(args) ? HONE_OK : HONE_E_UNSUPPORTED;
    for (uint32_t i = 0; i < n->n_inputs && status == HONE_OK; i++) {
        const hn_tensor *t = n->inputs[i] == HN_NONE ? NULL : hn_const(r, n->inputs[i]);
        if (n->inputs[i] == HN_NONE)
            continue;
        args[i] = &objects[i];
        status = t && !hn_tensor_is_deferred(t)
                     ? hn_object_init_tensor(&objects[i], host.scratch, t, NULL)
                     : HONE_E_UNSUPPORTED;
    }
    if (status == HONE_OK)
        status = hn_eval_once(&host, r->g, r->root, args, (const bool[]){true}, &ret, &unused);
    if (status == HONE_OK) {
        const hn_array *y = &ret->array;
        const hn_tensor *t =
            hn_tensor_new(r->pass->model->arena, y->dtype, y->rank, y->dims, y->data, false);
        if (t)
            hn_rule_replace(r, hn_new_const(r, "quantized", t));
        hn_heap_unref(host.heap, ret);
    }
    hn_heap_free(host.heap);
    return status == HONE_E_NOMEM ? status : HONE_OK;
}

/* ---- pairs that cancel ----------------------------------------------------------------------- */

hone_status hn_qdq_cancel(hn_rule *r) {
    hn_dequantized d;
    hn_quantized q;
    if (hn_quantized_read(r, r->root, &q) && hn_dequantized_read(r, hn_in(r, r->root, 0), &d) &&
        hn_same_bytes(r, &d, &q))
        hn_rule_replace(r, d.x);
    return HONE_OK;
}

/* Integers times a finite scale are never NaN, for which exports of attention look behind Softmax:
 * Where(IsNaN(d), 0, d). */
hone_status hn_qdq_never_nan(hn_rule *r) {
    hn_dequantized d;
    if (hn_dequantized_read(r, hn_cap(r, "d"), &d) &&
        hn_same_shape(r, hn_cap(r, "d"), hn_out(r, r->root, 0)))
        hn_rule_replace(r, hn_cap(r, "d"));
    return HONE_OK;
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Padding with 0 is padding with the zero point. */
static bool pads_zeros(const hn_rule *r, hn_id node) {
    hn_id with = hn_in(r, node, 2);
    return hn_node_version(r, node) >= 11 && hn_node_s_is(r, node, "mode", "constant") &&
           (with == HN_NONE || hn_const_is(r, with, 0));
}

static bool moves_any_type(const hn_rule *r, hn_id node) {
    if (hn_is_op(r, node, "MaxPool")) /* the largest byte is that of the largest number */
        return hn_node_version(r, node) >= 12 && hn_at(r, node)->n_outputs == 1;
    if (hn_is_op(r, node, "Resize"))
        return hn_node_version(r, node) >= 11 && hn_node_s_is(r, node, "mode", "nearest") &&
               !hn_node_s_is(r, node, "coordinate_transformation_mode", "tf_crop_and_resize");
    return !hn_is_op(r, node, "Pad") || pads_zeros(r, node);
}

/* The axis of the scales behind the node; -1: it does not stay one. */
static int32_t axis_behind_move(const hn_rule *r, hn_id node, int32_t axis) {
    hn_perm perm;
    if (hn_is_op(r, node, "Transpose") && hn_perm_read(r, node, &perm) && axis < perm.rank)
        return hn_perm_inverse(&perm).at[axis];
    return -1;
}

/* The node on other data. */
static hn_id make_moved(hn_rule *r, hn_id node, hn_id x, hn_id padding) {
    const hn_node *n = hn_at(r, node);
    hn_id *in = HN_NEW_N(r->pass->rule_scratch, hn_id, (size_t)n->n_inputs + 2);
    if (!in) {
        hn_patch_fail(r->patch, HONE_E_NOMEM);
        return HN_NONE;
    }
    for (uint32_t i = 0; i < n->n_inputs; i++)
        in[i] = n->inputs[i];
    in[0] = x;
    if (hn_is_op(r, node, "Pad"))
        in[2] = padding;
    uint32_t n_in = hn_is_op(r, node, "Pad") ? HN_MAX(n->n_inputs, 3) : n->n_inputs;
    return hn_out(r, hn_make_like(r, node, n_in, in, HN_NO_ATTRS), 0);
}

/* A DequantizeLinear like another one, of other bytes. */
static hn_id dequantize_again(hn_rule *r, const hn_dequantized *d, hn_id x, int32_t axis) {
    const hn_node *n = hn_at(r, d->node);
    hn_id in[3] = {x, d->scale, d->zero};
    hn_attr attr[1] = {hn_new_i(r, "axis", axis)};
    return hn_out(r, hn_make_like(r, d->node, HN_MIN(n->n_inputs, 3), in, axis >= 0, attr), 0);
}

/* Zero points of per-tensor bytes as a scalar, which Pad wants. */
static hn_id scalar_zero(hn_rule *r, const hn_dequantized *d) {
    void *data;
    hn_tensor *t = hn_new_tensor(r, d->elem, 0, NULL, &data);
    if (t)
        *(uint8_t *)data = (uint8_t)(int)hn_param_at(r, d->zero, 0);
    return hn_new_const(r, "padding", t);
}

/* move(DQ(x)) = DQ(move(x)): behind it the bytes may go on as bytes. */
hone_status hn_qdq_move(hn_rule *r) {
    hn_dequantized d;
    if (!moves_any_type(r, r->root) || !hn_dequantized_read(r, hn_in(r, r->root, 0), &d))
        return HONE_OK;
    int32_t axis = d.axis < 0 ? -1 : axis_behind_move(r, r->root, d.axis);
    if (d.axis >= 0 && axis < 0)
        return hn_miss(r, "the bytes that it moves have a scale per channel");
    hn_id moved =
        make_moved(r, r->root, d.x, hn_is_op(r, r->root, "Pad") ? scalar_zero(r, &d) : HN_NONE);
    hn_rule_replace(r, dequantize_again(r, &d, moved, axis));
    return HONE_OK;
}

hone_status hn_qdq_split(hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    hn_dequantized d;
    if (!hn_dequantized_read(r, hn_in(r, r->root, 0), &d) || d.axis >= 0)
        return HONE_OK;
    hn_id *in = hn_arena_copy(r->pass->rule_scratch, n->inputs, n->n_inputs * sizeof *in);
    HN_TRY_PTR(in);
    in[0] = d.x;
    hn_id parts = hn_make_like(r, r->root, n->n_inputs, in, HN_NO_ATTRS);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (hn_out(r, r->root, i) != HN_NONE)
            hn_rule_replace_output(r, i, dequantize_again(r, &d, hn_out(r, parts, i), -1));
    return HONE_OK;
}

/* Q(move(x)) = move(Q(x)), where that brings the QuantizeLinear to what computes x. */
hone_status hn_qdq_quantize_first(hn_rule *r) {
    hn_id node = hn_cap_node(r, "moved"), x = hn_in(r, node, 0);
    hn_quantized q;
    if (!hn_quantized_read(r, r->root, &q) || !moves_any_type(r, node) ||
        hn_is_op(r, node, "Pad") || hn_n_readers(r, x) != 1 ||
        hn_value_at(r->g, x)->producer == HN_NONE)
        return HONE_OK;
    hn_id in[3] = {x, q.scale, q.zero};
    uint32_t n_in = HN_MIN(hn_at(r, r->root)->n_inputs, 3);
    hn_id bytes = hn_out(r, hn_make_like(r, r->root, n_in, in, HN_NO_ATTRS), 0);
    hn_rule_replace(r, make_moved(r, node, bytes, HN_NONE));
    return HONE_OK;
}
