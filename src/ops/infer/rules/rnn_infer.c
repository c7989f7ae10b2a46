/* Inference rules of recurrent layers: RNN, GRU, LSTM. */
#include "ops/infer/infer_int.h"

#include "ops/infer/spatial.h"

typedef struct rnn_sizes {
    hn_dim dirs, seq, batch, input, hidden;
    bool batch_first; /* layout 1 */
} rnn_sizes;

static hone_status read_direction(hn_infer *c, hn_dim *dirs) {
    bool is_default = !hn_has_attr(c, "direction"); /* GRU-1's is misspelt in the standard */
    *dirs = hn_attr_is(c, "direction", "bidirectional") ? 2 : 1;
    if (is_default || *dirs == 2 || hn_attr_is(c, "direction", "forward") ||
        hn_attr_is(c, "direction", "reverse"))
        return HONE_OK;
    hn_bytes s = hn_attr_s(c, "direction");
    return hn_infer_fail(c, HONE_E_SHAPE,
                         "direction is '%.*s', but must be forward, reverse or bidirectional",
                         (int)HN_MIN(s.n, 100), (const char *)s.at);
}

/* States are [dirs, batch, hidden], or [batch, dirs, hidden] with layout 1. */
static hone_status meet_state(hn_infer *c, uint32_t input, rnn_sizes *s) {
    hn_dim *const axes[] = {s->batch_first ? &s->batch : &s->dirs,
                            s->batch_first ? &s->dirs : &s->batch, &s->hidden};
    return hn_meet_dims(c, input, 3, axes);
}

static int rnn_gates(const hn_infer *c) {
    const char *op = hn_infer_op(c);
    return strcmp(op, "LSTM") == 0 ? 4 : strcmp(op, "GRU") == 0 ? 3 : 1;
}

static hone_status read_rnn_sizes(hn_infer *c, rnn_sizes *s) {
    int64_t hidden = hn_attr_i(c, "hidden_size", 0);
    *s = (rnn_sizes){.seq = HN_DIM_UNKNOWN,
                     .batch = HN_DIM_UNKNOWN,
                     .input = HN_DIM_UNKNOWN,
                     .hidden = hidden > 0 ? hidden : HN_DIM_UNKNOWN,
                     .batch_first = hn_attr_i(c, "layout", 0) != 0};
    HN_TRY(read_direction(c, &s->dirs));
    HN_TRY(hn_meet_dims(c, 0, 3,
                        (hn_dim *const[]){s->batch_first ? &s->batch : &s->seq,
                                          s->batch_first ? &s->seq : &s->batch, &s->input}));
    hn_syms *syms = hn_infer_syms(c);
    hn_dim wide = hn_dim_mul_i(syms, s->hidden, rnn_gates(c));
    HN_TRY(hn_meet_dims(c, 2, 3, (hn_dim *const[]){&s->dirs, &wide, &s->hidden}));
    HN_TRY(hn_merge_dim(c, "the width of all gates", wide,
                        hn_dim_mul_i(syms, s->hidden, rnn_gates(c)), &wide));
    HN_TRY(hn_meet_dims(c, 1, 3, (hn_dim *const[]){&s->dirs, &wide, &s->input}));
    hn_dim both = hn_dim_mul_i(syms, wide, 2), peepholes = hn_dim_mul_i(syms, s->hidden, 3);
    HN_TRY(hn_meet_dims(c, 3, 2, (hn_dim *const[]){&s->dirs, &both}));
    HN_TRY(hn_meet_dims(c, 4, 1, (hn_dim *const[]){&s->batch}));
    HN_TRY(meet_state(c, 5, s));
    HN_TRY(meet_state(c, 6, s));
    return hn_meet_dims(c, 7, 2, (hn_dim *const[]){&s->dirs, &peepholes});
}

hone_status hn_infer_rnn(hn_infer *c) {
    rnn_sizes s;
    HN_TRY(read_rnn_sizes(c, &s));
    const hn_dim y[2][4] = {{s.seq, s.dirs, s.batch, s.hidden}, {s.batch, s.seq, s.dirs, s.hidden}};
    const hn_dim state[2][3] = {{s.dirs, s.batch, s.hidden}, {s.batch, s.dirs, s.hidden}};
    HN_TRY(hn_out_shape(c, 0, 4, y[s.batch_first]));
    HN_TRY(hn_out_shape(c, 1, 3, state[s.batch_first]));
    return hn_out_shape(c, 2, 3, state[s.batch_first]);
}

/* Each step of each sequence uses every weight once. */
bool hn_macs_rnn(const hn_infer *c, uint64_t *macs) {
    const hn_shape *x = hn_in_shape(c, 0), *w = hn_in_shape(c, 1), *r = hn_in_shape(c, 2);
    uint64_t by_input = 1, by_state = 1;
    if (!x || !w || !r || x->rank != 3)
        return false;
    if (!hn_macs_times(&by_input, w->rank, w->dims) ||
        !hn_macs_times(&by_state, r->rank, r->dims) || !hn_add_u64(by_input, by_state, macs))
        return false;
    return hn_macs_times(macs, 2, x->dims);
}

hone_status hn_infer_gru_unit(hn_infer *c) {
    return hn_out_same(c, 0, 0);
}
