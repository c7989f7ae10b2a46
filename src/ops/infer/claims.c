/* Setting aside what a file declares while its graph is rewritten, and giving it back. */
#include "ops/infer/dim_names.h"
#include "ops/infer/infer_engine.h"

/* A symbol that stands for one dimension of an input, and the dimension that the file names. */
typedef struct split_symbol {
    hn_str name;
    hn_dim declared;
} split_symbol;

struct hn_claims {
    hn_model *model;
    hn_arena *arena;
    uint32_t n_values, n_outputs;
    const hn_type **values;  /* by value: as declared; NULL: not declared */
    const hn_type **outputs; /* by output of the main graph: the value may change, too */
    HN_VEC(split_symbol) split;
    uint32_t n_names; /* tried for them */
};

/* ---- setting aside --------------------------------------------------------------------------- */

static hone_status remember_declared(hn_claims *c) {
    const hn_graph *g = c->model->graph;
    const hn_block *main = hn_block_at(g, 0);
    c->n_values = g->values.n;
    c->n_outputs = main->outputs.n;
    c->values = HN_NEW_N(c->arena, const hn_type *, (size_t)c->n_values + 1);
    c->outputs = HN_NEW_N(c->arena, const hn_type *, (size_t)c->n_outputs + 1);
    if (!c->values || !c->outputs)
        return HONE_E_NOMEM;
    for (hn_id id = 0; id < c->n_values; id++)
        c->values[id] = hn_value_at(g, id)->is_declared ? hn_value_at(g, id)->type : NULL;
    for (uint32_t i = 0; i < c->n_outputs; i++)
        c->outputs[i] = main->outputs.at[i] == HN_NONE ? NULL : c->values[main->outputs.at[i]];
    return HONE_OK;
}

/* A symbol that no file and no other dimension has. */
static hone_status split_one(hn_claims *c, hn_dim declared, hn_dim *out) {
    hn_model *m = c->model;
    hn_strbuf text;
    hn_strbuf_init(&text, hn_arena_allocator(c->arena));
    hn_dim_text(m->syms, declared, &text);
    size_t n = text.n;
    do {
        text.n = HN_MIN(text.n, n);
        hn_strbuf_printf(&text, "#%u", ++c->n_names);
    } while (!text.failed && hn_intern_find(m->names, text.at, text.n));
    split_symbol split = {text.failed ? NULL : hn_intern(m->names, text.at, text.n), declared};
    hn_strbuf_free(&text);
    *out = hn_dim_symbol(m->syms, split.name);
    bool ok = split.name && *out != HN_DIM_UNKNOWN && HN_VEC_PUSH(c->arena, &c->split, split);
    return ok ? HONE_OK : HONE_E_NOMEM;
}

/* Equal expressions are one symbol. */
static hone_status make_opaque(hn_claims *c, hn_dim declared, hn_dim *out) {
    for (uint32_t i = 0; i < c->split.n; i++)
        if (c->split.at[i].declared == declared) {
            *out = hn_dim_symbol(c->model->syms, c->split.at[i].name);
            return HONE_OK;
        }
    return split_one(c, declared, out);
}

static hone_status settle_input_dim(hn_claims *c, hn_dim_fate fate, hn_dim declared, hn_dim *out) {
    *out = declared;
    if (fate == HN_DIM_KEPT)
        return HONE_OK;
    return fate == HN_DIM_SPLIT ? split_one(c, declared, out) : make_opaque(c, declared, out);
}

static hone_status split_input(hn_claims *c, hn_dim_names *names, hn_value *v) {
    const hn_type *t = v->type;
    hn_type *changed = hn_arena_copy(c->model->arena, t, sizeof *t);
    hn_dim *dims = HN_NEW_N(c->model->arena, hn_dim, (size_t)t->shape.rank + 1);
    bool differs = false;
    if (!changed || !dims)
        return HONE_E_NOMEM;
    for (int32_t i = 0; i < t->shape.rank; i++) {
        hn_dim declared = t->shape.dims[i];
        HN_TRY(settle_input_dim(c, hn_dim_names_meet(names, declared), declared, &dims[i]));
        differs |= dims[i] != t->shape.dims[i];
    }
    changed->shape.dims = dims;
    changed->unknown = (hn_bytes){NULL, 0};
    v->type = differs ? changed : t;
    return HONE_OK;
}

