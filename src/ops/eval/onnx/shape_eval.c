/* Evaluation of operators that give their input another shape or order. */
#include "ops/eval/copy.h"

/* Reshape, Flatten, Squeeze, Unsqueeze, ExpandDims: the elements stay in order. */
static hone_status eval_reshape(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (y && y->n_elems != x->n_elems)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "the input has %llu elements, but the new shape has %llu",
                            (unsigned long long)x->n_elems, (unsigned long long)y->n_elems);
    return y ? hn_copy_all(c, y, x) : HONE_OK;
}
const hn_impl hn_impl_reshape[1] = {{.eval = eval_reshape, .memory = HN_MEMORY_ALIAS}};

/* x, seen with these dims, with axis k of the result taken from axis perm[k]. */
static void move_permuted(hn_box_move *m, int32_t rank, const int64_t *dims, const int64_t *perm) {
    int64_t from[HN_MAX_RANK];
    hn_strides(rank, dims, from);
    for (int32_t k = 0; k < rank; k++) {
        m->from_strides[k] = from[perm[k]];
        m->dims[k] = dims[perm[k]];
    }
    hn_strides(rank, m->dims, m->to_strides);
    m->rank = rank;
    m->to_first = m->from_first = 0;
}

/* Moves the first argument into the first result. */
static hone_status eval_box(hn_eval *c, hn_box_move_fn find) {
    hn_array *y = hn_ret(c, 0);
    hn_box_move m;
    if (!y)
        return HONE_OK;
    HN_TRY(find(c, &m));
    return hn_copy_box(c, y, hn_arg(c, 0), &m);
}

hone_status hn_transpose_box(hn_eval *c, hn_box_move *m) {
    const hn_array *x = hn_arg(c, 0);
    const int64_t *perm;
    int64_t reversed[HN_MAX_RANK];
    uint32_t n;
    for (int32_t k = 0; k < x->rank; k++)
        reversed[k] = x->rank - 1 - k;
    bool has_perm = hn_attr_ints(hn_eval_node(c), "perm", &n, &perm);
    move_permuted(m, x->rank, x->dims, has_perm ? perm : reversed);
    return HONE_OK;
}

static hone_status eval_transpose(hn_eval *c) {
    return eval_box(c, hn_transpose_box);
}
const hn_impl hn_impl_transpose[1] = {{.eval = eval_transpose}};

hone_status hn_expand_box(hn_eval *c, hn_box_move *m) {
    const hn_array *y = hn_ret(c, 0);
    m->rank = y->rank;
    m->to_first = m->from_first = 0;
    if (y->rank > 0)
        memcpy(m->dims, y->dims, (size_t)y->rank * sizeof *m->dims);
    hn_strides(y->rank, y->dims, m->to_strides);
    hn_broadcast_strides(hn_arg(c, 0), y->rank, m->from_strides);
    return HONE_OK;
}

static hone_status eval_expand(hn_eval *c) {
    return eval_box(c, hn_expand_box);
}
const hn_impl hn_impl_expand[1] = {{.eval = eval_expand}};

/* Every version: an axis is walked through again and again. */
hone_status hn_tile_picks(hn_eval *c, const int64_t **picks) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    for (int32_t k = 0; k < y->rank; k++) {
        picks[k] = NULL;
        if (y->dims[k] == x->dims[k])
            continue;
        int64_t *at = hn_eval_scratch(c, (uint64_t)y->dims[k] * sizeof *at);
        HN_TRY_PTR(at);
        for (int64_t i = 0; i < y->dims[k]; i++)
            at[i] = i % x->dims[k];
        picks[k] = at;
    }
    return HONE_OK;
}

static hone_status eval_tile(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    const int64_t *picks[HN_MAX_RANK];
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_tile_picks(c, picks));
    return hn_copy_picked(c, y, hn_arg(c, 0), picks, NULL);
}
const hn_impl hn_impl_tile[1] = {{.eval = eval_tile}};

