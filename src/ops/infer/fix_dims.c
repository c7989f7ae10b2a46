/* Replaces symbolic dimensions by sizes: --dim batch=4, --shape x=1x3x224x224. */
#include "ops/ops.h"

typedef struct fix {
    hn_model *m;
    hn_str symbol;
    hn_dim value;
    bool found;
} fix;

/* Returns the type with the symbol replaced; the same pointer when nothing changes; NULL: out of
 * memory. */
static const hn_type *substitute_type(fix *f, const hn_type *t) {
    hn_type changed = *t;
    bool differs = false;
    if (t->inner) {
        changed.inner = substitute_type(f, t->inner);
        if (!changed.inner)
            return NULL;
        differs = changed.inner != t->inner;
    }
    if (t->shape.rank > 0) {
        hn_dim *dims =
            hn_arena_copy(f->m->arena, t->shape.dims, (size_t)t->shape.rank * sizeof *dims);
        if (!dims)
            return NULL;
        for (int32_t i = 0; i < t->shape.rank; i++) {
            dims[i] = hn_dim_subst(f->m->syms, t->shape.dims[i], f->symbol, f->value);
            differs |= dims[i] != t->shape.dims[i];
        }
        changed.shape.dims = dims;
    }
    f->found |= differs;
    changed.unknown = (hn_bytes){NULL, 0}; /* the serialized form, which is no longer valid */
    return differs ? hn_arena_copy(f->m->arena, &changed, sizeof changed) : t;
}

/* Replaces the symbol in every declared type and drops inferred types, which are no longer
 * valid. */
static hone_status substitute_everywhere(fix *f) {
    hn_graph *g = f->m->graph;
    for (hn_id id = 0; id < g->values.n; id++) {
        hn_value *v = hn_value_at(g, id);
        if (!v->is_declared)
            v->type = NULL;
        if (!v->type)
            continue;
        v->type = substitute_type(f, v->type);
        HN_TRY_PTR(v->type);
    }
    return hn_syms_failed(f->m->syms) ? HONE_E_NOMEM : HONE_OK;
}

static void list_symbols(const hn_model *m, hn_strbuf *out) {
    const hn_block *b = hn_block_at(m->graph, 0);
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        const hn_type *t = hn_value_at(m->graph, b->inputs.at[i])->type;
        for (int32_t d = 0; t && d < t->shape.rank; d++) {
            hn_str name;
            if (!hn_dim_is_symbol(m->syms, t->shape.dims[d], &name))
                continue;
            if (out->n && strstr(out->at, hn_s(name)))
                continue;
            hn_strbuf_printf(out, "%s%s", out->n ? ", " : "", hn_s(name));
        }
    }
}

hone_status hn_fix_dim(hn_model *m, const char *symbol, int64_t value, hone_error *err) {
    if (value < 0)
        return hn_fail(err, HONE_E_ARGUMENT,
                       "dimension '%s' cannot be %lld: give a size of 0 or more", symbol,
                       (long long)value);
    fix f = {.m = m, .value = value};
    f.symbol = hn_intern_find(m->names, symbol, strlen(symbol));
    if (f.symbol)
        HN_TRY(hn_error_complete(err, substitute_everywhere(&f)));
    if (f.found)
        return HONE_OK;
    hn_strbuf names;
    hn_strbuf_init(&names, hn_arena_allocator(m->arena));
    list_symbols(m, &names);
    hone_status status =
        hn_fail(err, HONE_E_NOT_FOUND, "the model has no symbolic dimension '%s'; it has %s",
                symbol, names.n ? names.at : "none");
    hn_strbuf_free(&names);
    return status;
}

static void list_inputs(const hn_model *m, hn_strbuf *out) {
    const hn_block *b = hn_block_at(m->graph, 0);
    for (uint32_t i = 0; i < b->inputs.n; i++)
        hn_strbuf_printf(out, "%s%s", i ? ", " : "",
                         hn_s(hn_value_at(m->graph, b->inputs.at[i])->name));
}

