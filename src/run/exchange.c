/* What goes in and out of a run: read and written in the caller's memory where that is possible. */
#include "run/run_int.h"

/* Shows memory of somebody else as the value: it is read or written there, and never freed by us.
 */
static void lend(hn_state *s, hn_id id, const hn_array *a) {
    hn_object_init_borrowed(&s->planned[id], a->dtype, a->rank, a->dims, a->data);
    s->values[id] = &s->planned[id];
}

static bool shares_bytes(const hn_object *a, const hn_object *b) {
    uint64_t a_bytes, b_bytes;
    if (a->kind != HN_OBJECT_TENSOR || b->kind != HN_OBJECT_TENSOR ||
        !hn_dtype_bytes(a->array.dtype, a->array.n_elems, &a_bytes) ||
        !hn_dtype_bytes(b->array.dtype, b->array.n_elems, &b_bytes))
        return a == b;
    uintptr_t a_at = (uintptr_t)a->array.data, b_at = (uintptr_t)b->array.data;
    return a == b || (a_at < b_at + b_bytes && b_at < a_at + a_bytes);
}

/* Will a result be written to the memory of this value, while it is still read? */
static bool is_bound_to_output(const hn_call *c, const hn_object *o, uint32_t n_outputs) {
    for (uint32_t i = 0; i < n_outputs; i++)
        if (c->is_bound[i] && shares_bytes(o, c->outputs[i]))
            return true;
    return false;
}

static hone_status refuse_shared_outputs(const hn_state *s, hone_error *err) {
    const hn_call *c = &s->call;
    for (uint32_t i = 0; i < c->n_outputs; i++)
        if (c->is_bound[i] && is_bound_to_output(c, c->outputs[i], i))
            return hn_fail(err, HONE_E_ARGUMENT,
                           "the buffer for output '%s' overlaps that of another output",
                           hn_s(hn_value_at(hn_state_graph(s),
                                            hn_block_at(hn_state_graph(s), 0)->outputs.at[i])
                                    ->name));
    return HONE_OK;
}

/* Tensors are read where they lie, but for those whose memory is also that of an output; sequences
 * and maps are copied, so that nobody else's reference counts are touched. */
hone_status hn_run_take_inputs(hn_state *s, hone_error *err) {
    const hn_block *b = hn_block_at(hn_state_graph(s), 0);
    HN_TRY(refuse_shared_outputs(s, err));
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        const hn_object *given = s->call.inputs[i];
        hn_id id = b->inputs.at[i];
        if (!given)
            continue;
        if (given->kind == HN_OBJECT_TENSOR &&
            !is_bound_to_output(&s->call, given, s->call.n_outputs))
            lend(s, id, &given->array);
        else
            s->values[id] = hn_heap_copy(s->heap, given);
        HN_TRY_PTR(s->values[id]);
    }
    return HONE_OK;
}

static hone_status fail_buffer(const hn_state *s, hn_id id, const hn_array *given,
                               const hn_array *computed, hone_error *err) {
    hn_strbuf text;
    hn_strbuf_init(&text, NULL);
    const hn_array *both[] = {given, computed};
    for (int k = 0; k < 2; k++) {
        hn_strbuf_printf(&text, "%s%s[", k ? ", but the model computes " : "",
                         hn_dtype_name(both[k]->dtype));
        for (int32_t i = 0; i < both[k]->rank; i++)
            hn_strbuf_printf(&text, "%s%lld", i ? "," : "", (long long)both[k]->dims[i]);
        hn_strbuf_puts(&text, "]");
    }
    hone_status status =
        hn_fail(err, given->dtype == computed->dtype ? HONE_E_SHAPE : HONE_E_TYPE,
                "the buffer for output '%s' is %s", hn_s(hn_value_at(hn_state_graph(s), id)->name),
                text.failed ? "of another form" : text.at);
    hn_strbuf_free(&text);
    return status;
}

/* Outputs whose shape is planned are computed right where the caller wants them. */
hone_status hn_run_lend_outputs(hn_state *s, hone_error *err) {
    const hn_graph *g = hn_state_graph(s);
    const hn_block *b = hn_block_at(g, 0);
    hn_call *c = &s->call;
    for (uint32_t i = 0; i < b->outputs.n; i++) {
        hn_id id = b->outputs.at[i];
        const hn_type *t = s->plan->places[id].type;
        if (!c->wanted[i] || !t)
            continue;
        if (c->is_bound[i] && !hn_array_has_type(&c->outputs[i]->array, t)) {
            hn_array computed = {.dtype = t->elem, .rank = t->shape.rank, .dims = t->shape.dims};
            return fail_buffer(s, id, &c->outputs[i]->array, &computed, err);
        }
        if (hn_value_at(g, id)->producer == HN_NONE || t->elem == HN_STRING || s->values[id])
            continue; /* copied at the end */
        if (!c->outputs[i])
            c->outputs[i] = hn_heap_tensor(c->heaps[i], t->elem, t->shape.rank, t->shape.dims);
        if (!c->outputs[i]) {
            hn_array wanted = {.dtype = t->elem, .rank = t->shape.rank, .dims = t->shape.dims};
            return hn_run_refuse_output(s, i, &wanted, err);
        }
        lend(s, id, &c->outputs[i]->array);
    }
    return HONE_OK;
}

static hone_status fill_buffer(hn_state *s, hn_id id, hn_heap *heap, hn_object *buffer,
                               const hn_object *o, hone_error *err) {
    const hn_array *a = &o->array, *to = &buffer->array;
    if (o->kind != HN_OBJECT_TENSOR)
        return hn_fail(err, HONE_E_TYPE,
                       "output '%s' is no tensor: it cannot be written to a buffer",
                       hn_s(hn_value_at(hn_state_graph(s), id)->name));
    if (a->dtype != to->dtype || a->rank != to->rank ||
        (a->rank && memcmp(a->dims, to->dims, (size_t)a->rank * sizeof *a->dims)))
        return fail_buffer(s, id, to, a, err);
    return hn_heap_copy_elems(heap, &buffer->array, a) ? HONE_OK : HONE_E_NOMEM;
}

/* A value that could not be computed in place is copied. */
static hone_status give_output(hn_state *s, uint32_t i, hone_error *err) {
    hn_id id = hn_block_at(hn_state_graph(s), 0)->outputs.at[i];
    hn_object *o = s->values[id], **to = &s->call.outputs[i];
    if (!o)
        return hn_fail(err, HONE_E_INTERNAL, "output '%s' was not computed",
                       hn_s(hn_value_at(hn_state_graph(s), id)->name));
    if (*to && o == &s->planned[id] && o->array.data == (*to)->array.data)
        return HONE_OK;
    if (*to)
        return fill_buffer(s, id, s->call.heaps[i], *to, o, err);
    *to = hn_heap_copy(s->call.heaps[i], o);
    return *to ? HONE_OK : hn_run_refuse_output(s, i, &o->array, err);
}

hone_status hn_run_give_outputs(hn_state *s, hone_error *err) {
    for (uint32_t i = 0; i < s->call.n_outputs; i++)
        if (s->call.wanted[i])
            HN_TRY(give_output(s, i, err));
    return HONE_OK;
}