/* ---- blocks of pixels ------------------------------------------------------------------------ */

/* How elements move: the sizes of the source and the order in which they are read. b is the block,
 * n the images, c the channels of the larger picture, h and w the sizes of the smaller one. */
typedef struct block_turn {
    const char *sizes;
    int64_t perm[6];
} block_turn;

/* Channels hold the block's rows and columns either in front of (DCR) or behind (CRD) the channels
 * that remain. */
static hone_status move_blocks(hn_eval *c, hn_box_move *m, bool is_to_space, int channel_axis,
                               const block_turn *dcr, const block_turn *crd) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    const hn_array *deep = is_to_space ? x : y, *wide = is_to_space ? y : x;
    const block_turn *turn = hn_attr_is(hn_eval_node(c), "mode", "CRD") ? crd : dcr;
    int first = channel_axis == 1 ? 2 : 1; /* spatial axis */
    int64_t dims[6];
    for (int i = 0; i < 6; i++) {
        char size = turn->sizes[i];
        dims[i] = size == 'n'   ? x->dims[0]
                  : size == 'c' ? wide->dims[channel_axis]
                  : size == 'h' ? deep->dims[first]
                  : size == 'w' ? deep->dims[first + 1]
                                : hn_attr_i(hn_eval_node(c), "blocksize", 1);
    }
    move_permuted(m, 6, dims, turn->perm);
    return HONE_OK;
}

hone_status hn_depth_to_space_box(hn_eval *c, hn_box_move *m) {
    static const block_turn dcr = {"nbbchw", {0, 3, 4, 1, 5, 2}},
                            crd = {"ncbbhw", {0, 1, 4, 2, 5, 3}};
    return move_blocks(c, m, true, 1, &dcr, &crd);
}
static hone_status eval_depth_to_space(hn_eval *c) {
    return eval_box(c, hn_depth_to_space_box);
}
const hn_impl hn_impl_depth_to_space[1] = {{.eval = eval_depth_to_space}};

hone_status hn_space_to_depth_box(hn_eval *c, hn_box_move *m) {
    static const block_turn dcr = {"nchbwb", {0, 3, 5, 1, 2, 4}},
                            crd = {"nchbwb", {0, 1, 3, 5, 2, 4}};
    return move_blocks(c, m, false, 1, &dcr, &crd);
}
static hone_status eval_space_to_depth(hn_eval *c) {
    return eval_box(c, hn_space_to_depth_box);
}
const hn_impl hn_impl_space_to_depth[1] = {{.eval = eval_space_to_depth}};

/* The same with channels last. */
hone_status hn_depth_to_space_nhwc_box(hn_eval *c, hn_box_move *m) {
    static const block_turn dcr = {"nhwbbc", {0, 1, 3, 2, 4, 5}},
                            crd = {"nhwcbb", {0, 1, 4, 2, 5, 3}};
    return move_blocks(c, m, true, 3, &dcr, &crd);
}
static hone_status eval_depth_to_space_nhwc(hn_eval *c) {
    return eval_box(c, hn_depth_to_space_nhwc_box);
}
const hn_impl hn_impl_depth_to_space_nhwc[1] = {{.eval = eval_depth_to_space_nhwc}};

hone_status hn_space_to_depth_nhwc_box(hn_eval *c, hn_box_move *m) {
    static const block_turn dcr = {"nhbwbc", {0, 1, 3, 2, 4, 5}},
                            crd = {"nhbwbc", {0, 1, 3, 5, 2, 4}};
    return move_blocks(c, m, false, 3, &dcr, &crd);
}
static hone_status eval_space_to_depth_nhwc(hn_eval *c) {
    return eval_box(c, hn_space_to_depth_nhwc_box);
}
const hn_impl hn_impl_space_to_depth_nhwc[1] = {{.eval = eval_space_to_depth_nhwc}};

/* ---- parts kept or turned round -------------------------------------------------------------- */

