/* Sorting of integers, and of anything by index with a comparison and a context. */
#include "base/sort.h"

/* ---- the largest of distinct integers -------------------------------------------------------- */

#define INSERTION_SORT_ITEMS 16
/* Average visits of an item after which the pivots are considered bad and heapsort takes over. */
#define MAX_MEAN_VISITS 64

static void swap_items(uint64_t *a, uint64_t *b) {
    uint64_t moved = *a;
    *a = *b;
    *b = moved;
}

static void insertion_sort_items(uint64_t *items, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t item = items[i];
        int64_t at = i;
        for (; at > 0 && items[at - 1] < item; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Restores the heap property (smallest item at the root) below item i. */
static void sift_item(uint64_t *items, int64_t n, int64_t i) {
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && items[child + 1] < items[child];
        if (items[i] < items[child])
            return;
        swap_items(&items[i], &items[child]);
    }
}

static void heapsort_items(uint64_t *items, int64_t n) {
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift_item(items, n, i);
    for (int64_t left = n - 1; left > 0; left--) {
        swap_items(&items[0], &items[left]);
        sift_item(items, left, 0);
    }
}

/* Moves the median of the first, middle and last item to the end. */
static void move_median_last(uint64_t *items, int64_t n) {
    uint64_t *first = items, *mid = items + n / 2, *last = items + n - 1;
    if (*first < *mid)
        swap_items(first, mid);
    if (*mid < *last)
        swap_items(mid, last); /* now the smallest is the last */
    if (*first < *mid)
        swap_items(first, mid);
    swap_items(mid, last);
}

/* Partitions into items larger than the pivot, the pivot, smaller items; returns the index of the
 * pivot. The loop has no branch on data, so nothing is mispredicted. */
static int64_t partition_items(uint64_t *items, int64_t n) {
    move_median_last(items, n);
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

/* Quicksort of the first k items. Bad pivots use up the visits before the recursion gets deep. */
static void quicksort_front(uint64_t *items, int64_t n, int64_t k, int64_t *visits_left) {
    while (n > INSERTION_SORT_ITEMS && k > 0) {
        if (hn_spent((uint64_t)n)) /* in any order it is a permutation */
            return;
        if ((*visits_left -= n) < 0) {
            heapsort_items(items, n);
            return;
        }
        int64_t at = partition_items(items, n);
        quicksort_front(items, at, HN_MIN(k, at), visits_left);
        items += at + 1;
        n -= at + 1;
        k -= at + 1;
    }
    if (k > 0)
        insertion_sort_items(items, n);
}

void hn_sort_front(uint64_t *items, int64_t n, int64_t k) {
    int64_t visits_left = MAX_MEAN_VISITS * n;
    quicksort_front(items, n, k, &visits_left);
}

/* ---- stable merge sort by a comparison ------------------------------------------------------- */

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

void hn_sort_items(uint64_t n, uint64_t *items, uint64_t *scratch, hn_less_fn less,
                   const void *ctx) {
    uint64_t *from = items, *to = scratch;
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t begin = 0; begin < n && !hn_spent(8 * width); begin += 2 * width)
            merge_items(from, begin, HN_MIN(begin + width, n), HN_MIN(begin + 2 * width, n), to,
                        less, ctx);
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != items && n > 0)
        memcpy(items, from, (size_t)n * sizeof *items);
}
