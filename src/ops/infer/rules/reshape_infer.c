/* Inference rule of Reshape: a target shape with 0 (copied), -1 (inferred) and sizes that may be
 * symbols. */
#include "ops/infer/follow.h"

typedef struct reshape_plan {
    const hn_shape *data; /* NULL: rank unknown */
    uint32_t n;
    const hn_sint *target;
    bool allow_zero; /* 0 is a size, not a copy */
    /* the entry that is inferred from the number of elements; -1 when there is none */
    int32_t open;
} reshape_plan;

static bool is_copied(const reshape_plan *p, uint32_t i) {
    return !p->allow_zero && p->target[i].kind == HN_SINT_CONST && p->target[i].v == 0;
}

/* Finds the entry to infer: -1, or a single entry of which nothing is known. */
static hone_status find_open_entry(hn_infer *c, reshape_plan *p) {
    uint32_t n_minus_one = 0, n_unknown = 0, n_zero = 0;
    p->open = -1;
    for (uint32_t i = 0; i < p->n; i++) {
        hn_sint t = p->target[i];
        if (t.kind == HN_SINT_CONST && t.v < -1)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "shape[%u] is %lld; sizes, 0 and one -1 are allowed", i,
                                 (long long)t.v);
        bool is_minus_one = t.kind == HN_SINT_CONST && t.v == -1;
        n_minus_one += is_minus_one;
        n_unknown += t.kind == HN_SINT_UNKNOWN;
        n_zero += t.kind == HN_SINT_CONST && t.v == 0;
        if (is_minus_one || t.kind == HN_SINT_UNKNOWN)
            p->open = (int32_t)i;
    }
    if (n_minus_one > 1)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "shape has %u entries -1; at most one can be inferred", n_minus_one);
    if (p->allow_zero && n_zero && n_minus_one)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "shape has both 0 and -1 while allowzero is set: the size for -1 is undefined");
    if (n_minus_one + n_unknown > 1)
        p->open = -1;
    return HONE_OK;
}

/* Counts the elements of the input and of the output without its open entry. Dimensions that are
 * copied occur on both sides and are left out, so they need not be known. */
static void count_both_sides(hn_infer *c, const reshape_plan *p, const hn_dim *dims, hn_dim *data,
                             hn_dim *rest) {
    hn_syms *s = hn_infer_syms(c);
    *data = *rest = 1;
    for (int32_t i = 0; i < p->data->rank; i++)
        if (i >= (int32_t)p->n || !is_copied(p, (uint32_t)i))
            *data = hn_dim_mul(s, *data, p->data->dims[i]);
    for (uint32_t i = 0; i < p->n; i++)
        if (!is_copied(p, i) && (int32_t)i != p->open)
            *rest = hn_dim_mul(s, *rest, dims[i]);
}

static hone_status fail_element_count(hn_infer *c, const reshape_plan *p, const hn_dim *dims) {
    return hn_infer_fail(c, HONE_E_SHAPE, "%s cannot take shape %s: the numbers of elements differ",
                         hn_in_text(c, 0), hn_shape_str(c, (int32_t)p->n, dims));
}

/* An empty output does not determine its open entry. */
static hone_status settle_empty(hn_infer *c, const reshape_plan *p, const hn_dim *dims) {
    hn_dim data = hn_shape_elems(hn_infer_syms(c), p->data);
    if (p->open >= 0 && p->target[p->open].kind == HN_SINT_CONST)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "shape has -1 beside a size of 0: the size for -1 is undefined");
    return hn_dim_is_known(data) && data != 0 ? fail_element_count(c, p, dims) : HONE_OK;
}

static hone_status settle_element_count(hn_infer *c, const reshape_plan *p, hn_dim *dims) {
    hn_dim data, rest;
    for (uint32_t i = 0; i < p->n; i++)
        if (dims[i] == 0)
            return settle_empty(c, p, dims);
    count_both_sides(c, p, dims, &data, &rest);
    bool both_known = hn_dim_is_known(data) && hn_dim_is_known(rest);
    if (both_known && (p->open < 0 ? data != rest : data % rest != 0))
        return fail_element_count(c, p, dims);
    if (p->open >= 0)
        dims[p->open] = hn_dim_floor_div(hn_infer_syms(c), data, rest);
    return HONE_OK;
}

static hone_status reshaped_dims(hn_infer *c, reshape_plan *p, hn_dim *dims) {
    HN_TRY(find_open_entry(c, p));
    for (uint32_t i = 0; i < p->n; i++) {
        if (!is_copied(p, i)) {
            dims[i] = hn_sint_to_dim(p->target[i]);
            continue;
        }
        if (p->data && (int32_t)i >= p->data->rank)
            return hn_infer_fail(
                c, HONE_E_SHAPE,
                "shape[%u] is 0, which copies a dimension that the input %s does not have", i,
                hn_in_text(c, 0));
        dims[i] = p->data ? p->data->dims[i] : HN_DIM_UNKNOWN;
    }
    return p->data ? settle_element_count(c, p, dims) : HONE_OK;
}

/* Propagates the elements of a scalar, a vector or a matrix. */
static hone_status follow_reshape(hn_infer *c, uint32_t rank, const hn_dim *dims) {
    hn_int_matrix m;
    uint32_t n;
    if (hn_in_int_matrix(c, 0, &m))
        n = m.n_rows * m.n_cols;
    else if (!hn_in_ints(c, 0, &n, &m.elems, NULL))
        return HONE_OK;
    if (rank < 2)
        return rank == 1 || n == 1 ? hn_out_followed(c, 0, hn_in_elem(c, 0), n, m.elems, rank == 0)
                                   : HONE_OK;
    int64_t product;
    if (rank > 2 || !hn_dim_is_known(dims[0]) || !hn_dim_is_known(dims[1]) ||
        !hn_mul_i64(dims[0], dims[1], &product) || product != n)
        return HONE_OK;
    m.n_rows = (uint32_t)dims[0];
    m.n_cols = (uint32_t)dims[1];
    return hn_out_int_matrix(c, 0, &m);
}

hone_status hn_infer_reshape(hn_infer *c) {
    hn_int_list shape;
    HN_TRY(hn_expect_rank(c, 1, 1, 1));
    HN_TRY(hn_int_list_read(c, "shape", 1, &shape));
    if (!shape.is_counted)
        return HONE_OK;
    if (shape.n > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT, "shape has %u entries; hone supports up to rank %d",
                             shape.n, HN_MAX_RANK);
    reshape_plan p = {.data = hn_in_shape(c, 0), .n = shape.n, .target = shape.elems};
    p.allow_zero = hn_attr_i(c, "allowzero", 0) != 0;
    hn_dim *dims = hn_infer_dims(c, (int32_t)p.n);
    HN_TRY_PTR(dims);
    HN_TRY(reshaped_dims(c, &p, dims));
    HN_TRY(hn_out_shape(c, 0, (int32_t)p.n, dims));
    return follow_reshape(c, p.n, dims);
}
