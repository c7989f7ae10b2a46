/* Evaluation of Scan. Version 8 runs the later versions' loop for each sample of a batch: its
 * tensors, seen without the batch axis, are contiguous. */
#include "ops/eval/onnx/control_eval.h"

typedef struct scan_job {
    bool has_batch; /* version 8 */
    uint32_t first; /* argument that is the first state variable */
    uint32_t n_states, n_scans, n_stacks;
    int64_t n_batch, length;
    const int64_t *in_axes, *out_axes, *in_turned, *out_turned; /* NULL: all 0 */
    hn_array *views;       /* n_scans: what is scanned, of the current sample */
    hn_object **in, **out; /* of the body */
    bool has_stepped;      /* the body has run at least once */
    const hn_type **unrun; /* without any step: what its outputs would be */
} scan_job;

/* A list attribute with an entry for each of n tensors. */
static hone_status scan_read_list(hn_eval *c, const char *name, uint32_t n, const int64_t **out) {
    uint32_t n_list;
    *out = NULL;
    if (!hn_attr_ints(hn_eval_node(c), name, &n_list, out))
        return HONE_OK;
    if (n_list != n)
        return hn_eval_fail(c, HONE_E_INVALID, "%s has %u entries, but there are %u such tensors",
                            name, n_list, n);
    return HONE_OK;
}

static hone_status scan_read_attrs(hn_eval *c, scan_job *s) {
    if (s->has_batch)
        return scan_read_list(c, "directions", s->n_scans, &s->in_turned);
    HN_TRY(scan_read_list(c, "scan_input_axes", s->n_scans, &s->in_axes));
    HN_TRY(scan_read_list(c, "scan_output_axes", s->n_stacks, &s->out_axes));
    HN_TRY(scan_read_list(c, "scan_input_directions", s->n_scans, &s->in_turned));
    return scan_read_list(c, "scan_output_directions", s->n_stacks, &s->out_turned);
}

static hone_status scan_axis(hn_eval *c, const scan_job *s, uint32_t i, int32_t *axis) {
    return hn_axis_of(c, s->in_axes ? s->in_axes[i] : 0, s->views[i].rank, axis);
}

/* Sample b of a tensor with a batch axis. */
static hn_array scan_sample(const hn_array *a, int64_t b) {
    hn_array view = hn_array_as(a, a->rank - 1, a->dims + 1);
    view.data = (uint8_t *)a->data + (uint64_t)b * view.n_elems * hn_elem_bytes(a->dtype);
    return view;
}

/* Every argument is a tensor, and those that are scanned have one length. */
static hone_status scan_check_args(hn_eval *c, scan_job *s) {
    int32_t axis;
    for (uint32_t i = 0; i < s->n_states + s->n_scans; i++) {
        const hn_array *a = hn_arg(c, s->first + i);
        if (!a || (s->has_batch && a->rank < 1))
            return hn_eval_fail(c, HONE_E_TYPE, "input %u must be a tensor%s", s->first + i,
                                s->has_batch ? " with a batch axis" : "");
        if (s->has_batch && i == 0)
            s->n_batch = a->dims[0];
        if (s->has_batch && a->dims[0] != s->n_batch)
            return hn_eval_fail(c, HONE_E_SHAPE, "the inputs differ in their batch size");
    }
    for (uint32_t i = 0; i < s->n_scans; i++) {
        const hn_array *a = hn_arg(c, s->first + s->n_states + i);
        s->views[i] = s->has_batch ? scan_sample(a, 0) : *a;
        HN_TRY(scan_axis(c, s, i, &axis));
        if (i == 0)
            s->length = s->views[i].dims[axis];
        if (s->views[i].dims[axis] != s->length)
            return hn_eval_fail(c, HONE_E_SHAPE, "input %u has %lld steps, but others have %lld",
                                s->first + s->n_states + i, (long long)s->views[i].dims[axis],
                                (long long)s->length);
    }
    return HONE_OK;
}

static hone_status scan_open(hn_eval *c, scan_job *s) {
    *s = (scan_job){.has_batch = hn_infer_version(hn_eval_node(c)) < 9, .n_batch = 1};
    s->first = s->has_batch ? 1 : 0; /* behind sequence_lens */
    uint32_t n_in = hn_n_args(c) - HN_MIN(s->first, hn_n_args(c));
    int64_t n_scans = hn_attr_i(hn_eval_node(c), "num_scan_inputs", 0);
    if (n_scans < 1 || n_scans > n_in || n_in - n_scans > hn_n_rets(c))
        return hn_eval_fail(c, HONE_E_INVALID,
                            "num_scan_inputs is %lld, but the node has %u inputs and %u outputs",
                            (long long)n_scans, n_in, hn_n_rets(c));
    s->n_scans = (uint32_t)n_scans;
    s->n_states = n_in - s->n_scans;
    s->n_stacks = hn_n_rets(c) - s->n_states;
    hn_arena *arena = hn_infer_arena(hn_eval_node(c));
    s->views = HN_NEW_N(arena, hn_array, s->n_scans);
    s->in = HN_NEW_N(arena, hn_object *, n_in);
    s->out = HN_NEW_N(arena, hn_object *, (size_t)hn_n_rets(c) + 1);
    if (!s->views || !s->in || !s->out)
        return HONE_E_NOMEM;
    HN_TRY(scan_read_attrs(c, s));
    return scan_check_args(c, s);
}

