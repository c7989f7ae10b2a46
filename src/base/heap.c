/* Heap for the values of a run. Freed memory is kept, so that a repeated run makes no system
 * allocations. Several threads may allocate and free at once.
 *
 * Small blocks go to free lists by size class. Large blocks have too many different sizes for that:
 * they are placed by first fit in one contiguous region. A block that does not fit into the region
 * is allocated from the system, but is given an offset past the end of the region as if it were
 * placed there: the next time the region is empty it grows to the size that was needed, and the
 * same requests then fit. */
#define _GNU_SOURCE /* madvise */
#include "base/base.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ALIGNMENT 64u
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define SLOW_PAGE_NS 1500000 /* CPU time: the kernel compacts memory to make a huge page */
#define HUGE_PAGE_PAUSE 64   /* blocks without huge pages after one was that slow */
#define N_CLASSES 128        /* four per power of two, from 64 bytes on */
#define SPINS_BEFORE_YIELD 64
#define MIN_LARGE_BYTES ((size_t)64 << 10)

typedef struct free_block {
    struct free_block *next;
} free_block;

/* Header in front of the bytes of a large block. */
typedef struct large_block {
    struct large_block *before, *after; /* in order of offsets */
    size_t offset, bytes;               /* in the region, header included */
    bool is_outside;                    /* past the end of the region: from the system */
} large_block;
_Static_assert(sizeof(large_block) <= ALIGNMENT, "the header takes one cache line");

struct hn_heap {
    const hone_allocator *alloc;
    free_block *lists[N_CLASSES];
    size_t listed_bytes; /* in the free lists */
    large_block *first;  /* lowest offset */
    uint8_t *region;
    size_t region_bytes;
    size_t need_bytes;   /* size at which the region would have held all large blocks */
    size_t recent_bytes; /* the same, since the last call of hn_heap_recent_bytes */
    size_t used_bytes, peak_bytes, limit_bytes;
    bool hit_limit;
    hn_budget *budget; /* may be NULL */
    atomic_flag lock;  /* held while blocks are allocated or freed */
};

/* ---- single blocks --------------------------------------------------------------------------- */

/* Large blocks from malloc are aligned to huge pages and use them as far as they fill them, which
 * saves most TLB misses on weights and intermediate values. The memory before the block is never
 * touched, so it costs address space only; other allocators may commit it. */
static size_t block_alignment(const hone_allocator *a, size_t bytes) {
    return !a && bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : ALIGNMENT;
}

static _Atomic uint32_t n_without_huge_pages; /* that many more large blocks use small pages */

static void ask_for_huge_pages(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
    uint32_t n = atomic_load(&n_without_huge_pages);
    while (n > 0 && !atomic_compare_exchange_weak(&n_without_huge_pages, &n, n - 1)) {}
    if (n == 0)
        madvise(block, bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE); /* advice only */
#else
    (void)block, (void)bytes;
#endif
}

/* The distance to the start of the underlying allocation is stored just before the block. */
void *hn_block_alloc(const hone_allocator *a, size_t bytes) {
    size_t total, alignment = block_alignment(a, bytes);
    if (!hn_add_size(bytes, ALIGNMENT + alignment, &total))
        return NULL;
    uint8_t *raw = hn_alloc(a, total);
    if (!raw)
        return NULL;
    size_t past = ((uintptr_t)raw + ALIGNMENT) % alignment;
    size_t shift = ALIGNMENT + (alignment - past) % alignment;
    memcpy(raw + shift - sizeof shift, &shift, sizeof shift);
    if (alignment == HUGE_PAGE_BYTES)
        ask_for_huge_pages(raw + shift, bytes);
    return raw + shift;
}

void hn_block_free(const hone_allocator *a, void *block, size_t bytes) {
    size_t shift;
    if (!block)
        return;
    memcpy(&shift, (uint8_t *)block - sizeof shift, sizeof shift);
    hn_free(a, (uint8_t *)block - shift, bytes + ALIGNMENT + block_alignment(a, bytes));
}

