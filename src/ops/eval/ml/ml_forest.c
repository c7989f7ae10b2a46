/* Decision trees: reading the attributes of all versions into one form. */
#include "ops/eval/ml/ml_forest.h"

#include <stdio.h>

/* ---- attributes ------------------------------------------------------------------------------ */

static hone_status tensor_doubles(hn_eval *c, const hn_tensor *t, const char *name, uint64_t *n,
                                  const double **out) {
    double *list = HN_NEW_N(hn_infer_arena(hn_eval_node(c)), double, (size_t)t->n_elems + 1);
    HN_TRY_PTR(list);
    for (uint64_t i = 0; i < t->n_elems; i++)
        if (!hn_tensor_get_f64(t, i, &list[i]))
            return hn_eval_fail(c, HONE_E_INVALID, "the data of %s cannot be read", name);
    *n = t->n_elems;
    *out = list;
    return HONE_OK;
}

hone_status hn_ml_doubles(hn_eval *c, const char *name, const char *twin, uint64_t *n,
                          const double **out) {
    const hn_attr *a = hn_attr_raw(hn_eval_node(c), name),
                  *t = twin ? hn_attr_raw(hn_eval_node(c), twin) : NULL;
    *n = 0;
    *out = NULL;
    if (a && a->kind == HN_ATTR_TENSOR)
        return tensor_doubles(c, a->v.tensor, name, n, out);
    if (t && t->kind == HN_ATTR_TENSOR)
        return tensor_doubles(c, t->v.tensor, twin, n, out);
    if (!a || a->kind != HN_ATTR_FLOATS)
        return HONE_OK;
    double *list = HN_NEW_N(hn_infer_arena(hn_eval_node(c)), double, (size_t)a->n + 1);
    HN_TRY_PTR(list);
    for (uint32_t i = 0; i < a->n; i++)
        list[i] = (double)a->v.floats[i];
    *n = a->n;
    *out = list;
    return HONE_OK;
}

/* A list of integers that must have n entries; absent ones are NULL unless they are needed. */
static hone_status forest_ints(hn_eval *c, const char *name, uint64_t n, bool is_needed,
                               const int64_t **out) {
    uint64_t n_list;
    *out = hn_ml_ints(hn_eval_node(c), name, &n_list);
    if (!*out && !is_needed)
        return HONE_OK;
    if (n_list != n || !*out)
        return hn_eval_fail(c, HONE_E_INVALID, "%s has %llu entries, but must have %llu", name,
                            (unsigned long long)n_list, (unsigned long long)n);
    return HONE_OK;
}

static hone_status forest_room(hn_arena *room, hn_forest *f) {
    f->nodes = HN_NEW_N(room, hn_tree_node, (size_t)f->n_nodes + 1);
    f->votes = HN_NEW_N(room, hn_tree_vote, (size_t)f->n_votes + 1);
    f->roots = HN_NEW_N(room, uint32_t, (size_t)f->n_roots + 1);
    return f->nodes && f->votes && f->roots ? HONE_OK : HONE_E_NOMEM;
}

static hone_status fail_tree(hn_eval *c, const char *what, uint64_t i) {
    return hn_eval_fail(c, HONE_E_INVALID, "%s of entry %llu points nowhere", what,
                        (unsigned long long)i);
}

static hone_status forest_add_vote(hn_eval *c, hn_forest *f, uint32_t i, uint32_t node,
                                   int64_t target, double weight) {
    if (target < 0 || (uint64_t)target >= f->n_targets)
        return hn_eval_fail(c, HONE_E_INVALID, "a leaf votes for %lld, but there are %llu targets",
                            (long long)target, (unsigned long long)f->n_targets);
    f->votes[i] = (hn_tree_vote){(uint64_t)target, weight, f->nodes[node].first_vote};
    f->nodes[node].first_vote = i;
    return HONE_OK;
}

/* ---- TreeEnsemble ---------------------------------------------------------------------------- */

typedef struct forest_lists {
    uint64_t n_nodes, n_leaves, n_members;
    const double *splits, *modes, *members, *weights;
    const int64_t *features, *yes, *no, *yes_is_leaf, *no_is_leaf, *nan_is_true, *targets;
} forest_lists;

