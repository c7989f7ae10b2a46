/* Nodes, initializers and quantized weights that the writers put into a graph: see writer.h. */
#include "ops/ops.h"
#include "quant/error.h"
#include "quant/scale_search.h"
#include "quant/input_moments.h"
#include "quant/writer.h"

#include <math.h>

/* ---- asking ---------------------------------------------------------------------------------- */

hone_status hn_write_skip(hn_node_writer *n, const char *reason) {
    n->w->note.is_quantized = false;
    n->w->note.reason = reason;
    return HONE_OK;
}

hn_id hn_write_input(const hn_node_writer *n, uint32_t i) {
    const hn_node *node = hn_node_at(n->w->g, n->node);
    return i < node->n_inputs ? node->inputs[i] : HN_NONE;
}

/* An initializer that callers cannot replace, or the output of a Constant. */
static const hn_tensor *constant_of(const hn_writer *w, hn_id value) {
    if (value == HN_NONE)
        return NULL;
    const hn_value *v = hn_value_at(w->g, value);
    const hn_tensor *t = v->init && !v->is_input ? v->init : NULL;
    if (v->producer != HN_NONE) {
        const hn_node *maker = hn_node_at(w->g, v->producer);
        const hn_attr *attr = hn_node_attr(maker, "value");
        if (hn_domain_is_onnx(maker->domain) && hn_str_is(maker->op, "Constant") && attr &&
            attr->kind == HN_ATTR_TENSOR && !attr->ref)
            t = attr->v.tensor;
    }
    return t && (t->data || t->n_elems == 0) ? t : NULL;
}

const hn_tensor *hn_write_const(const hn_node_writer *n, uint32_t i) {
    return constant_of(n->w, hn_write_input(n, i));
}

const hn_tensor *hn_write_matrix(const hn_node_writer *n, uint32_t i, hn_id *value,
                                 bool *is_transposed) {
    *value = hn_write_input(n, i);
    *is_transposed = false;
    if (*value == HN_NONE || hn_value_at(n->w->g, *value)->producer == HN_NONE)
        return constant_of(n->w, *value);
    const hn_node *maker = hn_node_at(n->w->g, hn_value_at(n->w->g, *value)->producer);
    if (!hn_domain_is_onnx(maker->domain) || !hn_str_is(maker->op, "Transpose"))
        return constant_of(n->w, *value);
    const hn_tensor *t = constant_of(n->w, maker->inputs[0]);
    const hn_attr *perm = hn_node_attr(maker, "perm");
    if (!t || t->rank != 2 || (perm && (perm->n != 2 || perm->v.ints[0] != 1)))
        return NULL;
    *value = maker->inputs[0];
    *is_transposed = true;
    return t;
}

hn_dtype hn_write_elem(const hn_node_writer *n, hn_id value) {
    const hn_type *t = value == HN_NONE ? NULL : hn_value_at(n->w->g, value)->type;
    return t && t->kind == HN_TYPE_TENSOR ? t->elem : HN_UNDEFINED;
}

int64_t hn_write_int(const hn_node_writer *n, const char *attr, int64_t absent) {
    const hn_attr *a = hn_node_attr(hn_node_at(n->w->g, n->node), attr);
    return a && a->kind == HN_ATTR_INT ? a->v.i : absent;
}

