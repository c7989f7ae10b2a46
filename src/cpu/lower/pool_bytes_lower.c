/* Lowering of quantized average pools, channels-last. */
#include "cpu/lower/lower.h"
#include "ops/eval/ms/ms_qlinear_eval.h"

static hone_status run_qlinear_average(const void *record, const hn_step_io *io) {
    hn_pool_bytes_job job = ((const hn_qlinear_pool *)record)->job;
    job.x = io->in[0];
    job.y = io->out[0];
    hn_pool_bytes(io->pool, &job);
    return HONE_OK;
}

static hone_status lower_qlinear_average(hn_eval *c, hn_lowered *out) {
    static const uint32_t params[] = {1, 2, 3, 4};
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0 || !hn_attr_i(hn_eval_node(c), "channels_last", 0) ||
        !hn_lower_knows_args(c, HN_COUNT(params), params))
        return HONE_OK;
    hn_qlinear_pool *p = hn_lower_alloc(c, sizeof *p);
    HN_TRY_PTR(p);
    HN_TRY(hn_qlinear_pool_fill(c, hn_arg(c, 0), y, p));
    *out = (hn_lowered){.run = run_qlinear_average, .record = p};
    return HONE_OK;
}
const hn_lowering hn_lower_qlinear_average[1] = {{.lower = lower_qlinear_average}};
