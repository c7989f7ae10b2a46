/* Evaluation of operators that pick elements by index. */
#include "ops/eval/onnx/indexed_copy.h"
#include "ops/eval_engine.h"

#include <stdatomic.h>

static hone_status eval_gather(hn_eval *c) {
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
        HN_TRY(hn_index_of(c->err, at[i], s.mid, &at[i]));
    if (indices->n_elems == 1)
        return hn_copy_from_axis(c, y, x, axis, at[0], 1);
    int64_t from_dims[3] = {s.outer, s.mid, s.inner},
            to_dims[3] = {s.outer, (int64_t)indices->n_elems, s.inner};
    hn_array from = hn_array_as(x, 3, from_dims), to = hn_array_as(y, 3, to_dims);
    return hn_copy_picked(c, &to, &from, (const int64_t *const[]){NULL, at, NULL}, NULL);
}
const hn_impl hn_impl_gather[1] = {{.eval = eval_gather, .reads_part = true, .copied_args = 1}};

hone_status hn_indexed_eval(hn_eval *c, hn_indexed_read_fn read, hn_indexed_run_fn run) {
    const hn_array *updates = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    hn_indexed_form f;
    if (!y)
        return HONE_OK;
    HN_TRY(read(c, &f));
    return run(c, &f,
               &(hn_indexed_io){hn_arg(c, 0)->data, hn_arg(c, 1)->data,
                                updates ? updates->data : NULL, y->data, hn_eval_pool(c), c->err});
}

/* Adds to n starts what index k of their tuples, which have `length` each, counts along an axis.
 * False when an index lies outside. */
static bool add_index(const int64_t *tuples, uint64_t length, uint64_t n, int64_t size,
                      int64_t stride, int64_t *starts) {
    bool is_outside = false;
    for (uint64_t i = 0; i < n; i++) {
        int64_t index = tuples[i * length];
        is_outside |= index < -size || index >= size;
        /* without signs: one that lies outside is still added, and then refused */
        starts[i] = (int64_t)((uint64_t)starts[i] +
                              (uint64_t)(index < 0 ? index + size : index) * (uint64_t)stride);
    }
    return !is_outside;
}

static hone_status refuse_index(hone_error *err, const int64_t *tuples, uint64_t length, uint64_t n,
                                int64_t size) {
    int64_t ignored;
    for (uint64_t i = 0; i < n; i++)
        HN_TRY(hn_index_of(err, tuples[i * length], size, &ignored));
    return HONE_OK;
}

/* ---- GatherElements -------------------------------------------------------------------------- */

#define ELEMENTS_AT_ONCE (32 * HN_TILE)

typedef struct elements_job {
    hn_eval *c;
    const hn_indexed_form *form;
    hn_array x, indices, y;
    atomic_bool is_outside; /* an index is */
    hone_status status;     /* of moves, which fail with one thread only */
} elements_job;

/* Rows of indices, one after the other. */
typedef struct index_walk {
    const hn_indexed_form *form;
    const int64_t *dims; /* of the indices */
    int32_t last;
    int64_t place[HN_MAX_RANK];
} index_walk;

static index_walk walk_indices(const hn_indexed_form *f, const hn_array *indices, uint64_t begin) {
    index_walk w = {.form = f, .dims = indices->dims, .last = indices->rank - 1};
    for (int32_t k = w.last; k >= 0; k--) {
        w.place[k] = (int64_t)(begin % (uint64_t)w.dims[k]);
        begin /= (uint64_t)w.dims[k];
    }
    return w;
}

/* How many of the next n indices lie in the row; the first one points to `first`, were it 0. */
static uint64_t walk_row(index_walk *w, uint64_t n, uint64_t *first) {
    uint64_t some = HN_MIN(n, (uint64_t)(w->dims[w->last] - w->place[w->last]));
    *first = 0;
    for (int32_t k = 0; k <= w->last; k++)
        *first += (uint64_t)w->place[k] * (uint64_t)w->form->strides[k];
    w->place[w->last] += (int64_t)some;
    for (int32_t k = w->last; k > 0 && w->place[k] == w->dims[k]; k--) {
        w->place[k] = 0;
        w->place[k - 1]++;
    }
    return some;
}

/* Negative ones count from the end; what lies outside is no less than size. */
static inline uint64_t index_from_front(int64_t index, int64_t size) {
    return (uint64_t)index + (index < 0 ? (uint64_t)size : 0);
}

