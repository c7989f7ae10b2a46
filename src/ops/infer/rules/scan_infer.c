/* Inference rule of Scan: a body that runs over slices of tensors. Version 8 has a leading batch
 * axis everywhere; later versions have attributes for the axes. */
#include "ops/infer/body.h"

typedef struct scan_run {
    bool has_batch;                    /* version 8 */
    uint32_t first;                    /* the input that is the first state variable */
    uint32_t n_states, n_scans;        /* state variables, scanned inputs */
    const int64_t *in_axes, *out_axes; /* NULL: all 0 */
    hn_dim batch, length;
} scan_run;

/* A list attribute with one entry per scanned input or output; *out is NULL when absent. */
static hone_status read_scan_list(hn_infer *c, const char *name, uint32_t expected,
                                  const int64_t **out) {
    uint32_t n;
    if (!hn_attr_ints(c, name, &n, out)) {
        *out = NULL;
        return HONE_OK;
    }
    if (n != expected)
        return hn_infer_fail(c, HONE_E_INVALID, "%s has %u entries, but there are %u such tensors",
                             name, n, expected);
    return HONE_OK;
}

static hone_status check_directions(hn_infer *c, const char *name, uint32_t expected) {
    const int64_t *directions;
    HN_TRY(read_scan_list(c, name, expected, &directions));
    for (uint32_t i = 0; directions && i < expected; i++)
        if (directions[i] != 0 && directions[i] != 1)
            return hn_infer_fail(c, HONE_E_INVALID,
                                 "%s has the entry %lld; it must be 0 (forward) or 1 (backward)",
                                 name, (long long)directions[i]);
    return HONE_OK;
}

static hone_status open_scan(hn_infer *c, scan_run *s) {
    *s = (scan_run){.batch = HN_DIM_UNKNOWN, .length = HN_DIM_UNKNOWN};
    s->has_batch = hn_infer_version(c) < 9;
    s->first = s->has_batch ? 1 : 0; /* input 0 is sequence_lens */
    uint32_t n_in = hn_n_inputs(c) - HN_MIN(s->first, hn_n_inputs(c)), n_body_in;
    int64_t n_scans = hn_attr_i(c, "num_scan_inputs", 0);
    if (n_scans < 0 || n_scans > n_in)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "num_scan_inputs is %lld, but the node has %u inputs to scan or carry",
                             (long long)n_scans, n_in);
    s->n_scans = (uint32_t)n_scans;
    s->n_states = n_in - s->n_scans;
    if (s->n_states > hn_n_outputs(c))
        return hn_infer_fail(c, HONE_E_INVALID,
                             "%u state variables enter, but the node has %u outputs", s->n_states,
                             hn_n_outputs(c));
    if (hn_body_n_inputs(c, "body", &n_body_in) && n_body_in < n_in)
        return hn_infer_fail(c, HONE_E_INVALID, "the body has %u inputs, but needs %u", n_body_in,
                             n_in);
    uint32_t n_scan_outs = hn_n_outputs(c) - s->n_states;
    if (s->has_batch)
        return check_directions(c, "directions", s->n_scans);
    HN_TRY(check_directions(c, "scan_input_directions", s->n_scans));
    HN_TRY(check_directions(c, "scan_output_directions", n_scan_outs));
    HN_TRY(read_scan_list(c, "scan_input_axes", s->n_scans, &s->in_axes));
    return read_scan_list(c, "scan_output_axes", n_scan_outs, &s->out_axes);
}

/* Removes one axis from a type and merges its size into *size. */
static hone_status take_axis(hn_infer *c, const char *what, const hn_type *t, int64_t axis,
                             hn_dim *size, const hn_type **out) {
    int32_t at, rank = t->shape.rank;
    HN_TRY(hn_infer_axis(c, what, axis, rank, &at));
    HN_TRY(hn_merge_dim(c, what, *size, t->shape.dims[at], size));
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    for (int32_t k = 0; k < rank - 1; k++)
        dims[k] = t->shape.dims[k < at ? k : k + 1];
    *out = hn_type_tensor(hn_infer_arena(c), t->elem, rank - 1, dims);
    return *out ? HONE_OK : HONE_E_NOMEM;
}

static hone_status put_axis(hn_infer *c, const char *what, const hn_type *t, int64_t axis,
                            hn_dim size, const hn_type **out) {
    int32_t at, rank = t->shape.rank + 1;
    HN_TRY(hn_infer_axis(c, what, axis, rank, &at));
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    for (int32_t k = 0; k < rank; k++)
        dims[k] = k == at ? size : t->shape.dims[k < at ? k : k - 1];
    *out = hn_type_tensor(hn_infer_arena(c), t->elem, rank, dims);
    return *out ? HONE_OK : HONE_E_NOMEM;
}

