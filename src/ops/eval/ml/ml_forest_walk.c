/* Walking down decision trees. Every step waits for the node that the one before found, so several
 * walks go side by side: 200 trees of depth 6 over 1000 samples take 2.6 ms on one core, 2 ns a
 * step. */
#include "ops/eval/ml/ml_forest.h"

/* ---- before all walks ------------------------------------------------------------------------ */

/* Takes away nodes that nobody leads to, again and again: what is left then goes in circles. */
static hone_status refuse_circles(hn_eval *c, const hn_forest *f) {
    hn_arena *temporary = hn_infer_arena(hn_eval_node(c));
    uint32_t *n_parents = HN_NEW_N(temporary, uint32_t, (size_t)f->n_nodes + 1);
    uint32_t *ready = HN_NEW_N(temporary, uint32_t, (size_t)f->n_nodes + 1), n_ready = 0;
    if (!n_parents || !ready)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < f->n_nodes; i++)
        for (int way = 0; way < 2 && f->nodes[i].mode != HN_TREE_LEAF; way++)
            n_parents[f->steps[i].next[way]]++;
    for (uint32_t i = 0; i < f->n_nodes; i++)
        if (n_parents[i] == 0)
            ready[n_ready++] = i;
    for (uint32_t k = 0; k < n_ready; k++)
        for (int way = 0; way < 2 && f->nodes[ready[k]].mode != HN_TREE_LEAF; way++) {
            uint32_t child = f->steps[ready[k]].next[way];
            if (--n_parents[child] == 0)
                ready[n_ready++] = child;
        }
    if (n_ready < f->n_nodes)
        return hn_eval_fail(c, HONE_E_INVALID, "%u nodes of trees lead around in a circle",
                            f->n_nodes - n_ready);
    return HONE_OK;
}

hone_status hn_forest_finish(hn_eval *c, hn_arena *room, hn_forest *f) {
    bool has_mode = false;
    f->steps = HN_NEW_N(room, hn_tree_step, (size_t)f->n_nodes + 1);
    HN_TRY_PTR(f->steps);
    f->mode = HN_TREE_LEAF;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        const hn_tree_node *node = &f->nodes[i];
        f->steps[i] = (hn_tree_step){.next = {i, i}};
        if (node->mode == HN_TREE_LEAF)
            continue;
        if (node->feature >= UINT32_MAX)
            return hn_eval_fail(c, HONE_E_INVALID, "node %u asks for a feature that cannot be", i);
        f->steps[i] = (hn_tree_step){node->split, (uint32_t)node->feature, {node->no, node->yes}};
        f->n_features = HN_MAX(f->n_features, node->feature + 1);
        f->tells_nan |= node->nan_is_true;
        f->mode = !has_mode || node->mode == f->mode ? node->mode : HN_TREE_LEAF;
        has_mode = true;
    }
    f->votes_for_one = f->n_votes > 0;
    for (uint32_t i = 0; i < f->n_votes; i++) {
        f->votes_for_one &= f->votes[i].target == f->votes[0].target;
        f->has_negative_votes |= !(f->votes[i].weight >= 0);
    }
    return refuse_circles(c, f);
}

/* ---- walks ----------------------------------------------------------------------------------- */

static bool tree_is_member(const hn_forest *f, const hn_tree_node *node, double v) {
    for (uint64_t i = 0; i < node->n_members; i++)
        if (f->members[node->first_member + i] == v)
            return true;
    return false;
}

static bool tree_decides(const hn_forest *f, const hn_tree_node *node, double v) {
    if (v != v && node->nan_is_true)
        return true;
    switch (node->mode) {
    case HN_TREE_LEQ:
        return v <= node->split;
    case HN_TREE_LT:
        return v < node->split;
    case HN_TREE_GTE:
        return v >= node->split;
    case HN_TREE_GT:
        return v > node->split;
    case HN_TREE_EQ:
        return v == node->split;
    case HN_TREE_NEQ:
        return v != node->split;
    default:
        return tree_is_member(f, node, v);
    }
}

/* All lanes take a step until none moves: leaves lead to themselves. */
#define WALK(name, test)                                                                         \
  static void name(const hn_forest *f, uint32_t n, uint32_t *at, const double *const *samples) { \
    for (uint32_t moved = 1; moved;) {                                                           \
      moved = 0;                                                                                 \
      for (uint32_t i = 0; i < n; i++) {                                                         \
        const hn_tree_step *step = &f->steps[at[i]];                                             \
        double v = samples[i][step->feature];                                                    \
        uint32_t next = step->next[test];                                                        \
        moved |= next ^ at[i];                                                                   \
        at[i] = next;                                                                            \
      }                                                                                          \
    }                                                                                            \
  }
WALK(walk_leq, v <= step->split)
WALK(walk_lt, v < step->split)
WALK(walk_gte, v >= step->split)
WALK(walk_gt, v > step->split)
WALK(walk_any, tree_decides(f, &f->nodes[at[i]], v))
#undef WALK

void hn_forest_walk(const hn_forest *f, uint32_t n, uint32_t *at, const double *const *samples) {
    if (f->n_features == 0)
        return; /* of leaves alone; samples may be empty */
    switch (f->tells_nan ? HN_TREE_LEAF : f->mode) {
    case HN_TREE_LEQ:
        walk_leq(f, n, at, samples);
        break;
    case HN_TREE_LT:
        walk_lt(f, n, at, samples);
        break;
    case HN_TREE_GTE:
        walk_gte(f, n, at, samples);
        break;
    case HN_TREE_GT:
        walk_gt(f, n, at, samples);
        break;
    default:
        walk_any(f, n, at, samples);
    }
}
