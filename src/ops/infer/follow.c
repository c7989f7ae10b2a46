/* Integer lists of inference rules, and the propagation of known integers from inputs to
 * outputs. */
#include "ops/infer/follow.h"
#include "ops/infer/infer_engine.h"

/* ---- lists and axes -------------------------------------------------------------------------- */

hone_status hn_int_list_read(hn_infer *c, const char *attr, uint32_t input, hn_int_list *out) {
    const int64_t *ints;
    *out = (hn_int_list){.is_given = false};
    if (hn_attr_ints(c, attr, &out->n, &ints)) {
        hn_sint *elems = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)out->n + 1);
        HN_TRY_PTR(elems);
        for (uint32_t i = 0; i < out->n; i++)
            elems[i] = hn_sint_const(ints[i]);
        out->is_given = out->is_counted = true;
        out->elems = elems;
        return HONE_OK;
    }
    out->is_given = hn_has_input(c, input);
    out->is_counted = hn_in_ints(c, input, &out->n, &out->elems, NULL);
    return HONE_OK;
}

hone_status hn_axis_set_read(hn_infer *c, const char *what, const hn_int_list *l, int32_t rank,
                             hn_axis_set *out) {
    *out = (hn_axis_set){.is_known = l->is_counted};
    if (rank > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT,
                             "a tensor of rank %d is needed; hone supports up to %d", rank,
                             HN_MAX_RANK);
    for (uint32_t i = 0; l->is_counted && i < l->n; i++) {
        int32_t axis;
        if (l->elems[i].kind != HN_SINT_CONST) {
            out->is_known = false;
            continue;
        }
        HN_TRY(hn_infer_axis(c, what, l->elems[i].v, rank, &axis));
        out->n += !hn_axis_set_has(out, axis);
        out->bits |= (uint64_t)1 << axis;
    }
    return HONE_OK;
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool hn_sint_at_least(const hn_syms *s, hn_sint v, int64_t least) {
    if (v.kind == HN_SINT_CONST)
        return v.v >= least;
    return v.kind == HN_SINT_DIM && hn_dim_at_least(s, v.v, least);
}

hn_sint hn_sint_count_steps(hn_syms *s, hn_sint from, hn_sint to, int64_t step) {
    if (step == INT64_MIN) /* its magnitude does not fit int64 */
        return (hn_sint){HN_SINT_UNKNOWN, 0};
    hn_sint way = step > 0 ? hn_sint_apply(s, HN_SINT_SUB, to, from)
                           : hn_sint_apply(s, HN_SINT_SUB, from, to);
    hn_sint room = hn_sint_apply(s, HN_SINT_MAX, way, hn_sint_const(0));
    int64_t stride = step > 0 ? step : -step;
    return hn_sint_from_dim(hn_dim_ceil_div(s, hn_sint_to_dim(room), stride));
}

/* Converts a value to a type. A value out of range becomes unknown, because wrapping is not
 * intended in a shape. Symbols are assumed to fit the types that hold sizes. */
static hn_sint sint_in_type(const hn_syms *s, hn_dtype elem, hn_sint v) {
    const hn_sint unknown = {HN_SINT_UNKNOWN, 0};
    int bits = hn_dtype_bits(elem);
    if (elem == HN_BOOL) {
        bool is_true = hn_sint_at_least(s, v, 1) || (v.kind == HN_SINT_CONST && v.v != 0);
        bool is_false = v.kind == HN_SINT_CONST && v.v == 0;
        return is_true || is_false ? hn_sint_const(is_true) : unknown;
    }
    if (v.kind == HN_SINT_DIM)
        return bits >= 32 ? v : unknown;
    if (v.kind != HN_SINT_CONST)
        return unknown;
    bool is_unsigned = elem == HN_U2 || elem == HN_U4 || elem == HN_U8 || elem == HN_U16 ||
                       elem == HN_U32 || elem == HN_U64;
    int64_t high = bits >= 64 ? INT64_MAX : ((int64_t)1 << (is_unsigned ? bits : bits - 1)) - 1;
    int64_t low = is_unsigned ? 0 : -high - 1;
    return v.v >= low && v.v <= high ? v : unknown;
}

/* ---- outputs --------------------------------------------------------------------------------- */

hone_status hn_out_followed(hn_infer *c, uint32_t i, hn_dtype elem, uint32_t n,
                            const hn_sint *elems, bool is_scalar) {
    if ((!hn_dtype_is_int(elem) && elem != HN_BOOL) || n > HN_MAX_FOLLOWED)
        return HONE_OK;
    hn_sint *held = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)n + 1);
    HN_TRY_PTR(held);
    bool any_known = n == 0;
    for (uint32_t k = 0; k < n; k++) {
        held[k] = sint_in_type(hn_infer_syms(c), elem, elems[k]);
        any_known |= held[k].kind != HN_SINT_UNKNOWN;
    }
    return any_known ? hn_out_ints(c, i, n, held, is_scalar) : HONE_OK;
}

hone_status hn_out_followed_same(hn_infer *c, uint32_t i, uint32_t input, hn_dtype elem) {
    const hn_sint *elems;
    uint32_t n;
    bool is_scalar;
    if (!hn_in_ints(c, input, &n, &elems, &is_scalar))
        return HONE_OK;
    return hn_out_followed(c, i, elem, n, elems, is_scalar);
}

hone_status hn_out_shape_of(hn_infer *c, uint32_t i, uint32_t input) {
    const hn_shape *s = hn_in_shape(c, input);
    return s ? hn_out_shape(c, i, s->rank, s->dims) : HONE_OK;
}

/* ---- element types --------------------------------------------------------------------------- */

hone_status hn_expect_out_elem(hn_infer *c, const char *what, uint32_t output, hn_dtype elem) {
    hn_param p;
    hn_type t = {.kind = HN_TYPE_TENSOR, .elem = elem, .shape.rank = -1};
    if (!hn_op_arg(c->op, HN_OP_OUTPUTS, c->version, output, &p) ||
        hn_op_type_allowed(c->op, c->version, &p, &t))
        return HONE_OK;
    return hn_infer_fail(
        c, HONE_E_TYPE, "%s makes output %u (%.*s) a tensor of %s, which %s-%d cannot give", what,
        output, (int)p.name_len, p.name, hn_dtype_name(elem), hn_op_name(c->op), c->version);
}

hone_status hn_attr_dtype(hn_infer *c, const char *name, uint32_t output, hn_dtype def,
                          hn_dtype *out) {
    int64_t number = hn_attr_i(c, name, def);
    *out = def;
    if (number == (int64_t)def && !hn_has_attr(c, name))
        return HONE_OK;
    if (number <= HN_UNDEFINED || number >= HN_DTYPE_COUNT)
        return hn_infer_fail(c, HONE_E_TYPE,
                             "attribute '%s' is %lld, which is not an element type; use 1 to %d",
                             name, (long long)number, HN_DTYPE_COUNT - 1);
    *out = (hn_dtype)number;
    return hn_expect_out_elem(c, name, output, *out);
}
