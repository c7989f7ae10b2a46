/* Models in ONNX's textual syntax, as onnx.parser reads it, with these additions:
 *
 * - What the syntax cannot express is written as notes: comments that begin with "#hone ", which
 *   other readers skip. Before the first node of a graph or function:
 *       #hone graph name: "a/b", doc_string: "...", metadata_props: ["key": "value"]
 *       #hone function metadata_props: [...]
 *       #hone value x doc_string: "...", metadata_props: [...]
 *       #hone value x denotation: "IMAGE", dim_denotations: ["DATA_BATCH", ""]
 *       #hone initializer w doc_string: "...", metadata_props: [...]
 *       #hone sparse_initializer sparse_tensor(float[9]) {float[1] w = {5}, int64[1] {3}}
 *       #hone quantization x ["SCALE_TENSOR": "x_scale"]
 *   and after a node:
 *       #hone node doc_string: "...", metadata_props: [...]
 *       #hone attr value tensor_name: "a/b", doc_string: "..."
 *   A graph attribute whose name is not an identifier is called "_", and a note has its name. In
 * the strings of notes \n and \r are line breaks.
 * - Names of domains, operators, overloads and attributes that are not identifiers are quoted.
 *   Sparse attributes are written sparse_tensor(float[9]) {values, indices}. A missing element type
 *   is "undefined", and the type inside a sequence, optional or map may be missing.
 * - A NaN other than the two default ones is written as its bits: 0x7f800001. The parser accepts
 *   bits in that form for any number.
 * - As in onnx, small floats are integers (their bits) and sub-byte elements are bytes, the first
 *   element in the low bits. The parser also accepts small floats as numbers with a decimal point,
 *   and sub-byte tensors with one number per element.
 * - A tensor whose data is missing has empty braces.
 *
 * Not in the text: wire fields that hone does not interpret, denotations inside of sequences and
 * attributes, doc_string of the attributes that a function declares, the difference between an
 * empty and an absent string. */
#include "ir/text_int.h"

/* ---- lines ----------------------------------------------------------------------------------- */

void hn_text_put_indent(hn_text_out *o) {
    for (int i = 0; i < o->indent; i++)
        hn_strbuf_puts(o->b, "   ");
}

void hn_text_end_line(hn_text_out *o) {
    if (o->n_left_out > 0)
        hn_strbuf_printf(o->b, "  # %llu elements omitted", (unsigned long long)o->n_left_out);
    o->n_left_out = 0;
    hn_strbuf_puts(o->b, "\n");
}

static void put_separator(hn_text_out *o, uint32_t i) {
    if (i > 0)
        hn_strbuf_puts(o->b, ", ");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_value_names(hn_text_out *o, uint32_t n, const hn_id *values) {
    for (uint32_t i = 0; i < n; i++) {
        put_separator(o, i);
        if (values[i] == HN_NONE)
            hn_strbuf_puts(o->b, "\"\"");
        else
            hn_text_put_name(o, hn_value_at(o->graph, values[i])->name);
    }
}

static bool has_inner_graph(const hn_node *n) {
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        if (n->attrs[i].kind == HN_ATTR_GRAPH || n->attrs[i].kind == HN_ATTR_GRAPHS)
            return true;
    }
    return false;
}

static void put_attrs(hn_text_out *o, const hn_node *n) {
    if (n->n_attrs == 0)
        return;
    hn_strbuf_puts(o->b, " <");
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        put_separator(o, i);
        hn_text_put_attr(o, &n->attrs[i]);
    }
    hn_strbuf_puts(o->b, ">");
}

static void put_op(hn_text_out *o, const hn_node *n) {
    if (!hn_str_empty(n->domain)) {
        hn_text_put_dotted(o, n->domain);
        hn_strbuf_puts(o->b, ".");
    }
    if (!hn_str_empty(n->op) || !hn_str_empty(n->domain))
        hn_text_put_word(o, n->op);
    if (n->extra && !hn_str_empty(n->extra->overload)) {
        hn_strbuf_puts(o->b, ":");
        hn_text_put_word(o, n->extra->overload);
    }
}

