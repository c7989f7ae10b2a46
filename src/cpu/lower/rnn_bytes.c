/* DynamicQuantizeLSTM: its weights, what its arguments say, and its products. */
#include "cpu/lower/rnn_bytes.h"

#include <math.h>

#include "cpu/kernels/quantize/quantize.h"
#include "cpu/lower/lower.h"
#include "cpu/lower/rnn_weights.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/ms/ms_eval.h"
#include "ops/eval/widen.h"

/* Scales and zero points follow in pairs. */
enum {
    BYTES_LSTM_W = 1,
    BYTES_LSTM_R,
    BYTES_LSTM_B,
    BYTES_LSTM_LENGTHS,
    BYTES_LSTM_H0,
    BYTES_LSTM_C0,
    BYTES_LSTM_P,
    BYTES_LSTM_SCALES
};

#define FEWEST_GATE_BYTES 1024 /* packing smaller ones takes no longer than finding them */

/* ---- products --------------------------------------------------------------------------------- */

static size_t quantized_bytes(const hn_gemm_int8_job *side, int64_t m) {
    size_t n = (size_t)(m * side->k);
    return (n + HN_GEMM_INT8_ALIGN - 1) / HN_GEMM_INT8_ALIGN * HN_GEMM_INT8_ALIGN;
}

static hn_gemm_int8_job job_of_rows(const hn_gemm_int8_job *side, int64_t m) {
    hn_gemm_int8_job job = *side;
    job.m = m;
    job.a_row = job.k;
    job.a_col = 1;
    job.n_a_zeros = 1;
    return job;
}

size_t hn_rnn_byte_scratch(const hn_gemm_int8_job *side, int64_t m) {
    hn_gemm_int8_job job = job_of_rows(side, m);
    return quantized_bytes(side, m) + hn_gemm_int8_workspace_bytes(&job);
}

