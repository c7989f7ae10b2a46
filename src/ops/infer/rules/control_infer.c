/* Inference rules of operators that run a body graph: If, Loop, SequenceMap. Scan has its own
 * file. */
#include "ops/infer/body.h"

/* ---- If -------------------------------------------------------------------------------------- */

static hone_status infer_branch(hn_infer *c, const char *attr, const hn_type *const **out) {
    uint32_t n;
    HN_TRY(hn_infer_body(c, attr, 0, NULL, &n, out));
    if (*out && n != hn_n_outputs(c))
        return hn_infer_fail(c, HONE_E_INVALID, "%s has %u outputs, but the node has %u", attr, n,
                             hn_n_outputs(c));
    return HONE_OK;
}

/* Conditions and counts have one element, of any rank. */
static hone_status expect_single(hn_infer *c, uint32_t input, const char *what) {
    const hn_shape *s = hn_in_shape(c, input);
    hn_dim n = s ? hn_shape_elems(hn_infer_syms(c), s) : HN_DIM_UNKNOWN;
    if (!hn_dim_is_known(n) || n == 1)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE, "%s is %s, but must have one element", what,
                         hn_in_text(c, input));
}

hone_status hn_infer_if(hn_infer *c) {
    const hn_type *const *when_true, *const *when_false;
    HN_TRY(expect_single(c, 0, "the condition"));
    HN_TRY(infer_branch(c, "then_branch", &when_true));
    HN_TRY(infer_branch(c, "else_branch", &when_false));
    int64_t cond;
    bool is_decided = hn_in_i64(c, 0, &cond);
    for (uint32_t i = 0; i < hn_n_outputs(c); i++) {
        const hn_type *yes = when_true ? when_true[i] : NULL,
                      *no = when_false ? when_false[i] : NULL, *joined;
        HN_TRY(hn_types_join(c, "output", i, yes, no, &joined));
        const hn_type *taken = is_decided ? (cond ? yes : no) : NULL;
        HN_TRY(hn_out_type(c, i, taken ? taken : joined));
    }
    return HONE_OK;
}

/* ---- Loop ------------------------------------------------------------------------------------ */

#define LOOP_ROUNDS 4 /* attempts before all shapes are assumed unknown */

enum {
    LOOP_IN_FIRST_VAR = 2,
    LOOP_OUT_FIRST_VAR = 1
}; /* body: iteration, condition, variables -> condition, variables, scans */

typedef struct loop_run {
    uint32_t n_vars, n_body_in, n_body_out;
    const hn_type **in;        /* types of the body's inputs, joined over all iterations */
    const hn_type *const *out; /* types of its outputs; NULL when the body is not visible */
    hn_sint max_trips;         /* input M; unknown when absent */
    bool is_first_sure;        /* the first iteration provably runs, */
    bool is_first_refused;     /* or provably does not */
} loop_run;

static hone_status open_loop(hn_infer *c, loop_run *l) {
    uint32_t n = hn_n_inputs(c), n_elems;
    const hn_sint *elems;
    *l = (loop_run){.n_vars = n > LOOP_IN_FIRST_VAR ? n - LOOP_IN_FIRST_VAR : 0};
    l->n_body_in = LOOP_IN_FIRST_VAR + l->n_vars;
    HN_TRY(expect_single(c, 0, "the number of iterations"));
    HN_TRY(expect_single(c, 1, "the condition"));
    if (l->n_vars > hn_n_outputs(c))
        return hn_infer_fail(c, HONE_E_INVALID,
                             "%u variables enter the loop, but the node has %u outputs", l->n_vars,
                             hn_n_outputs(c));
    uint32_t n_declared;
    if (hn_body_n_inputs(c, "body", &n_declared) && n_declared < l->n_body_in)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "the body has %u inputs, but needs %u: the iteration number, the "
                             "condition and %u variables",
                             n_declared, l->n_body_in, l->n_vars);
    l->in = HN_NEW_N(hn_infer_arena(c), const hn_type *, l->n_body_in);
    HN_TRY_PTR(l->in);
    int64_t cond = 1;
    bool is_cond_known = !hn_has_input(c, 1) || hn_in_i64(c, 1, &cond);
    bool is_bounded = hn_has_input(c, 0);
    if (is_bounded && hn_in_ints(c, 0, &n_elems, &elems, NULL) && n_elems == 1)
        l->max_trips = elems[0];
    bool has_no_trips = l->max_trips.kind == HN_SINT_CONST && l->max_trips.v <= 0;
    l->is_first_refused = has_no_trips || (is_cond_known && !cond);
    l->is_first_sure =
        is_cond_known && cond &&
        (!is_bounded || hn_dim_at_least(hn_infer_syms(c), hn_sint_to_dim(l->max_trips), 1));
    return HONE_OK;
}

