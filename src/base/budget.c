/* Budgets of memory, and how much there can be at most. */
#define _GNU_SOURCE /* sysconf(_SC_PHYS_PAGES) */
#include "base/base.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool hn_budget_take(hn_budget *b, uint64_t bytes) {
    if (!b)
        return true;
    uint64_t before = atomic_fetch_add_explicit(&b->used, bytes, memory_order_relaxed);
    if (!b->limit || (before <= b->limit && bytes <= b->limit - before))
        return true;
    hn_budget_give(b, bytes);
    atomic_store_explicit(&b->refused, bytes, memory_order_relaxed);
    atomic_store_explicit(&b->is_over, true, memory_order_relaxed);
    return false;
}

void hn_budget_give(hn_budget *b, uint64_t bytes) {
    if (b)
        atomic_fetch_sub_explicit(&b->used, bytes, memory_order_relaxed);
}

void hn_budget_note_failure(hn_budget *b, uint64_t bytes) {
    if (!b)
        return;
    atomic_store_explicit(&b->refused, bytes, memory_order_relaxed);
    atomic_store_explicit(&b->is_over, false, memory_order_relaxed);
}

/* Of a container without its own name space the mount point is the group. "max" is no number. */
static uint64_t lower_by_file(uint64_t bytes, const char *path) {
    char text[32];
    FILE *f = fopen(path, "re");
    if (!f)
        return bytes;
    unsigned long long limit = fgets(text, sizeof text, f) ? strtoull(text, NULL, 10) : 0;
    fclose(f);
    return limit > 0 ? HN_MIN(bytes, limit) : bytes;
}

static uint64_t find_machine_bytes(void) {
    uint64_t bytes = UINT64_MAX;
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        bytes = (uint64_t)pages * (uint64_t)page;
#endif
    bytes = lower_by_file(bytes, "/sys/fs/cgroup/memory.max");
    return lower_by_file(bytes, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
}

uint64_t hn_machine_bytes(void) {
    static _Atomic uint64_t found;
    uint64_t bytes = atomic_load_explicit(&found, memory_order_relaxed);
    if (bytes == 0) {
        bytes = find_machine_bytes();
        atomic_store_explicit(&found, bytes, memory_order_relaxed);
    }
    return bytes;
}
