/* Lowering of DFT and STFT of floats: tables are made once per plan. */
#include "cpu/lower/copy_step.h"
#include "cpu/lower/lower.h"
#include "ops/eval/onnx/fourier_eval.h"

typedef struct fourier_step {
    hn_fourier_form form;
    bool is_double;
} fourier_step;

static hn_fourier_io fourier_io(const fourier_step *s, const hn_step_io *io) {
    return (hn_fourier_io){.is_double = s->is_double,
                           .x = io->in[0],
                           .window = s->form.has_window ? io->in[2] : NULL,
                           .y = io->out[0],
                           .room = io->scratch};
}

static hone_status run_dft(const void *record, const hn_step_io *io) {
    const fourier_step *s = record;
    hn_fourier_io lines = fourier_io(s, io);
    hn_dft_run(io->pool, &s->form, &lines);
    return HONE_OK;
}

static hone_status run_stft(const void *record, const hn_step_io *io) {
    const fourier_step *s = record;
    hn_fourier_io lines = fourier_io(s, io);
    hn_stft_run(io->pool, &s->form, &lines);
    return HONE_OK;
}

/* NULL, with *status HONE_OK: it is evaluated. */
static fourier_step *new_fourier(hn_eval *c, hone_status (*read)(hn_eval *, hn_fourier_form *),
                                 hone_status *status) {
    const hn_array *x = hn_arg(c, 0), *y = hn_ret(c, 0);
    *status = HONE_OK;
    if (!x || !y || y->n_elems == 0 || x->dtype != y->dtype ||
        (x->dtype != HN_F32 && x->dtype != HN_F64))
        return NULL;
    fourier_step *s = hn_lower_alloc(c, sizeof *s);
    *status = s ? read(c, &s->form) : HONE_E_NOMEM;
    if (*status != HONE_OK)
        return NULL;
    s->is_double = x->dtype == HN_F64;
    return s;
}

static size_t fourier_scratch(const hn_eval *c, const fourier_step *s) {
    return (size_t)hn_lower_threads(c) * (size_t)hn_fourier_room(&s->form) * sizeof(double);
}

static hone_status lower_dft(hn_eval *c, hn_lowered *out) {
    hone_status status;
    if (!hn_args_are_known(c, 1))
        return HONE_OK;
    fourier_step *s = new_fourier(c, hn_dft_read, &status);
    if (s)
        *out = (hn_lowered){.run = run_dft, .record = s, .scratch_bytes = fourier_scratch(c, s)};
    return status;
}
const hn_lowering hn_lower_dft[1] = {{.lower = lower_dft}};

/* The window may be computed by the run. */
static hone_status lower_stft(hn_eval *c, hn_lowered *out) {
    const hn_array *window = hn_arg(c, 2);
    hone_status status;
    if (!hn_arg_is_known(c, 1) || !hn_arg_is_known(c, 3) ||
        (window && window->dtype != hn_arg(c, 0)->dtype))
        return HONE_OK;
    fourier_step *s = new_fourier(c, hn_stft_read, &status);
    if (s)
        *out = (hn_lowered){.run = run_stft, .record = s, .scratch_bytes = fourier_scratch(c, s)};
    return status;
}
const hn_lowering hn_lower_stft[1] = {{.lower = lower_stft}};
