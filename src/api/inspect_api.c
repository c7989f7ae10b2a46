/* hone.h: inspecting a model. */
#include "api/api_int.h"
#include "ops/ops.h"

static const char *doc_of(const hn_extra *e) {
    return e ? hn_s(e->doc) : "";
}

/* The element at an index; an empty one for an index out of range, so that callers need no check.
 */

static const hn_block *listed_block(const hone_graph *graph, uint32_t i) {
    static const hn_block none = {.parent = HN_NONE, .owner = HN_NONE};
    return i < graph_of(graph)->blocks.n ? hn_block_at(graph_of(graph), i) : &none;
}

static const hn_value *listed_value(const hone_graph *graph, uint32_t i) {
    static const hn_value none = {.block = HN_NONE, .producer = HN_NONE};
    return i < graph_of(graph)->values.n ? hn_value_at(graph_of(graph), i) : &none;
}

static const hn_node *listed_node(const hone_graph *graph, uint32_t i) {
    static const hn_node none = {.block = HN_NONE};
    return i < graph_of(graph)->nodes.n ? hn_node_at(graph_of(graph), i) : &none;
}

static const hn_attr *listed_attr(const hone_graph *graph, uint32_t node, uint32_t i) {
    static const hn_attr none = {.kind = HN_ATTR_UNDEFINED};
    const hn_node *n = listed_node(graph, node);
    return i < n->n_attrs ? &n->attrs[i] : &none;
}

/* ---- model ----------------------------------------------------------------------------------- */

void hone_model_get_info(const hone_model *model, hone_model_info *info) {
    const hn_model *m = model_of(model);
    *info = (hone_model_info){.ir_version = m->ir_version,
                              .model_version = m->model_version,
                              .producer_name = hn_s(m->producer_name),
                              .producer_version = hn_s(m->producer_version),
                              .domain = hn_s(m->domain),
                              .doc = doc_of(m->extra),
                              .file_bytes = m->file_bytes,
                              .external_bytes = m->external_bytes,
                              .n_opsets = m->opsets.n,
                              .n_metadata = m->extra ? m->extra->props.n : 0,
                              .n_functions = m->functions.n};
}

void hone_model_get_opset(const hone_model *model, uint32_t i, const char **domain,
                          int64_t *version) {
    static const hn_opset none = {.version = 0};
    const hn_model *m = model_of(model);
    const hn_opset *o = i < m->opsets.n ? &m->opsets.at[i] : &none;
    *domain = hn_domain_is_onnx(o->domain) ? "" : hn_s(o->domain);
    *version = o->version;
}

void hone_model_get_metadata(const hone_model *model, uint32_t i, const char **key,
                             const char **value) {
    static const hn_prop none = {NULL, NULL};
    const hn_extra *e = model_of(model)->extra;
    const hn_prop *p = e && i < e->props.n ? &e->props.at[i] : &none;
    *key = hn_s(p->key);
    *value = hn_s(p->value);
}

const hone_graph *hone_model_graph(const hone_model *model) {
    return (const hone_graph *)(const void *)model_of(model)->graph;
}

const hone_graph *hone_model_function(const hone_model *model, uint32_t i,
                                      hone_function_info *info) {
    static const hn_function none = {.graph = NULL};
    const hn_model *m = model_of(model);
    const hn_function *f = i < m->functions.n ? m->functions.at[i] : &none;
    if (info)
        *info = (hone_function_info){.domain = hn_s(f->domain),
                                     .name = hn_s(f->name),
                                     .overload = hn_s(f->overload),
                                     .doc = doc_of(f->extra),
                                     .n_attributes = f->attr_names.n + f->attr_defaults.n,
                                     .n_opsets = f->opsets.n};
    return (const hone_graph *)(const void *)f->graph;
}

/* ---- graph ----------------------------------------------------------------------------------- */

uint32_t hone_graph_n_subgraphs(const hone_graph *graph) {
    return graph_of(graph)->blocks.n;
}
uint32_t hone_graph_n_values(const hone_graph *graph) {
    return graph_of(graph)->values.n;
}
uint32_t hone_graph_n_nodes(const hone_graph *graph) {
    return graph_of(graph)->nodes.n;
}

