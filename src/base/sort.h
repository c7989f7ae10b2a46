/* Sorting: the largest of distinct integers, and a stable sort by a comparison with a context. */
#ifndef HN_SORT_H
#define HN_SORT_H

#include "base/base.h"

/* A key and an index below 2^32 in one integer. It grows with the key; among equal keys the one
 * with the smaller index is larger. */
static inline uint64_t hn_pack_item(int32_t key, int64_t index) {
    return (uint64_t)((uint32_t)key ^ (uint32_t)1 << 31) << 32 | (uint32_t)~index;
}
static inline int64_t hn_item_index(uint64_t item) {
    return (int64_t)(uint32_t)~item;
}
/* Moves the k largest of n distinct integers to the front, the largest first. The order of the
 * others is unspecified. */
void hn_sort_front(uint64_t *items, int64_t n, int64_t k);

/* Negative, 0 or positive: byte by byte; a prefix comes before the longer text. */
int hn_compare_text(hn_bytes a, hn_bytes b);

/* Both stop with the run: then the items are in any order, and of hn_sort_items some may be there
 * twice. */

/* Sorts items so that less(ctx, items[i], items[i - 1]) is false for all i; equal items keep their
 * order. `scratch` has n entries. */
typedef bool (*hn_less_fn)(const void *ctx, uint64_t a, uint64_t b);
void hn_sort_items(uint64_t n, uint64_t *items, uint64_t *scratch, hn_less_fn less,
                   const void *ctx);

#endif /* HN_SORT_H */
