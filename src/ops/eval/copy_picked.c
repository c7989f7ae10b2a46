/* Elements picked along axes: each row of the result is made of pieces that lie together in the
 * source, or of single elements where there are no longer ones. */
#include "cpu/kernels/transpose/repeat.h"
#include "ops/eval/copy.h"

/* A copy at work. */
typedef struct pick_walk {
    const hn_pick_copy *plan;
    hn_eval *c;
    hn_array to, from;
    const hn_array *fill;
    hone_status status;
} pick_walk;

static void pick_locate(const hn_pick_copy *p, int64_t row, int64_t *index) {
    for (int32_t k = p->n_outer - 1; k >= 0; k--) {
        index[k] = row % p->dims[k];
        row /= p->dims[k];
    }
}

static void pick_advance(const hn_pick_copy *p, int64_t *index) {
    for (int32_t k = p->n_outer - 1; k >= 0 && ++index[k] == p->dims[k]; k--)
        index[k] = 0;
}

/* Where the row begins in the source; -1: nowhere. */
static int64_t pick_first(const hn_pick_copy *p, const int64_t *index) {
    int64_t first = 0;
    bool is_gap = false;
    for (int32_t k = 0; k < p->n_outer; k++) {
        int64_t at = p->picks[k] ? p->picks[k][index[k]] : index[k];
        is_gap |= at < 0;
        first += at * p->strides[k];
    }
    return is_gap ? -1 : first;
}

static void pick_plain_pieces(const pick_walk *w, uint64_t at, int64_t first, int64_t begin,
                              int64_t end) {
    const hn_pick_copy *p = w->plan;
    size_t bytes = hn_elem_bytes(p->dtype);
    uint8_t *to = (uint8_t *)w->to.data + at * bytes;
    const uint8_t *from = (const uint8_t *)w->from.data + first * (int64_t)bytes;
    for (const hn_pick_piece *q = p->pieces + begin; q < p->pieces + end; q++) {
        if (q->n == 1 && bytes == 4) { /* one move instead of a call */
            uint32_t one = 0;
            if (q->from >= 0)
                memcpy(&one, from + q->from * 4, 4);
            else if (w->fill)
                memcpy(&one, w->fill->data, 4);
            memcpy(to + q->at * 4, &one, 4);
        } else if (q->from < 0)
            hn_fill_elems(to + q->at * bytes, q->n, bytes, w->fill ? w->fill->data : NULL);
        else
            memcpy(to + q->at * bytes, from + q->from * (int64_t)bytes, (size_t)q->n * bytes);
    }
}

/* Elements begin .. end of a row in which each stands `times` times; false: not of this size. */
static bool pick_repeated(const pick_walk *w, uint64_t at, int64_t first, int64_t begin,
                          int64_t end) {
    const hn_pick_copy *p = w->plan;
    size_t bytes = hn_elem_bytes(p->dtype);
    if (!p->times || !p->is_plain || begin % p->times || end % p->times)
        return false;
    return hn_repeat_each(bytes, (end - begin) / p->times, p->times,
                          (const uint8_t *)w->from.data +
                              (first + begin / p->times) * (int64_t)bytes,
                          (uint8_t *)w->to.data + (at + (uint64_t)begin) * bytes);
}

static hone_status pick_pieces(pick_walk *w, uint64_t at, int64_t first, int64_t begin,
                               int64_t end) {
    const hn_pick_copy *p = w->plan;
    if (pick_repeated(w, at, first, begin, end))
        return HONE_OK;
    if (p->starts)
        return hn_copy_listed(w->c, &w->to, at + (uint64_t)begin, &w->from, first, 1,
                              (uint64_t)(end - begin), p->starts + begin);
    if (p->is_plain) {
        pick_plain_pieces(w, at, first, begin, end);
        return HONE_OK;
    }
    for (const hn_pick_piece *q = p->pieces + begin; q < p->pieces + end; q++) {
        if (q->from < 0)
            HN_TRY(hn_copy_fill(w->c, &w->to, at + q->at, q->n, w->fill));
        else
            HN_TRY(
                hn_copy_run(w->c, &w->to, at + q->at, &w->from, (uint64_t)(first + q->from), q->n));
    }
    return HONE_OK;
}

/* Rows row0 .. row1, and of each the pieces begin .. end. A row like the one before is a copy of
 * it, which is nearer than its source. */
static void pick_tile(void *ctx, int64_t row0, int64_t row1, int64_t begin, int64_t end) {
    pick_walk *w = ctx;
    const hn_pick_copy *p = w->plan;
    uint64_t left = p->starts ? (uint64_t)begin : p->pieces[begin].at;
    uint64_t right = p->starts ? (uint64_t)end : p->pieces[end - 1].at + p->pieces[end - 1].n;
    int64_t before = -1, index[HN_MAX_RANK];
    pick_locate(p, row0, index);
    for (int64_t row = row0; row < row1 && w->status == HONE_OK; row++, pick_advance(p, index)) {
        int64_t first = pick_first(p, index);
        uint64_t at = (uint64_t)row * p->row;
        hone_status status;
        if (first < 0)
            status = hn_copy_fill(w->c, &w->to, at + left, right - left, w->fill);
        else if (first == before && p->is_plain)
            status = hn_copy_run(w->c, &w->to, at + left, &w->to, at + left - p->row, right - left);
        else
            status = pick_pieces(w, at, first, begin, end);
        before = first;
        if (status != HONE_OK)
            w->status = status;
    }
}