void hone_graph_get_subgraph(const hone_graph *graph, uint32_t i, hone_subgraph_info *info) {
    const hn_block *b = listed_block(graph, i);
    *info = (hone_subgraph_info){.name = hn_s(b->name),
                                 .doc = doc_of(b->extra),
                                 .parent = b->parent,
                                 .owner = b->owner,
                                 .n_nodes = b->nodes.n,
                                 .n_inputs = b->inputs.n,
                                 .n_outputs = b->outputs.n,
                                 .n_initializers = b->inits.n,
                                 .nodes = b->nodes.at,
                                 .inputs = b->inputs.at,
                                 .outputs = b->outputs.at,
                                 .initializers = b->inits.at};
}

void hone_graph_get_value(const hone_graph *graph, uint32_t value, hone_value_info *info) {
    const hn_value *v = listed_value(graph, value);
    const hn_type *t = v->type;
    bool is_tensor = t && (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE);
    *info = (hone_value_info){.name = hn_s(v->name),
                              .doc = doc_of(v->extra),
                              .kind = t ? (hone_type_kind)t->kind : HONE_TYPE_UNKNOWN,
                              .elem_type = is_tensor ? (int32_t)t->elem : 0,
                              .rank = is_tensor ? t->shape.rank : -1,
                              .producer = v->producer,
                              .n_uses = v->uses.n,
                              .subgraph = v->block,
                              .is_input = v->is_input,
                              .is_output = hn_value_is_output(v, HN_NONE),
                              .is_initializer = v->init || v->sparse_init,
                              .is_declared = v->is_declared};
}

uint32_t hone_graph_find_value(const hone_graph *graph, const char *name) {
    const hn_graph *g = graph_of(graph);
    hn_str s = name ? hn_intern_find(g->model->names, name, strlen(name)) : NULL;
    for (hn_id b = 0; s && b < g->blocks.n; b++) {
        hn_id id = hn_graph_find_local(g, b, s);
        if (id != HN_NONE)
            return id;
    }
    return HONE_NONE;
}

size_t hone_value_dim(const hone_graph *graph, uint32_t value, int32_t axis, int64_t *size,
                      char *text, size_t text_size) {
    const hn_graph *g = graph_of(graph);
    const hn_type *t = listed_value(graph, value)->type;
    hn_dim d = t && axis >= 0 && axis < t->shape.rank ? t->shape.dims[axis] : HN_DIM_UNKNOWN;
    *size = hn_dim_is_known(d) ? d : -1;
    hn_strbuf b;
    hn_strbuf_init(&b, hn_arena_allocator(g->model->arena));
    if (d != HN_DIM_UNKNOWN)
        hn_dim_text(g->model->syms, d, &b);
    return hn_api_give_text(&b, text, text_size);
}

size_t hone_value_type_text(const hone_graph *graph, uint32_t value, char *text, size_t text_size) {
    const hn_graph *g = graph_of(graph);
    const hn_type *t = listed_value(graph, value)->type;
    hn_strbuf b;
    hn_strbuf_init(&b, hn_arena_allocator(g->model->arena));
    if (t)
        hn_type_text(g->model->syms, t, &b);
    else
        hn_strbuf_puts(&b, "?");
    return hn_api_give_text(&b, text, text_size);
}

void hone_graph_get_node(const hone_graph *graph, uint32_t node, hone_node_info *info) {
    const hn_node *n = listed_node(graph, node);
    *info = (hone_node_info){.name = hn_s(n->name),
                             .op = hn_s(n->op),
                             .domain = hn_domain_is_onnx(n->domain) ? "" : hn_s(n->domain),
                             .doc = doc_of(n->extra),
                             .subgraph = n->block,
                             .n_inputs = n->n_inputs,
                             .n_outputs = n->n_outputs,
                             .n_attributes = n->n_attrs,
                             .inputs = n->inputs,
                             .outputs = n->outputs};
}