/* Keeps one triangle of each matrix: columns from i + k on, or up to it. */
void hn_trilu_read(const hn_eval *c, hn_trilu_form *f) {
    const hn_array *x = hn_arg(c, 0), *k = hn_arg(c, 1);
    f->k = 0;
    if (k && k->n_elems > 0)
        hn_load_i64(k, 0, 1, &f->k);
    f->is_upper = hn_attr_i(hn_eval_node(c), "upper", 1) != 0;
    f->rows = x->dims[x->rank - 2];
    f->cols = x->dims[x->rank - 1];
    f->n_rows = x->n_elems / (uint64_t)f->cols;
    f->k =
        HN_MAX(-f->rows, HN_MIN(f->k, f->cols)); /* beyond that nothing changes, sums are small */
}

hone_status hn_trilu_run(hn_eval *c, const hn_trilu_form *f, hn_array *y, const hn_array *x) {
    for (uint64_t r = 0; r < f->n_rows && !hn_spent(64); r++) {
        int64_t diagonal = (int64_t)(r % (uint64_t)f->rows) + f->k;
        int64_t cut = HN_MAX(0, HN_MIN(f->is_upper ? diagonal : diagonal + 1, f->cols));
        uint64_t at = r * (uint64_t)f->cols, left = (uint64_t)cut,
                 right = (uint64_t)(f->cols - cut);
        HN_TRY(f->is_upper ? hn_copy_fill(c, y, at, left, NULL)
                           : hn_copy_run(c, y, at, x, at, left));
        at += left;
        HN_TRY(f->is_upper ? hn_copy_run(c, y, at, x, at, right)
                           : hn_copy_fill(c, y, at, right, NULL));
    }
    return HONE_OK;
}

static hone_status eval_trilu(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_trilu_form f;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    hn_trilu_read(c, &f);
    return hn_trilu_run(c, &f, y, hn_arg(c, 0));
}
const hn_impl hn_impl_trilu[1] = {{.eval = eval_trilu}};

/* Batch and time are the first two axes, in either order. */
static hone_status eval_reverse_sequence(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *lens = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    bool time_first = hn_attr_i(hn_eval_node(c), "time_axis", 0) == 0;
    int64_t n_batch = x->dims[time_first ? 1 : 0], n_time = x->dims[time_first ? 0 : 1];
    uint64_t run = hn_count(x->rank - 2, x->dims + 2);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    for (int64_t b = 0; b < n_batch; b++) {
        int64_t len;
        hn_load_i64(lens, (uint64_t)b, 1, &len);
        if (len < 0 || len > n_time)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "sequence_lens[%lld] is %lld, but sequences have %lld steps",
                                (long long)b, (long long)len, (long long)n_time);
        for (int64_t t = 0; t < n_time && !hn_spent(16); t++) {
            int64_t source = t < len ? len - 1 - t : t;
            int64_t at = time_first ? t * n_batch + b : b * n_time + t;
            int64_t first = time_first ? source * n_batch + b : b * n_time + source;
            HN_TRY(hn_copy_run(c, y, (uint64_t)at * run, x, (uint64_t)first * run, run));
        }
    }
    return HONE_OK;
}
const hn_impl hn_impl_reverse_sequence[1] = {{.eval = eval_reverse_sequence}};

static hone_status eval_given_tensor_fill(hn_eval *c) {
    const hn_attr *values = hn_attr_raw(hn_eval_node(c), "values");
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    if (!values || values->kind != HN_ATTR_FLOATS || values->n != y->n_elems)
        return hn_eval_fail(c, HONE_E_INVALID, "values has %u entries, but the shape needs %llu",
                            values ? values->n : 0, (unsigned long long)y->n_elems);
    hn_store_f32(y, 0, y->n_elems, values->v.floats);
    return HONE_OK;
}
const hn_impl hn_impl_given_tensor_fill[1] = {{.eval = eval_given_tensor_fill}};
