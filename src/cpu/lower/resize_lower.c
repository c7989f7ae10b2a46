/* Lowering of Resize and Upsample: nearest neighbours of any type, interpolation of floats. */
#include "cpu/lower/lower.h"
#include "cpu/lower/copy_step.h"
#include "ops/eval/onnx/resize_eval.h"

static hone_status run_resize_step(const void *record, const hn_step_io *io) {
    hn_resize_run(record, io->pool, io->in[0], io->out[0], io->scratch);
    return HONE_OK;
}

/* Rows that lie apart are left to the evaluation. */
static hone_status lower_resize(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    const int64_t *picks[HN_MAX_RANK];
    hn_resize_plan *plan;
    hn_array fill;
    if (!x || !y || x->n_elems == 0 || y->n_elems == 0 || x->row_stride || y->row_stride ||
        !hn_is_whole_bytes(x->dtype) || !hn_args_are_known(c, 1))
        return HONE_OK;
    HN_TRY(hn_resize_plan_new(c, picks, &fill, &plan));
    if (plan) {
        if (x->dtype == HN_F32)
            *out = (hn_lowered){
                .run = run_resize_step, .record = plan, .scratch_bytes = hn_resize_scratch(plan)};
        return HONE_OK;
    }
    hn_pick_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_keep_picks(c, y, x, picks, s));
    s->fill = fill;
    *out = (hn_lowered){.run = hn_run_picks, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_resize[1] = {
    {.lower = lower_resize, .row_strides = {.args = 1, .rets = true}}};
