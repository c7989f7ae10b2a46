/* Lowering of TopK of few elements; the evaluation of many takes its time elsewhere. */
#include "cpu/lower/lower.h"
#include "cpu/lower/copy_step.h"
#include "ops/eval/onnx/top_k_eval.h"

typedef struct top_k_step {
    hn_top_k_form form;
    hn_dtype dtype;
} top_k_step;

static hone_status run_top_k(const void *record, const hn_step_io *io) {
    const top_k_step *s = record;
    hn_array x = {.dtype = s->dtype, .data = (void *)(uintptr_t)io->in[0]};
    hn_top_k_run(&s->form, &x, io->out[0], io->out[1], io->scratch);
    return HONE_OK;
}

static hone_status lower_top_k(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0);
    if (!x || x->n_elems == 0 || !hn_is_whole_bytes(x->dtype) || !hn_arg_is_known(c, 1))
        return HONE_OK;
    top_k_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_top_k_read(c, &s->form));
    s->dtype = x->dtype;
    if (hn_n_rets(c) == 2 && hn_top_k_is_small(&s->form))
        *out =
            (hn_lowered){.run = run_top_k, .record = s, .scratch_bytes = hn_top_k_room(&s->form)};
    return HONE_OK;
}
const hn_lowering hn_lower_top_k[1] = {{.lower = lower_top_k}};