static hone_status split_inputs(hn_claims *c, const hn_split_dims *split) {
    const hn_graph *g = c->model->graph;
    const hn_block *main = hn_block_at(g, 0);
    hn_dim_names names;
    HN_TRY(hn_dim_names_read(&names, c->model, split, c->arena));
    for (uint32_t i = 0; i < main->inputs.n; i++) {
        hn_value *v = hn_value_at(g, main->inputs.at[i]);
        if (v->type && v->type->kind == HN_TYPE_TENSOR && v->type->shape.rank > 0)
            HN_TRY(split_input(c, &names, v));
    }
    return names.failed || hn_syms_failed(c->model->syms) ? HONE_E_NOMEM : HONE_OK;
}

hone_status hn_claims_set_aside(hn_model *m, const hn_split_dims *split, hn_arena *arena,
                                hn_claims **out) {
    hn_claims *c = HN_NEW(arena, hn_claims);
    HN_TRY_PTR(c);
    *c = (hn_claims){.model = m, .arena = arena};
    HN_TRY(remember_declared(c));
    *out = c;
    return split_inputs(c, split);
}

/* ---- giving back ----------------------------------------------------------------------------- */

static hn_dim join_dims(const hn_claims *c, hn_dim d) {
    for (uint32_t i = 0; i < c->split.n && hn_dim_is_symbolic(d); i++)
        d = hn_dim_subst(c->model->syms, d, c->split.at[i].name, c->split.at[i].declared);
    return d;
}

/* Names of inner dimensions are those that follow from the nodes, names of outputs the file's. */
static hn_dim choose_dim(hn_dim declared, hn_dim found, bool is_output) {
    if (hn_dim_is_known(found) || declared == HN_DIM_UNKNOWN)
        return found;
    return is_output || hn_dim_is_known(declared) || found == HN_DIM_UNKNOWN ? declared : found;
}

/* What the nodes say counts; the file fills what they leave open. NULL: no memory. */
static const hn_type *joined_type(const hn_claims *c, const hn_type *declared, const hn_type *found,
                                  bool is_output) {
    hn_arena *a = c->model->arena;
    if (!found || (declared && declared->kind != found->kind))
        return declared ? declared : found;
    hn_type *t = hn_arena_copy(a, declared ? declared : found, sizeof *t);
    if (!t)
        return NULL;
    t->elem = found->elem ? found->elem : t->elem;
    t->unknown = (hn_bytes){NULL, 0};
    if (t->inner)
        t->inner = joined_type(c, declared ? declared->inner : NULL, found->inner, is_output);
    if ((found->inner && !t->inner) || found->shape.rank < 0)
        return found->inner && !t->inner ? NULL : t;
    bool is_refined = declared && declared->shape.rank == found->shape.rank;
    hn_dim *dims = HN_NEW_N(a, hn_dim, (size_t)found->shape.rank + 1);
    if (!dims)
        return NULL;
    for (int32_t i = 0; i < found->shape.rank; i++) {
        hn_dim d = join_dims(c, found->shape.dims[i]);
        dims[i] = is_refined ? choose_dim(declared->shape.dims[i], d, is_output) : d;
    }
    t->shape = (hn_shape){found->shape.rank, dims};
    t->dim_denotations = is_refined ? t->dim_denotations : NULL;
    return t;
}

static void give_back(const hn_claims *c, hn_value *v, const hn_type *declared, bool is_output) {
    const hn_type *t = joined_type(c, declared, v->type, is_output);
    if (t && !(v->type && hn_type_equal(t, v->type)))
        v->type = t;
    if (declared && v->type && hn_type_equal(v->type, declared))
        v->type = declared;
}

static void restore_input(const hn_claims *c, hn_value *v, const hn_type *declared) {
    hn_type *t = NULL;
    if (v->type && v->type->elem != declared->elem)
        t = hn_arena_copy(c->model->arena, declared, sizeof *t);
    if (t) {
        t->elem = v->type->elem;
        t->unknown = (hn_bytes){NULL, 0};
    }
    v->type = t ? t : declared;
}

void hn_claims_restore(hn_claims *c) {
    if (!c)
        return;
    const hn_graph *g = c->model->graph;
    const hn_block *main = hn_block_at(g, 0);
    for (hn_id id = 0; id < g->values.n; id++) {
        hn_value *v = hn_value_at(g, id);
        const hn_type *declared = id < c->n_values ? c->values[id] : NULL;
        if (declared && v->is_input && v->block == 0)
            restore_input(c, v, declared);
        else if ((declared || c->split.n) && v->type)
            give_back(c, v, declared, false);
    }
    for (uint32_t i = 0; i < c->n_outputs && i < main->outputs.n; i++) {
        hn_value *v = main->outputs.at[i] == HN_NONE ? NULL : hn_value_at(g, main->outputs.at[i]);
        if (v && c->outputs[i] && !(v->is_input && v->block == 0))
            give_back(c, v, c->outputs[i], true);
    }
}
