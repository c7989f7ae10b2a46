/* Choosing the steps of recurrent layers by what the processor has. */
#include "kernels/rnn_cells.h"

HN_TIERS(const hn_rnn_cells_f32, hn_rnn_cells_f32);
const hn_rnn_cells_f32 *hn_rnn_cells_pick_f32(void) {
    return HN_BEST(&hn_rnn_cells_f32, NULL);
}
