/* Blocks that come and go during a run, kept so that a run which repeats itself asks the system for
 * nothing. Blocks may be taken and given back by several threads at once.
 *
 * Small blocks, given back, wait in lists by size for the next one. Large ones of many sizes would
 * pile up there. They stand on a line instead, a single piece of memory, each at the lowest place
 * that is free. What goes beyond the end of the line comes from the system, but its place is
 * counted as if it stood there: the next time that nobody stands on the line it is made as long as
 * it should have been, and the same requests find their places on it. */
#define _GNU_SOURCE /* madvise */
#include "base/base.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ALIGNMENT 64u
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define SLOW_PAGE_NS 1500000 /* of our own time: the system moves memory to make a huge page */
#define BLOCKS_WITHOUT 64    /* huge pages, when one was that slow */
#define N_CLASSES 128        /* four to a power of two, from 64 bytes on */
#define SPINS_BEFORE_YIELD 64
#define LEAST_LARGE_BYTES ((size_t)64 << 10)

typedef struct free_block {
    struct free_block *next;
} free_block;

/* Stands in the line just before its bytes. */
typedef struct large_block {
    struct large_block *before, *after; /* along the line */
    size_t at, bytes;                   /* its place on the line, and all that it takes there */
    bool is_outside;                    /* beyond the end: from the system */
} large_block;
_Static_assert(sizeof(large_block) <= ALIGNMENT, "the header takes one cache line");

struct hn_heap {
    const hone_allocator *alloc;
    free_block *lists[N_CLASSES];
    size_t waiting_bytes; /* in the lists */
    large_block *first;   /* on the line */
    uint8_t *line;
    size_t line_bytes;
    size_t need_bytes;   /* what the line should have had */
    size_t recent_bytes; /* the same, since somebody looked */
    size_t used_bytes, peak_bytes, limit_bytes;
    bool hit_limit;
    atomic_flag lock; /* while blocks are taken or given back */
};

/* ---- single blocks ------------------------------------------------------------------------------------------------------------- */

/* Large blocks of malloc begin where a huge page may, and ask for such pages as far as they fill
 * them: weights and intermediate values are read with a fraction of the address lookups. The memory
 * before the block is never touched, so it costs addresses only; other allocators may not be as
 * lazy. */
static size_t block_alignment(const hone_allocator *a, size_t bytes) {
    return !a && bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : ALIGNMENT;
}

static _Atomic uint32_t n_without_huge_pages; /* so many large blocks more have none */

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

