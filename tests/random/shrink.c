#include "random/shrink.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- does it still fail? --------------------------------------------------------------------- */

static bool still_fails(const grown *g, const contest_setup *s) {
    hone_error err = {0};
    contest c;
    bool fails = contest_open(&c, g->model, g->heap, g->n_inputs, g->inputs, &err) &&
                 !contest_is_won(&c, s, UINT32_MAX);
    contest_close(&c);
    return fails;
}

/* ---- copies to try things on ----------------------------------------------------------------- */

static hn_object *object_of(const grown *g, const char *input) {
    const hn_block *b = hn_block_at(g->model->graph, 0);
    for (uint32_t i = 0; i < b->inputs.n; i++)
        if (strcmp(hn_s(hn_value_at(g->model->graph, b->inputs.at[i])->name), input) == 0)
            return g->inputs[i];
    return NULL;
}

/* Inputs of the edited model: those of the old one by name, and one that is new. */
static grown take_edited(const grown *g, hn_model *edited, const char *new_input,
                         const hn_object *data) {
    hn_graph_remove_dead(edited->graph, true);
    hn_block *b = hn_block_at(edited->graph, 0);
    for (uint32_t i = b->inputs.n; i-- > 0;)
        if (hn_value_at(edited->graph, b->inputs.at[i])->uses.n == 0)
            hn_graph_remove_value_listing(edited->graph, b->inputs.at[i]);
    grown out = {.model = grow_read_again(edited), .heap = hn_heap_new(NULL)};
    b = hn_block_at(out.model->graph, 0);
    out.n_inputs = b->inputs.n;
    out.inputs = calloc((size_t)out.n_inputs + 1, sizeof *out.inputs);
    if (!out.heap || !out.inputs)
        grow_fail("no memory");
    for (uint32_t i = 0; i < out.n_inputs; i++) {
        const char *name = hn_s(hn_value_at(out.model->graph, b->inputs.at[i])->name);
        const hn_object *o = new_input && strcmp(name, new_input) == 0 ? data : object_of(g, name);
        out.inputs[i] = o ? hn_heap_copy(out.heap, o) : NULL;
    }
    return out;
}

/* Keeps the edited model when it still fails. */
static bool try_edited(grown *g, const contest_setup *s, hn_model *edited, const char *new_input,
                       const hn_object *data) {
    grown next = take_edited(g, edited, new_input, data);
    hn_model_free(edited);
    bool is_better = still_fails(&next, s);
    grown *unwanted = is_better ? g : &next;
    grown_free(unwanted);
    if (is_better)
        *g = next;
    return is_better;
}

static hn_model *copy_to_edit(const grown *g) {
    hn_model *m = hn_model_clone(g->model);
    if (!m)
        grow_fail("no memory");
    return m;
}

/* ---- edits ----------------------------------------------------------------------------------- */

static bool drop_an_output(grown *g, const contest_setup *s) {
    uint32_t n = hn_block_at(g->model->graph, 0)->outputs.n;
    for (uint32_t i = 0; i < n && n > 1; i++) {
        hn_model *m = copy_to_edit(g);
        hn_graph_drop_output(m->graph, 0, i);
        if (try_edited(g, s, m, NULL, NULL))
            return true;
    }
    return false;
}

/* What a value is in the run. */
typedef struct wanted_value {
    const char *name;
    hn_heap *heap;
    hn_object *data;
} wanted_value;

static void keep_wanted(void *ctx, const hn_step_event *sight) {
    wanted_value *w = ctx;
    const hn_node *n = hn_node_at(sight->g, sight->step->node);
    for (uint32_t i = 0; i < n->n_outputs && !w->data; i++)
        if (n->outputs[i] != HN_NONE && sight->outputs[i] &&
            strcmp(hn_s(hn_value_at(sight->g, n->outputs[i])->name), w->name) == 0)
            w->data = hn_heap_copy(w->heap, sight->outputs[i]);
}

static hn_object *data_of(const grown *g, const char *name) {
    wanted_value w = {.name = name, .heap = g->heap};
    hone_error err = {0};
    contest c;
    if (contest_open(&c, g->model, g->heap, g->n_inputs, g->inputs, &err))
        contest_watch(&c, keep_wanted, &w, &err);
    contest_close(&c);
    return w.data;
}

/* As inference knows it, or as it is in the run. */
static const hn_type *type_of_cut(hn_model *m, hn_id value, const hn_array *a, bool as_inferred) {
    hone_error err = {0};
    if (!as_inferred)
        return hn_type_tensor(m->arena, a->dtype, a->rank, a->dims);
    if (hn_infer_model(m, &(hn_infer_options){0}, &err) != HONE_OK)
        return NULL;
    return hn_value_at(m->graph, value)->type;
}

/* The node's only value that is read becomes an input. */
static bool cut_node(grown *g, const contest_setup *s, hn_id node, bool as_inferred) {
    const hn_node *n = hn_node_at(g->model->graph, node);
    hn_id value = HN_NONE;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && hn_value_at(g->model->graph, n->outputs[i])->uses.n > 0) {
            if (value != HN_NONE)
                return false;
            value = n->outputs[i];
        }
    if (value == HN_NONE)
        return false;
    const hn_value *v = hn_value_at(g->model->graph, value);
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE) /* an output: dropped or needed */
            return false;
    char name[64];
    snprintf(name, sizeof name, "%s", hn_s(v->name));
    hn_object *data = data_of(g, name);
    hn_model *m = copy_to_edit(g);
    bool is_tensor = data && data->kind == HN_OBJECT_TENSOR;
    const hn_type *t = is_tensor ? type_of_cut(m, value, &data->array, as_inferred) : NULL;
    bool ok = t && t->shape.rank >= 0;
    if (ok) {
        hn_graph_remove_node(m->graph, node);
        hn_value_at(m->graph, value)->type = t;
        hn_value_at(m->graph, value)->is_declared = true;
        hn_graph_add_input(m->graph, 0, value);
    }
    grown before = *g;
    if (ok)
        ok = try_edited(g, s, m, name, data);
    else
        hn_model_free(m);
    if (data && !ok) /* it lies in the old heap, which is gone otherwise */
        hn_heap_unref(before.heap, data);
    return ok;
}

static bool cut_a_node(grown *g, const contest_setup *s) {
    for (uint32_t i = 0; i < hn_block_at(g->model->graph, 0)->nodes.n; i++)
        for (int as_inferred = 0; as_inferred < 2; as_inferred++)
            if (cut_node(g, s, hn_block_at(g->model->graph, 0)->nodes.at[i], as_inferred))
                return true;
    return false;
}

static bool fix_a_dimension(grown *g, const contest_setup *s) {
    for (int size = 0; size <= 8; size++) {
        hn_model *m = copy_to_edit(g);
        char name[16];
        hone_error err = {0};
        snprintf(name, sizeof name, "d%d", size);
        if (hn_fix_dim(m, name, size, &err) != HONE_OK)
            hn_model_free(m);
        else if (try_edited(g, s, m, NULL, NULL))
            return true;
    }
    return false;
}

void shrink(grown *g, const contest_setup *s) {
    while (drop_an_output(g, s) || cut_a_node(g, s) || fix_a_dimension(g, s))
        ;
}
