/* Evaluation of operators that pick elements by index. */
#include "ops/move.h"

hone_status hn_eval_gather(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *indices = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    int32_t axis;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, &axis));
    hn_split3 s = hn_split_at(x->rank, x->dims, axis);
    int64_t *at = hn_eval_scratch(c, indices->n_elems * sizeof *at + 1);
    HN_TRY_PTR(at);
    hn_load_i64(indices, 0, indices->n_elems, at);
    for (uint64_t i = 0; i < indices->n_elems; i++)
        HN_TRY(hn_index_of(c, at[i], s.mid, &at[i]));
    if (indices->n_elems == 1)
        return hn_move_from_axis(c, y, x, axis, at[0], 1);
    int64_t from_dims[3] = {s.outer, s.mid, s.inner}, to_dims[3] = {s.outer, (int64_t)indices->n_elems, s.inner};
    hn_array from = hn_array_as(x, 3, from_dims), to = hn_array_as(y, 3, to_dims);
    return hn_move_picked(c, &to, &from, (const int64_t *const[]){NULL, at, NULL}, NULL);
}

/* Every output element has its own index along one axis. */
hone_status hn_eval_gather_elements(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *indices = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    int64_t strides[HN_MAX_RANK], at[HN_TILE], index[HN_MAX_RANK] = {0};
    int32_t axis;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, &axis));
    hn_strides(x->rank, x->dims, strides);
    for (int32_t k = 0; k < x->rank; k++)
        if (k != axis && y->dims[k] > x->dims[k])
            return hn_eval_fail(c, HONE_E_SHAPE, "axis %d of indices has %lld elements, but data has %lld", k, (long long)y->dims[k],
                                (long long)x->dims[k]);
    for (uint64_t begin = 0; begin < y->n_elems; begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, y->n_elems - begin);
        hn_load_i64(indices, begin, n, at);
        for (uint64_t i = 0; i < n; i++) {
            HN_TRY(hn_index_of(c, at[i], x->dims[axis], &at[i]));
            at[i] *= strides[axis];
            for (int32_t k = 0; k < x->rank; k++)
                at[i] += k == axis ? 0 : index[k] * strides[k];
            for (int32_t k = x->rank - 1; k >= 0 && ++index[k] == y->dims[k]; k--)
                index[k] = 0;
        }
        HN_TRY(hn_move_listed(c, y, begin, x, 0, 1, n, at));
    }
    return HONE_OK;
}

/* Adds to n starts what index k of their tuples, which have `length` each, counts along an axis. */
static hone_status add_index(hn_eval *c, const int64_t *tuples, uint64_t length, uint64_t n,
                             int64_t size, int64_t stride, int64_t *starts) {
    bool is_outside = false;
    for (uint64_t i = 0; i < n; i++) {
        int64_t index = tuples[i * length];
        is_outside |= index < -size || index >= size;
        starts[i] += (int64_t)((uint64_t)(index < 0 ? index + size : index) * (uint64_t)stride);
    }
    for (uint64_t i = 0; is_outside && i < n; i++) {
        int64_t ignored;
        HN_TRY(hn_index_of(c, tuples[i * length], size, &ignored));
    }
    return HONE_OK;
}

/* Where the tuples begin .. end of `indices` point to, from the first element of their batch. */
static hone_status locate_tuples(hn_eval *c, uint64_t begin, uint64_t end, int32_t n_batch,
                                 const int64_t *strides, int64_t *starts) {
    const hn_array *x = hn_arg(c, 0), *indices = hn_arg(c, 1);
    uint64_t length = (uint64_t)indices->dims[indices->rank - 1];
    uint64_t per_tile = HN_TILE / HN_MAX(length, 1);
    int64_t tuples[HN_TILE];
    for (uint64_t at = begin; at < end; at += per_tile) {
        uint64_t n = HN_MIN(per_tile, end - at);
        int64_t *some = starts + (at - begin);
        hn_load_i64(indices, at * length, n * length, tuples);
        memset(some, 0, n * sizeof *some);
        for (uint64_t k = 0; k < length; k++) {
            int32_t axis = n_batch + (int32_t)k;
            HN_TRY(add_index(c, tuples + k, length, n, x->dims[axis], strides[axis], some));
        }
    }
    return HONE_OK;
}

/* The last axis of `indices` names the leading axes of `data`, behind the batch axes that both share. */
hone_status hn_eval_gather_nd(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *indices = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    int32_t n_batch = (int32_t)hn_attr_i(hn_eval_node(c), "batch_dims", 0);
    int32_t length = (int32_t)indices->dims[indices->rank - 1];
    int64_t strides[HN_MAX_RANK];
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_strides(x->rank, x->dims, strides);
    uint64_t run = hn_count(x->rank - n_batch - length, x->dims + n_batch + length);
    uint64_t n_tuples = hn_count(indices->rank - 1, indices->dims), n_batches = hn_count(n_batch, indices->dims);
    uint64_t per_batch = n_batches ? n_tuples / n_batches : 0;
    int64_t batch = (int64_t)hn_count(x->rank - n_batch, x->dims + n_batch);
    int64_t *starts = hn_eval_scratch(c, per_batch * sizeof *starts + 1);
    HN_TRY_PTR(starts);
    for (uint64_t b = 0; b < n_batches; b++) {
        HN_TRY(locate_tuples(c, b * per_batch, (b + 1) * per_batch, n_batch, strides, starts));
        HN_TRY(hn_move_listed(c, y, b * per_batch * run, x, (int64_t)b * batch, run, per_batch, starts));
    }
    return HONE_OK;
}
