/* Runs through broadcasts: dimensions that lie next to each other in every operand become one, and
 * the innermost is handed out in long runs. */
#include "ops/eval_broadcast.h"

typedef struct broadcast_walk {
    int32_t rank;
    uint32_t n_operands;
    int64_t dims[HN_MAX_RANK];
    int64_t strides[HN_MAX_OPERANDS][HN_MAX_RANK];
    const hn_eval *c;
    hn_row_fn fn;
    void *ctx;
} broadcast_walk;

/* May axis `to` and the one behind it be counted as one? */
static bool walk_can_merge(const broadcast_walk *w, int32_t to, int64_t dim,
                           const int64_t *strides) {
    for (uint32_t k = 0; k < w->n_operands; k++)
        if (w->strides[k][to] != strides[k] * dim)
            return false;
    return true;
}

static void walk_add_axis(broadcast_walk *w, int64_t dim, const int64_t *strides) {
    if (dim == 1)
        return;
    if (w->rank > 0 && walk_can_merge(w, w->rank - 1, dim, strides))
        w->dims[w->rank - 1] *= dim;
    else
        w->dims[w->rank++] = dim;
    for (uint32_t k = 0; k < w->n_operands; k++)
        w->strides[k][w->rank - 1] = strides[k];
}

static void walk_plan(broadcast_walk *w, const hn_array *out, uint32_t n,
                      const hn_array *const *in) {
    int64_t strides[HN_MAX_OPERANDS][HN_MAX_RANK];
    w->rank = 0;
    w->n_operands = n;
    for (uint32_t k = 0; k < n; k++)
        hn_broadcast_strides(in[k], out->rank, strides[k]);
    for (int32_t i = 0; i < out->rank; i++) {
        int64_t of_axis[HN_MAX_OPERANDS];
        for (uint32_t k = 0; k < n; k++)
            of_axis[k] = strides[k][i];
        walk_add_axis(w, out->dims[i], of_axis);
    }
}

/* The place of element `at` in every operand. */
static void walk_locate(const broadcast_walk *w, uint64_t at, int64_t *index, hn_row *row) {
    memset(row->in, 0, sizeof row->in);
    for (int32_t i = w->rank - 1; i >= 0; i--) {
        index[i] = (int64_t)(at % (uint64_t)w->dims[i]);
        at /= (uint64_t)w->dims[i];
        for (uint32_t k = 0; k < w->n_operands; k++)
            row->in[k] += (uint64_t)(index[i] * w->strides[k][i]);
    }
}

/* From the end of one innermost run to the beginning of the next. */
static void walk_next_run(const broadcast_walk *w, int64_t *index, hn_row *row) {
    for (int32_t i = w->rank - 1; i >= 0; i--) {
        int64_t back = 0;
        index[i] += i == w->rank - 1 ? (int64_t)row->n : 1;
        if (index[i] == w->dims[i]) {
            back = w->dims[i];
            index[i] = 0;
        }
        for (uint32_t k = 0; k < w->n_operands; k++) {
            int64_t forward = i == w->rank - 1 ? (int64_t)row->n : 1;
            row->in[k] += (uint64_t)((forward - back) * w->strides[k][i]);
        }
        if (!back)
            return;
    }
}

static void walk_range(void *ctx, int64_t begin, int64_t end) {
    const broadcast_walk *w = ctx;
    int64_t index[HN_MAX_RANK];
    int32_t last = w->rank - 1;
    hn_row row = {.out = (uint64_t)begin};
    if (hn_eval_stopped(w->c))
        return;
    walk_locate(w, (uint64_t)begin, index, &row);
    for (uint32_t k = 0; k < w->n_operands; k++)
        row.step[k] = last >= 0 && w->strides[k][last] != 0;
    while (row.out < (uint64_t)end) {
        uint64_t in_run = last >= 0 ? (uint64_t)(w->dims[last] - index[last]) : 1;
        row.n = HN_MIN(in_run, (uint64_t)end - row.out);
        w->fn(w->ctx, &row);
        row.out += row.n;
        walk_next_run(w, index, &row);
    }
}

hone_status hn_broadcast_rows(hn_eval *c, const hn_array *out, uint32_t n,
                              const hn_array *const *in, hn_row_fn fn, void *ctx) {
    broadcast_walk w = {.c = c, .fn = fn, .ctx = ctx};
    if (out->n_elems == 0)
        return HONE_OK;
    walk_plan(&w, out, n, in);
    hn_pool_for(hn_eval_pool(c), (int64_t)out->n_elems, HN_GRAIN, walk_range, &w);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

hn_array hn_array_along(const hn_array *a, int64_t axis, int32_t rank, int64_t *dims) {
    hn_array along = *a;
    along.rank = 0;
    along.dims = dims;
    for (int32_t i = 0; i < a->rank; i++)
        dims[along.rank++] = a->dims[i];
    while (along.rank + axis < rank && along.rank < HN_MAX_RANK)
        dims[along.rank++] = 1;
    return along;
}

hone_status hn_array_copy(hn_eval *c, hn_array *to, const hn_array *from) {
    uint64_t bytes = 0;
    if (to->data == from->data || from->n_elems == 0)
        return HONE_OK;
    if (from->dtype == HN_STRING) {
        const hn_bytes *text = from->data;
        for (uint64_t i = 0; i < from->n_elems; i++)
            HN_TRY(hn_array_set_string(c, to, i, text[i].at, text[i].n));
        return HONE_OK;
    }
    hn_dtype_bytes(from->dtype, from->n_elems, &bytes);
    memcpy(to->data, from->data, (size_t)bytes);
    return HONE_OK;
}
