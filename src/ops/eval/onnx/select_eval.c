/* Evaluation of operators that select elements: NonZero, Compress, OneHot. */
#include "ops/eval/copy.h"

/* ---- NonZero, Compress ----------------------------------------------------------------------- */

/* Flags of n elements that are not zero, or no empty string. */
static void select_flags(const hn_array *x, uint64_t begin, uint64_t n, bool *flags) {
    double wide[HN_TILE];
    if (x->dtype == HN_STRING) {
        for (uint64_t i = 0; i < n; i++)
            flags[i] = ((const hn_bytes *)x->data)[begin + i].n > 0;
        return;
    }
    if (x->dtype == HN_BOOL) {
        for (uint64_t i = 0; i < n; i++)
            flags[i] = ((const uint8_t *)x->data)[begin + i] != 0;
        return;
    }
    hn_load_f64(x, begin, n, wide);
    for (uint64_t i = 0; i < n; i++)
        flags[i] = wide[i] != 0;
}

/* Positions of the elements that are set, at most `n` of them looked at. */
static hone_status select_positions(hn_eval *c, const hn_array *x, uint64_t n, uint64_t *n_found,
                                    int64_t **out) {
    bool flags[HN_TILE];
    int64_t *at = hn_eval_scratch(c, n * sizeof *at);
    HN_TRY_PTR(at);
    *n_found = 0;
    for (uint64_t begin = 0; begin < n && !hn_spent(HN_TILE); begin += HN_TILE) {
        uint64_t some = HN_MIN(HN_TILE, n - begin);
        select_flags(x, begin, some, flags);
        for (uint64_t i = 0; i < some; i++) { /* written in any case: no branch to guess */
            at[*n_found] = (int64_t)(begin + i);
            *n_found += flags[i];
        }
    }
    *out = at;
    return HONE_OK;
}

/* Complex numbers as pairs of their parts: a number is zero when both are. */
static hone_status non_zero_complex(hn_eval *c, const hn_array *x, hn_array *flags) {
    hn_array parts = *x;
    bool is_set[2];
    parts.dtype = x->dtype == HN_C64 ? HN_F32 : HN_F64;
    *flags = *x;
    flags->dtype = HN_BOOL;
    flags->data = hn_eval_scratch(c, x->n_elems);
    HN_TRY_PTR(flags->data);
    for (uint64_t i = 0; i < x->n_elems && !hn_spent(8); i++) {
        select_flags(&parts, 2 * i, 2, is_set);
        ((uint8_t *)flags->data)[i] = is_set[0] || is_set[1];
    }
    return HONE_OK;
}

/* One row for each axis, one column for each element found: the last axis first, then what is left
 * of the positions is counted along those before it. */
static hone_status eval_non_zero(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y, flags;
    int64_t *at;
    uint64_t n;
    if (x->dtype == HN_C64 || x->dtype == HN_C128) {
        HN_TRY(non_zero_complex(c, x, &flags));
        x = &flags;
    }
    HN_TRY(select_positions(c, x, x->n_elems, &n, &at));
    HN_TRY(hn_ret_alloc(c, 0, HN_I64, 2, (int64_t[]){x->rank, (int64_t)n}, &y));
    for (int32_t k = x->rank - 1; y && k >= 0; k--) {
        int64_t *row = (int64_t *)y->data + (uint64_t)k * n, size = x->dims[k];
        for (uint64_t i = 0; i < n && k > 0; i++) {
            row[i] = at[i] % size;
            at[i] /= size;
        }
        if (k == 0 && n > 0)
            memcpy(row, at, n * sizeof *row);
    }
    return HONE_OK;
}
const hn_impl hn_impl_non_zero[1] = {{.eval = eval_non_zero}};

/* Slices along an axis, or elements of the flattened input, whose condition is true. The condition
 * may be shorter. */
static hone_status eval_compress(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *condition = hn_arg(c, 1);
    hn_array *y;
    int64_t *at, dims[HN_MAX_RANK];
    uint64_t n;
    int32_t axis = 0;
    bool has_axis = hn_has_attr(hn_eval_node(c), "axis");
    hn_array flat = hn_array_as(x, 1, (int64_t[]){(int64_t)x->n_elems});
    if (has_axis)
        HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, &axis));
    const hn_array *from = has_axis ? x : &flat;
    HN_TRY(select_positions(c, condition, HN_MIN(condition->n_elems, (uint64_t)from->dims[axis]),
                            &n, &at));
    memcpy(dims, from->dims, (size_t)from->rank * sizeof *dims);
    dims[axis] = (int64_t)n;
    const int64_t *picks[HN_MAX_RANK] = {NULL};
    picks[axis] = at;
    HN_TRY(hn_ret_alloc(c, 0, x->dtype, from->rank, dims, &y));
    return y ? hn_copy_picked(c, y, from, picks, NULL) : HONE_OK;
}
const hn_impl hn_impl_compress[1] = {{.eval = eval_compress}};

/* ---- OneHot ---------------------------------------------------------------------------------- */

/* An index outside [-depth, depth) leaves its vector without the "on" value. */
hone_status hn_one_hot_run(hn_eval *c, const hn_split3 *size, hn_array *y, const hn_array *indices,
                           const hn_array *values) {
    int64_t depth = size->mid, inner = size->inner;
    HN_TRY(hn_copy_fill(c, y, 0, (uint64_t)(size->outer * depth * inner), values));
    for (int64_t i = 0; i < size->outer * inner && !hn_spent(8); i++) {
        int64_t index;
        hn_load_i64(indices, (uint64_t)i, 1, &index);
        index += index < 0 ? depth : 0;
        if (index >= 0 && index < depth)
            HN_TRY(hn_copy_run(c, y, (uint64_t)((i / inner * depth + index) * inner + i % inner),
                               values, 1, 1));
    }
    return HONE_OK;
}

static hone_status eval_one_hot(hn_eval *c) {
    const hn_array *indices = hn_arg(c, 0), *values = hn_arg(c, 2);
    hn_array *y;
    int64_t depth, dims[HN_MAX_RANK];
    int32_t axis, from = 0;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", -1), indices->rank + 1, &axis));
    hn_load_i64(hn_arg(c, 1), 0, 1, &depth);
    if (depth < 0)
        return hn_eval_fail(c, HONE_E_INVALID, "depth is %lld, but cannot be negative",
                            (long long)depth);
    for (int32_t k = 0; k <= indices->rank; k++)
        dims[k] = k == axis ? depth : indices->dims[from++];
    HN_TRY(hn_ret_alloc(c, 0, values->dtype, indices->rank + 1, dims, &y));
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_split3 size = hn_split_at(y->rank, dims, axis);
    return hn_one_hot_run(c, &size, y, indices, values);
}
const hn_impl hn_impl_one_hot[1] = {{.eval = eval_one_hot}};
