/* Lowering of channels-first convolutions: constant filters are packed once. */
#include "cpu/lower/lower.h"
#include "cpu/pack/node_state.h"

const hn_lowering hn_lower_conv[1] = {
    {.prepare = hn_prepare_filters, .release = hn_release_weights}};
const hn_lowering hn_lower_fused_conv[1] = {
    {.prepare = hn_prepare_filters, .release = hn_release_weights}};
