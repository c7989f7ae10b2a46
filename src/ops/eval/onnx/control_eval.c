/* Evaluation of If, Loop and SequenceMap. */
#include "ops/infer/body.h"
#include "ops/eval/onnx/control_eval.h"

/* ---- shared with Scan ------------------------------------------------------------------------ */

void hn_unref_all(hn_eval *c, uint32_t n, hn_object **objects) {
    for (uint32_t i = 0; i < n; i++) {
        hn_object_unref(c, objects[i]);
        objects[i] = NULL;
    }
}

hone_status hn_run_body(hn_eval *c, hn_body_role role, uint32_t n_in, hn_object *const *in,
                        uint32_t n_out, hn_object **out) {
    if (hn_eval_stopped(c))
        return HONE_E_CANCELLED;
    return hn_eval_body(c, role, n_in, in, n_out, out);
}

static bool is_typed_tensor(const hn_type *t) {
    return t && t->kind == HN_TYPE_TENSOR && t->elem != HN_UNDEFINED;
}

static bool has_unknown_dim(const hn_type *t) {
    for (int32_t k = 0; k < t->shape.rank; k++)
        if (!hn_dim_is_known(t->shape.dims[k]))
            return true;
    return t->shape.rank < 0;
}

/* What inference leaves open is as declared, where that fits it. */
static const hn_type *complete_type(hn_arena *a, const hn_type *found, const hn_type *declared) {
    if (!is_typed_tensor(found))
        return declared;
    if (!is_typed_tensor(declared) || !has_unknown_dim(found) || found->elem != declared->elem)
        return found;
    if (found->shape.rank < 0)
        return declared;
    if (found->shape.rank != declared->shape.rank)
        return found;
    hn_dim dims[HN_MAX_RANK];
    for (int32_t k = 0; k < found->shape.rank; k++)
        dims[k] =
            hn_dim_is_known(found->shape.dims[k]) ? found->shape.dims[k] : declared->shape.dims[k];
    return hn_type_tensor(a, found->elem, found->shape.rank, dims);
}

