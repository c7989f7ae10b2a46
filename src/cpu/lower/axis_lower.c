/* Lowering of operators that look along one axis. */
#include "cpu/lower/lane_lower.h"
#include "ops/eval/reduction.h"

/* ---- ArgMax, ArgMin, Hardmax ----------------------------------------------------------------- */

typedef struct arg_step {
    hn_axis_view view;
    hn_arg_job job;
    hn_array x, y; /* without data */
} arg_step;

static void find_indices(const arg_step *s, const hn_step_io *io, int64_t *indices) {
    hn_array x = hn_array_at(&s->x, io->in[0]);
    hn_arg_job job = s->job;
    job.x = &x;
    job.out = indices;
    hn_arg_run(io->pool, &s->view, &job);
}

static hone_status run_arg(const void *record, const hn_step_io *io) {
    find_indices(record, io, io->out[0]);
    return HONE_OK;
}

static hone_status run_hardmax(const void *record, const hn_step_io *io) {
    const arg_step *s = record;
    hn_array y = hn_array_at(&s->y, io->out[0]);
    find_indices(s, io, io->scratch);
    if (!hn_pool_is_stopped(io->pool))
        hn_hardmax_write(&s->view, io->scratch, &y);
    return HONE_OK;
}

static hone_status fill_arg(hn_eval *c, hn_axis_view v, hn_lowered *out) {
    arg_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->view = v;
    hn_arg_read(c, &s->job);
    s->x = hn_array_at(hn_arg(c, 0), NULL);
    s->y = hn_array_at(hn_ret(c, 0), NULL);
    *out = (hn_lowered){.run = run_arg, .record = s};
    return HONE_OK;
}

static bool is_there(const hn_eval *c) {
    return hn_arg(c, 0) && hn_ret(c, 0) && hn_arg(c, 0)->n_elems > 0;
}

static hone_status lower_arg(hn_eval *c, hn_lowered *out) {
    if (!is_there(c))
        return HONE_OK;
    return fill_arg(c, hn_view_axis(hn_arg(c, 0), hn_attr_i(hn_eval_node(c), "axis", 0)), out);
}
const hn_lowering hn_lower_arg[1] = {{.lower = lower_arg}};

static hone_status lower_hardmax(hn_eval *c, hn_lowered *out) {
    if (!is_there(c))
        return HONE_OK;
    hn_axis_view v = hn_view_softmax(c, hn_arg(c, 0));
    HN_TRY(fill_arg(c, v, out));
    out->run = run_hardmax;
    out->scratch_bytes = v.outer * v.inner * sizeof(int64_t);
    return HONE_OK;
}
const hn_lowering hn_lower_hardmax[1] = {{.lower = lower_hardmax}};

/* ---- CumSum, CumProd ------------------------------------------------------------------------- */

typedef struct cumulation_step {
    hn_axis_view view;
    hn_cumulation job;
    hn_array x, y; /* without data */
} cumulation_step;

static hone_status run_cumulation(const void *record, const hn_step_io *io) {
    const cumulation_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    hn_cumulation job = s->job;
    job.x = &x;
    job.y = &y;
    hn_cumulation_run(io->pool, &s->view, &job);
    return HONE_OK;
}

static hone_status lower_cumulation(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *given = hn_arg(c, 1);
    int64_t axis;
    if (!is_there(c) || !given || !given->data || given->n_elems != 1)
        return HONE_OK;
    hn_load_i64(given, 0, 1, &axis);
    if (axis < -(int64_t)x->rank || axis >= x->rank)
        return HONE_OK;
    cumulation_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->view = hn_view_axis(x, axis);
    hn_cumulation_read(c, &s->job);
    s->x = hn_array_at(x, NULL);
    s->y = hn_array_at(hn_ret(c, 0), NULL);
    *out = (hn_lowered){.run = run_cumulation, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_cumulation[1] = {{.lower = lower_cumulation}};

/* ---- one number per lane --------------------------------------------------------------------- */

typedef struct lane_step {
    hn_reduction reduction;
    hn_broadcast_walk walk;
    hn_array x, y, lanes; /* without data */
    hn_lane_apply apply;
} lane_step;

static hone_status run_lanes(const void *record, const hn_step_io *io) {
    const lane_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]),
             lanes = hn_array_at(&s->lanes, io->scratch);
    hn_reduction_run(io->pool, &s->reduction, &x, &lanes);
    hn_lane_job job = {&x, &y, lanes.data, s->apply};
    hn_broadcast_run_rows(io->pool, &s->walk, hn_lane_row, &job);
    return HONE_OK;
}

hone_status hn_lower_lanes(hn_eval *c, const hn_axis_view *v, hn_lane_form form, hn_lowered *out) {
    const int64_t dims[] = {(int64_t)v->outer, (int64_t)v->n, (int64_t)v->inner};
    const int64_t lane_dims[] = {dims[0], 1, dims[2]};
    hn_array middle = *hn_arg(c, 0);
    hn_array lanes = {
        .dtype = HN_F64, .rank = 3, .dims = lane_dims, .n_elems = v->outer * v->inner};
    hn_walk_axis axes[3];
    lane_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    middle.rank = 3;
    middle.dims = dims;
    hn_reduction_plan(&s->reduction, form.reduce, &middle, 2, &lanes);
    s->walk.axes = axes;
    hn_broadcast_plan(&s->walk, &middle, 1, (const hn_array *[]){&lanes});
    s->walk.axes = hn_lower_alloc(c, sizeof axes);
    HN_TRY_PTR(s->walk.axes);
    memcpy(s->walk.axes, axes, (size_t)s->walk.rank * sizeof *axes);
    lanes.dims = NULL; /* nobody looks at them any more */
    s->x = hn_array_at(hn_arg(c, 0), NULL);
    s->y = hn_array_at(hn_ret(c, 0), NULL);
    s->lanes = lanes;
    s->apply = form.apply;
    *out = (hn_lowered){.run = run_lanes, .record = s};
    out->scratch_bytes = lanes.n_elems * sizeof(double);
    return HONE_OK;
}

static hone_status lower_lp_norm(hn_eval *c, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    int64_t p = hn_attr_i(node, "p", 2);
    if (!is_there(c) || (p != 1 && p != 2) || x->rank == 0)
        return HONE_OK;
    hn_axis_view v = hn_view_axis(x, hn_attr_i(node, "axis", -1));
    return hn_lower_lanes(c, &v, hn_lane_form_norm(p), out);
}
const hn_lowering hn_lower_lp_norm[1] = {{.lower = lower_lp_norm}};
