/* hone.h: editing. */
#include "api/api_int.h"
#include "ops/ops.h"

hone_status hone_model_inline_functions(hone_model *model, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    return hn_error_complete(error, hn_model_inline(model_to_edit(model), hn_same_op, error));
}

static hone_status intern_names(hn_model *m, uint32_t n, const char *const *names, hn_str **out,
                                hone_error *error) {
    *out = HN_NEW_N(m->arena, hn_str, (size_t)n + 1);
    HN_TRY_PTR(*out);
    for (uint32_t i = 0; i < n; i++) {
        HN_TRY(hn_api_require(names && names[i], "name", error));
        (*out)[i] = hn_intern_z(m->names, names[i]);
        HN_TRY_PTR((*out)[i]);
    }
    return HONE_OK;
}

hone_status hone_model_extract(hone_model *model, uint32_t n_inputs, const char *const *inputs,
                               uint32_t n_outputs, const char *const *outputs, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    hn_model *m = model_to_edit(model);
    hn_str *in, *out;
    hone_status status = intern_names(m, n_inputs, inputs, &in, error);
    if (status == HONE_OK)
        status = intern_names(m, n_outputs, outputs, &out, error);
    if (status == HONE_OK) /* new inputs need types: infer what can be */
        status = hn_infer_model(m, &(hn_infer_options){.problems = NULL}, error);
    if (status == HONE_OK)
        status = hn_graph_extract(m->graph, n_inputs, in, n_outputs, out, error);
    return hn_error_complete(error, status);
}

/* ---- renaming -------------------------------------------------------------------------------- */

void hn_api_rename_annotated(hn_graph *g, hn_str from, hn_str to) {
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

hone_status hone_model_rename(hone_model *model, const char *from, const char *to,
                              hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    HN_REQUIRE(from, error);
    HN_REQUIRE(to, error);
    hn_model *m = model_to_edit(model);
    const hone_graph *main_graph = hone_model_graph(model);
    uint32_t id = hone_graph_find_value(main_graph, from);
    if (id == HONE_NONE)
        return hn_fail(error, HONE_E_NOT_FOUND,
                       "cannot rename '%s': the model has no value of that name", from);
    if (!*to)
        return hn_fail(error, HONE_E_ARGUMENT, "cannot rename '%s' to an empty name", from);
    if (strcmp(from, to) == 0)
        return HONE_OK;
    if (hone_graph_find_value(main_graph, to) != HONE_NONE)
        return hn_fail(error, HONE_E_ARGUMENT, "cannot rename '%s' to '%s': that name is taken",
                       from, to);
    hn_str old_name = hn_value_at(m->graph, id)->name, new_name = hn_intern_z(m->names, to);
    if (!new_name || !hn_graph_rename(m->graph, id, new_name))
        return hn_error_complete(error, HONE_E_NOMEM);
    hn_api_rename_annotated(m->graph, old_name, new_name);
    return HONE_OK;
}

/* ---- stored shapes --------------------------------------------------------------------------- */

static bool is_storable_type(const hn_value *v) {
    if (v->is_declared || v->is_input || v->init || v->sparse_init || v->producer == HN_NONE ||
        !v->type)
        return false;
    return v->type->kind != HN_TYPE_TENSOR || v->type->elem != HN_UNDEFINED;
}

/* Outputs of a subgraph carry their type themselves; other values go to the list of their subgraph.
 */
static hone_status store_type(hn_graph *g, hn_id id) {
    hone_value_info info;
    hone_graph_get_value((const hone_graph *)(const void *)g, id, &info);
    hn_block *b = hn_block_at(g, info.subgraph);
    if (!info.is_output && !HN_VEC_PUSH(g->model->arena, &b->value_infos, id))
        return HONE_E_NOMEM;
    hn_value_at(g, id)->is_declared = true;
    return HONE_OK;
}

hone_status hone_model_store_shapes(hone_model *model, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    hn_model *m = model_to_edit(model);
    hone_status status = hn_infer_model(m, &(hn_infer_options){.problems = NULL}, error);
    for (hn_id id = 0; status == HONE_OK && id < m->graph->values.n; id++)
        if (is_storable_type(hn_value_at(m->graph, id)))
            status = store_type(m->graph, id);
    return hn_error_complete(error, status);
}