hone_status hn_unrun_body_types(hn_eval *c, uint32_t n_in, const hn_type *const *in, uint32_t n_out,
                                const hn_type **out) {
    const hn_infer *node = hn_eval_node(c);
    HN_TRY(hn_eval_body_types(c, HN_BODY_MAIN, n_in, in, n_out, out));
    for (uint32_t i = 0; i < n_out; i++) {
        const hn_type *declared = hn_body_out_declared(node, "body", i);
        out[i] = complete_type(hn_infer_arena(node), out[i], declared);
        if (!out[i] && declared)
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

hone_status hn_stacked_dims(hn_eval *c, uint32_t body_output, const hn_array *item,
                            const hn_type *unrun, int64_t axis, int64_t length,
                            hn_stack_shape *out) {
    if (!item && !is_typed_tensor(unrun))
        return hn_eval_fail(c, HONE_E_TYPE,
                            "the body never ran, and does not declare the type of its output %u",
                            body_output);
    out->dtype = item ? item->dtype : unrun->elem;
    int32_t rank = item ? item->rank : HN_MAX(unrun->shape.rank, 0);
    if (rank >= HN_MAX_RANK)
        return hn_eval_fail(c, HONE_E_LIMIT,
                            "output %u of the body has rank %d; one axis more is not allowed",
                            body_output, rank);
    out->rank = rank + 1;
    HN_TRY(hn_axis_of(c, axis, out->rank, &out->axis));
    for (int32_t k = 0, from = 0; k < out->rank; k++) {
        if (k == out->axis)
            out->dims[k] = length;
        else if (item)
            out->dims[k] = item->dims[from++];
        else { /* nothing is stacked: sizes that are not known are 0 */
            int64_t size = unrun->shape.dims[from++];
            out->dims[k] = HN_MAX(size, 0);
        }
    }
    return HONE_OK;
}

bool hn_fits_stack(const hn_array *stack, int32_t axis, const hn_array *item) {
    bool fits = item->dtype == stack->dtype && item->rank == stack->rank - 1;
    for (int32_t k = 0; fits && k < item->rank; k++)
        fits = item->dims[k] == stack->dims[k < axis ? k : k + 1];
    return fits;
}

/* ---- If -------------------------------------------------------------------------------------- */

static hone_status read_condition(hn_eval *c, const hn_array *a, bool *out) {
    int64_t v;
    if (!a || a->n_elems != 1)
        return hn_eval_fail(c, HONE_E_SHAPE, "the condition must have one element");
    hn_load_i64(a, 0, 1, &v);
    *out = v != 0;
    return HONE_OK;
}

static hone_status eval_if(hn_eval *c) {
    bool is_true = false;
    uint32_t n = hn_n_rets(c);
    HN_TRY(read_condition(c, hn_arg(c, 0), &is_true));
    hn_object **out = hn_eval_scratch(c, n * sizeof *out);
    HN_TRY_PTR(out);
    HN_TRY(hn_run_body(c, is_true ? HN_BODY_MAIN : HN_BODY_SECOND, 0, NULL, n, out));
    for (uint32_t i = 0; i < n; i++)
        HN_TRY(hn_ret_object(c, i, out[i]));
    return HONE_OK;
}
const hn_impl hn_impl_if[1] = {{.eval = eval_if}};

/* ---- Loop ------------------------------------------------------------------------------------ */

/* Body: iteration, condition, variables -> condition, variables, elements to stack. */
enum { LOOP_FIRST_IN = 2, LOOP_FIRST_OUT = 1 };

typedef HN_VEC(hn_object *) object_list;

typedef struct loop_job {
    uint32_t n_vars, n_stacks;
    hn_object **in, **out;
    object_list *stacks;
    int64_t n_trips, max_trips;
    bool goes_on;
} loop_job;

static hone_status loop_open(hn_eval *c, loop_job *l) {
    const hn_array *limit = hn_arg(c, 0);
    uint32_t n_args = hn_n_args(c), n_rets = hn_n_rets(c);
    *l = (loop_job){.n_vars = n_args > LOOP_FIRST_IN ? n_args - LOOP_FIRST_IN : 0,
                    .max_trips = INT64_MAX,
                    .goes_on = true};
    if (l->n_vars > n_rets)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "%u variables enter the loop, but the node has %u outputs", l->n_vars,
                            n_rets);
    l->n_stacks = n_rets - l->n_vars;
    if (limit && limit->n_elems != 1)
        return hn_eval_fail(c, HONE_E_SHAPE, "the number of iterations must have one element");
    if (limit)
        hn_load_i64(limit, 0, 1, &l->max_trips);
    if (hn_arg(c, 1))
        HN_TRY(read_condition(c, hn_arg(c, 1), &l->goes_on));
    hn_arena *arena = hn_infer_arena(hn_eval_node(c));
    l->in = HN_NEW_N(arena, hn_object *, (size_t)l->n_vars + LOOP_FIRST_IN);
    l->out = HN_NEW_N(arena, hn_object *, (size_t)n_rets + LOOP_FIRST_OUT);
    l->stacks = HN_NEW_N(arena, object_list, (size_t)l->n_stacks + 1);
    if (!l->in || !l->out || !l->stacks)
        return HONE_E_NOMEM;
    for (uint32_t v = 0; v < l->n_vars; v++) {
        const hn_object *initial = hn_arg_object(c, LOOP_FIRST_IN + v);
        l->in[LOOP_FIRST_IN + v] = initial ? hn_object_ref(c, initial) : NULL;
        if (initial && !l->in[LOOP_FIRST_IN + v])
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

/* The iteration number and the condition, as the body sees them. */
static hone_status loop_set_counters(hn_eval *c, loop_job *l) {
    l->in[0] = hn_object_tensor(c, HN_I64, 0, NULL);
    l->in[1] = hn_object_tensor(c, HN_BOOL, 0, NULL);
    if (!l->in[0] || !l->in[1])
        return HONE_E_NOMEM;
    *(int64_t *)l->in[0]->array.data = l->n_trips;
    *(uint8_t *)l->in[1]->array.data = l->goes_on;
    return HONE_OK;
}

/* Results of one trip: variables for the next one, elements for the stacks. Takes over l->out. */
static hone_status loop_take_results(hn_eval *c, loop_job *l) {
    HN_TRY(read_condition(c, l->out[0]->kind == HN_OBJECT_TENSOR ? &l->out[0]->array : NULL,
                          &l->goes_on));
    for (uint32_t v = 0; v < l->n_vars; v++) {
        hn_object_unref(c, l->in[LOOP_FIRST_IN + v]);
        l->in[LOOP_FIRST_IN + v] = l->out[LOOP_FIRST_OUT + v];
        l->out[LOOP_FIRST_OUT + v] = NULL;
    }
    for (uint32_t s = 0; s < l->n_stacks; s++) {
        hn_object **item = &l->out[LOOP_FIRST_OUT + l->n_vars + s];
        if (!hn_wants_ret(c, l->n_vars + s))
            continue;
        if (!HN_VEC_PUSH(hn_infer_arena(hn_eval_node(c)), &l->stacks[s], *item))
            return HONE_E_NOMEM;
        *item = NULL;
    }
    return HONE_OK;
}

static hone_status loop_trip(hn_eval *c, loop_job *l) {
    uint32_t n_out = hn_n_rets(c) + LOOP_FIRST_OUT;
    hone_status status = loop_set_counters(c, l);
    if (status == HONE_OK)
        status = hn_run_body(c, HN_BODY_MAIN, l->n_vars + LOOP_FIRST_IN, l->in, n_out, l->out);
    if (status == HONE_OK)
        status = loop_take_results(c, l);
    hn_unref_all(c, LOOP_FIRST_IN, l->in);
    hn_unref_all(c, n_out, l->out);
    l->n_trips++;
    return status;
}

/* What the body would return in the first trip of a loop that makes none; *out by its outputs. */
static hone_status loop_unrun_types(hn_eval *c, const loop_job *l, const hn_type *const **out) {
    hn_arena *arena = hn_infer_arena(hn_eval_node(c));
    uint32_t n_in = l->n_vars + LOOP_FIRST_IN, n_out = hn_n_rets(c) + LOOP_FIRST_OUT;
    const hn_type **in = HN_NEW_N(arena, const hn_type *, n_in);
    const hn_type **types = HN_NEW_N(arena, const hn_type *, n_out);
    if (!in || !types)
        return HONE_E_NOMEM;
    HN_TRY_PTR(in[0] = hn_type_tensor(arena, HN_I64, 0, NULL));
    HN_TRY_PTR(in[1] = hn_type_tensor(arena, HN_BOOL, 0, NULL));
    for (uint32_t v = LOOP_FIRST_IN; v < n_in; v++) {
        const hn_array *x = hn_arg(c, v);
        if (x)
            HN_TRY_PTR(in[v] = hn_type_tensor(arena, x->dtype, x->rank, x->dims));
    }
    *out = types;
    return hn_unrun_body_types(c, n_in, in, n_out, types);
}

static hone_status loop_stack(hn_eval *c, loop_job *l, const hn_type *const *unrun, uint32_t s) {
    const object_list *items = &l->stacks[s];
    uint32_t output = l->n_vars + s;
    hn_stack_shape shape;
    hn_array *y;
    for (uint32_t i = 0; i < items->n; i++)
        if (items->at[i]->kind != HN_OBJECT_TENSOR)
            return hn_eval_fail(c, HONE_E_TYPE,
                                "output %u of the body is no tensor and cannot be stacked",
                                output + LOOP_FIRST_OUT);
    HN_TRY(hn_stacked_dims(c, output + LOOP_FIRST_OUT, items->n ? &items->at[0]->array : NULL,
                           unrun ? unrun[output + LOOP_FIRST_OUT] : NULL, 0, items->n, &shape));
    HN_TRY(hn_ret_alloc(c, output, shape.dtype, shape.rank, shape.dims, &y));
    for (uint32_t i = 0; i < items->n; i++) {
        if (!hn_fits_stack(y, 0, &items->at[i]->array))
            return hn_eval_fail(
                c, HONE_E_SHAPE,
                "output %u of the body has another type or shape in iteration %u than in the first",
                output + LOOP_FIRST_OUT, i);
        HN_TRY(hn_copy_to_axis(c, y, 0, i, 1, &items->at[i]->array));
    }
    return HONE_OK;
}

static hone_status loop_finish(hn_eval *c, loop_job *l) {
    for (uint32_t v = 0; v < l->n_vars; v++) {
        hn_object *last = l->in[LOOP_FIRST_IN + v];
        l->in[LOOP_FIRST_IN + v] = NULL;
        if (!last && hn_wants_ret(c, v))
            return hn_eval_fail(c, HONE_E_INVALID, "loop variable %u has no value", v);
        if (last)
            HN_TRY(hn_ret_object(c, v, last));
    }
    const hn_type *const *unrun = NULL;
    if (!l->n_trips && l->n_stacks)
        HN_TRY(loop_unrun_types(c, l, &unrun));
    for (uint32_t s = 0; s < l->n_stacks; s++)
        if (hn_wants_ret(c, l->n_vars + s))
            HN_TRY(loop_stack(c, l, unrun, s));
    return HONE_OK;
}

static hone_status eval_loop(hn_eval *c) {
    loop_job l;
    hone_status status = loop_open(c, &l);
    while (status == HONE_OK && l.goes_on && l.n_trips < l.max_trips)
        status = loop_trip(c, &l);
    if (status == HONE_OK)
        status = loop_finish(c, &l);
    if (l.in)
        hn_unref_all(c, l.n_vars + LOOP_FIRST_IN, l.in);
    for (uint32_t s = 0; l.stacks && s < l.n_stacks; s++)
        hn_unref_all(c, l.stacks[s].n, l.stacks[s].at);
    return status;
}
const hn_impl hn_impl_loop[1] = {{.eval = eval_loop}};

/* ---- SequenceMap ----------------------------------------------------------------------------- */

/* What the body sees in turn i: one element of each sequence, every tensor as a whole. Borrowed. */
static hone_status map_inputs(hn_eval *c, uint32_t i, uint32_t n_items, const hn_object **in) {
    for (uint32_t k = 0; k < hn_n_args(c); k++) {
        const hn_object *o = hn_arg_object(c, k);
        bool is_sequence = o && o->kind == HN_OBJECT_SEQUENCE;
        if (is_sequence && o->n_items != n_items)
            return hn_eval_fail(c, HONE_E_INVALID, "input %u has %u elements, but input 0 has %u",
                                k, o->n_items, n_items);
        in[k] = is_sequence ? o->items[i] : o;
    }
    return HONE_OK;
}

static hone_status map_turn(hn_eval *c, uint32_t i, uint32_t n_items, const hn_object **in,
                            hn_object **out, hn_object **sequences) {
    HN_TRY(map_inputs(c, i, n_items, in));
    HN_TRY(hn_run_body(c, HN_BODY_MAIN, hn_n_args(c), (hn_object *const *)(const void *)in,
                       hn_n_rets(c), out));
    for (uint32_t k = 0; k < hn_n_rets(c); k++)
        sequences[k]->items[i] = out[k];
    return HONE_OK;
}

static hone_status eval_sequence_map(hn_eval *c) {
    const hn_object *first = hn_arg_object(c, 0);
    uint32_t n_rets = hn_n_rets(c),
             n_items = first && first->kind == HN_OBJECT_SEQUENCE ? first->n_items : 0;
    const hn_object **in = hn_eval_scratch(c, (uint64_t)hn_n_args(c) * sizeof *in);
    hn_object **out = hn_eval_scratch(c, (uint64_t)n_rets * sizeof *out);
    hn_object **sequences = hn_eval_scratch(c, (uint64_t)n_rets * sizeof *sequences);
    hone_status status = in && out && sequences ? HONE_OK : HONE_E_NOMEM;
    if (status != HONE_OK)
        return status;
    for (uint32_t k = 0; k < n_rets; k++) {
        sequences[k] = hn_object_sequence(c, n_items);
        status = sequences[k] ? status : HONE_E_NOMEM;
    }
    for (uint32_t i = 0; i < n_items && status == HONE_OK; i++)
        status = map_turn(c, i, n_items, in, out, sequences);
    for (uint32_t k = 0; k < n_rets && status == HONE_OK; k++) {
        status = hn_ret_object(c, k, sequences[k]);
        sequences[k] = NULL;
    }
    hn_unref_all(c, n_rets, sequences);
    return status;
}
const hn_impl hn_impl_sequence_map[1] = {{.eval = eval_sequence_map}};
