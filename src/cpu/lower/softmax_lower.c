/* Lowering of Softmax and LogSoftmax. */
#include "cpu/lower/lane_lower.h"

static hone_status run_softmax(const void *record, const hn_step_io *io) {
    hn_softmax_run(io->pool, record, io->in[0], io->out[0]);
    return HONE_OK;
}

static hone_status lower_softmax(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0);
    if (!x || !hn_ret(c, 0) || x->n_elems == 0)
        return HONE_OK;
    hn_axis_view v = hn_view_softmax(c, x);
    bool is_log = strcmp(hn_infer_op(hn_eval_node(c)), "LogSoftmax") == 0;
    hn_softmax *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    if (!hn_softmax_plan(s, &v, is_log, x->dtype))
        return hn_lower_lanes(c, &v, hn_lane_form_softmax(is_log), out);
    *out = (hn_lowered){.run = run_softmax, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_softmax[1] = {{.lower = lower_softmax}};