/* Room for alignment, with the distance to the system's block just before ours. */
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
static int64_t own_time_ns(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Memory from begin to `end`, whole pages. Where free memory lies in small pieces, huge pages would
 * take longer to make than they ever save. */
static void fetch_pages(uintptr_t begin, uintptr_t end) {
    while (end - begin >= HUGE_PAGE_BYTES && atomic_load(&n_without_huge_pages) == 0) {
        int64_t start = own_time_ns();
        madvise((void *)begin, HUGE_PAGE_BYTES, MADV_POPULATE_WRITE);
        begin += HUGE_PAGE_BYTES;
        if (own_time_ns() - start < SLOW_PAGE_NS)
            continue;
        atomic_store(&n_without_huge_pages, BLOCKS_WITHOUT);
        madvise((void *)begin, end - begin, MADV_NOHUGEPAGE);
    }
    madvise((void *)begin, end - begin, MADV_POPULATE_WRITE); /* or page by page, when touched */
}
#endif

void hn_block_fetch(void *block, size_t bytes) {
#if defined(MADV_POPULATE_WRITE) && defined(MADV_NOHUGEPAGE)
    long page = sysconf(_SC_PAGESIZE);
    uintptr_t mask = (uintptr_t)page - 1, begin = ((uintptr_t)block + mask) & ~mask;
    uintptr_t end = ((uintptr_t)block + bytes) & ~mask;
    if (page > 0 && begin < end)
        fetch_pages(begin, end);
#else
    (void)block, (void)bytes;
#endif
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
    if (h) {
        h->alloc = a;
        atomic_flag_clear(&h->lock);
    }
    return h;
}

static void drop_waiting(hn_heap *h) {
    for (int c = 0; c < N_CLASSES; c++)
        while (h->lists[c]) {
            free_block *b = h->lists[c];
            h->lists[c] = b->next;
            hn_block_free(h->alloc, b, class_bytes(c));
        }
    h->waiting_bytes = 0;
}

static void drop_line(hn_heap *h) {
    hn_block_free(h->alloc, h->line, h->line_bytes);
    h->line = NULL;
    h->line_bytes = 0;
}

void hn_heap_trim(hn_heap *h) {
    drop_waiting(h);
    if (h->first)
        return;
    drop_line(h);
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

bool hn_heap_hit_limit(const hn_heap *h) {
    return h->hit_limit;
}

size_t hn_heap_recent_bytes(hn_heap *h) {
    size_t bytes = h->recent_bytes;
    h->recent_bytes = 0;
    return bytes;
}

size_t hn_heap_line_bytes(const hn_heap *h) {
    return h->line_bytes;
}

/* Blocks of other sizes may be waiting: they go first when they are as much as was ever in use, or
 * when the system has no more. */
static void *system_block(hn_heap *h, size_t bytes) {
    if (h->waiting_bytes > h->peak_bytes)
        drop_waiting(h);
    void *block = hn_block_alloc(h->alloc, bytes);
    if (!block && h->waiting_bytes) {
        drop_waiting(h);
        block = hn_block_alloc(h->alloc, bytes);
    }
    return block;
}

/* ---- small ones -------------------------------------------------------------------------------- */

static void *alloc_small(hn_heap *h, int c) {
    free_block *waiting = h->lists[c];
    if (!waiting)
        return system_block(h, class_bytes(c));
    h->lists[c] = waiting->next;
    h->waiting_bytes -= class_bytes(c);
    return waiting;
}

static void give_small(hn_heap *h, free_block *b, int c) {
    b->next = h->lists[c];
    h->lists[c] = b;
    h->waiting_bytes += class_bytes(c);
}

/* ---- large ones -------------------------------------------------------------------------------- */

/* What a block takes with its header; 0: no line is that long. */
static size_t large_bytes(size_t bytes) {
    return bytes <= SIZE_MAX / 4 ? (bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : 0;
}

/* Without memory for a longer line there is none: blocks come from the system. */
static void fit_line(hn_heap *h) {
    if (h->need_bytes <= h->line_bytes)
        return;
    drop_line(h);
    h->line = system_block(h, h->need_bytes);
    h->line_bytes = h->line ? h->need_bytes : 0;
}

static void *alloc_large(hn_heap *h, size_t bytes) {
    large_block *before = NULL, *after = h->first;
    size_t at = 0;
    if (!h->first)
        fit_line(h);
    for (; after && after->at - at < bytes; before = after, after = after->after)
        at = after->at + after->bytes;
    bool is_outside = bytes > h->line_bytes || at > h->line_bytes - bytes;
    large_block *b = is_outside ? system_block(h, bytes) : (void *)(h->line + at);
    if (!b)
        return NULL;
    *b = (large_block){
        .before = before, .after = after, .at = at, .bytes = bytes, .is_outside = is_outside};
    *(before ? &before->after : &h->first) = b;
    if (after)
        after->before = b;
    h->need_bytes = HN_MAX(h->need_bytes, at + bytes);
    h->recent_bytes = HN_MAX(h->recent_bytes, at + bytes);
    return (uint8_t *)b + ALIGNMENT;
}

static void give_large(hn_heap *h, void *block) {
    large_block *b = (void *)((uint8_t *)block - ALIGNMENT);
    *(b->before ? &b->before->after : &h->first) = b->after;
    if (b->after)
        b->after->before = b->before;
    if (b->is_outside)
        hn_block_free(h->alloc, b, b->bytes);
}

/* ---- both -------------------------------------------------------------------------------------- */

static size_t taken_bytes(size_t bytes) {
    return bytes < LEAST_LARGE_BYTES ? class_bytes(class_of(bytes)) : large_bytes(bytes);
}

/* Held for less time than it would take to fall asleep. */
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
    bool is_beyond = h->limit_bytes && (!taken || taken > left);
    h->hit_limit |= is_beyond;
    if (!taken || is_beyond || taken > SIZE_MAX / 2 - h->used_bytes)
        return NULL;
    void *block =
        bytes < LEAST_LARGE_BYTES ? alloc_small(h, class_of(bytes)) : alloc_large(h, taken);
    if (block) {
        h->used_bytes += taken;
        h->peak_bytes = HN_MAX(h->peak_bytes, h->used_bytes);
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
    if (bytes < LEAST_LARGE_BYTES)
        give_small(h, block, class_of(bytes));
    else
        give_large(h, block);
    unlock_heap(h);
}