/* Neighbours in the source, and neighbours that are nowhere, become one piece. Returns how many;
 * without `out` they are counted. */
static int64_t join_pieces(const int64_t *picks, int64_t n, int64_t stride, hn_pick_piece *out) {
    int64_t n_pieces = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n; end++)
            if (picks[i] < 0 ? picks[end] >= 0 : picks[end] != picks[i] + (end - i))
                break;
        if (out)
            out[n_pieces] = (hn_pick_piece){picks[i] < 0 ? -1 : picks[i] * stride,
                                            (uint64_t)(i * stride), (uint64_t)((end - i) * stride)};
        n_pieces++;
    }
    return n_pieces;
}

/* How often each element stands in a row of all of them in order; 0: not as often. */
static int64_t times_each(const int64_t *picks, int64_t n) {
    int64_t times = 1;
    while (times < n && picks[times] == picks[0])
        times++;
    for (int64_t i = 0; i < n; i++)
        if (picks[i] != i / times)
            return 0;
    return times;
}

/* Picks along the innermost axis that has some become pieces; all in order are one. */
static hone_status plan_pieces(hn_eval *c, hn_pick_copy *p, const int64_t *picks, int64_t n,
                               int64_t stride) {
    bool has_gaps = false;
    for (int64_t i = 0; i < n; i++)
        has_gaps |= picks[i] < 0;
    p->n_pieces = join_pieces(picks, n, stride, NULL);
    if (stride == 1 && !has_gaps && p->n_pieces > n / 4) {
        p->starts = picks;
        p->n_pieces = n;
        p->times = times_each(picks, n);
        return HONE_OK;
    }
    hn_pick_piece *pieces = hn_eval_scratch(c, (uint64_t)p->n_pieces * sizeof *pieces);
    HN_TRY_PTR(pieces);
    join_pieces(picks, n, stride, pieces);
    p->pieces = pieces;
    return HONE_OK;
}

hone_status hn_pick_plan(hn_eval *c, hn_pick_copy *p, const hn_array *to, const hn_array *from,
                         const int64_t *const *picks) {
    static const int64_t all[] = {0};
    int32_t axis = to->rank - 1;
    *p = (hn_pick_copy){.dtype = to->dtype, .dims = to->dims, .picks = picks};
    p->is_plain = hn_is_whole_bytes(to->dtype);
    if (to->n_elems == 0)
        return HONE_OK;
    while (axis >= 0 && !picks[axis])
        axis--;
    hn_strides(from->rank, from->dims, p->strides);
    p->n_outer = HN_MAX(axis, 0);
    p->row = hn_count(to->rank - p->n_outer, to->dims + p->n_outer);
    p->n_rows = (int64_t)hn_count(p->n_outer, to->dims);
    if (axis < 0)
        HN_TRY(plan_pieces(c, p, all, 1, (int64_t)p->row));
    else
        HN_TRY(plan_pieces(c, p, picks[axis], to->dims[axis], p->strides[axis]));
    p->piece_grain = HN_MAX(1, HN_MOVE_GRAIN / HN_MAX(1, (int64_t)p->row / p->n_pieces));
    p->row_grain = HN_MAX(1, HN_MOVE_GRAIN / (int64_t)p->row);
    return HONE_OK;
}

hone_status hn_pick_run(hn_eval *c, hn_pool *pool, const hn_pick_copy *p, void *to,
                        const void *from, const hn_array *fill) {
    pick_walk w = {.plan = p,
                   .c = c,
                   .to = {.dtype = p->dtype, .data = to},
                   .from = {.dtype = p->dtype, .data = (void *)(uintptr_t)from},
                   .fill = fill};
    if (p->n_rows == 0)
        return HONE_OK;
    if (p->n_rows <= p->row_grain && p->n_pieces <= p->piece_grain)
        pick_tile(&w, 0, p->n_rows, 0, p->n_pieces);
    else
        hn_pool_for_2d(p->is_plain ? pool : NULL, p->n_rows, p->n_pieces, p->row_grain,
                       p->piece_grain, pick_tile, &w);
    return w.status;
}

hone_status hn_copy_picked(hn_eval *c, hn_array *to, const hn_array *from,
                           const int64_t *const *picks, const hn_array *fill) {
    hn_pick_copy p;
    HN_TRY(hn_pick_plan(c, &p, to, from, picks));
    return hn_pick_run(c, hn_eval_pool(c), &p, to->data, from->data, fill);
}
