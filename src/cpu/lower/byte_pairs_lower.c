/* Lowering of QLinearAdd and QLinearMul, whose parameters are constant. */
#include "cpu/lower/lower.h"
#include "ops/eval/ms/ms_qlinear_eval.h"

typedef struct byte_pair_step {
    hn_qlinear_pair_job job; /* without data */
    hn_broadcast_walk walk;
} byte_pair_step;

static hone_status run_byte_pair(const void *record, const hn_step_io *io) {
    const byte_pair_step *s = record;
    hn_qlinear_pair_job job = s->job;
    job.a = io->in[0];
    job.b = io->in[3];
    job.y = io->out[0];
    hn_broadcast_run_rows(io->pool, &s->walk, hn_qlinear_pair_row, &job);
    return HONE_OK;
}

static hone_status lower_byte_pair(hn_eval *c, bool is_sum, hn_lowered *out) {
    static const uint32_t params[] = {1, 2, 4, 5, 6, 7};
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, 3), *y = hn_ret(c, 0);
    hn_walk_axis axes[HN_MAX_RANK];
    if (!a || !b || !y || y->n_elems == 0 || !hn_lower_knows_args(c, HN_COUNT(params), params))
        return HONE_OK;
    byte_pair_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->job = (hn_qlinear_pair_job){.fn = hn_qlinear_pair_fn(y->dtype, is_sum),
                                   .by = hn_qlinear_pair(c, is_sum)};
    s->walk.axes = axes;
    hn_broadcast_plan(&s->walk, y, 2, (const hn_array *const[]){a, b});
    size_t bytes = (size_t)s->walk.rank * sizeof *axes;
    HN_TRY_PTR(s->walk.axes = hn_lower_alloc(c, bytes + 1));
    memcpy(s->walk.axes, axes, bytes);
    *out = (hn_lowered){.run = run_byte_pair, .record = s};
    return HONE_OK;
}

static hone_status lower_qlinear_add(hn_eval *c, hn_lowered *out) {
    return lower_byte_pair(c, true, out);
}
const hn_lowering hn_lower_qlinear_add[1] = {{.lower = lower_qlinear_add}};

static hone_status lower_qlinear_mul(hn_eval *c, hn_lowered *out) {
    return lower_byte_pair(c, false, out);
}
const hn_lowering hn_lower_qlinear_mul[1] = {{.lower = lower_qlinear_mul}};
