/* The allocator that the caller supplies, or malloc and free. */
#include "base/base.h"

#include <stdlib.h>

/* A size of zero tells an allocator to free, so an empty block is allocated and freed as one byte.
 */
static size_t block_bytes(size_t bytes) {
    return bytes ? bytes : 1;
}

/* No object can be larger; a size beyond it comes from a damaged file, and some allocators abort on
 * it. */
#define LARGEST_BLOCK_BYTES ((size_t)PTRDIFF_MAX)

void *hn_alloc(const hone_allocator *a, size_t bytes) {
    if (bytes > LARGEST_BLOCK_BYTES)
        return NULL;
    bytes = block_bytes(bytes);
    return a ? a->resize(a->ctx, NULL, 0, bytes) : malloc(bytes);
}

void *hn_calloc(const hone_allocator *a, size_t n, size_t elem_bytes) {
    size_t bytes;
    if (!hn_mul_size(n, elem_bytes, &bytes) || bytes > LARGEST_BLOCK_BYTES)
        return NULL;
    bytes = block_bytes(bytes);
    if (!a)
        return calloc(1, bytes);
    void *ptr = hn_alloc(a, bytes);
    if (ptr)
        memset(ptr, 0, bytes);
    return ptr;
}

void *hn_realloc(const hone_allocator *a, void *ptr, size_t old_bytes, size_t new_bytes) {
    if (!ptr)
        return hn_alloc(a, new_bytes);
    if (new_bytes > LARGEST_BLOCK_BYTES)
        return NULL;
    new_bytes = block_bytes(new_bytes);
    return a ? a->resize(a->ctx, ptr, block_bytes(old_bytes), new_bytes) : realloc(ptr, new_bytes);
}

void hn_free(const hone_allocator *a, void *ptr, size_t bytes) {
    if (!ptr)
        return;
    if (a)
        a->resize(a->ctx, ptr, block_bytes(bytes), 0);
    else
        free(ptr);
}
