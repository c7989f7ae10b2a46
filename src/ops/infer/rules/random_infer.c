/* Inference rules of operators that draw random numbers. */
#include "ops/infer/follow.h"

hone_status hn_infer_random(hn_infer *c) {
    hn_dtype elem;
    const int64_t *shape;
    uint32_t n;
    HN_TRY(hn_attr_dtype(c, "dtype", 0, HN_F32, &elem));
    HN_TRY(hn_out_elem(c, 0, elem));
    if (!hn_attr_ints(c, "shape", &n, &shape))
        return HONE_OK;
    if (n > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT, "shape has %u entries; hone supports up to rank %d",
                             n, HN_MAX_RANK);
    for (uint32_t i = 0; i < n; i++)
        if (shape[i] < 0)
            return hn_infer_fail(c, HONE_E_SHAPE, "shape[%u] is %lld, but cannot be negative", i,
                                 (long long)shape[i]);
    return hn_out_tensor(c, 0, elem, (int32_t)n, shape);
}

hone_status hn_infer_random_like(hn_infer *c) {
    hn_dtype elem;
    HN_TRY(hn_attr_dtype(c, "dtype", 0, hn_in_elem(c, 0), &elem));
    HN_TRY(hn_out_elem(c, 0, elem));
    return hn_out_shape_of(c, 0, 0);
}

hone_status hn_infer_multinomial(hn_infer *c) {
    hn_dtype elem;
    int64_t n_samples = hn_attr_i(c, "sample_size", 1);
    hn_dim dims[2] = {hn_in_dim(c, 0, 0), n_samples};
    HN_TRY(hn_expect_rank(c, 0, 2, 2));
    HN_TRY(hn_attr_dtype(c, "dtype", 0, HN_I32, &elem));
    if (n_samples < 0)
        return hn_infer_fail(c, HONE_E_INVALID, "sample_size is %lld, but cannot be negative",
                             (long long)n_samples);
    return hn_out_tensor(c, 0, elem, 2, dims);
}
