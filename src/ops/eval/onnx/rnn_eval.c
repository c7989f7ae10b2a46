/* Recurrent layers, computed: inputs meet their weights in one product, then the steps run one
 * after the other. */
#include "ops/eval/onnx/rnn_eval.h"

#include <math.h>

#include "cpu/kernels/rnn/rnn_cells.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/ms/ms_eval.h"

/* ---- activations ----------------------------------------------------------------------------- */

static double rnn_activate(const hn_rnn_act *act, double v) {
    switch (act->kind) {
    case HN_ACT_Affine:
        return act->alpha * v + act->beta;
    case HN_ACT_Relu:
        return fmax(v, 0);
    case HN_ACT_LeakyRelu:
        return v >= 0 ? v : act->alpha * v;
    case HN_ACT_ThresholdedRelu:
        return v > act->alpha ? v : 0;
    case HN_ACT_Tanh:
        return tanh(v);
    case HN_ACT_ScaledTanh:
        return act->alpha * tanh(act->beta * v);
    case HN_ACT_Sigmoid:
        return 1 / (1 + exp(-v));
    case HN_ACT_HardSigmoid:
        return fmin(fmax(act->alpha * v + act->beta, 0), 1);
    case HN_ACT_Elu:
        return v >= 0 ? v : act->alpha * expm1(v);
    case HN_ACT_Softsign:
        return v / (1 + fabs(v));
    case HN_ACT_Softplus:
        return fmax(v, 0) + log1p(exp(-fabs(v)));
    default: /* no recurrent layer has it */
        return v;
    }
}

/* ---- attributes ------------------------------------------------------------------------------ */

int64_t hn_rnn_time(const hn_rnn_form *f, int64_t b, int64_t step, bool reverse) {
    int64_t n = f->lengths ? f->lengths[b] : f->seq;
    return step >= n ? -1 : reverse ? n - 1 - step : step;
}

int64_t hn_rnn_row(const hn_rnn_form *f, int64_t b, int64_t t) {
    return t < 0 ? -1 : f->batch_first ? b * f->seq + t : t * f->batch + b;
}

int64_t hn_rnn_state_at(const hn_rnn_form *f, int64_t dir, int64_t b) {
    return (f->batch_first ? b * f->dirs + dir : dir * f->batch + b) * f->hidden;
}

int64_t hn_rnn_output_at(const hn_rnn_form *f, int64_t dir, int64_t b, int64_t t) {
    int64_t at =
        f->batch_first ? (b * f->seq + t) * f->dirs + dir : (t * f->dirs + dir) * f->batch + b;
    return at * f->hidden;
}

static bool find_rnn_act(hn_bytes name, hn_rnn_act *act) {
    if (!hn_activation_find_rnn(name, &act->kind))
        return false;
    act->alpha = hn_activation_at(act->kind)->defaults[0];
    act->beta = hn_activation_at(act->kind)->defaults[1];
    return true;
}

/* Alphas and betas are given in order to those activations that take one. */
static hone_status read_rnn_acts(hn_eval *c, hn_rnn_form *f) {
    static const hn_activation_id defaults[3][3] = {
        [HN_RNN_PLAIN] = {HN_ACT_Tanh},
        [HN_RNN_GRU] = {HN_ACT_Sigmoid, HN_ACT_Tanh},
        [HN_RNN_LSTM] = {HN_ACT_Sigmoid, HN_ACT_Tanh, HN_ACT_Tanh}};
    const hn_infer *node = hn_eval_node(c);
    const hn_attr *names = hn_attr_raw(node, "activations"),
                  *alphas = hn_attr_raw(node, "activation_alpha");
    const hn_attr *betas = hn_attr_raw(node, "activation_beta");
    uint32_t n = f->kind == HN_RNN_LSTM  ? 3
                 : f->kind == HN_RNN_GRU ? 2
                                         : 1,
             i_alpha = 0, i_beta = 0;
    for (uint32_t i = 0; i < n * (uint32_t)f->dirs; i++) {
        hn_rnn_act *act = &f->acts[i / n][i % n];
        *act = (hn_rnn_act){.kind = defaults[f->kind][i % n]};
        if (names && names->n > 0 && (i >= names->n || !find_rnn_act(names->v.strings[i], act)))
            return hn_eval_fail(c, HONE_E_UNSUPPORTED, "activation %u is missing or unknown", i);
        if (alphas && hn_activation_at(act->kind)->n_params > 0 && i_alpha < alphas->n)
            act->alpha = (double)alphas->v.floats[i_alpha++];
        if (betas && hn_activation_at(act->kind)->n_params > 1 && i_beta < betas->n)
            act->beta = (double)betas->v.floats[i_beta++];
    }
    return HONE_OK;
}

