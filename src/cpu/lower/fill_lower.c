/* Lowering of operators that fill and copy: Trilu, OneHot. */
#include "cpu/lower/lower.h"
#include "cpu/lower/copy_step.h"

static hn_array step_array(hn_dtype t, const void *data) {
    return (hn_array){.dtype = t, .data = (void *)(uintptr_t)data};
}

typedef struct trilu_step {
    hn_trilu_form form;
    hn_dtype dtype;
} trilu_step;

static hone_status run_trilu(const void *record, const hn_step_io *io) {
    const trilu_step *s = record;
    hn_array x = step_array(s->dtype, io->in[0]), y = step_array(s->dtype, io->out[0]);
    return hn_trilu_run(NULL, &s->form, &y, &x);
}

static hone_status lower_trilu(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    if (!x || !y || y->n_elems == 0 || !hn_is_whole_bytes(x->dtype) || !hn_arg_is_known(c, 1))
        return HONE_OK;
    trilu_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    hn_trilu_read(c, &s->form);
    s->dtype = x->dtype;
    *out = (hn_lowered){.run = run_trilu, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_trilu[1] = {{.lower = lower_trilu}};

typedef struct one_hot_step {
    hn_split3 size;
    hn_dtype index_type, dtype;
} one_hot_step;

static hone_status run_one_hot(const void *record, const hn_step_io *io) {
    const one_hot_step *s = record;
    hn_array indices = step_array(s->index_type, io->in[0]),
             values = step_array(s->dtype, io->in[2]), y = step_array(s->dtype, io->out[0]);
    return hn_one_hot_run(NULL, &s->size, &y, &indices, &values);
}

/* The depth decides about the shape of the result: one that is not known has no plan. */
static hone_status lower_one_hot(hn_eval *c, hn_lowered *out) {
    const hn_array *indices = hn_arg(c, 0), *values = hn_arg(c, 2), *y = hn_ret(c, 0);
    int32_t axis;
    int64_t depth;
    if (!indices || !values || !y || y->n_elems == 0 || values->n_elems != 2 ||
        !hn_is_whole_bytes(y->dtype) || !hn_arg(c, 1) || !hn_arg(c, 1)->data)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", -1), y->rank, &axis));
    hn_load_i64(hn_arg(c, 1), 0, 1, &depth);
    if (depth != y->dims[axis])
        return HONE_OK;
    one_hot_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (one_hot_step){hn_split_at(y->rank, y->dims, axis), indices->dtype, y->dtype};
    *out = (hn_lowered){.run = run_one_hot, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_one_hot[1] = {{.lower = lower_one_hot}};
