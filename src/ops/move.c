/* Moving elements of any type: whole bytes, strings that are copied, and elements packed into bits.
 */
#include "ops/move.h"

#define MOVE_GRAIN 32768 /* elements that one thread takes at a time */

/* ---- single elements and runs ---------------------------------------------------------------- */

static bool is_packed(const hn_array *a) {
    return a->dtype != HN_STRING && hn_dtype_bits(a->dtype) < 8;
}

static void move_packed(hn_array *to, uint64_t at, const hn_array *from, uint64_t first) {
    int bits = hn_dtype_bits(to->dtype);
    hn_pack_int(to->data, at, bits, hn_unpack_int(from->data, first, bits, false));
}

static hone_status move_string(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from,
                               uint64_t first) {
    const hn_bytes *s = (const hn_bytes *)from->data + first;
    return hn_array_set_string(c, to, at, s->at, s->n);
}

hone_status hn_move_run(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from, uint64_t first,
                        uint64_t n) {
    size_t bytes = hn_elem_bytes(to->dtype);
    if (n == 0)
        return HONE_OK;
    if (to->dtype == HN_STRING) {
        for (uint64_t i = 0; i < n; i++)
            HN_TRY(move_string(c, to, at + i, from, first + i));
    } else if (is_packed(to)) {
        for (uint64_t i = 0; i < n; i++)
            move_packed(to, at + i, from, first + i);
    } else {
        memcpy((uint8_t *)to->data + at * bytes, (const uint8_t *)from->data + first * bytes,
               (size_t)n * bytes);
    }
    return HONE_OK;
}

hone_status hn_move_fill(hn_eval *c, hn_array *to, uint64_t at, uint64_t n, const hn_array *value) {
    size_t bytes = hn_elem_bytes(to->dtype);
    bool is_plain = to->dtype != HN_STRING && !is_packed(to);
    if (is_plain && !value && n > 0) {
        memset((uint8_t *)to->data + at * bytes, 0, (size_t)n * bytes);
        return HONE_OK;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (value)
            HN_TRY(hn_move_run(c, to, at + i, value, 0, 1));
        else if (to->dtype == HN_STRING)
            HN_TRY(hn_array_set_string(c, to, at + i, NULL, 0));
        else
            hn_pack_int(to->data, at + i, hn_dtype_bits(to->dtype), 0);
    }
    return HONE_OK;
}

/* A copy whose size the compiler knows is one move; the sizes of elements are few. */
#define FOR_ELEM_BYTES(bytes, LOOP) \
  switch (bytes) {                  \
  case 1:                           \
    LOOP(1) break;                  \
  case 2:                           \
    LOOP(2) break;                  \
  case 4:                           \
    LOOP(4) break;                  \
  case 8:                           \
    LOOP(8) break;                  \
  default:                          \
    LOOP(16) break;                 \
  }

static void move_listed_elems(uint8_t *to, const uint8_t *from, size_t bytes, uint64_t n,
                              const int64_t *starts) {
#define LISTED_LOOP(B)             \
  for (uint64_t i = 0; i < n; i++) \
    memcpy(to + i * B, from + starts[i] * B, B);
    FOR_ELEM_BYTES(bytes, LISTED_LOOP)
#undef LISTED_LOOP
}