static void put_node(hn_text_out *o, const hn_node *n) {
    hn_text_put_indent(o);
    if (!hn_str_empty(n->name)) {
        hn_strbuf_puts(o->b, "[");
        hn_text_put_name(o, n->name);
        hn_strbuf_puts(o->b, "] ");
    }
    put_value_names(o, n->n_outputs, n->outputs);
    hn_strbuf_puts(o->b, n->n_outputs > 0 ? " = " : "= ");
    put_op(o, n);
    bool attrs_last = has_inner_graph(n);
    if (!attrs_last)
        put_attrs(o, n);
    hn_strbuf_puts(o->b, " (");
    put_value_names(o, n->n_inputs, n->inputs);
    hn_strbuf_puts(o->b, ")");
    if (attrs_last)
        put_attrs(o, n);
    hn_text_end_line(o);
    hn_text_put_node_notes(o, n);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void put_value_info(hn_text_out *o, const hn_value *v, bool with_type) {
    if (with_type && v->type && v->type->kind != HN_TYPE_NONE) {
        hn_text_put_type(o, v->type);
        hn_strbuf_puts(o->b, " ");
    }
    hn_text_put_name(o, v->name);
}

static void put_formals(hn_text_out *o, uint32_t n, const hn_id *values, bool with_types) {
    hn_strbuf_puts(o->b, "(");
    for (uint32_t i = 0; i < n; i++) {
        put_separator(o, i);
        put_value_info(o, hn_value_at(o->graph, values[i]), with_types);
    }
    hn_strbuf_puts(o->b, ")");
}

/* Initializers, then the types of values, one per line. */
static void put_value_list(hn_text_out *o, const hn_block *b) {
    uint32_t n = b->inits.n + b->value_infos.n;
    if (n == 0)
        return;
    hn_text_end_line(o);
    hn_text_put_indent(o);
    hn_strbuf_puts(o->b, "<\n");
    o->indent++;
    for (uint32_t i = 0; i < n; i++) {
        hn_text_put_indent(o);
        if (i < b->inits.n) {
            const hn_value *v = hn_value_at(o->graph, b->inits.at[i]);
            hn_text_put_tensor(o, v->init, v->name);
        } else {
            put_value_info(o, hn_value_at(o->graph, b->value_infos.at[i - b->inits.n]), true);
        }
        hn_strbuf_puts(o->b, i + 1 < n ? "," : "");
        hn_text_end_line(o);
    }
    o->indent--;
    hn_text_put_indent(o);
    hn_strbuf_puts(o->b, ">");
}

static void put_interface_and_body(hn_text_out *o, hn_id block, const hn_function *f) {
    const hn_block *b = hn_block_at(o->graph, block);
    put_formals(o, b->inputs.n, b->inputs.at, !f);
    hn_strbuf_puts(o->b, " => ");
    put_formals(o, b->outputs.n, b->outputs.at, !f);
    put_value_list(o, b);
    hn_strbuf_puts(o->b, " {\n");
    o->indent++;
    hn_text_put_body_notes(o, block, f);
    for (uint32_t i = 0; i < b->nodes.n; i++)
        put_node(o, hn_node_at(o->graph, b->nodes.at[i]));
    o->indent--;
    hn_text_put_indent(o);
    hn_strbuf_puts(o->b, "}");
}

bool hn_text_is_plain_graph_name(hn_str name) {
    return name && hn_text_is_identifier(name->s, name->n) &&
           !hn_text_is_type_word(name->s, name->n) && !hn_text_is_float_word(name->s, name->n);
}

void hn_text_put_block(hn_text_out *o, hn_id block) {
    hn_str name = hn_block_at(o->graph, block)->name;
    if (block == 0)
        hn_text_put_name(o, name);
    else
        hn_strbuf_puts(o->b, hn_text_is_plain_graph_name(name) ? name->s : "_");
    hn_strbuf_puts(o->b, " ");
    put_interface_and_body(o, block, NULL);
}

/* ---- headers --------------------------------------------------------------------------------- */

static void put_key(hn_text_out *o, uint32_t *n_fields, const char *key) {
    hn_strbuf_puts(o->b, *n_fields == 0 ? "<\n   " : ",\n   ");
    hn_strbuf_puts(o->b, key);
    hn_strbuf_puts(o->b, ": ");
    ++*n_fields;
}

static void put_string_field(hn_text_out *o, uint32_t *n_fields, const char *key, hn_str value) {
    if (!value)
        return;
    put_key(o, n_fields, key);
    hn_text_put_str(o, value);
}

static void put_i64_field(hn_text_out *o, uint32_t *n_fields, const char *key, int64_t value) {
    put_key(o, n_fields, key);
    hn_strbuf_printf(o->b, "%lld", (long long)value);
}

static void put_opsets(hn_text_out *o, uint32_t *n_fields, const hn_opsets *opsets) {
    if (opsets->n == 0)
        return;
    put_key(o, n_fields, "opset_import");
    hn_strbuf_puts(o->b, "[");
    for (uint32_t i = 0; i < opsets->n; i++) {
        put_separator(o, i);
        hn_text_put_str(o, opsets->at[i].domain);
        hn_strbuf_printf(o->b, " : %lld", (long long)opsets->at[i].version);
    }
    hn_strbuf_puts(o->b, "]");
}

static void put_model_header(hn_text_out *o, const hn_model *m) {
    uint32_t n = 0;
    if (m->has_ir_version)
        put_i64_field(o, &n, "ir_version", m->ir_version);
    put_opsets(o, &n, &m->opsets);
    put_string_field(o, &n, "producer_name", m->producer_name);
    put_string_field(o, &n, "producer_version", m->producer_version);
    put_string_field(o, &n, "domain", m->domain);
    if (m->has_model_version)
        put_i64_field(o, &n, "model_version", m->model_version);
    if (m->extra) {
        put_string_field(o, &n, "doc_string", m->extra->doc);
        if (m->extra->props.n > 0) {
            put_key(o, &n, "metadata_props");
            hn_text_put_props(o, &m->extra->props);
        }
    }
    hn_strbuf_puts(o->b, n > 0 ? "\n>\n" : "");
}

static void put_function_attrs(hn_text_out *o, const hn_function *f) {
    uint32_t n_names = f->attr_names.n, n = n_names + f->attr_defaults.n;
    if (n == 0)
        return;
    hn_strbuf_puts(o->b, "<");
    for (uint32_t i = 0; i < n; i++) {
        put_separator(o, i);
        if (i < n_names)
            hn_text_put_word(o, f->attr_names.at[i]);
        else
            hn_text_put_attr(o, &f->attr_defaults.at[i - n_names]);
    }
    hn_strbuf_puts(o->b, "> ");
}

static void put_function(hn_text_out *o, const hn_function *f) {
    uint32_t n = 0;
    put_string_field(o, &n, "domain", f->domain);
    if (!hn_str_empty(f->overload))
        put_string_field(o, &n, "overload", f->overload);
    put_opsets(o, &n, &f->opsets);
    put_string_field(o, &n, "doc_string", f->extra ? f->extra->doc : NULL);
    hn_strbuf_puts(o->b, n > 0 ? "\n>\n" : "");
    hn_text_put_name(o, f->name);
    hn_strbuf_puts(o->b, " ");
    o->graph = f->graph;
    put_function_attrs(o, f);
    put_interface_and_body(o, 0, f);
    hn_text_end_line(o);
}

void hn_model_print(const hn_model *m, const hn_print_options *options, hn_strbuf *out) {
    hn_text_out o = {.b = out, .model = m, .graph = m->graph, .max_elems = options->max_elems};
    put_model_header(&o, m);
    if (m->graph) {
        hn_text_put_block(&o, 0);
        hn_text_end_line(&o);
    }
    for (uint32_t i = 0; i < m->functions.n; i++) {
        hn_strbuf_puts(out, "\n");
        put_function(&o, m->functions.at[i]);
    }
}
