/* Weights of recurrent layers, packed. */
#include "cpu/lower/rnn_weights.h"

#include "cpu/kernels/rnn/rnn_cells.h"
#include "cpu/lower/lower.h"
#include "cpu/pack/node_state.h"

bool hn_rnn_is_usual(const hn_rnn_form *f, hn_dtype dtype) {
    static const hn_activation_id usual[3][3] = {
        [HN_RNN_PLAIN] = {HN_ACT_Tanh},
        [HN_RNN_GRU] = {HN_ACT_Sigmoid, HN_ACT_Tanh},
        [HN_RNN_LSTM] = {HN_ACT_Sigmoid, HN_ACT_Tanh, HN_ACT_Tanh}};
    static const int n_acts[3] = {[HN_RNN_PLAIN] = 1, [HN_RNN_GRU] = 2, [HN_RNN_LSTM] = 3};
    for (int64_t d = 0; d < f->dirs; d++)
        for (int i = 0; i < n_acts[f->kind]; i++)
            if (f->acts[d][i].kind != usual[f->kind][i])
                return false;
    return dtype == HN_F32 && f->clip == 0 && !f->input_forget && !f->is_coarse &&
           hn_rnn_cells_pick_f32() && hn_gemm_packed_elems_f32(1, 1) > 0;
}

typedef struct rnn_weights {
    const hn_rnn_form *f;
    const float *w, *r; /* as the file has them: rows are gates, columns inputs or states */
} rnn_weights;

int64_t hn_rnn_width(const hn_rnn_form *f) {
    return f->gates * f->hidden;
}

int64_t hn_rnn_first_gates(const hn_rnn_form *f) {
    return hn_rnn_resets_late(f) ? HN_GRU_HIDDEN : f->gates;
}

int64_t hn_rnn_first_elems(const hn_rnn_form *f) {
    return hn_gemm_packed_elems_f32(hn_rnn_first_gates(f) * f->hidden, f->hidden);
}

int64_t hn_rnn_state_elems(const hn_rnn_form *f) {
    int64_t late = f->gates - hn_rnn_first_gates(f);
    return hn_rnn_first_elems(f) + hn_gemm_packed_elems_f32(late * f->hidden, f->hidden);
}

int64_t hn_rnn_input_elems(const hn_rnn_form *f) {
    return hn_gemm_packed_elems_f32(f->dirs * hn_rnn_width(f), f->input);
}

/* Rows of weights as the columns of a product's right side. */
static void pack_gates(const float *rows, int64_t n, int64_t k, float *out) {
    hn_gemm_pack_f32(&(hn_gemm_job_f32){.n = n, .k = k, .b = rows, .b_row = 1, .b_col = k}, out);
}

void hn_rnn_pack_states(const hn_rnn_form *f, const float *weights, float *out) {
    int64_t n = f->hidden, first = hn_rnn_first_gates(f) * n, width = hn_rnn_width(f);
    for (int64_t d = 0; d < f->dirs; d++, out += hn_rnn_state_elems(f)) {
        const float *r = weights + d * width * n;
        pack_gates(r, first, n, out);
        if (first < width)
            pack_gates(r + first * n, width - first, n, out + hn_rnn_first_elems(f));
    }
}

static hone_status fill_recurrent(void *job, void *out) {
    const rnn_weights *v = job;
    pack_gates(v->w, v->f->dirs * hn_rnn_width(v->f), v->f->input, out);
    hn_rnn_pack_states(v->f, v->r, (float *)out + hn_rnn_input_elems(v->f));
    return HONE_OK;
}

hn_rnn_kind hn_rnn_kind_of(const hn_eval *c) {
    const hn_impl *impl = c->node.op->impl;
    return impl == hn_impl_lstm ? HN_RNN_LSTM : impl == hn_impl_gru ? HN_RNN_GRU : HN_RNN_PLAIN;
}

hone_status hn_prepare_recurrent(hn_eval *c, void **state) {
    const hn_array *w = hn_arg(c, 1), *r = hn_arg(c, 2);
    hn_eval quiet = *c; /* what is wrong is said when it runs */
    hn_rnn_form f;
    quiet.err = NULL;
    *state = NULL;
    if (!w || !r || w->rank != 3 || r->rank != 3 || w->n_elems == 0 || r->n_elems == 0 ||
        r->dims[0] > 2 || hn_rnn_read_attrs(&quiet, hn_rnn_kind_of(c), &f) != HONE_OK ||
        !hn_rnn_is_usual(&f, w->dtype) || r->dtype != HN_F32)
        return HONE_OK;
    f.input = w->dims[2];
    if (w->dims[0] != f.dirs || w->dims[1] != hn_rnn_width(&f) || r->dims[1] != hn_rnn_width(&f))
        return HONE_OK;
    rnn_weights weights = {.f = &f, .w = w->data, .r = r->data};
    hn_weights_form form = {.kind = HN_BLOB_RECURRENT,
                            .n_args = 2,
                            .n_elems = hn_rnn_input_elems(&f) + f.dirs * hn_rnn_state_elems(&f),
                            .sizes = {f.hidden, f.input, hn_rnn_first_gates(&f)},
                            .fill = fill_recurrent,
                            .job = &weights};
    return hn_take_weights(c, &form, state);
}
