/* Products with a transposed constant: the constant is transposed before it is quantized. Constant
 * folding leaves large ones alone where others read them as they are, as heads that share the table
 * of the embeddings; as integers two of them take less than the floats of one. */
#include "quant/quant_int.h"

static const hn_tensor *transposed_floats(hn_arena *a, const hn_tensor *t) {
    int64_t dims[2] = {t->dims[1], t->dims[0]};
    void *data;
    hn_tensor *out = hn_tensor_blank(a, HN_F32, 2, dims, &data);
    for (int64_t i = 0; out && i < dims[1]; i++)
        for (int64_t k = 0; k < dims[0]; k++) /* data in files may be unaligned */
            memcpy((float *)data + k * dims[1] + i,
                   (const char *)t->data + (size_t)(i * dims[0] + k) * sizeof(float),
                   sizeof(float));
    return out;
}

/* The matrix that the right side of a product is the transposed form of; NULL: none. */
static const hn_tensor *matrix_behind_transpose(const hn_graph *g, hn_id node, hn_id *value) {
    const hn_node *n = hn_node_at(g, node);
    *value = hn_quant_input(g, node, 1);
    hn_id producer = *value == HN_NONE ? HN_NONE : hn_value_at(g, *value)->producer;
    bool is_product = hn_domain_is_onnx(n->domain) && hn_str_is(n->op, "MatMul");
    if (!is_product || producer == HN_NONE || !hn_str_is(hn_node_at(g, producer)->op, "Transpose"))
        return NULL;
    const hn_attr *perm = hn_node_attr(hn_node_at(g, producer), "perm");
    const hn_tensor *w = hn_quant_const_input(g, producer, 0);
    bool is_matrix = w && w->rank == 2 && w->dtype == HN_F32;
    return is_matrix && (!perm || perm->v.ints[0] == 1) ? w : NULL;
}

hone_status hn_quant_fold_transposes(hn_model *m, hone_error *err) {
    hn_graph *g = m->graph;
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(m->arena));
    hn_patch *patch = scratch ? hn_patch_new(scratch, g) : NULL;
    hone_status status = patch ? HONE_OK : HONE_E_NOMEM;
    bool is_any = false;
    for (hn_id id = 0; id < g->nodes.n && status == HONE_OK; id++) {
        hn_id value;
        const hn_tensor *w =
            hn_node_at(g, id)->block == 0 ? matrix_behind_transpose(g, id, &value) : NULL;
        if (!w)
            continue;
        const hn_tensor *t = transposed_floats(m->arena, w);
        status = t ? HONE_OK : HONE_E_NOMEM;
        if (t)
            hn_patch_set_input(patch, id, 1,
                               hn_patch_const(patch, 0, hn_s(hn_value_at(g, value)->name), t));
        is_any = true;
    }
    if (status == HONE_OK && is_any)
        status = hn_patch_apply(patch, g, err);
    if (status == HONE_OK && is_any && hn_graph_remove_dead(g, true) == HN_NONE)
        status = HONE_E_NOMEM;
    hn_arena_free(scratch);
    return status;
}
