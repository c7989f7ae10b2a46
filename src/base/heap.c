/* Blocks that come and go during a run: given back, they wait in lists by size for the next one, so
 * that a run which repeats itself asks the system for nothing. Used by one thread at a time. */
#include "base/base.h"

#define ALIGNMENT 64u
#define N_CLASSES 128 /* four to a power of two, from 64 bytes on */

typedef struct free_block {
    struct free_block *next;
} free_block;

struct hn_heap {
    const hone_allocator *alloc;
    free_block *lists[N_CLASSES];
    size_t held_bytes; /* from the system, in use or waiting */
    size_t used_bytes, peak_bytes, limit_bytes;
    bool hit_limit;
};

/* ---- single blocks ------------------------------------------------------------------------------------------------------------- */

/* Room for alignment, with the distance to the system's block just before ours. */
void *hn_block_alloc(const hone_allocator *a, size_t bytes) {
    size_t total;
    if (!hn_add_size(bytes, 2 * ALIGNMENT, &total))
        return NULL;
    uint8_t *raw = hn_alloc(a, total);
    if (!raw)
        return NULL;
    size_t shift = ALIGNMENT + (ALIGNMENT - (uintptr_t)raw % ALIGNMENT) % ALIGNMENT;
    memcpy(raw + shift - sizeof shift, &shift, sizeof shift);
    return raw + shift;
}

void hn_block_free(const hone_allocator *a, void *block, size_t bytes) {
    size_t shift;
    if (!block)
        return;
    memcpy(&shift, (uint8_t *)block - sizeof shift, sizeof shift);
    hn_free(a, (uint8_t *)block - shift, bytes + 2 * ALIGNMENT);
}

/* ---- heaps --------------------------------------------------------------------------------------------------------------------- */

/* Sizes of the classes are 64 x 2^k x {4, 5, 6, 7} / 4, rounded up to whole lines: at most a
 * quarter is waste. 0: there is none. */
static size_t class_bytes(int c) {
    int k = c / 4 + 4; /* log2 of a quarter of the base */
    if (c >= N_CLASSES || k + 3 >= (int)(8 * sizeof(size_t)))
        return 0;
    return (((size_t)(4 + c % 4) << k) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int class_of(size_t bytes) {
    int c = 0;
    while (class_bytes(c) && class_bytes(c) < bytes)
        c++;
    return c;
}

hn_heap *hn_heap_new(const hone_allocator *a) {
    hn_heap *h = hn_calloc(a, 1, sizeof *h);
    if (h)
        h->alloc = a;
    return h;
}

void hn_heap_trim(hn_heap *h) {
    for (int c = 0; c < N_CLASSES; c++)
        while (h->lists[c]) {
            free_block *b = h->lists[c];
            h->lists[c] = b->next;
            h->held_bytes -= class_bytes(c);
            hn_block_free(h->alloc, b, class_bytes(c));
        }
}

void hn_heap_free(hn_heap *h) {
    if (!h)
        return;
    hn_heap_trim(h);
    hn_free(h->alloc, h, sizeof *h);
}

void hn_heap_set_limit(hn_heap *h, size_t bytes) {
    h->limit_bytes = bytes;
    h->hit_limit = false;
}

bool hn_heap_hit_limit(const hn_heap *h) {
    return h->hit_limit;
}

/* Blocks of other sizes may be waiting: they go first when they are as much as was ever in use, or
 * when the system has no more. */
static void *system_block(hn_heap *h, size_t bytes) {
    if (h->held_bytes - h->used_bytes > h->peak_bytes)
        hn_heap_trim(h);
    void *block = hn_block_alloc(h->alloc, bytes);
    if (!block && h->held_bytes > h->used_bytes) {
        hn_heap_trim(h);
        block = hn_block_alloc(h->alloc, bytes);
    }
    h->held_bytes += block ? bytes : 0;
    return block;
}

void *hn_heap_alloc(hn_heap *h, size_t bytes) {
    int c = class_of(bytes);
    size_t rounded = class_bytes(c);
    size_t left = h->limit_bytes - HN_MIN(h->limit_bytes, h->used_bytes);
    bool is_beyond = h->limit_bytes && (!rounded || rounded > left);
    h->hit_limit |= is_beyond;
    if (!rounded || is_beyond)
        return NULL;
    void *block = h->lists[c];
    if (block)
        h->lists[c] = h->lists[c]->next;
    else
        block = system_block(h, rounded);
    if (block) {
        h->used_bytes += rounded;
        h->peak_bytes = HN_MAX(h->peak_bytes, h->used_bytes);
    }
    return block;
}

void hn_heap_give(hn_heap *h, void *block, size_t bytes) {
    if (!block)
        return;
    int c = class_of(bytes);
    free_block *b = block;
    b->next = h->lists[c];
    h->lists[c] = b;
    h->used_bytes -= class_bytes(c);
}
