/* Moves attributes that became inputs, in both directions. */
#include "ops/eval/eval_int.h"
#include "pass/opset/opset.h"

#define REDUCE                                                                     \
  "ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp|ReduceMax|ReduceMean|ReduceMin|" \
  "ReduceProd|ReduceSumSquare"

static const hn_moved moved[] = {
    {"Reshape", 5, "shape", 1, HN_MOVED_INTS},
    {"Upsample", 9, "scales", 1, HN_MOVED_FLOATS},
    {"Slice", 10, "starts", 1, HN_MOVED_INTS},
    {"Slice", 10, "ends", 2, HN_MOVED_INTS},
    {"Slice", 10, "axes", 3, HN_MOVED_INTS},
    {"Slice", 10, "steps", 4, HN_MOVED_ONE},
    {"TopK", 10, "k", 1, HN_MOVED_INT},
    {"Clip", 11, "min", 1, HN_MOVED_REAL},
    {"Clip", 11, "max", 2, HN_MOVED_REAL},
    {"Pad", 11, "pads", 1, HN_MOVED_INTS},
    {"Pad", 11, "value", 2, HN_MOVED_REAL},
    {"Dropout", 12, "ratio", 1, HN_MOVED_REAL},
    {"Dropout", 12, "training_mode", 2, HN_MOVED_FALSE},
    {"Squeeze|Unsqueeze|ReduceSum", 13, "axes", 1, HN_MOVED_INTS},
    {"Split", 13, "split", 1, HN_MOVED_INTS},
    {REDUCE, 18, "axes", 1, HN_MOVED_INTS},
};
#define MAX_MOVED_INPUTS 8

static bool is_of(const hn_moved *m, hn_str op, int version) {
    return m->version == version && hn_list_names(m->ops, hn_s(op), op->n);
}

bool hn_has_moved(hn_str op, int version) {
    for (size_t i = 0; i < HN_COUNT(moved); i++)
        if (is_of(&moved[i], op, version))
            return true;
    return false;
}

/* ---- up -------------------------------------------------------------------------------------- */

static hn_id floats_const(hn_rule *r, const char *stem, uint32_t n, const float *v) {
    int64_t dims[1] = {n};
    const hn_tensor *t = hn_tensor_new(r->pass->model->arena, HN_F32, 1, dims, v, false);
    return hn_new_const(r, stem, t);
}

static hone_status attr_as_input(hn_rule *r, const hn_moved *m, const hn_attr *a, hn_id *out) {
    hn_dtype elem = hn_elem_of(r, hn_in(r, r->root, 0));
    switch (m->kind) {
    case HN_MOVED_INTS:
        *out = hn_new_const_i64s(r, m->attr, a->n, a->v.ints);
        return HONE_OK;
    case HN_MOVED_INT:
        *out = hn_new_const_i64s(r, m->attr, 1, &a->v.i);
        return HONE_OK;
    case HN_MOVED_FLOATS:
        *out = floats_const(r, m->attr, a->n, a->v.floats);
        return HONE_OK;
    case HN_MOVED_REAL:
        if (elem == HN_UNDEFINED)
            return hn_fail(r->pass->err, HONE_E_TYPE, "the type of its first input is unknown");
        *out = hn_new_const_f(r, m->attr, elem, (double)a->v.f);
        return HONE_OK;
    case HN_MOVED_ONE:
    case HN_MOVED_FALSE:
        break;
    }
    return HONE_E_INTERNAL;
}

static const char *names_of_moved(hn_rule *r, int version) {
    char *names = HN_NEW_N(r->pass->rule_scratch, char, 128);
    for (size_t i = 0; names && i < HN_COUNT(moved); i++)
        if (is_of(&moved[i], hn_at(r, r->root)->op, version)) {
            strcat(names, *names ? "|" : "");
            strcat(names, moved[i].attr);
        }
    return names;
}

