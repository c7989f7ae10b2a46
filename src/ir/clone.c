/* Copies of models that can be edited while other threads read the original. Structure is copied,
 * tensor data is shared: the original must outlive the copy. Ids stay the same. */
#include "ir/ir.h"

typedef struct cloner {
    const hn_model *from;
    hn_model *to;
    bool failed;
} cloner;

static hn_str clone_str(cloner *c, hn_str s) {
    hn_str copy = s ? hn_intern(c->to->names, s->s, s->n) : NULL;
    c->failed |= s && !copy;
    return copy;
}

static void *clone_array(cloner *c, const void *at, size_t n, size_t elem_bytes) {
    void *copy = n ? hn_arena_copy(c->to->arena, at, n * elem_bytes) : NULL;
    c->failed |= n && !copy;
    return copy;
}

/* A vector whose capacity is its size. */
#define CLONE_VEC(c, dst, src)                                            \
  do {                                                                    \
    (dst)->at = clone_array((c), (src)->at, (src)->n, sizeof *(src)->at); \
    (dst)->n = (dst)->cap = (dst)->at ? (src)->n : 0;                     \
  } while (0)

/* Expressions are copied through text: each model has its own expression table. */
static hn_dim clone_dim(cloner *c, hn_dim d) {
    if (!hn_dim_is_symbolic(d))
        return d;
    hn_strbuf text;
    hn_strbuf_init(&text, hn_arena_allocator(c->to->arena));
    hn_dim_text(c->from->syms, d, &text);
    hn_str s = text.failed ? NULL : hn_intern(c->to->names, text.at, text.n);
    hn_strbuf_free(&text);
    c->failed |= !s;
    return s ? hn_dim_parse(c->to->syms, s) : HN_DIM_UNKNOWN;
}

static const hn_type *clone_type(cloner *c, const hn_type *t) {
    hn_type *copy = t ? hn_arena_copy(c->to->arena, t, sizeof *t) : NULL;
    c->failed |= t && !copy;
    if (!copy)
        return NULL;
    copy->inner = clone_type(c, t->inner);
    hn_dim *dims = t->shape.rank > 0
                       ? clone_array(c, t->shape.dims, (size_t)t->shape.rank, sizeof *dims)
                       : NULL;
    for (int32_t i = 0; dims && i < t->shape.rank; i++)
        dims[i] = clone_dim(c, dims[i]);
    copy->shape.dims = dims;
    return copy;
}

static const hn_extra *clone_overload(cloner *c, const hn_extra *e) {
    hn_extra *copy = e ? hn_arena_copy(c->to->arena, e, sizeof *e) : NULL;
    c->failed |= e && !copy;
    if (copy)
        copy->overload = clone_str(c, e->overload);
    return copy;
}

static hn_attr clone_attr(cloner *c, const hn_attr *a) {
    hn_attr copy = *a;
    copy.name = clone_str(c, a->name);
    copy.ref = clone_str(c, a->ref);
    return copy;
}

static void clone_node(cloner *c, hn_node *dst, const hn_node *src) {
    *dst = *src;
    dst->op = clone_str(c, src->op);
    dst->domain = clone_str(c, src->domain);
    dst->name = clone_str(c, src->name);
    dst->inputs = clone_array(c, src->inputs, src->n_inputs, sizeof *src->inputs);
    dst->outputs = clone_array(c, src->outputs, src->n_outputs, sizeof *src->outputs);
    dst->use_at = clone_array(c, src->use_at, src->n_inputs, sizeof *src->use_at);
    dst->attrs = clone_array(c, src->attrs, src->n_attrs, sizeof *src->attrs);
    dst->extra = clone_overload(c, src->extra);
    for (uint32_t i = 0; dst->attrs && i < src->n_attrs; i++)
        dst->attrs[i] = clone_attr(c, &src->attrs[i]);
}

static void clone_value(cloner *c, hn_value *dst, const hn_value *src) {
    *dst = *src;
    dst->name = clone_str(c, src->name);
    dst->type = clone_type(c, src->type);
    CLONE_VEC(c, &dst->uses, &src->uses);
}

