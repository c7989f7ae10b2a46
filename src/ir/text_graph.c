/* Graphs and function bodies of the textual syntax, and the resolution of names. */
#include "ir/text_int.h"

/* ---- values ---------------------------------------------------------------------------------- */

static hone_status read_typed_name(hn_text *t, const hn_type **type, hn_str *name) {
    *type = NULL;
    if (hn_text_next_is_type(t))
        HN_TRY(hn_text_type(t, type));
    return hn_text_name(t, "the name of a value", name);
}

static hone_status note_reader(hn_text *t, hn_text_reader reader) {
    HN_TRY_PTR(HN_VEC_PUSH(t->scratch, &t->readers, reader));
    return HONE_OK;
}

/* An initializer may be the default of an input; a second one of the same name is kept, so that the
 * checker reports it. */
static hone_status read_initializer(hn_text *t, hn_id block, const hn_type *type, hn_str name) {
    hn_graph *g = t->graph;
    if (!type)
        return hn_text_fail(t, t->at, "the initializer '%s' needs a type before its name", name->s);
    const hn_tensor *tensor;
    HN_TRY(hn_text_tensor_data(t, type, name, &tensor));
    hn_id value = hn_graph_find_local(g, block, name);
    if (value == HN_NONE || hn_value_at(g, value)->init)
        value = hn_graph_add_value(g, block, name);
    if (value == HN_NONE || !hn_graph_add_init(g, value, tensor))
        return HONE_E_NOMEM;
    return HONE_OK;
}

/* A value may be described twice, as an output and in the list of types; the first description
 * counts. */
static void declare_value(hn_value *v, const hn_type *type) {
    if (!v->type)
        v->type = type;
    v->is_declared = true;
}

static hone_status add_formal_input(hn_text *t, hn_id block, hn_str name, hn_id *value) {
    *value = hn_graph_add_value(t->graph, block, name);
    if (*value == HN_NONE || !hn_graph_add_input(t->graph, block, *value))
        return HONE_E_NOMEM;
    return HONE_OK;
}

/* ---- parts of a graph ------------------------------------------------------------------------ */

static hone_status read_graph_inputs(hn_text *t, hn_id block) {
    if (!hn_text_accept(t, '(') || hn_text_accept(t, ')'))
        return HONE_OK;
    do {
        const hn_type *type;
        hn_str name;
        hn_id value;
        HN_TRY(read_typed_name(t, &type, &name));
        HN_TRY(add_formal_input(t, block, name, &value));
        declare_value(hn_value_at(t->graph, value), type);
        if (hn_text_accept(t, '='))
            HN_TRY(read_initializer(t, block, type, name));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, ')', "after the inputs of the graph");
}

static hone_status read_graph_outputs(hn_text *t, hn_id block) {
    HN_TRY(hn_text_expect(t, '(', "before the outputs of the graph"));
    if (hn_text_accept(t, ')'))
        return HONE_OK;
    do {
        hn_text_reader reader = {.kind = HN_READS_OUTPUT, .at = block, .is_declaration = true};
        HN_TRY(read_typed_name(t, &reader.type, &reader.name));
        HN_TRY(note_reader(t, reader));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, ')', "after the outputs of the graph");
}

static hone_status read_value_list(hn_text *t, hn_id block, bool allow_initializers) {
    if (!hn_text_accept(t, '<') || hn_text_accept(t, '>'))
        return HONE_OK;
    do {
        hn_text_reader reader = {.kind = HN_READS_VALUE_INFO, .at = block, .is_declaration = true};
        HN_TRY(read_typed_name(t, &reader.type, &reader.name));
        if (allow_initializers && hn_text_accept(t, '='))
            HN_TRY(read_initializer(t, block, reader.type, reader.name));
        else
            HN_TRY(note_reader(t, reader));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, '>', "after the initializers and value types");
}

static hone_status read_body(hn_text *t, hn_id block, hn_function *f) {
    HN_TRY(hn_text_expect(t, '{', "before the nodes"));
    HN_TRY(hn_text_body_notes(t, block, f));
    while (!hn_text_accept(t, '}')) {
        if (hn_text_peek(t) < 0)
            return hn_text_expected(t, "a node or '}' after the nodes");
        HN_TRY(hn_text_node(t, block));
    }
    return HONE_OK;
}