static hone_status forest_lists_read(hn_eval *c, forest_lists *l) {
    uint64_t n_modes, n_targets;
    HN_TRY(hn_ml_doubles(c, "nodes_splits", NULL, &l->n_nodes, &l->splits));
    HN_TRY(hn_ml_doubles(c, "nodes_modes", NULL, &n_modes, &l->modes));
    HN_TRY(hn_ml_doubles(c, "membership_values", NULL, &l->n_members, &l->members));
    HN_TRY(hn_ml_doubles(c, "leaf_weights", NULL, &l->n_leaves, &l->weights));
    l->targets = hn_ml_ints(hn_eval_node(c), "leaf_targetids", &n_targets);
    if (n_modes != l->n_nodes || n_targets != l->n_leaves || l->n_nodes + l->n_leaves >= UINT32_MAX)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "the lists of nodes or leaves differ in their lengths");
    HN_TRY(forest_ints(c, "nodes_featureids", l->n_nodes, true, &l->features));
    HN_TRY(forest_ints(c, "nodes_truenodeids", l->n_nodes, true, &l->yes));
    HN_TRY(forest_ints(c, "nodes_falsenodeids", l->n_nodes, true, &l->no));
    HN_TRY(forest_ints(c, "nodes_trueleafs", l->n_nodes, true, &l->yes_is_leaf));
    HN_TRY(forest_ints(c, "nodes_falseleafs", l->n_nodes, true, &l->no_is_leaf));
    return forest_ints(c, "nodes_missing_value_tracks_true", l->n_nodes, false, &l->nan_is_true);
}

/* Leaves stand behind the nodes. */
static bool forest_child(const forest_lists *l, int64_t id, int64_t is_leaf, uint32_t *out) {
    uint64_t n = is_leaf ? l->n_leaves : l->n_nodes;
    if (id < 0 || (uint64_t)id >= n)
        return false;
    *out = (uint32_t)((uint64_t)id + (is_leaf ? l->n_nodes : 0));
    return true;
}

/* The values of each membership node end with NaN. */
static void forest_take_members(const forest_lists *l, uint64_t *at, hn_tree_node *node) {
    node->first_member = *at;
    while (*at < l->n_members && l->members[*at] == l->members[*at])
        ++*at;
    node->n_members = *at - node->first_member;
    if (*at < l->n_members)
        ++*at;
}

static hone_status forest_fill_nodes(hn_eval *c, const forest_lists *l, hn_forest *f) {
    uint64_t at_member = 0;
    for (uint64_t i = 0; i < l->n_nodes; i++) {
        hn_tree_node *node = &f->nodes[i];
        if (!(l->modes[i] >= HN_TREE_LEQ && l->modes[i] <= HN_TREE_MEMBER) || l->features[i] < 0)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "node %llu has a mode or a feature that does not exist",
                                (unsigned long long)i);
        *node = (hn_tree_node){.mode = (hn_tree_mode)l->modes[i],
                               .feature = (uint64_t)l->features[i],
                               .split = l->splits[i],
                               .nan_is_true = l->nan_is_true && l->nan_is_true[i],
                               .first_vote = HN_NO_VOTE};
        if (!forest_child(l, l->yes[i], l->yes_is_leaf[i], &node->yes) ||
            !forest_child(l, l->no[i], l->no_is_leaf[i], &node->no))
            return fail_tree(c, "a branch", i);
        if (node->mode == HN_TREE_MEMBER)
            forest_take_members(l, &at_member, node);
    }
    for (uint32_t i = 0; i < l->n_leaves; i++) {
        uint32_t at = (uint32_t)l->n_nodes + i;
        f->nodes[at] = (hn_tree_node){.mode = HN_TREE_LEAF, .first_vote = HN_NO_VOTE};
        HN_TRY(forest_add_vote(c, f, i, at, l->targets[i], l->weights[i]));
    }
    return HONE_OK;
}

