/* Nodes of the textual syntax: [name] outputs = domain.Op:overload <attributes> (inputs) */
#include "ir/text_int.h"

typedef HN_VEC(hn_str) name_list;

/* Names with commas between; nothing before a comma is an absent value, as is "". A comma at the
 * end adds nothing. */
static hone_status read_names(hn_text *t, name_list *out) {
    for (;;) {
        hn_str name = NULL;
        hn_bytes word;
        int c = hn_text_peek(t);
        if (c == '"' || hn_text_peek_word(t, &word))
            HN_TRY(hn_text_name(t, "the name of a value", &name));
        else if (c != ',')
            return HONE_OK;
        HN_TRY_PTR(HN_VEC_PUSH(t->scratch, out, name));
        if (!hn_text_accept(t, ','))
            return HONE_OK;
    }
}

/* Everything before the last point is the domain. */
static hone_status read_op(hn_text *t, hn_str *domain, hn_str *op) {
    hn_bytes word;
    *domain = NULL;
    if (hn_text_peek(t) != '"' && !hn_text_peek_word(t, &word))
        return hn_text_intern(t, (hn_bytes){"", 0}, op);
    return hn_text_dotted_name(t, "an operator", domain, op);
}

static hone_status read_overload(hn_text *t, const hn_extra **out) {
    *out = NULL;
    if (!hn_text_accept(t, ':'))
        return HONE_OK;
    hn_extra *extra = HN_NEW(t->model->arena, hn_extra);
    HN_TRY_PTR(extra);
    *out = extra;
    return hn_text_name(t, "an overload after ':'", &extra->overload);
}

static hone_status read_arguments(hn_text *t, hn_id block, const char *op, hn_text_attrs *attrs,
                                  name_list *inputs) {
    HN_TRY(hn_text_attr_list(t, block, attrs));
    HN_TRY(hn_text_expect(t, '(', "before the inputs of node '%s'", op));
    HN_TRY(read_names(t, inputs));
    HN_TRY(hn_text_expect(t, ')', "after the inputs of node '%s'", op));
    return attrs->n == 0 ? hn_text_attr_list(t, block, attrs) : HONE_OK;
}

static void own_blocks(hn_graph *g, hn_id node) {
    const hn_node *n = hn_node_at(g, node);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const hn_attr *a = &n->attrs[i];
        if (a->kind == HN_ATTR_GRAPH && !a->ref)
            hn_block_at(g, a->v.block)->owner = node;
        for (uint32_t k = 0; a->kind == HN_ATTR_GRAPHS && k < a->n; k++)
            hn_block_at(g, a->v.blocks[k])->owner = node;
    }
}

static hone_status connect_inputs(hn_text *t, hn_id node, const name_list *inputs) {
    for (uint32_t i = 0; i < inputs->n; i++) {
        if (hn_str_empty(inputs->at[i]))
            continue;
        hn_text_reader reader = {
            .kind = HN_READS_INPUT, .at = node, .slot = i, .name = inputs->at[i]};
        HN_TRY_PTR(HN_VEC_PUSH(t->scratch, &t->readers, reader));
    }
    return HONE_OK;
}

static hone_status define_outputs(hn_text *t, hn_id block, hn_id node, const name_list *outputs) {
    for (uint32_t i = 0; i < outputs->n; i++) {
        if (hn_str_empty(outputs->at[i]))
            continue;
        hn_id value = hn_graph_add_value(t->graph, block, outputs->at[i]);
        if (value == HN_NONE)
            return HONE_E_NOMEM;
        hn_graph_set_output(t->graph, node, i, value);
    }
    return HONE_OK;
}

hone_status hn_text_node(hn_text *t, hn_id block) {
    hn_str name = NULL, domain, op;
    name_list outputs = {0}, inputs = {0};
    hn_text_attrs attrs = {0};
    const hn_extra *extra;
    if (hn_text_accept(t, '[')) {
        HN_TRY(hn_text_name(t, "the name of a node", &name));
        HN_TRY(hn_text_expect(t, ']', "after the name of node '%s'", name->s));
    }
    HN_TRY(read_names(t, &outputs));
    HN_TRY(hn_text_expect(t, '=', "after the outputs of a node"));
    HN_TRY(read_op(t, &domain, &op));
    HN_TRY(read_overload(t, &extra));
    HN_TRY(read_arguments(t, block, op->s, &attrs, &inputs));
    hn_id node = hn_graph_add_node(t->graph, block, domain, op, name, inputs.n, outputs.n, attrs.n,
                                   attrs.at);
    if (node == HN_NONE)
        return HONE_E_NOMEM;
    hn_node_at(t->graph, node)->extra = extra;
    own_blocks(t->graph, node);
    HN_TRY(define_outputs(t, block, node, &outputs));
    HN_TRY(connect_inputs(t, node, &inputs));
    return hn_text_node_notes(t, node);
}
