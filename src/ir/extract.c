/* Extraction of the part of a graph between named values. */
#include "ir/graph_int.h"

typedef struct extraction {
    hn_graph *g;
    hn_arena *scratch;
    uint32_t n_inputs, n_outputs;
    hn_id *inputs, *outputs;
    hn_map is_input;    /* values that become inputs: the walk ends there */
    hn_map is_reached;  /* values that some output needs */
    HN_VEC(hn_id) work; /* values to follow */
    hone_error *err;
} extraction;

static hone_status resolve_names(extraction *x, uint32_t n, const hn_str *names, hn_id *out,
                                 const char *role) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = hn_graph_find_local(x->g, 0, names[i]);
        if (out[i] == HN_NONE) {
            hn_str like = hn_graph_similar_name(x->g, 0, names[i]);
            return hn_fail(x->err, HONE_E_NOT_FOUND,
                           "cannot extract: the main graph has no value '%s' to be an %s%s%s%s",
                           hn_s(names[i]), role, like ? "; did you mean '" : "", hn_s(like),
                           like ? "'?" : "");
        }
        for (uint32_t j = 0; j < i; j++) {
            if (out[j] == out[i])
                return hn_fail(x->err, HONE_E_ARGUMENT,
                               "cannot extract: value '%s' is given twice as an %s", hn_s(names[i]),
                               role);
        }
    }
    return HONE_OK;
}

/* ---- what the outputs need ------------------------------------------------------------------- */

static hone_status reach_value(extraction *x, hn_id value, uint32_t output) {
    if (value == HN_NONE || hn_map_get(&x->is_reached, value) != HN_MAP_NONE)
        return HONE_OK;
    const hn_value *v = hn_value_at(x->g, value);
    bool is_cut = hn_map_get(&x->is_input, value) != HN_MAP_NONE;
    bool is_constant = v->init || v->sparse_init;
    if (v->block == 0 && !is_cut && !is_constant) {
        const char *needs = hn_s(hn_value_at(x->g, x->outputs[output])->name);
        if (v->is_input)
            return hn_fail(x->err, HONE_E_INVALID,
                           "cannot extract: output '%s' depends on graph input '%s', which is not "
                           "among the inputs given; add it, or a value between the two",
                           needs, hn_s(v->name));
        if (v->producer == HN_NONE)
            return hn_fail(x->err, HONE_E_INVALID,
                           "cannot extract: output '%s' depends on '%s', which nothing computes",
                           needs, hn_s(v->name));
    }
    if (!hn_map_put(&x->is_reached, value, 1) ||
        (!is_cut && !HN_VEC_PUSH(x->scratch, &x->work, value)))
        return HONE_E_NOMEM;
    return HONE_OK;
}

static hone_status follow_into_node(extraction *x, hn_id node, uint32_t output);

/* Recursion is bounded by HN_MAX_BLOCK_DEPTH. */
static hone_status follow_into_block(extraction *x, hn_id block, uint32_t output) {
    const hn_block *b = hn_block_at(x->g, block);
    for (uint32_t i = 0; i < b->outputs.n; i++)
        HN_TRY(reach_value(x, b->outputs.at[i], output));
    for (uint32_t i = 0; i < b->nodes.n; i++)
        HN_TRY(follow_into_node(x, b->nodes.at[i], output));
    return HONE_OK;
}

static hone_status follow_into_node(extraction *x, hn_id node, uint32_t output) {
    const hn_node *n = hn_node_at(x->g, node);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        HN_TRY(reach_value(x, n->inputs[i], output));
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        uint32_t n_blocks;
        const hn_id *blocks = hn_attr_blocks(&n->attrs[i], &n_blocks);
        for (uint32_t j = 0; j < n_blocks; j++)
            HN_TRY(follow_into_block(x, blocks[j], output));
    }
    return HONE_OK;
}

/* A node is reached once for each needed output; `is_entered` avoids walking its subgraphs again.
 */
static hone_status follow_outputs(extraction *x) {
    hn_map is_entered;
    hn_map_init(&is_entered, x->scratch);
    for (uint32_t i = 0; i < x->n_outputs; i++) {
        HN_TRY(reach_value(x, x->outputs[i], i));
        while (x->work.n > 0) {
            hn_id node = hn_value_at(x->g, x->work.at[--x->work.n])->producer;
            if (node == HN_NONE || hn_map_get(&is_entered, node) != HN_MAP_NONE)
                continue;
            if (!hn_map_put(&is_entered, node, 1))
                return HONE_E_NOMEM;
            HN_TRY(follow_into_node(x, node, i));
        }
    }
    return HONE_OK;
}

