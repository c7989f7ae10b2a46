/* One step of recurrent layers over n hidden units, by vectors, with the activations that all but a
 * few layers have: sigmoids for gates, tanh for the rest. x and h hold what the input and the state
 * give to the gates, gate after gate, n elements each; biases are part of x. `state` is the old
 * state, and becomes the new one. */
#ifndef HN_RNN_CELLS_H
#define HN_RNN_CELLS_H

#include "cpu/kernels/rows/row_loops.h"

/* The order of gates; peepholes belong to the first three of an LSTM. */
enum { HN_LSTM_INPUT, HN_LSTM_OUTPUT, HN_LSTM_FORGET, HN_LSTM_CELL };
enum { HN_GRU_UPDATE, HN_GRU_RESET, HN_GRU_HIDDEN };

typedef struct hn_rnn_cells_f32 {
    void (*plain)(int64_t n, const float *x, const float *h, float *state);
    /* Peepholes: NULL for none. */
    void (*lstm)(int64_t n, const float *x, const float *h, const float *peepholes, float *cell,
                 float *state);
    /* The state behind the reset gate, which the weights of the hidden gate meet next. */
    void (*gru_reset)(int64_t n, const float *x, const float *h, const float *state, float *reset);
    void (*gru)(int64_t n, const float *x, const float *h, float *state);
    /* The reset gate behind the weights instead; h_bias (n; NULL: none) is added before it. */
    void (*gru_linear)(int64_t n, const float *x, const float *h, const float *h_bias,
                       float *state);
} hn_rnn_cells_f32;
const hn_rnn_cells_f32 *hn_rnn_cells_pick_f32(void); /* NULL: not on this processor */

#endif /* HN_RNN_CELLS_H */
