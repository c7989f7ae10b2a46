/* Arenas, which allocate blocks from chunks that are freed together, and growable arrays in them.
 */
#include "base/base.h"

#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__)
#  define ARENA_HAS_ASAN 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define ARENA_HAS_ASAN 1
#  endif
#endif

/* Under AddressSanitizer everything in a chunk except the allocated blocks is poisoned, and a
 * redzone follows each block, so that an overrun is detected even when another block follows. */
#ifdef ARENA_HAS_ASAN
#  include <sanitizer/asan_interface.h>
#  define REDZONE_BYTES 32
#  define POISON(ptr, bytes) __asan_poison_memory_region((ptr), (bytes))
#  define UNPOISON(ptr, bytes) __asan_unpoison_memory_region((ptr), (bytes))
#else
#  define REDZONE_BYTES 0
#  define POISON(ptr, bytes) ((void)(ptr), (void)(bytes))
#  define UNPOISON(ptr, bytes) ((void)(ptr), (void)(bytes))
#endif

#define BLOCK_ALIGN 16
#define FIRST_CHUNK_BYTES ((size_t)4 << 10)
/* A larger chunk holds only one large block. The tests of failing allocations set this to 1, so
 * that every block comes from the allocator. */
#ifndef LARGEST_GROWN_CHUNK_BYTES
#  define LARGEST_GROWN_CHUNK_BYTES ((size_t)1 << 20)
#endif

/* The unused end of a chunk is smaller than the block that did not fit, so less than half of an
 * arena is wasted. */
typedef struct arena_chunk {
    struct arena_chunk *older;
    size_t bytes; /* of the whole chunk, this header included */
    size_t used;  /* from the start of the header; where the next block begins */
} arena_chunk;

struct hn_arena {
    const hone_allocator *alloc;
    arena_chunk *newest;
    size_t held_bytes;
    size_t limit_bytes; /* 0 = none */
    hn_budget *budget;  /* may be NULL */
    bool is_frozen;     /* nothing is allocated any more: threads share what is there */
    enum { FAILED_NEVER, FAILED_FOR_MEMORY, FAILED_FOR_LIMIT } last_failure;
};

hn_arena *hn_arena_new(const hone_allocator *a) {
    hn_arena *arena = hn_calloc(a, 1, sizeof(*arena));
    if (!arena)
        return NULL;
    arena->alloc = a;
    arena->held_bytes = sizeof(*arena);
    return arena;
}

static void drop_newest_chunk(hn_arena *arena) {
    arena_chunk *chunk = arena->newest;
    arena->newest = chunk->older;
    arena->held_bytes -= chunk->bytes;
    UNPOISON(chunk, chunk->bytes);
    hn_budget_give(arena->budget, chunk->bytes);
    hn_free(arena->alloc, chunk, chunk->bytes);
}

void hn_arena_free(hn_arena *arena) {
    if (!arena)
        return;
    while (arena->newest)
        drop_newest_chunk(arena);
    hn_free(arena->alloc, arena, sizeof(*arena));
}

void hn_arena_set_limit(hn_arena *arena, size_t bytes) {
    arena->limit_bytes = bytes;
}

void hn_arena_set_budget(hn_arena *arena, hn_budget *budget) {
    arena->budget = budget;
}

void hn_arena_freeze(hn_arena *arena) {
    arena->is_frozen = true;
}

bool hn_arena_hit_limit(const hn_arena *arena) {
    return arena->last_failure == FAILED_FOR_LIMIT;
}

bool hn_arena_has_failed(const hn_arena *arena) {
    return arena->last_failure != FAILED_NEVER;
}

size_t hn_arena_bytes(const hn_arena *arena) {
    return arena->held_bytes;
}

const hone_allocator *hn_arena_allocator(const hn_arena *arena) {
    return arena->alloc;
}

/* Bytes still allowed by the limit. */
static size_t allowance(const hn_arena *arena) {
    if (arena->limit_bytes == 0)
        return SIZE_MAX;
    return arena->limit_bytes > arena->held_bytes ? arena->limit_bytes - arena->held_bytes : 0;
}

/* Records a failed allocation and returns NULL. */
static void *fail_for_memory(hn_arena *arena) {
    arena->last_failure = FAILED_FOR_MEMORY;
    return NULL;
}

static size_t first_block_at(const arena_chunk *chunk) {
    uintptr_t first = (uintptr_t)chunk + sizeof(*chunk);
    return sizeof(*chunk) + (BLOCK_ALIGN - first % BLOCK_ALIGN) % BLOCK_ALIGN;
}

