/* Inference rules of ai.onnx.ml except trees: linear and support vector models, encoders, maps. */
#include "ops/infer/rules/ml_int.h"

/* ---- shared ---------------------------------------------------------------------------------- */

uint32_t hn_ml_list_len(const hn_infer *c, const char *name) {
    const hn_attr *a = hn_attr_raw(c, name);
    return a ? a->n : 0;
}

hone_status hn_ml_samples(hn_infer *c, int32_t min_rank, hn_dim *out) {
    HN_TRY(hn_expect_rank(c, 0, min_rank, 2));
    *out = hn_in_rank(c, 0) == 1 ? 1 : hn_in_dim(c, 0, 0);
    return HONE_OK;
}

hone_status hn_ml_out_labels(hn_infer *c, const char *strings, hn_dim samples, hn_dim n_scores) {
    hn_dim dims[2] = {samples, n_scores};
    HN_TRY(hn_out_tensor(c, 0, hn_ml_list_len(c, strings) ? HN_STRING : HN_I64, 1, dims));
    return hn_out_tensor(c, 1, HN_F32, 2, dims);
}

/* ---- linear and support vector models -------------------------------------------------------- */

/* Without probabilities, a support vector classifier of more than two classes has a score for every
 * pair of them. */
static hn_dim n_svm_scores(hn_infer *c, uint32_t n_labels) {
    int64_t n = n_labels;
    bool has_vectors =
        hn_ml_list_len(c, "support_vectors") > 0 && hn_ml_list_len(c, "vectors_per_class") > 0;
    if (n == 0)
        return HN_DIM_UNKNOWN;
    if (!has_vectors || hn_ml_list_len(c, "prob_a"))
        return n;
    return n > 2 ? n * (n - 1) / 2 : 2;
}

hone_status hn_infer_ml_classifier(hn_infer *c) {
    hn_dim samples;
    HN_TRY(hn_ml_samples(c, 1, &samples));
    uint32_t n_strings = hn_ml_list_len(c, "classlabels_strings");
    uint32_t n_labels = n_strings ? n_strings : hn_ml_list_len(c, "classlabels_ints");
    if (strcmp(hn_infer_op(c), "SVMClassifier") == 0)
        return hn_ml_out_labels(c, "classlabels_strings", samples, n_svm_scores(c, n_labels));
    uint32_t n = hn_ml_list_len(c, "intercepts");
    if (n == 1 && n_labels == 2)
        n = 2; /* one score decides between two labels: the other score is derived from it */
    return hn_ml_out_labels(c, "classlabels_strings", samples, n ? (hn_dim)n : HN_DIM_UNKNOWN);
}

hone_status hn_infer_ml_regressor(hn_infer *c) {
    hn_dim dims[2] = {HN_DIM_UNKNOWN, 1};
    HN_TRY(hn_ml_samples(c, 1, &dims[0]));
    if (strcmp(hn_infer_op(c), "LinearRegressor") == 0) {
        dims[1] = hn_attr_i(c, "targets", 1);
        if (dims[1] < 1)
            return hn_infer_fail(c, HONE_E_INVALID, "targets is %lld; it must be 1 or more",
                                 (long long)dims[1]);
    }
    return hn_out_tensor(c, 0, HN_F32, 2, dims);
}

/* ---- features -------------------------------------------------------------------------------- */

/* Selects the features that input 1 lists from the last axis. */
hone_status hn_infer_array_feature_extractor(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0), *picked = hn_in_shape(c, 1);
    HN_TRY(hn_expect_rank(c, 0, 1, HN_MAX_RANK));
    if (!x || x->rank == 1) /* runtimes disagree on the rank of the result for vectors */
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, x->rank);
    HN_TRY_PTR(dims);
    for (int32_t k = 0; k < x->rank - 1; k++)
        dims[k] = x->dims[k];
    if (picked)
        dims[x->rank - 1] = hn_shape_elems(hn_infer_syms(c), picked);
    return hn_out_shape(c, 0, x->rank, dims);
}