bool hn_point_elements(const hn_indexed_form *f, const hn_array *indices, uint64_t begin,
                       uint64_t n, int64_t *starts) {
    index_walk w = walk_indices(f, indices, begin);
    int64_t at[HN_TILE], size = f->x.dims[f->axis];
    uint64_t step = (uint64_t)f->strides[w.last], stride = (uint64_t)f->stride;
    bool is_outside = false;
    hn_load_i64(indices, begin, n, at);
    for (uint64_t done = 0, end, first; done < n;) {
        for (end = done + walk_row(&w, n - done, &first); done < end; done++, first += step) {
            uint64_t index = index_from_front(at[done], size);
            is_outside |= index >= (uint64_t)size;
            starts[done] = (int64_t)(first + index * stride);
        }
    }
    return !is_outside;
}

bool hn_is_one_index(const int64_t *at, uint64_t n) {
    enum { AT_ONCE = 16 };
    uint64_t first = (uint64_t)at[0], differs = 0;
    for (; n >= AT_ONCE && !differs; at += AT_ONCE, n -= AT_ONCE)
        for (int i = 0; i < AT_ONCE; i++)
            differs |= (uint64_t)at[i] ^ first;
    for (uint64_t i = 0; i < n; i++)
        differs |= (uint64_t)at[i] ^ first;
    return !differs;
}

/* Elements of 4 bytes by indices of 64 bits, which most are. False when one lies outside. */
static bool pick_words(const elements_job *j, uint64_t begin, uint64_t n) {
    const hn_indexed_form *f = j->form;
    index_walk w = walk_indices(f, &j->indices, begin);
    const int64_t *at = (const int64_t *)j->indices.data + begin;
    const uint32_t *x = j->x.data;
    uint32_t *y = (uint32_t *)j->y.data + begin;
    int64_t size = f->x.dims[f->axis];
    uint64_t step = (uint64_t)f->strides[w.last], stride = (uint64_t)f->stride;
    bool is_outside = false;
    for (uint64_t done = 0, end, first; done < n;) {
        end = done + walk_row(&w, n - done, &first);
        uint64_t row = index_from_front(at[done], size);
        if (step == 1 && row < (uint64_t)size && hn_is_one_index(at + done, end - done)) {
            memcpy(y + done, x + first + row * stride, (size_t)(end - done) * sizeof *y);
            done = end;
        }
        for (; done < end; done++, first += step) {
            uint64_t index = index_from_front(at[done], size);
            is_outside |= index >= (uint64_t)size;
            y[done] = x[first + (index < (uint64_t)size ? index : 0) * stride];
        }
    }
    return !is_outside;
}

static void pick_elements(void *ctx, int64_t begin, int64_t end) {
    elements_job *j = ctx;
    const hn_indexed_form *f = j->form;
    int64_t starts[HN_TILE];
    if (j->indices.dtype == HN_I64 && hn_elem_bytes(f->y.dtype) == 4 && f->x.n_elems > 0) {
        if (!pick_words(j, (uint64_t)begin, (uint64_t)(end - begin)))
            atomic_store(&j->is_outside, true);
        return;
    }
    for (int64_t from = begin; from < end; from += HN_TILE) {
        uint64_t n = (uint64_t)HN_MIN(HN_TILE, end - from);
        if (!hn_point_elements(f, &j->indices, (uint64_t)from, n, starts)) {
            atomic_store(&j->is_outside, true);
            return;
        }
        hone_status status = hn_copy_listed(j->c, &j->y, (uint64_t)from, &j->x, 0, 1, n, starts);
        if (status != HONE_OK)
            j->status = status;
    }
}

hone_status hn_refuse_elements(hone_error *err, const hn_array *indices, int64_t size) {
    int64_t at[HN_TILE];
    for (uint64_t begin = 0; begin < indices->n_elems; begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, indices->n_elems - begin);
        hn_load_i64(indices, begin, n, at);
        HN_TRY(refuse_index(err, at, 1, n, size));
    }
    return HONE_OK;
}

