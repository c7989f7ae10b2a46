/* Keys that are ordered like elements, and a stable sort with a context. */
#include "ops/eval/sort.h"

/* Doubles are ordered like their bits once those of negative numbers are turned round. */
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

int32_t hn_float_key(float v) {
    int32_t bits;
    if (v != v)
        return INT32_MAX;
    v += 0.0f;
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? (int32_t)(~(uint32_t)bits ^ ((uint32_t)1 << 31)) : bits;
}

bool hn_has_narrow_keys(hn_dtype t) {
    return hn_dtype_bits(t) < 32 || t == HN_F32 || t == HN_I32;
}

void hn_sort_narrow_keys(const hn_array *a, uint64_t begin, uint64_t n, int32_t *keys) {
    for (uint64_t done = 0; done < n; done += HN_TILE) {
        uint64_t some = HN_MIN(HN_TILE, n - done);
        int64_t wide[HN_TILE];
        float floats[HN_TILE];
        if (hn_dtype_is_float(a->dtype))
            hn_load_f32(a, begin + done, some, floats);
        else
            hn_load_i64(a, begin + done, some, wide);
        for (uint64_t i = 0; i < some; i++)
            keys[done + i] =
                hn_dtype_is_float(a->dtype) ? hn_float_key(floats[i]) : (int32_t)wide[i];
    }
}

/* ---- numbers that are different ---------------------------------------------------------------- */

#define FEW_ITEMS 16
#define MOST_VISITS 64 /* of each item on the average, before pivots count as bad */

static void swap_items(uint64_t *a, uint64_t *b) {
    uint64_t moved = *a;
    *a = *b;
    *b = moved;
}

static void insert_items(uint64_t *items, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t item = items[i];
        int64_t at = i;
        for (; at > 0 && items[at - 1] < item; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Restores the heap, whose smallest item stands at its top, below item i. */
static void sift_item(uint64_t *items, int64_t n, int64_t i) {
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && items[child + 1] < items[child];
        if (items[i] < items[child])
            return;
        swap_items(&items[i], &items[child]);
    }
}

static void heap_items(uint64_t *items, int64_t n) {
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift_item(items, n, i);
    for (int64_t left = n - 1; left > 0; left--) {
        swap_items(&items[0], &items[left]);
        sift_item(items, left, 0);
    }
}

/* The middle one of three items comes last. */
static void choose_pivot(uint64_t *items, int64_t n) {
    uint64_t *first = items, *mid = items + n / 2, *last = items + n - 1;
    if (*first < *mid)
        swap_items(first, mid);
    if (*mid < *last)
        swap_items(mid, last); /* now the smallest is the last */
    if (*first < *mid)
        swap_items(first, mid);
    swap_items(mid, last);
}

/* Larger items before the pivot, smaller ones behind it; where it stands. There is no branch to
 * guess. */
static int64_t cut_at_pivot(uint64_t *items, int64_t n) {
    choose_pivot(items, n);
    uint64_t pivot = items[n - 1];
    int64_t n_larger = 0;
    for (int64_t i = 0; i < n - 1; i++) {
        uint64_t item = items[i];
        items[i] = items[n_larger];
        items[n_larger] = item;
        n_larger += item > pivot;
    }
    swap_items(&items[n_larger], &items[n - 1]);
    return n_larger;
}

/* With bad pivots the visits run out, before the nesting becomes deep. */
static void sort_some(uint64_t *items, int64_t n, int64_t k, int64_t *visits_left) {
    while (n > FEW_ITEMS && k > 0) {
        if ((*visits_left -= n) < 0) {
            heap_items(items, n);
            return;
        }
        int64_t at = cut_at_pivot(items, n);
        sort_some(items, at, HN_MIN(k, at), visits_left);
        items += at + 1;
        n -= at + 1;
        k -= at + 1;
    }
    if (k > 0)
        insert_items(items, n);
}

void hn_sort_front(uint64_t *items, int64_t n, int64_t k) {
    int64_t visits_left = MOST_VISITS * n;
    sort_some(items, n, k, &visits_left);
}

/* ---- anything else ----------------------------------------------------------------------------- */

int hn_compare_text(hn_bytes a, hn_bytes b) {
    uint64_t n = HN_MIN(a.n, b.n);
    int sign = n ? memcmp(a.at, b.at, (size_t)n) : 0;
    return sign ? sign : (a.n > b.n) - (a.n < b.n);
}

/* Merges [begin, mid) and [mid, end) of `from` into `to`. */
static void merge_items(const uint64_t *from, uint64_t begin, uint64_t mid, uint64_t end,
                        uint64_t *to, hn_less_fn less, const void *ctx) {
    uint64_t left = begin, right = mid;
    for (uint64_t i = begin; i < end; i++) {
        bool takes_right = left == mid || (right < end && less(ctx, from[right], from[left]));
        to[i] = takes_right ? from[right++] : from[left++];
    }
}

void hn_sort_items(uint64_t n, uint64_t *items, uint64_t *room, hn_less_fn less, const void *ctx) {
    uint64_t *from = items, *to = room;
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t begin = 0; begin < n; begin += 2 * width)
            merge_items(from, begin, HN_MIN(begin + width, n), HN_MIN(begin + 2 * width, n), to,
                        less, ctx);
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != items && n > 0)
        memcpy(items, from, (size_t)n * sizeof *items);
}
