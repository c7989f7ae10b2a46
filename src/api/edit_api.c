/* hone.h: editing. */
#include "api/api_int.h"
#include "ops/ops.h"

hone_status hone_model_inline_functions(hone_model *model, hone_error *error) {
    hn_error_clear(error);
    return hn_error_complete(error, hn_model_inline(model_of(model), error));
}

static hone_status intern_names(hn_model *m, uint32_t n, const char *const *names, hn_str **out) {
    *out = HN_NEW_N(m->arena, hn_str, (size_t)n + 1);
    HN_TRY_PTR(*out);
    for (uint32_t i = 0; i < n; i++) {
        (*out)[i] = hn_intern_z(m->names, names[i]);
        HN_TRY_PTR((*out)[i]);
    }
    return HONE_OK;
}

hone_status hone_model_extract(hone_model *model, uint32_t n_inputs, const char *const *inputs, uint32_t n_outputs,
                               const char *const *outputs, hone_error *error) {
    hn_error_clear(error);
    hn_model *m = model_of(model);
    hn_str *in, *out;
    hone_status status = intern_names(m, n_inputs, inputs, &in);
    if (status == HONE_OK)
        status = intern_names(m, n_outputs, outputs, &out);
    if (status == HONE_OK) /* new inputs need types: infer what can be */
        status = hn_infer_model(m, &(hn_infer_options){.problems = NULL}, error);
    if (status == HONE_OK)
        status = hn_graph_extract(m->graph, n_inputs, in, n_outputs, out, error);
    return hn_error_complete(error, status);
}

/* ---- renaming ------------------------------------------------------------------------------------------------------ */

/* Quantization annotations speak of tensors by name. */
static void rename_in_annotations(hn_graph *g, hn_str from, hn_str to) {
    for (hn_id b = 0; b < g->blocks.n; b++) {
        hn_block *block = hn_block_at(g, b);
        for (uint32_t i = 0; i < block->quant.n; i++) {
            hn_quant_annotation *q = &block->quant.at[i];
            if (q->tensor == from)
                q->tensor = to;
            for (uint32_t k = 0; k < q->params.n; k++)
                if (q->params.at[k].value == from)
                    q->params.at[k].value = to;
        }
    }
}

hone_status hone_model_rename(hone_model *model, const char *from, const char *to, hone_error *error) {
    hn_error_clear(error);
    hn_model *m = model_of(model);
    const hone_graph *main_graph = hone_model_graph(model);
    uint32_t id = hone_graph_find_value(main_graph, from);
    if (id == HONE_NONE)
        return hn_fail(error, HONE_E_NOT_FOUND, "cannot rename '%s': the model has no value of that name", from);
    if (!*to)
        return hn_fail(error, HONE_E_ARGUMENT, "cannot rename '%s' to an empty name", from);
    if (strcmp(from, to) == 0)
        return HONE_OK;
    if (hone_graph_find_value(main_graph, to) != HONE_NONE)
        return hn_fail(error, HONE_E_ARGUMENT, "cannot rename '%s' to '%s': that name is taken", from, to);
    hn_str old_name = hn_value_at(m->graph, id)->name, new_name = hn_intern_z(m->names, to);
    if (!new_name || !hn_graph_rename(m->graph, id, new_name))
        return hn_error_complete(error, HONE_E_NOMEM);
    rename_in_annotations(m->graph, old_name, new_name);
    return HONE_OK;
}

/* ---- stripping ------------------------------------------------------------------------------------------------------ */

