/* Notes: what the textual syntax cannot express (see text_print.c). */
#include "ir/text_int.h"

void hn_text_put_props(hn_text_out *o, const hn_props *props) {
    hn_strbuf_puts(o->b, "[");
    for (uint32_t i = 0; i < props->n; i++) {
        hn_strbuf_puts(o->b, i > 0 ? ", " : "");
        hn_text_put_str(o, props->at[i].key);
        hn_strbuf_puts(o->b, ": ");
        hn_text_put_str(o, props->at[i].value);
    }
    hn_strbuf_puts(o->b, "]");
}

/* ---- one note: fields after its subject ------------------------------------------------------ */

static void begin_note(hn_text_out *o, const char *subject, hn_str name) {
    hn_text_put_indent(o);
    hn_strbuf_puts(o->b, HN_TEXT_NOTE);
    hn_strbuf_puts(o->b, subject);
    hn_strbuf_puts(o->b, " ");
    o->in_note = true;
    if (name) {
        hn_text_put_name(o, name);
        hn_strbuf_puts(o->b, " ");
    }
}

static void end_note(hn_text_out *o) {
    o->in_note = false;
    hn_text_end_line(o);
}

static void put_note_field(hn_text_out *o, bool *first, const char *key, hn_str value) {
    if (hn_str_empty(value))
        return;
    hn_strbuf_printf(o->b, "%s%s: ", *first ? "" : ", ", key);
    hn_text_put_str(o, value);
    *first = false;
}

static void put_note_props(hn_text_out *o, bool *first, const hn_props *props) {
    if (props->n == 0)
        return;
    hn_strbuf_printf(o->b, "%smetadata_props: ", *first ? "" : ", ");
    hn_text_put_props(o, props);
    *first = false;
}

static bool has_printable_extra(const hn_extra *e) {
    return e && (!hn_str_empty(e->doc) || e->props.n > 0);
}

static void put_note_extra(hn_text_out *o, bool *first, const hn_extra *e) {
    if (!e)
        return;
    put_note_field(o, first, "doc_string", e->doc);
    put_note_props(o, first, &e->props);
}

static void put_extra_note(hn_text_out *o, const char *subject, hn_str name, const hn_extra *e) {
    bool first = true;
    if (!has_printable_extra(e))
        return;
    begin_note(o, subject, name);
    put_note_extra(o, &first, e);
    end_note(o);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void put_graph_note(hn_text_out *o, hn_id block, const hn_block *b) {
    bool has_name = block != 0 && !hn_text_is_plain_graph_name(b->name);
    bool first = !has_name;
    if (!has_name && !has_printable_extra(b->extra))
        return;
    begin_note(o, "graph", NULL);
    if (has_name) {
        hn_strbuf_puts(o->b, "name: ");
        hn_text_put_str(o, b->name);
    }
    put_note_extra(o, &first, b->extra);
    end_note(o);
}

static void put_dim_denotations(hn_text_out *o, bool *first, const hn_type *type) {
    hn_strbuf_printf(o->b, "%sdim_denotations: [", *first ? "" : ", ");
    for (int32_t i = 0; i < type->shape.rank; i++) {
        hn_strbuf_puts(o->b, i > 0 ? ", " : "");
        hn_text_put_str(o, type->dim_denotations[i]);
    }
    hn_strbuf_puts(o->b, "]");
    *first = false;
}

static void put_value_note(hn_text_out *o, const hn_value *v) {
    bool first = true;
    bool has_denotation = v->type && !hn_str_empty(v->type->denotation);
    bool has_dims = v->type && v->type->dim_denotations && v->type->shape.rank > 0;
    if (!has_printable_extra(v->extra) && !has_denotation && !has_dims)
        return;
    begin_note(o, "value", v->name);
    put_note_extra(o, &first, v->extra);
    if (has_denotation)
        put_note_field(o, &first, "denotation", v->type->denotation);
    if (has_dims)
        put_dim_denotations(o, &first, v->type);
    end_note(o);
}

/* Values declared in this block; one that is declared twice gets its note at the first
 * declaration. */
static void put_value_notes(hn_text_out *o, hn_id block, const hn_block *b) {
    for (uint32_t i = 0; i < b->inputs.n; i++)
        put_value_note(o, hn_value_at(o->graph, b->inputs.at[i]));
    for (uint32_t i = 0; i < b->outputs.n; i++) {
        const hn_value *v = hn_value_at(o->graph, b->outputs.at[i]);
        if (v->block == block && !v->is_input)
            put_value_note(o, v);
    }
    for (uint32_t i = 0; i < b->value_infos.n; i++) {
        const hn_value *v = hn_value_at(o->graph, b->value_infos.at[i]);
        if (v->block == block && !v->is_input)
            put_value_note(o, v);
    }
}

void hn_text_put_body_notes(hn_text_out *o, hn_id block, const hn_function *f) {
    const hn_block *b = hn_block_at(o->graph, block);
    if (!f) {
        put_graph_note(o, block, b);
    } else if (f->extra && f->extra->props.n > 0) {
        const hn_extra props_only = {.props = f->extra->props};
        put_extra_note(o, "function", NULL, &props_only);
    }
    put_value_notes(o, block, b);
    for (uint32_t i = 0; i < b->inits.n; i++) {
        const hn_value *v = hn_value_at(o->graph, b->inits.at[i]);
        put_extra_note(o, "initializer", v->name, v->init->extra);
    }
    for (uint32_t i = 0; i < b->sparse_inits.n; i++) {
        begin_note(o, "sparse_initializer", NULL);
        hn_text_put_sparse(o, hn_value_at(o->graph, b->sparse_inits.at[i])->sparse_init);
        end_note(o);
    }
    for (uint32_t i = 0; i < b->quant.n; i++) {
        begin_note(o, "quantization", b->quant.at[i].tensor);
        hn_text_put_props(o, &b->quant.at[i].params);
        end_note(o);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_attr_note(hn_text_out *o, const hn_attr *a) {
    hn_str tensor_name = a->kind == HN_ATTR_TENSOR && !a->ref ? a->v.tensor->name : NULL;
    bool is_in_text = tensor_name && hn_text_is_identifier(tensor_name->s, tensor_name->n) &&
                      !hn_text_is_type_word(tensor_name->s, tensor_name->n);
    bool first = true;
    if (is_in_text)
        tensor_name = NULL;
    if (hn_str_empty(tensor_name) && !(a->extra && !hn_str_empty(a->extra->doc)))
        return;
    begin_note(o, "attr", a->name);
    put_note_field(o, &first, "tensor_name", tensor_name);
    put_note_field(o, &first, "doc_string", a->extra ? a->extra->doc : NULL);
    end_note(o);
}

void hn_text_put_node_notes(hn_text_out *o, const hn_node *node) {
    put_extra_note(o, "node", NULL, node->extra);
    for (uint32_t i = 0; i < node->n_attrs; i++)
        put_attr_note(o, &node->attrs[i]);
}
