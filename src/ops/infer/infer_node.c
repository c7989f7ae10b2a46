/* The view of a node that inference rules have: inputs, attributes, outputs. */
#include "ops/infer/infer_engine.h"

int hn_infer_version(const hn_infer *c) {
    return c->version;
}
hn_syms *hn_infer_syms(const hn_infer *c) {
    return c->scope->job->model->syms;
}
hn_arena *hn_infer_arena(const hn_infer *c) {
    return c->scope->job->work;
}
uint32_t hn_n_inputs(const hn_infer *c) {
    return c->node->n_inputs;
}
uint32_t hn_n_outputs(const hn_infer *c) {
    return c->node->n_outputs;
}
const char *hn_infer_op(const hn_infer *c) {
    return hn_op_name(c->op);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static hn_id input_value(const hn_infer *c, uint32_t i) {
    return i < c->node->n_inputs ? c->node->inputs[i] : HN_NONE;
}

bool hn_has_input(const hn_infer *c, uint32_t i) {
    return input_value(c, i) != HN_NONE;
}

bool hn_has_output(const hn_infer *c, uint32_t i) {
    return i < c->node->n_outputs && c->node->outputs[i] != HN_NONE;
}

const hn_type *hn_in_type(const hn_infer *c, uint32_t i) {
    hn_id v = input_value(c, i);
    if (v == HN_NONE)
        return NULL;
    if (c->arg_types)
        return c->arg_types[i];
    return c->scope->types ? c->scope->types[v] : hn_value_at(c->scope->g, v)->type;
}

hn_dtype hn_in_elem(const hn_infer *c, uint32_t i) {
    const hn_type *t = hn_in_type(c, i);
    return t && (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE) ? t->elem : HN_UNDEFINED;
}

const hn_shape *hn_in_shape(const hn_infer *c, uint32_t i) {
    const hn_type *t = hn_in_type(c, i);
    bool has_shape =
        t && (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE) && t->shape.rank >= 0;
    return has_shape ? &t->shape : NULL;
}

int32_t hn_in_rank(const hn_infer *c, uint32_t i) {
    const hn_shape *s = hn_in_shape(c, i);
    return s ? s->rank : -1;
}

hn_dim hn_in_dim(const hn_infer *c, uint32_t i, int32_t axis) {
    const hn_shape *s = hn_in_shape(c, i);
    if (!s)
        return HN_DIM_UNKNOWN;
    if (axis < 0)
        axis += s->rank;
    return axis >= 0 && axis < s->rank ? s->dims[axis] : HN_DIM_UNKNOWN;
}

/* An initializer that callers may override at run time is not a constant; before IR 4 every
 * initializer had to be an input. */
const hn_tensor *hn_infer_initial_const(const hn_model *m, const hn_value *v) {
    return !v->is_input || m->ir_version < 4 ? v->init : NULL;
}

const hn_tensor *hn_in_const(const hn_infer *c, uint32_t i) {
    hn_id v = input_value(c, i);
    if (v == HN_NONE)
        return NULL;
    if (c->arg_consts && c->arg_consts[i] && c->read_args)
        *c->read_args |= (uint64_t)1 << HN_MIN(i, 63u);
    if (c->arg_consts)
        return c->arg_consts[i];
    const infer_scope *s = c->scope;
    return s->consts ? s->consts[v] : hn_infer_initial_const(s->job->model, hn_value_at(s->g, v));
}

static bool ints_from_tensor(const hn_infer *c, const hn_tensor *t, uint32_t *n,
                             const hn_sint **elems) {
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, t->n_elems ? (size_t)t->n_elems : 1);
    if (!out)
        return false;
    for (uint64_t k = 0; k < t->n_elems; k++) {
        int64_t v;
        if (!hn_tensor_get_i64(t, k, &v))
            return false;
        out[k] = hn_sint_const(v);
    }
    *n = (uint32_t)t->n_elems;
    *elems = out;
    return true;
}

/* Only the number of elements is known. */
static bool ints_from_shape(const hn_infer *c, uint32_t i, uint32_t *n, const hn_sint **elems,
                            bool *is_scalar) {
    const hn_shape *s = hn_in_shape(c, i);
    if (!s || s->rank > 1 || (s->rank == 1 && !hn_dim_is_known(s->dims[0])))
        return false;
    int64_t count = s->rank == 1 ? s->dims[0] : 1;
    if (count > HN_MAX_FOLLOWED)
        return false;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint,
                            count ? (size_t)count : 1); /* zero is HN_SINT_UNKNOWN */
    *n = (uint32_t)count;
    *elems = out;
    *is_scalar = s->rank == 0;
    return out != NULL;
}

