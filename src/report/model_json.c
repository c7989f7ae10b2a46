/* A model as one JSON object: `hone info --json`. */
#include "report/report.h"

static void json_name(hn_json *j, const char *key, hn_str s) {
    hn_json_key(j, key);
    if (s)
        hn_json_strn(j, s->s, s->n);
    else
        hn_json_str(j, "");
}

static void json_field(hn_json *j, const char *key, uint64_t v) {
    hn_json_key(j, key);
    hn_json_u64(j, v);
}

/* Numbers for known sizes, strings for symbols and expressions, null for unknown; null for an
 * unknown rank. */
static void json_shape(const hn_syms *syms, const hn_shape *shape, const hone_allocator *alloc,
                       hn_json *j) {
    hn_json_key(j, "shape");
    if (shape->rank < 0) {
        hn_json_null(j);
        return;
    }
    hn_json_array(j);
    for (int32_t i = 0; i < shape->rank; i++) {
        hn_dim d = shape->dims[i];
        if (hn_dim_is_known(d)) {
            hn_json_i64(j, d);
        } else if (hn_dim_is_symbolic(d)) {
            hn_strbuf text;
            hn_strbuf_init(&text, alloc);
            hn_dim_text(syms, d, &text);
            hn_json_strn(j, text.at ? text.at : "", text.n);
            j->out->failed |= text.failed;
            hn_strbuf_free(&text);
        } else {
            hn_json_null(j);
        }
    }
    hn_json_array_end(j);
}

static void json_type(const hn_model *m, const hn_type *t, hn_json *j) {
    static const char *const kinds[] = {"unknown",  "tensor", "sparse_tensor", "sequence",
                                        "optional", "map",    "opaque"};
    hn_json_key(j, "type");
    hn_json_str(j, kinds[t ? t->kind : HN_TYPE_NONE]);
    if (!t)
        return;
    if (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE || t->kind == HN_TYPE_MAP) {
        hn_json_key(j, t->kind == HN_TYPE_MAP ? "key_type" : "elem_type");
        hn_json_str(j, hn_dtype_name(t->elem));
    }
    if (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE)
        json_shape(m->syms, &t->shape, hn_arena_allocator(m->arena), j);
    if (t->inner) {
        hn_json_key(j, "of");
        hn_json_object(j);
        json_type(m, t->inner, j);
        hn_json_object_end(j);
    }
}

