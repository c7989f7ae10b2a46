/* Sort keys of tensor elements of any type. */
#ifndef HN_SORT_KEYS_H
#define HN_SORT_KEYS_H

#include "base/sort.h"
#include "ops/eval/eval_int.h"

/* Integers whose order as int64 is that of the elements (bool and all real types): equal elements
 * have equal keys. NaN is the largest; -0 equals 0. */
void hn_sort_keys(const hn_array *a, uint64_t begin, uint64_t n, int64_t *keys);

/* The same as int32, for types of at most 32 bits. */
bool hn_has_narrow_keys(hn_dtype t);
void hn_sort_narrow_keys(const hn_array *a, uint64_t begin, uint64_t n, int32_t *keys);

static inline int32_t hn_float_key(float v) {
    int32_t bits;
    if (v != v)
        return INT32_MAX;
    v += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? (int32_t)(~(uint32_t)bits ^ ((uint32_t)1 << 31)) : bits;
}

#endif /* HN_SORT_KEYS_H */