/* Adds a chunk that fits a block of `bytes`, padding and redzone included. */
static arena_chunk *add_chunk(hn_arena *arena, size_t bytes) {
    size_t least;
    if (!hn_add_size(bytes, sizeof(arena_chunk) + BLOCK_ALIGN, &least))
        return fail_for_memory(arena);
    size_t allowed = allowance(arena);
    if (least > allowed) {
        arena->last_failure = FAILED_FOR_LIMIT;
        return NULL;
    }
    size_t grown = HN_MIN(HN_MAX(arena->held_bytes, FIRST_CHUNK_BYTES), LARGEST_GROWN_CHUNK_BYTES);
    size_t chunk_bytes = HN_MAX(least, HN_MIN(grown, allowed));
    if (!hn_budget_take(arena->budget, chunk_bytes) &&
        !hn_budget_take(arena->budget, chunk_bytes = least)) {
        arena->last_failure = FAILED_FOR_LIMIT;
        return NULL;
    }
    arena_chunk *chunk = hn_alloc(arena->alloc, chunk_bytes);
    if (!chunk) {
        hn_budget_give(arena->budget, chunk_bytes);
        hn_budget_note_failure(arena->budget, chunk_bytes);
        return fail_for_memory(arena);
    }
    chunk->older = arena->newest;
    chunk->bytes = chunk_bytes;
    chunk->used = first_block_at(chunk);
    POISON((char *)chunk + chunk->used, chunk_bytes - chunk->used);
    arena->newest = chunk;
    arena->held_bytes += chunk_bytes;
    return chunk;
}

void *hn_arena_alloc(hn_arena *arena, size_t bytes) {
    size_t padded;
    if (arena->is_frozen) /* without a record: other threads read the arena */
        return NULL;
    if (!hn_add_size(HN_MAX(bytes, 1), BLOCK_ALIGN - 1 + REDZONE_BYTES, &padded))
        return fail_for_memory(arena);
    padded &= ~(size_t)(BLOCK_ALIGN - 1);
    arena_chunk *chunk = arena->newest;
    if (!chunk || chunk->bytes - chunk->used < padded)
        chunk = add_chunk(arena, padded);
    if (!chunk)
        return NULL;
    char *block = (char *)chunk + chunk->used;
    chunk->used += padded;
    UNPOISON(block, bytes);
    return block;
}

bool hn_arena_reserve(hn_arena *arena, size_t bytes) {
    arena_chunk *chunk = arena->newest;
    bool has_room = chunk && chunk->bytes - chunk->used >= bytes;
    return has_room || (!arena->is_frozen && add_chunk(arena, bytes));
}

void *hn_arena_calloc(hn_arena *arena, size_t n, size_t elem_bytes) {
    size_t bytes;
    if (!hn_mul_size(n, elem_bytes, &bytes))
        return fail_for_memory(arena);
    void *block = hn_arena_alloc(arena, bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

void *hn_arena_copy(hn_arena *arena, const void *data, size_t bytes) {
    void *block = hn_arena_alloc(arena, bytes);
    if (block && bytes)
        memcpy(block, data, bytes);
    return block;
}

char *hn_arena_printf(hn_arena *arena, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    char *text = n < 0 ? NULL : hn_arena_alloc(arena, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

hn_arena_mark hn_arena_save(hn_arena *arena) {
    arena_chunk *chunk = arena->newest;
    return (hn_arena_mark){.chunk = chunk, .used = chunk ? chunk->used : 0};
}

void hn_arena_restore(hn_arena *arena, hn_arena_mark mark) {
    while (arena->newest && arena->newest != mark.chunk)
        drop_newest_chunk(arena);
    arena_chunk *chunk = arena->newest;
    if (!chunk)
        return;
    POISON((char *)chunk + mark.used, chunk->used - mark.used);
    chunk->used = mark.used;
}

void hn_arena_clear(hn_arena *arena) {
    while (arena->newest && arena->newest->older)
        drop_newest_chunk(arena);
    arena_chunk *first = arena->newest;
    if (first)
        hn_arena_restore(arena, (hn_arena_mark){.chunk = first, .used = first_block_at(first)});
}

bool hn_vec_grow(hn_arena *arena, void **at, uint32_t *cap, uint32_t need, size_t elem_bytes) {
    /* The caller found cap too small; a need that is not larger is a 32-bit sum that overflowed. */
    if (need <= *cap)
        return false;
    uint32_t doubled = *cap > UINT32_MAX / 2 ? UINT32_MAX : *cap * 2;
    uint32_t grown = HN_MAX(HN_MAX(need, doubled), 4);
    size_t bytes;
    if (!hn_mul_size(grown, elem_bytes, &bytes))
        return false;
    void *block = hn_arena_alloc(arena, bytes);
    if (!block)
        return false;
    /* *at is a `T *` seen through `void **`: its bytes may be copied, but it may not be read as a
     * void pointer. */
    void *old;
    memcpy(&old, at, sizeof(old));
    if (*cap)
        memcpy(block, old, *cap * elem_bytes);
    memcpy(at, &block, sizeof(block));
    *cap = grown;
    return true;
}
