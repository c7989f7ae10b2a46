/* Lowering of operators that move one box of elements: Transpose, Slice, Expand, copies. */
#include "cpu/lower/lower.h"
#include "cpu/lower/copy_step.h"

hone_status hn_keep_grid(hn_eval *c, hn_dtype t, const hn_box_move *m, hn_grid_copy *out) {
    hn_grid_axis axes[HN_MAX_GRID_RANK];
    *out = (hn_grid_copy){.outer = axes};
    hn_grid_plan(out, t, m->rank, m->dims, &(hn_grid){m->to_first, m->to_strides},
                 &(hn_grid){m->from_first, m->from_strides});
    out->outer = hn_lower_alloc(c, ((size_t)out->n_outer + 1) * sizeof *axes);
    HN_TRY_PTR(out->outer);
    memcpy(out->outer, axes, (size_t)out->n_outer * sizeof *axes);
    return HONE_OK;
}

static hone_status run_box(const void *record, const hn_step_io *io) {
    hn_grid_run(io->pool, record, io->out[0], io->in[0]);
    return HONE_OK;
}

static hone_status lower_box(hn_eval *c, hn_box_move_fn find, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    hn_box_move m;
    if (!x || !y || x->dtype != y->dtype || !hn_is_whole_bytes(x->dtype))
        return HONE_OK;
    HN_TRY(find(c, &m));
    if (hn_count(m.rank, m.dims) != y->n_elems)
        return HONE_OK; /* refused when it is evaluated */
    hn_grid_copy *copy = hn_lower_alloc(c, sizeof *copy);
    HN_TRY_PTR(copy);
    HN_TRY(hn_keep_grid(c, x->dtype, &m, copy));
    *out = (hn_lowered){.run = run_box, .record = copy};
    return HONE_OK;
}

static hone_status lower_transpose(hn_eval *c, hn_lowered *out) {
    return lower_box(c, hn_transpose_box, out);
}
const hn_lowering hn_lower_transpose[1] = {{.lower = lower_transpose}};

static hone_status lower_expand(hn_eval *c, hn_lowered *out) {
    return lower_box(c, hn_expand_box, out);
}
const hn_lowering hn_lower_expand[1] = {{.lower = lower_expand}};

/* Bounds that a run computes are read in that run. */
static hone_status lower_slice(hn_eval *c, hn_lowered *out) {
    return hn_args_are_known(c, 1) ? lower_box(c, hn_slice_box, out) : HONE_OK;
}
const hn_lowering hn_lower_slice[1] = {{.lower = lower_slice}};

static hone_status lower_depth_to_space(hn_eval *c, hn_lowered *out) {
    return lower_box(c, hn_depth_to_space_box, out);
}
const hn_lowering hn_lower_depth_to_space[1] = {{.lower = lower_depth_to_space}};

static hone_status lower_space_to_depth(hn_eval *c, hn_lowered *out) {
    return lower_box(c, hn_space_to_depth_box, out);
}
const hn_lowering hn_lower_space_to_depth[1] = {{.lower = lower_space_to_depth}};

static hone_status lower_depth_to_space_nhwc(hn_eval *c, hn_lowered *out) {
    return lower_box(c, hn_depth_to_space_nhwc_box, out);
}
const hn_lowering hn_lower_depth_to_space_nhwc[1] = {{.lower = lower_depth_to_space_nhwc}};

static hone_status lower_space_to_depth_nhwc(hn_eval *c, hn_lowered *out) {
    return lower_box(c, hn_space_to_depth_nhwc_box, out);
}
const hn_lowering hn_lower_space_to_depth_nhwc[1] = {{.lower = lower_space_to_depth_nhwc}};

/* ---- the same elements under another shape --------------------------------------------------- */

static hone_status all_in_order(hn_eval *c, hn_box_move *m) {
    *m = (hn_box_move){.rank = 1, .to_strides = {1}, .from_strides = {1}};
    m->dims[0] = (int64_t)hn_arg(c, 0)->n_elems;
    return HONE_OK;
}

/* A caller may have given one buffer for both. */
static hone_status run_all_in_order(const void *record, const hn_step_io *io) {
    return io->out[0] == io->in[0] ? HONE_OK : run_box(record, io);
}

static hone_status lower_all_in_order(hn_eval *c, hn_lowered *out) {
    HN_TRY(lower_box(c, all_in_order, out));
    if (out->run)
        out->run = run_all_in_order;
    return HONE_OK;
}
const hn_lowering hn_lower_reshape[1] = {{.lower = lower_all_in_order}};
const hn_lowering hn_lower_identity[1] = {{.lower = lower_all_in_order}};
