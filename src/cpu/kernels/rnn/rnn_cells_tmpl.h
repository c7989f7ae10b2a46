/* The steps of rnn_cells.h for one width. Nothing but the functions of simd_math_tmpl.h, each after
 * the additions that make its argument: all of a step passes through registers once. */

#define CELL_LANES V_SOME some = V_FIRST(HN_MIN(n - i, V_ELEMS)) /* that are units */
#define CELL_LOAD(p) V_LOAD_SOME((p) + i, some)
#define CELL_STORE(p, v) V_STORE_SOME((p) + i, some, v)
#define CELL_GATE(g) V_ADD(CELL_LOAD(x + (g)*n), CELL_LOAD(h + (g)*n))

static V_TARGET void V_NAME(cell_plain)(int64_t n, const float *x, const float *h, float *state) {
    for (int64_t i = 0; i < n; i += V_ELEMS) {
        CELL_LANES;
        CELL_STORE(state, V_NAME(vec_tanh)(CELL_GATE(0)));
    }
}

static V_TARGET void V_NAME(cell_lstm)(int64_t n, const float *x, const float *h,
                                       const float *peepholes, float *cell, float *state) {
    for (int64_t i = 0; i < n; i += V_ELEMS) {
        CELL_LANES;
        V in = CELL_GATE(HN_LSTM_INPUT), forget = CELL_GATE(HN_LSTM_FORGET),
          out = CELL_GATE(HN_LSTM_OUTPUT);
        V old = CELL_LOAD(cell);
        if (peepholes) {
            in = V_FMA(CELL_LOAD(peepholes + HN_LSTM_INPUT * n), old, in);
            forget = V_FMA(CELL_LOAD(peepholes + HN_LSTM_FORGET * n), old, forget);
        }
        V fresh = V_MUL(V_NAME(vec_sigmoid)(in), V_NAME(vec_tanh)(CELL_GATE(HN_LSTM_CELL)));
        V kept = V_FMA(V_NAME(vec_sigmoid)(forget), old, fresh);
        CELL_STORE(cell, kept);
        if (peepholes)
            out = V_FMA(CELL_LOAD(peepholes + HN_LSTM_OUTPUT * n), kept, out);
        CELL_STORE(state, V_MUL(V_NAME(vec_sigmoid)(out), V_NAME(vec_tanh)(kept)));
    }
}

static V_TARGET void V_NAME(cell_gru_reset)(int64_t n, const float *x, const float *h,
                                            const float *state, float *reset) {
    for (int64_t i = 0; i < n; i += V_ELEMS) {
        CELL_LANES;
        V gate = V_NAME(vec_sigmoid)(CELL_GATE(HN_GRU_RESET));
        CELL_STORE(reset, V_MUL(gate, CELL_LOAD(state)));
    }
}

/* Between the fresh state and the old one, as far as the update gate says. */
static inline V_TARGET V V_NAME(cell_mix)(V update, V fresh, V old) {
    return V_FMA(update, V_SUB(old, fresh), fresh);
}

static V_TARGET void V_NAME(cell_gru)(int64_t n, const float *x, const float *h, float *state) {
    for (int64_t i = 0; i < n; i += V_ELEMS) {
        CELL_LANES;
        V update = V_NAME(vec_sigmoid)(CELL_GATE(HN_GRU_UPDATE));
        V fresh = V_NAME(vec_tanh)(CELL_GATE(HN_GRU_HIDDEN));
        CELL_STORE(state, V_NAME(cell_mix)(update, fresh, CELL_LOAD(state)));
    }
}

static V_TARGET void V_NAME(cell_gru_linear)(int64_t n, const float *x, const float *h,
                                             const float *h_bias, float *state) {
    for (int64_t i = 0; i < n; i += V_ELEMS) {
        CELL_LANES;
        V update = V_NAME(vec_sigmoid)(CELL_GATE(HN_GRU_UPDATE));
        V reset = V_NAME(vec_sigmoid)(CELL_GATE(HN_GRU_RESET));
        V linear = CELL_LOAD(h + HN_GRU_HIDDEN * n);
        if (h_bias)
            linear = V_ADD(linear, CELL_LOAD(h_bias));
        V fresh = V_FMA(reset, linear, CELL_LOAD(x + HN_GRU_HIDDEN * n));
        fresh = V_NAME(vec_tanh)(fresh);
        CELL_STORE(state, V_NAME(cell_mix)(update, fresh, CELL_LOAD(state)));
    }
}

const hn_rnn_cells_f32 V_NAME(hn_rnn_cells_f32) = {.plain = V_NAME(cell_plain),
                                                   .lstm = V_NAME(cell_lstm),
                                                   .gru_reset = V_NAME(cell_gru_reset),
                                                   .gru = V_NAME(cell_gru),
                                                   .gru_linear = V_NAME(cell_gru_linear)};

#undef CELL_LANES
#undef CELL_LOAD
#undef CELL_STORE
#undef CELL_GATE