hone_status hn_forest_read(hn_eval *c, hn_arena *room, hn_forest *f) {
    forest_lists l = {0};
    uint64_t n_roots;
    const int64_t *roots = hn_ml_ints(hn_eval_node(c), "tree_roots", &n_roots);
    HN_TRY(forest_lists_read(c, &l));
    *f = (hn_forest){.n_nodes = (uint32_t)(l.n_nodes + l.n_leaves),
                     .n_votes = (uint32_t)l.n_leaves,
                     .n_roots = (uint32_t)n_roots};
    f->n_targets = (uint64_t)HN_MAX(hn_attr_i(hn_eval_node(c), "n_targets", 1), 0);
    HN_TRY(forest_room(room, f));
    if (l.n_members > 0) {
        f->members = hn_arena_copy(room, l.members, (size_t)l.n_members * sizeof *l.members);
        HN_TRY_PTR(f->members);
    }
    HN_TRY(forest_fill_nodes(c, &l, f));
    for (uint32_t i = 0; i < f->n_roots; i++) {
        if (roots[i] < 0 || (uint64_t)roots[i] >= l.n_nodes)
            return fail_tree(c, "tree_roots", i);
        f->roots[i] = (uint32_t)roots[i];
    }
    return HONE_OK;
}

/* ---- TreeEnsembleRegressor, TreeEnsembleClassifier ------------------------------------------- */

static bool read_tree_mode(hn_bytes name, hn_tree_mode *mode) {
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", NULL,         "LEAF"};
    for (size_t i = 0; i < HN_COUNT(names); i++)
        if (names[i] && name.n == strlen(names[i]) &&
            memcmp(name.at, names[i], (size_t)name.n) == 0) {
            *mode = (hn_tree_mode)i;
            return true;
        }
    return false;
}

typedef struct old_lists {
    uint64_t n_nodes;
    const double *values;
    const hn_bytes *modes;
    const int64_t *trees, *ids, *features, *yes, *no, *nan_is_true;
    hn_map where; /* (tree, node id) -> node */
} old_lists;

static hone_status old_lists_read(hn_eval *c, old_lists *l) {
    const hn_attr *modes = hn_attr_raw(hn_eval_node(c), "nodes_modes");
    uint64_t n_values;
    l->n_nodes = modes && modes->kind == HN_ATTR_STRINGS ? modes->n : 0;
    l->modes = l->n_nodes ? modes->v.strings : NULL;
    HN_TRY(hn_ml_doubles(c, "nodes_values", "nodes_values_as_tensor", &n_values, &l->values));
    if (n_values != l->n_nodes)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "nodes_values has %llu entries, but nodes_modes has %llu",
                            (unsigned long long)n_values, (unsigned long long)l->n_nodes);
    HN_TRY(forest_ints(c, "nodes_treeids", l->n_nodes, l->n_nodes > 0, &l->trees));
    HN_TRY(forest_ints(c, "nodes_nodeids", l->n_nodes, l->n_nodes > 0, &l->ids));
    HN_TRY(forest_ints(c, "nodes_featureids", l->n_nodes, l->n_nodes > 0, &l->features));
    HN_TRY(forest_ints(c, "nodes_truenodeids", l->n_nodes, l->n_nodes > 0, &l->yes));
    HN_TRY(forest_ints(c, "nodes_falsenodeids", l->n_nodes, l->n_nodes > 0, &l->no));
    return forest_ints(c, "nodes_missing_value_tracks_true", l->n_nodes, false, &l->nan_is_true);
}

/* UINT32_MAX when there is no such node. */
static uint32_t old_find(const old_lists *l, int64_t tree, int64_t id) {
    if (tree < 0 || tree > UINT32_MAX - 1 || id < 0 || id > UINT32_MAX)
        return UINT32_MAX;
    return hn_map_get(&l->where, hn_key((uint32_t)tree, (uint32_t)id));
}

