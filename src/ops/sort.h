/* Inside ops/: the order of elements, whatever their type. */
#ifndef HN_SORT_H
#define HN_SORT_H

#include "ops/eval_int.h"

/* Numbers whose order as int64 is that of the elements (bool and all real types): equal elements,
 * equal keys. NaN comes last; -0 equals 0. */
void hn_sort_keys(const hn_array *a, uint64_t begin, uint64_t n, int64_t *keys);

/* The same as int32, for types of at most 32 bits. */
bool hn_has_narrow_keys(hn_dtype t);
void hn_sort_narrow_keys(const hn_array *a, uint64_t begin, uint64_t n, int32_t *keys);

/* Below, equal to or above 0: byte by byte, a shorter text first. */
int hn_compare_text(hn_bytes a, hn_bytes b);

/* Sorts numbers of items so that less(ctx, items[i], items[i - 1]) holds nowhere; equal items keep
 * their order. `room` has n entries, too. */
typedef bool (*hn_less_fn)(const void *ctx, uint64_t a, uint64_t b);
void hn_sort_items(uint64_t n, uint64_t *items, uint64_t *room, hn_less_fn less, const void *ctx);

#endif /* HN_SORT_H */
