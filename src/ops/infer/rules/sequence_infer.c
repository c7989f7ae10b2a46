/* Inference rules of sequences and optionals. The element type of a sequence is the join of the
 * types of all its elements. */
#include "ops/infer/body.h"

static const hn_type *element_of(const hn_type *t, hn_type_kind kind) {
    return t && t->kind == kind ? t->inner : NULL;
}

static hone_status out_wrapped(hn_infer *c, hn_type_kind kind, const hn_type *inner) {
    if (!inner)
        return HONE_OK;
    const hn_type *t = hn_type_wrap(hn_infer_arena(c), kind, HN_UNDEFINED, inner);
    HN_TRY_PTR(t);
    return hn_out_type(c, 0, t);
}

/* ---- sequences ------------------------------------------------------------------------------- */

hone_status hn_infer_sequence_at(hn_infer *c) {
    return hn_out_type(c, 0, element_of(hn_in_type(c, 0), HN_TYPE_SEQUENCE));
}

hone_status hn_infer_sequence_construct(hn_infer *c) {
    const hn_type *joined = hn_in_type(c, 0);
    for (uint32_t i = 1; i < hn_n_inputs(c); i++)
        HN_TRY(hn_types_join(c, "input", i, joined, hn_in_type(c, i), &joined));
    return out_wrapped(c, HN_TYPE_SEQUENCE, joined);
}

hone_status hn_infer_sequence_empty(hn_infer *c) {
    int64_t dtype = hn_attr_i(c, "dtype", HN_F32);
    if (dtype < HN_F32 || dtype > HN_C128)
        return hn_infer_fail(c, HONE_E_TYPE,
                             "dtype is %lld, which is not an element type; 1 is float, 7 is int64",
                             (long long)dtype);
    const hn_type *element = hn_type_tensor(hn_infer_arena(c), (hn_dtype)dtype, -1, NULL);
    HN_TRY_PTR(element);
    return out_wrapped(c, HN_TYPE_SEQUENCE, element);
}

hone_status hn_infer_sequence_erase(hn_infer *c) {
    return hn_out_same(c, 0, 0);
}

hone_status hn_infer_sequence_insert(hn_infer *c) {
    const hn_type *element = element_of(hn_in_type(c, 0), HN_TYPE_SEQUENCE),
                  *tensor = hn_in_type(c, 1), *joined;
    if (!hn_types_agree(element, tensor))
        return hn_infer_fail(c, HONE_E_TYPE, "cannot insert %s into %s", hn_in_text(c, 1),
                             hn_in_text(c, 0));
    HN_TRY(hn_types_join(c, "input", 1, element, tensor, &joined));
    return out_wrapped(c, HN_TYPE_SEQUENCE, joined);
}

hone_status hn_infer_sequence_length(hn_infer *c) {
    return hn_out_tensor(c, 0, HN_I64, 0, NULL);
}

/* The sum of the elements' sizes along the axis is unknown; so is the size of a new axis, which is
 * the number of elements. */
hone_status hn_infer_concat_from_sequence(hn_infer *c) {
    const hn_type *element = element_of(hn_in_type(c, 0), HN_TYPE_SEQUENCE);
    int64_t new_axis = hn_attr_i(c, "new_axis", 0);
    if (new_axis != 0 && new_axis != 1)
        return hn_infer_fail(c, HONE_E_INVALID, "new_axis is %lld; it must be 0 or 1",
                             (long long)new_axis);
    if (!element)
        return HONE_OK;
    if (element->shape.rank < 0)
        return hn_out_elem(c, 0, element->elem);
    int32_t axis, rank = element->shape.rank + (int32_t)new_axis;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 0), rank, &axis));
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    for (int32_t k = 0; k < rank; k++)
        if (k != axis)
            dims[k] = element->shape.dims[new_axis && k > axis ? k - 1 : k];
    return hn_out_tensor(c, 0, element->elem, rank, dims);
}

/* ---- SplitToSequence ------------------------------------------------------------------------- */

/* The size that all parts share; unknown when they differ, for example when the last part is
 * smaller. */
static hone_status piece_size(hn_infer *c, hn_dim whole, hn_dim *out) {
    const hn_sint *elems;
    uint32_t n;
    bool is_scalar;
    *out = hn_has_input(c, 1) ? HN_DIM_UNKNOWN : 1;
    if (!hn_in_ints(c, 1, &n, &elems, &is_scalar))
        return HONE_OK;
    for (uint32_t i = 0; i < n; i++)
        if (elems[i].kind == HN_SINT_CONST && elems[i].v < (is_scalar ? 1 : 0))
            return hn_infer_fail(c, HONE_E_SHAPE, "split has the entry %lld; it must be %d or more",
                                 (long long)elems[i].v, is_scalar ? 1 : 0);
    if (n == 0)
        return HONE_OK;
    hn_dim first = hn_sint_to_dim(elems[0]), sum = first;
    bool are_equal = true;
    for (uint32_t i = 1; i < n; i++) {
        are_equal &= hn_sint_to_dim(elems[i]) == first;
        sum = hn_dim_add(hn_infer_syms(c), sum, hn_sint_to_dim(elems[i]));
    }
    if (!is_scalar) {
        *out = are_equal ? first : HN_DIM_UNKNOWN;
        return hn_merge_dim(c, "the sum of split, which is the length of the axis,", sum, whole,
                            &sum);
    }
    bool has_no_rest = first == 1 || first == whole ||
                       (hn_dim_is_known(first) && hn_dim_is_known(whole) && whole % first == 0);
    *out = has_no_rest ? first : HN_DIM_UNKNOWN;
    return HONE_OK;
}

hone_status hn_infer_split_to_sequence(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    const hn_type *piece = NULL;
    if (!x) {
        HN_TRY(hn_type_forget_shape(c, hn_in_type(c, 0), &piece));
        return out_wrapped(c, HN_TYPE_SEQUENCE, piece);
    }
    int32_t axis, rank = x->rank;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 0), rank, &axis));
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    hn_dim size;
    HN_TRY(piece_size(c, x->dims[axis], &size));
    /* Parts of given sizes always keep the axis. */
    bool drops_axis = !hn_attr_i(c, "keepdims", 1) && !hn_has_input(c, 1);
    int32_t n = 0;
    for (int32_t k = 0; k < rank; k++)
        if (k != axis)
            dims[n++] = x->dims[k];
        else if (!drops_axis)
            dims[n++] = size;
    piece = hn_type_tensor(hn_infer_arena(c), hn_in_elem(c, 0), n, dims);
    HN_TRY_PTR(piece);
    return out_wrapped(c, HN_TYPE_SEQUENCE, piece);
}

/* ---- optionals ------------------------------------------------------------------------------- */

hone_status hn_infer_optional(hn_infer *c) {
    if (hn_has_input(c, 0))
        return out_wrapped(c, HN_TYPE_OPTIONAL, hn_in_type(c, 0));
    const hn_attr *type = hn_attr_raw(c, "type");
    if (!type || type->kind != HN_ATTR_TYPE || !type->v.type)
        return hn_infer_fail(
            c, HONE_E_TYPE,
            "has neither an input nor the attribute 'type', so its type is not known");
    return out_wrapped(c, HN_TYPE_OPTIONAL, type->v.type);
}

hone_status hn_infer_optional_get_element(hn_infer *c) {
    const hn_type *t = hn_in_type(c, 0);
    return hn_out_type(c, 0, t && t->kind == HN_TYPE_OPTIONAL ? t->inner : t);
}

hone_status hn_infer_optional_has_element(hn_infer *c) {
    return hn_out_tensor(c, 0, HN_BOOL, 0, NULL);
}
