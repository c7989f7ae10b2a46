/* The body of rnn_eval.c for one type: T, and NAME(x) that appends the type's name. */

typedef struct NAME(rnn_arrays) {
    const T *x, *w, *r, *b, *h0, *c0, *p; /* arguments, widened; from b on NULL when left out */
    T *y, *yh, *yc;                       /* NULL when nobody asked */
} NAME(rnn_arrays);

/* One direction at work. */
typedef struct NAME(rnn_work) {
    const hn_rnn_form *f;
    const hn_rnn_act *acts;
    const T *w_bias, *r_bias, *peepholes; /* of this direction, or NULL */
    T *x_part;                            /* [rows of x, gates * hidden]: what the inputs give */
    T *h_part;                            /* [batch, gates * hidden]: what the state gives */
    T *r_turned;                          /* [hidden, gates * hidden] */
    T *h, *c;                             /* [batch, hidden] */
    T *reset;                             /* [batch, hidden] */
    float *rounded;                       /* [batch, hidden], when states are rounded */
} NAME(rnn_work);

static T NAME(rnn_clip)(const hn_rnn_form *f, T v) {
    return f->clip > 0 ? (T)fmin(fmax((double)v, -f->clip), f->clip) : v;
}

static T NAME(rnn_apply)(const hn_rnn_form *f, const hn_rnn_act *act, T v) {
    return (T)rnn_activate(act, (double)NAME(rnn_clip)(f, v));
}

/* What gate g of hidden unit i adds up to, without its peephole. */
static T NAME(rnn_gate)(const NAME(rnn_work) * s, const T *x, const T *h, int64_t g, int64_t i) {
    int64_t at = g * s->f->hidden + i;
    T v = x[at] + h[at];
    return s->w_bias ? v + s->w_bias[at] + s->r_bias[at] : v;
}

/* One step of one sequence: x and h are its parts, state and cell are updated. */
static void NAME(lstm_step)(const NAME(rnn_work) * s, const T *x, const T *h, T *state, T *cell) {
    enum { INPUT = HN_LSTM_INPUT, OUTPUT = HN_LSTM_OUTPUT, FORGET = HN_LSTM_FORGET };
    int64_t n = s->f->hidden;
    const T *p = s->peepholes;
    for (int64_t i = 0; i < n; i++) {
        T in = NAME(rnn_gate)(s, x, h, INPUT, i) + (p ? p[INPUT * n + i] * cell[i] : 0);
        T forget = NAME(rnn_gate)(s, x, h, FORGET, i) + (p ? p[FORGET * n + i] * cell[i] : 0);
        in = NAME(rnn_apply)(s->f, &s->acts[0], in);
        forget = s->f->input_forget ? 1 - in : NAME(rnn_apply)(s->f, &s->acts[0], forget);
        T fresh = NAME(rnn_apply)(s->f, &s->acts[1], NAME(rnn_gate)(s, x, h, HN_LSTM_CELL, i));
        cell[i] = forget * cell[i] + in * fresh;
        T out = NAME(rnn_gate)(s, x, h, OUTPUT, i) + (p ? p[OUTPUT * n + i] * cell[i] : 0);
        state[i] =
            NAME(rnn_apply)(s->f, &s->acts[0], out) * (T)rnn_activate(&s->acts[2], (double)cell[i]);
    }
}

/* The state seen through the reset gate, whose product with the recurrent weights comes next. */
static void NAME(gru_reset)(const NAME(rnn_work) * s, const T *x, const T *h, const T *state,
                            T *reset) {
    for (int64_t i = 0; i < s->f->hidden; i++)
        reset[i] =
            state[i] * NAME(rnn_apply)(s->f, &s->acts[0], NAME(rnn_gate)(s, x, h, HN_GRU_RESET, i));
}

static void NAME(gru_step)(const NAME(rnn_work) * s, const T *x, const T *h, T *state) {
    int64_t n = s->f->hidden, hidden = HN_GRU_HIDDEN * n;
    for (int64_t i = 0; i < n; i++) {
        T update = NAME(rnn_apply)(s->f, &s->acts[0], NAME(rnn_gate)(s, x, h, HN_GRU_UPDATE, i));
        T fresh = NAME(rnn_gate)(s, x, h, HN_GRU_HIDDEN, i);
        if (s->f->linear_before_reset) {
            T reset = NAME(rnn_apply)(s->f, &s->acts[0], NAME(rnn_gate)(s, x, h, HN_GRU_RESET, i));
            T linear = h[hidden + i] + (s->r_bias ? s->r_bias[hidden + i] : 0);
            fresh = x[hidden + i] + reset * linear + (s->w_bias ? s->w_bias[hidden + i] : 0);
        }
        fresh = NAME(rnn_apply)(s->f, &s->acts[1], fresh);
        state[i] = (1 - update) * fresh + update * state[i];
    }
}

