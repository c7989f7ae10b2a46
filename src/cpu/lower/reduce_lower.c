/* Lowering of reductions. */
#include "cpu/lower/lower.h"
#include "ops/eval/reduction.h"

typedef struct reduce_step {
    hn_reduction reduction;
    hn_array x, out; /* without data */
} reduce_step;

static hone_status run_reduce(const void *record, const hn_step_io *io) {
    const reduce_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), out = hn_array_at(&s->out, io->out[0]);
    hn_reduction_run(io->pool, &s->reduction, &x, &out);
    return HONE_OK;
}

static hone_status lower_reduce(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *given = hn_arg(c, 1), *y = hn_ret(c, 0);
    uint64_t axes;
    if (!x || !y || y->n_elems == 0 || (given && given->n_elems > 0 && !given->data))
        return HONE_OK;
    HN_TRY(hn_reduced_axes(c, x->rank, &axes));
    reduce_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    hn_reduction_plan(&s->reduction, hn_infer_op(hn_eval_node(c)), x, axes, y);
    s->x = hn_array_at(x, NULL);
    s->out = hn_array_at(y, NULL);
    *out = (hn_lowered){.run = run_reduce, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_reduce[1] = {{.lower = lower_reduce}};
