/* One block per thread. Where there is no memory for it, threads share a block that the library
 * has, one after the other: kernels cannot fail. */
#define _GNU_SOURCE /* recursive mutexes */
#include "cpu/kernels/workspace.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>

enum { WORKSPACE_ALIGN = 64 };

typedef struct workspace_block {
    alignas(WORKSPACE_ALIGN) uint8_t bytes[HN_WORKSPACE_BYTES];
    size_t used;
} workspace_block;

static pthread_once_t workspace_once = PTHREAD_ONCE_INIT;
static pthread_key_t workspace_key;
static bool has_workspace_key;
static pthread_mutex_t shared_block_lock; /* recursive: its owner may push again */
static workspace_block shared_block;

/* Blocks are freed by the C library itself, which outlives this one where it is unloaded. */
static void make_workspaces(void) {
    pthread_mutexattr_t recursive;
    has_workspace_key = pthread_key_create(&workspace_key, free) == 0;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&shared_block_lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

/* NULL: there is no memory. */
static workspace_block *block_of_thread(void) {
    pthread_once(&workspace_once, make_workspaces);
    if (!has_workspace_key)
        return NULL;
    workspace_block *block = pthread_getspecific(workspace_key);
    if (block)
        return block;
    block = aligned_alloc(WORKSPACE_ALIGN, sizeof *block);
    if (!block || pthread_setspecific(workspace_key, block) != 0) {
        free(block);
        return NULL;
    }
    block->used = 0;
    return block;
}

void *hn_workspace_push(size_t bytes) {
    workspace_block *block = block_of_thread();
    if (!block) {
        pthread_mutex_lock(&shared_block_lock);
        block = &shared_block;
    }
    void *at = block->bytes + block->used;
    block->used += (bytes + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
    if (block->used > HN_WORKSPACE_BYTES)
        abort(); /* sizes are constants: HN_WORKSPACE_BYTES is too small for them */
    return at;
}

void hn_workspace_pop(void *at) {
    uint8_t *from = at;
    bool is_shared = from >= shared_block.bytes && from < shared_block.bytes + HN_WORKSPACE_BYTES;
    workspace_block *block = is_shared ? &shared_block : pthread_getspecific(workspace_key);
    block->used = (size_t)(from - block->bytes);
    if (is_shared)
        pthread_mutex_unlock(&shared_block_lock);
}
