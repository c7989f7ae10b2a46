/* The cpu provider: it claims whatever can be evaluated, and lowers what the rows of the operator
 * tables name a lowering for. */
#include "cpu/lower/lower.h"

#define hn_lower_none NULL
#define HN_OP(domain, op, versions, inputs, outputs, types, attrs, infer, macs, impl, lower) \
  hn_lower_##lower,
static const hn_lowering *const lowerings[] = {
#include "ops/ops.def"
};
#undef HN_OP
#undef hn_lower_none

static bool cpu_claims(const hn_graph *g, const hn_step *step) {
    (void)g;
    return step->op->impl != NULL;
}

static const hn_lowering *cpu_lowering(const hn_op *op) {
    ptrdiff_t row = op - hn_op_row(NULL, 0);
    bool is_in_table = row >= 0 && row < (ptrdiff_t)HN_COUNT(lowerings);
    return is_in_table ? lowerings[row] : NULL;
}

const hn_provider hn_cpu_provider = {.name = "cpu", .claims = cpu_claims, .lowering = cpu_lowering};
