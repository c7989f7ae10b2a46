/* Boxes of elements, moved from one set of strides to another: row by row where rows lie together
 * on both sides, as matrices turned around where they do not. Planned first, so that the same box
 * can be moved again and again. */
#include "ops/eval/copy.h"

static void grid_add_axis(int32_t *rank, hn_grid_axis *axes, hn_grid_axis next) {
    hn_grid_axis *last = *rank > 0 ? &axes[*rank - 1] : NULL;
    if (next.dim == 1)
        return;
    if (last && last->to_stride == next.to_stride * next.dim &&
        last->from_stride == next.from_stride * next.dim)
        next.dim *= last->dim;
    else
        last = &axes[(*rank)++];
    *last = next;
}

/* A box that is being moved. */
typedef struct grid_run {
    const hn_grid_copy *plan;
    uint8_t *to; /* of the first element */
    const uint8_t *from;
} grid_run;

/* Where position `at` of the outer axes lies, on both sides. */
static void grid_locate(const hn_grid_copy *p, int64_t at, int64_t *index, int64_t *to_at,
                        int64_t *from_at) {
    *to_at = *from_at = 0;
    for (int32_t k = p->n_outer - 1; k >= 0; k--) {
        const hn_grid_axis *axis = &p->outer[k];
        index[k] = at % axis->dim;
        at /= axis->dim;
        *to_at += index[k] * axis->to_stride;
        *from_at += index[k] * axis->from_stride;
    }
}