hone_status hn_infer_feature_vectorizer(hn_infer *c) {
    hn_dim dims[2] = {HN_DIM_UNKNOWN, 0};
    uint32_t n;
    const int64_t *sizes;
    for (uint32_t i = 0; i < hn_n_inputs(c); i++) {
        int32_t rank = hn_in_rank(c, i);
        HN_TRY(hn_expect_rank(c, i, 1, HN_MAX_RANK));
        HN_TRY(hn_merge_dim(c, "the number of rows", dims[0], rank == 1 ? 1 : hn_in_dim(c, i, 0),
                            &dims[0]));
    }
    if (!hn_attr_ints(c, "inputdimensions", &n, &sizes)) {
        dims[1] = HN_DIM_UNKNOWN;
        n = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (sizes[i] < 0)
            return hn_infer_fail(c, HONE_E_INVALID,
                                 "inputdimensions has the entry %lld; sizes cannot be negative",
                                 (long long)sizes[i]);
        dims[1] = hn_dim_add_i(hn_infer_syms(c), dims[1], sizes[i]);
    }
    return hn_out_tensor(c, 0, HN_F32, 2, dims);
}

hone_status hn_infer_ml_float(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    return hn_out_tensor(c, 0, HN_F32, x ? x->rank : -1, x ? x->dims : NULL);
}

hone_status hn_infer_one_hot_encoder(hn_infer *c) {
    uint32_t n_ints = hn_ml_list_len(c, "cats_int64s"),
             n_strings = hn_ml_list_len(c, "cats_strings");
    if ((n_ints > 0) == (n_strings > 0))
        return hn_infer_fail(
            c, HONE_E_INVALID,
            "exactly one of cats_int64s and cats_strings must list the categories");
    const hn_shape *x = hn_in_shape(c, 0);
    if (!x)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, x->rank + 1);
    HN_TRY_PTR(dims);
    for (int32_t k = 0; k < x->rank; k++)
        dims[k] = x->dims[k];
    dims[x->rank] = HN_MAX(n_ints, n_strings);
    return hn_out_tensor(c, 0, HN_F32, x->rank + 1, dims);
}

/* ---- labels and categories ------------------------------------------------------------------- */

/* Maps strings to integers and integers to strings. */
static hone_status out_other_kind_of_label(hn_infer *c) {
    hn_dtype from = hn_in_elem(c, 0);
    const hn_shape *x = hn_in_shape(c, 0);
    hn_dtype to = from == HN_STRING ? HN_I64 : from == HN_I64 ? HN_STRING : HN_UNDEFINED;
    return hn_out_tensor(c, 0, to, x ? x->rank : -1, x ? x->dims : NULL);
}

hone_status hn_infer_category_mapper(hn_infer *c) {
    uint32_t n_ints = hn_ml_list_len(c, "cats_int64s"),
             n_strings = hn_ml_list_len(c, "cats_strings");
    if (!hn_has_attr(c, "cats_int64s") || !hn_has_attr(c, "cats_strings") || n_ints != n_strings)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "cats_int64s (%u entries) and cats_strings (%u) must both be given, "
                             "with one entry per category",
                             n_ints, n_strings);
    return out_other_kind_of_label(c);
}

typedef struct label_list {
    const char *name; /* of the attribute; NULL when none is given */
    hn_dtype elem;
    uint64_t n;
} label_list;

/* The one of keys_* or values_* that the node has. */
static label_list find_labels(const hn_infer *c, const char *const names[4]) {
    static const hn_dtype elems[4] = {HN_UNDEFINED, HN_STRING, HN_I64,
                                      HN_F32}; /* a tensor has its own type */
    for (size_t i = 0; i < 4; i++) {
        const hn_attr *a = hn_attr_raw(c, names[i]);
        if (!a || (a->kind != HN_ATTR_TENSOR && a->n == 0))
            continue;
        bool is_tensor = a->kind == HN_ATTR_TENSOR;
        return (label_list){names[i], is_tensor ? a->v.tensor->dtype : elems[i],
                            is_tensor ? a->v.tensor->n_elems : a->n};
    }
    return (label_list){0};
}

