/* Lowering of a function of one operand with a sum before it or a product behind it: Gelu and its
 * relatives with a bias, and Swiglu. */
#include "cpu/lower/elementwise_lower.h"

/* Two steps that both write the output; the second reads it, too. */
typedef struct two_steps {
    hn_lowered first, second;
    int i_left, i_right; /* arguments of the first; -1: it has no right one */
    int i_last;          /* right argument of the second; -1: it has none */
} two_steps;

static hone_status run_two_steps(const void *record, const hn_step_io *io) {
    const two_steps *s = record;
    hn_step_io part = *io;
    const void *in[2] = {io->in[s->i_left], s->i_right < 0 ? NULL : io->in[s->i_right]};
    part.in = in;
    HN_TRY(s->first.run(s->first.record, &part));
    in[0] = io->out[0];
    in[1] = s->i_last < 0 ? NULL : io->in[s->i_last];
    return s->second.run(s->second.record, &part);
}

/* Are the last dimensions of `a` those of `part`? */
static bool ends_with(const hn_array *a, const hn_array *part) {
    for (int32_t i = 1; i <= part->rank; i++)
        if (i > a->rank || part->dims[part->rank - i] != a->dims[a->rank - i])
            return false;
    return true;
}

/* y = op(x + bias), or op(x). */
static hone_status lower_biased(hn_eval *c, const char *name, float a, hn_lowered *out) {
    const hn_unary_op *op = hn_unary_find(name);
    const hn_array *x = hn_arg(c, 0), *bias = hn_n_args(c) > 1 ? hn_arg(c, 1) : NULL,
                   *y = hn_ret(c, 0);
    if (!x || !y || x->n_elems == 0 || x->n_elems != y->n_elems)
        return HONE_OK;
    if (!bias)
        return hn_lower_map(c, op, a, 0, x, y, out);
    if (!ends_with(y, bias))
        return HONE_OK; /* it may not fit */
    two_steps *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (two_steps){.i_left = 0, .i_right = 1, .i_last = -1};
    HN_TRY(hn_lower_join(c, "Add", x, bias, y, &s->first));
    HN_TRY(hn_lower_map(c, op, a, 0, y, y, &s->second));
    if (s->first.run && s->second.run)
        *out = (hn_lowered){.run = run_two_steps, .record = s};
    return HONE_OK;
}

static hone_status lower_ms_gelu(hn_eval *c, hn_lowered *out) {
    return lower_biased(c, "Gelu", 0, out);
}
const hn_lowering hn_lower_ms_gelu[1] = {{.lower = lower_ms_gelu}};

static hone_status lower_fast_gelu(hn_eval *c, hn_lowered *out) {
    return lower_biased(c, "Gelu_tanh", 0, out);
}
const hn_lowering hn_lower_fast_gelu[1] = {{.lower = lower_fast_gelu}};

static hone_status lower_quick_gelu(hn_eval *c, hn_lowered *out) {
    return lower_biased(c, "Swish", hn_attr_f(hn_eval_node(c), "alpha", 1.702f), out);
}
const hn_lowering hn_lower_quick_gelu[1] = {{.lower = lower_quick_gelu}};

/* The gate goes through Swish into the output, which the values then multiply. */
static hone_status lower_swiglu(hn_eval *c, hn_lowered *out) {
    const hn_unary_op *op = hn_unary_find("Swish");
    const hn_array *gate = hn_arg(c, 0), *values = hn_arg(c, 1), *y = hn_ret(c, 0);
    if (!gate || !values || !y || gate->n_elems == 0 || gate->n_elems != y->n_elems)
        return HONE_OK;
    two_steps *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (two_steps){.i_left = 0, .i_right = -1, .i_last = 1};
    float alpha = hn_attr_f(hn_eval_node(c), op->attr_a, op->default_a);
    HN_TRY(hn_lower_map(c, op, alpha, 0, gate, y, &s->first));
    HN_TRY(hn_lower_join(c, "Mul", y, values, y, &s->second));
    if (s->first.run && s->second.run)
        *out = (hn_lowered){.run = run_two_steps, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_swiglu[1] = {{.lower = lower_swiglu}};
