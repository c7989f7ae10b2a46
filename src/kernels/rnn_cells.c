/* Choosing the steps of recurrent layers by what the processor has. */
#include "kernels/rnn_cells.h"

#if defined(__x86_64__)
extern const hn_rnn_cells_f32 hn_rnn_cells_f32__avx512, hn_rnn_cells_f32__avx2;
const hn_rnn_cells_f32 *hn_rnn_cells_pick_f32(void) {
    return hn_cpu_has_all(HN_NEEDS_AVX512) ? &hn_rnn_cells_f32__avx512
           : hn_cpu_has_all(HN_NEEDS_AVX2) ? &hn_rnn_cells_f32__avx2
                                           : NULL;
}
#elif defined(__aarch64__)
extern const hn_rnn_cells_f32 hn_rnn_cells_f32__neon;
const hn_rnn_cells_f32 *hn_rnn_cells_pick_f32(void) {
    return hn_cpu_has_all(HN_NEEDS_NEON) ? &hn_rnn_cells_f32__neon : NULL;
}
#else
const hn_rnn_cells_f32 *hn_rnn_cells_pick_f32(void) {
    return NULL;
}
#endif
