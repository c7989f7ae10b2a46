/* Merges nodes that compute the same as an earlier node.
 *
 * The walk follows the topological order. Nested blocks see the nodes of the blocks around them;
 * the nodes of a block are forgotten at its end. */
#include "pass/engine/pass_int.h"

typedef struct seen_node {
    uint64_t hash;
    hn_id node;
    uint32_t older; /* entry with the same hash; HN_MAP_NONE */
} seen_node;

typedef struct seen_nodes {
    hn_pass *pass;
    hn_map newest; /* hash -> entry */
    HN_VEC(seen_node) list;
} seen_nodes;

/* ---- equal attributes ------------------------------------------------------------------------ */

/* Size in bytes of an element that a list or scalar attribute stores directly; 0 for other
 * kinds. */
static size_t attr_elem_bytes(hn_attr_kind kind) {
    switch (kind) {
    case HN_ATTR_INT:
    case HN_ATTR_INTS:
        return sizeof(int64_t);
    case HN_ATTR_FLOAT:
    case HN_ATTR_FLOATS:
        return sizeof(float);
    default:
        return 0;
    }
}

static hn_bytes attr_numbers(const hn_attr *a) {
    size_t bytes = a->n * attr_elem_bytes(a->kind);
    bool is_list = a->kind == HN_ATTR_INTS || a->kind == HN_ATTR_FLOATS;
    return (hn_bytes){is_list ? (const void *)a->v.ints : (const void *)&a->v, bytes};
}

static bool same_bytes(hn_bytes a, hn_bytes b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, (size_t)a.n) == 0);
}

static bool same_texts(const hn_attr *a, const hn_attr *b) {
    for (uint32_t i = 0; i < a->n; i++)
        if (!same_bytes(a->v.strings[i], b->v.strings[i]))
            return false;
    return true;
}

/* Subgraphs and rare kinds count as different. */
static bool same_attr(const hn_attr *a, const hn_attr *b) {
    if (a->kind != b->kind || a->n != b->n || a->ref || b->ref)
        return false;
    if (attr_elem_bytes(a->kind) > 0)
        return same_bytes(attr_numbers(a), attr_numbers(b));
    switch (a->kind) {
    case HN_ATTR_STRING:
        return same_bytes(a->v.s, b->v.s);
    case HN_ATTR_STRINGS:
        return same_texts(a, b);
    case HN_ATTR_TENSOR:
        return a->v.tensor && b->v.tensor && hn_tensor_equal(a->v.tensor, b->v.tensor);
    default:
        return false;
    }
}

static uint64_t hash_attr(const hn_attr *a) {
    uint64_t seed = hn_key(a->name->id, (uint32_t)a->kind);
    if (attr_elem_bytes(a->kind) > 0)
        return hn_hash64(attr_numbers(a).at, (size_t)attr_numbers(a).n, seed);
    if (a->kind == HN_ATTR_STRING)
        return hn_hash64(a->v.s.at, (size_t)a->v.s.n, seed);
    if (a->kind == HN_ATTR_TENSOR && a->v.tensor)
        return hn_hash64(&seed, sizeof seed, hn_tensor_fingerprint(a->v.tensor));
    return hn_hash64(&a->n, sizeof a->n, seed);
}

/* ---- equal nodes ----------------------------------------------------------------------------- */

/* Nodes with attributes (of old versions) broadcast one side only. */
static bool is_symmetric(const hn_node *n) {
    static const char *const ops[] = {"Add",   "Mul",        "And",       "Or",        "Xor",
                                      "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"};
    for (size_t i = 0; i < HN_COUNT(ops) && n->n_inputs == 2 && n->n_attrs == 0; i++)
        if (hn_str_is(n->op, ops[i]) && hn_domain_is_onnx(n->domain))
            return true;
    return false;
}

static bool same_inputs(const hn_node *a, const hn_node *b) {
    if (a->n_inputs != b->n_inputs)
        return false;
    if (is_symmetric(a) && a->inputs[0] == b->inputs[1] && a->inputs[1] == b->inputs[0])
        return true;
    return a->n_inputs == 0 || memcmp(a->inputs, b->inputs, a->n_inputs * sizeof *a->inputs) == 0;
}

static bool domains_agree(hn_str a, hn_str b) {
    return a == b || (hn_domain_is_onnx(a) && hn_domain_is_onnx(b));
}

bool hn_same_attrs(const hn_node *a, const hn_node *b) {
    if (a->n_attrs != b->n_attrs)
        return false;
    for (uint32_t i = 0; i < a->n_attrs; i++) {
        const hn_attr *other = hn_node_attr(b, hn_s(a->attrs[i].name));
        if (!other || !same_attr(&a->attrs[i], other))
            return false;
    }
    return true;
}

static bool same_node(const hn_node *a, const hn_node *b) {
    return a->op == b->op && domains_agree(a->domain, b->domain) &&
           a->opset_version == b->opset_version && same_inputs(a, b) && hn_same_attrs(a, b);
}

