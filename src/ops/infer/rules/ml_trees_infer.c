/* Inference rules of the tree ensembles of ai.onnx.ml. */
#include "ops/infer/rules/ml_int.h"

/* An attribute and its variant of type double exclude each other. */
static hone_status refuse_double_variants(hn_infer *c) {
    static const char *const variants[][2] = {
        {"nodes_values", "nodes_values_as_tensor"},
        {"nodes_hitrates", "nodes_hitrates_as_tensor"},
        {"class_weights", "class_weights_as_tensor"},
        {"target_weights", "target_weights_as_tensor"},
        {"base_values", "base_values_as_tensor"},
    };
    for (size_t i = 0; i < HN_COUNT(variants); i++)
        if (hn_has_attr(c, variants[i][0]) && hn_has_attr(c, variants[i][1]))
            return hn_infer_fail(c, HONE_E_INVALID,
                                 "has both %s and %s; only one of them may be given",
                                 variants[i][0], variants[i][1]);
    return HONE_OK;
}

/* ---- TreeEnsemble ---------------------------------------------------------------------------- */

/* A list attribute, or a vector in a tensor attribute, must have `expected` entries. */
static hone_status expect_length(hn_infer *c, const char *name, int64_t expected,
                                 const char *reference) {
    const hn_attr *a = hn_attr_raw(c, name);
    if (!a)
        return HONE_OK;
    bool is_vector = a->kind != HN_ATTR_TENSOR || a->v.tensor->rank == 1;
    int64_t n = a->kind != HN_ATTR_TENSOR ? a->n : is_vector ? a->v.tensor->dims[0] : 0;
    if (!is_vector)
        return hn_infer_fail(c, HONE_E_SHAPE, "%s must be a vector, but has rank %d", name,
                             a->v.tensor->rank);
    if (n != expected)
        return hn_infer_fail(c, HONE_E_SHAPE, "%s has %lld entries, but %s has %lld", name,
                             (long long)n, reference, (long long)expected);
    return HONE_OK;
}

static hone_status expect_elem(hn_infer *c, const char *name, hn_dtype elem) {
    const hn_attr *a = hn_attr_raw(c, name);
    if (!a || a->kind != HN_ATTR_TENSOR || elem == HN_UNDEFINED || a->v.tensor->dtype == elem)
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_TYPE, "%s is a tensor of %s, but must be one of %s", name,
                         hn_dtype_name(a->v.tensor->dtype), hn_dtype_name(elem));
}

static hone_status check_nodes(hn_infer *c) {
    static const char *const per_node[] = {
        "nodes_featureids",   "nodes_hitrates",
        "nodes_modes",        "nodes_truenodeids",
        "nodes_falsenodeids", "nodes_trueleafs",
        "nodes_falseleafs",   "nodes_missing_value_tracks_true",
    };
    static const char *const like_input[] = {"nodes_splits", "membership_values", "leaf_weights"};
    const hn_attr *splits = hn_attr_raw(c, "nodes_splits"),
                  *targets = hn_attr_raw(c, "leaf_targetids");
    if (!splits || splits->kind != HN_ATTR_TENSOR || !targets)
        return HONE_OK; /* both are required: the schema check reports them */
    if (splits->v.tensor->rank != 1)
        return hn_infer_fail(c, HONE_E_SHAPE, "nodes_splits must be a vector, but has rank %d",
                             splits->v.tensor->rank);
    for (size_t i = 0; i < HN_COUNT(per_node); i++)
        HN_TRY(expect_length(c, per_node[i], splits->v.tensor->dims[0], "nodes_splits"));
    for (size_t i = 0; i < HN_COUNT(like_input); i++)
        HN_TRY(expect_elem(c, like_input[i], hn_in_elem(c, 0)));
    HN_TRY(expect_elem(c, "nodes_modes", HN_U8));
    return expect_length(c, "leaf_weights", targets->n, "leaf_targetids");
}

/* TreeEnsemble since 5, TreeEnsembleRegressor before. */
hone_status hn_infer_tree_ensemble(hn_infer *c) {
    hn_dim dims[2] = {HN_DIM_UNKNOWN, HN_DIM_UNKNOWN};
    bool is_regressor = strcmp(hn_infer_op(c), "TreeEnsembleRegressor") == 0;
    HN_TRY(is_regressor ? refuse_double_variants(c) : check_nodes(c));
    HN_TRY(hn_ml_samples(c, is_regressor && hn_infer_version(c) < 3 ? 1 : 2, &dims[0]));
    if (hn_has_attr(c, "n_targets")) {
        int64_t n = hn_attr_i(c, "n_targets", 0);
        if (n < 1)
            return hn_infer_fail(c, HONE_E_INVALID, "n_targets is %lld; it must be 1 or more",
                                 (long long)n);
        dims[1] = n;
    }
    return hn_out_tensor(c, 0, is_regressor ? HN_F32 : hn_in_elem(c, 0), 2, dims);
}

hone_status hn_infer_tree_classifier(hn_infer *c) {
    hn_dim samples;
    HN_TRY(refuse_double_variants(c));
    HN_TRY(hn_ml_samples(c, hn_infer_version(c) < 3 ? 1 : 2, &samples));
    uint32_t n_strings = hn_ml_list_len(c, "classlabels_strings"),
             n_ints = hn_ml_list_len(c, "classlabels_int64s");
    uint32_t n = n_strings ? n_strings : n_ints;
    return hn_ml_out_labels(c, "classlabels_strings", samples, n ? (hn_dim)n : HN_DIM_UNKNOWN);
}
