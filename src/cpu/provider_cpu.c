/* The provider cpu: claims whatever can be evaluated, rewrites graphs for its caches and vectors,
 * and lowers what the rows of the operator tables name a lowering for. */
#include "cpu/provider_cpu.h"

#include "cpu/lower/lower.h"
#include "cpu/ops_cpu.h"
#include "cpu/passes/passes_cpu.h"

static hone_status cpu_rewrite(hn_model *m, const hn_optimize_options *o, hn_opt_log *log,
                               hone_error *err) {
    return hn_optimize_for_provider(m, &hn_cpu_passes, o, log, err);
}

static bool cpu_claims(const hn_graph *g, const hn_step *step) {
    (void)g;
    return step->op->impl != NULL;
}

/* ---- lowerings, in the order of the rows ------------------------------------------------------ */

#define hn_lower_none NULL
#define HN_OP(domain, op, versions, inputs, outputs, types, attrs, infer, macs, impl, lower) \
  hn_lower_##lower,
static const hn_lowering *const portable_lowerings[] = {
#include "ops/ops.def"
};
static const hn_lowering *const own_lowerings[] = {
#include "cpu/ops_cpu.def"
};
#undef HN_OP
#undef hn_lower_none

#define HN_OP(domain, op, versions, inputs, outputs, types, attrs, infer, macs, impl, lower) #lower,
static const char *const portable_names[] = {
#include "ops/ops.def"
};
static const char *const own_names[] = {
#include "cpu/ops_cpu.def"
};
#undef HN_OP

/* False: it is no row of the table. */
static bool find_op_row(const hn_op *op, const hn_op *rows, size_t n, size_t *at) {
    uintptr_t bytes = (uintptr_t)op - (uintptr_t)rows;
    *at = bytes / sizeof *rows;
    return bytes < n * sizeof *rows;
}

static const hn_lowering *cpu_lowering(const hn_op *op) {
    size_t at;
    if (find_op_row(op, hn_op_row(NULL, 0), HN_COUNT(portable_lowerings), &at))
        return portable_lowerings[at];
    return find_op_row(op, hn_cpu_ops.rows, HN_COUNT(own_lowerings), &at) ? own_lowerings[at]
                                                                          : NULL;
}

static const char *cpu_lowering_name(const hn_op *op) {
    size_t at;
    if (find_op_row(op, hn_op_row(NULL, 0), HN_COUNT(portable_names), &at))
        return portable_names[at];
    return find_op_row(op, hn_cpu_ops.rows, HN_COUNT(own_names), &at) ? own_names[at] : NULL;
}

const hn_provider hn_cpu_provider = {
    .name = "cpu",
    .rewrite = cpu_rewrite,
    .passes = &hn_cpu_passes,
    .ops = &hn_cpu_ops,
    .computes_in_float = true,
    .claims = cpu_claims,
    .lowering = cpu_lowering,
    .lowering_name = cpu_lowering_name,
};