static void NAME(plain_step)(const NAME(rnn_work) * s, const T *x, const T *h, T *state) {
    for (int64_t i = 0; i < s->f->hidden; i++)
        state[i] = NAME(rnn_apply)(s->f, &s->acts[0], NAME(rnn_gate)(s, x, h, 0, i));
}

/* The states as bytes hold them. */
static const T *NAME(rnn_round)(const NAME(rnn_work) * s) {
    int64_t n = s->f->batch * s->f->hidden;
    for (int64_t i = 0; i < n; i++)
        s->rounded[i] = (float)s->h[i];
    hn_round_to_bytes((uint64_t)n, s->rounded);
    for (int64_t i = 0; i < n; i++)
        s->reset[i] = (T)s->rounded[i];
    return s->reset;
}

/* Gates [from, to) of the recurrent product, from `state` of all sequences. */
static void NAME(rnn_recur)(hn_pool *pool, const NAME(rnn_work) * s, const T *state, int64_t from,
                            int64_t to) {
    int64_t n = s->f->hidden, width = s->f->gates * n;
    NAME(hn_gemm)
    (pool, &(NAME(hn_gemm_job)){.m = s->f->batch,
                                .n = (to - from) * n,
                                .k = n,
                                .a = state,
                                .a_row = n,
                                .a_col = 1,
                                .b = s->r_turned + from * n,
                                .b_row = width,
                                .b_col = 1,
                                .c = s->h_part + from * n,
                                .c_row = width});
}

static void NAME(rnn_one_step)(hn_pool *pool, NAME(rnn_work) * s, int64_t step, bool reverse) {
    const hn_rnn_form *f = s->f;
    int64_t width = f->gates * f->hidden;
    bool late_reset = hn_rnn_resets_late(f);
    NAME(rnn_recur)
    (pool, s, f->is_coarse ? NAME(rnn_round)(s) : s->h, 0, late_reset ? HN_GRU_HIDDEN : f->gates);
    if (late_reset) {
        for (int64_t b = 0; b < f->batch; b++) {
            int64_t row = hn_rnn_row(f, b, hn_rnn_time(f, b, step, reverse));
            if (row >= 0)
                NAME(gru_reset)
            (s, s->x_part + row * width, s->h_part + b * width, s->h + b * f->hidden,
             s->reset + b * f->hidden);
        }
        NAME(rnn_recur)(pool, s, s->reset, HN_GRU_HIDDEN, HN_GRU_HIDDEN + 1);
    }
    for (int64_t b = 0; b < f->batch; b++) {
        int64_t row = hn_rnn_row(f, b, hn_rnn_time(f, b, step, reverse));
        if (row < 0)
            continue;
        const T *x = s->x_part + row * width, *h = s->h_part + b * width;
        T *state = s->h + b * f->hidden;
        if (f->kind == HN_RNN_LSTM)
            NAME(lstm_step)(s, x, h, state, s->c + b * f->hidden);
        else if (f->kind == HN_RNN_GRU)
            NAME(gru_step)(s, x, h, state);
        else
            NAME(plain_step)(s, x, h, state);
    }
}

/* States of direction d: [dirs, batch, hidden], or [batch, dirs, hidden]. */
static void NAME(rnn_copy_state)(const hn_rnn_form *f, int64_t d, const T *from, T *to,
                                 bool is_load) {
    for (int64_t b = 0; b < f->batch && from && to; b++) {
        int64_t outside = hn_rnn_state_at(f, d, b), inside = b * f->hidden;
        memcpy(to + (is_load ? inside : outside), from + (is_load ? outside : inside),
               (size_t)f->hidden * sizeof(T));
    }
}

static void NAME(rnn_put_step)(const NAME(rnn_work) * s, const NAME(rnn_arrays) * a, int64_t d,
                               int64_t step, bool reverse) {
    const hn_rnn_form *f = s->f;
    for (int64_t b = 0; b < f->batch && a->y; b++) {
        int64_t t = hn_rnn_time(f, b, step, reverse);
        if (t < 0)
            continue;
        memcpy(a->y + hn_rnn_output_at(f, d, b, t), s->h + b * f->hidden,
               (size_t)f->hidden * sizeof(T));
    }
}