/* ---- the new interface ----------------------------------------------------------------------- */

/* The producer may still be needed for its other outputs: it gets a new value as this output. */
static bool cut_from_producer(hn_graph *g, hn_id value) {
    hn_id node = hn_value_at(g, value)->producer;
    if (node == HN_NONE)
        return true;
    uint32_t slot = hn_value_at(g, value)->slot;
    hn_id stand_in = hn_graph_add_value(g, 0, NULL);
    if (stand_in == HN_NONE)
        return false;
    hn_graph_set_output(g, node, slot, stand_in);
    hn_value_at(g, stand_in)->type = hn_value_at(g, value)->type;
    return true;
}

/* A value that becomes an input loses its producer or its data. */
static bool set_interface_inputs(extraction *x) {
    hn_graph *g = x->g;
    for (uint32_t i = 0; i < x->n_inputs; i++) {
        if (!hn_value_at(g, x->inputs[i])->is_input)
            hn_graph_remove_value_listing(g, x->inputs[i]);
        if (!cut_from_producer(g, x->inputs[i]))
            return false;
    }
    hn_block *b = hn_block_at(g, 0);
    for (uint32_t i = 0; i < b->inputs.n; i++)
        hn_value_at(g, b->inputs.at[i])->is_input = false;
    b->inputs.n = 0;
    for (uint32_t i = 0; i < x->n_inputs; i++) {
        if (!hn_graph_add_input(g, 0, x->inputs[i]))
            return false;
        hn_value_at(g, x->inputs[i])->is_declared = true;
    }
    return true;
}

/* Before IR version 4 every initializer is the default of an input of the same name. */
static bool declare_inits(hn_graph *g) {
    const hn_block *b = hn_block_at(g, 0);
    if (!g->model->has_ir_version || g->model->ir_version >= 4)
        return true;
    for (uint32_t i = 0; i < b->inits.n; i++) {
        if (!hn_value_at(g, b->inits.at[i])->is_input && !hn_graph_add_input(g, 0, b->inits.at[i]))
            return false;
    }
    return true;
}

static bool set_interface_outputs(extraction *x) {
    hn_graph *g = x->g;
    hn_block *b = hn_block_at(g, 0);
    while (b->outputs.n > x->n_outputs)
        hn_graph_drop_output(g, 0, b->outputs.n - 1);
    for (uint32_t i = 0; i < x->n_outputs; i++) {
        if (i < b->outputs.n ? !hn_graph_set_output_at(g, 0, i, x->outputs[i])
                             : !hn_graph_add_output(g, 0, x->outputs[i]))
            return false;
        hn_value_at(g, x->outputs[i])->is_declared = true;
    }
    return true;
}

static hone_status extract(extraction *x, const hn_str *inputs, const hn_str *outputs) {
    x->inputs = HN_NEW_N(x->scratch, hn_id, x->n_inputs);
    x->outputs = HN_NEW_N(x->scratch, hn_id, x->n_outputs);
    if (!x->inputs || !x->outputs)
        return HONE_E_NOMEM;
    HN_TRY(resolve_names(x, x->n_inputs, inputs, x->inputs, "input"));
    HN_TRY(resolve_names(x, x->n_outputs, outputs, x->outputs, "output"));
    for (uint32_t i = 0; i < x->n_inputs; i++) {
        if (!hn_map_put(&x->is_input, x->inputs[i], 1))
            return HONE_E_NOMEM;
    }
    HN_TRY(follow_outputs(x));
    if (!set_interface_outputs(x) || !set_interface_inputs(x))
        return HONE_E_NOMEM;
    if (hn_graph_remove_dead(x->g, true) == HN_NONE || !declare_inits(x->g))
        return HONE_E_NOMEM;
    if (x->g == x->g->model->graph && !hn_model_drop_unused_functions(x->g->model))
        return HONE_E_NOMEM;
    return HONE_OK;
}

hone_status hn_graph_extract(hn_graph *g, uint32_t n_inputs, const hn_str *inputs,
                             uint32_t n_outputs, const hn_str *outputs, hone_error *err) {
    if (n_outputs == 0)
        return hn_fail(err, HONE_E_ARGUMENT, "cannot extract: name at least one output");
    extraction x = {.g = g, .n_inputs = n_inputs, .n_outputs = n_outputs, .err = err};
    x.scratch = hn_arena_new(hn_arena_allocator(g->model->arena));
    HN_TRY_PTR(x.scratch);
    hn_map_init(&x.is_input, x.scratch);
    hn_map_init(&x.is_reached, x.scratch);
    hone_status status = extract(&x, inputs, outputs);
    hn_arena_free(x.scratch);
    return status;
}
