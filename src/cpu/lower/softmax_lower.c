/* Lowering of Softmax over contiguous rows of floats. */
#include "cpu/kernels/rows/row_loops.h"
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"

typedef struct softmax_step {
    void (*row)(int64_t n, const float *x, float *y);
    int64_t n_rows, n;
} softmax_step;

typedef struct softmax_run {
    const softmax_step *step;
    const float *x;
    float *y;
} softmax_run;

static void run_softmax_rows(void *ctx, int64_t begin, int64_t end) {
    const softmax_run *r = ctx;
    int64_t n = r->step->n;
    for (int64_t i = begin; i < end; i++)
        r->step->row(n, r->x + i * n, r->y + i * n);
}

static hone_status run_softmax(const void *record, const hn_step_io *io) {
    const softmax_step *s = record;
    softmax_run r = {s, io->in[0], io->out[0]};
    hn_pool_for(io->pool, s->n_rows, HN_MAX(HN_GRAIN / s->n, 1), run_softmax_rows, &r);
    return HONE_OK;
}

/* Before version 13 everything from the axis on is one row. */
static hone_status lower_softmax(hn_eval *c, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    if (!x || !hn_ret(c, 0) || x->dtype != HN_F32 || x->rank == 0 || x->n_elems == 0 || !loops ||
        strcmp(hn_infer_op(node), "Softmax") != 0)
        return HONE_OK;
    int64_t axis = hn_attr_i(node, "axis", -1);
    axis += axis < 0 ? x->rank : 0;
    if (axis < 0 || axis >= x->rank || (hn_infer_version(node) >= 13 && axis != x->rank - 1))
        return HONE_OK;
    softmax_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->row = loops->softmax;
    s->n_rows = (int64_t)hn_count((int32_t)axis, x->dims);
    s->n = (int64_t)x->n_elems / s->n_rows;
    *out = (hn_lowered){.run = run_softmax, .record = s};
    return HONE_OK;
}

const hn_lowering hn_lower_softmax[1] = {{.lower = lower_softmax}};
