/* Inference rules of training operators: losses, gradients, optimizers. */
#include "ops/infer/infer_int.h"

/* ---- losses ---------------------------------------------------------------------------------- */

static hone_status check_loss_reduction(hn_infer *c) {
    if (hn_attr_is(c, "reduction", "none") || hn_attr_is(c, "reduction", "sum") ||
        hn_attr_is(c, "reduction", "mean"))
        return HONE_OK;
    hn_bytes s = hn_attr_s(c, "reduction");
    return hn_infer_fail(c, HONE_E_SHAPE, "reduction is '%.*s', but must be none, sum or mean",
                         (int)HN_MIN(s.n, 100), (const char *)s.at);
}

/* Merges scores [N, C, d1, ...] with targets [N, d1, ...] and weights [C]; *rank is that of the
 * targets, -1 when nothing is known. */
static hone_status target_shape(hn_infer *c, int32_t *rank, hn_dim **dims) {
    HN_TRY(hn_expect_rank(c, 0, 2, HN_MAX_RANK));
    HN_TRY(hn_expect_rank(c, 2, 1, 1));
    int32_t scores_rank = hn_in_rank(c, 0);
    if (scores_rank >= 0)
        HN_TRY(hn_expect_rank(c, 1, scores_rank - 1, scores_rank - 1));
    *rank = scores_rank >= 0 ? scores_rank - 1 : hn_in_rank(c, 1);
    if (*rank < 0)
        return HONE_OK;
    *dims = hn_infer_dims(c, *rank);
    HN_TRY_PTR(*dims);
    for (int32_t i = 0; i < *rank; i++)
        HN_TRY(hn_merge_dim(c, "a dimension of the scores and of the targets",
                            hn_in_dim(c, 0, i == 0 ? 0 : i + 1), hn_in_dim(c, 1, i), &(*dims)[i]));
    hn_dim classes;
    return hn_merge_dim(c, "the number of classes, by the scores and by the weights,",
                        hn_in_dim(c, 0, 1), hn_in_dim(c, 2, 0), &classes);
}

hone_status hn_infer_nll_loss(hn_infer *c) {
    int32_t rank;
    hn_dim *dims = NULL;
    HN_TRY(check_loss_reduction(c));
    HN_TRY(target_shape(c, &rank, &dims));
    if (!hn_attr_is(c, "reduction", "none"))
        return hn_out_shape(c, 0, 0, NULL);
    return hn_out_shape(c, 0, rank, dims);
}

hone_status hn_infer_softmax_ce_loss(hn_infer *c) {
    HN_TRY(hn_infer_nll_loss(c));
    const hn_shape *scores = hn_in_shape(c, 0);
    return scores ? hn_out_shape(c, 1, scores->rank, scores->dims) : HONE_OK;
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Inputs are the xs, then the zs; each output is the derivative by one x. */
hone_status hn_infer_gradient(hn_infer *c) {
    const hn_attr *xs = hn_attr_raw(c, "xs"), *zs = hn_attr_raw(c, "zs");
    uint32_t n_xs = xs ? xs->n : 0, n_zs = zs ? zs->n : 0;
    if ((uint64_t)n_xs + n_zs != hn_n_inputs(c) || n_xs != hn_n_outputs(c))
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "%u xs and %u zs need as many inputs, and %u outputs; there are %u "
                             "and %u",
                             n_xs, n_zs, n_xs, hn_n_inputs(c), hn_n_outputs(c));
    for (uint32_t i = 0; i < n_xs; i++)
        HN_TRY(hn_out_same(c, i, i));
    return HONE_OK;
}

/* ---- optimizers ------------------------------------------------------------------------------ */

/* Inputs: rate, step, then groups of n tensors: the parameters, their gradients, and one or two
 * kinds of state. Outputs: the new parameters and states, with the types of the old ones. */
hone_status hn_infer_optimizer(hn_infer *c) {
    const uint32_t n_scalars = 2;
    uint32_t n_states = strcmp(hn_infer_op(c), "Adam") == 0 ? 2 : 1;
    uint32_t n = (hn_n_inputs(c) - n_scalars) / (2 + n_states);
    if (hn_n_inputs(c) < n_scalars || hn_n_inputs(c) - n_scalars != n * (2 + n_states) ||
        hn_n_outputs(c) != n * (1 + n_states))
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "%u inputs and %u outputs; each parameter needs %u inputs (itself, its "
            "gradient, its state) after rate and step, and %u outputs",
            hn_n_inputs(c), hn_n_outputs(c), 2 + n_states, 1 + n_states);
    for (uint32_t i = 0; i < hn_n_outputs(c); i++) {
        uint32_t skipped = i < n ? 0 : n; /* the gradients */
        HN_TRY(hn_out_same(c, i, n_scalars + i + skipped));
    }
    return HONE_OK;
}
