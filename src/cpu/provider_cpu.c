/* The provider cpu: claims whatever has an evaluation, and rewrites graphs for its caches and
 * vectors. */
#include "cpu/provider_cpu.h"

#include "cpu/ops_cpu.h"
#include "cpu/passes/passes_cpu.h"

static hone_status cpu_rewrite(hn_model *m, const hn_optimize_options *o, hn_opt_log *log,
                               hone_error *err) {
    return hn_optimize_for_provider(m, &hn_cpu_passes, o, log, err);
}

static bool cpu_claims(const hn_graph *g, const hn_step *step) {
    (void)g;
    return step->op->eval != NULL;
}

static hone_status cpu_lower(const hn_graph *g, hn_step *step, hone_error *err) {
    (void)g, (void)err;
    step->run = step->op->eval;
    step->memory = hn_eval_memory(step->run);
    step->row_strides = hn_eval_row_strides(step->run);
    return HONE_OK;
}

const hn_provider hn_cpu_provider = {
    .name = "cpu",
    .rewrite = cpu_rewrite,
    .passes = &hn_cpu_passes,
    .ops = &hn_cpu_ops,
    .claims = cpu_claims,
    .lower = cpu_lower,
};
