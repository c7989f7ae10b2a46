/* Names of dimensions as claims: which ones count, and which sizes contradict them. */
#include "ops/infer/dim_names.h"

/* ---- dimensions of inputs -------------------------------------------------------------------- */

static const hn_type *input_tensor(const hn_model *m, uint32_t i) {
    const hn_value *v = hn_value_at(m->graph, hn_block_at(m->graph, 0)->inputs.at[i]);
    return v->type && v->type->kind == HN_TYPE_TENSOR ? v->type : NULL;
}

hone_status hn_dim_names_read(hn_dim_names *n, const hn_model *m, const hn_split_dims *split,
                              hn_arena *arena) {
    static const hn_split_dims none;
    *n = (hn_dim_names){.model = m, .split = split ? split : &none, .arena = arena};
    hn_map_init(&n->bare, arena);
    hn_map_init(&n->seen, arena);
    for (uint32_t i = 0; i < hn_block_at(m->graph, 0)->inputs.n; i++) {
        const hn_type *t = input_tensor(m, i);
        hn_str name;
        for (int32_t k = 0; t && k < t->shape.rank; k++)
            if (hn_dim_is_symbol(m->syms, t->shape.dims[k], &name) &&
                !hn_map_put(&n->bare, name->id, name->id))
                return HONE_E_NOMEM;
    }
    return HONE_OK;
}

static const char *dim_name(hn_dim_names *n, hn_dim d) {
    hn_strbuf text;
    hn_strbuf_init(&text, hn_arena_allocator(n->arena));
    hn_dim_text(n->model->syms, d, &text);
    const char *kept = text.failed ? NULL : hn_arena_copy(n->arena, text.at, text.n + 1);
    hn_strbuf_free(&text);
    n->failed |= !kept;
    return kept ? kept : "";
}

static bool is_split_name(const hn_dim_names *n, const char *name) {
    for (uint32_t i = 0; i < n->split->n; i++)
        if (strcmp(n->split->names[i], name) == 0)
            return true;
    return n->split->all;
}

/* For hn_dim_value: is the symbol one size that some input has? */
static bool has_one_size(void *ctx, hn_str symbol, int64_t *size) {
    const hn_dim_names *n = ctx;
    *size = 1;
    return hn_map_get(&n->bare, symbol->id) != HN_MAP_NONE && !is_split_name(n, hn_s(symbol));
}

hn_dim_fate hn_dim_names_meet(hn_dim_names *n, hn_dim d) {
    hn_str symbol;
    int64_t unused;
    if (!hn_dim_is_symbolic(d))
        return HN_DIM_KEPT;
    bool is_bare = hn_dim_is_symbol(n->model->syms, d, &symbol);
    bool is_split = is_split_name(n, dim_name(n, d));
    bool is_first = hn_map_get(&n->seen, (uint64_t)d) == HN_MAP_NONE;
    n->failed |= is_first && !hn_map_put(&n->seen, (uint64_t)d, 0);
    if (is_split)
        return is_bare && is_first ? HN_DIM_KEPT : HN_DIM_SPLIT;
    return is_bare || hn_dim_value(n->model->syms, d, has_one_size, n, &unused) ? HN_DIM_KEPT
                                                                                : HN_DIM_OPAQUE;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct sized_dim {
    hn_dim dim;
    int64_t size;
} sized_dim;

typedef struct size_check {
    hn_dim_names names;
    HN_VEC(sized_dim) found; /* by the ids in names.seen */
    hn_dim_clashes *clashes;
} size_check;

static hone_status add_clash(size_check *c, hn_dim d, int64_t a, int64_t b) {
    hn_dim_clash clash = {dim_name(&c->names, d), {a, b}};
    for (uint32_t i = 0; i < c->clashes->n; i++)
        if (strcmp(c->clashes->at[i].name, clash.name) == 0)
            return HONE_OK;
    return HN_VEC_PUSH(c->names.arena, c->clashes, clash) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status meet_size(size_check *c, hn_dim d, int64_t size) {
    if (!hn_dim_is_symbolic(d) || is_split_name(&c->names, dim_name(&c->names, d)))
        return HONE_OK;
    uint32_t at = hn_map_get(&c->names.seen, (uint64_t)d);
    if (at != HN_MAP_NONE)
        return c->found.at[at].size == size ? HONE_OK : add_clash(c, d, c->found.at[at].size, size);
    sized_dim found = {d, size};
    bool ok = hn_map_put(&c->names.seen, (uint64_t)d, c->found.n) &&
              HN_VEC_PUSH(c->names.arena, &c->found, found);
    return ok ? HONE_OK : HONE_E_NOMEM;
}

static bool size_of_symbol(void *ctx, hn_str symbol, int64_t *size) {
    const size_check *c = ctx;
    for (uint32_t i = 0; i < c->found.n; i++) {
        hn_str name;
        if (!hn_dim_is_symbol(c->names.model->syms, c->found.at[i].dim, &name) || name != symbol)
            continue;
        *size = c->found.at[i].size;
        return true;
    }
    return false;
}

/* An expression has the value that its symbols give it. */
static hone_status check_values(size_check *c) {
    const hn_syms *syms = c->names.model->syms;
    for (uint32_t i = 0; i < c->found.n; i++) {
        const sized_dim *f = &c->found.at[i];
        int64_t value;
        if (hn_dim_value(syms, f->dim, size_of_symbol, c, &value) && value != f->size)
            HN_TRY(add_clash(c, f->dim, value, f->size));
    }
    return HONE_OK;
}

hone_status hn_claims_check(const hn_model *m, const hn_split_dims *split, const hn_shape *shapes,
                            hn_arena *arena, hn_dim_clashes *out) {
    size_check c = {.clashes = out};
    *out = (hn_dim_clashes){0};
    HN_TRY(hn_dim_names_read(&c.names, m, split, arena));
    for (uint32_t i = 0; i < hn_block_at(m->graph, 0)->inputs.n; i++) {
        const hn_type *t = input_tensor(m, i);
        for (int32_t k = 0; t && t->shape.rank == shapes[i].rank && k < t->shape.rank; k++)
            HN_TRY(meet_size(&c, t->shape.dims[k], shapes[i].dims[k]));
    }
    HN_TRY(check_values(&c));
    return c.names.failed ? HONE_E_NOMEM : HONE_OK;
}
