/* Sort keys of tensor elements: integers that sort as the elements do. */
#include "ops/eval/sort_keys.h"

/* The bits of a double, read as an integer, sort like the double once those below the sign bit of
 * negative numbers are inverted. */
static int64_t key_of_double(double v) {
    int64_t bits;
    if (v != v)
        return INT64_MAX;
    v += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? (int64_t)(~(uint64_t)bits ^ ((uint64_t)1 << 63)) : bits;
}

void hn_sort_keys(const hn_array *a, uint64_t begin, uint64_t n, int64_t *keys) {
    double wide[HN_TILE];
    if (!hn_dtype_is_float(a->dtype)) {
        hn_load_i64(a, begin, n, keys);
        for (uint64_t i = 0; a->dtype == HN_U64 && i < n; i++)
            keys[i] = (int64_t)((uint64_t)keys[i] ^ ((uint64_t)1 << 63));
        return;
    }
    for (uint64_t done = 0; done < n; done += HN_TILE) {
        uint64_t some = HN_MIN(HN_TILE, n - done);
        hn_load_f64(a, begin + done, some, wide);
        for (uint64_t i = 0; i < some; i++)
            keys[done + i] = key_of_double(wide[i]);
    }
}

bool hn_has_narrow_keys(hn_dtype t) {
    return hn_dtype_bits(t) < 32 || t == HN_F32 || t == HN_I32;
}

void hn_sort_narrow_keys(const hn_array *a, uint64_t begin, uint64_t n, int32_t *keys) {
    bool is_float = hn_dtype_is_float(a->dtype);
    for (uint64_t done = 0; done < n; done += HN_TILE) {
        uint64_t some = HN_MIN(HN_TILE, n - done);
        int64_t wide[HN_TILE];
        float floats[HN_TILE];
        if (is_float)
            hn_load_f32(a, begin + done, some, floats);
        else
            hn_load_i64(a, begin + done, some, wide);
        for (uint64_t i = 0; i < some; i++)
            keys[done + i] = is_float ? hn_float_key(floats[i]) : (int32_t)wide[i];
    }
}
