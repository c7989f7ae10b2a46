/* Lowering of channels-first convolutions of floats: constant filters are packed once, the job is
 * filled once per plan. */
#include "cpu/kernels/conv/conv_form.h"
#include "cpu/lower/lower.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/ms/ms_eval.h"
#include "ops/eval/onnx/window_eval.h"

/* The job points at the window and the form. */
typedef struct conv_step {
    hn_window window;
    hn_conv_form_f32 form;
    hn_conv_job_f32 job;
    hn_epilogue_f32 epilogue;
    bool has_bias, has_epilogue, has_residual;
} conv_step;

static hone_status run_conv(const void *record, const hn_step_io *io) {
    const conv_step *s = record;
    hn_conv_job_f32 job = s->job;
    hn_epilogue_f32 epilogue = s->epilogue;
    job.x = io->in[0];
    job.w = io->in[1];
    job.bias = s->has_bias ? io->in[2] : NULL;
    job.y = io->out[0];
    epilogue.residual = s->has_residual ? io->in[3] : NULL;
    job.epilogue = s->has_epilogue ? &epilogue : NULL;
    hn_conv_f32(io->pool, &job);
    return HONE_OK;
}

static bool are_floats(const hn_eval *c) {
    for (uint32_t i = 0; i < hn_n_args(c); i++)
        if (hn_arg(c, i) && hn_arg(c, i)->dtype != HN_F32)
            return false;
    return hn_arg(c, 0) && hn_arg(c, 1) && hn_ret(c, 0) && hn_ret(c, 0)->dtype == HN_F32;
}

/* NULL, with *status HONE_OK: the convolution is evaluated. */
static conv_step *new_conv(hn_eval *c, hone_status *status) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *y = hn_ret(c, 0);
    *status = HONE_OK;
    if (!are_floats(c) || y->n_elems == 0)
        return NULL;
    conv_step *s = hn_lower_alloc(c, sizeof *s);
    *status = s ? HONE_OK : HONE_E_NOMEM;
    if (!s)
        return NULL;
    hn_window_read(hn_eval_node(c), x->rank - 2, x->dims + 2, y->dims + 2, w->dims + 2, &s->window);
    s->job = (hn_conv_job_f32){.window = &s->window,
                               .batch = x->dims[0],
                               .channels = x->dims[1],
                               .filters = w->dims[0],
                               .groups = hn_attr_i(hn_eval_node(c), "group", 1),
                               .packed_w = hn_packed_weights(c)};
    hn_conv_form_read(&s->job, &s->form);
    s->job.form = &s->form;
    s->has_bias = hn_arg(c, 2) != NULL;
    return s;
}

static hone_status lower_conv(hn_eval *c, hn_lowered *out) {
    hone_status status;
    conv_step *s = new_conv(c, &status);
    if (s)
        *out = (hn_lowered){.run = run_conv, .record = s};
    return status;
}
const hn_lowering hn_lower_conv[1] = {
    {.lower = lower_conv, .prepare = hn_prepare_filters, .release = hn_release_weights}};

static bool has_shape_of(const hn_array *a, const hn_array *b) {
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static hone_status lower_fused_conv(hn_eval *c, hn_lowered *out) {
    hone_status status;
    conv_step *s = new_conv(c, &status);
    const hn_array *sum = hn_arg(c, 3);
    if (!s || (sum && !has_shape_of(sum, hn_ret(c, 0))) || !hn_fused_epilogue(c, &s->epilogue))
        return status;
    s->has_residual = sum != NULL;
    s->has_epilogue = true;
    *out = (hn_lowered){.run = run_conv, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_fused_conv[1] = {
    {.lower = lower_fused_conv, .prepare = hn_prepare_filters, .release = hn_release_weights}};
