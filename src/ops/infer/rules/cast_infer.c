/* Inference rules of operators that change the element type. */
#include "ops/infer/follow.h"

/* Version 1 names the type: "FLOAT", "INT64". */
static hone_status cast_target_by_name(hn_infer *c, hn_dtype *out) {
    hn_bytes name = hn_attr_s(c, "to");
    char lower[16];
    size_t n = name.n < sizeof lower ? (size_t)name.n : 0;
    for (size_t i = 0; i < n; i++) {
        char letter = ((const char *)name.at)[i];
        lower[i] = letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
    }
    *out = hn_dtype_from_name(lower, n);
    if (*out == HN_UNDEFINED)
        return hn_infer_fail(c, HONE_E_TYPE,
                             "attribute 'to' is not an element type; use FLOAT, INT64, BOOL ...");
    return hn_expect_out_elem(c, "to", 0, *out);
}

static hone_status check_round_mode(hn_infer *c) {
    if (!hn_has_attr(c, "round_mode") || hn_attr_is(c, "round_mode", "up") ||
        hn_attr_is(c, "round_mode", "down") || hn_attr_is(c, "round_mode", "nearest"))
        return HONE_OK;
    return hn_infer_fail(c, HONE_E_INVALID, "round_mode must be up, down or nearest");
}

/* The shape of input 0 with another element type; integers keep their values. */
static hone_status out_converted(hn_infer *c, hn_dtype elem) {
    HN_TRY(check_round_mode(c));
    HN_TRY(hn_out_elem(c, 0, elem));
    HN_TRY(hn_out_shape_of(c, 0, 0));
    return hn_out_followed_same(c, 0, 0, elem);
}

hone_status hn_infer_cast(hn_infer *c) {
    hn_dtype elem;
    if (hn_infer_version(c) < 6)
        HN_TRY(cast_target_by_name(c, &elem));
    else
        HN_TRY(hn_attr_dtype(c, "to", 0, HN_UNDEFINED, &elem));
    return out_converted(c, elem);
}

hone_status hn_infer_cast_like(hn_infer *c) {
    return out_converted(c, hn_in_elem(c, 1));
}

hone_status hn_infer_bit_cast(hn_infer *c) {
    hn_dtype from = hn_in_elem(c, 0), to;
    HN_TRY(hn_attr_dtype(c, "to", 0, HN_UNDEFINED, &to));
    if (from != HN_UNDEFINED && hn_dtype_bits(from) != hn_dtype_bits(to))
        return hn_infer_fail(
            c, HONE_E_TYPE,
            "%s has %d bits and %s has %d; the bits of one must be those of the other",
            hn_dtype_name(from), hn_dtype_bits(from), hn_dtype_name(to), hn_dtype_bits(to));
    HN_TRY(hn_out_elem(c, 0, to));
    return hn_out_shape_of(c, 0, 0);
}
