/* Runs through broadcasts: dimensions that lie next to each other in every operand become one, and
 * the innermost is handed out in long runs. */
#include "ops/eval/eval_broadcast.h"

/* May axis `to` and the one behind it be counted as one? */
static bool walk_can_merge(const hn_broadcast_walk *w, int32_t to, int64_t dim,
                           const int64_t *strides) {
    for (uint32_t k = 0; k < w->n_operands; k++)
        if (w->axes[to].strides[k] != strides[k] * dim)
            return false;
    return true;
}

static void walk_add_axis(hn_broadcast_walk *w, int64_t dim, const int64_t *strides) {
    if (dim == 1)
        return;
    if (w->rank > 0 && walk_can_merge(w, w->rank - 1, dim, strides))
        w->axes[w->rank - 1].dim *= dim;
    else
        w->axes[w->rank++].dim = dim;
    for (uint32_t k = 0; k < w->n_operands; k++)
        w->axes[w->rank - 1].strides[k] = strides[k];
}

void hn_broadcast_plan(hn_broadcast_walk *w, const hn_array *out, uint32_t n,
                       const hn_array *const *in) {
    int64_t strides[HN_MAX_OPERANDS][HN_MAX_RANK];
    w->rank = 0;
    w->n_operands = n;
    w->n_elems = out->n_elems;
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
static void walk_locate(const hn_broadcast_walk *w, uint64_t at, int64_t *index, uint64_t *in) {
    memset(in, 0, HN_MAX_OPERANDS * sizeof *in);
    for (int32_t i = w->rank - 1; i >= 0; i--) {
        index[i] = (int64_t)(at % (uint64_t)w->axes[i].dim);
        at /= (uint64_t)w->axes[i].dim;
        for (uint32_t k = 0; k < w->n_operands; k++)
            in[k] += (uint64_t)(index[i] * w->axes[i].strides[k]);
    }
}

/* `by` places along an axis, at most to its end, which is the beginning of the next row. */
static void walk_advance(const hn_broadcast_walk *w, int32_t axis, int64_t by, int64_t *index,
                         uint64_t *in) {
    for (; axis >= 0; axis--, by = 1) {
        bool is_end = index[axis] + by == w->axes[axis].dim;
        int64_t move = is_end ? -index[axis] : by;
        index[axis] += move;
        for (uint32_t k = 0; k < w->n_operands; k++)
            in[k] += (uint64_t)(move * w->axes[axis].strides[k]);
        if (!is_end)
            return;
    }
}

/* As many whole rows as there are from here, or a part of one. */
static void walk_size_box(const hn_broadcast_walk *w, const int64_t *index, uint64_t left,
                          hn_box *box) {
    int32_t last = w->rank - 1;
    uint64_t row = last >= 0 ? (uint64_t)w->axes[last].dim : 1;
    uint64_t in_row = last >= 0 ? row - (uint64_t)index[last] : 1;
    box->row.n = HN_MIN(in_row, left);
    box->n_rows = 1;
    if (last > 0 && box->row.n == row)
        box->n_rows = HN_MIN((uint64_t)(w->axes[last - 1].dim - index[last - 1]), left / row);
}

/* A walk at work. */
typedef struct walk_run {
    const hn_broadcast_walk *w;
    const hn_pool *pool;
    hn_box_fn fn;
    void *ctx;
} walk_run;

static void walk_range(void *ctx, int64_t begin, int64_t end) {
    const walk_run *r = ctx;
    const hn_broadcast_walk *w = r->w;
    int64_t index[HN_MAX_RANK];
    int32_t last = w->rank - 1;
    hn_box box = {.row.out = (uint64_t)begin};
    if (hn_pool_is_stopped(r->pool))
        return;
    walk_locate(w, (uint64_t)begin, index, box.row.in);
    for (uint32_t k = 0; k < w->n_operands; k++) {
        box.row.step[k] = last >= 0 && w->axes[last].strides[k] != 0;
        box.jump[k] = last > 0 ? (uint64_t)w->axes[last - 1].strides[k] : 0;
    }
    while (box.row.out < (uint64_t)end) {
        walk_size_box(w, index, (uint64_t)end - box.row.out, &box);
        r->fn(r->ctx, &box);
        box.row.out += box.row.n * box.n_rows;
        if (box.n_rows > 1)
            walk_advance(w, last - 1, (int64_t)box.n_rows, index, box.row.in);
        else
            walk_advance(w, last, (int64_t)box.row.n, index, box.row.in);
    }
}

void hn_broadcast_run(hn_pool *pool, const hn_broadcast_walk *w, hn_box_fn fn, void *ctx) {
    walk_run r = {w, pool, fn, ctx};
    hn_pool_for(pool, (int64_t)w->n_elems, HN_GRAIN, walk_range, &r);
}

static bool broadcasts_to(const hn_array *in, const hn_array *out) {
    for (int32_t i = 1; i <= in->rank; i++) {
        int64_t have = in->dims[in->rank - i], want = i <= out->rank ? out->dims[out->rank - i] : 1;
        if (have != 1 && have != want)
            return false;
    }
    return true;
}

hone_status hn_broadcast_boxes(hn_eval *c, const hn_array *out, uint32_t n,
                               const hn_array *const *in, hn_box_fn fn, void *ctx) {
    hn_walk_axis axes[HN_MAX_RANK];
    hn_broadcast_walk w = {.axes = axes};
    if (out->n_elems == 0)
        return HONE_OK;
    for (uint32_t i = 0; i < n; i++) /* rules of old versions leave it to the run */
        if (!broadcasts_to(in[i], out))
            return hn_eval_fail(c, HONE_E_SHAPE,
                                "operand %u does not broadcast to the shape of the result", i);
    hn_broadcast_plan(&w, out, n, in);
    hn_broadcast_run(hn_eval_pool(c), &w, fn, ctx);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

typedef struct row_caller {
    hn_row_fn fn;
    void *ctx;
} row_caller;

static void call_each_row(void *ctx, const hn_box *box) {
    const row_caller *caller = ctx;
    hn_row row = box->row;
    for (uint64_t i = 0; i < box->n_rows; i++) {
        caller->fn(caller->ctx, &row);
        row.out += row.n;
        for (uint32_t k = 0; k < HN_MAX_OPERANDS; k++)
            row.in[k] += box->jump[k];
    }
}

void hn_broadcast_run_rows(hn_pool *pool, const hn_broadcast_walk *w, hn_row_fn fn, void *ctx) {
    row_caller caller = {fn, ctx};
    hn_broadcast_run(pool, w, call_each_row, &caller);
}

hone_status hn_broadcast_rows(hn_eval *c, const hn_array *out, uint32_t n,
                              const hn_array *const *in, hn_row_fn fn, void *ctx) {
    row_caller caller = {fn, ctx};
    return hn_broadcast_boxes(c, out, n, in, call_each_row, &caller);
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
