/* An allocator for tests: counts the bytes in use, checks the sizes passed to it, and fails the Nth
 * request. */
#ifndef TEST_COUNTING_ALLOCATOR_H
#define TEST_COUNTING_ALLOCATOR_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

typedef struct counting_allocator {
    hone_allocator hook; /* pass &hook to the code under test */
    size_t n_requests;
    size_t fail_at;     /* 1 = the first request; 0 = never. Later requests succeed */
    bool keeps_failing; /* from fail_at on, as when memory is exhausted */
    size_t n_blocks, n_bytes;
    size_t peak_bytes;  /* most bytes held at once */
    size_t limit_bytes; /* larger totals are refused; 0 = no limit */
    size_t n_refused;   /* requests that failed for one of these reasons */
    bool wrong_size;    /* a block was freed with another size than it was allocated with */
} counting_allocator;

/* The true size is stored before the block. */
#define COUNTING_HEADER_BYTES 16

static inline bool counting_refuses(counting_allocator *c, size_t old_bytes, size_t new_bytes) {
    size_t n = ++c->n_requests, others = c->n_bytes - old_bytes;
    if (c->fail_at && (n == c->fail_at || (c->keeps_failing && n > c->fail_at)))
        return true;
    return c->limit_bytes && (others > c->limit_bytes || new_bytes > c->limit_bytes - others);
}

static inline void *counting_resize_alone(counting_allocator *c, void *ptr, size_t old_bytes,
                                          size_t new_bytes) {
    char *raw = ptr ? (char *)ptr - COUNTING_HEADER_BYTES : NULL;
    size_t known = 0;
    if (raw)
        memcpy(&known, raw, sizeof(known));
    if (known != old_bytes)
        c->wrong_size = true;
    if (new_bytes == 0) {
        c->n_blocks -= raw ? 1 : 0;
        c->n_bytes -= known;
        free(raw);
        return NULL;
    }
    if (counting_refuses(c, known, new_bytes)) {
        c->n_refused++;
        return NULL;
    }
    raw = realloc(raw, new_bytes + COUNTING_HEADER_BYTES);
    if (!raw)
        return NULL;
    memcpy(raw, &new_bytes, sizeof(new_bytes));
    c->n_blocks += ptr ? 0 : 1;
    c->n_bytes += new_bytes - known;
    c->peak_bytes = c->n_bytes > c->peak_bytes ? c->n_bytes : c->peak_bytes;
    return raw + COUNTING_HEADER_BYTES;
}

/* Allocators are called from several threads. */
static inline void *counting_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    void *block = counting_resize_alone(ctx, ptr, old_bytes, new_bytes);
    pthread_mutex_unlock(&lock);
    return block;
}

static inline void counting_init(counting_allocator *c, size_t fail_at) {
    *c = (counting_allocator){.fail_at = fail_at};
    c->hook = (hone_allocator){.resize = counting_resize, .ctx = c};
}

static inline bool counting_is_clean(const counting_allocator *c) {
    return c->n_blocks == 0 && c->n_bytes == 0 && !c->wrong_size;
}

/* Repeats the work and fails each of its requests once: the work reports the failure, or succeeds
 * without the memory. */
static inline void expect_failures_told(hone_status (*work)(const hone_allocator *a)) {
    counting_allocator c;
    counting_init(&c, 0);
    assert_int_equal(work(&c.hook), HONE_OK);
    assert_true(counting_is_clean(&c));
    size_t n_requests = c.n_requests;
    for (size_t fail_at = 1; fail_at <= n_requests; fail_at++) {
        counting_init(&c, fail_at);
        hone_status status = work(&c.hook);
        if (status != HONE_E_NOMEM && status != HONE_OK)
            fail_msg("allocation %zu failed, but the status is %d", fail_at, status);
        assert_true(counting_is_clean(&c));
    }
}

/* The same for work that reports success; it must not when a request fails. */
static inline void expect_every_failure_counts(bool (*work)(const hone_allocator *a)) {
    bool done = false;
    for (size_t n = 1; !done; n++) {
        counting_allocator c;
        counting_init(&c, n);
        done = work(&c.hook);
        assert_true(counting_is_clean(&c));
        assert_int_equal(done, c.n_requests < n);
    }
}

#endif
