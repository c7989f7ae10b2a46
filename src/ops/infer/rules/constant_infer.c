/* Inference rules of operators that make tensors from attributes or numbers. */
#include "ops/infer/follow.h"

#include <math.h>

/* ---- Constant -------------------------------------------------------------------------------- */

/* A tensor of 4- or 8-byte elements that shares the data of the attribute. */
static hone_status out_attr_data(hn_infer *c, hn_dtype elem, bool is_scalar, uint32_t n,
                                 const void *data) {
    int64_t length = n;
    const hn_tensor *t =
        hn_tensor_new(hn_infer_arena(c), elem, is_scalar ? 0 : 1, &length, data, true);
    HN_TRY_PTR(t);
    return hn_out_const(c, 0, t);
}

static hone_status out_constant(hn_infer *c, const hn_attr *a) {
    hn_dim length = a->n;
    switch (a->kind) {
    case HN_ATTR_TENSOR:
        return a->v.tensor ? hn_out_const(c, 0, a->v.tensor) : HONE_OK;
    case HN_ATTR_SPARSE: /* the output is dense */
        if (!a->v.sparse || !a->v.sparse->values)
            return HONE_OK;
        return hn_out_tensor(c, 0, a->v.sparse->values->dtype, a->v.sparse->rank,
                             a->v.sparse->dims);
    case HN_ATTR_INT:
        return out_attr_data(c, HN_I64, true, 1, &a->v.i);
    case HN_ATTR_INTS:
        return out_attr_data(c, HN_I64, false, a->n, a->v.ints);
    case HN_ATTR_FLOAT:
        return out_attr_data(c, HN_F32, true, 1, &a->v.f);
    case HN_ATTR_FLOATS:
        return out_attr_data(c, HN_F32, false, a->n, a->v.floats);
    case HN_ATTR_STRING:
        return hn_out_tensor(c, 0, HN_STRING, 0, NULL);
    case HN_ATTR_STRINGS:
        return hn_out_tensor(c, 0, HN_STRING, 1, &length);
    default:
        return HONE_OK;
    }
}

hone_status hn_infer_constant(hn_infer *c) {
    static const char *const names[] = {"value",        "sparse_value", "value_int",
                                        "value_ints",   "value_float",  "value_floats",
                                        "value_string", "value_strings"};
    const hn_attr *found = NULL;
    uint32_t n_found = 0;
    for (size_t i = 0; i < HN_COUNT(names); i++) {
        const hn_attr *a = hn_attr_raw(c, names[i]);
        n_found += a != NULL;
        found = a ? a : found;
    }
    if (n_found != 1)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "has %u attributes with a value, but needs exactly one", n_found);
    return out_constant(c, found);
}

/* ---- ConstantOfShape ------------------------------------------------------------------------- */

/* Propagates a short vector filled with one integer. */
static hone_status follow_filled(hn_infer *c, const hn_tensor *value, hn_dim length) {
    int64_t v;
    if (!value || !hn_tensor_get_i64(value, 0, &v) || !hn_dim_is_known(length) ||
        length > HN_MAX_FOLLOWED)
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)length + 1);
    HN_TRY_PTR(out);
    for (hn_dim i = 0; i < length; i++)
        out[i] = hn_sint_const(v);
    return hn_out_followed(c, 0, value->dtype, (uint32_t)length, out, false);
}

hone_status hn_infer_constant_of_shape(hn_infer *c) {
    const hn_attr *a = hn_attr_raw(c, "value");
    const hn_tensor *value = a && a->kind == HN_ATTR_TENSOR ? a->v.tensor : NULL;
    hn_dtype elem = value ? value->dtype : HN_F32;
    const hn_sint *sizes;
    uint32_t n;
    if (value && value->n_elems != 1)
        return hn_infer_fail(c, HONE_E_INVALID, "value has %llu elements, but must have one",
                             (unsigned long long)value->n_elems);
    HN_TRY(hn_expect_out_elem(c, "value", 0, elem));
    HN_TRY(hn_out_elem(c, 0, elem));
    HN_TRY(hn_expect_rank(c, 0, 1, 1));
    if (!hn_in_ints(c, 0, &n, &sizes, NULL))
        return HONE_OK;
    if (n > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT,
                             "the shape has %u entries; hone supports up to rank %d", n,
                             HN_MAX_RANK);
    hn_dim *dims = hn_infer_dims(c, (int32_t)n);
    HN_TRY_PTR(dims);
    for (uint32_t i = 0; i < n; i++) {
        if (sizes[i].kind == HN_SINT_CONST && sizes[i].v < 0)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "entry %u of the shape is %lld, but cannot be negative", i,
                                 (long long)sizes[i].v);
        dims[i] = hn_sint_to_dim(sizes[i]);
    }
    HN_TRY(hn_out_shape(c, 0, (int32_t)n, dims));
    return n == 1 ? follow_filled(c, value, dims[0]) : HONE_OK;
}

