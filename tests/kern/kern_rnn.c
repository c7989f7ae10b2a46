/* Steps of recurrent layers against the same in double. */
#include "kern/kern.h"

#include <math.h>

#include "cpu/kernels/rnn/rnn_cells.h"

enum { CELL_FEWEST = 1, CELL_MOST = 40 };

/* What one step reads and writes. */
typedef struct cell_case {
    int64_t n;
    const float *x, *h, *more; /* more: peepholes, or the bias of the hidden gate; NULL: none */
    float *cell, *state;
    double *old_cell, *old_state;
} cell_case;

static double sigmoid_of(double v) {
    return 1 / (1 + exp(-v));
}

static double gate_of(const cell_case *t, int64_t gate, int64_t i) {
    return (double)t->x[gate * t->n + i] + t->h[gate * t->n + i];
}

/* Gates are within 4 last places of 1; `size` is what they are multiplied with. */
static void check_near(const char *what, const cell_case *t, int64_t i, float got, double exact,
                       double size) {
    KERN_CHECK(fabs(got - exact) <= 8 * KERN_EPS * (1 + size), "%s of %d: unit %d is %g, not %g",
               what, (int)t->n, (int)i, (double)got, exact);
}

static void check_plain(const hn_rnn_cells_f32 *cells, const cell_case *t) {
    cells->plain(t->n, t->x, t->h, t->state);
    for (int64_t i = 0; i < t->n; i++)
        check_near("plain", t, i, t->state[i], tanh(gate_of(t, 0, i)), 0);
}

static void check_lstm(const hn_rnn_cells_f32 *cells, const cell_case *t) {
    cells->lstm(t->n, t->x, t->h, t->more, t->cell, t->state);
    for (int64_t i = 0; i < t->n; i++) {
        double old = t->old_cell[i];
        double in = gate_of(t, HN_LSTM_INPUT, i), forget = gate_of(t, HN_LSTM_FORGET, i);
        double out = gate_of(t, HN_LSTM_OUTPUT, i);
        if (t->more) {
            in += t->more[HN_LSTM_INPUT * t->n + i] * old;
            forget += t->more[HN_LSTM_FORGET * t->n + i] * old;
        }
        double kept = sigmoid_of(forget) * old + sigmoid_of(in) * tanh(gate_of(t, HN_LSTM_CELL, i));
        if (t->more)
            out += t->more[HN_LSTM_OUTPUT * t->n + i] * kept;
        check_near("cell", t, i, t->cell[i], kept, fabs(old));
        check_near("lstm", t, i, t->state[i], sigmoid_of(out) * tanh(kept), fabs(old));
    }
}

static void check_gru(const hn_rnn_cells_f32 *cells, const cell_case *t, bool is_linear) {
    if (is_linear)
        cells->gru_linear(t->n, t->x, t->h, t->more, t->state);
    else
        cells->gru(t->n, t->x, t->h, t->state);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t at = HN_GRU_HIDDEN * t->n + i;
        double update = sigmoid_of(gate_of(t, HN_GRU_UPDATE, i));
        double reset = is_linear ? sigmoid_of(gate_of(t, HN_GRU_RESET, i)) : 1;
        double linear = t->h[at] + (is_linear && t->more ? (double)t->more[i] : 0);
        double fresh = tanh(t->x[at] + reset * linear), old = t->old_state[i];
        check_near("gru", t, i, t->state[i], (1 - update) * fresh + update * old, fabs(old));
    }
}

static void check_gru_reset(const hn_rnn_cells_f32 *cells, const cell_case *t) {
    cells->gru_reset(t->n, t->x, t->h, t->state, t->cell);
    for (int64_t i = 0; i < t->n; i++)
        check_near("reset", t, i, t->cell[i],
                   t->old_state[i] * sigmoid_of(gate_of(t, HN_GRU_RESET, i)), 0);
}

void kern_test_rnn_cells(void) {
    enum { PLAIN, LSTM, GRU, GRU_LINEAR, GRU_RESET, N_FORMS };
    const hn_rnn_cells_f32 *cells = hn_rnn_cells_pick_f32();
    double old_cell[CELL_MOST], old_state[CELL_MOST];
    for (int i = 0; cells && i < (CELL_MOST - CELL_FEWEST + 1) * N_FORMS * 2; i++) {
        int form = i / 2 % N_FORMS;
        int64_t n = CELL_FEWEST + i / (2 * N_FORMS);
        int64_t gates = form == PLAIN ? 1 : form == LSTM ? 4 : 3;
        cell_case t = {.n = n, .old_cell = old_cell, .old_state = old_state};
        t.x = kern_floats(gates * n);
        t.h = kern_floats(gates * n);
        t.more = i % 2 ? kern_floats(form == LSTM ? 3 * n : n) : NULL;
        t.cell = kern_floats(n);
        t.state = kern_floats(n);
        for (int64_t k = 0; k < n; k++) {
            old_cell[k] = t.cell[k];
            old_state[k] = t.state[k];
        }
        switch (form) {
        case PLAIN:
            check_plain(cells, &t);
            break;
        case LSTM:
            check_lstm(cells, &t);
            break;
        case GRU_RESET:
            check_gru_reset(cells, &t);
            break;
        default:
            check_gru(cells, &t, form == GRU_LINEAR);
        }
        kern_release();
    }
}
