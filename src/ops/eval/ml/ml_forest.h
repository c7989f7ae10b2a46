/* Inside ops/: decision trees, whatever attributes describe them. */
#ifndef HN_ML_FOREST_H
#define HN_ML_FOREST_H

#include "ops/eval/ml/ml_eval.h"

/* In the order of the numbers that TreeEnsemble gives them; HN_TREE_LEAF is ours. */
typedef enum hn_tree_mode {
    HN_TREE_LEQ,
    HN_TREE_LT,
    HN_TREE_GTE,
    HN_TREE_GT,
    HN_TREE_EQ,
    HN_TREE_NEQ,
    HN_TREE_MEMBER,
    HN_TREE_LEAF /* as a forest's one mode: they differ */
} hn_tree_mode;

typedef struct hn_tree_node {
    hn_tree_mode mode;
    bool nan_is_true;
    uint64_t feature;
    double split;
    uint32_t yes, no;    /* nodes */
    uint32_t first_vote; /* leaves; HN_NO_VOTE: none */
    uint64_t first_member, n_members;
} hn_tree_node;

#define HN_NO_VOTE UINT32_MAX
/* What a leaf adds to one target; a leaf's votes are a list. */
typedef struct hn_tree_vote {
    uint64_t target;
    double weight;
    uint32_t next;
} hn_tree_vote;

/* What a walk reads of a node. A leaf leads to itself. */
typedef struct hn_tree_step {
    double split;
    uint32_t feature;
    uint32_t next[2]; /* when the comparison is false, and when it is true */
} hn_tree_step;

typedef struct hn_forest {
    hn_tree_node *nodes;
    hn_tree_step *steps; /* one per node */
    hn_tree_vote *votes;
    uint32_t *roots;
    const double *members; /* values that HN_TREE_MEMBER compares with */
    uint32_t n_nodes, n_votes, n_roots;
    uint64_t n_targets, n_features; /* a sample must have */
    hn_tree_mode mode;              /* of all nodes but leaves; HN_TREE_LEAF: they differ */
    bool tells_nan;                 /* some nodes have nan_is_true */
    bool votes_for_one;             /* all votes are for the target of the first */
    bool has_negative_votes;        /* a weight is below 0, or no number */
} hn_forest;

/* From the attributes of TreeEnsemble. What stays lies in `room`. */
hone_status hn_forest_read(hn_eval *c, hn_arena *room, hn_forest *f);
/* From those of TreeEnsembleRegressor ("target") and TreeEnsembleClassifier ("class"); n_targets is
 * given. */
hone_status hn_forest_read_old(hn_eval *c, hn_arena *room, const char *voter, uint64_t n_targets,
                               hn_forest *f);
/* After one of them: looks for circles, and makes the steps. */
hone_status hn_forest_finish(hn_eval *c, hn_arena *room, hn_forest *f);

#define HN_FOREST_LANES 16
/* Walks down from n nodes (HN_FOREST_LANES at most), each with its own sample, which has the
 * features that the forest needs; at[i] becomes a leaf. */
void hn_forest_walk(const hn_forest *f, uint32_t n, uint32_t *at, const double *const *samples);

/* A list attribute, or its twin in a tensor (NULL: it has none), as doubles that live as long as
 * the inference of the node. *n is 0 when both are absent. */
hone_status hn_ml_doubles(hn_eval *c, const char *name, const char *twin, uint64_t *n,
                          const double **out);

#endif /* HN_ML_FOREST_H */
