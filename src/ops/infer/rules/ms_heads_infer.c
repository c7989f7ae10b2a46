/* Arithmetic that the attention operators of com.microsoft share. */
#include "ops/infer/rules/ms_heads.h"

#include "ops/infer/spatial.h"

hone_status hn_ms_positive(hn_infer *c, const char *attr, int64_t *out) {
    *out = hn_attr_i(c, attr, 0);
    if (*out < 1)
        return hn_infer_fail(c, HONE_E_INVALID, "%s is %lld; it must be 1 or more", attr,
                             (long long)*out);
    return HONE_OK;
}

hone_status hn_ms_divide(hn_infer *c, const char *what, hn_dim whole, int64_t parts, hn_dim *out) {
    if (hn_dim_is_known(whole) && whole % parts != 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "%s is %lld, which is not a multiple of %lld", what,
                             (long long)whole, (long long)parts);
    *out = hn_dim_floor_div(hn_infer_syms(c), whole, parts);
    return HONE_OK;
}

hn_dim hn_ms_in_dim(const hn_infer *c, uint32_t input) {
    uint32_t n;
    const hn_sint *elems;
    return hn_in_ints(c, input, &n, &elems, NULL) && n == 1 ? hn_sint_to_dim(elems[0])
                                                            : HN_DIM_UNKNOWN;
}

hone_status hn_ms_value_width(hn_infer *c, uint32_t weights, uint32_t bias, hn_dim *out) {
    uint32_t n;
    const int64_t *widths;
    HN_TRY(hn_expect_rank(c, weights, 2, 2));
    HN_TRY(hn_expect_rank(c, bias, 1, 1));
    if (hn_attr_ints(c, "qkv_hidden_sizes", &n, &widths) && n > 0) {
        if (n != 3 || widths[0] < 1 || widths[1] < 1 || widths[2] < 1)
            return hn_infer_fail(c, HONE_E_INVALID,
                                 "qkv_hidden_sizes must be three positive widths: of Q, K and V");
        *out = widths[2];
        return HONE_OK;
    }
    hn_dim packed;
    HN_TRY(hn_merge_dim(c, "the width of the packed Q, K and V", hn_in_dim(c, bias, 0),
                        hn_in_dim(c, weights, 1), &packed));
    return hn_ms_divide(c, "the width of the packed Q, K and V", packed, 3, out);
}

bool hn_ms_attention_macs(hn_dim batch, hn_dim queries, hn_dim keys, hn_dim key_width,
                          hn_dim value_width, uint64_t *macs) {
    uint64_t for_scores = 1, for_values = 1;
    const hn_dim scores[4] = {batch, queries, keys, key_width},
                 values[4] = {batch, queries, keys, value_width};
    return hn_macs_times(&for_scores, 4, scores) && hn_macs_times(&for_values, 4, values) &&
           hn_add_u64(for_scores, for_values, macs);
}
