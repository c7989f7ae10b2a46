/* Inference rules of reductions over axes. */
#include "ops/infer/follow.h"

/* The shape after the axes in `gone` are reduced to size 1, or removed. */
static hone_status out_reduced(hn_infer *c, const hn_axis_set *gone, bool keepdims) {
    const hn_shape *x = hn_in_shape(c, 0);
    hn_dim *dims = hn_infer_dims(c, x->rank);
    int32_t rank = 0;
    HN_TRY_PTR(dims);
    for (int32_t i = 0; i < x->rank; i++) {
        if (!hn_axis_set_has(gone, i))
            dims[rank++] = x->dims[i];
        else if (keepdims)
            dims[rank++] = 1;
    }
    return hn_out_shape(c, 0, rank, dims);
}

static hn_axis_set all_axes(int32_t rank) {
    uint64_t bits = rank >= 64 ? UINT64_MAX : ((uint64_t)1 << rank) - 1;
    return (hn_axis_set){.is_known = true, .bits = bits, .n = (uint32_t)rank};
}

/* When only the number of axes is known, one axis still determines the rank; several may be the
 * same. */
static hone_status out_reduced_somewhere(hn_infer *c, const hn_int_list *axes, bool keepdims) {
    int32_t rank = hn_in_rank(c, 0);
    if (!keepdims && (!axes->is_counted || axes->n != 1 || rank == 0))
        return HONE_OK;
    rank -= !keepdims;
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    return hn_out_shape(c, 0, rank, dims);
}

/* Reductions that occur in shape computations; of a single element, each returns that element. */
typedef struct plain_reduction {
    const char *op;
    hn_sint_op how;
    bool has_start;
    int64_t start;
} plain_reduction;

/* NULL: another reduction, which may compute more. */
static const plain_reduction *find_plain_reduction(const hn_infer *c) {
    static const plain_reduction table[] = {{"ReduceSum", HN_SINT_ADD, true, 0},
                                            {"ReduceProd", HN_SINT_MUL, true, 1},
                                            {"ReduceMax", HN_SINT_MAX, false, 0},
                                            {"ReduceMin", HN_SINT_MIN, false, 0}};
    for (size_t i = 0; i < HN_COUNT(table); i++)
        if (strcmp(table[i].op, hn_infer_op(c)) == 0)
            return &table[i];
    return NULL;
}

/* The integer that a vector in a shape computation reduces to. */
static hone_status follow_reduce(hn_infer *c, bool keepdims) {
    const plain_reduction *p = find_plain_reduction(c);
    const hn_sint *elems;
    uint32_t n;
    bool is_scalar;
    if (!p || !hn_in_ints(c, 0, &n, &elems, &is_scalar) || (n == 0 && !p->has_start))
        return HONE_OK;
    hn_sint result = p->has_start ? hn_sint_const(p->start) : elems[0];
    for (uint32_t i = p->has_start ? 0 : 1; i < n; i++)
        result = hn_sint_apply(hn_infer_syms(c), p->how, result, elems[i]);
    return hn_out_followed(c, 0, hn_in_elem(c, 0), 1, &result, is_scalar || !keepdims);
}

hone_status hn_infer_reduce(hn_infer *c) {
    bool keepdims = hn_attr_i(c, "keepdims", 1) == 1;
    int32_t rank = hn_in_rank(c, 0);
    hn_int_list axes;
    HN_TRY(hn_int_list_read(c, "axes", 1, &axes));
    bool has_none = !axes.is_given || (axes.is_counted && axes.n == 0);
    if (has_none && hn_attr_i(c, "noop_with_empty_axes", 0)) {
        HN_TRY(hn_out_shape_of(c, 0, 0));
        return find_plain_reduction(c) ? hn_out_followed_same(c, 0, 0, hn_in_elem(c, 0)) : HONE_OK;
    }
    if (has_none && !keepdims)
        HN_TRY(hn_out_shape(c, 0, 0, NULL));
    if (rank < 0)
        return HONE_OK;
    hn_axis_set set;
    HN_TRY(hn_axis_set_read(c, "axes", &axes, rank, &set));
    if (has_none)
        set = all_axes(rank);
    if (!set.is_known)
        return out_reduced_somewhere(c, &axes, keepdims);
    HN_TRY(out_reduced(c, &set, keepdims));
    return set.n == (uint32_t)rank ? follow_reduce(c, keepdims) : HONE_OK;
}

hone_status hn_infer_argreduce(hn_infer *c) {
    int32_t rank = hn_in_rank(c, 0), axis;
    if (rank < 0)
        return HONE_OK;
    HN_TRY(hn_infer_axis(c, "axis", hn_attr_i(c, "axis", 0), rank, &axis));
    if (rank > HN_MAX_RANK)
        return HONE_OK;
    hn_axis_set gone = {.is_known = true, .bits = (uint64_t)1 << axis, .n = 1};
    return out_reduced(c, &gone, hn_attr_i(c, "keepdims", 1) == 1);
}