hone_status hn_rnn_read_attrs(hn_eval *c, hn_rnn_kind kind, hn_rnn_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *r = hn_arg(c, 2);
    *f = (hn_rnn_form){.kind = kind, .gates = kind == HN_RNN_LSTM ? 4 : kind == HN_RNN_GRU ? 3 : 1};
    f->batch_first = hn_attr_i(node, "layout", 0) != 0;
    f->hidden = r->dims[2];
    f->dirs = r->dims[0];
    f->reverse = hn_attr_is(node, "direction", "reverse");
    f->input_forget = hn_attr_i(node, "input_forget", 0) != 0;
    f->linear_before_reset = hn_attr_i(node, "linear_before_reset", 0) != 0;
    f->clip = (double)hn_attr_f(node, "clip", 0);
    return read_rnn_acts(c, f);
}

hone_status hn_rnn_read_form(hn_eval *c, hn_rnn_kind kind, hn_rnn_form *f) {
    const hn_array *x = hn_arg(c, 0);
    HN_TRY(hn_rnn_read_attrs(c, kind, f));
    f->seq = x->dims[f->batch_first];
    f->batch = x->dims[!f->batch_first];
    f->input = x->dims[2];
    return HONE_OK;
}

hone_status hn_rnn_check_lengths(hone_error *err, const hn_rnn_form *f, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (f->lengths[i] < 0 || f->lengths[i] > f->seq)
            return hn_fail(err, HONE_E_INVALID,
                           "sequence %lld is %d elements long, but the input has %lld",
                           (long long)i, f->lengths[i], (long long)f->seq);
    return HONE_OK;
}

#define HN_TEMPLATE "ops/eval/onnx/rnn_tmpl.h"
#include "base/each_type_tmpl.h"

static hone_status eval_recurrent(hn_eval *c, hn_rnn_kind kind, bool is_coarse) {
    const hn_array *lengths = hn_arg(c, 4);
    hn_rnn_form f;
    HN_TRY(hn_rnn_read_form(c, kind, &f));
    if (lengths) {
        f.lengths = lengths->data;
        HN_TRY(hn_rnn_check_lengths(c->err, &f, (int64_t)lengths->n_elems));
    }
    f.is_coarse = is_coarse;
    if (hn_packed_weights(c))
        return hn_rnn_eval_packed(c, &f);
    return hn_arg(c, 0)->dtype == HN_F64 ? rnn_eval_f64(c, &f) : rnn_eval_f32(c, &f);
}

static hone_status eval_rnn(hn_eval *c) {
    return eval_recurrent(c, HN_RNN_PLAIN, false);
}
const hn_impl hn_impl_rnn[1] = {{.eval = eval_rnn}};
hone_status hn_eval_gru(hn_eval *c) {
    return eval_recurrent(c, HN_RNN_GRU, false);
}
const hn_impl hn_impl_gru[1] = {{.eval = hn_eval_gru}};
hone_status hn_eval_lstm(hn_eval *c) {
    return eval_recurrent(c, HN_RNN_LSTM, false);
}
const hn_impl hn_impl_lstm[1] = {{.eval = hn_eval_lstm}};
hone_status hn_eval_coarse_lstm(hn_eval *c) {
    return eval_recurrent(c, HN_RNN_LSTM, true);
}

/* ---- GRUUnit --------------------------------------------------------------------------------- */

/* One step of a GRU whose gates are given: hidden_prev [1, N, D], gates [1, N, 3 D] with the reset
 * gate, which is used up already, first. A sequence that has ended keeps its state, or loses it
 * with drop_states. */
static hone_status eval_gru_unit(hn_eval *c) {
    const hn_array *prev = hn_arg(c, 0), *gates = hn_arg(c, 1), *lengths = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    if (!y || y->n_elems == 0)
        return HONE_OK;
    uint64_t n = (uint64_t)(prev->rank > 0 ? prev->dims[prev->rank - 1] : 1),
             rows = prev->n_elems / n;
    double t = hn_arg_f64_or(c, 3, 0), length = 0;
    if (gates->n_elems != 3 * prev->n_elems || !lengths || lengths->n_elems < rows)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "gates must be three times as wide as the state, with a length for each sequence");
    bool drops = hn_attr_i(hn_eval_node(c), "drop_states", 0) != 0;
    for (uint64_t i = 0; i < prev->n_elems; i++) {
        double state, update, fresh;
        hn_load_f64(prev, i, 1, &state);
        hn_load_f64(lengths, i / n, 1, &length);
        hn_load_f64(gates, i / n * 3 * n + n + i % n, 1, &update);
        hn_load_f64(gates, i / n * 3 * n + 2 * n + i % n, 1, &fresh);
        update = 1 / (1 + exp(-update));
        if (t < length)
            state = state * update + tanh(fresh) * (1 - update);
        else if (drops)
            state = 0;
        hn_store_f64(y, i, 1, &state);
    }
    return HONE_OK;
}
const hn_impl hn_impl_gru_unit[1] = {{.eval = eval_gru_unit}};
