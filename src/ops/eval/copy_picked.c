/* Elements picked along axes: each row of the result is made of pieces that lie together in the
 * source, or of single elements where there are no longer ones. */
#include "ops/eval/copy.h"

/* n elements that go to `at` of a row; from < 0: none, they are filled. */
typedef struct pick_piece {
    int64_t from;
    uint64_t at, n;
} pick_piece;

typedef struct pick_walk {
    hn_eval *c;
    hn_array *to;
    const hn_array *from;
    const hn_array *fill;
    const int64_t *const *picks;
    int32_t n_outer;       /* axes in front of the innermost that is picked from */
    uint64_t row;          /* elements of that axis and those behind it */
    const int64_t *starts; /* of single elements; NULL: there are pieces */
    const pick_piece *pieces;
    int64_t strides[HN_MAX_RANK];
    bool is_plain; /* whole bytes */
    hone_status status;
} pick_walk;

/* Where the row begins in the source; -1: nowhere. */
static int64_t pick_first(const pick_walk *w, int64_t row) {
    int64_t first = 0;
    bool is_gap = false;
    for (int32_t k = w->n_outer - 1; k >= 0; k--) {
        int64_t i = row % w->to->dims[k], at = w->picks[k] ? w->picks[k][i] : i;
        row /= w->to->dims[k];
        is_gap |= at < 0;
        first += at * w->strides[k];
    }
    return is_gap ? -1 : first;
}

static hone_status pick_pieces(const pick_walk *w, uint64_t at, int64_t first, int64_t begin,
                               int64_t end) {
    if (w->starts)
        return hn_copy_listed(w->c, w->to, at + (uint64_t)begin, w->from, first, 1,
                              (uint64_t)(end - begin), w->starts + begin);
    for (const pick_piece *p = w->pieces + begin; p < w->pieces + end; p++) {
        if (p->from < 0)
            HN_TRY(hn_copy_fill(w->c, w->to, at + p->at, p->n, w->fill));
        else
            HN_TRY(
                hn_copy_run(w->c, w->to, at + p->at, w->from, (uint64_t)(first + p->from), p->n));
    }
    return HONE_OK;
}

/* Rows row0 .. row1, and of each the pieces begin .. end. A row like the one before is a copy of
 * it, which is nearer than its source. */
static void pick_tile(void *ctx, int64_t row0, int64_t row1, int64_t begin, int64_t end) {
    pick_walk *w = ctx;
    uint64_t left = w->starts ? (uint64_t)begin : w->pieces[begin].at;
    uint64_t right = w->starts ? (uint64_t)end : w->pieces[end - 1].at + w->pieces[end - 1].n;
    int64_t before = -1;
    for (int64_t row = row0; row < row1 && w->status == HONE_OK; row++) {
        int64_t first = pick_first(w, row);
        uint64_t at = (uint64_t)row * w->row;
        hone_status status;
        if (first < 0)
            status = hn_copy_fill(w->c, w->to, at + left, right - left, w->fill);
        else if (first == before && w->is_plain)
            status = hn_copy_run(w->c, w->to, at + left, w->to, at + left - w->row, right - left);
        else
            status = pick_pieces(w, at, first, begin, end);
        before = first;
        if (status != HONE_OK)
            w->status = status;
    }
}

/* Neighbours in the source, and neighbours that are nowhere, become one piece. */
static int64_t join_pieces(const int64_t *picks, int64_t n, int64_t stride, pick_piece *out) {
    int64_t n_pieces = 0;
    for (int64_t i = 0; i < n; i++) {
        pick_piece *last = n_pieces > 0 ? &out[n_pieces - 1] : NULL;
        int64_t from = picks[i] < 0 ? -1 : picks[i] * stride;
        bool joins = last && (from < 0 ? last->from < 0
                                       : last->from >= 0 && last->from + (int64_t)last->n == from);
        if (joins)
            last->n += (uint64_t)stride;
        else
            out[n_pieces++] = (pick_piece){from, (uint64_t)(i * stride), (uint64_t)stride};
    }
    return n_pieces;
}

hone_status hn_copy_picked(hn_eval *c, hn_array *to, const hn_array *from,
                           const int64_t *const *picks, const hn_array *fill) {
    pick_walk w = {.c = c, .to = to, .from = from, .fill = fill, .picks = picks};
    int32_t axis = to->rank - 1;
    if (to->n_elems == 0)
        return HONE_OK;
    while (axis >= 0 && !picks[axis])
        axis--;
    if (axis < 0)
        return hn_copy_all(c, to, from);
    hn_strides(from->rank, from->dims, w.strides);
    w.n_outer = axis;
    w.row = hn_count(to->rank - axis, to->dims + axis);
    w.is_plain = to->dtype != HN_STRING && !hn_array_is_packed(to);
    int64_t n = to->dims[axis], n_rows = (int64_t)hn_count(axis, to->dims);
    pick_piece *pieces = hn_eval_scratch(c, (uint64_t)n * sizeof *pieces);
    HN_TRY_PTR(pieces);
    int64_t n_pieces = join_pieces(picks[axis], n, w.strides[axis], pieces);
    bool has_gaps = false;
    for (int64_t i = 0; i < n_pieces; i++)
        has_gaps |= pieces[i].from < 0;
    w.pieces = pieces;
    if (w.strides[axis] == 1 && !has_gaps && n_pieces > n / 4) {
        w.starts = picks[axis];
        n_pieces = n;
    }
    int64_t per_piece = HN_MAX(1, (int64_t)w.row / n_pieces);
    int64_t piece_grain = HN_MAX(1, HN_MOVE_GRAIN / per_piece);
    int64_t row_grain = HN_MAX(1, HN_MOVE_GRAIN / (int64_t)w.row);
    hn_pool_for_2d(w.is_plain ? hn_eval_pool(c) : NULL, n_rows, n_pieces, row_grain, piece_grain,
                   pick_tile, &w);
    return w.status;
}