/* The iteration number and the condition are scalars, but old files declare them as [1]. */
static hone_status scalar_unless_declared(hn_infer *c, uint32_t body_input, hn_dtype elem,
                                          const hn_type **out) {
    const hn_type *declared = hn_body_in_declared(c, "body", body_input);
    bool is_other = declared && declared->kind == HN_TYPE_TENSOR && declared->shape.rank > 0;
    *out = hn_type_tensor(hn_infer_arena(c), elem, is_other ? -1 : 0, NULL);
    return *out ? HONE_OK : HONE_E_NOMEM;
}

/* The condition enters the first iteration unchanged. */
static hone_status check_condition_rank(hn_infer *c) {
    const hn_type *declared = hn_body_in_declared(c, "body", 1);
    int32_t rank = hn_in_rank(c, 1);
    if (rank < 0 || !declared || declared->shape.rank < 0 || declared->shape.rank == rank)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_SHAPE, "the condition is %s, but the body takes %s",
                         hn_in_text(c, 1), hn_type_str(c, declared));
}

static bool shapes_contradict(const hn_type *a, const hn_type *b) {
    if (!a || !b || a->shape.rank < 0 || b->shape.rank < 0)
        return false;
    bool differ = a->shape.rank != b->shape.rank;
    for (int32_t i = 0; !differ && i < a->shape.rank; i++)
        differ = hn_dim_is_known(a->shape.dims[i]) && hn_dim_is_known(b->shape.dims[i]) &&
                 a->shape.dims[i] != b->shape.dims[i];
    return differ;
}

/* Exporters leave shapes of a later iteration in the declaration of the body; the initial value
 * need not have them. */
static hone_status entry_type(hn_infer *c, uint32_t input, const hn_type **out) {
    *out = hn_in_type(c, input);
    if (!shapes_contradict(*out, hn_body_in_declared(c, "body", input)))
        return HONE_OK;
    return hn_type_forget_shape(c, *out, out);
}

/* A variable may start as an optional and continue as its content: then the type of the content
 * applies. */
static const hn_type *begun_as(const hn_type *initial, const hn_type *given) {
    bool is_unwrapped =
        initial && given && initial->kind == HN_TYPE_OPTIONAL && given->kind != HN_TYPE_OPTIONAL;
    return is_unwrapped ? initial->inner : initial;
}

/* The type of a variable at the input of the body, joined with what the body returned. */
static hone_status widen_variable(hn_infer *c, uint32_t v, const hn_type *in, const hn_type *given,
                                  const hn_type **out) {
    const hn_type *begun = begun_as(in, given);
    HN_TRY(hn_types_join(c, "loop variable", v, begun, given, out));
    if (begun == in || !*out)
        return HONE_OK;
    *out = hn_type_wrap(hn_infer_arena(c), HN_TYPE_OPTIONAL, HN_UNDEFINED, *out);
    return *out ? HONE_OK : HONE_E_NOMEM;
}

/* Joins all variables with the body's results; tells whether that changed any. */
static hone_status widen_variables(hn_infer *c, loop_run *l, bool forget_shapes,
                                   bool *has_changed) {
    *has_changed = forget_shapes;
    for (uint32_t v = 0; v < l->n_vars; v++) {
        const hn_type **in = &l->in[LOOP_IN_FIRST_VAR + v], *wide;
        if (forget_shapes)
            HN_TRY(hn_type_forget_shape(c, *in, &wide));
        else
            HN_TRY(widen_variable(c, v, *in, l->out[LOOP_OUT_FIRST_VAR + v], &wide));
        *has_changed |= wide != *in && !(wide && *in && hn_type_equal(wide, *in));
        *in = wide;
    }
    return HONE_OK;
}

/* The first attempt has the most exact types and reports problems; the others only widen. */
static hone_status infer_loop_body(hn_infer *c, loop_run *l) {
    HN_TRY(check_condition_rank(c));
    HN_TRY(scalar_unless_declared(c, 0, HN_I64, &l->in[0]));
    HN_TRY(scalar_unless_declared(c, 1, HN_BOOL, &l->in[1]));
    for (uint32_t v = 0; v < l->n_vars; v++)
        HN_TRY(entry_type(c, LOOP_IN_FIRST_VAR + v, &l->in[LOOP_IN_FIRST_VAR + v]));
    HN_TRY(hn_infer_body(c, "body", l->n_body_in, l->in, &l->n_body_out, &l->out));
    if (l->out && l->n_body_out != hn_n_outputs(c) + 1)
        return hn_infer_fail(
            c, HONE_E_INVALID,
            "the body has %u outputs, but must have %u: the condition and one for each "
            "of the node's outputs",
            l->n_body_out, hn_n_outputs(c) + 1);
    bool has_changed = l->out != NULL;
    for (int round = 1; has_changed; round++) {
        bool is_last = round > LOOP_ROUNDS;
        HN_TRY(widen_variables(c, l, round == LOOP_ROUNDS, &has_changed));
        if (!has_changed || is_last)
            break;
        HN_TRY(hn_infer_body_quietly(c, "body", l->n_body_in, l->in, &l->n_body_out, &l->out));
    }
    return HONE_OK;
}