static void clone_block(cloner *c, hn_block *dst, const hn_block *src) {
    *dst = *src;
    dst->name = clone_str(c, src->name);
    CLONE_VEC(c, &dst->nodes, &src->nodes);
    CLONE_VEC(c, &dst->inputs, &src->inputs);
    CLONE_VEC(c, &dst->outputs, &src->outputs);
    CLONE_VEC(c, &dst->inits, &src->inits);
    CLONE_VEC(c, &dst->sparse_inits, &src->sparse_inits);
    CLONE_VEC(c, &dst->value_infos, &src->value_infos);
    CLONE_VEC(c, &dst->quant, &src->quant);
    for (uint32_t i = 0; i < dst->quant.n; i++)
        dst->quant.at[i].tensor = clone_str(c, src->quant.at[i].tensor);
}

static hn_graph *clone_graph(cloner *c, const hn_graph *src, const hn_opsets *opsets) {
    hn_graph *dst = HN_NEW(c->to->arena, hn_graph);
    c->failed |= !dst;
    if (!dst)
        return NULL;
    *dst = *src;
    dst->model = c->to;
    dst->opsets = opsets;
    CLONE_VEC(c, &dst->nodes, &src->nodes);
    CLONE_VEC(c, &dst->values, &src->values);
    CLONE_VEC(c, &dst->blocks, &src->blocks);
    for (hn_id i = 0; i < dst->nodes.n; i++)
        clone_node(c, &dst->nodes.at[i], &src->nodes.at[i]);
    hn_map_init(&dst->by_name, c->to->arena);
    for (hn_id i = 0; i < dst->values.n; i++) {
        hn_value *v = &dst->values.at[i];
        clone_value(c, v, &src->values.at[i]);
        uint64_t key = v->name ? hn_key(v->block, v->name->id) : 0;
        bool is_first = v->name && hn_map_get(&dst->by_name, key) == HN_MAP_NONE;
        c->failed |= is_first && !hn_map_put(&dst->by_name, key, i);
    }
    for (hn_id i = 0; i < dst->blocks.n; i++)
        clone_block(c, &dst->blocks.at[i], &src->blocks.at[i]);
    return dst;
}

static void clone_opsets(cloner *c, hn_opsets *dst, const hn_opsets *src) {
    CLONE_VEC(c, dst, src);
    for (uint32_t i = 0; i < dst->n; i++)
        dst->at[i].domain = clone_str(c, src->at[i].domain);
}

static void clone_function(cloner *c, const hn_function *src) {
    hn_function *dst = hn_arena_copy(c->to->arena, src, sizeof *src);
    c->failed |= !dst;
    if (!dst)
        return;
    dst->name = clone_str(c, src->name);
    dst->domain = clone_str(c, src->domain);
    dst->overload = clone_str(c, src->overload);
    CLONE_VEC(c, &dst->attr_names, &src->attr_names);
    for (uint32_t i = 0; i < dst->attr_names.n; i++)
        dst->attr_names.at[i] = clone_str(c, src->attr_names.at[i]);
    CLONE_VEC(c, &dst->attr_defaults, &src->attr_defaults);
    for (uint32_t i = 0; i < dst->attr_defaults.n; i++)
        dst->attr_defaults.at[i] = clone_attr(c, &src->attr_defaults.at[i]);
    clone_opsets(c, &dst->opsets, &src->opsets);
    dst->graph = clone_graph(c, src->graph, &dst->opsets);
    c->failed |= !hn_model_add_function(c->to, dst);
}

hn_model *hn_model_clone(const hn_model *m) {
    cloner c = {.from = m, .to = hn_model_new(hn_arena_allocator(m->arena))};
    if (!c.to)
        return NULL;
    c.to->ir_version = m->ir_version;
    c.to->has_ir_version = m->has_ir_version;
    c.to->model_version = m->model_version;
    c.to->has_model_version = m->has_model_version;
    c.to->producer_name = clone_str(&c, m->producer_name);
    c.to->producer_version = clone_str(&c, m->producer_version);
    c.to->domain = clone_str(&c, m->domain);
    c.to->extra = m->extra;
    c.to->origin = m;
    c.to->path = m->path;
    c.to->external_bytes = m->external_bytes;
    c.to->file_bytes = m->file_bytes;
    c.to->custom_ops = hn_shared_keep(m->custom_ops);
    clone_opsets(&c, &c.to->opsets, &m->opsets);
    for (uint32_t i = 0; i < m->functions.n && !c.failed; i++)
        clone_function(&c, m->functions.at[i]);
    c.to->graph = clone_graph(&c, m->graph, &c.to->opsets);
    if (!c.failed && !hn_syms_failed(c.to->syms))
        return c.to;
    hn_model_free(c.to);
    return NULL;
}
