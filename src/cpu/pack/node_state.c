/* What evaluations do once per node, before any run: a row per evaluation that has such work. */
#include "cpu/pack/node_state.h"

#include "cpu/ops_cpu.h"
#include "ops/custom.h"

static const struct {
    hn_eval_fn eval;
    hone_status (*prepare)(hn_eval *c, void **state);
    void (*release)(const hn_op *op, void *state);
} prepared_ops[] = {
    {hn_eval_custom, hn_prepare_custom, hn_release_custom},
    {hn_eval_matmul, hn_prepare_right_side, hn_release_weights},
    {hn_eval_gemm, hn_prepare_right_side, hn_release_weights},
    {hn_eval_fused_gemm, hn_prepare_right_side, hn_release_weights},
    {hn_eval_fused_matmul, hn_prepare_right_side, hn_release_weights},
    {hn_eval_fused_matmul_activation, hn_prepare_right_side, hn_release_weights},
    {hn_eval_gemm_fast_gelu, hn_prepare_right_side, hn_release_weights},
    {hn_eval_rnn, hn_prepare_recurrent, hn_release_weights},
    {hn_eval_gru, hn_prepare_recurrent, hn_release_weights},
    {hn_eval_lstm, hn_prepare_recurrent, hn_release_weights},
    {hn_eval_conv, hn_prepare_filters, hn_release_weights},
    {hn_eval_fused_conv, hn_prepare_filters, hn_release_weights},
    {hn_eval_conv_nhwc, hn_prepare_filters_nhwc, hn_release_filters_nhwc},
    {hn_eval_conv_chain, hn_prepare_chain, hn_release_chain},
    {hn_eval_nchw_conv_chain, hn_prepare_chain, hn_release_chain},
    {hn_eval_tree_ensemble, hn_prepare_forest, hn_release_forest},
    {hn_eval_tree_regressor, hn_prepare_forest, hn_release_forest},
    {hn_eval_tree_classifier, hn_prepare_forest, hn_release_forest},
    {hn_eval_conv_transpose_nhwc, hn_prepare_transposed_nhwc, hn_release_weights},
    {hn_eval_nchw_conv, hn_prepare_nchw_filters, hn_release_weights},
};

hn_preparation hn_eval_preparation(const hn_op *op) {
    for (size_t i = 0; i < HN_COUNT(prepared_ops); i++)
        if (prepared_ops[i].eval == op->eval)
            return op->eval == hn_eval_custom ? HN_PREPARES_STATE : HN_PREPARES_BLOBS;
    return HN_PREPARES_NOTHING;
}

hone_status hn_eval_prepare(hn_eval *c, void **state) {
    *state = NULL;
    for (size_t i = 0; i < HN_COUNT(prepared_ops); i++)
        if (prepared_ops[i].eval == c->node.op->eval)
            return prepared_ops[i].prepare(c, state);
    return HONE_OK;
}

void hn_eval_release(const hn_op *op, void *state) {
    for (size_t i = 0; op && state && i < HN_COUNT(prepared_ops); i++)
        if (prepared_ops[i].eval == op->eval)
            prepared_ops[i].release(op, state);
}