static void json_values(const hn_graph *g, const char *key, uint32_t n, const hn_id *ids,
                        hn_json *j) {
    hn_json_key(j, key);
    hn_json_array(j);
    for (uint32_t i = 0; i < n; i++) {
        const hn_value *v = hn_value_at(g, ids[i]);
        hn_json_object(j);
        json_name(j, "name", v->name);
        json_type(g->model, v->type, j);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
}

/* ---- summary --------------------------------------------------------------------------------- */

static void json_header(const hn_model *m, hn_json *j) {
    hn_json_key(j, "ir_version");
    hn_json_i64(j, m->ir_version);
    json_name(j, "producer_name", m->producer_name);
    json_name(j, "producer_version", m->producer_version);
    json_name(j, "domain", m->domain);
    hn_json_key(j, "model_version");
    hn_json_i64(j, m->model_version);
    json_name(j, "doc", m->extra ? m->extra->doc : NULL);
    hn_json_key(j, "opsets");
    hn_json_object(j);
    for (uint32_t i = 0; i < m->opsets.n; i++) {
        hn_str domain = m->opsets.at[i].domain;
        hn_json_key(j, hn_domain_is_onnx(domain) ? "ai.onnx" : hn_s(domain));
        hn_json_i64(j, m->opsets.at[i].version);
    }
    hn_json_object_end(j);
    hn_json_key(j, "metadata");
    hn_json_object(j);
    for (uint32_t i = 0; m->extra && i < m->extra->props.n; i++)
        json_name(j, hn_s(m->extra->props.at[i].key), m->extra->props.at[i].value);
    hn_json_object_end(j);
    json_field(j, "file_bytes", m->file_bytes);
    json_field(j, "external_bytes", m->external_bytes);
}

static void json_stats(const hn_stats *s, hn_json *j) {
    const hone_stats_totals *t = &s->totals;
    json_field(j, "n_nodes", t->n_nodes);
    json_field(j, "n_parameters", t->n_parameters);
    json_field(j, "parameter_bytes", t->parameter_bytes);
    json_field(j, "macs", t->macs);
    json_field(j, "activation_bytes", t->activation_bytes);
    json_field(j, "nodes_of_unknown_shape", t->n_unknown_nodes);
    hn_json_key(j, "parameters_by_type");
    hn_json_array(j);
    for (uint32_t i = 0; i < s->types.n; i++) {
        const hone_stats_type *e = &s->types.at[i];
        hn_json_object(j);
        hn_json_key(j, "elem_type");
        hn_json_str(j, hn_dtype_name((hn_dtype)e->elem_type));
        json_field(j, "tensors", e->n_tensors);
        json_field(j, "elements", e->n_elements);
        json_field(j, "bytes", e->bytes);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
    hn_json_key(j, "operators");
    hn_json_array(j);
    for (uint32_t i = 0; i < s->ops.n; i++) {
        const hone_stats_op *e = &s->ops.at[i];
        hn_json_object(j);
        hn_json_key(j, "domain");
        hn_json_str(j, *e->domain ? e->domain : "ai.onnx");
        hn_json_key(j, "op");
        hn_json_str(j, e->op);
        json_field(j, "count", e->count);
        json_field(j, "macs", e->macs);
        json_field(j, "output_bytes", e->output_bytes);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void json_attribute(const hn_attr *a, hn_json *j) {
    if (a->ref) {
        hn_json_object(j);
        json_name(j, "ref", a->ref);
        hn_json_object_end(j);
        return;
    }
    bool is_list =
        a->kind == HN_ATTR_INTS || a->kind == HN_ATTR_FLOATS || a->kind == HN_ATTR_STRINGS;
    if (is_list)
        hn_json_array(j);
    switch (a->kind) {
    case HN_ATTR_INT:
        hn_json_i64(j, a->v.i);
        break;
    case HN_ATTR_FLOAT:
        hn_json_f32(j, a->v.f);
        break;
    case HN_ATTR_STRING:
        hn_json_strn(j, a->v.s.at ? a->v.s.at : "", (size_t)a->v.s.n);
        break;
    case HN_ATTR_INTS:
        for (uint32_t i = 0; i < a->n; i++)
            hn_json_i64(j, a->v.ints[i]);
        break;
    case HN_ATTR_FLOATS:
        for (uint32_t i = 0; i < a->n; i++)
            hn_json_f32(j, a->v.floats[i]);
        break;
    case HN_ATTR_STRINGS:
        for (uint32_t i = 0; i < a->n; i++)
            hn_json_strn(j, a->v.strings[i].at ? a->v.strings[i].at : "",
                         (size_t)a->v.strings[i].n);
        break;
    default: /* tensors, graphs, types: their kind is enough here */
        hn_json_object(j);
        json_field(j, "kind", (uint64_t)a->kind);
        hn_json_object_end(j);
    }
    if (is_list)
        hn_json_array_end(j);
}

static void json_arguments(const hn_graph *g, const char *key, uint32_t n, const hn_id *ids,
                           hn_json *j) {
    hn_json_key(j, key);
    hn_json_array(j);
    for (uint32_t i = 0; i < n; i++) {
        hn_str name = ids[i] == HN_NONE ? NULL : hn_value_at(g, ids[i])->name;
        hn_json_strn(j, hn_s(name), name ? name->n : 0);
    }
    hn_json_array_end(j);
}

static void json_node(const hn_graph *g, hn_id id, hn_json *j) {
    const hn_node *n = hn_node_at(g, id);
    uint64_t macs, bytes;
    hn_json_object(j);
    json_name(j, "name", n->name);
    json_name(j, "op", n->op);
    hn_json_key(j, "domain");
    hn_json_str(j, hn_domain_is_onnx(n->domain) ? "ai.onnx" : hn_s(n->domain));
    json_field(j, "subgraph", n->block);
    json_arguments(g, "inputs", n->n_inputs, n->inputs, j);
    json_arguments(g, "outputs", n->n_outputs, n->outputs, j);
    hn_json_key(j, "attributes");
    hn_json_object(j);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        hn_json_key(j, hn_s(n->attrs[i].name));
        json_attribute(&n->attrs[i], j);
    }
    hn_json_object_end(j);
    hn_json_key(j, "macs");
    if (hn_node_macs(g, id, &macs))
        hn_json_u64(j, macs);
    else
        hn_json_null(j);
    hn_json_key(j, "output_bytes");
    if (hn_node_output_bytes(g, id, &bytes))
        hn_json_u64(j, bytes);
    else
        hn_json_null(j);
    hn_json_object_end(j);
}

static void json_weight(const hn_value *v, hn_json *j) {
    const hn_tensor *t = v->init ? v->init : v->sparse_init->values;
    uint64_t bytes = 0;
    hn_dtype_bytes(t->dtype, t->n_elems, &bytes);
    hn_json_object(j);
    json_name(j, "name", v->name);
    hn_json_key(j, "elem_type");
    hn_json_str(j, hn_dtype_name(t->dtype));
    hn_json_key(j, "shape");
    hn_json_array(j);
    int32_t rank = v->init ? t->rank : v->sparse_init->rank;
    for (int32_t i = 0; i < rank; i++)
        hn_json_i64(j, v->init ? t->dims[i] : v->sparse_init->dims[i]);
    hn_json_array_end(j);
    json_field(j, "elements", t->n_elems);
    json_field(j, "bytes", bytes);
    hn_json_key(j, "sparse");
    hn_json_bool(j, v->sparse_init != NULL);
    hn_json_key(j, "external");
    if (t->external)
        hn_json_strn(j, hn_s(t->external->location),
                     t->external->location ? t->external->location->n : 0);
    else
        hn_json_null(j);
    hn_json_object_end(j);
}

/* Edits leave the values of removed nodes behind; ids must not change. */
static bool is_gone(const hn_value *v) {
    return v->producer == HN_NONE && !v->is_input && !v->init && !v->sparse_init && v->uses.n == 0;
}

static void json_value(const hn_graph *g, hn_id id, hn_json *j) {
    const hn_value *v = hn_value_at(g, id);
    hn_json_object(j);
    json_name(j, "name", v->name);
    json_field(j, "subgraph", v->block);
    json_type(g->model, v->type, j);
    hn_json_object_end(j);
}

static void json_parts(const hn_graph *g, unsigned parts, hn_json *j) {
    if (parts & HONE_JSON_NODES) {
        hn_json_key(j, "nodes");
        hn_json_array(j);
        for (hn_id b = 0; b < g->blocks.n; b++)
            for (uint32_t i = 0; i < hn_block_at(g, b)->nodes.n; i++)
                json_node(g, hn_block_at(g, b)->nodes.at[i], j);
        hn_json_array_end(j);
    }
    if (parts & HONE_JSON_WEIGHTS) {
        hn_json_key(j, "weights");
        hn_json_array(j);
        for (hn_id id = 0; id < g->values.n; id++)
            if (hn_value_at(g, id)->init || hn_value_at(g, id)->sparse_init)
                json_weight(hn_value_at(g, id), j);
        hn_json_array_end(j);
    }
    if (parts & HONE_JSON_VALUES) {
        hn_json_key(j, "values");
        hn_json_array(j);
        for (hn_id id = 0; id < g->values.n; id++)
            if (!is_gone(hn_value_at(g, id)))
                json_value(g, id, j);
        hn_json_array_end(j);
    }
}

void hn_model_json(const hn_model *m, const hn_stats *s, const hn_plan_report *plan,
                   const char *label, unsigned parts, hn_json *j) {
    const hn_block *b = hn_block_at(m->graph, 0);
    hn_json_object(j);
    hn_json_key(j, "model");
    hn_json_str(j, label);
    json_header(m, j);
    json_name(j, "graph", b->name);
    json_field(j, "n_functions", m->functions.n);
    json_values(m->graph, "inputs", b->inputs.n, b->inputs.at, j);
    json_values(m->graph, "outputs", b->outputs.n, b->outputs.at, j);
    json_stats(s, j);
    if (plan)
        hn_plan_report_json(plan, j);
    json_parts(m->graph, parts, j);
    hn_json_object_end(j);
}
