/* Inside cpu/: how nodes become steps. A lowering reads attributes, shapes and packed weights once,
 * and fills a record that its run function is called with:
 *
 *   typedef struct relu_step { uint64_t n; hn_unary_fn_f32 fn; } relu_step;
 *
 *   static hone_status run_relu(const void *record, const hn_step_io *io) {
 *       const relu_step *s = record;
 *       s->fn(io->in[0], io->out[0], s->n, 0, 0);
 *       return HONE_OK;
 *   }
 *   static hone_status lower_relu(hn_eval *c, hn_lowered *out) {
 *       if (hn_arg(c, 0)->dtype != HN_F32)
 *           return HONE_OK; // it is evaluated
 *       relu_step *s = hn_lower_alloc(c, sizeof *s);
 *       HN_TRY_PTR(s);
 *       ...
 *       *out = (hn_lowered){.run = run_relu, .record = s};
 *       return HONE_OK;
 *   }
 *   const hn_lowering hn_lower_relu[1] = {{.lower = lower_relu}};
 *
 * hn_arg and hn_ret give types, shapes and row strides. The data of an argument are there only
 * where they are known: of constants, and of shape computations that the plan has followed; those
 * of results never. Unusual types and forms are left to the evaluation, which has the error
 * messages, too. */
#ifndef HN_LOWER_H
#define HN_LOWER_H

#include "ops/eval/eval_int.h"
#include "plan/plan.h"

static inline int hn_lower_threads(const hn_eval *c) {
    return c->n_threads;
}

/* Are the data of these arguments known, of those that are there? */
static inline bool hn_lower_knows_args(const hn_eval *c, uint32_t n, const uint32_t *args) {
    for (uint32_t i = 0; i < n; i++)
        if (hn_arg(c, args[i]) && !hn_arg(c, args[i])->data)
            return false;
    return true;
}

/* Every lowering that the tables of operators name. */
#define HN_OP(domain, op, versions, inputs, outputs, types, attrs, infer, macs, impl, lower) \
  extern const hn_lowering hn_lower_##lower[1];
#include "cpu/ops_cpu.def"
#include "ops/ops.def"
#undef HN_OP

#endif /* HN_LOWER_H */