/* ---- one sample ------------------------------------------------------------------------------ */

static hone_status scan_begin(hn_eval *c, scan_job *s, int64_t b) {
    for (uint32_t i = 0; i < s->n_states; i++) {
        const hn_array *initial = hn_arg(c, s->first + i);
        hn_array view = s->has_batch ? scan_sample(initial, b) : *initial;
        s->in[i] = s->has_batch ? hn_object_tensor(c, view.dtype, view.rank, view.dims)
                                : hn_object_ref(c, hn_arg_object(c, i));
        HN_TRY_PTR(s->in[i]);
        if (s->has_batch)
            HN_TRY(hn_copy_all(c, &s->in[i]->array, &view));
    }
    for (uint32_t i = 0; i < s->n_scans && s->has_batch; i++)
        s->views[i] = scan_sample(hn_arg(c, s->first + s->n_states + i), b);
    return HONE_OK;
}

/* Step t of every scanned tensor. */
static hone_status scan_slice_inputs(hn_eval *c, scan_job *s, int64_t t, int64_t length) {
    for (uint32_t i = 0; i < s->n_scans; i++) {
        const hn_array *x = &s->views[i];
        int64_t dims[HN_MAX_RANK], at = s->in_turned && s->in_turned[i] ? length - 1 - t : t;
        int32_t axis;
        HN_TRY(scan_axis(c, s, i, &axis));
        for (int32_t k = 0; k < x->rank - 1; k++)
            dims[k] = x->dims[k < axis ? k : k + 1];
        hn_object *slice = hn_object_tensor(c, x->dtype, x->rank - 1, dims);
        HN_TRY_PTR(slice);
        s->in[s->n_states + i] = slice;
        HN_TRY(hn_copy_from_axis(c, &slice->array, x, axis, at, 1));
    }
    return HONE_OK;
}

/* The output that collects stack i, made when its first element is known. `item` NULL: there are
 * none. */
static hone_status scan_stack_ready(hn_eval *c, const scan_job *s, uint32_t i, const hn_array *item,
                                    hn_stack_shape *shape, hn_array **y) {
    uint32_t output = s->n_states + i;
    HN_TRY(hn_stacked_dims(c, output, item, item ? NULL : s->unrun[output],
                           s->out_axes ? s->out_axes[i] : 0, s->length, shape));
    if (!s->has_batch)
        return hn_ret_alloc(c, output, shape->dtype, shape->rank, shape->dims, y);
    int64_t dims[HN_MAX_RANK + 1] = {s->n_batch};
    if (shape->rank >= HN_MAX_RANK)
        return hn_eval_fail(c, HONE_E_LIMIT, "output %u would have rank %d; hone allows %d", output,
                            shape->rank + 1, HN_MAX_RANK);
    memcpy(dims + 1, shape->dims, (size_t)shape->rank * sizeof *dims);
    HN_TRY(hn_ret_alloc(c, output, shape->dtype, shape->rank + 1, dims, y));
    return !s->has_stepped && *y ? hn_copy_fill(c, *y, 0, (*y)->n_elems, NULL)
                                 : HONE_OK; /* sequences may end early */
}

static hone_status scan_put_stacks(hn_eval *c, scan_job *s, int64_t b, int64_t t) {
    for (uint32_t i = 0; i < s->n_stacks; i++) {
        hn_object *item = s->out[s->n_states + i];
        hn_stack_shape shape;
        hn_array *y;
        if (!hn_wants_ret(c, s->n_states + i))
            continue;
        if (item->kind != HN_OBJECT_TENSOR)
            return hn_eval_fail(c, HONE_E_TYPE,
                                "output %u of the body is no tensor and cannot be stacked",
                                s->n_states + i);
        hn_array *before = hn_ret(c, s->n_states + i);
        HN_TRY(scan_stack_ready(c, s, i, &item->array, &shape, &y));
        if (s->has_stepped && y != before)
            return hn_eval_fail(
                c, HONE_E_SHAPE,
                "output %u of the body has another type or shape in step %lld than before",
                s->n_states + i, (long long)t);
        hn_array view = s->has_batch ? scan_sample(y, b) : *y;
        int64_t at = s->out_turned && s->out_turned[i] ? s->length - 1 - t : t;
        HN_TRY(hn_copy_to_axis(c, &view, shape.axis, at, 1, &item->array));
    }
    s->has_stepped = true;
    return HONE_OK;
}

