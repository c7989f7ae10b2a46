/* Whole models of the textual syntax: header, graph, functions. */
#include "ir/text_int.h"

/* ---- headers: <key: value, ...> -------------------------------------------------------------- */

static hone_status read_opsets(hn_text *t, hn_opsets *out) {
    HN_TRY(hn_text_expect(t, '[', "after 'opset_import:'"));
    if (hn_text_accept(t, ']'))
        return HONE_OK;
    do {
        hn_opset opset = {0};
        HN_TRY(hn_text_string_name(t, "a domain", &opset.domain));
        HN_TRY(hn_text_expect(t, ':', "after the domain \"%s\"", opset.domain->s));
        HN_TRY(hn_text_i64(t, "the version of an operator set", &opset.version));
        HN_TRY_PTR(HN_VEC_PUSH(t->model->arena, out, opset));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, ']', "after the operator sets");
}

typedef hone_status header_field(hn_text *t, void *of, hn_bytes key);

static bool is_key(hn_bytes key, const char *text) {
    return key.n == strlen(text) && memcmp(key.at, text, key.n) == 0;
}

static hone_status fail_key(hn_text *t, hn_bytes key, const char *what) {
    return hn_text_fail(t, key.at, "'%.*s' is not a field of a %s",
                        (int)HN_MIN(key.n, (uint64_t)40), (const char *)key.at, what);
}

static hone_status read_header(hn_text *t, header_field *read_field, void *of) {
    if (!hn_text_accept(t, '<'))
        return HONE_OK;
    do {
        hn_bytes key;
        if (!hn_text_word(t, &key))
            return hn_text_expected(t, "a field such as 'ir_version' or 'opset_import'");
        HN_TRY(hn_text_expect(t, ':', "after the field '%.*s'", (int)HN_MIN(key.n, (uint64_t)40),
                              (const char *)key.at));
        HN_TRY(read_field(t, of, key));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, '>', "after the fields");
}

static hone_status read_model_field(hn_text *t, void *of, hn_bytes key) {
    hn_model *m = t->model;
    hn_extra *extra = of;
    if (is_key(key, "ir_version")) {
        m->has_ir_version = true;
        return hn_text_i64(t, "the IR version", &m->ir_version);
    }
    if (is_key(key, "model_version")) {
        m->has_model_version = true;
        return hn_text_i64(t, "the model version", &m->model_version);
    }
    if (is_key(key, "opset_import"))
        return read_opsets(t, &m->opsets);
    if (is_key(key, "producer_name"))
        return hn_text_string_name(t, "the producer", &m->producer_name);
    if (is_key(key, "producer_version"))
        return hn_text_string_name(t, "the version of the producer", &m->producer_version);
    if (is_key(key, "domain"))
        return hn_text_string_name(t, "the domain", &m->domain);
    if (is_key(key, "doc_string"))
        return hn_text_string_name(t, "a text", &extra->doc);
    if (is_key(key, "metadata_props"))
        return hn_text_props(t, &extra->props);
    return fail_key(t, key, "model");
}

static hone_status read_function_field(hn_text *t, void *of, hn_bytes key) {
    hn_function *f = of;
    if (is_key(key, "domain"))
        return hn_text_string_name(t, "the domain", &f->domain);
    if (is_key(key, "overload"))
        return hn_text_string_name(t, "the overload", &f->overload);
    if (is_key(key, "opset_import"))
        return read_opsets(t, &f->opsets);
    if (is_key(key, "doc_string")) {
        hn_extra *extra = HN_NEW(t->model->arena, hn_extra);
        HN_TRY_PTR(extra);
        f->extra = extra;
        return hn_text_string_name(t, "a text", &extra->doc);
    }
    return fail_key(t, key, "function");
}

/* ---- graph and functions --------------------------------------------------------------------- */

static hone_status read_main_graph(hn_text *t) {
    hn_model *m = t->model;
    m->graph = hn_graph_new(m, &m->opsets);
    HN_TRY_PTR(m->graph);
    t->graph = m->graph;
    HN_TRY(hn_text_name(t, "the name of the graph", &hn_block_at(m->graph, 0)->name));
    HN_TRY(hn_text_graph_rest(t, 0));
    return hn_text_resolve(t);
}

/* <required, with_default: int = 1> */
static hone_status read_function_attrs(hn_text *t, hn_function *f) {
    if (!hn_text_accept(t, '<'))
        return HONE_OK;
    do {
        hn_attr attr = {0};
        HN_TRY(hn_text_name(t, "the name of an attribute", &attr.name));
        int c = hn_text_peek(t);
        if (c == ':' || c == '=') {
            HN_TRY(hn_text_attr_rest(t, 0, &attr));
            HN_TRY_PTR(HN_VEC_PUSH(t->model->arena, &f->attr_defaults, attr));
        } else {
            HN_TRY_PTR(HN_VEC_PUSH(t->model->arena, &f->attr_names, attr.name));
        }
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, '>', "after the attributes of function '%s'", f->name->s);
}

static hone_status read_function(hn_text *t) {
    hn_function *f = HN_NEW(t->model->arena, hn_function);
    HN_TRY_PTR(f);
    HN_TRY(read_header(t, read_function_field, f));
    HN_TRY(hn_text_name(t, "the name of a function", &f->name));
    f->graph = hn_graph_new(t->model, &f->opsets);
    HN_TRY_PTR(f->graph);
    t->graph = f->graph;
    HN_TRY(read_function_attrs(t, f));
    HN_TRY(hn_text_function_rest(t, f));
    HN_TRY(hn_text_resolve(t));
    return hn_model_add_function(t->model, f) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status read_model(hn_text *t) {
    hn_model *m = t->model;
    hn_extra *extra = HN_NEW(m->arena, hn_extra);
    HN_TRY_PTR(extra);
    HN_TRY(read_header(t, read_model_field, extra));
    if (extra->doc || extra->props.n > 0)
        m->extra = extra;
    HN_TRY(read_main_graph(t));
    while (hn_text_peek(t) >= 0)
        HN_TRY(read_function(t));
    return hn_syms_failed(m->syms) ? HONE_E_NOMEM : HONE_OK;
}

static const char *skip_byte_order_mark(const char *text, size_t n) {
    return n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
}

hone_status hn_model_parse(const char *text, size_t n, const hone_allocator *a, hn_model **out,
                           hone_error *err) {
    const char *begin = n ? text : "";
    hn_text t = {
        .start = begin, .at = skip_byte_order_mark(begin, n), .end = begin + n, .err = err};
    *out = NULL;
    t.model = hn_model_new(a);
    t.scratch = hn_arena_new(a);
    hone_status status = t.model && t.scratch ? read_model(&t) : HONE_E_NOMEM;
    hn_arena_free(t.scratch);
    if (status == HONE_OK) {
        t.model->file_bytes = n;
        *out = t.model;
        return HONE_OK;
    }
    hn_model_free(t.model);
    return hn_error_complete(err, status);
}
