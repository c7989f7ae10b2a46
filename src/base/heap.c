/* Blocks that come and go during a run: given back, they wait in lists by size for the next one, so that a run which repeats itself asks
 * the system for nothing. Used by one thread at a time. */
#include "base/base.h"

#define ALIGNMENT 64u
#define SMALLEST_LOG 6 /* 64 bytes */
#define N_CLASSES 128  /* four to a power of two */

typedef struct free_block {
    struct free_block *next;
} free_block;

struct hn_heap {
    const hone_allocator *alloc;
    free_block *lists[N_CLASSES];
    size_t held_bytes; /* from the system, in use or waiting */
    size_t used_bytes, peak_bytes, limit_bytes;
};

/* Sizes are rounded up to 64 x {4, 5, 6, 7} / 4 x 2^k: at most a quarter is waste. */
static int class_of(size_t bytes, size_t *rounded) {
    int c = 0;
    size_t base = (size_t)1 << SMALLEST_LOG;
    for (;;) {
        for (size_t quarter = 4; quarter < 8; quarter++, c++) {
            size_t size = base / 4 * quarter;
            if (size >= bytes) {
                *rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
                return c;
            }
        }
        if (c >= N_CLASSES || base > SIZE_MAX / 4)
            return -1;
        base *= 2;
    }
}

hn_heap *hn_heap_new(const hone_allocator *a) {
    hn_heap *h = hn_calloc(a, 1, sizeof *h);
    if (h)
        h->alloc = a;
    return h;
}

/* Room for alignment, with the distance to the system's block just before ours. */
static void *system_block(hn_heap *h, size_t bytes) {
    size_t total;
    if (!hn_add_size(bytes, 2 * ALIGNMENT, &total))
        return NULL;
    uint8_t *raw = hn_alloc(h->alloc, total);
    if (!raw)
        return NULL;
    size_t shift = ALIGNMENT + (ALIGNMENT - (uintptr_t)raw % ALIGNMENT) % ALIGNMENT;
    memcpy(raw + shift - sizeof shift, &shift, sizeof shift);
    h->held_bytes += bytes;
    return raw + shift;
}

static void give_system_block(hn_heap *h, void *block, size_t bytes) {
    size_t shift;
    memcpy(&shift, (uint8_t *)block - sizeof shift, sizeof shift);
    hn_free(h->alloc, (uint8_t *)block - shift, bytes + 2 * ALIGNMENT);
    h->held_bytes -= bytes;
}

void hn_heap_trim(hn_heap *h) {
    for (int c = 0; c < N_CLASSES; c++) {
        size_t base = (size_t)1 << (SMALLEST_LOG + c / 4), rounded;
        class_of(base / 4 * (size_t)(4 + c % 4), &rounded);
        while (h->lists[c]) {
            free_block *b = h->lists[c];
            h->lists[c] = b->next;
            give_system_block(h, b, rounded);
        }
    }
}

void hn_heap_free(hn_heap *h) {
    if (!h)
        return;
    hn_heap_trim(h);
    hn_free(h->alloc, h, sizeof *h);
}

void hn_heap_set_limit(hn_heap *h, size_t bytes) { h->limit_bytes = bytes; }
size_t hn_heap_peak(const hn_heap *h) { return h->peak_bytes; }

void *hn_heap_alloc(hn_heap *h, size_t bytes) {
    size_t rounded;
    int c = class_of(bytes, &rounded);
    if (c < 0 || (h->limit_bytes && rounded > h->limit_bytes - HN_MIN(h->limit_bytes, h->used_bytes)))
        return NULL;
    void *block = h->lists[c];
    if (block)
        h->lists[c] = h->lists[c]->next;
    else
        block = system_block(h, rounded);
    if (!block) { /* blocks of other sizes may be waiting */
        hn_heap_trim(h);
        block = system_block(h, rounded);
    }
    if (block) {
        h->used_bytes += rounded;
        h->peak_bytes = HN_MAX(h->peak_bytes, h->used_bytes);
    }
    return block;
}

void hn_heap_give(hn_heap *h, void *block, size_t bytes) {
    size_t rounded;
    if (!block)
        return;
    int c = class_of(bytes, &rounded);
    free_block *b = block;
    b->next = h->lists[c];
    h->lists[c] = b;
    h->used_bytes -= rounded;
}
