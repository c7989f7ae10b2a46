/* Contents of a patch, shared by filling, checking and applying. */
#ifndef HN_PATCH_INT_H
#define HN_PATCH_INT_H

#include "ir/graph_int.h"

typedef struct patch_node {
    hn_id before, block;
    hn_str domain, op, name;
    uint32_t n_inputs, n_outputs, n_attrs;
    const hn_id *inputs;
    const hn_attr *attrs;
    hn_id first_output; /* the outputs follow each other */
} patch_node;

typedef struct patch_value {
    hn_id block;
    const char *stem;      /* of its name */
    const hn_tensor *init; /* NULL: a node's output */
    hn_id producer;
    uint32_t slot;
    bool is_absent; /* the node has no such output: only the id is taken */
} patch_value;

typedef struct patch_replace {
    hn_id value, with;
    hn_id
        carrier; /* becomes the output of its block instead; HN_NONE when value is not an output */
} patch_replace;

typedef struct patch_input {
    hn_id node;
    uint32_t slot;
    hn_id value;
} patch_input;

struct hn_patch {
    hn_arena *scratch;
    const hn_graph *g;
    uint32_t n_old_nodes, n_old_values, n_old_blocks;
    HN_VEC(patch_node) nodes;
    HN_VEC(patch_value) values;
    HN_VEC(patch_replace) replaces;
    HN_VEC(patch_input) inputs;
    hn_map replaced;    /* value -> index of its replace */
    hn_map carriers;    /* values that become outputs */
    hone_status failed; /* of filling; apply reports it */
};

/* Values and nodes of the graph as it was, and those that the patch adds. */
static inline bool patch_knows_value(const hn_patch *p, hn_id value) {
    return value < p->n_old_values + p->values.n;
}

static inline bool patch_knows_node(const hn_patch *p, hn_id node) {
    return node < p->n_old_nodes ? hn_node_at(p->g, node)->block != HN_NONE
                                 : node - p->n_old_nodes < p->nodes.n;
}

static inline hn_id patch_node_block(const hn_patch *p, hn_id node) {
    return node < p->n_old_nodes ? hn_node_at(p->g, node)->block
                                 : p->nodes.at[node - p->n_old_nodes].block;
}

static inline hn_id patch_value_block(const hn_patch *p, hn_id value) {
    return value < p->n_old_values ? hn_value_at(p->g, value)->block
                                   : p->values.at[value - p->n_old_values].block;
}

/* Refuses edits that would break the graph, and resolves chains of replacements. */
hone_status hn_patch_check(hn_patch *p, const hn_graph *g, hone_error *err);
bool hn_patch_is_output(const hn_graph *g, hn_id value); /* of its own block */

#endif /* HN_PATCH_INT_H */