hone_status hn_move_listed(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from,
                           int64_t first, uint64_t run, uint64_t n, const int64_t *starts,
                           const hn_array *fill) {
    size_t bytes = hn_elem_bytes(to->dtype);
    bool has_gaps = false;
    for (uint64_t i = 0; i < n; i++)
        has_gaps |= starts[i] < 0;
    if (run == 1 && !has_gaps && to->dtype != HN_STRING && !is_packed(to) && n > 0) {
        move_listed_elems((uint8_t *)to->data + at * bytes,
                          (const uint8_t *)from->data + first * (int64_t)bytes, bytes, n, starts);
        return HONE_OK;
    }
    for (uint64_t i = 0; i < n; i++, at += run) {
        if (starts[i] < 0)
            HN_TRY(hn_move_fill(c, to, at, run, fill));
        else
            HN_TRY(hn_move_run(c, to, at, from, (uint64_t)(first + starts[i]), run));
    }
    return HONE_OK;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

typedef struct grid_walk {
    hn_eval *c;
    hn_array *to;
    const hn_array *from;
    int32_t rank; /* without axes of size 1, and with those merged that lie next to each other on
                     both sides; at least 1 */
    int64_t dims[HN_MAX_GRID_RANK], to_strides[HN_MAX_GRID_RANK], from_strides[HN_MAX_GRID_RANK];
    int64_t to_first, from_first;
    hone_status status; /* of string copies, which one thread makes */
} grid_walk;

static void grid_add_axis(grid_walk *w, int64_t dim, int64_t to_stride, int64_t from_stride) {
    int32_t last = w->rank - 1;
    if (dim == 1)
        return;
    if (last >= 0 && w->to_strides[last] == to_stride * dim &&
        w->from_strides[last] == from_stride * dim) {
        w->dims[last] *= dim;
    } else {
        last = w->rank++;
        w->dims[last] = dim;
    }
    w->to_strides[last] = to_stride;
    w->from_strides[last] = from_stride;
}

static void move_strided_elems(const grid_walk *w, int64_t to_at, int64_t from_at) {
    int64_t bytes = (int64_t)hn_elem_bytes(w->to->dtype), n = w->dims[w->rank - 1];
    int64_t to_step = w->to_strides[w->rank - 1] * bytes,
            from_step = w->from_strides[w->rank - 1] * bytes;
    uint8_t *to = (uint8_t *)w->to->data + to_at * bytes;
    const uint8_t *from = (const uint8_t *)w->from->data + from_at * bytes;
#define STRIDED_LOOP(B)           \
  for (int64_t i = 0; i < n; i++) \
    memcpy(to + i * to_step, from + i * from_step, B);
    FOR_ELEM_BYTES(bytes, STRIDED_LOOP)
#undef STRIDED_LOOP
}

/* One innermost row. */
static void grid_move_row(grid_walk *w, int64_t to_at, int64_t from_at) {
    int32_t last = w->rank - 1;
    bool is_plain = w->to->dtype != HN_STRING && !is_packed(w->to);
    if (w->to_strides[last] == 1 && w->from_strides[last] == 1) {
        hone_status status = hn_move_run(w->c, w->to, (uint64_t)to_at, w->from, (uint64_t)from_at,
                                         (uint64_t)w->dims[last]);
        if (status != HONE_OK)
            w->status = status;
        return;
    }
    if (is_plain) {
        move_strided_elems(w, to_at, from_at);
        return;
    }
    for (int64_t i = 0; i < w->dims[last] && w->status == HONE_OK; i++)
        w->status = hn_move_run(w->c, w->to, (uint64_t)(to_at + i * w->to_strides[last]), w->from,
                                (uint64_t)(from_at + i * w->from_strides[last]), 1);
}

static void grid_move_rows(void *ctx, int64_t begin, int64_t end) {
    grid_walk *w = ctx;
    int64_t index[HN_MAX_GRID_RANK], to_at = w->to_first, from_at = w->from_first, rest = begin;
    for (int32_t k = w->rank - 2; k >= 0; k--) {
        index[k] = rest % w->dims[k];
        rest /= w->dims[k];
        to_at += index[k] * w->to_strides[k];
        from_at += index[k] * w->from_strides[k];
    }
    for (int64_t row = begin; row < end; row++) {
        grid_move_row(w, to_at, from_at);
        for (int32_t k = w->rank - 2; k >= 0; k--) {
            to_at += w->to_strides[k];
            from_at += w->from_strides[k];
            if (++index[k] < w->dims[k])
                break;
            index[k] = 0;
            to_at -= w->dims[k] * w->to_strides[k];
            from_at -= w->dims[k] * w->from_strides[k];
        }
    }
}

hone_status hn_move_grid(hn_eval *c, int32_t rank, const int64_t *dims, hn_array *to,
                         const hn_grid *to_grid, const hn_array *from, const hn_grid *from_grid) {
    grid_walk w = {
        .c = c, .to = to, .from = from, .to_first = to_grid->first, .from_first = from_grid->first};
    for (int32_t k = 0; k < rank; k++) {
        if (dims[k] == 0)
            return HONE_OK;
        grid_add_axis(&w, dims[k], to_grid->strides[k], from_grid->strides[k]);
    }
    if (w.rank == 0) {
        w.rank = 1;
        w.dims[0] = w.to_strides[0] = w.from_strides[0] = 1;
    }
    int64_t row = w.dims[w.rank - 1], n_rows = (int64_t)hn_count(w.rank - 1, w.dims);
    bool can_share = to->dtype != HN_STRING && !is_packed(to); /* packed neighbours share bytes */
    hn_pool_for(can_share ? hn_eval_pool(c) : NULL, n_rows, HN_MAX(1, MOVE_GRAIN / row),
                grid_move_rows, &w);
    return w.status;
}

hone_status hn_move_to_axis(hn_eval *c, hn_array *to, int32_t axis, int64_t at, int64_t part,
                            const hn_array *from) {
    hn_split3 s = hn_split_at(to->rank, to->dims, axis);
    int64_t box[2] = {s.outer, part * s.inner}, wide[2] = {s.mid * s.inner, 1},
            narrow[2] = {part * s.inner, 1};
    size_t bytes = hn_elem_bytes(to->dtype);
    bool is_there = s.outer == 1 && bytes && from->n_elems &&
                    from->data == (uint8_t *)to->data + (uint64_t)(at * s.inner) * bytes;
    if (is_there) /* planned so */
        return HONE_OK;
    return hn_move_grid(c, 2, box, to, &(hn_grid){at * s.inner, wide}, from, &(hn_grid){0, narrow});
}

hone_status hn_move_from_axis(hn_eval *c, hn_array *to, const hn_array *from, int32_t axis,
                              int64_t at, int64_t part) {
    hn_split3 s = hn_split_at(from->rank, from->dims, axis);
    int64_t box[2] = {s.outer, part * s.inner}, wide[2] = {s.mid * s.inner, 1},
            narrow[2] = {part * s.inner, 1};
    return hn_move_grid(c, 2, box, to, &(hn_grid){0, narrow}, from, &(hn_grid){at * s.inner, wide});
}

/* ---- picks ----------------------------------------------------------------------------------- */

typedef struct pick_walk {
    hn_eval *c;
    hn_array *to;
    const hn_array *from;
    const hn_array *fill;
    const int64_t *const *picks;
    int32_t n_outer;        /* axes in front of the innermost that is picked from */
    uint64_t n_starts, run; /* that axis, and the elements behind it */
    const int64_t *starts;  /* in elements */
    int64_t strides[HN_MAX_RANK];
    hone_status status;
} pick_walk;

static void pick_rows(void *ctx, int64_t begin, int64_t end) {
    pick_walk *w = ctx;
    for (int64_t row = begin; row < end && w->status == HONE_OK; row++) {
        int64_t first = 0, rest = row;
        bool is_gap = false;
        for (int32_t k = w->n_outer - 1; k >= 0; k--) {
            int64_t i = rest % w->to->dims[k], at = w->picks[k] ? w->picks[k][i] : i;
            rest /= w->to->dims[k];
            is_gap |= at < 0;
            first += at * w->strides[k];
        }
        uint64_t n = w->n_starts * w->run, at = (uint64_t)row * n;
        hone_status status = is_gap ? hn_move_fill(w->c, w->to, at, n, w->fill)
                                    : hn_move_listed(w->c, w->to, at, w->from, first, w->run,
                                                     w->n_starts, w->starts, w->fill);
        if (status != HONE_OK)
            w->status = status;
    }
}

hone_status hn_move_picked(hn_eval *c, hn_array *to, const hn_array *from,
                           const int64_t *const *picks, const hn_array *fill) {
    pick_walk w = {.c = c, .to = to, .from = from, .fill = fill, .picks = picks};
    int32_t axis = to->rank - 1;
    if (to->n_elems == 0)
        return HONE_OK;
    while (axis >= 0 && !picks[axis])
        axis--;
    if (axis < 0)
        return hn_move_all(c, to, from);
    hn_strides(from->rank, from->dims, w.strides);
    w.n_outer = axis;
    w.n_starts = (uint64_t)to->dims[axis];
    w.run = hn_count(to->rank - 1 - axis, to->dims + axis + 1);
    int64_t *starts = hn_eval_scratch(c, w.n_starts * sizeof *starts);
    HN_TRY_PTR(starts);
    for (uint64_t i = 0; i < w.n_starts; i++)
        starts[i] = picks[axis][i] < 0 ? -1 : picks[axis][i] * w.strides[axis];
    w.starts = starts;
    bool can_share = to->dtype != HN_STRING && !is_packed(to);
    int64_t n_rows = (int64_t)hn_count(axis, to->dims), row = (int64_t)(w.n_starts * w.run);
    hn_pool_for(can_share ? hn_eval_pool(c) : NULL, n_rows, HN_MAX(1, MOVE_GRAIN / row), pick_rows,
                &w);
    return w.status;
}

/* ---- what the movers read -------------------------------------------------------------------- */

bool hn_list_arg(hn_eval *c, const char *attr, uint32_t arg, uint32_t *n, const int64_t **out) {
    const hn_array *a = arg == HN_NO_ARG ? NULL : hn_arg(c, arg);
    if (!a)
        return hn_attr_ints(hn_eval_node(c), attr, n, out);
    int64_t *list =
        a->n_elems < UINT32_MAX ? hn_eval_scratch(c, (a->n_elems + 1) * sizeof *list) : NULL;
    *n = list ? (uint32_t)a->n_elems : 0;
    *out = list;
    if (list)
        hn_load_i64(a, 0, *n, list);
    return true;
}

hone_status hn_axis_of(hn_eval *c, int64_t axis, int32_t rank, int32_t *out) {
    if (axis < -rank || axis >= rank)
        return hn_eval_fail(c, HONE_E_SHAPE, "axis is %lld, but must lie in [%d, %d)",
                            (long long)axis, -rank, rank);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return HONE_OK;
}

hone_status hn_index_of(hn_eval *c, int64_t index, int64_t size, int64_t *out) {
    if (index < -size || index >= size)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "index %lld is out of range for an axis of %lld elements",
                            (long long)index, (long long)size);
    *out = index < 0 ? index + size : index;
    return HONE_OK;
}

hn_split3 hn_split_at(int32_t rank, const int64_t *dims, int32_t axis) {
    return (hn_split3){(int64_t)hn_count(axis, dims), dims[axis],
                       (int64_t)hn_count(rank - axis - 1, dims + axis + 1)};
}