bool hn_in_ints(const hn_infer *c, uint32_t i, uint32_t *n, const hn_sint **elems,
                bool *is_scalar) {
    hn_id v = input_value(c, i);
    bool scalar_unused;
    if (!is_scalar)
        is_scalar = &scalar_unused;
    if (v == HN_NONE)
        return false;
    const infer_ints *known = c->scope->ints ? c->scope->ints[v] : NULL;
    if (known && known->n_cols)
        return false;
    if (known) {
        *n = known->n;
        *elems = known->elems;
        *is_scalar = known->is_scalar;
        return true;
    }
    hn_dtype elem = hn_in_elem(c, i);
    if (elem != HN_UNDEFINED && !hn_dtype_is_int(elem) && elem != HN_BOOL)
        return false;
    const hn_tensor *t = hn_in_const(c, i);
    if (t && t->rank <= 1 && t->n_elems <= HN_MAX_FOLLOWED) {
        *is_scalar = t->rank == 0;
        return ints_from_tensor(c, t, n, elems);
    }
    return !t && ints_from_shape(c, i, n, elems, is_scalar);
}

bool hn_in_int_matrix(const hn_infer *c, uint32_t i, hn_int_matrix *out) {
    hn_id v = input_value(c, i);
    const infer_ints *known = v != HN_NONE && c->scope->ints ? c->scope->ints[v] : NULL;
    if (known && known->n_cols) {
        *out = (hn_int_matrix){known->n / known->n_cols, known->n_cols, known->elems};
        return true;
    }
    const hn_tensor *t = hn_in_const(c, i);
    uint32_t n;
    if (!t || t->rank != 2 || t->n_elems == 0 || t->n_elems > HN_MAX_FOLLOWED ||
        !ints_from_tensor(c, t, &n, &out->elems))
        return false;
    out->n_rows = (uint32_t)t->dims[0];
    out->n_cols = (uint32_t)t->dims[1];
    return true;
}

bool hn_in_i64s(const hn_infer *c, uint32_t i, uint32_t *n, const int64_t **out) {
    const hn_sint *elems;
    uint32_t count;
    if (!hn_in_ints(c, i, &count, &elems, NULL))
        return false;
    int64_t *copy = HN_NEW_N(hn_infer_arena(c), int64_t, count ? count : 1);
    if (!copy)
        return false;
    for (uint32_t k = 0; k < count; k++) {
        if (elems[k].kind != HN_SINT_CONST)
            return false;
        copy[k] = elems[k].v;
    }
    *n = count;
    *out = copy;
    return true;
}

bool hn_in_i64(const hn_infer *c, uint32_t i, int64_t *out) {
    const hn_sint *elems;
    uint32_t n;
    if (!hn_in_ints(c, i, &n, &elems, NULL) || n != 1 || elems[0].kind != HN_SINT_CONST)
        return false;
    *out = elems[0].v;
    return true;
}

/* ---- attributes ------------------------------------------------------------------------------ */

const hn_attr *hn_infer_resolve(const infer_scope *s, const hn_attr *a) {
    while (a && a->ref) {
        if (!s || !s->function)
            return NULL;
        const hn_attr *given = s->call ? hn_node_attr(s->call, hn_s(a->ref)) : NULL;
        if (!given) { /* the default of the function needs no further resolution */
            for (uint32_t i = 0; i < s->function->attr_defaults.n; i++)
                if (s->function->attr_defaults.at[i].name == a->ref)
                    return &s->function->attr_defaults.at[i];
            return NULL;
        }
        a = given;
        s = s->caller;
    }
    return a;
}

const hn_attr *hn_attr_raw(const hn_infer *c, const char *name) {
    return hn_infer_resolve(c->scope, hn_node_attr(c->node, name));
}

bool hn_has_attr(const hn_infer *c, const char *name) {
    return hn_attr_raw(c, name) != NULL;
}

/* Returns the attribute of the node when it has that kind, else the text of the schema's
 * default. */
static const hn_attr *attr_or_default(const hn_infer *c, const char *name, hn_attr_kind kind,
                                      hn_attr_spec *spec) {
    const hn_attr *a = hn_attr_raw(c, name);
    if (a && a->kind == kind)
        return a;
    if (!hn_op_attr_find(c->op, c->version, name, strlen(name), spec) || spec->kind != kind)
        *spec = (hn_attr_spec){0};
    return NULL;
}

int64_t hn_attr_i(const hn_infer *c, const char *name, int64_t def) {
    hn_attr_spec spec;
    const hn_attr *a = attr_or_default(c, name, HN_ATTR_INT, &spec);
    if (a)
        return a->v.i;
    hn_attr_spec_i64(&spec, 0, &def);
    return def;
}

float hn_attr_f(const hn_infer *c, const char *name, float def) {
    hn_attr_spec spec;
    const hn_attr *a = attr_or_default(c, name, HN_ATTR_FLOAT, &spec);
    if (a)
        return a->v.f;
    hn_attr_spec_f32(&spec, 0, &def);
    return def;
}

