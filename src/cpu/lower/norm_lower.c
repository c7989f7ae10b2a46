/* Lowering of the normalizations of [N, C, ...]: batch, instance, group, local response. */
#include "cpu/lower/lower.h"
#include "ops/eval/onnx/norm_eval.h"

/* ---- batch ----------------------------------------------------------------------------------- */

typedef struct batch_norm_step {
    hn_batch_norm form;
    hn_array x, y, parameters[4]; /* without data: scale, bias, mean, variance */
    const double *factor, *shift; /* per channel; NULL: found in each run */
    const float *image;           /* with them */
} batch_norm_step;

/* Factors and shifts, and what is made of them. */
static size_t batch_norm_bytes(const hn_batch_norm *b) {
    return (size_t)(2 * b->n_channels * sizeof(double) +
                    hn_batch_norm_image_elems(b) * sizeof(float));
}

static hone_status run_batch_norm(const void *record, const hn_step_io *io) {
    const batch_norm_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    if (s->factor) {
        hn_batch_norm_run(io->pool, &s->form, &x, &y, s->factor, s->shift, s->image);
        return HONE_OK;
    }
    double *factor = io->scratch, *shift = factor + s->form.n_channels;
    float *image = (float *)(shift + s->form.n_channels);
    hn_array p[4];
    for (int i = 0; i < 4; i++)
        p[i] = hn_array_at(&s->parameters[i], io->in[i + 1]);
    hn_batch_norm_join(&s->form, &p[0], &p[1], &p[2], &p[3], factor, shift);
    hn_batch_norm_spread(&s->form, factor, shift, image);
    hn_batch_norm_run(io->pool, &s->form, &x, &y, factor, shift, image);
    return HONE_OK;
}

/* Parameters that no run can change are joined now. */
static hone_status join_known(hn_eval *c, batch_norm_step *s) {
    const hn_array *p[4];
    for (uint32_t i = 0; i < 4; i++) {
        p[i] = hn_arg(c, i + 1);
        if (!p[i]->data)
            return HONE_OK;
    }
    double *both = hn_lower_alloc(c, batch_norm_bytes(&s->form));
    HN_TRY_PTR(both);
    float *image = (float *)(both + 2 * s->form.n_channels);
    hn_batch_norm_join(&s->form, p[0], p[1], p[2], p[3], both, both + s->form.n_channels);
    hn_batch_norm_spread(&s->form, both, both + s->form.n_channels, image);
    s->factor = both;
    s->shift = both + s->form.n_channels;
    s->image = image;
    return HONE_OK;
}

static hone_status lower_batch_norm(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    for (uint32_t i = 0; i < 5; i++)
        if (!hn_arg(c, i))
            return HONE_OK;
    if (!y || x->n_elems == 0 || x->dtype != y->dtype || hn_batch_norm_trains(c))
        return HONE_OK;
    batch_norm_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_batch_norm_read(c, &s->form));
    s->x = hn_array_at(x, NULL);
    s->y = hn_array_at(y, NULL);
    for (uint32_t i = 0; i < 4; i++)
        s->parameters[i] = hn_array_at(hn_arg(c, i + 1), NULL);
    HN_TRY(join_known(c, s));
    *out = (hn_lowered){.run = run_batch_norm, .record = s};
    out->scratch_bytes = s->factor ? 0 : batch_norm_bytes(&s->form);
    return HONE_OK;
}
const hn_lowering hn_lower_batch_norm[1] = {{.lower = lower_batch_norm}};

/* ---- instance and group ---------------------------------------------------------------------- */

typedef struct group_norm_step {
    hn_group_norm form;
    hn_array x, scale, bias, y; /* without data */
} group_norm_step;

static hone_status run_group_norm_step(const void *record, const hn_step_io *io) {
    const group_norm_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), scale = hn_array_at(&s->scale, io->in[1]),
             bias = hn_array_at(&s->bias, io->in[2]), y = hn_array_at(&s->y, io->out[0]);
    hn_group_norm_run(io->pool, &s->form, &x, &scale, &bias, &y);
    return HONE_OK;
}

static bool groups_fit(const hn_group_norm *g, const hn_array *parameter) {
    return parameter->n_elems == g->n_groups * (g->is_scaled_by_group ? 1 : g->per_group);
}

static hone_status lower_group_norm(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *scale = hn_arg(c, 1), *bias = hn_arg(c, 2);
    if (!x || !scale || !bias || !hn_ret(c, 0) || x->n_elems == 0 ||
        hn_attr_i(hn_eval_node(c), "num_groups", 1) < 1)
        return HONE_OK;
    group_norm_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_group_norm_read(c, &s->form));
    if (!groups_fit(&s->form, scale) || !groups_fit(&s->form, bias) ||
        x->n_elems != s->form.n_rows * s->form.per_group * s->form.inner)
        return HONE_OK;
    s->x = hn_array_at(x, NULL);
    s->scale = hn_array_at(scale, NULL);
    s->bias = hn_array_at(bias, NULL);
    s->y = hn_array_at(hn_ret(c, 0), NULL);
    *out = (hn_lowered){.run = run_group_norm_step, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_group_norm[1] = {{.lower = lower_group_norm}};

/* ---- local response -------------------------------------------------------------------------- */

typedef struct lrn_step {
    hn_response_norm form;
    hn_array x, y; /* without data */
} lrn_step;

static hone_status run_lrn(const void *record, const hn_step_io *io) {
    const lrn_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    hn_response_norm_run(io->pool, &s->form, &x, &y);
    return HONE_OK;
}

static hone_status lower_lrn(hn_eval *c, hn_lowered *out) {
    if (!hn_arg(c, 0) || !hn_ret(c, 0) || hn_arg(c, 0)->n_elems == 0)
        return HONE_OK;
    lrn_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_response_norm_read(c, &s->form));
    s->x = hn_array_at(hn_arg(c, 0), NULL);
    s->y = hn_array_at(hn_ret(c, 0), NULL);
    *out = (hn_lowered){.run = run_lrn, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_lrn[1] = {{.lower = lower_lrn}};
