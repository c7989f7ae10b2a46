/* Lowering of functions of one number: loops over floats, exact loops over integers, and all other
 * types as they are evaluated. */
#include "cpu/lower/elementwise_lower.h"

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

/* ---- other types ----------------------------------------------------------------------------- */

typedef struct unary_int_step {
    hn_unary_int_fn fn;
    int64_t n, n_rows;
    size_t x_stride, y_stride; /* from row to row, in bytes */
} unary_int_step;

typedef struct unary_int_run {
    const unary_int_step *step;
    const uint8_t *x;
    uint8_t *y;
} unary_int_run;

static void run_unary_int_rows(void *ctx, int64_t begin, int64_t end) {
    const unary_int_run *r = ctx;
    for (size_t i = (size_t)begin; i < (size_t)end; i++)
        r->step->fn(r->x + i * r->step->x_stride, r->y + i * r->step->y_stride,
                    (uint64_t)r->step->n);
}

static hone_status run_unary_int(const void *record, const hn_step_io *io) {
    const unary_int_step *s = record;
    unary_int_run r = {s, io->in[0], io->out[0]};
    hn_pool_for(io->pool, s->n_rows, HN_MAX(1, HN_GRAIN / HN_MAX(s->n, 1)), run_unary_int_rows, &r);
    return HONE_OK;
}

static hone_status lower_ints(hn_eval *c, hn_unary_int_fn fn, const hn_array *x, const hn_array *y,
                              hn_lowered *out) {
    bool is_strided = x->row_stride || y->row_stride;
    size_t bytes = hn_elem_bytes(x->dtype);
    unary_int_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->fn = fn;
    s->n_rows = is_strided ? hn_n_rows(x) : 1;
    s->n = (int64_t)x->n_elems / s->n_rows;
    s->x_stride = is_strided ? (size_t)hn_row_stride(x) * bytes : 0;
    s->y_stride = is_strided ? (size_t)hn_row_stride(y) * bytes : 0;
    *out = (hn_lowered){.run = run_unary_int, .record = s};
    return HONE_OK;
}

typedef struct unary_any_step {
    hn_unary_job job;
    hn_array x, y; /* without data */
} unary_any_step;

static hone_status run_unary_any(const void *record, const hn_step_io *io) {
    const unary_any_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    hn_unary_job job = s->job;
    job.x = &x;
    job.y = &y;
    hn_unary_run(io->pool, &job);
    return HONE_OK;
}

static hone_status lower_widened(hn_eval *c, const unary_step *f, const hn_unary_op *op,
                                 const hn_array *x, const hn_array *y, hn_lowered *out) {
    unary_any_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->job = (hn_unary_job){.op = op, .f32 = f->fn, .a = (double)f->a, .b = (double)f->b};
    s->x = hn_array_at(x, NULL);
    s->y = hn_array_at(y, NULL);
    *out = (hn_lowered){.run = run_unary_any, .record = s};
    return HONE_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static hone_status lower_floats(hn_eval *c, const unary_step *f, const hn_array *x,
                                const hn_array *y, hn_lowered *out) {
    unary_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = *f;
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

hone_status hn_lower_map(hn_eval *c, const hn_unary_op *op, float a, float b, const hn_array *x,
                         const hn_array *y, hn_lowered *out) {
    hn_unary_fn_f32 fast = hn_unary_find_f32(op->op);
    unary_step f = {.fn = fast ? fast : op->f32, .a = a, .b = b};
    return x->dtype == HN_F32 ? lower_floats(c, &f, x, y, out)
                              : lower_widened(c, &f, op, x, y, out);
}

static hone_status lower_named(hn_eval *c, const char *name, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    const hn_unary_op *op = hn_unary_find(name);
    if (!x || !y || x->n_elems == 0)
        return HONE_OK;
    hn_unary_int_fn exact = hn_unary_find_int(name, x->dtype);
    if (exact)
        return lower_ints(c, exact, x, y, out);
    if (!op)
        return HONE_OK;
    float a = op->attr_a ? hn_attr_f(node, op->attr_a, op->default_a) : 0;
    float b = op->attr_b ? hn_attr_f(node, op->attr_b, op->default_b) : 0;
    return hn_lower_map(c, op, a, b, x, y, out);
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

/* ---- IsNaN, IsInf ---------------------------------------------------------------------------- */

typedef struct question_step {
    hn_question question;
    hn_array x, y; /* without data */
} question_step;

static hone_status run_question(const void *record, const hn_step_io *io) {
    const question_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    hn_question q = s->question;
    q.x = &x;
    q.y = &y;
    hn_question_run(io->pool, &q);
    return HONE_OK;
}

static hone_status lower_question(hn_eval *c, hn_lowered *out) {
    if (!hn_arg(c, 0) || !hn_ret(c, 0) || hn_arg(c, 0)->n_elems == 0)
        return HONE_OK;
    question_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    hn_question_read(c, &s->question);
    s->x = hn_array_at(hn_arg(c, 0), NULL);
    s->y = hn_array_at(hn_ret(c, 0), NULL);
    *out = (hn_lowered){.run = run_question, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_question[1] = {{.lower = lower_question}};