bool hone_node_macs(const hone_graph *graph, uint32_t node, uint64_t *macs) {
    *macs = 0;
    return node < graph_of(graph)->nodes.n && hn_node_macs(graph_of(graph), node, macs);
}

const char *hone_node_origin(const hone_graph *graph, uint32_t node, uint32_t i) {
    const hn_node *n = listed_node(graph, node);
    for (uint32_t k = 0; n->extra && k < n->extra->props.n; k++)
        if (strcmp(hn_s(n->extra->props.at[k].key), HN_ORIGIN_KEY) == 0 && i-- == 0)
            return hn_s(n->extra->props.at[k].value);
    return "";
}

void hone_node_get_attribute(const hone_graph *graph, uint32_t node, uint32_t i,
                             hone_attribute_info *info) {
    const hn_attr *a = listed_attr(graph, node, i);
    *info = (hone_attribute_info){.name = hn_s(a->name),
                                  .reference = hn_s(a->ref),
                                  .kind = (hone_attribute_kind)a->kind,
                                  .n = a->n};
    if (a->ref)
        return;
    switch (a->kind) {
    case HN_ATTR_INT:
        info->i = a->v.i;
        break;
    case HN_ATTR_FLOAT:
        info->f = a->v.f;
        break;
    case HN_ATTR_STRING:
        info->s = a->v.s.at;
        info->s_bytes = (size_t)a->v.s.n;
        break;
    case HN_ATTR_INTS:
        info->ints = a->v.ints;
        break;
    case HN_ATTR_FLOATS:
        info->floats = a->v.floats;
        break;
    case HN_ATTR_GRAPH:
    case HN_ATTR_GRAPHS:
        info->subgraphs = hn_attr_blocks(a, &info->n);
        break;
    default:
        break;
    }
}

void hone_node_get_attribute_string(const hone_graph *graph, uint32_t node, uint32_t i, uint32_t k,
                                    const char **text, size_t *n_bytes) {
    const hn_attr *a = listed_attr(graph, node, i);
    bool there = a->kind == HN_ATTR_STRINGS && k < a->n;
    *text = there ? a->v.strings[k].at : NULL;
    *n_bytes = there ? (size_t)a->v.strings[k].n : 0;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool give_tensor(const hn_tensor *t, hone_tensor_info *info) {
    if (!t)
        return false;
    *info =
        (hone_tensor_info){.name = hn_s(t->name),
                           .elem_type = (int32_t)t->dtype,
                           .rank = t->rank,
                           .dims = t->dims,
                           .n_elements = t->n_elems,
                           .data = t->data,
                           .data_bytes = t->data_bytes,
                           .external_location = t->external ? hn_s(t->external->location) : NULL};
    return true;
}

static bool give_sparse(const hn_sparse *s, hone_tensor_info *info) {
    if (!s || !give_tensor(s->values, info))
        return false;
    info->is_sparse = true;
    info->rank = s->rank;
    info->dims = s->dims;
    return true;
}

bool hone_value_get_tensor(const hone_graph *graph, uint32_t value, hone_tensor_info *info) {
    const hn_value *v = listed_value(graph, value);
    return v->sparse_init ? give_sparse(v->sparse_init, info) : give_tensor(v->init, info);
}

bool hone_attribute_get_tensor(const hone_graph *graph, uint32_t node, uint32_t attribute,
                               uint32_t k, hone_tensor_info *info) {
    const hn_attr *a = listed_attr(graph, node, attribute);
    if (a->ref || k >= a->n)
        return false;
    switch (a->kind) {
    case HN_ATTR_TENSOR:
        return give_tensor(a->v.tensor, info);
    case HN_ATTR_TENSORS:
        return give_tensor(a->v.tensors[k], info);
    case HN_ATTR_SPARSE:
        return give_sparse(a->v.sparse, info);
    case HN_ATTR_SPARSES:
        return give_sparse(a->v.sparses[k], info);
    default:
        return false;
    }
}

const char *hone_elem_type_name(int32_t elem_type) {
    return hn_dtype_name((hn_dtype)elem_type);
}
int hone_elem_type_bits(int32_t elem_type) {
    return hn_dtype_bits((hn_dtype)elem_type);
}