/* The type of input `i` (counted after sequence_lens) inside the body. */
static hone_status scan_body_input(hn_infer *c, scan_run *s, uint32_t i, const hn_type **out) {
    const hn_type *t = *out = hn_in_type(c, s->first + i);
    if (!t || t->shape.rank < 0)
        return HONE_OK;
    if (s->has_batch) {
        HN_TRY(take_axis(c, "the batch axis", t, 0, &s->batch, out));
        t = *out;
    }
    if (i < s->n_states)
        return HONE_OK;
    int64_t axis = s->in_axes ? s->in_axes[i - s->n_states] : 0;
    return take_axis(c, "the scanned axis", t, axis, &s->length, out);
}

/* A state variable keeps its shape: the shapes of the initial value and of the body's result are
 * merged. */
static hone_status scan_state_out(hn_infer *c, const scan_run *s, uint32_t i,
                                  const hn_type *initial, const hn_type *given) {
    if (!hn_types_agree(initial, given))
        return hn_infer_fail(c, HONE_E_TYPE, "state variable %u is %s, but the body returns %s", i,
                             hn_type_str(c, initial), hn_type_str(c, given));
    const hn_type *t = given && given->shape.rank >= 0 ? given : initial ? initial : given;
    if (!t || t->shape.rank < 0)
        return hn_out_type(c, i, t);
    hn_dim *dims = hn_infer_dims(c, t->shape.rank);
    HN_TRY_PTR(dims);
    bool has_other = initial && t != initial && initial->shape.rank >= 0;
    if (has_other && initial->shape.rank != t->shape.rank)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "state variable %u must keep its shape, but is %s and becomes %s", i,
                             hn_type_str(c, initial), hn_type_str(c, given));
    for (int32_t k = 0; k < t->shape.rank; k++)
        HN_TRY(hn_merge_dim(c, "a dimension of a state variable",
                            has_other ? initial->shape.dims[k] : HN_DIM_UNKNOWN, t->shape.dims[k],
                            &dims[k]));
    hn_dtype elem = t->elem ? t->elem : initial ? initial->elem : HN_UNDEFINED;
    const hn_type *merged = hn_type_tensor(hn_infer_arena(c), elem, t->shape.rank, dims);
    HN_TRY_PTR(merged);
    if (s->has_batch)
        HN_TRY(put_axis(c, "the batch axis", merged, 0, s->batch, &merged));
    return hn_out_type(c, i, merged);
}

static hone_status scan_stack_out(hn_infer *c, const scan_run *s, uint32_t i, const hn_type *item) {
    if (!item)
        return HONE_OK;
    if (item->kind != HN_TYPE_TENSOR)
        return hn_infer_fail(c, HONE_E_TYPE,
                             "the body returns %s for output %u, but only tensors can be stacked",
                             hn_type_str(c, item), i);
    if (item->shape.rank < 0)
        return hn_out_type(c, i, item);
    int64_t axis = s->out_axes ? s->out_axes[i - s->n_states] : 0;
    HN_TRY(put_axis(c, "scan_output_axes", item, axis, s->length, &item));
    if (s->has_batch)
        HN_TRY(put_axis(c, "the batch axis", item, 0, s->batch, &item));
    return hn_out_type(c, i, item);
}

hone_status hn_infer_scan(hn_infer *c) {
    scan_run s;
    HN_TRY(open_scan(c, &s));
    uint32_t n_in = s.n_states + s.n_scans, n_out;
    const hn_type **in = HN_NEW_N(hn_infer_arena(c), const hn_type *, (size_t)n_in + 1);
    HN_TRY_PTR(in);
    for (uint32_t i = 0; i < n_in; i++)
        HN_TRY(scan_body_input(c, &s, i, &in[i]));
    const hn_type *const *out;
    HN_TRY(hn_infer_body(c, "body", n_in, in, &n_out, &out));
    if (out && n_out != hn_n_outputs(c))
        return hn_infer_fail(c, HONE_E_INVALID, "the body has %u outputs, but the node has %u",
                             n_out, hn_n_outputs(c));
    for (uint32_t i = 0; i < s.n_states; i++)
        HN_TRY(scan_state_out(c, &s, i, in[i], out ? out[i] : NULL));
    for (uint32_t i = s.n_states; out && i < n_out; i++)
        HN_TRY(scan_stack_out(c, &s, i, out[i]));
    return HONE_OK;
}
