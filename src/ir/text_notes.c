/* Notes: comments that carry what the textual syntax cannot express (see text_print.c). */
#include "ir/text_int.h"

hone_status hn_text_props(hn_text *t, hn_props *out) {
    HN_TRY(hn_text_expect(t, '[', "before pairs of strings"));
    if (hn_text_accept(t, ']'))
        return HONE_OK;
    do {
        hn_prop prop;
        HN_TRY(hn_text_string_name(t, "a key", &prop.key));
        HN_TRY(hn_text_expect(t, ':', "after the key \"%s\"", prop.key->s));
        HN_TRY(hn_text_string_name(t, "a value", &prop.value));
        HN_TRY_PTR(HN_VEC_PUSH(t->model->arena, out, prop));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, ']', "after pairs of strings");
}

/* Contents of the notes of one element; fields that do not apply to it are unused. */
typedef struct note_fields {
    hn_extra *extra; /* made when needed */
    hn_str name, tensor_name, denotation;
    HN_VEC(hn_str) dim_denotations;
} note_fields;

static hone_status note_extra(hn_text *t, note_fields *f) {
    if (!f->extra)
        f->extra = HN_NEW(t->model->arena, hn_extra);
    HN_TRY_PTR(f->extra);
    return HONE_OK;
}

static hone_status read_dim_denotations(hn_text *t, note_fields *f) {
    HN_TRY(hn_text_expect(t, '[', "before the denotations"));
    do {
        hn_str one;
        HN_TRY(hn_text_string_name(t, "a denotation", &one));
        HN_TRY_PTR(HN_VEC_PUSH(t->model->arena, &f->dim_denotations, one->n ? one : NULL));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, ']', "after the denotations");
}

static bool accept_key(hn_text *t, const char *key) {
    return hn_text_accept_word(t, key) && hn_text_accept(t, ':');
}

static hone_status read_note_field(hn_text *t, note_fields *f) {
    HN_TRY(note_extra(t, f));
    if (accept_key(t, "doc_string"))
        return hn_text_string_name(t, "a text", &f->extra->doc);
    if (accept_key(t, "metadata_props"))
        return hn_text_props(t, &f->extra->props);
    if (accept_key(t, "name"))
        return hn_text_string_name(t, "a name", &f->name);
    if (accept_key(t, "tensor_name"))
        return hn_text_string_name(t, "a name", &f->tensor_name);
    if (accept_key(t, "denotation"))
        return hn_text_string_name(t, "a denotation", &f->denotation);
    if (accept_key(t, "dim_denotations"))
        return read_dim_denotations(t, f);
    return hn_text_expected(t, "a field of the note and ':'");
}

static hone_status read_note_fields(hn_text *t, note_fields *f) {
    do {
        HN_TRY(read_note_field(t, f));
    } while (hn_text_accept(t, ','));
    return HONE_OK;
}

/* ---- notes at the beginning of a body -------------------------------------------------------- */

static hone_status read_value_note(hn_text *t, hn_id block) {
    hn_text_reader r = {.kind = HN_READS_NOTE, .at = block};
    note_fields f = {0};
    HN_TRY(hn_text_name(t, "the name of a value", &r.name));
    HN_TRY(read_note_fields(t, &f));
    bool has_extra = f.extra->doc || f.extra->props.n > 0;
    r.extra = has_extra ? f.extra : NULL;
    r.denotation = f.denotation;
    r.dim_denotations = f.dim_denotations.at;
    r.n_dim_denotations = f.dim_denotations.n;
    HN_TRY_PTR(HN_VEC_PUSH(t->scratch, &t->readers, r));
    return HONE_OK;
}

static hone_status read_initializer_note(hn_text *t, hn_id block) {
    hn_str name;
    note_fields f = {0};
    hn_text_peek(t);
    const char *at = t->at;
    HN_TRY(hn_text_name(t, "the name of an initializer", &name));
    HN_TRY(read_note_fields(t, &f));
    hn_id id = hn_graph_find_local(t->graph, block, name);
    if (id == HN_NONE || !hn_value_at(t->graph, id)->init)
        return hn_text_fail(t, at, "'%s' is not an initializer of this graph", name->s);
    hn_value *v = hn_value_at(t->graph, id);
    hn_tensor *copy = hn_arena_copy(t->model->arena, v->init, sizeof(*copy));
    HN_TRY_PTR(copy);
    copy->extra = f.extra;
    v->init = copy;
    return HONE_OK;
}