/* Products with the inputs, all at once, and the recurrent weights the other way round. */
static void NAME(rnn_prepare)(hn_pool *pool, NAME(rnn_work) * s, const NAME(rnn_arrays) * a,
                              int64_t d) {
    const hn_rnn_form *f = s->f;
    int64_t n = f->hidden, width = f->gates * n;
    const T *r = a->r + d * width * n;
    s->w_bias = a->b ? a->b + d * 2 * width : NULL;
    s->r_bias = a->b ? s->w_bias + width : NULL;
    s->peepholes = a->p ? a->p + d * 3 * n : NULL;
    NAME(hn_gemm)
    (pool, &(NAME(hn_gemm_job)){.m = f->seq * f->batch,
                                .n = width,
                                .k = f->input,
                                .a = a->x,
                                .a_row = f->input,
                                .a_col = 1,
                                .b = a->w + d * width * f->input,
                                .b_row = 1,
                                .b_col = f->input,
                                .c = s->x_part,
                                .c_row = width});
    for (int64_t i = 0; i < width; i++)
        for (int64_t k = 0; k < n; k++)
            s->r_turned[k * width + i] = r[i * n + k];
    memset(s->h, 0, (size_t)(f->batch * n) * sizeof(T));
    memset(s->c, 0, (size_t)(f->batch * n) * sizeof(T));
    NAME(rnn_copy_state)(f, d, a->h0, s->h, true);
    NAME(rnn_copy_state)(f, d, a->c0, s->c, true);
}

static hone_status NAME(rnn_run)(hn_eval *c, const hn_rnn_form *f, const NAME(rnn_arrays) * a) {
    uint64_t width = (uint64_t)(f->gates * f->hidden), state = (uint64_t)(f->batch * f->hidden);
    NAME(rnn_work) s = {.f = f};
    s.x_part = hn_eval_scratch_n(c, (uint64_t)(f->seq * f->batch) * width, sizeof(T));
    s.h_part = hn_eval_scratch_n(c, (uint64_t)f->batch * width, sizeof(T));
    s.r_turned = hn_eval_scratch_n(c, (uint64_t)f->hidden * width, sizeof(T));
    s.h = hn_eval_scratch_n(c, state, sizeof(T));
    s.c = hn_eval_scratch_n(c, state, sizeof(T));
    s.reset = hn_eval_scratch_n(c, state, sizeof(T));
    s.rounded = hn_eval_scratch_n(c, f->is_coarse ? state : 0, sizeof *s.rounded);
    HN_TRY_PTR(s.x_part && s.h_part && s.r_turned && s.h && s.c && s.reset && s.rounded);
    memset(s.reset, 0, state * sizeof(T));
    for (int64_t d = 0; d < f->dirs; d++) {
        bool reverse = hn_rnn_is_reverse(f, d);
        s.acts = f->acts[d];
        NAME(rnn_prepare)(hn_eval_pool(c), &s, a, d);
        for (int64_t step = 0; step < f->seq; step++) {
            if (hn_eval_stopped(c))
                return HONE_E_CANCELLED;
            NAME(rnn_one_step)(hn_eval_pool(c), &s, step, reverse);
            NAME(rnn_put_step)(&s, a, d, step, reverse);
        }
        NAME(rnn_copy_state)(f, d, s.h, a->yh, false);
        NAME(rnn_copy_state)(f, d, s.c, a->yc, false);
    }
    return HONE_OK;
}

static hone_status NAME(rnn_eval)(hn_eval *c, const hn_rnn_form *f) {
    enum { X, W, R, B, LENGTHS, H0, C0, P };
    const T *in[P + 1] = {NULL};
    T *out[3] = {NULL};
    for (uint32_t i = X; i <= P; i++)
        if (hn_arg(c, i) && i != LENGTHS) {
            in[i] = NAME(hn_wide)(c, hn_arg(c, i));
            HN_TRY_PTR(in[i]);
        }
    for (uint32_t i = 0; i < 3; i++)
        if (hn_ret(c, i)) {
            out[i] = NAME(hn_buffer)(c, hn_ret(c, i));
            HN_TRY_PTR(out[i]);
            memset(out[i], 0,
                   hn_ret(c, i)->n_elems *
                       sizeof(T)); /* what lies behind the end of a short sequence */
        }
    NAME(rnn_arrays)
    a = {in[X], in[W], in[R], in[B], in[H0], in[C0], in[P], out[0], out[1], out[2]};
    HN_TRY(NAME(rnn_run)(c, f, &a));
    for (uint32_t i = 0; i < 3; i++)
        if (out[i])
            NAME(hn_narrow)(hn_ret(c, i), out[i]);
    return HONE_OK;
}