hone_status hn_infer_label_encoder(hn_infer *c) {
    static const char *const key_names[4] = {"keys_tensor", "keys_strings", "keys_int64s",
                                             "keys_floats"};
    static const char *const value_names[4] = {"values_tensor", "values_strings", "values_int64s",
                                               "values_floats"};
    if (hn_infer_version(c) < 2)
        return out_other_kind_of_label(c);
    label_list keys = find_labels(c, key_names), values = find_labels(c, value_names);
    if (!keys.name || !values.name)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "one of keys_* and one of values_* must list the labels");
    hn_dtype from = hn_in_elem(c, 0);
    if (from != HN_UNDEFINED && from != keys.elem)
        return hn_infer_fail(c, HONE_E_TYPE, "%s holds %s, but input 0 is %s", keys.name,
                             hn_dtype_name(keys.elem), hn_in_text(c, 0));
    if (keys.n != values.n)
        return hn_infer_fail(c, HONE_E_INVALID, "%s has %llu entries, but %s has %llu", keys.name,
                             (unsigned long long)keys.n, values.name, (unsigned long long)values.n);
    const hn_attr *fallback = hn_attr_raw(c, "default_tensor");
    if (fallback && fallback->kind == HN_ATTR_TENSOR) {
        const hn_tensor *t = fallback->v.tensor;
        if (t->dtype != values.elem || t->rank != 1 || t->n_elems != 1)
            return hn_infer_fail(c, HONE_E_TYPE,
                                 "default_tensor must have the type %s and the shape [1]",
                                 hn_dtype_name(values.elem));
    }
    const hn_shape *x = hn_in_shape(c, 0);
    return hn_out_tensor(c, 0, values.elem, x ? x->rank : -1, x ? x->dims : NULL);
}

/* ---- maps ------------------------------------------------------------------------------------ */

hone_status hn_infer_cast_map(hn_infer *c) {
    static const struct {
        const char *name;
        hn_dtype elem;
    } targets[] = {{"TO_FLOAT", HN_F32}, {"TO_INT64", HN_I64}, {"TO_STRING", HN_STRING}};
    hn_dtype elem = HN_UNDEFINED;
    for (size_t i = 0; i < HN_COUNT(targets); i++)
        if (hn_attr_is(c, "cast_to", targets[i].name))
            elem = targets[i].elem;
    if (elem == HN_UNDEFINED)
        return hn_infer_fail(c, HONE_E_INVALID, "cast_to must be TO_FLOAT, TO_INT64 or TO_STRING");
    int64_t size = hn_attr_is(c, "map_form", "SPARSE") ? hn_attr_i(c, "max_map", 1) : -1;
    hn_dim dims[2] = {1, size >= 0 ? size : HN_DIM_UNKNOWN};
    return hn_out_tensor(c, 0, elem, 2, dims);
}

hone_status hn_infer_dict_vectorizer(hn_infer *c) {
    const hn_type *map = hn_in_type(c, 0);
    hn_dtype elem = map && map->kind == HN_TYPE_MAP && map->inner ? map->inner->elem : HN_UNDEFINED;
    uint32_t n_strings = hn_ml_list_len(c, "string_vocabulary");
    uint32_t n = n_strings ? n_strings : hn_ml_list_len(c, "int64_vocabulary");
    hn_dim dims[2] = {1, n ? (hn_dim)n : HN_DIM_UNKNOWN};
    return hn_out_tensor(c, 0, elem, 2, dims);
}

hone_status hn_infer_zip_map(hn_infer *c) {
    uint32_t n_strings = hn_ml_list_len(c, "classlabels_strings"),
             n_ints = hn_ml_list_len(c, "classlabels_int64s");
    HN_TRY(hn_expect_rank(c, 0, 1, 2));
    if ((n_strings > 0) == (n_ints > 0))
        return hn_infer_fail(
            c, HONE_E_INVALID,
            "exactly one of classlabels_strings and classlabels_int64s must list the labels");
    hn_arena *arena = hn_infer_arena(c);
    const hn_type *score = hn_type_tensor(arena, HN_F32, 0, NULL);
    HN_TRY_PTR(score);
    const hn_type *map = hn_type_wrap(arena, HN_TYPE_MAP, n_strings ? HN_STRING : HN_I64, score);
    HN_TRY_PTR(map);
    const hn_type *sequence = hn_type_wrap(arena, HN_TYPE_SEQUENCE, HN_UNDEFINED, map);
    HN_TRY_PTR(sequence);
    return hn_out_type(c, 0, sequence);
}