static hone_status read_sparse_initializer_note(hn_text *t, hn_id block) {
    const hn_type *type;
    const hn_sparse *sparse;
    hn_text_peek(t);
    const char *at = t->at;
    HN_TRY(hn_text_type(t, &type));
    if (type->kind != HN_TYPE_SPARSE)
        return hn_text_fail(t, at, "expected sparse_tensor(...)");
    HN_TRY(hn_text_sparse(t, type, &sparse));
    if (!sparse->values->name)
        return hn_text_fail(t, at, "the values of a sparse initializer need a name");
    hn_id value = hn_graph_find_local(t->graph, block, sparse->values->name);
    if (value == HN_NONE || hn_value_at(t->graph, value)->sparse_init)
        value = hn_graph_add_value(t->graph, block, sparse->values->name);
    if (value == HN_NONE)
        return HONE_E_NOMEM;
    hn_value_at(t->graph, value)->sparse_init = sparse;
    hn_block *b = hn_block_at(t->graph, block);
    HN_TRY_PTR(HN_VEC_PUSH(t->model->arena, &b->sparse_inits, value));
    return HONE_OK;
}

static hone_status read_quantization_note(hn_text *t, hn_id block) {
    hn_quant_annotation q = {0};
    HN_TRY(hn_text_name(t, "the name of a value", &q.tensor));
    HN_TRY(hn_text_props(t, &q.params));
    hn_block *b = hn_block_at(t->graph, block);
    HN_TRY_PTR(HN_VEC_PUSH(t->model->arena, &b->quant, q));
    return HONE_OK;
}

static hone_status read_graph_note(hn_text *t, hn_id block) {
    note_fields f = {0};
    HN_TRY(read_note_fields(t, &f));
    hn_block *b = hn_block_at(t->graph, block);
    if (f.name)
        b->name = f.name;
    if (f.extra->doc || f.extra->props.n > 0)
        b->extra = f.extra;
    return HONE_OK;
}

/* The header of a function has room for its doc_string. */
static hone_status read_function_note(hn_text *t, hn_function *function) {
    note_fields f = {0};
    HN_TRY(read_note_fields(t, &f));
    if (function->extra)
        f.extra->doc = function->extra->doc;
    function->extra = f.extra;
    return HONE_OK;
}

static hone_status read_body_note(hn_text *t, hn_id block, hn_function *function) {
    if (hn_text_accept_word(t, "value"))
        return read_value_note(t, block);
    if (hn_text_accept_word(t, "initializer"))
        return read_initializer_note(t, block);
    if (hn_text_accept_word(t, "sparse_initializer"))
        return read_sparse_initializer_note(t, block);
    if (hn_text_accept_word(t, "quantization"))
        return read_quantization_note(t, block);
    if (!function && hn_text_accept_word(t, "graph"))
        return read_graph_note(t, block);
    if (function && hn_text_accept_word(t, "function"))
        return read_function_note(t, function);
    return hn_text_expected(t, "what the note is about");
}

hone_status hn_text_body_notes(hn_text *t, hn_id block, hn_function *f) {
    while (hn_text_note_begin(t)) {
        HN_TRY(read_body_note(t, block, f));
        HN_TRY(hn_text_note_end(t));
    }
    return HONE_OK;
}

/* ---- notes after a node ---------------------------------------------------------------------- */

static hone_status name_attr_tensor(hn_text *t, hn_attr *a, hn_str name) {
    if (a->kind != HN_ATTR_TENSOR || a->ref)
        return hn_text_fail(t, t->at, "attribute '%s' is not a tensor", a->name->s);
    hn_tensor *copy = hn_arena_copy(t->model->arena, a->v.tensor, sizeof(*copy));
    HN_TRY_PTR(copy);
    copy->name = name;
    a->v.tensor = copy;
    return HONE_OK;
}

static hone_status read_attr_note(hn_text *t, hn_node *n) {
    hn_str name;
    note_fields f = {0};
    HN_TRY(hn_text_name(t, "the name of an attribute", &name));
    HN_TRY(read_note_fields(t, &f));
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        hn_attr *a = &n->attrs[i];
        if (a->name != name)
            continue;
        if (f.extra->doc)
            a->extra = f.extra;
        return f.tensor_name ? name_attr_tensor(t, a, f.tensor_name) : HONE_OK;
    }
    return hn_text_fail(t, t->at, "the node has no attribute '%s'", name->s);
}

static hone_status read_node_note(hn_text *t, hn_node *n) {
    if (hn_text_accept_word(t, "attr"))
        return read_attr_note(t, n);
    if (!hn_text_accept_word(t, "node"))
        return hn_text_expected(t, "'node' or 'attr'");
    note_fields f = {0};
    HN_TRY(read_note_fields(t, &f));
    if (n->extra)
        f.extra->overload = n->extra->overload;
    n->extra = f.extra;
    return HONE_OK;
}

hone_status hn_text_node_notes(hn_text *t, hn_id node) {
    while (hn_text_note_begin(t)) {
        HN_TRY(read_node_note(t, hn_node_at(t->graph, node)));
        HN_TRY(hn_text_note_end(t));
    }
    return HONE_OK;
}
