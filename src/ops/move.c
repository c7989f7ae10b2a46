/* Moving elements of any type: whole bytes, strings that are copied, and elements packed into bits.
 */
#include "ops/move.h"

/* ---- single elements and runs ---------------------------------------------------------------- */

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
    } else if (hn_array_is_packed(to)) {
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
    bool is_plain = to->dtype != HN_STRING && !hn_array_is_packed(to);
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

static void move_listed_elems(uint8_t *to, const uint8_t *from, size_t bytes, uint64_t n,
                              const int64_t *starts) {
#define LISTED_LOOP(B)             \
  for (uint64_t i = 0; i < n; i++) \
    memcpy(to + i * B, from + starts[i] * B, B);
    HN_FOR_ELEM_BYTES(bytes, LISTED_LOOP)
#undef LISTED_LOOP
}

hone_status hn_move_listed(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from,
                           int64_t first, uint64_t run, uint64_t n, const int64_t *starts,
                           const hn_array *fill) {
    size_t bytes = hn_elem_bytes(to->dtype);
    bool has_gaps = false;
    for (uint64_t i = 0; i < n; i++)
        has_gaps |= starts[i] < 0;
    if (run == 1 && !has_gaps && to->dtype != HN_STRING && !hn_array_is_packed(to) && n > 0) {
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
    bool can_share = to->dtype != HN_STRING && !hn_array_is_packed(to);
    int64_t n_rows = (int64_t)hn_count(axis, to->dims), row = (int64_t)(w.n_starts * w.run);
    hn_pool_for(can_share ? hn_eval_pool(c) : NULL, n_rows, HN_MAX(1, HN_MOVE_GRAIN / row),
                pick_rows, &w);
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
