/* Lowering of functions of one float. */
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

typedef struct unary_step {
    hn_unary_fn_f32 fn;
    float a, b;                 /* parameters of the function */
    int64_t n;                  /* elements, or of one row where rows are strided */
    int64_t n_rows;             /* 0: all elements are contiguous */
    int64_t x_stride, y_stride; /* from row to row */
} unary_step;

typedef struct unary_run {
    const unary_step *step;
    const float *x;
    float *y;
} unary_run;

static void run_unary_range(void *ctx, int64_t begin, int64_t end) {
    const unary_run *r = ctx;
    r->step->fn(r->x + begin, r->y + begin, (uint64_t)(end - begin), r->step->a, r->step->b);
}

static void run_unary_rows(void *ctx, int64_t begin, int64_t end) {
    const unary_run *r = ctx;
    const unary_step *s = r->step;
    for (int64_t i = begin; i < end; i++)
        s->fn(r->x + i * s->x_stride, r->y + i * s->y_stride, (uint64_t)s->n, s->a, s->b);
}

static hone_status run_unary(const void *record, const hn_step_io *io) {
    const unary_step *s = record;
    unary_run r = {s, io->in[0], io->out[0]};
    if (s->n_rows)
        hn_pool_for(io->pool, s->n_rows, HN_MAX(1, HN_GRAIN / HN_MAX(s->n, 1)), run_unary_rows, &r);
    else if (s->n <= HN_GRAIN)
        s->fn(r.x, r.y, (uint64_t)s->n, s->a, s->b);
    else
        hn_pool_for(io->pool, s->n, HN_GRAIN, run_unary_range, &r);
    return HONE_OK;
}

static hone_status lower_named(hn_eval *c, const char *name, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    const hn_unary_op *op = hn_unary_find(name);
    if (!x || !y || !op || x->dtype != HN_F32 || x->n_elems == 0)
        return HONE_OK;
    unary_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    hn_unary_fn_f32 fast = hn_unary_find_f32(name);
    s->fn = fast ? fast : op->f32;
    s->a = op->attr_a ? hn_attr_f(node, op->attr_a, op->default_a) : 0;
    s->b = op->attr_b ? hn_attr_f(node, op->attr_b, op->default_b) : 0;
    s->n = (int64_t)x->n_elems;
    if (x->row_stride || y->row_stride) {
        s->n_rows = hn_n_rows(x);
        s->n = x->dims[x->rank - 1];
        s->x_stride = hn_row_stride(x);
        s->y_stride = hn_row_stride(y);
    }
    *out = (hn_lowered){.run = run_unary, .record = s};
    return HONE_OK;
}

static hone_status lower_unary(hn_eval *c, hn_lowered *out) {
    return lower_named(c, hn_infer_op(hn_eval_node(c)), out);
}
const hn_lowering hn_lower_unary[1] = {
    {.lower = lower_unary, .row_strides = {.args = 1, .rets = true, .want_one_type = true}}};

static hone_status lower_gelu(hn_eval *c, hn_lowered *out) {
    bool is_tanh = hn_attr_is(hn_eval_node(c), "approximate", "tanh");
    return lower_named(c, is_tanh ? "Gelu_tanh" : "Gelu", out);
}
const hn_lowering hn_lower_gelu[1] = {{.lower = lower_gelu}};