static hone_status scan_step(hn_eval *c, scan_job *s, int64_t b, int64_t t, int64_t length) {
    uint32_t n_rets = hn_n_rets(c);
    hone_status status = scan_slice_inputs(c, s, t, length);
    if (status == HONE_OK)
        status = hn_run_body(c, HN_BODY_MAIN, s->n_states + s->n_scans, s->in, n_rets, s->out);
    hn_unref_all(c, s->n_scans, s->in + s->n_states);
    if (status == HONE_OK)
        status = scan_put_stacks(c, s, b, t);
    for (uint32_t i = 0; i < s->n_states && status == HONE_OK; i++) {
        hn_object_unref(c, s->in[i]);
        s->in[i] = s->out[i];
        s->out[i] = NULL;
    }
    hn_unref_all(c, n_rets, s->out);
    return status;
}

/* Hands the states over; with a batch axis they are collected sample by sample. */
static hone_status scan_end(hn_eval *c, scan_job *s, int64_t b) {
    for (uint32_t i = 0; i < s->n_states; i++) {
        hn_object *last = s->in[i];
        if (!s->has_batch) {
            s->in[i] = NULL;
            HN_TRY(hn_ret_object(c, i, last));
            continue;
        }
        const hn_array *initial = hn_arg(c, s->first + i);
        hn_array *y;
        if (last->kind != HN_OBJECT_TENSOR || last->array.dtype != initial->dtype ||
            !hn_fits_stack(initial, 0, &last->array))
            return hn_eval_fail(c, HONE_E_SHAPE, "state variable %u must keep its type and shape",
                                i);
        HN_TRY(hn_ret_alloc(c, i, initial->dtype, initial->rank, initial->dims, &y));
        if (y)
            HN_TRY(hn_copy_run(c, y, (uint64_t)b * last->array.n_elems, &last->array, 0,
                               last->array.n_elems));
    }
    return HONE_OK;
}

static hone_status scan_length(hn_eval *c, const scan_job *s, int64_t b, int64_t *length) {
    const hn_array *lens = s->has_batch ? hn_arg(c, 0) : NULL;
    *length = s->length;
    if (lens && lens->n_elems > (uint64_t)b)
        hn_load_i64(lens, (uint64_t)b, 1, length);
    if (*length < 0 || *length > s->length)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "sequence_lens[%lld] is %lld, but there are %lld steps", (long long)b,
                            (long long)*length, (long long)s->length);
    return HONE_OK;
}

static hone_status scan_run_sample(hn_eval *c, scan_job *s, int64_t b) {
    int64_t length = 0;
    HN_TRY(scan_length(c, s, b, &length));
    HN_TRY(scan_begin(c, s, b));
    for (int64_t t = 0; t < length; t++)
        HN_TRY(scan_step(c, s, b, t, length));
    HN_TRY(scan_end(c, s, b));
    hn_unref_all(c, s->n_states, s->in);
    return HONE_OK;
}

static hone_status scan_find_unrun(hn_eval *c, scan_job *s) {
    hn_arena *arena = hn_infer_arena(hn_eval_node(c));
    uint32_t n_in = s->n_states + s->n_scans;
    const hn_type **in = HN_NEW_N(arena, const hn_type *, n_in);
    s->unrun = HN_NEW_N(arena, const hn_type *, (size_t)hn_n_rets(c) + 1);
    if (!in || !s->unrun)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < n_in; i++) {
        const hn_array *x = hn_arg(c, s->first + i);
        int32_t batch = s->has_batch, axis = -1, rank = x->rank - batch, n = 0;
        int64_t dims[HN_MAX_RANK];
        if (i >= s->n_states)
            HN_TRY(scan_axis(c, s, i - s->n_states, &axis));
        for (int32_t k = 0; k < rank; k++)
            if (k != axis)
                dims[n++] = x->dims[k + batch];
        HN_TRY_PTR(in[i] = hn_type_tensor(arena, x->dtype, n, dims));
    }
    return hn_unrun_body_types(c, n_in, in, hn_n_rets(c), s->unrun);
}

static hone_status scan_make_missing(hn_eval *c, scan_job *s) {
    hn_stack_shape shape;
    hn_array *y;
    if (!s->has_stepped && s->n_stacks)
        HN_TRY(scan_find_unrun(c, s));
    for (uint32_t i = 0; i < s->n_stacks && !s->has_stepped; i++)
        if (hn_wants_ret(c, s->n_states + i))
            HN_TRY(scan_stack_ready(c, s, i, NULL, &shape, &y));
    return HONE_OK;
}

static hone_status eval_scan(hn_eval *c) {
    scan_job s;
    hone_status status = scan_open(c, &s);
    for (int64_t b = 0; b < s.n_batch && status == HONE_OK; b++)
        status = scan_run_sample(c, &s, b);
    if (status == HONE_OK)
        status = scan_make_missing(c, &s);
    if (s.in)
        hn_unref_all(c, s.n_states + s.n_scans, s.in);
    return status;
}
const hn_impl hn_impl_scan[1] = {{.eval = eval_scan}};