#if defined(MADV_POPULATE_WRITE) && defined(MADV_NOHUGEPAGE)
static int64_t thread_cpu_ns(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Populates the pages from `begin` to `end`. Where physical memory is fragmented, making huge pages
 * takes longer than they ever save. */
static void populate_pages(uintptr_t begin, uintptr_t end) {
    while (end - begin >= HUGE_PAGE_BYTES && atomic_load(&n_without_huge_pages) == 0) {
        int64_t start = thread_cpu_ns();
        madvise((void *)begin, HUGE_PAGE_BYTES, MADV_POPULATE_WRITE);
        begin += HUGE_PAGE_BYTES;
        if (thread_cpu_ns() - start < SLOW_PAGE_NS)
            continue;
        atomic_store(&n_without_huge_pages, HUGE_PAGE_PAUSE);
        madvise((void *)begin, end - begin, MADV_NOHUGEPAGE);
    }
    madvise((void *)begin, end - begin, MADV_POPULATE_WRITE); /* on failure: on first access */
}
#endif

void hn_block_fetch(void *block, size_t bytes) {
#if defined(MADV_POPULATE_WRITE) && defined(MADV_NOHUGEPAGE)
    long page = sysconf(_SC_PAGESIZE);
    uintptr_t mask = (uintptr_t)page - 1, begin = ((uintptr_t)block + mask) & ~mask;
    uintptr_t end = ((uintptr_t)block + bytes) & ~mask;
    if (page > 0 && begin < end)
        populate_pages(begin, end);
#else
    (void)block, (void)bytes;
#endif
}

/* ---- heaps ----------------------------------------------------------------------------------- */

/* Class sizes are 64 x 2^k x {4, 5, 6, 7} / 4, rounded up to whole cache lines, so at most a
 * quarter is wasted. 0: no such class. */
static size_t class_bytes(int c) {
    int k = c / 4 + 4; /* log2 of a quarter of the power of two */
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
    if (h) {
        h->alloc = a;
        atomic_flag_clear(&h->lock);
    }
    return h;
}

static void free_lists(hn_heap *h) {
    for (int c = 0; c < N_CLASSES; c++)
        while (h->lists[c]) {
            free_block *b = h->lists[c];
            h->lists[c] = b->next;
            hn_block_free(h->alloc, b, class_bytes(c));
        }
    h->listed_bytes = 0;
}

static void free_region(hn_heap *h) {
    hn_block_free(h->alloc, h->region, h->region_bytes);
    h->region = NULL;
    h->region_bytes = 0;
}

void hn_heap_trim(hn_heap *h) {
    free_lists(h);
    if (h->first)
        return;
    free_region(h);
    h->need_bytes = 0;
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

void hn_heap_set_budget(hn_heap *h, hn_budget *budget) {
    h->budget = budget;
}

bool hn_heap_hit_limit(const hn_heap *h) {
    return h->hit_limit;
}

size_t hn_heap_recent_bytes(hn_heap *h) {
    size_t bytes = h->recent_bytes;
    h->recent_bytes = 0;
    return bytes;
}

size_t hn_heap_region_bytes(const hn_heap *h) {
    return h->region_bytes;
}

/* The free lists may hold blocks of other sizes: they are released when they exceed the peak of
 * memory in use, or when the system is out of memory. */
static void *system_block(hn_heap *h, size_t bytes) {
    if (h->listed_bytes > h->peak_bytes)
        free_lists(h);
    void *block = hn_block_alloc(h->alloc, bytes);
    if (!block && h->listed_bytes) {
        free_lists(h);
        block = hn_block_alloc(h->alloc, bytes);
    }
    return block;
}

/* ---- small blocks ---------------------------------------------------------------------------- */

static void *alloc_small(hn_heap *h, int c) {
    free_block *listed = h->lists[c];
    if (!listed)
        return system_block(h, class_bytes(c));
    h->lists[c] = listed->next;
    h->listed_bytes -= class_bytes(c);
    return listed;
}

static void free_small(hn_heap *h, free_block *b, int c) {
    b->next = h->lists[c];
    h->lists[c] = b;
    h->listed_bytes += class_bytes(c);
}

/* ---- large blocks ---------------------------------------------------------------------------- */

/* Size of a block with its header; 0: too large for any region. */
static size_t large_bytes(size_t bytes) {
    return bytes <= SIZE_MAX / 4 ? (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : 0;
}

/* Grows the empty region. When that fails there is no region and all blocks come from the system.
 */
static void grow_heap_region(hn_heap *h) {
    if (h->need_bytes <= h->region_bytes)
        return;
    free_region(h);
    h->region = system_block(h, h->need_bytes);
    h->region_bytes = h->region ? h->need_bytes : 0;
}

static void *alloc_large(hn_heap *h, size_t bytes) {
    large_block *before = NULL, *after = h->first;
    size_t offset = 0;
    if (!h->first)
        grow_heap_region(h);
    for (; after && after->offset - offset < bytes; before = after, after = after->after)
        offset = after->offset + after->bytes;
    bool is_outside = bytes > h->region_bytes || offset > h->region_bytes - bytes;
    large_block *b = is_outside ? system_block(h, bytes) : (void *)(h->region + offset);
    if (!b)
        return NULL;
    *b = (large_block){.before = before,
                       .after = after,
                       .offset = offset,
                       .bytes = bytes,
                       .is_outside = is_outside};
    *(before ? &before->after : &h->first) = b;
    if (after)
        after->before = b;
    h->need_bytes = HN_MAX(h->need_bytes, offset + bytes);
    h->recent_bytes = HN_MAX(h->recent_bytes, offset + bytes);
    return (uint8_t *)b + ALIGNMENT;
}

static void free_large(hn_heap *h, void *block) {
    large_block *b = (void *)((uint8_t *)block - ALIGNMENT);
    *(b->before ? &b->before->after : &h->first) = b->after;
    if (b->after)
        b->after->before = b->before;
    if (b->is_outside)
        hn_block_free(h->alloc, b, b->bytes);
}

/* ---- blocks of any size ---------------------------------------------------------------------- */

static size_t taken_bytes(size_t bytes) {
    return bytes < MIN_LARGE_BYTES ? class_bytes(class_of(bytes)) : large_bytes(bytes);
}

/* A spin lock: it is held for less time than a thread takes to go to sleep. */
static void lock_heap(hn_heap *h) {
    for (int n = 0; atomic_flag_test_and_set_explicit(&h->lock, memory_order_acquire); n++) {
        hn_relax_processor();
        if (n >= SPINS_BEFORE_YIELD)
            sched_yield();
    }
}

static void unlock_heap(hn_heap *h) {
    atomic_flag_clear_explicit(&h->lock, memory_order_release);
}

static void *alloc_locked(hn_heap *h, size_t bytes) {
    size_t taken = taken_bytes(bytes);
    size_t left = h->limit_bytes - HN_MIN(h->limit_bytes, h->used_bytes);
    bool exceeds_limit = h->limit_bytes && (!taken || taken > left);
    h->hit_limit |= exceeds_limit;
    if (!taken || exceeds_limit || taken > SIZE_MAX / 2 - h->used_bytes) {
        hn_budget_take(h->budget, UINT64_MAX / 2); /* is noted as more than there can be */
        return NULL;
    }
    if (!hn_budget_take(h->budget, taken))
        return NULL;
    void *block = bytes < MIN_LARGE_BYTES ? alloc_small(h, class_of(bytes)) : alloc_large(h, taken);
    if (block) {
        h->used_bytes += taken;
        h->peak_bytes = HN_MAX(h->peak_bytes, h->used_bytes);
    } else {
        hn_budget_give(h->budget, taken);
        hn_budget_note_failure(h->budget, taken);
    }
    return block;
}

void *hn_heap_alloc(hn_heap *h, size_t bytes) {
    lock_heap(h);
    void *block = alloc_locked(h, bytes);
    unlock_heap(h);
    return block;
}

void hn_heap_give(hn_heap *h, void *block, size_t bytes) {
    if (!block)
        return;
    lock_heap(h);
    h->used_bytes -= taken_bytes(bytes);
    hn_budget_give(h->budget, taken_bytes(bytes));
    if (bytes < MIN_LARGE_BYTES)
        free_small(h, block, class_of(bytes));
    else
        free_large(h, block);
    unlock_heap(h);
}
