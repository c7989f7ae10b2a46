/* Lowering of matrix products: constant right sides are packed once. */
#include "cpu/lower/lower.h"
#include "cpu/pack/node_state.h"

const hn_lowering hn_lower_matmul[1] = {
    {.prepare = hn_prepare_right_side, .release = hn_release_weights}};
const hn_lowering hn_lower_gemm[1] = {
    {.prepare = hn_prepare_right_side, .release = hn_release_weights}};
const hn_lowering hn_lower_fused_gemm[1] = {
    {.prepare = hn_prepare_right_side, .release = hn_release_weights}};
const hn_lowering hn_lower_fused_matmul[1] = {
    {.prepare = hn_prepare_right_side, .release = hn_release_weights}};
const hn_lowering hn_lower_fused_matmul_activation[1] = {
    {.prepare = hn_prepare_right_side, .release = hn_release_weights}};
const hn_lowering hn_lower_gemm_fast_gelu[1] = {
    {.prepare = hn_prepare_right_side, .release = hn_release_weights}};
