/* Boxes of elements, moved from one set of strides to another: row by row where rows lie together
 * on both sides, as matrices turned around where they do not. */
#include "cpu/kernels/transpose/transpose.h"
#include "ops/eval/copy.h"

typedef struct grid_walk {
    hn_eval *c;
    hn_array *to;
    const hn_array *from;
    int32_t rank; /* without axes of size 1, and with those merged that lie next to each other on
                     both sides; at least 1 */
    int64_t dims[HN_MAX_GRID_RANK], to_strides[HN_MAX_GRID_RANK], from_strides[HN_MAX_GRID_RANK];
    int64_t to_first, from_first;
    int64_t elem_bytes; /* 0: strings, or packed */
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

/* Where position `at` of the first n axes lies, on both sides. */
static void grid_locate(const grid_walk *w, int32_t n, int64_t at, int64_t *index, int64_t *to_at,
                        int64_t *from_at) {
    *to_at = w->to_first;
    *from_at = w->from_first;
    for (int32_t k = n - 1; k >= 0; k--) {
        index[k] = at % w->dims[k];
        at /= w->dims[k];
        *to_at += index[k] * w->to_strides[k];
        *from_at += index[k] * w->from_strides[k];
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void move_strided_elems(const grid_walk *w, uint8_t *to, const uint8_t *from) {
    int64_t n = w->dims[w->rank - 1], to_step = w->to_strides[w->rank - 1] * w->elem_bytes,
            from_step = w->from_strides[w->rank - 1] * w->elem_bytes;
#define STRIDED_LOOP(B)           \
  for (int64_t i = 0; i < n; i++) \
    memcpy(to + i * to_step, from + i * from_step, B);
    HN_FOR_ELEM_BYTES(w->elem_bytes, STRIDED_LOOP)
#undef STRIDED_LOOP
}

/* One innermost row. */
static void grid_move_row(grid_walk *w, int64_t to_at, int64_t from_at) {
    int32_t last = w->rank - 1;
    bool is_run = w->to_strides[last] == 1 && w->from_strides[last] == 1;
    if (w->elem_bytes) {
        uint8_t *to = (uint8_t *)w->to->data + to_at * w->elem_bytes;
        const uint8_t *from = (const uint8_t *)w->from->data + from_at * w->elem_bytes;
        if (is_run)
            memcpy(to, from, (size_t)(w->dims[last] * w->elem_bytes));
        else
            move_strided_elems(w, to, from);
        return;
    }
    for (int64_t i = 0; i < w->dims[last] && w->status == HONE_OK; i++)
        w->status = hn_copy_run(w->c, w->to, (uint64_t)(to_at + i * w->to_strides[last]), w->from,
                                (uint64_t)(from_at + i * w->from_strides[last]), 1);
}

static void grid_move_rows(void *ctx, int64_t begin, int64_t end) {
    grid_walk *w = ctx;
    int64_t index[HN_MAX_GRID_RANK], to_at, from_at;
    grid_locate(w, w->rank - 1, begin, index, &to_at, &from_at);
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

/* ---- one long run ---------------------------------------------------------------------------- */

static bool grid_is_run(const grid_walk *w) {
    return w->elem_bytes && w->rank == 1 && w->to_strides[0] == 1 && w->from_strides[0] == 1;
}

static void grid_move_part(void *ctx, int64_t begin, int64_t end) {
    const grid_walk *w = ctx;
    memcpy((uint8_t *)w->to->data + (w->to_first + begin) * w->elem_bytes,
           (const uint8_t *)w->from->data + (w->from_first + begin) * w->elem_bytes,
           (size_t)((end - begin) * w->elem_bytes));
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* Two axes: elements lie side by side along one in `from` and along the other in `to`. */
typedef struct grid_turn {
    grid_walk outer; /* the other axes */
    hn_transpose_job matrix;
    int64_t block_rows, block_cols;
    int64_t n_row_blocks, n_col_blocks;
} grid_turn;

static bool grid_find_turn(const grid_walk *w, int32_t *row_axis, int32_t *col_axis) {
    *row_axis = *col_axis = -1;
    for (int32_t k = 0; k < w->rank; k++) {
        if (w->to_strides[k] == 1)
            *row_axis = k;
        if (w->from_strides[k] == 1)
            *col_axis = k;
    }
    return w->elem_bytes && *row_axis >= 0 && *col_axis >= 0 && *row_axis != *col_axis;
}

static void grid_turn_blocks(void *ctx, int64_t begin, int64_t end) {
    const grid_turn *t = ctx;
    const grid_walk *w = &t->outer;
    for (int64_t at = begin; at < end; at++) {
        int64_t index[HN_MAX_GRID_RANK], to_at, from_at, rest = at / t->n_col_blocks;
        int64_t row = rest % t->n_row_blocks * t->block_rows;
        int64_t col = at % t->n_col_blocks * t->block_cols;
        hn_transpose_job block = t->matrix;
        grid_locate(w, w->rank, rest / t->n_row_blocks, index, &to_at, &from_at);
        to_at += col * block.to_row + row;
        from_at += row * block.from_row + col;
        block.rows = HN_MIN(t->block_rows, block.rows - row);
        block.cols = HN_MIN(t->block_cols, block.cols - col);
        block.from = (const uint8_t *)w->from->data + from_at * w->elem_bytes;
        block.to = (uint8_t *)w->to->data + to_at * w->elem_bytes;
        hn_transpose(&block);
    }
}

static void grid_turn_all(const grid_walk *w, int32_t row_axis, int32_t col_axis) {
    enum { MOST_COLS = 64, ROW_UNIT = 16 };
    grid_turn t = {.outer = *w};
    t.outer.rank = 0;
    for (int32_t k = 0; k < w->rank; k++)
        if (k != row_axis && k != col_axis)
            grid_add_axis(&t.outer, w->dims[k], w->to_strides[k], w->from_strides[k]);
    t.matrix = (hn_transpose_job){.elem_bytes = (size_t)w->elem_bytes,
                                  .rows = w->dims[row_axis],
                                  .cols = w->dims[col_axis],
                                  .from_row = w->from_strides[row_axis],
                                  .to_row = w->to_strides[col_axis]};
    t.block_cols = HN_MIN(t.matrix.cols, MOST_COLS);
    t.block_rows = HN_MOVE_GRAIN / t.block_cols / ROW_UNIT * ROW_UNIT;
    t.n_col_blocks = (t.matrix.cols + t.block_cols - 1) / t.block_cols;
    t.n_row_blocks = (t.matrix.rows + t.block_rows - 1) / t.block_rows;
    int64_t elems = t.block_cols * HN_MIN(t.block_rows, t.matrix.rows);
    int64_t n_outer = (int64_t)hn_count(t.outer.rank, t.outer.dims);
    hn_pool_for(hn_eval_pool(w->c), n_outer * t.n_row_blocks * t.n_col_blocks,
                HN_MAX(1, HN_MOVE_GRAIN / elems), grid_turn_blocks, &t);
}

/* ---- choosing -------------------------------------------------------------------------------- */

hone_status hn_copy_grid(hn_eval *c, int32_t rank, const int64_t *dims, hn_array *to,
                         const hn_grid *to_grid, const hn_array *from, const hn_grid *from_grid) {
    grid_walk w = {
        .c = c, .to = to, .from = from, .to_first = to_grid->first, .from_first = from_grid->first};
    int32_t row_axis, col_axis;
    bool is_plain = to->dtype != HN_STRING && !hn_array_is_packed(to);
    w.elem_bytes = is_plain ? (int64_t)hn_elem_bytes(to->dtype) : 0;
    for (int32_t k = 0; k < rank; k++) {
        if (dims[k] == 0)
            return HONE_OK;
        grid_add_axis(&w, dims[k], to_grid->strides[k], from_grid->strides[k]);
    }
    if (w.rank == 0) {
        w.rank = 1;
        w.dims[0] = w.to_strides[0] = w.from_strides[0] = 1;
    }
    if (grid_find_turn(&w, &row_axis, &col_axis)) {
        grid_turn_all(&w, row_axis, col_axis);
    } else if (grid_is_run(&w)) {
        hn_pool_for(hn_eval_pool(c), w.dims[0], HN_MOVE_GRAIN, grid_move_part, &w);
    } else {
        int64_t n_rows = (int64_t)hn_count(w.rank - 1, w.dims);
        hn_pool_for(is_plain ? hn_eval_pool(c) : NULL, n_rows,
                    HN_MAX(1, HN_MOVE_GRAIN / w.dims[w.rank - 1]), grid_move_rows, &w);
    }
    return w.status;
}

/* ---- parts of an axis ------------------------------------------------------------------------ */

static bool has_same_strides(int32_t rank, const int64_t *dims, const int64_t *a,
                             const int64_t *b) {
    for (int32_t k = 0; k < rank; k++)
        if (dims[k] != 1 && a[k] != b[k])
            return false;
    return true;
}

/* Elements at .. at+part along an axis of `wide`, and all of `narrow`. Nothing is moved where the
 * plan lets both lie in the same place. */
static hone_status move_part(hn_eval *c, hn_array *to, const hn_array *from, int32_t axis,
                             int64_t at, int64_t part, bool is_to_wide) {
    const hn_array *wide = is_to_wide ? to : from;
    hn_array narrow = is_to_wide ? *from : *to;
    int64_t box[HN_MAX_RANK], wide_strides[HN_MAX_RANK], narrow_strides[HN_MAX_RANK];
    size_t bytes = hn_elem_bytes(wide->dtype);
    memcpy(box, wide->dims, (size_t)wide->rank * sizeof *box);
    box[axis] = part;
    narrow.rank = wide->rank;
    narrow.dims = box;
    hn_array_strides(wide, wide_strides);
    hn_array_strides(&narrow, narrow_strides);
    int64_t first = at * wide_strides[axis];
    if (bytes && narrow.n_elems && narrow.data == (uint8_t *)wide->data + first * (int64_t)bytes &&
        has_same_strides(wide->rank, box, wide_strides, narrow_strides))
        return HONE_OK;
    hn_grid in_wide = {first, wide_strides}, in_narrow = {0, narrow_strides};
    return hn_copy_grid(c, wide->rank, box, to, is_to_wide ? &in_wide : &in_narrow, from,
                        is_to_wide ? &in_narrow : &in_wide);
}

hone_status hn_copy_to_axis(hn_eval *c, hn_array *to, int32_t axis, int64_t at, int64_t part,
                            const hn_array *from) {
    return move_part(c, to, from, axis, at, part, true);
}

hone_status hn_copy_from_axis(hn_eval *c, hn_array *to, const hn_array *from, int32_t axis,
                              int64_t at, int64_t part) {
    return move_part(c, to, from, axis, at, part, false);
}