/* The number of iterations equals M exactly when the condition never ends the loop. */
static hn_dim loop_trips(hn_infer *c, const loop_run *l) {
    bool keeps_on = false;
    if (l->is_first_refused)
        return 0;
    if (!hn_body_out_is_const(c, "body", 0, &keeps_on))
        keeps_on = hn_body_out_is_input(c, "body", 0, 1);
    int64_t cond = 1;
    bool starts = !hn_has_input(c, 1) || (hn_in_i64(c, 1, &cond) && cond);
    return keeps_on && starts ? hn_sint_to_dim(l->max_trips) : HN_DIM_UNKNOWN;
}

static hone_status loop_variable_out(hn_infer *c, const loop_run *l, uint32_t v) {
    const hn_type *initial = hn_in_type(c, LOOP_IN_FIRST_VAR + v), *type;
    const hn_type *given = l->out ? l->out[LOOP_OUT_FIRST_VAR + v] : NULL;
    if (l->is_first_refused)
        type = initial;
    else if (l->is_first_sure && given)
        type = given;
    else
        HN_TRY(hn_types_join(c, "loop variable", v, begun_as(initial, given), given, &type));
    return hn_out_type(c, v, type);
}

static hone_status loop_scan_out(hn_infer *c, uint32_t i, const hn_type *item, hn_dim trips) {
    if (!item)
        return HONE_OK;
    if (item->kind != HN_TYPE_TENSOR)
        return hn_infer_fail(c, HONE_E_TYPE,
                             "the body returns %s for output %u, but only tensors can be stacked",
                             hn_type_str(c, item), i);
    int32_t rank = item->shape.rank;
    if (rank < 0)
        return hn_out_elem(c, i, item->elem);
    hn_dim *dims = hn_infer_dims(c, rank + 1);
    HN_TRY_PTR(dims);
    dims[0] = trips;
    for (int32_t k = 0; k < rank; k++)
        dims[k + 1] = item->shape.dims[k];
    return hn_out_tensor(c, i, item->elem, rank + 1, dims);
}

hone_status hn_infer_loop(hn_infer *c) {
    loop_run l;
    HN_TRY(open_loop(c, &l));
    HN_TRY(infer_loop_body(c, &l));
    for (uint32_t v = 0; v < l.n_vars; v++)
        HN_TRY(loop_variable_out(c, &l, v));
    hn_dim trips = loop_trips(c, &l);
    for (uint32_t i = l.n_vars; l.out && i < hn_n_outputs(c); i++)
        HN_TRY(loop_scan_out(c, i, l.out[LOOP_OUT_FIRST_VAR + i], trips));
    return HONE_OK;
}

/* ---- SequenceMap ----------------------------------------------------------------------------- */

/* The body sees one element of each sequence, and every tensor as a whole. */
hone_status hn_infer_sequence_map(hn_infer *c) {
    uint32_t n_in = hn_n_inputs(c), n_declared, n_out;
    if (hn_body_n_inputs(c, "body", &n_declared) && n_declared < n_in)
        return hn_infer_fail(c, HONE_E_INVALID, "the body has %u inputs, but the node has %u",
                             n_declared, n_in);
    const hn_type **in = HN_NEW_N(hn_infer_arena(c), const hn_type *, (size_t)n_in + 1);
    HN_TRY_PTR(in);
    for (uint32_t i = 0; i < n_in; i++) {
        const hn_type *t = hn_in_type(c, i);
        in[i] = t && t->kind == HN_TYPE_SEQUENCE ? t->inner : t;
    }
    const hn_type *const *out;
    HN_TRY(hn_infer_body(c, "body", n_in, in, &n_out, &out));
    if (out && n_out != hn_n_outputs(c))
        return hn_infer_fail(c, HONE_E_INVALID, "the body has %u outputs, but the node has %u",
                             n_out, hn_n_outputs(c));
    for (uint32_t i = 0; out && i < n_out; i++) {
        if (!out[i])
            continue;
        if (out[i]->kind != HN_TYPE_TENSOR)
            return hn_infer_fail(c, HONE_E_TYPE,
                                 "the body returns %s for output %u, but must return a tensor",
                                 hn_type_str(c, out[i]), i);
        const hn_type *t = hn_type_wrap(hn_infer_arena(c), HN_TYPE_SEQUENCE, HN_UNDEFINED, out[i]);
        HN_TRY_PTR(t);
        HN_TRY(hn_out_type(c, i, t));
    }
    return HONE_OK;
}
