/* Inside ops/: moving elements of any type without looking at them. Both sides always have one
 * type; lack of memory (for strings) is the only way to fail. Positions are counted in elements. */
#ifndef HN_MOVE_H
#define HN_MOVE_H

#include "cpu/kernels/transpose/transpose.h"
#include "ops/eval/eval_int.h"

#define HN_MOVE_GRAIN 16384 /* elements that one thread takes at a time */

/* Elements that are not whole bytes: neighbours share them. */
static inline bool hn_array_is_packed(const hn_array *a) {
    return a->dtype != HN_STRING && hn_dtype_bits(a->dtype) < 8;
}

static inline bool hn_is_whole_bytes(hn_dtype t) {
    return t != HN_STRING && hn_dtype_bits(t) >= 8;
}

/* A copy whose size the compiler knows is one move; the sizes of elements are few. */
#define HN_FOR_ELEM_BYTES(bytes, LOOP) \
  switch (bytes) {                     \
  case 1:                              \
    LOOP(1) break;                     \
  case 2:                              \
    LOOP(2) break;                     \
  case 4:                              \
    LOOP(4) break;                     \
  case 8:                              \
    LOOP(8) break;                     \
  default:                             \
    LOOP(16) break;                    \
  }

/* Elements first .. first+n of `from` go to at .. at+n of `to`. */
hone_status hn_copy_run(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from, uint64_t first,
                        uint64_t n);
static inline hone_status hn_copy_all(hn_eval *c, hn_array *to, const hn_array *from) {
    return hn_copy_run(c, to, 0, from, 0, from->n_elems);
}
/* Element 0 of `value` n times; NULL: zeros, or empty strings. */
hone_status hn_copy_fill(hn_eval *c, hn_array *to, uint64_t at, uint64_t n, const hn_array *value);
void hn_fill_elems(uint8_t *to, uint64_t n, size_t elem_bytes, const void *value); /* whole bytes */

/* A run of `run` elements for each of n starts: first + starts[k]. */
hone_status hn_copy_listed(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from,
                           int64_t first, uint64_t run, uint64_t n, const int64_t *starts);

/* Where the elements of a box lie: (i0, i1, ...) at first + i0 * strides[0] + i1 * strides[1] + ...
 */
typedef struct hn_grid {
    int64_t first;
    const int64_t *strides;
} hn_grid;
#define HN_MAX_GRID_RANK (2 * HN_MAX_RANK)
/* All elements of a box of these dims; large ones on all threads. */
hone_status hn_copy_grid(hn_eval *c, int32_t rank, const int64_t *dims, hn_array *to,
                         const hn_grid *to_grid, const hn_array *from, const hn_grid *from_grid);

/* A box and where it lies on both sides; see hn_grid. */
typedef struct hn_box_move {
    int32_t rank;
    int64_t dims[HN_MAX_RANK], to_strides[HN_MAX_RANK], from_strides[HN_MAX_RANK];
    int64_t to_first, from_first;
} hn_box_move;
hone_status hn_copy_box(hn_eval *c, hn_array *to, const hn_array *from, const hn_box_move *m);

/* The same planned for a type of element, to be moved as often as one likes. Axes of size 1 are
 * gone, and those are merged that lie next to each other on both sides. */
typedef struct hn_grid_axis {
    int64_t dim, to_stride, from_stride;
} hn_grid_axis;
typedef struct hn_grid_copy {
    int64_t elem_bytes; /* 0: strings, or packed */
    int64_t to_first, from_first;
    int32_t n_outer;     /* axes in front of rows or matrices */
    hn_grid_axis *outer; /* the caller's, for HN_MAX_GRID_RANK of them while it is planned */
    hn_grid_axis row;
    hn_transpose_job matrix;
    int64_t block_rows, block_cols, n_row_blocks, n_col_blocks;
    int64_t n, grain; /* rows, blocks of matrices, or elements of one run; 0: there are none */
    hn_range_fn move;
} hn_grid_copy;
void hn_grid_plan(hn_grid_copy *p, hn_dtype t, int32_t rank, const int64_t *dims, const hn_grid *to,
                  const hn_grid *from);
/* Elements of whole bytes; on all threads where there are many. */
void hn_grid_run(hn_pool *pool, const hn_grid_copy *p, void *to, const void *from);

/* to[i, j, ...] = from[picks[0][i], picks[1][j], ...]; both have one rank. picks[k] has to->dims[k]
 * positions, or is NULL for all in order; where any position is negative, `fill` is taken. */
hone_status hn_copy_picked(hn_eval *c, hn_array *to, const hn_array *from,
                           const int64_t *const *picks, const hn_array *fill);

/* The same planned. n elements go to `at` of a row; from < 0: none, they are filled. */
typedef struct hn_pick_piece {
    int64_t from;
    uint64_t at, n;
} hn_pick_piece;
typedef struct hn_pick_copy {
    hn_dtype dtype;
    bool is_plain; /* whole bytes */
    const int64_t *dims;
    const int64_t *const *picks;
    int32_t n_outer;       /* axes in front of the innermost that is picked from */
    uint64_t row;          /* elements of that axis and those behind it */
    const int64_t *starts; /* of single elements; NULL: there are pieces */
    int64_t times;         /* each element stands so often, all in order; 0: otherwise */
    const hn_pick_piece *pieces;
    int64_t strides[HN_MAX_RANK];
    int64_t n_rows, n_pieces, row_grain, piece_grain;
} hn_pick_copy;
/* Dims of `to` and picks must outlive the plan. */
hone_status hn_pick_plan(hn_eval *c, hn_pick_copy *p, const hn_array *to, const hn_array *from,
                         const int64_t *const *picks);
