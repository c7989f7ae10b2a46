/* Lowering of Swiglu: a function of the gate, times the values. */
#include "cpu/lower/elementwise_lower.h"

/* Both write the output; the product reads it, too. */
typedef struct swiglu_step {
    hn_lowered gate, product;
} swiglu_step;

static hone_status run_swiglu(const void *record, const hn_step_io *io) {
    const swiglu_step *s = record;
    const void *in[2] = {io->out[0], io->in[1]};
    hn_step_io product = *io;
    product.in = in;
    HN_TRY(s->gate.run(s->gate.record, io));
    return s->product.run(s->product.record, &product);
}

/* The gate goes through Swish into the output, which the values then multiply. */
static hone_status lower_swiglu(hn_eval *c, hn_lowered *out) {
    const hn_unary_op *op = hn_unary_find("Swish");
    const hn_array *gate = hn_arg(c, 0), *values = hn_arg(c, 1), *y = hn_ret(c, 0);
    if (!gate || !values || !y || gate->n_elems == 0 || gate->n_elems != y->n_elems)
        return HONE_OK;
    swiglu_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    float alpha = hn_attr_f(hn_eval_node(c), op->attr_a, op->default_a);
    HN_TRY(hn_lower_map(c, op, alpha, 0, gate, y, &s->gate));
    HN_TRY(hn_lower_join(c, "Mul", y, values, y, &s->product));
    if (s->gate.run && s->product.run)
        *out = (hn_lowered){.run = run_swiglu, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_swiglu[1] = {{.lower = lower_swiglu}};