void hn_rnn_meet_bytes(hn_pool *pool, const hn_rnn_byte_product *p) {
    hn_gemm_int8_job job = job_of_rows(p->side, p->m);
    uint64_t n = (uint64_t)(p->m * job.k);
    uint8_t *bytes = p->scratch;
    float zero;
    hn_quantize_find_scale(pool, n, p->a, &job.scale, &zero);
    hn_quantize_to_u8(pool, n, p->a, job.scale, zero, bytes);
    job.a = bytes;
    job.a_zeros = &(int32_t){(int32_t)zero};
    job.float_bias = p->bias;
    job.c = p->c;
    job.c_row = p->c_row;
    job.workspace = bytes + quantized_bytes(p->side, p->m);
    hn_gemm_int8(pool, &job);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* `what`: 0 for scales, 1 for zero points. */
static const hn_array *gate_scales(const hn_eval *c, uint32_t side, uint32_t what) {
    return hn_arg(c, BYTES_LSTM_SCALES + 2 * (side - BYTES_LSTM_W) + what);
}

static hone_status fill_wide_gates(void *job, void *out) {
    const hn_eval *c = job;
    float *to = out;
    for (uint32_t side = BYTES_LSTM_W; side <= BYTES_LSTM_R; side++) {
        hn_widen_gates(hn_arg(c, side), gate_scales(c, side, 0), gate_scales(c, side, 1), to);
        to += hn_arg(c, side)->n_elems;
    }
    return HONE_OK;
}

static bool has_gates(const hn_eval *c, uint32_t side) {
    const hn_array *w = hn_arg(c, side);
    if (!w || w->rank != 3 || w->n_elems < FEWEST_GATE_BYTES)
        return false;
    for (uint32_t what = 0; what < 2; what++) {
        const hn_array *numbers = gate_scales(c, side, what);
        uint64_t dirs = (uint64_t)w->dims[0];
        if (!numbers ||
            (numbers->n_elems != dirs && numbers->n_elems != dirs * (uint64_t)w->dims[2]))
            return false;
    }
    return true;
}

static uint64_t byte_gates_bytes(const hn_eval *c, uint32_t side) {
    const hn_array *w = hn_arg(c, side);
    return (uint64_t)w->dims[0] * hn_gemm_int8_packed_bytes(w->dims[2], w->dims[1]);
}

static hone_status fill_byte_gates(void *job, void *out) {
    const hn_eval *c = job;
    uint8_t *to = out;
    for (uint32_t side = BYTES_LSTM_W; side <= BYTES_LSTM_R; side++) {
        const hn_array *w = hn_arg(c, side);
        for (int64_t d = 0; d < w->dims[0]; d++) {
            hn_gemm_int8_job right = {.n = w->dims[2],
                                      .k = w->dims[1],
                                      .b = (const uint8_t *)w->data + d * w->dims[1] * w->dims[2],
                                      .b_is_signed = w->dtype == HN_I8,
                                      .b_row = w->dims[2],
                                      .b_col = 1};
            hn_gemm_int8_pack(NULL, &right, to);
            to += hn_gemm_int8_packed_bytes(right.n, right.k);
        }
    }
    return HONE_OK;
}

static bool has_usual_activations(const hn_eval *c) {
    hn_eval quiet = *c; /* what is wrong is said when it runs */
    hn_rnn_form f;
    quiet.err = NULL;
    return hn_arg(c, BYTES_LSTM_R)->dims[0] <= 2 &&
           hn_rnn_read_attrs(&quiet, HN_RNN_LSTM, &f) == HONE_OK && hn_rnn_is_usual(&f, HN_F32);
}

/* Where bytes are packed the weights stay for evaluations, which want others. */
hone_status hn_prepare_gates(hn_eval *c, void **state) {
    hn_blob_key key;
    hn_blob *blob;
    *state = NULL;
    if (!has_gates(c, BYTES_LSTM_W) || !has_gates(c, BYTES_LSTM_R))
        return HONE_OK;
    bool is_wide = !hn_gemm_int8_is_fast() || !has_usual_activations(c);
    uint64_t n = hn_arg(c, BYTES_LSTM_W)->n_elems + hn_arg(c, BYTES_LSTM_R)->n_elems;
    uint64_t n_bytes = is_wide
                           ? n * sizeof(float)
                           : byte_gates_bytes(c, BYTES_LSTM_W) + byte_gates_bytes(c, BYTES_LSTM_R);
    hn_prepared_key(c, &key, is_wide ? HN_BLOB_WIDE_GATES : HN_BLOB_RIGHT_SIDE_INT8, n_bytes);
    for (uint32_t side = BYTES_LSTM_W; side <= BYTES_LSTM_R; side++) {
        const hn_array *w = hn_arg(c, side);
        hn_blob_key_mix(&key, w->dims, 3 * sizeof *w->dims);
        hn_blob_key_mix(&key, &w->dtype, sizeof w->dtype);
        hn_prepared_key_arg(c, &key, side);
        hn_prepared_key_arg(c, &key, BYTES_LSTM_SCALES + 2 * (side - BYTES_LSTM_W));
        hn_prepared_key_arg(c, &key, BYTES_LSTM_SCALES + 2 * (side - BYTES_LSTM_W) + 1);
    }
    HN_TRY(hn_prepared_blob(c, &key, is_wide ? fill_wide_gates : fill_byte_gates, c, &blob));
    *state = blob;
    if (is_wide)
        c->packed_args |= 1u << BYTES_LSTM_W | 1u << BYTES_LSTM_R;
    return HONE_OK;
}

static const void *packed_gates(const hn_eval *c, hn_blob_kind kind) {
    const void *packed = hn_packed_int8(c);
    return packed && hn_blob_key_of(c->state)->kind == (uint32_t)kind ? packed : NULL;
}

const float *hn_packed_wide_gates(const hn_eval *c) {
    return packed_gates(c, HN_BLOB_WIDE_GATES);
}

/* ---- arguments -------------------------------------------------------------------------------- */

static bool has_elems(const hn_eval *c, uint32_t arg, int64_t n) {
    const hn_array *a = hn_arg(c, arg);
    return !a || a->n_elems == (uint64_t)n;
}

static bool are_gate_numbers(const hn_array *a, const hn_array *w) {
    uint64_t dirs = (uint64_t)w->dims[0];
    return a && a->data && (a->n_elems == dirs || a->n_elems == dirs * (uint64_t)w->dims[2]);
}

/* What an evaluation would complain about is left to it. */
static bool has_fitting_sizes(const hn_eval *c, const hn_rnn_form *f) {
    const hn_array *w = hn_arg(c, BYTES_LSTM_W), *r = hn_arg(c, BYTES_LSTM_R);
    bool is_bidirectional = hn_attr_is(hn_eval_node(c), "direction", "bidirectional");
    int64_t units = f->dirs * f->hidden, width = hn_rnn_width(f);
    return f->dirs == (is_bidirectional ? 2 : 1) && w->dims[0] == f->dirs &&
           w->dims[1] == f->input && w->dims[2] == width && r->dims[2] == width &&
           has_elems(c, BYTES_LSTM_B, 8 * units) && has_elems(c, BYTES_LSTM_LENGTHS, f->batch) &&
           has_elems(c, BYTES_LSTM_H0, f->batch * units) &&
           has_elems(c, BYTES_LSTM_C0, f->batch * units) && has_elems(c, BYTES_LSTM_P, 3 * units) &&
           are_gate_numbers(hn_arg(c, BYTES_LSTM_SCALES), w) &&
           are_gate_numbers(hn_arg(c, BYTES_LSTM_SCALES + 1), w) &&
           are_gate_numbers(hn_arg(c, BYTES_LSTM_SCALES + 2), r) &&
           are_gate_numbers(hn_arg(c, BYTES_LSTM_SCALES + 3), r);
}

/* The right sides of W or R; `packed` moves on behind them. */
static hone_status read_sides(hn_eval *c, uint32_t arg, const uint8_t **packed,
                              hn_gemm_int8_job *out) {
    uint32_t scales_arg = BYTES_LSTM_SCALES + 2 * (arg - BYTES_LSTM_W);
    const hn_array *w = hn_arg(c, arg), *scales = hn_arg(c, scales_arg),
                   *zeros = hn_arg(c, scales_arg + 1);
    int64_t dirs = w->dims[0], n = w->dims[2], k = w->dims[1];
    int64_t n_scales = (int64_t)scales->n_elems / dirs, n_zeros = (int64_t)zeros->n_elems / dirs;
    int32_t *wide = hn_lower_alloc(c, zeros->n_elems * sizeof *wide);
    HN_TRY_PTR(wide);
    for (uint64_t i = 0; i < zeros->n_elems; i++)
        wide[i] = hn_byte_at(zeros->data, zeros->dtype == HN_I8, (int64_t)i);
    for (int64_t d = 0; d < dirs; d++) {
        out[d] = (hn_gemm_int8_job){
            .n = n,
            .k = k,
            .b_is_signed = w->dtype == HN_I8,
            .b_zeros = wide + d * n_zeros,
            .n_b_zeros = n_zeros,
            .packed_b = *packed,
            .scales = (const float *)scales->data + d * n_scales,
            .n_scales = n_scales,
            .divisor = 1,
            .result = {.to = HN_INT8_TO_F32, .low = -INFINITY, .high = INFINITY}};
        *packed += hn_gemm_int8_packed_bytes(n, k);
    }
    return HONE_OK;
}

hone_status hn_rnn_read_bytes(hn_eval *c, bool *is_usual, hn_rnn_form *f, hn_rnn_bytes *out) {
    const hn_array *x = hn_arg(c, 0), *r = hn_arg(c, BYTES_LSTM_R);
    const uint8_t *packed = packed_gates(c, HN_BLOB_RIGHT_SIDE_INT8);
    *is_usual = false;
    if (!packed || !x || x->n_elems == 0 || !hn_arg(c, BYTES_LSTM_W) || !r)
        return HONE_OK;
    HN_TRY(hn_rnn_read_form(c, HN_RNN_LSTM, f));
    f->hidden = r->dims[1];
    if (f->dirs > 2 || !hn_rnn_is_usual(f, x->dtype) || !has_fitting_sizes(c, f))
        return HONE_OK;
    HN_TRY(read_sides(c, BYTES_LSTM_W, &packed, out->inputs));
    HN_TRY(read_sides(c, BYTES_LSTM_R, &packed, out->states));
    *is_usual = true;
    return HONE_OK;
}