/* ---- Range ----------------------------------------------------------------------------------- */

/* com.microsoft allows delta to be absent, which means 1. */
static bool range_number(const hn_infer *c, uint32_t i, double *out) {
    const hn_tensor *t = hn_in_const(c, i);
    *out = 1;
    return (i == 2 && !hn_has_input(c, 2)) || (t && hn_tensor_get_f64(t, 0, out));
}

static hone_status range_of_floats(hn_infer *c, hn_dim *count) {
    double start, limit, delta;
    if (!range_number(c, 0, &start) || !range_number(c, 1, &limit) || !range_number(c, 2, &delta))
        return HONE_OK;
    if (delta == 0)
        return hn_infer_fail(c, HONE_E_INVALID, "delta is 0, but must not be");
    double n = ceil((limit - start) / delta);
    if (n <= 0)
        *count = 0;
    else if (n < (double)(1LL << 53))
        *count = (hn_dim)n;
    return HONE_OK;
}

static hn_sint range_integer(const hn_infer *c, uint32_t i) {
    const hn_sint *elems;
    uint32_t n;
    if (i == 2 && !hn_has_input(c, 2))
        return hn_sint_const(1);
    return hn_in_ints(c, i, &n, &elems, NULL) && n == 1 ? elems[0] : (hn_sint){HN_SINT_UNKNOWN, 0};
}

static hone_status follow_range(hn_infer *c, hn_sint start, int64_t delta, hn_dim count) {
    if (!hn_dim_is_known(count) || count > HN_MAX_FOLLOWED)
        return HONE_OK;
    hn_sint *out = HN_NEW_N(hn_infer_arena(c), hn_sint, (size_t)count + 1);
    HN_TRY_PTR(out);
    for (hn_dim i = 0; i < count; i++) {
        out[i] = start;
        start = hn_sint_apply(hn_infer_syms(c), HN_SINT_ADD, start, hn_sint_const(delta));
    }
    return hn_out_followed(c, 0, hn_in_elem(c, 0), (uint32_t)count, out, false);
}

hone_status hn_infer_range(hn_infer *c) {
    hn_dim count = HN_DIM_UNKNOWN;
    for (uint32_t i = 0; i < hn_n_inputs(c); i++)
        HN_TRY(hn_expect_rank(c, i, 0, 1));
    if (hn_dtype_is_float(hn_in_elem(c, 0))) {
        HN_TRY(range_of_floats(c, &count));
        return hn_out_shape(c, 0, 1, &count);
    }
    hn_sint start = range_integer(c, 0), limit = range_integer(c, 1), delta = range_integer(c, 2);
    if (delta.kind != HN_SINT_CONST)
        return hn_out_shape(c, 0, 1, &count);
    if (delta.v == 0)
        return hn_infer_fail(c, HONE_E_INVALID, "delta is 0, but must not be");
    count = hn_sint_to_dim(hn_sint_count_steps(hn_infer_syms(c), start, limit, delta.v));
    HN_TRY(hn_out_shape(c, 0, 1, &count));
    return follow_range(c, start, delta.v, count);
}

/* ---- EyeLike and GivenTensorFill ------------------------------------------------------------- */

hone_status hn_infer_eye_like(hn_infer *c) {
    hn_dtype elem;
    hn_dim dims[2] = {hn_in_dim(c, 0, 0), hn_in_dim(c, 0, 1)};
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    HN_TRY(hn_attr_dtype(c, "dtype", 0, hn_in_elem(c, 0), &elem));
    return hn_out_tensor(c, 0, elem, 2, dims);
}

/* Legacy: the shape is an attribute, or the shape of the input followed by extra_shape. */
hone_status hn_infer_given_tensor_fill(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    const int64_t *extra = NULL;
    uint32_t n_extra = 0;
    hn_int_list shape;
    HN_TRY(hn_int_list_read(c, "shape", HN_NO_INPUT, &shape));
    if (!shape.is_given && (!x || hn_attr_i(c, "input_as_shape", 0)))
        return HONE_OK;
    if (!shape.is_given)
        hn_attr_ints(c, "extra_shape", &n_extra, &extra);
    uint32_t n_base = shape.is_given ? shape.n : (uint32_t)x->rank;
    if (n_base > HN_MAX_RANK || n_extra > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT,
                             "the shape has %u entries; hone supports up to rank %d",
                             HN_MAX(n_base, n_extra), HN_MAX_RANK);
    hn_dim *dims = hn_infer_dims(c, (int32_t)(n_base + n_extra));
    HN_TRY_PTR(dims);
    for (uint32_t i = 0; i < n_base; i++)
        dims[i] = shape.is_given ? hn_sint_to_dim(shape.elems[i]) : x->dims[i];
    for (uint32_t i = 0; i < n_extra; i++)
        dims[n_base + i] = hn_sint_to_dim(hn_sint_const(extra[i]));
    return hn_out_shape(c, 0, (int32_t)(n_base + n_extra), dims);
}