/* Replaces the rare parts by a copy without docs or metadata. Shared extras make one copy each, which is fine. */
static hone_status strip_extra(hn_model *m, const hn_extra **extra, unsigned what) {
    if (!*extra)
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

static hone_status strip_tensor(hn_model *m, const hn_tensor **tensor, unsigned what) {
    if (!*tensor || !(*tensor)->extra)
        return HONE_OK;
    hn_tensor *t = hn_arena_copy(m->arena, *tensor, sizeof **tensor);
    HN_TRY_PTR(t);
    HN_TRY(strip_extra(m, &t->extra, what));
    t->wire = (hn_bytes){NULL, 0}; /* the serialized form still holds them */
    *tensor = t;
    return HONE_OK;
}

static hone_status strip_node(hn_model *m, hn_node *n, unsigned what) {
    HN_TRY(strip_extra(m, &n->extra, what));
    if (what & HONE_STRIP_NODE_NAMES)
        n->name = NULL;
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        HN_TRY(strip_extra(m, &n->attrs[i].extra, what));
        if (n->attrs[i].kind == HN_ATTR_TENSOR && !n->attrs[i].ref)
            HN_TRY(strip_tensor(m, &n->attrs[i].v.tensor, what));
    }
    return HONE_OK;
}

static hone_status strip_graph(hn_graph *g, unsigned what) {
    hn_model *m = g->model;
    for (hn_id i = 0; i < g->nodes.n; i++)
        HN_TRY(strip_node(m, hn_node_at(g, i), what));
    for (hn_id i = 0; i < g->values.n; i++) {
        HN_TRY(strip_extra(m, &hn_value_at(g, i)->extra, what));
        HN_TRY(strip_tensor(m, &hn_value_at(g, i)->init, what));
    }
    for (hn_id i = 0; i < g->blocks.n; i++) {
        hn_block *b = hn_block_at(g, i);
        HN_TRY(strip_extra(m, &b->extra, what));
        if (!(what & HONE_STRIP_VALUE_INFO))
            continue;
        for (uint32_t k = 0; k < b->value_infos.n; k++)
            hn_value_at(g, b->value_infos.at[k])->is_declared = false;
        b->value_infos.n = 0;
    }
    return HONE_OK;
}

/* Short names for everything that is no input or output of the main graph. */
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
        rename_in_annotations(g, old_name, short_name);
    }
    return HONE_OK;
}

static hone_status strip_model(hn_model *m, unsigned what) {
    if ((what & HONE_STRIP_UNUSED) && hn_graph_remove_dead(m->graph, true) == HN_NONE)
        return HONE_E_NOMEM;
    if (what & HONE_STRIP_VALUE_NAMES)
        HN_TRY(shorten_names(m->graph));
    HN_TRY(strip_extra(m, &m->extra, what));
    HN_TRY(strip_graph(m->graph, what));
    for (uint32_t i = 0; i < m->functions.n; i++) {
        HN_TRY(strip_extra(m, &m->functions.at[i]->extra, what));
        HN_TRY(strip_graph(m->functions.at[i]->graph, what));
    }
    return HONE_OK;
}

hone_status hone_model_strip(hone_model *model, unsigned what, hone_error *error) {
    hn_error_clear(error);
    return hn_error_complete(error, strip_model(model_of(model), what));
}

/* ---- stored shapes ---------------------------------------------------------------------------------------------------- */

static bool is_worth_storing(const hn_value *v) {
    if (v->is_declared || v->is_input || v->init || v->sparse_init || v->producer == HN_NONE || !v->type)
        return false;
    return v->type->kind != HN_TYPE_TENSOR || v->type->elem != HN_UNDEFINED;
}

hone_status hone_model_store_shapes(hone_model *model, hone_error *error) {
    hn_error_clear(error);
    hn_model *m = model_of(model);
    HN_TRY(hn_infer_model(m, &(hn_infer_options){.problems = NULL}, error));
    for (hn_id id = 0; id < m->graph->values.n; id++) {
        hn_value *v = hn_value_at(m->graph, id);
        hone_value_info info;
        hone_graph_get_value(hone_model_graph(model), id, &info);
        if (!is_worth_storing(v))
            continue;
        v->is_declared = true;
        hn_block *b = hn_block_at(m->graph, v->block);
        if (!info.is_output && !HN_VEC_PUSH(m->arena, &b->value_infos, id))
            return hn_error_complete(error, HONE_E_NOMEM);
    }
    return HONE_OK;
}
