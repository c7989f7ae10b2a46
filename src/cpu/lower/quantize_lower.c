/* Lowering of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear. */
#include "cpu/lower/lower.h"
#include "ops/eval/onnx/quantize_eval.h"

/* Scales or zero points: floats that are known, or an argument that becomes floats in each run. */
typedef struct quant_numbers {
    hn_array form; /* without data; no elements: there are none */
    const float *known;
} quant_numbers;

typedef struct quant_step {
    hn_quant form;
    bool is_back;
    hn_array x, y; /* without data */
    quant_numbers scale, zero;
} quant_step;

static const float *quant_floats(const quant_numbers *q, const void *data, float *room) {
    if (q->form.n_elems == 0 || q->known)
        return q->known;
    if (q->form.dtype == HN_F32)
        return data;
    hn_array given = hn_array_at(&q->form, data);
    hn_load_f32(&given, 0, given.n_elems, room);
    return room;
}

static hone_status run_quant(const void *record, const hn_step_io *io) {
    const quant_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->out[0]);
    float *room = io->scratch;
    const float *scale = quant_floats(&s->scale, io->in[1], room);
    const float *zero = s->zero.form.n_elems
                            ? quant_floats(&s->zero, io->in[2], room + s->scale.form.n_elems)
                            : NULL;
    hn_quant_run(io->pool, &s->form, s->is_back, &x, &y, scale, zero);
    return HONE_OK;
}

static hone_status fill_numbers(hn_eval *c, const hn_array *given, quant_numbers *q) {
    q->form = hn_array_at(given, NULL);
    if (!given->data)
        return HONE_OK;
    float *known = hn_lower_alloc(c, given->n_elems * sizeof *known);
    HN_TRY_PTR(known);
    hn_load_f32(given, 0, given->n_elems, known);
    q->known = known;
    return HONE_OK;
}

static hone_status lower_quant(hn_eval *c, bool is_back, hn_lowered *out) {
    const hn_array *x = hn_arg(c, 0), *scale = hn_arg(c, 1), *zero = hn_arg(c, 2);
    if (!x || !scale || !hn_ret(c, 0) || x->n_elems == 0 || scale->n_elems == 0)
        return HONE_OK;
    quant_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    HN_TRY(hn_quant_read(c, &s->form));
    s->is_back = is_back;
    s->x = hn_array_at(x, NULL);
    s->y = hn_array_at(hn_ret(c, 0), NULL);
    HN_TRY(fill_numbers(c, scale, &s->scale));
    HN_TRY(zero ? fill_numbers(c, zero, &s->zero) : HONE_OK);
    *out = (hn_lowered){.run = run_quant, .record = s};
    bool is_known = s->scale.known && (!zero || s->zero.known);
    out->scratch_bytes = is_known ? 0 : 2 * scale->n_elems * sizeof(float);
    return HONE_OK;
}

static hone_status lower_quantize_linear(hn_eval *c, hn_lowered *out) {
    return lower_quant(c, false, out);
}
const hn_lowering hn_lower_quantize_linear[1] = {{.lower = lower_quantize_linear}};
static hone_status lower_dequantize_linear(hn_eval *c, hn_lowered *out) {
    return lower_quant(c, true, out);
}
const hn_lowering hn_lower_dequantize_linear[1] = {{.lower = lower_dequantize_linear}};

/* ---- DynamicQuantizeLinear ------------------------------------------------------------------- */

typedef struct dynamic_quant_step {
    uint64_t n;
} dynamic_quant_step;

static hone_status run_dynamic_quant(const void *record, const hn_step_io *io) {
    const dynamic_quant_step *s = record;
    hn_dynamic_quantize(io->pool, s->n, io->in[0], io->out[0], io->out[1], io->out[2]);
    return HONE_OK;
}

static hone_status lower_dynamic_quantize_linear(hn_eval *c, hn_lowered *out) {
    if (!hn_arg(c, 0) || hn_n_rets(c) != 3)
        return HONE_OK;
    dynamic_quant_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->n = hn_arg(c, 0)->n_elems;
    *out = (hn_lowered){.run = run_dynamic_quant, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_dynamic_quantize_linear[1] = {{.lower = lower_dynamic_quantize_linear}};