hn_bytes hn_attr_s(const hn_infer *c, const char *name) {
    hn_attr_spec spec;
    const hn_attr *a = attr_or_default(c, name, HN_ATTR_STRING, &spec);
    if (a)
        return a->v.s;
    return (hn_bytes){spec.def, spec.def ? spec.def_len : 0};
}

bool hn_attr_is(const hn_infer *c, const char *name, const char *text) {
    hn_bytes s = hn_attr_s(c, name);
    return s.n == strlen(text) && memcmp(s.at ? s.at : "", text, s.n) == 0;
}

bool hn_attr_ints(const hn_infer *c, const char *name, uint32_t *n, const int64_t **out) {
    hn_attr_spec spec;
    const hn_attr *a = attr_or_default(c, name, HN_ATTR_INTS, &spec);
    if (a) {
        *n = a->n;
        *out = a->v.ints;
        return true;
    }
    if (!spec.def)
        return false;
    int64_t *list = HN_NEW_N(hn_infer_arena(c), int64_t, (size_t)spec.def_len + 1);
    if (!list)
        return false;
    *n = 0;
    while (hn_attr_spec_i64(&spec, *n, &list[*n]))
        ++*n;
    *out = list;
    return true;
}

/* ---- outputs --------------------------------------------------------------------------------- */

hone_status hn_out_type(hn_infer *c, uint32_t i, const hn_type *t) {
    if (t && hn_has_output(c, i))
        c->out[i] = t;
    return HONE_OK;
}

hone_status hn_out_tensor(hn_infer *c, uint32_t i, hn_dtype elem, int32_t rank,
                          const hn_dim *dims) {
    if (!hn_has_output(c, i))
        return HONE_OK;
    if (rank > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT,
                             "output %u would have rank %d; hone supports up to %d", i, rank,
                             HN_MAX_RANK);
    const hn_type *t = hn_type_tensor(hn_infer_arena(c), elem, rank, dims);
    HN_TRY_PTR(t);
    return hn_out_type(c, i, t);
}

hone_status hn_out_elem(hn_infer *c, uint32_t i, hn_dtype elem) {
    return elem == HN_UNDEFINED ? HONE_OK : hn_out_tensor(c, i, elem, -1, NULL);
}

hone_status hn_out_shape(hn_infer *c, uint32_t i, int32_t rank, const hn_dim *dims) {
    if (!hn_has_output(c, i) || rank < 0)
        return HONE_OK;
    hn_dtype elem = c->out[i] && c->out[i]->kind == HN_TYPE_TENSOR ? c->out[i]->elem : HN_UNDEFINED;
    return hn_out_tensor(c, i, elem, rank, dims);
}

hone_status hn_out_same(hn_infer *c, uint32_t i, uint32_t input) {
    const hn_type *t = hn_in_type(c, input);
    if (t && t->kind == HN_TYPE_TENSOR) /* denotations stay with the input */
        return hn_out_tensor(c, i, t->elem, t->shape.rank, t->shape.dims);
    return hn_out_type(c, i, t);
}

static hone_status out_ints(hn_infer *c, uint32_t i, const infer_ints *ints) {
    if (!hn_has_output(c, i) || ints->n > HN_MAX_FOLLOWED)
        return HONE_OK;
    infer_ints *known = hn_arena_copy(hn_infer_arena(c), ints, sizeof *ints);
    HN_TRY_PTR(known);
    known->elems = hn_arena_copy(hn_infer_arena(c), ints->elems, ints->n * sizeof *ints->elems);
    HN_TRY_PTR(known->elems);
    c->out_ints[i] = known;
    return HONE_OK;
}

hone_status hn_out_ints(hn_infer *c, uint32_t i, uint32_t n, const hn_sint *elems, bool is_scalar) {
    return out_ints(c, i, &(infer_ints){.n = n, .is_scalar = is_scalar, .elems = elems});
}

hone_status hn_out_int_matrix(hn_infer *c, uint32_t i, const hn_int_matrix *m) {
    infer_ints ints = {.n = m->n_rows * m->n_cols, .n_cols = m->n_cols, .elems = m->elems};
    return ints.n ? out_ints(c, i, &ints) : HONE_OK;
}

const hn_shape *hn_out_shape_known(const hn_infer *c, uint32_t i) {
    const hn_type *t = hn_has_output(c, i) ? c->out[i] : NULL;
    return t && t->kind == HN_TYPE_TENSOR && t->shape.rank >= 0 ? &t->shape : NULL;
}

hone_status hn_out_const(hn_infer *c, uint32_t i, const hn_tensor *t) {
    if (!hn_has_output(c, i))
        return HONE_OK;
    c->out_consts[i] = t;
    return hn_out_tensor(c, i, t->dtype, t->rank, t->dims);
}
