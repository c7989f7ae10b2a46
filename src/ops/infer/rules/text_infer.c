/* Inference rules of operators on strings. */
#include "ops/infer/infer_int.h"

hone_status hn_infer_string_concat(hn_infer *c) {
    const hn_shape *shapes[2] = {hn_in_shape(c, 0), hn_in_shape(c, 1)};
    int32_t rank;
    const hn_dim *dims;
    HN_TRY(hn_broadcast(c, 2, shapes, &rank, &dims));
    return hn_out_tensor(c, 0, HN_STRING, rank, dims);
}

/* Stop words are removed from the last axis; when nothing remains, the result is one empty
 * string. */
hone_status hn_infer_string_normalizer(hn_infer *c) {
    static const char *const actions[] = {"NONE", "LOWER", "UPPER"};
    bool is_action = false;
    for (size_t i = 0; i < HN_COUNT(actions); i++)
        is_action |= hn_attr_is(c, "case_change_action", actions[i]);
    if (!is_action)
        return hn_infer_fail(c, HONE_E_INVALID, "case_change_action must be LOWER, UPPER or NONE");
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_expect_rank(c, 0, 1, 2));
    if (!x)
        return HONE_OK;
    if (x->rank == 2 && hn_dim_is_known(x->dims[0]) && x->dims[0] != 1)
        return hn_infer_fail(c, HONE_E_SHAPE, "input 0 is %s, but must have the shape [C] or [1,C]",
                             hn_in_text(c, 0));
    const hn_attr *stop = hn_attr_raw(c, "stopwords");
    hn_dim n = x->dims[x->rank - 1];
    bool keeps_all = (!stop || stop->n == 0) && hn_dim_at_least(hn_infer_syms(c), n, 1);
    hn_dim dims[2] = {1, HN_DIM_UNKNOWN};
    dims[x->rank - 1] = keeps_all ? n : HN_DIM_UNKNOWN;
    return hn_out_shape(c, 0, x->rank, dims);
}

/* Output `i` has one more axis, of size `last`. */
static hone_status out_with_last_axis(hn_infer *c, uint32_t i, hn_dim last) {
    const hn_shape *x = hn_in_shape(c, 0);
    if (!x)
        return HONE_OK;
    hn_dim *dims = hn_infer_dims(c, x->rank + 1);
    HN_TRY_PTR(dims);
    for (int32_t k = 0; k < x->rank; k++)
        dims[k] = x->dims[k];
    dims[x->rank] = last;
    return hn_out_shape(c, i, x->rank + 1, dims);
}

hone_status hn_infer_string_split(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    HN_TRY(hn_out_elem(c, 0, HN_STRING));
    HN_TRY(hn_out_tensor(c, 1, HN_I64, x ? x->rank : -1, x ? x->dims : NULL));
    return out_with_last_axis(c, 0, HN_DIM_UNKNOWN);
}

hone_status hn_infer_regex_full_match(hn_infer *c) {
    const hn_shape *x = hn_in_shape(c, 0);
    return hn_out_tensor(c, 0, HN_BOOL, x ? x->rank : -1, x ? x->dims : NULL);
}

/* One number per n-gram coordinate: the largest coordinate determines how many. */
hone_status hn_infer_tfidf_vectorizer(hn_infer *c) {
    uint32_t n;
    const int64_t *coordinates;
    int64_t last = -1, n_coordinates;
    if (!hn_attr_is(c, "mode", "TF") && !hn_attr_is(c, "mode", "IDF") &&
        !hn_attr_is(c, "mode", "TFIDF"))
        return hn_infer_fail(c, HONE_E_INVALID, "mode must be TF, IDF or TFIDF");
    if (!hn_attr_ints(c, "ngram_indexes", &n, &coordinates) || n == 0)
        return hn_infer_fail(c, HONE_E_INVALID,
                             "ngram_indexes is empty: there is nothing to count");
    for (uint32_t i = 0; i < n; i++) {
        if (coordinates[i] < 0)
            return hn_infer_fail(c, HONE_E_INVALID,
                                 "ngram_indexes has the entry %lld; coordinates start at 0",
                                 (long long)coordinates[i]);
        last = HN_MAX(last, coordinates[i]);
    }
    if (!hn_add_i64(last, 1, &n_coordinates))
        return hn_infer_fail(c, HONE_E_LIMIT,
                             "ngram_indexes has the entry %lld, which is too large",
                             (long long)last);
    HN_TRY(hn_expect_rank(c, 0, 1, 2));
    const hn_shape *x = hn_in_shape(c, 0);
    if (!x)
        return HONE_OK;
    hn_dim dims[2] = {x->dims[0], n_coordinates};
    dims[x->rank - 1] = n_coordinates;
    return hn_out_shape(c, 0, x->rank, dims);
}

hone_status hn_infer_tokenizer(hn_infer *c) {
    HN_TRY(hn_expect_rank(c, 0, 1, 2));
    return out_with_last_axis(c, 0, HN_DIM_UNKNOWN);
}