/* Every output element has its own index along one axis. */
hone_status hn_gather_elements_read(hn_eval *c, hn_indexed_form *f) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    f->x = *x;
    f->indices = *hn_arg(c, 1);
    f->y = *y;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, &f->axis));
    for (int32_t k = 0; k < x->rank; k++)
        if (k != f->axis && y->dims[k] > x->dims[k])
            return hn_eval_fail(c, HONE_E_SHAPE,
                                "axis %d of indices has %lld elements, but data has %lld", k,
                                (long long)y->dims[k], (long long)x->dims[k]);
    hn_strides(x->rank, x->dims, f->strides);
    f->stride = f->strides[f->axis];
    f->strides[f->axis] = 0;
    return HONE_OK;
}

hone_status hn_gather_elements_run(hn_eval *c, const hn_indexed_form *f, const hn_indexed_io *io) {
    elements_job j = {.c = c,
                      .form = f,
                      .x = hn_array_at(&f->x, io->x),
                      .indices = hn_array_at(&f->indices, io->indices),
                      .y = hn_array_at(&f->y, io->y)};
    hn_pool_for(hn_is_whole_bytes(f->y.dtype) ? io->pool : NULL, (int64_t)f->y.n_elems,
                ELEMENTS_AT_ONCE, pick_elements, &j);
    if (atomic_load(&j.is_outside))
        return hn_refuse_elements(io->err, &j.indices, f->x.dims[f->axis]);
    return j.status;
}

static hone_status eval_gather_elements(hn_eval *c) {
    if (hn_ret(c, 0) && hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    return hn_indexed_eval(c, hn_gather_elements_read, hn_gather_elements_run);
}
const hn_impl hn_impl_gather_elements[1] = {{.eval = eval_gather_elements, .reads_part = true}};

/* ---- GatherND -------------------------------------------------------------------------------- */

hone_status hn_locate_tuples(hone_error *err, const hn_array *x, const hn_array *indices,
                             uint64_t begin, uint64_t end, int32_t n_batch, const int64_t *strides,
                             int64_t *starts) {
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
            if (!add_index(tuples + k, length, n, x->dims[axis], strides[axis], some))
                return refuse_index(err, tuples + k, length, n, x->dims[axis]);
        }
    }
    return HONE_OK;
}

/* The last axis of `indices` names the leading axes of `data`, behind the batch axes that both
 * share. */
hone_status hn_gather_nd_read(hn_eval *c, hn_indexed_form *f) {
    const hn_array *x = hn_arg(c, 0), *indices = hn_arg(c, 1);
    int32_t length = (int32_t)indices->dims[indices->rank - 1];
    f->x = *x;
    f->indices = *indices;
    f->y = *hn_ret(c, 0);
    f->n_batch = (int32_t)hn_attr_i(hn_eval_node(c), "batch_dims", 0);
    f->stride = (int64_t)hn_count(x->rank - f->n_batch, x->dims + f->n_batch);
    hn_strides(x->rank, x->dims, f->strides);
    f->run = hn_count(x->rank - f->n_batch - length, x->dims + f->n_batch + length);
    f->n_batches = hn_count(f->n_batch, indices->dims);
    f->per_batch = f->n_batches ? hn_count(indices->rank - 1, indices->dims) / f->n_batches : 0;
    return HONE_OK;
}

hone_status hn_gather_nd_run(hn_eval *c, const hn_indexed_form *f, const hn_indexed_io *io) {
    hn_array x = hn_array_at(&f->x, io->x), indices = hn_array_at(&f->indices, io->indices),
             y = hn_array_at(&f->y, io->y);
    int64_t starts[HN_TILE];
    for (uint64_t b = 0; b < f->n_batches; b++)
        for (uint64_t begin = 0; begin < f->per_batch; begin += HN_TILE) {
            uint64_t at = b * f->per_batch + begin, n = HN_MIN(f->per_batch - begin, HN_TILE);
            HN_TRY(hn_locate_tuples(io->err, &x, &indices, at, at + n, f->n_batch, f->strides,
                                    starts));
            HN_TRY(
                hn_copy_listed(c, &y, at * f->run, &x, (int64_t)b * f->stride, f->run, n, starts));
        }
    return HONE_OK;
}

static hone_status eval_gather_nd(hn_eval *c) {
    if (hn_ret(c, 0) && hn_ret(c, 0)->n_elems == 0)
        return HONE_OK;
    return hn_indexed_eval(c, hn_gather_nd_read, hn_gather_nd_run);
}
const hn_impl hn_impl_gather_nd[1] = {{.eval = eval_gather_nd, .reads_part = true}};
