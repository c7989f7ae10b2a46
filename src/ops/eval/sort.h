/* Inside ops/: the order of elements, whatever their type. */
#ifndef HN_SORT_H
#define HN_SORT_H

#include "ops/eval/eval_int.h"

/* Numbers whose order as int64 is that of the elements (bool and all real types): equal elements,
 * equal keys. NaN comes last; -0 equals 0. */
void hn_sort_keys(const hn_array *a, uint64_t begin, uint64_t n, int64_t *keys);

/* The same as int32, for types of at most 32 bits. */
bool hn_has_narrow_keys(hn_dtype t);
void hn_sort_narrow_keys(const hn_array *a, uint64_t begin, uint64_t n, int32_t *keys);

int32_t hn_float_key(float v);

/* A key and a place below 2^32 in one number. The larger it is the larger the key, or the smaller
 * the place of equal keys. */
static inline uint64_t hn_pack_item(int32_t key, int64_t place) {
    return (uint64_t)((uint32_t)key ^ (uint32_t)1 << 31) << 32 | (uint32_t)~place;
}
static inline int64_t hn_item_index(uint64_t item) {
    return (int64_t)(uint32_t)~item;
}
/* Brings the k largest of n different numbers to the front, the largest first. The others follow in
 * any order. */
void hn_sort_front(uint64_t *items, int64_t n, int64_t k);

/* Below, equal to or above 0: byte by byte, a shorter text first. */
int hn_compare_text(hn_bytes a, hn_bytes b);

/* Sorts numbers of items so that less(ctx, items[i], items[i - 1]) holds nowhere; equal items keep
 * their order. `room` has n entries, too. */
typedef bool (*hn_less_fn)(const void *ctx, uint64_t a, uint64_t b);
void hn_sort_items(uint64_t n, uint64_t *items, uint64_t *room, hn_less_fn less, const void *ctx);

#endif /* HN_SORT_H */