static hone_status fail_no_input(const hn_model *m, const char *input, hone_error *err) {
    hn_strbuf names;
    hn_strbuf_init(&names, hn_arena_allocator(m->arena));
    list_inputs(m, &names);
    hone_status status = hn_fail(err, HONE_E_NOT_FOUND, "the model has no input '%s'; it has %s",
                                 input, names.n ? names.at : "none");
    hn_strbuf_free(&names);
    return status;
}

static hone_status fail_shape(const hn_model *m, const char *input, const hn_type *t, uint32_t rank,
                              const int64_t *dims, hone_error *err) {
    hn_strbuf text;
    hn_strbuf_init(&text, hn_arena_allocator(m->arena));
    for (uint32_t i = 0; i < rank; i++)
        hn_strbuf_printf(&text, "%s%lld", i ? "x" : "", (long long)dims[i]);
    hn_strbuf_puts(&text, " does not fit its type ");
    hn_type_text(m->syms, t, &text);
    hone_status status = hn_fail(err, HONE_E_SHAPE, "input '%s': the shape %s", input,
                                 text.failed ? "does not fit" : text.at);
    hn_strbuf_free(&text);
    return status;
}

static bool shape_fits(const hn_shape *declared, uint32_t rank, const int64_t *dims) {
    if (declared->rank >= 0 && (uint32_t)declared->rank != rank)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        bool is_fixed = declared->rank >= 0 && hn_dim_is_known(declared->dims[i]);
        if (dims[i] < 0 || (is_fixed && declared->dims[i] != dims[i]))
            return false;
    }
    return true;
}

/* A name that this very input contradicts says nothing about other values. */
static bool has_one_size_here(const hn_shape *declared, uint32_t i, const int64_t *dims) {
    for (int32_t k = 0; k < declared->rank; k++)
        if (declared->dims[k] == declared->dims[i] && dims[k] != dims[i])
            return false;
    return true;
}

/* The declared shape of that input becomes exactly the given one. */
static hone_status set_shape(hn_model *m, hn_value *v, uint32_t rank, const int64_t *dims) {
    hn_type *t = v->type ? hn_arena_copy(m->arena, v->type, sizeof *v->type) : NULL;
    HN_TRY_PTR(t);
    t->unknown = (hn_bytes){NULL, 0};
    t->shape.rank = (int32_t)rank;
    t->shape.dims = hn_arena_copy(m->arena, dims, rank * sizeof *dims);
    HN_TRY_PTR(t->shape.dims);
    v->type = t;
    return HONE_OK;
}

hone_status hn_fix_shape(hn_model *m, const char *input, uint32_t rank, const int64_t *dims,
                         hone_error *err) {
    hn_str name = hn_intern_find(m->names, input, strlen(input));
    hn_id id = name ? hn_graph_find_local(m->graph, 0, name) : HN_NONE;
    if (id == HN_NONE || !hn_value_at(m->graph, id)->is_input)
        return fail_no_input(m, input, err);
    const hn_type *t = hn_value_at(m->graph, id)->type;
    if (!t || t->kind != HN_TYPE_TENSOR)
        return hn_fail(err, HONE_E_TYPE, "input '%s' is not a tensor, so it has no shape to fix",
                       input);
    if (!shape_fits(&t->shape, rank, dims))
        return fail_shape(m, input, t, rank, dims, err);
    for (uint32_t i = 0; i < rank && t->shape.rank >= 0; i++) {
        fix f = {.m = m, .value = dims[i]};
        if (hn_dim_is_symbol(m->syms, t->shape.dims[i], &f.symbol) &&
            has_one_size_here(&t->shape, i, dims))
            HN_TRY(hn_error_complete(err, substitute_everywhere(&f)));
        t = hn_value_at(m->graph, id)->type;
    }
    return hn_error_complete(err, set_shape(m, hn_value_at(m->graph, id), rank, dims));
}
