/* Which nodes compute the same each time that they get the same. */
#include "pass/engine/pass_int.h"

static bool draws_numbers(hn_str op) {
    static const char *const random_ops[] = {
        "RandomNormal",   "RandomNormalLike",   "RandomUniform", "RandomUniformLike",
        "Multinomial",    "Bernoulli",          "Dropout",       "BiasDropout",
        "BitmaskDropout", "BitmaskBiasDropout", "Sampling"};
    for (size_t i = 0; i < HN_COUNT(random_ops); i++)
        if (hn_str_is(op, random_ops[i]))
            return true;
    return false;
}

/* Registered operators say it of themselves; of functions we know nothing. */
static bool is_known_as_such(const hn_graph *g, hn_id node) {
    int since;
    bool deprecated;
    const hn_op *op = hn_node_op(g, hn_node_at(g, node), &since, &deprecated);
    return op && !hn_op_is_random(op) && !hn_node_function(g, node);
}

/* Bodies nest no deeper than HN_MAX_BLOCK_DEPTH. */
bool hn_is_repeatable(const hn_graph *g, hn_id node) {
    const hn_node *n = hn_node_at(g, node);
    if (draws_numbers(n->op) || !is_known_as_such(g, node))
        return false;
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        uint32_t n_blocks;
        const hn_id *blocks = hn_attr_blocks(&n->attrs[i], &n_blocks);
        for (uint32_t b = 0; b < n_blocks; b++) {
            const hn_block *body = hn_block_at(g, blocks[b]);
            for (uint32_t k = 0; k < body->nodes.n; k++)
                if (!hn_is_repeatable(g, body->nodes.at[k]))
                    return false;
        }
    }
    return true;
}
