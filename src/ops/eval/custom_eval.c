/* Registered operators during runs, and what they prepare before. */
#include "ops/custom.h"
#include "cpu/pack/node_state.h"

hone_status hn_custom_output(hone_op_node *node, uint32_t i, int32_t elem_type, int32_t rank,
                             const int64_t *dims, void **data) {
    *data = NULL;
    if (!node->is_computing)
        return hn_custom_refuse(node, "the operator asks for an output outside of its compute");
    if (i >= hn_n_rets(node->eval))
        return hn_custom_refuse(node, "the operator makes output %u, but there are %u", i,
                                hn_n_rets(node->eval));
    if (!hn_custom_elem_fits(node, i, elem_type))
        return hn_custom_refuse(node,
                                "the operator makes output %u with element type %s, which its own "
                                "notation does not allow",
                                i, hone_elem_type_name(elem_type));
    if (rank < 0 || rank > HN_MAX_RANK)
        return hn_custom_refuse(node, "the operator makes output %u with rank %d", i, rank);
    for (int32_t k = 0; k < rank; k++)
        if (dims[k] < 0)
            return hn_custom_refuse(node, "the operator makes output %u with a dimension of %lld",
                                    i, (long long)dims[k]);
    hn_array *a;
    hone_status status = hn_ret_alloc(node->eval, i, (hn_dtype)elem_type, rank, dims, &a);
    node->refused = node->refused ? node->refused : status;
    if (status == HONE_OK && a && elem_type != HN_STRING)
        *data = a->data;
    return status;
}

hone_status hn_custom_output_string(hone_op_node *node, uint32_t i, uint64_t k, const char *text,
                                    size_t n_bytes) {
    hn_array *a = node->is_computing ? hn_ret(node->eval, i) : NULL;
    if (node->is_computing && !hn_wants_ret(node->eval, i))
        return HONE_OK;
    if (!a || a->dtype != HN_STRING || k >= a->n_elems)
        return hn_custom_refuse(node,
                                "the operator sets element %llu of output %u, which there is "
                                "not",
                                (unsigned long long)k, i);
    hone_status status = hn_array_set_string(node->eval, a, k, text, n_bytes);
    node->refused = node->refused ? node->refused : status;
    return status;
}

void *hn_custom_scratch(hone_op_node *node, size_t n_bytes) {
    return node->is_computing ? hn_eval_scratch(node->eval, n_bytes) : NULL;
}

void hn_custom_parallel_for(const hone_op_node *node, int64_t n, int64_t grain,
                            void (*work)(void *ctx, int64_t begin, int64_t end), void *ctx) {
    hn_pool_for_all(node->is_computing ? hn_eval_pool(node->eval) : NULL, n, HN_MAX(grain, 1), work,
                    ctx);
}

bool hn_custom_is_stopped(const hone_op_node *node) {
    return node->is_computing && hn_eval_stopped(node->eval);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static hone_status prepare_custom(hn_eval *c, void **state) {
    hone_op_node node = {.infer = &c->node, .eval = c, .err = c->err};
    const hone_op_def *def = &hn_custom_of(&node)->def;
    *state = NULL;
    if (!def->create)
        return HONE_OK;
    hone_status status = hn_custom_end(&node, "create", def->create(&hn_op_api, &node, state));
    if (status != HONE_OK)
        *state = NULL;
    return status;
}

static void release_custom(const hn_op *op, void *state) {
    const hone_op_def *def = &((const hn_custom_op *)(const void *)op)->def;
    if (def->destroy)
        def->destroy(def->context, state);
}

static hone_status compute_with(hn_eval *c, void *state) {
    hone_op_node node = {.infer = &c->node, .eval = c, .is_computing = true, .err = c->err};
    const hone_op_def *def = &hn_custom_of(&node)->def;
    HN_TRY(hn_custom_end(&node, "compute", def->compute(&hn_op_api, &node, state)));
    for (uint32_t i = 0; i < c->n_rets; i++)
        if (hn_wants_ret(c, i) && !c->rets[i])
            return hn_eval_fail(c, HONE_E_INVALID, "the operator did not make its output %u", i);
    return HONE_OK;
}

/* Who runs a node once only has prepared nothing. */
static hone_status eval_custom(hn_eval *c) {
    if (c->is_prepared)
        return compute_with(c, c->state);
    void *state;
    hone_status status = prepare_custom(c, &state);
    if (status == HONE_OK)
        status = compute_with(c, state);
    if (state)
        release_custom(c->node.op, state);
    return status;
}
const hn_impl hn_impl_custom[1] = {{.eval = eval_custom,
                                    .runs_alone = true,
                                    .prepare = prepare_custom,
                                    .release = release_custom,
                                    .prepares_alone = true}};
