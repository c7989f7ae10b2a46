/* hone.h: removing what running a model does not need. */
#include "api/api_int.h"

static bool has_something_to_strip(const hn_extra *e, unsigned what) {
    return e && (((what & HONE_STRIP_DOCS) && e->doc) ||
                 ((what & HONE_STRIP_METADATA) && e->props.n > 0));
}

/* Replaces the rare parts by a copy without docs or metadata: they may be shared. */
static hone_status strip_extra(hn_model *m, const hn_extra **extra, unsigned what) {
    if (!has_something_to_strip(*extra, what))
        return HONE_OK;
    hn_extra *e = hn_arena_copy(m->arena, *extra, sizeof **extra);
    HN_TRY_PTR(e);
    if (what & HONE_STRIP_DOCS)
        e->doc = NULL;
    if (what & HONE_STRIP_METADATA)
        memset(&e->props, 0, sizeof e->props);
    *extra = e;
    return HONE_OK;
}

/* ---- tensors and attributes ------------------------------------------------------------------ */

static hone_status strip_tensor(hn_model *m, const hn_tensor **tensor, unsigned what) {
    if (!*tensor || !has_something_to_strip((*tensor)->extra, what))
        return HONE_OK;
    hn_tensor *t = hn_arena_copy(m->arena, *tensor, sizeof **tensor);
    HN_TRY_PTR(t);
    HN_TRY(strip_extra(m, &t->extra, what));
    t->wire = (hn_bytes){NULL, 0}; /* the serialized form still holds them */
    *tensor = t;
    return HONE_OK;
}

static hone_status strip_sparse(hn_model *m, const hn_sparse **sparse, unsigned what) {
    if (!*sparse)
        return HONE_OK;
    hn_sparse copy = **sparse;
    HN_TRY(strip_tensor(m, &copy.values, what));
    HN_TRY(strip_tensor(m, &copy.indices, what));
    if (copy.values == (*sparse)->values && copy.indices == (*sparse)->indices)
        return HONE_OK;
    const hn_sparse *stripped = hn_arena_copy(m->arena, &copy, sizeof copy);
    HN_TRY_PTR(stripped);
    *sparse = stripped;
    return HONE_OK;
}

static hone_status strip_attribute(hn_model *m, hn_attr *a, unsigned what) {
    HN_TRY(strip_extra(m, &a->extra, what));
    if (a->ref)
        return HONE_OK;
    if (a->kind == HN_ATTR_TENSOR)
        return strip_tensor(m, &a->v.tensor, what);
    return a->kind == HN_ATTR_SPARSE ? strip_sparse(m, &a->v.sparse, what) : HONE_OK;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static hone_status strip_node(hn_model *m, hn_node *n, unsigned what) {
    HN_TRY(strip_extra(m, &n->extra, what));
    if (what & HONE_STRIP_NODE_NAMES)
        n->name = NULL;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        HN_TRY(strip_attribute(m, &n->attrs[i], what));
    return HONE_OK;
}

static hone_status strip_value(hn_model *m, hn_value *v, unsigned what) {
    HN_TRY(strip_extra(m, &v->extra, what));
    HN_TRY(strip_tensor(m, &v->init, what));
    return strip_sparse(m, &v->sparse_init, what);
}

static void forget_value_infos(hn_graph *g, hn_block *b) {
    for (uint32_t k = 0; k < b->value_infos.n; k++)
        hn_value_at(g, b->value_infos.at[k])->is_declared = false;
    b->value_infos.n = 0;
}

/* Short names for all values except inputs and outputs of the graph itself. */
static hone_status shorten_names(hn_graph *g) {
    for (hn_id id = 0; id < g->values.n; id++) {
        hone_value_info info;
        hone_graph_get_value((const hone_graph *)(const void *)g, id, &info);
        hn_str old_name = hn_value_at(g, id)->name;
        if ((info.subgraph == 0 && (info.is_input || info.is_output)) || hn_str_empty(old_name))
            continue;
        hn_str short_name = hn_graph_fresh_name(g, "v");
        if (!short_name || !hn_graph_rename(g, id, short_name))
            return HONE_E_NOMEM;
        hn_api_rename_annotated(g, old_name, short_name);
    }
    return HONE_OK;
}

static hone_status strip_graph(hn_graph *g, unsigned what) {
    hn_model *m = g->model;
    if ((what & HONE_STRIP_UNUSED) && hn_graph_remove_dead(g, true) == HN_NONE)
        return HONE_E_NOMEM;
    if (what & HONE_STRIP_VALUE_NAMES)
        HN_TRY(shorten_names(g));
    for (hn_id i = 0; i < g->nodes.n; i++)
        HN_TRY(strip_node(m, hn_node_at(g, i), what));
    for (hn_id i = 0; i < g->values.n; i++)
        HN_TRY(strip_value(m, hn_value_at(g, i), what));
    for (hn_id i = 0; i < g->blocks.n; i++) {
        HN_TRY(strip_extra(m, &hn_block_at(g, i)->extra, what));
        if (what & HONE_STRIP_VALUE_INFO)
            forget_value_infos(g, hn_block_at(g, i));
    }
    return HONE_OK;
}

/* ---- model ----------------------------------------------------------------------------------- */

static hone_status strip_function(hn_model *m, hn_function *f, unsigned what) {
    HN_TRY(strip_extra(m, &f->extra, what));
    for (uint32_t i = 0; i < f->attr_defaults.n; i++)
        HN_TRY(strip_attribute(m, &f->attr_defaults.at[i], what));
    return strip_graph(f->graph, what);
}

static hone_status strip_model(hn_model *m, unsigned what) {
    HN_TRY(strip_extra(m, &m->extra, what));
    HN_TRY(strip_graph(m->graph, what));
    for (uint32_t i = 0; i < m->functions.n; i++)
        HN_TRY(strip_function(m, m->functions.at[i], what));
    if ((what & HONE_STRIP_UNUSED) && !hn_model_drop_unused_functions(m))
        return HONE_E_NOMEM;
    return HONE_OK;
}

hone_status hone_model_strip(hone_model *model, unsigned what, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    return hn_error_complete(error, strip_model(model_to_edit(model), what));
}
