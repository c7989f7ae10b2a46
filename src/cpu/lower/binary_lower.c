/* Lowering of functions of two operands that broadcast, for types that have a loop of their own. */
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

typedef struct binary_step {
    hn_binary_fn fn;
    size_t x_bytes, out_bytes;              /* per element */
    int64_t n;                              /* elements, or of one row where rows are strided */
    int x_step, y_step;                     /* 0: the operand is one element */
    int64_t n_rows;                         /* 0: rows are contiguous */
    int64_t x_stride, y_stride, out_stride; /* from row to row, in bytes */
    hn_broadcast_walk walk;                 /* where operands are repeated in other ways */
} binary_step;

typedef struct binary_run {
    const binary_step *step;
    const uint8_t *x, *y;
    uint8_t *out;
} binary_run;

static void run_binary_range(void *ctx, int64_t begin, int64_t end) {
    const binary_run *r = ctx;
    const binary_step *s = r->step;
    size_t at = (size_t)begin;
    s->fn(r->x + (s->x_step ? at * s->x_bytes : 0), s->x_step,
          r->y + (s->y_step ? at * s->x_bytes : 0), s->y_step, r->out + at * s->out_bytes,
          (uint64_t)(end - begin));
}

static hone_status run_binary(const void *record, const hn_step_io *io) {
    const binary_step *s = record;
    binary_run r = {s, io->in[0], io->in[1], io->out[0]};
    if (s->n <= HN_GRAIN)
        s->fn(r.x, s->x_step, r.y, s->y_step, r.out, (uint64_t)s->n);
    else
        hn_pool_for(io->pool, s->n, HN_GRAIN, run_binary_range, &r);
    return HONE_OK;
}

static void run_binary_row_range(void *ctx, int64_t begin, int64_t end) {
    const binary_run *r = ctx;
    const binary_step *s = r->step;
    for (int64_t i = begin; i < end; i++)
        s->fn(r->x + i * s->x_stride, 1, r->y + i * s->y_stride, 1, r->out + i * s->out_stride,
              (uint64_t)s->n);
}

static hone_status run_binary_rows(const void *record, const hn_step_io *io) {
    const binary_step *s = record;
    binary_run r = {s, io->in[0], io->in[1], io->out[0]};
    hn_pool_for(io->pool, s->n_rows, HN_MAX(1, HN_GRAIN / HN_MAX(s->n, 1)), run_binary_row_range,
                &r);
    return HONE_OK;
}

static hone_status run_binary_broadcast(const void *record, const hn_step_io *io) {
    const binary_step *s = record;
    hn_binary_job job = {s->fn, io->in[0], io->in[1], io->out[0], s->x_bytes, s->out_bytes};
    hn_broadcast_run(io->pool, &s->walk, hn_binary_box, &job);
    return HONE_OK;
}

static hone_status lower_strided(hn_eval *c, binary_step *s, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_arg(c, 1), *z = hn_ret(c, 0);
    s->n_rows = hn_n_rows(z);
    s->n = z->dims[z->rank - 1];
    s->x_stride = hn_row_stride(x) * (int64_t)s->x_bytes;
    s->y_stride = hn_row_stride(y) * (int64_t)s->x_bytes;
    s->out_stride = hn_row_stride(z) * (int64_t)s->out_bytes;
    *out = (hn_lowered){.run = run_binary_rows, .record = s};
    return HONE_OK;
}

static hone_status lower_broadcast(hn_eval *c, const hn_array *const *in, binary_step *s,
                                   hn_lowered *out) {
    hn_walk_axis axes[HN_MAX_RANK];
    s->walk.axes = axes;
    hn_broadcast_plan(&s->walk, hn_ret(c, 0), 2, in);
    *out = (hn_lowered){.run = run_binary, .record = s};
    if (s->walk.rank <= 1) { /* one run over all elements */
        s->x_step = s->walk.rank && axes[0].strides[0];
        s->y_step = s->walk.rank && axes[0].strides[1];
        return HONE_OK;
    }
    s->walk.axes = hn_lower_alloc(c, (size_t)s->walk.rank * sizeof *axes);
    HN_TRY_PTR(s->walk.axes);
    memcpy(s->walk.axes, axes, (size_t)s->walk.rank * sizeof *axes);
    out->run = run_binary_broadcast;
    return HONE_OK;
}

static hn_binary_fn loop_for(const hn_binary_op *op, hn_dtype t) {
    return t == HN_F32 ? hn_binary_float_loop(op) : op->by_type[t];
}

/* Before version 7 the second operand was laid along an axis: that is evaluated. */
static hone_status lower_binary(hn_eval *c, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *y = hn_arg(c, 1), *z = hn_ret(c, 0);
    const hn_binary_op *op = hn_binary_find(hn_infer_op(node));
    if (!x || !y || !z || hn_n_args(c) != 2 || !op || x->dtype != y->dtype || z->n_elems == 0 ||
        hn_has_attr(node, "axis") || !loop_for(op, x->dtype))
        return HONE_OK;
    binary_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->fn = loop_for(op, x->dtype);
    s->x_bytes = hn_elem_bytes(x->dtype);
    s->out_bytes = hn_elem_bytes(z->dtype);
    s->n = (int64_t)z->n_elems;
    if (x->row_stride || y->row_stride || z->row_stride)
        return lower_strided(c, s, out);
    const hn_array *in[] = {x, y};
    return lower_broadcast(c, in, s, out);
}

const hn_lowering hn_lower_binary[1] = {
    {.lower = lower_binary,
     .row_strides = {.args = UINT64_MAX, .rets = true, .want_one_type = true}}};

/* Integers are evaluated: a divisor may be zero. */
static hone_status lower_div(hn_eval *c, hn_lowered *out) {
    return hn_arg(c, 0) && hn_arg(c, 0)->dtype == HN_F32 ? lower_binary(c, out) : HONE_OK;
}
const hn_lowering hn_lower_div[1] = {{.lower = lower_div}};