static uint64_t hash_node(const hn_node *n) {
    hn_id inputs[2];
    bool swap = is_symmetric(n) && n->inputs[0] > n->inputs[1];
    uint64_t hash = n->op->id;
    if (swap) {
        inputs[0] = n->inputs[1];
        inputs[1] = n->inputs[0];
    }
    hash = hn_hash64(swap ? inputs : n->inputs, n->n_inputs * sizeof *inputs, hash);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        hash += hash_attr(&n->attrs[i]); /* a sum, because the order does not matter */
    return hash;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* True when the earlier node has all outputs of this one that are read, with types that can replace
 * them. */
static bool can_replace_node(const hn_graph *g, const hn_node *earlier, const hn_node *n) {
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] == HN_NONE || hn_value_at(g, n->outputs[i])->uses.n == 0)
            continue;
        if (i >= earlier->n_outputs || earlier->outputs[i] == HN_NONE ||
            hn_replace_needs_identity(g, n->outputs[i], earlier->outputs[i]))
            return false;
    }
    return true;
}

static hn_id find_equal(const seen_nodes *s, hn_id node, uint64_t hash) {
    const hn_graph *g = s->pass->g;
    const hn_node *n = hn_node_at(g, node);
    for (uint32_t i = hn_map_get(&s->newest, hash); i != HN_MAP_NONE; i = s->list.at[i].older) {
        const hn_node *other = hn_node_at(g, s->list.at[i].node);
        if (same_node(n, other) && can_replace_node(g, other, n))
            return s->list.at[i].node;
    }
    return HN_NONE;
}

static hone_status remember(seen_nodes *s, hn_id node, uint64_t hash) {
    seen_node entry = {.hash = hash, .node = node, .older = hn_map_get(&s->newest, hash)};
    if (!hn_map_put(&s->newest, hash, s->list.n) || !HN_VEC_PUSH(s->pass->scratch, &s->list, entry))
        return HONE_E_NOMEM;
    return HONE_OK;
}

static hone_status forget_after(seen_nodes *s, uint32_t n) {
    while (s->list.n > n) {
        seen_node last = s->list.at[--s->list.n];
        if (last.older == HN_MAP_NONE)
            hn_map_remove(&s->newest, last.hash);
        else if (!hn_map_put(&s->newest, last.hash, last.older))
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

static hone_status merge_into(hn_pass *p, hn_id node, hn_id earlier) {
    const hn_node *n = hn_node_at(p->g, node), *kept = hn_node_at(p->g, earlier);
    hn_rule *r = hn_rewrite_begin(p, "same-node", node);
    char label[120];
    HN_TRY_PTR(r);
    hn_detail(r, "as %s", hn_node_label(p->g, earlier, label, sizeof label));
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && hn_value_at(p->g, n->outputs[i])->uses.n > 0)
            hn_rule_replace_output(r, i, kept->outputs[i]);
    return hn_rewrite_end(r);
}

static hone_status walk_block(seen_nodes *s, hn_id block);

static hone_status walk_node(seen_nodes *s, hn_id node) {
    const hn_graph *g = s->pass->g;
    for (uint32_t i = 0; i < hn_node_at(g, node)->n_attrs; i++) {
        uint32_t n_blocks;
        const hn_id *blocks = hn_attr_blocks(&hn_node_at(g, node)->attrs[i], &n_blocks);
        for (uint32_t b = 0; b < n_blocks; b++)
            HN_TRY(walk_block(s, blocks[b]));
    }
    if (!hn_is_repeatable(g, node) || !hn_pass_may(s->pass, "same-node"))
        return HONE_OK;
    uint64_t hash = hash_node(hn_node_at(g, node));
    hn_id earlier = find_equal(s, node, hash);
    return earlier == HN_NONE ? remember(s, node, hash) : merge_into(s->pass, node, earlier);
}

/* Blocks nest no deeper than HN_MAX_BLOCK_DEPTH. */
static hone_status walk_block(seen_nodes *s, hn_id block) {
    const hn_block *b = hn_block_at(s->pass->g, block);
    uint32_t n_known = s->list.n, n_nodes = b->nodes.n;
    const hn_id *nodes = hn_arena_copy(s->pass->scratch, b->nodes.at, n_nodes * sizeof *nodes);
    HN_TRY_PTR(nodes);
    for (uint32_t i = 0; i < n_nodes; i++)
        if (hn_node_at(s->pass->g, nodes[i])->block != HN_NONE)
            HN_TRY(walk_node(s, nodes[i]));
    return forget_after(s, n_known);
}

hone_status hn_pass_common_subexpressions(hn_pass *p) {
    seen_nodes s = {.pass = p};
    hn_map_init(&s.newest, p->scratch);
    return walk_block(&s, 0);
}
