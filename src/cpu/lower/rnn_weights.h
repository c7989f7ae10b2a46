/* Inside cpu/lower/: how weights of recurrent layers lie when packed: those of inputs, of all
 * directions together, then those of states for each direction; the hidden gate of a GRU that
 * resets late stands alone. */
#ifndef HN_RNN_WEIGHTS_H
#define HN_RNN_WEIGHTS_H

#include "ops/eval/onnx/rnn_eval.h"

hn_rnn_kind hn_rnn_kind_of(const hn_eval *c);
/* Whether it is a layer of floats with the usual activations, and this processor has the vectors.
 */
bool hn_rnn_is_usual(const hn_rnn_form *f, hn_dtype dtype);

int64_t hn_rnn_width(const hn_rnn_form *f);       /* of all gates */
int64_t hn_rnn_first_gates(const hn_rnn_form *f); /* that the state meets first */
/* Floats of weights: of inputs; of the states of one direction, and of the first gates in them. */
int64_t hn_rnn_input_elems(const hn_rnn_form *f);
int64_t hn_rnn_state_elems(const hn_rnn_form *f);
int64_t hn_rnn_first_elems(const hn_rnn_form *f);
/* Of all directions; weights: as the file has them. */
void hn_rnn_pack_states(const hn_rnn_form *f, const float *weights, float *out);

#endif /* HN_RNN_WEIGHTS_H */