/* c: for strings; NULL where elements are whole bytes. */
hone_status hn_pick_run(hn_eval *c, hn_pool *pool, const hn_pick_copy *p, void *to,
                        const void *from, const hn_array *fill);

/* All of `from` becomes the elements at .. at+part along an axis of `to`, and the way back. */
hone_status hn_copy_to_axis(hn_eval *c, hn_array *to, int32_t axis, int64_t at, int64_t part,
                            const hn_array *from);
hone_status hn_copy_from_axis(hn_eval *c, hn_array *to, const hn_array *from, int32_t axis,
                              int64_t at, int64_t part);
/* What those two move. True: nothing has to be moved where both lie in the same place, as the plan
 * may let them. */
bool hn_part_move(const hn_array *to, const hn_array *from, int32_t axis, int64_t at, int64_t part,
                  bool is_to_wide, hn_box_move *m);

/* ---- what operators move ---------------------------------------------------------------------- */

/* From the first argument to the first result, whose data are not looked at. */
typedef hone_status (*hn_box_move_fn)(hn_eval *c, hn_box_move *m);
hone_status hn_transpose_box(hn_eval *c, hn_box_move *m);
hone_status hn_expand_box(hn_eval *c, hn_box_move *m);
hone_status hn_slice_box(hn_eval *c, hn_box_move *m);
hone_status hn_depth_to_space_box(hn_eval *c, hn_box_move *m);
hone_status hn_space_to_depth_box(hn_eval *c, hn_box_move *m);
hone_status hn_depth_to_space_nhwc_box(hn_eval *c, hn_box_move *m);
hone_status hn_space_to_depth_nhwc_box(hn_eval *c, hn_box_move *m);
/* The axis of a Split, and how much of it each result takes. */
hone_status hn_split_parts(hn_eval *c, int32_t *axis, const int64_t **parts);

/* What is picked from the first argument: `picks` has one entry per axis, see hn_copy_picked. */
typedef hone_status (*hn_picks_fn)(hn_eval *c, const int64_t **picks);
hone_status hn_tile_picks(hn_eval *c, const int64_t **picks);
hone_status hn_pad_picks(hn_eval *c, const int64_t **picks);
hone_status hn_center_crop_pad_picks(hn_eval *c, const int64_t **picks);
/* What Pad fills with: an argument, an attribute of old versions that is put into `room`, or NULL.
 */
hone_status hn_pad_value(hn_eval *c, hn_array *room, const hn_array **out);

/* ---- what the movers read -------------------------------------------------------------------- */

/* A list of integers that is an attribute in old versions and an input in new ones; false when it
 * is neither. HN_NO_ARG: always an attribute. *out is NULL for lack of memory. */
#define HN_NO_ARG UINT32_MAX
bool hn_list_arg(hn_eval *c, const char *attr, uint32_t arg, uint32_t *n, const int64_t **out);
/* An axis of rank `rank`, from the front; fails outside [-rank, rank). */
hone_status hn_axis_of(hn_eval *c, int64_t axis, int32_t rank, int32_t *out);
/* An index into an axis, from the front; fails outside [-size, size). */
hone_status hn_fail_index(hone_error *err, int64_t index, int64_t size);
static inline hone_status hn_index_of(hone_error *err, int64_t index, int64_t size, int64_t *out) {
    if (index < -size || index >= size)
        return hn_fail_index(err, index, size);
    *out = index < 0 ? index + size : index;
    return HONE_OK;
}
/* `indices` holds tuples of indices into the axes of x behind the first n_batch: where those of
 * begin .. end point to, from the first element of their batch. */
hone_status hn_locate_tuples(hone_error *err, const hn_array *x, const hn_array *indices,
                             uint64_t begin, uint64_t end, int32_t n_batch, const int64_t *strides,
                             int64_t *starts);
/* The sizes before, at and behind an axis. */
typedef struct hn_split3 {
    int64_t outer, mid, inner;
} hn_split3;
hn_split3 hn_split_at(int32_t rank, const int64_t *dims, int32_t axis);
/* Trilu: of matrices that are not empty. */
typedef struct hn_trilu_form {
    int64_t k, rows, cols;
    uint64_t n_rows; /* of all matrices */
    bool is_upper;
} hn_trilu_form;
void hn_trilu_read(const hn_eval *c, hn_trilu_form *f);
hone_status hn_trilu_run(hn_eval *c, const hn_trilu_form *f, hn_array *y, const hn_array *x);
/* OneHot: size->mid is the depth; values are "off" and "on". */
hone_status hn_one_hot_run(hn_eval *c, const hn_split3 *size, hn_array *y, const hn_array *indices,
                           const hn_array *values);
/* The same elements seen with another shape. */
static inline hn_array hn_array_as(const hn_array *a, int32_t rank, const int64_t *dims) {
    hn_array view = *a;
    view.rank = rank;
    view.dims = dims;
    view.n_elems = hn_count(rank, dims);
    return view;
}

#endif /* HN_MOVE_H */
