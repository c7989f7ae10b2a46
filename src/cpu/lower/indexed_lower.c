/* Lowering of GatherElements, GatherND, ScatterElements and ScatterND. */
#include "cpu/lower/lower.h"
#include "ops/eval/onnx/indexed_copy.h"

typedef struct indexed_step {
    hn_indexed_form form;
    hn_indexed_run_fn run;
    bool has_updates;
} indexed_step;

static hone_status run_indexed(const void *record, const hn_step_io *io) {
    const indexed_step *s = record;
    return s->run(NULL, &s->form,
                  &(hn_indexed_io){.x = io->in[0],
                                   .indices = io->in[1],
                                   .updates = s->has_updates ? io->in[2] : NULL,
                                   .y = io->out[0],
                                   .pool = io->pool,
                                   .err = io->err});
}

static hone_status lower_indexed(hn_eval *c, hn_indexed_read_fn read, hn_indexed_run_fn run,
                                 hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    if (!x || !hn_arg(c, 1) || !y || y->n_elems == 0 || !hn_is_whole_bytes(x->dtype))
        return HONE_OK;
    indexed_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(read(c, &s->form));
    s->run = run;
    s->has_updates = hn_arg(c, 2) != NULL;
    *out = (hn_lowered){.run = run_indexed, .record = s};
    return HONE_OK;
}

/* Dims that the form refers to are those of the plan. */
static hone_status lower_gather_elements(hn_eval *c, hn_lowered *out) {
    return lower_indexed(c, hn_gather_elements_read, hn_gather_elements_run, out);
}
const hn_lowering hn_lower_gather_elements[1] = {{.lower = lower_gather_elements}};

static hone_status lower_gather_nd(hn_eval *c, hn_lowered *out) {
    return lower_indexed(c, hn_gather_nd_read, hn_gather_nd_run, out);
}
const hn_lowering hn_lower_gather_nd[1] = {{.lower = lower_gather_nd}};

static hone_status lower_scatter_elements(hn_eval *c, hn_lowered *out) {
    return lower_indexed(c, hn_scatter_elements_read, hn_scatter_elements_run, out);
}
const hn_lowering hn_lower_scatter_elements[1] = {{.lower = lower_scatter_elements}};

static hone_status lower_scatter_nd(hn_eval *c, hn_lowered *out) {
    return lower_indexed(c, hn_scatter_nd_read, hn_scatter_nd_run, out);
}
const hn_lowering hn_lower_scatter_nd[1] = {{.lower = lower_scatter_nd}};