/* The first node of each tree is its root. */
static hone_status old_index(hn_eval *c, old_lists *l, hn_forest *f) {
    hn_map roots;
    hn_map_init(&l->where, hn_infer_arena(hn_eval_node(c)));
    hn_map_init(&roots, hn_infer_arena(hn_eval_node(c)));
    f->n_roots = 0;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        if (l->trees[i] < 0 || l->trees[i] >= UINT32_MAX || l->ids[i] < 0 || l->ids[i] > UINT32_MAX)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "node %u has a number that is negative or too large", i);
        uint64_t key = hn_key((uint32_t)l->trees[i], (uint32_t)l->ids[i]);
        bool is_root = hn_map_get(&roots, (uint64_t)l->trees[i]) == HN_MAP_NONE;
        if (hn_map_get(&l->where, key) != HN_MAP_NONE)
            return hn_eval_fail(c, HONE_E_INVALID, "tree %lld has node %lld twice",
                                (long long)l->trees[i], (long long)l->ids[i]);
        if (!hn_map_put(&l->where, key, i) ||
            (is_root && !hn_map_put(&roots, (uint64_t)l->trees[i], i)))
            return HONE_E_NOMEM;
        if (is_root)
            f->roots[f->n_roots++] = i;
    }
    return HONE_OK;
}

static hone_status old_fill_nodes(hn_eval *c, const old_lists *l, hn_forest *f) {
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        hn_tree_node *node = &f->nodes[i];
        *node = (hn_tree_node){.split = l->values[i],
                               .nan_is_true = l->nan_is_true && l->nan_is_true[i],
                               .first_vote = HN_NO_VOTE};
        if (!read_tree_mode(l->modes[i], &node->mode))
            return hn_eval_fail(c, HONE_E_INVALID, "nodes_modes[%u] is no known mode", i);
        if (node->mode == HN_TREE_LEAF)
            continue;
        node->feature = (uint64_t)l->features[i];
        node->yes = old_find(l, l->trees[i], l->yes[i]);
        node->no = old_find(l, l->trees[i], l->no[i]);
        if (node->yes == UINT32_MAX || node->no == UINT32_MAX)
            return fail_tree(c, "a branch", i);
    }
    return HONE_OK;
}

/* Votes are named after what they are for: target_ids, class_ids, ... */
static hone_status old_fill_votes(hn_eval *c, const old_lists *l, const char *voter,
                                  const double *weights, hn_forest *f) {
    char name[32];
    const int64_t *trees, *nodes, *ids;
    snprintf(name, sizeof name, "%s_treeids", voter);
    HN_TRY(forest_ints(c, name, f->n_votes, f->n_votes > 0, &trees));
    snprintf(name, sizeof name, "%s_nodeids", voter);
    HN_TRY(forest_ints(c, name, f->n_votes, f->n_votes > 0, &nodes));
    snprintf(name, sizeof name, "%s_ids", voter);
    HN_TRY(forest_ints(c, name, f->n_votes, f->n_votes > 0, &ids));
    for (uint32_t i = 0; i < f->n_votes; i++) {
        uint32_t node = old_find(l, trees[i], nodes[i]);
        if (node == UINT32_MAX)
            return fail_tree(c, "a vote", i);
        HN_TRY(forest_add_vote(c, f, i, node, ids[i], weights[i]));
    }
    return HONE_OK;
}

hone_status hn_forest_read_old(hn_eval *c, hn_arena *room, const char *voter, uint64_t n_targets,
                               hn_forest *f) {
    char name[32], twin[40];
    old_lists l = {0};
    const double *weights;
    uint64_t n_votes;
    snprintf(name, sizeof name, "%s_weights", voter);
    snprintf(twin, sizeof twin, "%s_weights_as_tensor", voter);
    HN_TRY(old_lists_read(c, &l));
    HN_TRY(hn_ml_doubles(c, name, twin, &n_votes, &weights));
    if (l.n_nodes >= UINT32_MAX || n_votes >= UINT32_MAX)
        return hn_eval_fail(c, HONE_E_LIMIT, "there are too many nodes");
    *f = (hn_forest){.n_nodes = (uint32_t)l.n_nodes,
                     .n_votes = (uint32_t)n_votes,
                     .n_roots = (uint32_t)l.n_nodes,
                     .n_targets = n_targets};
    HN_TRY(forest_room(room, f));
    HN_TRY(old_index(c, &l, f));
    HN_TRY(old_fill_nodes(c, &l, f));
    return old_fill_votes(c, &l, voter, weights, f);
}