float hn_write_float(const hn_node_writer *n, const char *attr, float absent) {
    const hn_attr *a = hn_node_attr(hn_node_at(n->w->g, n->node), attr);
    return a && a->kind == HN_ATTR_FLOAT ? a->v.f : absent;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static hone_status import_ops_of(hn_model *m, hn_str domain) {
    hn_opset import = {.domain = domain, .version = 1};
    if (!domain || hn_opset_version(&m->opsets, domain) >= 0)
        return HONE_OK;
    return HN_VEC_PUSH(m->arena, &m->opsets, import) ? HONE_OK : HONE_E_NOMEM;
}

/* "fc1_MatMulInteger": runtimes want names of nodes to be unique. */
static hn_str name_of_new_node(hn_writer *w, hn_id node, const char *op) {
    hn_str own = hn_node_at(w->g, node)->name;
    const char *stem = hn_arena_printf(w->scratch, "%s_%s", hn_s(own), op);
    return stem ? hn_graph_fresh_name(w->g, hn_str_empty(own) ? op : stem) : NULL;
}

hn_id hn_write_op(hn_node_writer *n, const char *domain, const char *op, uint32_t n_inputs,
                  const hn_id *inputs, uint32_t n_outputs, uint32_t n_attrs, const hn_attr *attrs) {
    hn_strtab *names = n->w->m->names;
    hn_str domain_name = *domain ? hn_intern_z(names, domain) : NULL;
    hn_str op_name = hn_intern_z(names, op), name = name_of_new_node(n->w, n->node, op);
    if (!op_name || !name || (*domain && !domain_name) ||
        import_ops_of(n->w->m, domain_name) != HONE_OK) {
        hn_patch_fail(n->patch, HONE_E_NOMEM);
        return HN_NONE;
    }
    hn_id node = hn_patch_node(n->patch, n->before, domain_name, op_name, name, n_inputs, inputs,
                               n_outputs, n_attrs, attrs);
    return node == HN_NONE ? HN_NONE : hn_patch_output(n->patch, node, 0);
}

void hn_write_beside(hn_node_writer *n, hn_id value) {
    const hn_graph *g = n->w->g;
    n->before = n->node;
    if (value == HN_NONE)
        return;
    hn_id block = hn_value_at(g, value)->block;
    while (hn_node_at(g, n->before)->block != block) {
        hn_id owner = hn_block_at(g, hn_node_at(g, n->before)->block)->owner;
        if (owner == HN_NONE)
            break;
        n->before = owner;
    }
}

hn_attr hn_write_int_attr(hn_node_writer *n, const char *name, int64_t value) {
    hn_attr a = {.name = hn_intern_z(n->w->m->names, name), .kind = HN_ATTR_INT, .n = 1};
    a.v.i = value;
    if (!a.name)
        hn_patch_fail(n->patch, HONE_E_NOMEM);
    return a;
}

hn_id hn_write_init(hn_node_writer *n, hn_id of, const char *suffix, const hn_tensor *t) {
    const hn_value *v = hn_value_at(n->w->g, of);
    const char *stem = hn_arena_printf(n->w->scratch, "%s%s", hn_s(v->name), suffix);
    if (!stem || !t) {
        hn_patch_fail(n->patch, HONE_E_NOMEM);
        return HN_NONE;
    }
    return hn_patch_const(n->patch, v->block, stem, t);
}

void hn_write_result(hn_node_writer *n, uint32_t i, hn_id with) {
    const hn_node *node = hn_node_at(n->w->g, n->node);
    if (i >= node->n_outputs || node->outputs[i] == HN_NONE || with == HN_NONE)
        return;
    hn_patch_replace(n->patch, node->outputs[i], with);
    n->results[n->n_results][0] = node->outputs[i];
    n->results[n->n_results++][1] = with;
}

/* ---- weights --------------------------------------------------------------------------------- */

static bool same_form(const hn_weight_form *a, const hn_weight_form *b) {
    return a->type.dtype == b->type.dtype && a->type.is_symmetric == b->type.is_symmetric &&
           a->type.is_reduced == b->type.is_reduced && a->axis == b->axis && a->block == b->block &&
           a->is_transposed == b->is_transposed && a->scale_rank == b->scale_rank &&
           a->scale_axis == b->scale_axis && a->has_one_zero == b->has_one_zero &&
           a->factor == b->factor && a->joins_axes == b->joins_axes && a->is_nbits == b->is_nbits;
}

static const hn_tensor *reshaped(hn_arena *a, const hn_tensor *t, int32_t rank,
                                 const int64_t *dims) {
    return hn_tensor_new(a, t->dtype, rank, dims, t->data, true);
}

/* The last two axes of 8-bit numbers exchanged. */
static const hn_tensor *transposed_bytes(hn_arena *a, const hn_tensor *t) {
    int64_t *dims = hn_arena_copy(a, t->dims, (size_t)t->rank * sizeof *dims);
    void *data;
    if (!dims)
        return NULL;
    int64_t n_rows = dims[t->rank - 2], n_columns = dims[t->rank - 1];
    dims[t->rank - 2] = n_columns;
    dims[t->rank - 1] = n_rows;
    hn_tensor *out = hn_tensor_blank(a, t->dtype, t->rank, dims, &data);
    uint8_t *to = data;
    const uint8_t *from = t->data;
    int64_t matrix = n_rows * n_columns;
    for (uint64_t at = 0; out && at < t->n_elems; at += (uint64_t)matrix)
        for (int64_t i = 0; i < n_rows; i++)
            for (int64_t k = 0; k < n_columns; k++)
                to[at + (uint64_t)(k * n_rows + i)] = from[at + (uint64_t)(i * n_columns + k)];
    return out;
}

static const hn_tensor *multiplied_scales(hn_arena *a, const hn_tensor *scale, float factor) {
    void *data;
    hn_tensor *out = hn_tensor_blank(a, HN_F32, scale->rank, scale->dims, &data);
    for (uint64_t i = 0; out && i < scale->n_elems; i++) {
        float s;
        hn_quant_load(scale, i, 1, &s);
        ((float *)data)[i] = s * factor;
    }
    return out;
}

/* From the tensors of hn_quant_tensor to those that the node wants. */
static hone_status shape_weight(hn_arena *a, const hn_weight_form *form, hn_quant_result *r) {
    int64_t dims[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (form->is_nbits)
        return hn_nbits_pack(a, form->axis, form->block, r);
    if (form->is_transposed)
        HN_TRY_PTR((r->q = transposed_bytes(a, r->q)));
    if (form->factor != 0 && form->factor != 1)
        HN_TRY_PTR((r->scale = multiplied_scales(a, r->scale, form->factor)));
    if (form->scale_rank > 1 && r->scale->rank == 1) {
        dims[form->scale_axis] = r->scale->dims[0];
        HN_TRY_PTR((r->scale = reshaped(a, r->scale, form->scale_rank, dims)));
    }
    if (form->has_one_zero && r->zero->n_elems > 0)
        HN_TRY_PTR((r->zero = reshaped(a, r->zero, 0, NULL)));
    return HONE_OK;
}

static hone_status note_weight(hn_writer *w, const hn_tensor *t, const hn_weight_form *form,
                               const hn_quant_result *plain) {
    hn_quant_error error;
    w->note.float_bytes += t->data_bytes;
    w->note.quantized_bytes +=
        plain->q->data_bytes + plain->scale->data_bytes + plain->zero->data_bytes;
    if (!w->o->tell)
        return HONE_OK;
    HN_TRY(hn_quant_error_of(t, plain, form->axis, form->block, &error));
    double sqnr = hn_quant_sqnr(&error);
    w->note.weight_sqnr = fmin(isnan(w->note.weight_sqnr) ? sqnr : w->note.weight_sqnr, sqnr);
    return HONE_OK;
}

/* [a, b, c] as [a * b, c]. */
static hone_status join_axes(hn_arena *a, hn_tensor *t) {
    int64_t *dims = HN_NEW_N(a, int64_t, 2);
    HN_TRY_PTR(dims);
    dims[0] = t->dims[0] * t->dims[1];
    dims[1] = t->dims[2];
    t->rank = 2;
    t->dims = dims;
    return HONE_OK;
}

/* The way back: scales are [a, b]. */
static hone_status split_joined_axes(hn_arena *a, const hn_tensor *t, hn_quant_result *r) {
    HN_TRY_PTR((r->q = reshaped(a, r->q, t->rank, t->dims)));
    HN_TRY_PTR((r->scale = reshaped(a, r->scale, 2, t->dims)));
    HN_TRY_PTR((r->zero = reshaped(a, r->zero, 2, t->dims)));
    return HONE_OK;
}

static hone_status round_with_feedback(hn_node_writer *n, const hn_tensor *t,
                                       const hn_weight_form *form, hn_quant_result *r) {
    hn_writer *w = n->w;
    const hn_moments *moments = n->node < w->n_moments ? w->moments[n->node] : NULL;
    if (!moments || moments->n_rows == 0)
        return HONE_OK;
    hn_feedback_job job = {.w = t,
                           .type = &form->type,
                           .axis = form->axis,
                           .block = form->block,
                           .inputs = hn_inputs_axis_of(w->g, n->node),
                           .moments = moments,
                           .pool = w->o->pool};
    return hn_quant_feedback(&job, w->m->arena, r, &w->note.feedback_gain);
}

static hone_status make_weight(hn_node_writer *n, hn_id value, const hn_tensor *t,
                               const hn_weight_form *form, hn_quant_result *out) {
    hn_writer *w = n->w;
    hn_tensor named = *t; /* initializers are identified by the names of their values */
    named.name = hn_value_at(w->g, value)->name;
    if (form->joins_axes)
        HN_TRY(join_axes(w->scratch, &named));
    bool searches = w->o->rounding == HN_ROUND_SEARCH && !w->is_dynamic;
    HN_TRY(searches ? hn_quant_search(&named, &form->type, form->axis, form->block, w->m->arena,
                                      out, w->err)
                    : hn_quant_tensor(&named, &form->type, form->axis, form->block, w->m->arena,
                                      out, w->err));
    HN_TRY(round_with_feedback(n, &named, form, out));
    HN_TRY(note_weight(w, &named, form, out));
    hn_model_let_go(w->m, t);
    if (form->joins_axes)
        HN_TRY(split_joined_axes(w->m->arena, t, out));
    return shape_weight(w->m->arena, form, out);
}

hone_status hn_write_weight(hn_node_writer *n, hn_id value, const hn_weight_form *form,
                            hn_quant_weight *out) {
    hn_writer *w = n->w;
    const hn_tensor *t = constant_of(w, value);
    uint32_t newest = hn_map_get(&w->weights, value);
    w->note.weight = hn_s(hn_value_at(w->g, value)->name);
    for (uint32_t k = newest; k != HN_MAP_NONE; k = w->weight_list.at[k].next)
        if (same_form(&w->weight_list.at[k].form, form)) {
            *out = w->weight_list.at[k].weight;
            return HONE_OK;
        }
    hn_known_weight known = {.form = *form, .next = newest};
    HN_TRY(make_weight(n, value, t, form, &known.weight.tensors));
    known.weight.q = hn_write_init(n, value, "_quantized", known.weight.tensors.q);
    known.weight.scale = hn_write_init(n, value, "_scale", known.weight.tensors.scale);
    known.weight.zero = hn_write_init(n, value, "_zero_point", known.weight.tensors.zero);
    *out = known.weight;
    return HN_VEC_PUSH(w->scratch, &w->weight_list, known) &&
                   hn_map_put(&w->weights, value, w->weight_list.n - 1)
               ? HONE_OK
               : HONE_E_NOMEM;
}

/* ---- activations ----------------------------------------------------------------------------- */

hone_status hn_write_activation(hn_node_writer *n, hn_id value, hn_quant_weight *out) {
    hn_writer *w = n->w;
    uint64_t key = hn_key(hn_node_at(w->g, n->node)->block, value);
    uint32_t known = hn_map_get(&w->activations, key);
    if (known != HN_MAP_NONE) {
        *out = w->activation_list.at[known];
        return HONE_OK;
    }
    hn_id q = hn_write_op(n, "", "DynamicQuantizeLinear", 1, &value, 3, 0, NULL);
    if (q == HN_NONE)
        return HONE_E_NOMEM;
    *out = (hn_quant_weight){.q = q, .scale = q + 1, .zero = q + 2};
    return HN_VEC_PUSH(w->scratch, &w->activation_list, *out) &&
                   hn_map_put(&w->activations, key, w->activation_list.n - 1)
               ? HONE_OK
               : HONE_E_NOMEM;
}

/* Zero points that are 0 everywhere are left out. */
static bool has_zeros_only(const hn_tensor *zero) {
    for (uint64_t i = 0; i < zero->n_elems; i++) {
        int64_t z;
        if (hn_tensor_get_i64(zero, i, &z) && z != 0)
            return false;
    }
    return true;
}

hn_id hn_write_dequantize(hn_node_writer *n, const hn_quant_weight *w, hn_id q, int32_t axis,
                          int64_t block) {
    hn_attr attrs[2] = {hn_write_int_attr(n, "axis", axis),
                        hn_write_int_attr(n, "block_size", block)};
    uint32_t n_attrs = w->tensors.scale->rank == 0 ? 0 : block > 0 ? 2 : 1;
    uint32_t n_inputs = has_zeros_only(w->tensors.zero) ? 2 : 3;
    return hn_write_op(n, "", "DequantizeLinear", n_inputs, (hn_id[]){q, w->scale, w->zero}, 1,
                       n_attrs, attrs);
}
