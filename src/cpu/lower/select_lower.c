/* Lowering of Where. */
#include "cpu/lower/lower.h"
#include "ops/eval/copy.h"
#include "ops/eval/eval_broadcast.h"

typedef struct select_step {
    hn_row_fn fn;
    hn_select_fn fast;
    size_t elem_bytes;
    hn_broadcast_walk walk;
    hn_row row; /* all elements at once, where there are few enough and all operands follow them */
} select_step;

static hone_status run_select(const void *record, const hn_step_io *io) {
    const select_step *s = record;
    hn_select_job job = {io->in[0], io->in[1], io->in[2], io->out[0], s->elem_bytes, s->fast};
    if (s->row.n)
        s->fn(&job, &s->row);
    else
        hn_broadcast_run_rows(io->pool, &s->walk, s->fn, &job);
    return HONE_OK;
}

static hone_status plan_select(hn_eval *c, const hn_array *const *in, select_step *s) {
    hn_walk_axis axes[HN_MAX_RANK];
    s->walk.axes = axes;
    hn_broadcast_plan(&s->walk, hn_ret(c, 0), 3, in);
    if (s->walk.rank <= 1 && s->walk.n_elems <= HN_GRAIN) {
        s->row.n = s->walk.n_elems;
        for (int k = 0; k < 3; k++)
            s->row.step[k] = s->walk.rank && axes[0].strides[k];
    }
    s->walk.axes = hn_lower_alloc(c, ((size_t)s->walk.rank + 1) * sizeof *axes);
    HN_TRY_PTR(s->walk.axes);
    memcpy(s->walk.axes, axes, (size_t)s->walk.rank * sizeof *axes);
    return HONE_OK;
}

static hone_status lower_where(hn_eval *c, hn_lowered *out) {
    const hn_array *in[] = {hn_arg(c, 0), hn_arg(c, 1), hn_arg(c, 2)}, *z = hn_ret(c, 0);
    if (!in[0] || !in[1] || !in[2] || !z || z->n_elems == 0 || !hn_is_whole_bytes(z->dtype))
        return HONE_OK;
    select_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(plan_select(c, in, s));
    s->elem_bytes = hn_elem_bytes(z->dtype);
    s->fast = hn_select_find(s->elem_bytes);
    s->fn = hn_select_row_fn(&(hn_select_job){.elem_bytes = s->elem_bytes, .fast = s->fast});
    *out = (hn_lowered){.run = run_select, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_where[1] = {{.lower = lower_where}};