/* The next position of the outer axes. */
static void grid_advance(const hn_grid_copy *p, int64_t *index, int64_t *to_at, int64_t *from_at) {
    for (int32_t k = p->n_outer - 1; k >= 0; k--) {
        const hn_grid_axis *axis = &p->outer[k];
        *to_at += axis->to_stride;
        *from_at += axis->from_stride;
        if (++index[k] < axis->dim)
            return;
        index[k] = 0;
        *to_at -= axis->dim * axis->to_stride;
        *from_at -= axis->dim * axis->from_stride;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void move_strided_elems(const hn_grid_copy *p, int64_t n, uint8_t *to, const uint8_t *from) {
    if (p->row.to_stride == 1 && p->row.from_stride == 0) {
        hn_fill_elems(to, (uint64_t)n, (size_t)p->elem_bytes, from);
        return;
    }
    int64_t to_step = p->row.to_stride * p->elem_bytes,
            from_step = p->row.from_stride * p->elem_bytes;
#define STRIDED_LOOP(B)           \
  for (int64_t i = 0; i < n; i++) \
    memcpy(to + i * to_step, from + i * from_step, B);
    HN_FOR_ELEM_BYTES(p->elem_bytes, STRIDED_LOOP)
#undef STRIDED_LOOP
}

static bool grid_row_is_run(const hn_grid_copy *p) {
    return p->elem_bytes && p->row.to_stride == 1 && p->row.from_stride == 1;
}

/* Rows of the size of some element, or two, along one axis. False: they are longer, or lie along
 * several. */
static bool move_short_rows(const grid_run *r, size_t run_bytes, int64_t begin, int64_t end) {
    const hn_grid_copy *p = r->plan;
    if (p->n_outer != 1 || run_bytes == 0 || run_bytes > 16)
        return false;
    int64_t to_step = p->outer[0].to_stride * p->elem_bytes,
            from_step = p->outer[0].from_stride * p->elem_bytes, n = end - begin;
    uint8_t *to = r->to + begin * to_step;
    const uint8_t *from = r->from + begin * from_step;
#define SHORT_ROWS(B)             \
  for (int64_t i = 0; i < n; i++) \
    memcpy(to + i * to_step, from + i * from_step, B);
    if (run_bytes == 12) {
        SHORT_ROWS(12)
    } else if (run_bytes & (run_bytes - 1)) {
        return false;
    } else {
        HN_FOR_ELEM_BYTES(run_bytes, SHORT_ROWS)
    }
#undef SHORT_ROWS
    return true;
}

static void grid_move_rows(void *ctx, int64_t begin, int64_t end) {
    const grid_run *r = ctx;
    const hn_grid_copy *p = r->plan;
    int64_t index[HN_MAX_GRID_RANK], to_at, from_at;
    size_t run_bytes = grid_row_is_run(p) ? (size_t)(p->row.dim * p->elem_bytes) : 0;
    if (move_short_rows(r, run_bytes, begin, end))
        return;
    grid_locate(p, begin, index, &to_at, &from_at);
    for (int64_t row = begin; row < end; row++) {
        uint8_t *to = r->to + to_at * p->elem_bytes;
        const uint8_t *from = r->from + from_at * p->elem_bytes;
        if (run_bytes)
            memcpy(to, from, run_bytes);
        else
            move_strided_elems(p, p->row.dim, to, from);
        grid_advance(p, index, &to_at, &from_at);
    }
}

/* One long row, of which begin .. end are elements. */
static void grid_move_part(void *ctx, int64_t begin, int64_t end) {
    const grid_run *r = ctx;
    const hn_grid_copy *p = r->plan;
    int64_t bytes = p->elem_bytes, n = end - begin;
    uint8_t *to = r->to + begin * p->row.to_stride * bytes;
    const uint8_t *from = r->from + begin * p->row.from_stride * bytes;
    if (grid_row_is_run(p))
        memcpy(to, from, (size_t)(n * bytes));
    else
        move_strided_elems(p, n, to, from);
}

static void grid_plan_rows(hn_grid_copy *p) {
    p->row = (hn_grid_axis){1, 1, 1};
    if (p->n_outer > 0)
        p->row = p->outer[--p->n_outer];
    p->n = (int64_t)p->row.dim;
    p->grain = HN_MOVE_GRAIN;
    p->move = grid_move_part;
    if (p->n_outer == 0 && p->elem_bytes)
        return;
    p->n = 1;
    for (int32_t k = 0; k < p->n_outer; k++)
        p->n *= p->outer[k].dim;
    p->grain = HN_MAX(1, HN_MOVE_GRAIN / p->row.dim);
    p->move = grid_move_rows;
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* Two axes: elements lie side by side along one in `from` and along the other in `to`. */
static bool grid_find_turn(const hn_grid_copy *p, int32_t *row_axis, int32_t *col_axis) {
    *row_axis = *col_axis = -1;
    for (int32_t k = 0; k < p->n_outer; k++) {
        if (p->outer[k].to_stride == 1 && p->outer[k].from_stride != 0) /* 0: rows of one element */
            *row_axis = k;
        if (p->outer[k].from_stride == 1)
            *col_axis = k;
    }
    return p->elem_bytes && *row_axis >= 0 && *col_axis >= 0 && *row_axis != *col_axis;
}

static void grid_turn_blocks(void *ctx, int64_t begin, int64_t end) {
    const grid_run *r = ctx;
    const hn_grid_copy *p = r->plan;
    for (int64_t at = begin; at < end; at++) {
        int64_t index[HN_MAX_GRID_RANK], to_at, from_at, rest = at / p->n_col_blocks;
        int64_t row = rest % p->n_row_blocks * p->block_rows;
        int64_t col = at % p->n_col_blocks * p->block_cols;
        hn_transpose_job block = p->matrix;
        grid_locate(p, rest / p->n_row_blocks, index, &to_at, &from_at);
        to_at += col * block.to_row + row;
        from_at += row * block.from_row + col;
        block.rows = HN_MIN(p->block_rows, block.rows - row);
        block.cols = HN_MIN(p->block_cols, block.cols - col);
        block.from = r->from + from_at * p->elem_bytes;
        block.to = r->to + to_at * p->elem_bytes;
        hn_transpose(&block);
    }
}

static void grid_plan_turn(hn_grid_copy *p, int32_t row_axis, int32_t col_axis) {
    enum { MOST_COLS = 64, ROW_UNIT = 16 };
    hn_grid_axis row = p->outer[row_axis], col = p->outer[col_axis];
    int32_t n_axes = p->n_outer;
    p->n_outer = 0;
    p->n = 1;
    for (int32_t k = 0; k < n_axes; k++) {
        if (k == row_axis || k == col_axis)
            continue;
        p->n *= p->outer[k].dim;
        grid_add_axis(&p->n_outer, p->outer, p->outer[k]);
    }
    p->matrix = (hn_transpose_job){.elem_bytes = (size_t)p->elem_bytes,
                                   .rows = row.dim,
                                   .cols = col.dim,
                                   .from_row = row.from_stride,
                                   .to_row = col.to_stride};
    p->block_cols = HN_MIN(col.dim, MOST_COLS);
    p->block_rows = HN_MOVE_GRAIN / p->block_cols / ROW_UNIT * ROW_UNIT;
    p->n_col_blocks = (col.dim + p->block_cols - 1) / p->block_cols;
    p->n_row_blocks = (row.dim + p->block_rows - 1) / p->block_rows;
    p->n *= p->n_row_blocks * p->n_col_blocks;
    p->grain = HN_MAX(1, HN_MOVE_GRAIN / (p->block_cols * HN_MIN(p->block_rows, row.dim)));
    p->move = grid_turn_blocks;
}

/* ---- planning and moving --------------------------------------------------------------------- */

void hn_grid_plan(hn_grid_copy *p, hn_dtype t, int32_t rank, const int64_t *dims, const hn_grid *to,
                  const hn_grid *from) {
    hn_grid_axis *axes = p->outer;
    int32_t row_axis, col_axis;
    *p = (hn_grid_copy){.outer = axes,
                        .elem_bytes = hn_is_whole_bytes(t) ? (int64_t)hn_elem_bytes(t) : 0,
                        .to_first = to->first,
                        .from_first = from->first};
    for (int32_t k = 0; k < rank; k++) {
        if (dims[k] == 0)
            return;
        grid_add_axis(&p->n_outer, axes, (hn_grid_axis){dims[k], to->strides[k], from->strides[k]});
    }
    if (grid_find_turn(p, &row_axis, &col_axis))
        grid_plan_turn(p, row_axis, col_axis);
    else
        grid_plan_rows(p);
}

void hn_grid_run(hn_pool *pool, const hn_grid_copy *p, void *to, const void *from) {
    grid_run r = {p, to, from};
    if (p->n == 0)
        return;
    r.to += p->to_first * p->elem_bytes;
    r.from += p->from_first * p->elem_bytes;
    if (p->n <= p->grain)
        p->move(&r, 0, p->n);
    else
        hn_pool_for(pool, p->n, p->grain, p->move, &r);
}

/* Strings, and elements that share bytes: one by one. */
static hone_status grid_move_each(hn_eval *c, const hn_grid_copy *p, hn_array *to,
                                  const hn_array *from) {
    int64_t index[HN_MAX_GRID_RANK], to_at, from_at;
    if (p->n > 0)
        grid_locate(p, 0, index, &to_at, &from_at);
    for (int64_t row = 0; row < p->n; row++) {
        for (int64_t i = 0; i < p->row.dim; i++)
            HN_TRY(hn_copy_run(c, to, (uint64_t)(p->to_first + to_at + i * p->row.to_stride), from,
                               (uint64_t)(p->from_first + from_at + i * p->row.from_stride), 1));
        grid_advance(p, index, &to_at, &from_at);
    }
    return HONE_OK;
}

hone_status hn_copy_grid(hn_eval *c, int32_t rank, const int64_t *dims, hn_array *to,
                         const hn_grid *to_grid, const hn_array *from, const hn_grid *from_grid) {
    hn_grid_axis axes[HN_MAX_GRID_RANK];
    hn_grid_copy p = {.outer = axes};
    hn_grid_plan(&p, to->dtype, rank, dims, to_grid, from_grid);
    if (!p.elem_bytes)
        return grid_move_each(c, &p, to, from);
    if (hn_spent(64)) /* long ones look themselves */
        return HONE_E_CANCELLED;
    hn_grid_run(hn_eval_pool(c), &p, to->data, from->data);
    return HONE_OK;
}

hone_status hn_copy_box(hn_eval *c, hn_array *to, const hn_array *from, const hn_box_move *m) {
    return hn_copy_grid(c, m->rank, m->dims, to, &(hn_grid){m->to_first, m->to_strides}, from,
                        &(hn_grid){m->from_first, m->from_strides});
}

/* ---- parts of an axis ------------------------------------------------------------------------ */

static bool has_same_strides(const hn_box_move *m) {
    for (int32_t k = 0; k < m->rank; k++)
        if (m->dims[k] != 1 && m->to_strides[k] != m->from_strides[k])
            return false;
    return true;
}

bool hn_part_move(const hn_array *to, const hn_array *from, int32_t axis, int64_t at, int64_t part,
                  bool is_to_wide, hn_box_move *m) {
    const hn_array *wide = is_to_wide ? to : from;
    hn_array narrow = is_to_wide ? *from : *to;
    m->rank = wide->rank;
    memcpy(m->dims, wide->dims, (size_t)wide->rank * sizeof *m->dims);
    m->dims[axis] = part;
    narrow.rank = wide->rank;
    narrow.dims = m->dims;
    hn_array_strides(wide, is_to_wide ? m->to_strides : m->from_strides);
    hn_array_strides(&narrow, is_to_wide ? m->from_strides : m->to_strides);
    m->to_first = is_to_wide ? at * m->to_strides[axis] : 0;
    m->from_first = is_to_wide ? 0 : at * m->from_strides[axis];
    return hn_is_whole_bytes(to->dtype) && narrow.n_elems && has_same_strides(m);
}

static hone_status move_part(hn_eval *c, hn_array *to, const hn_array *from, int32_t axis,
                             int64_t at, int64_t part, bool is_to_wide) {
    hn_box_move m;
    bool may_be_there = hn_part_move(to, from, axis, at, part, is_to_wide, &m);
    int64_t bytes = (int64_t)hn_elem_bytes(to->dtype);
    if (may_be_there && (const uint8_t *)to->data + m.to_first * bytes ==
                            (const uint8_t *)from->data + m.from_first * bytes)
        return HONE_OK;
    return hn_copy_box(c, to, from, &m);
}

hone_status hn_copy_to_axis(hn_eval *c, hn_array *to, int32_t axis, int64_t at, int64_t part,
                            const hn_array *from) {
    return move_part(c, to, from, axis, at, part, true);
}

hone_status hn_copy_from_axis(hn_eval *c, hn_array *to, const hn_array *from, int32_t axis,
                              int64_t at, int64_t part) {
    return move_part(c, to, from, axis, at, part, false);
}
