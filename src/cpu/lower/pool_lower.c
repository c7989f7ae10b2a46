/* Lowering of pooling over [N, C, spatial...]. Elements that are no floats become some on the way.
 */
#include "cpu/lower/lower.h"
#include "ops/eval/onnx/pool_eval.h"

typedef struct pool_step {
    hn_pooling form;
    hn_array x, y; /* without data */
    int64_t n_planes;
    bool has_indices;
} pool_step;

static int64_t *pool_indices(const hn_step_io *io, const pool_step *s) {
    return s->has_indices ? io->out[1] : NULL;
}

static hone_status run_pool_floats(const void *record, const hn_step_io *io) {
    const pool_step *s = record;
    hn_pooling_run_floats(io->pool, &s->form, s->n_planes, io->in[0], io->out[0],
                          pool_indices(io, s));
    return HONE_OK;
}

static hone_status run_pool_doubles(const void *record, const hn_step_io *io) {
    const pool_step *s = record;
    hn_pooling_run_f64(io->pool, &s->form, s->n_planes, io->in[0], io->out[0], pool_indices(io, s));
    return HONE_OK;
}

static hone_status run_pool_widened(const void *record, const hn_step_io *io) {
    const pool_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    float *wide_x = io->scratch, *wide_y = wide_x + x.n_elems;
    hn_load_f32(&x, 0, x.n_elems, wide_x);
    hn_pooling_run_floats(io->pool, &s->form, s->n_planes, wide_x, wide_y, pool_indices(io, s));
    hn_store_f32(&y, 0, y.n_elems, wide_y);
    return HONE_OK;
}

static hone_status lower_pool(hn_eval *c, hn_pooling_kind kind, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    if (!x || !y || x->rank < 3 || x->n_elems == 0 || y->n_elems == 0)
        return HONE_OK;
    pool_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_pooling_read(c, kind, y->dims + 2, &s->form));
    s->x = hn_array_at(x, NULL);
    s->y = hn_array_at(y, NULL);
    s->n_planes = x->dims[0] * x->dims[1];
    s->has_indices = hn_n_rets(c) > 1 && hn_ret(c, 1);
    bool is_wide = x->dtype == HN_F32 || x->dtype == HN_F64;
    *out = (hn_lowered){.run = x->dtype == HN_F32   ? run_pool_floats
                               : x->dtype == HN_F64 ? run_pool_doubles
                                                    : run_pool_widened,
                        .record = s};
    out->scratch_bytes = is_wide ? 0 : (x->n_elems + y->n_elems) * sizeof(float);
    return HONE_OK;
}

static hone_status lower_max_pool(hn_eval *c, hn_lowered *out) {
    return lower_pool(c, HN_POOL_MAX, out);
}
const hn_lowering hn_lower_max_pool[1] = {{.lower = lower_max_pool}};
static hone_status lower_average_pool(hn_eval *c, hn_lowered *out) {
    return lower_pool(c, HN_POOL_AVERAGE, out);
}
const hn_lowering hn_lower_average_pool[1] = {{.lower = lower_average_pool}};
static hone_status lower_lp_pool(hn_eval *c, hn_lowered *out) {
    return lower_pool(c, HN_POOL_LP, out);
}
const hn_lowering hn_lower_lp_pool[1] = {{.lower = lower_lp_pool}};

/* ---- global ---------------------------------------------------------------------------------- */

typedef struct global_pool_step {
    hn_global_pooling form;
    hn_array x, y; /* without data */
} global_pool_step;

static hone_status run_global_pool(const void *record, const hn_step_io *io) {
    const global_pool_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    hn_global_pooling_run(io->pool, &s->form, &x, &y);
    return HONE_OK;
}

static hone_status lower_global_pool(hn_eval *c, hn_pooling_kind kind, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    if (!x || !y || y->n_elems == 0)
        return HONE_OK;
    global_pool_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    hn_global_pooling_read(c, kind, &s->form);
    s->x = hn_array_at(x, NULL);
    s->y = hn_array_at(y, NULL);
    *out = (hn_lowered){.run = run_global_pool, .record = s};
    return HONE_OK;
}

static hone_status lower_global_average_pool(hn_eval *c, hn_lowered *out) {
    return lower_global_pool(c, HN_POOL_AVERAGE, out);
}
const hn_lowering hn_lower_global_average_pool[1] = {{.lower = lower_global_average_pool}};
static hone_status lower_global_max_pool(hn_eval *c, hn_lowered *out) {
    return lower_global_pool(c, HN_POOL_MAX, out);
}
const hn_lowering hn_lower_global_max_pool[1] = {{.lower = lower_global_max_pool}};
static hone_status lower_global_lp_pool(hn_eval *c, hn_lowered *out) {
    return lower_global_pool(c, HN_POOL_LP, out);
}
const hn_lowering hn_lower_global_lp_pool[1] = {{.lower = lower_global_lp_pool}};