hone_status hn_text_graph_rest(hn_text *t, hn_id block) {
    HN_TRY(read_graph_inputs(t, block));
    HN_TRY(hn_text_expect_arrow(t, "the inputs of the graph"));
    HN_TRY(read_graph_outputs(t, block));
    HN_TRY(read_value_list(t, block, true));
    return read_body(t, block, NULL);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* A type before a formal parameter is a value_info of the function: parameters themselves have
 * none. */
static hone_status read_formals(hn_text *t, bool is_output) {
    const char *what = is_output ? "outputs" : "inputs";
    HN_TRY(hn_text_expect(t, '(', "before the %s of the function", what));
    if (hn_text_accept(t, ')'))
        return HONE_OK;
    do {
        hn_text_reader info = {.kind = HN_READS_VALUE_INFO, .is_declaration = true};
        hn_text_reader output = {.kind = HN_READS_OUTPUT};
        hn_id value;
        HN_TRY(read_typed_name(t, &info.type, &info.name));
        output.name = info.name;
        if (is_output)
            HN_TRY(note_reader(t, output));
        else
            HN_TRY(add_formal_input(t, 0, info.name, &value));
        if (info.type)
            HN_TRY(note_reader(t, info));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, ')', "after the %s of the function", what);
}

hone_status hn_text_function_rest(hn_text *t, hn_function *f) {
    HN_TRY(read_formals(t, false));
    HN_TRY(hn_text_expect_arrow(t, "the inputs of the function"));
    HN_TRY(read_formals(t, true));
    HN_TRY(read_value_list(t, 0, false));
    return read_body(t, 0, f);
}

/* ---- names ----------------------------------------------------------------------------------- */

static hone_status apply_value_note(hn_text *t, const hn_text_reader *r) {
    hn_id id = hn_graph_find(t->graph, r->at, r->name);
    if (id == HN_NONE)
        return hn_fail(t->err, HONE_E_FORMAT,
                       "a note names the value '%s', which the text does not have", r->name->s);
    hn_value *v = hn_value_at(t->graph, id);
    v->extra = r->extra;
    if (!v->type || (!r->denotation && !r->dim_denotations))
        return HONE_OK;
    hn_type *type = hn_arena_copy(t->model->arena, v->type, sizeof(*type));
    HN_TRY_PTR(type);
    type->denotation = r->denotation;
    if (type->shape.rank > 0 && r->n_dim_denotations == (uint32_t)type->shape.rank)
        type->dim_denotations = r->dim_denotations;
    v->type = type;
    return HONE_OK;
}

/* An undefined name becomes a value without a producer, which the checker reports. Declared types
 * belong to values of the block itself; other references may be to outer values. */
static hone_status resolve_reader(hn_text *t, const hn_text_reader *r) {
    hn_graph *g = t->graph;
    if (r->kind == HN_READS_NOTE)
        return apply_value_note(t, r);
    hn_id block = r->kind == HN_READS_INPUT ? hn_node_at(g, r->at)->block : r->at;
    bool is_local = r->kind == HN_READS_VALUE_INFO;
    hn_id value =
        is_local ? hn_graph_find_local(g, block, r->name) : hn_graph_find(g, block, r->name);
    if (value == HN_NONE)
        value = hn_graph_add_value(g, block, r->name);
    if (value == HN_NONE)
        return HONE_E_NOMEM;
    bool done;
    if (r->kind == HN_READS_INPUT)
        done = hn_graph_set_input(g, r->at, r->slot, value);
    else if (r->kind == HN_READS_OUTPUT)
        done = hn_graph_add_output(g, block, value);
    else
        done = HN_VEC_PUSH(t->model->arena, &hn_block_at(g, block)->value_infos, value);
    if (r->is_declaration)
        declare_value(hn_value_at(g, value), r->type);
    return done ? HONE_OK : HONE_E_NOMEM;
}

/* Nodes first: a declared type creates a value, which must not hide an outer one. */
hone_status hn_text_resolve(hn_text *t) {
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < t->readers.n; i++) {
            const hn_text_reader *r = &t->readers.at[i];
            int its_pass = r->kind == HN_READS_INPUT ? 0 : r->kind == HN_READS_NOTE ? 2 : 1;
            if (its_pass == pass)
                HN_TRY(resolve_reader(t, r));
        }
    }
    t->readers.n = 0;
    return HONE_OK;
}