hone_status hn_move_to_inputs(hn_rule *r, int version) {
    const hn_node *n = hn_at(r, r->root);
    hn_id in[MAX_MOVED_INPUTS];
    uint32_t n_in = HN_MIN(n->n_inputs, (uint32_t)MAX_MOVED_INPUTS);
    bool is_changed = false;
    for (uint32_t i = 0; i < MAX_MOVED_INPUTS; i++)
        in[i] = i < n_in ? n->inputs[i] : HN_NONE;
    for (size_t i = 0; i < HN_COUNT(moved); i++) {
        const hn_attr *a = is_of(&moved[i], n->op, version) ? hn_node_attr(n, moved[i].attr) : NULL;
        if (!a)
            continue;
        HN_TRY(attr_as_input(r, &moved[i], a, &in[moved[i].input]));
        is_changed = true;
    }
    const char *names = names_of_moved(r, version);
    HN_TRY_PTR(names);
    if (is_changed)
        hn_remake(r, NULL, MAX_MOVED_INPUTS, in, names, HN_NO_ATTRS);
    return HONE_OK;
}

/* ---- down ------------------------------------------------------------------------------------ */

static const float *floats_of(hn_rule *r, const hn_tensor *t) {
    float *copy = HN_NEW_N(r->pass->rule_scratch, float, (size_t)t->n_elems + 1);
    for (uint64_t i = 0; copy && i < t->n_elems; i++) {
        double v = 0;
        hn_tensor_get_f64(t, i, &v);
        copy[i] = (float)v;
    }
    return copy;
}

/* *n_attrs does not change when the attribute can be omitted. */
static hone_status input_as_attr(hn_rule *r, const hn_moved *m, hn_id value, hn_attr *attrs,
                                 uint32_t *n_attrs) {
    const hn_tensor *t = hn_const(r, value);
    uint32_t n;
    const int64_t *ints;
    double real;
    bool is_list = t && hn_const_i64s(r, value, &n, &ints);
    bool is_number = t && t->n_elems == 1 && hn_tensor_get_f64(t, 0, &real);
    if ((m->kind == HN_MOVED_ONE && hn_const_is(r, value, 1)) ||
        (m->kind == HN_MOVED_FALSE && is_number && real == 0) ||
        (m->kind == HN_MOVED_INTS && is_list && n == 0))
        return HONE_OK;
    if (m->kind == HN_MOVED_INTS && is_list)
        attrs[(*n_attrs)++] = hn_new_ints(r, m->attr, n, ints);
    else if (m->kind == HN_MOVED_INT && is_list && n == 1)
        attrs[(*n_attrs)++] = hn_new_i(r, m->attr, ints[0]);
    else if (m->kind == HN_MOVED_REAL && is_number)
        attrs[(*n_attrs)++] = hn_new_f(r, m->attr, (float)real);
    else if (m->kind == HN_MOVED_FLOATS && t && t->dtype == HN_F32)
        attrs[(*n_attrs)++] = hn_new_floats(r, m->attr, (uint32_t)t->n_elems, floats_of(r, t));
    else
        return hn_fail(r->pass->err, HONE_E_UNSUPPORTED,
                       m->kind == HN_MOVED_ONE || m->kind == HN_MOVED_FALSE
                           ? "the older version has no counterpart of its input '%s'"
                           : "its %s would have to be an attribute, but is not constant",
                       m->attr);
    return HONE_OK;
}

/* The older version cannot express that a reduction without axes does nothing. */
static bool is_no_op_reduction(const hn_rule *r, uint32_t n_attrs) {
    return n_attrs == 0 && hn_raw_i(r, "noop_with_empty_axes", 0);
}

hone_status hn_move_to_attrs(hn_rule *r, int version) {
    const hn_node *n = hn_at(r, r->root);
    hn_attr attrs[MAX_MOVED_INPUTS];
    uint32_t n_attrs = 0, n_kept = n->n_inputs;
    for (size_t i = 0; i < HN_COUNT(moved); i++) {
        if (!is_of(&moved[i], n->op, version))
            continue;
        n_kept = HN_MIN(n_kept, moved[i].input);
        hn_id value = hn_in(r, r->root, moved[i].input);
        if (value != HN_NONE)
            HN_TRY(input_as_attr(r, &moved[i], value, attrs, &n_attrs));
    }
    if (is_no_op_reduction(r, n_attrs))
        return hn_fail(r->pass->err, HONE_E_UNSUPPORTED,
                       "it reduces no axes (noop_with_empty_axes)");
    hn_remake(r, NULL, n_kept, n->inputs, "noop_with_empty_axes|num_outputs|seed", n_attrs, attrs);
    return HONE_OK;
}
