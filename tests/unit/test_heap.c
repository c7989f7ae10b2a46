/* The heap of runs: blocks are reused, sizes are rounded, limits hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counting_allocator.h"

static void blocks_are_aligned_and_come_back(void **state) {
    (void)state;
    counting_allocator memory;
    counting_init(&memory, 0);
    hn_heap *h = hn_heap_new(&memory.hook);
    static const size_t sizes[] = {0,   1,   63,   64,   65,   80,     100,
                                   128, 129, 1000, 4096, 5000, 100000, 3 << 20};
    void *blocks[HN_COUNT(sizes)];
    for (int round = 0; round < 3; round++) {
        size_t before = memory.n_requests;
        for (size_t i = 0; i < HN_COUNT(sizes); i++) {
            blocks[i] = hn_heap_alloc(h, sizes[i]);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % 64, 0);
            memset(blocks[i], 0xA5, sizes[i]);
        }
        if (round > 1) /* in the second there is one for all large blocks together */
            assert_int_equal(memory.n_requests, before);
        for (size_t i = 0; i < HN_COUNT(sizes); i++)
            hn_heap_give(h, blocks[i], sizes[i]);
    }
    hn_heap_give(h, NULL, 7);
    hn_heap_trim(h);
    assert_int_equal(memory.n_blocks, 1); /* the heap itself */
    hn_heap_free(h);
    hn_heap_free(NULL);
    assert_true(counting_is_clean(&memory));
}

static void little_is_wasted(void **state) {
    (void)state;
    for (size_t bytes = 300; bytes < (size_t)1 << 24; bytes += bytes / 7) {
        counting_allocator memory;
        counting_init(&memory, 0);
        hn_heap *h = hn_heap_new(&memory.hook);
        size_t before = memory.n_bytes;
        void *block = hn_heap_alloc(h, bytes);
        assert_in_range(memory.n_bytes - before, bytes, bytes + bytes / 4 + 256);
        hn_heap_give(h, block, bytes);
        hn_heap_free(h);
    }
}

/* A size that was never asked for before must not make the heap hold all the others for ever. */
static void waiting_blocks_are_bounded(void **state) {
    (void)state;
    counting_allocator memory;
    counting_init(&memory, 0);
    hn_heap *h = hn_heap_new(&memory.hook);
    for (size_t bytes = 1 << 20; bytes > 1000; bytes -= bytes / 16)
        hn_heap_give(h, hn_heap_alloc(h, bytes), bytes);
    assert_in_range(memory.peak_bytes, 1 << 20, 4 << 20);
    hn_heap_free(h);
    assert_true(counting_is_clean(&memory));
}

/* Blocks that overlap in time, of sizes that never come back in the same run. */
typedef struct pile {
    unsigned char *blocks[40];
    size_t sizes[40];
} pile;

static void play_random_run(hn_heap *h, uint32_t seed) {
    pile p = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t at = (seed >> 8) % HN_COUNT(p.blocks);
        for (size_t k = 0; p.blocks[at] && k < p.sizes[at]; k += 1000)
            assert_int_equal(p.blocks[at][k], (unsigned char)at);
        hn_heap_give(h, p.blocks[at], p.sizes[at]);
        p.sizes[at] = (seed >> 4) % 400000;
        p.blocks[at] = hn_heap_alloc(h, p.sizes[at]);
        assert_non_null(p.blocks[at]);
        memset(p.blocks[at], (int)at, p.sizes[at]);
    }
    for (size_t at = 0; at < HN_COUNT(p.blocks); at++)
        hn_heap_give(h, p.blocks[at], p.sizes[at]);
}

static void runs_that_repeat_themselves_need_nothing(void **state) {
    (void)state;
    counting_allocator memory;
    counting_init(&memory, 0);
    hn_heap *h = hn_heap_new(&memory.hook);
    for (int round = 0; round < 5; round++) {
        size_t before = memory.n_requests;
        play_random_run(h, 1);
        if (round > 1)
            assert_int_equal(memory.n_requests, before);
        assert_in_range(hn_heap_recent_bytes(h), 4 << 20, 16 << 20);
        assert_int_equal(hn_heap_recent_bytes(h), 0);
    }
    for (uint32_t seed = 2; seed < 30; seed++) /* and other runs little more */
        play_random_run(h, seed);
    assert_in_range(memory.n_bytes, 8 << 20, 16 << 20);
    hn_heap_trim(h);
    assert_int_equal(memory.n_blocks, 1);
    hn_heap_free(h);
    assert_true(counting_is_clean(&memory));
}

static void limits_count_what_is_in_use(void **state) {
    (void)state;
    hn_heap *h = hn_heap_new(NULL);
    hn_heap_set_limit(h, 1024);
    void *a = hn_heap_alloc(h, 512), *b = hn_heap_alloc(h, 512);
    assert_true(a && b);
    assert_false(hn_heap_hit_limit(h));
    assert_null(hn_heap_alloc(h, 1));
    assert_true(hn_heap_hit_limit(h));
    hn_heap_give(h, a, 512);
    a = hn_heap_alloc(h, 100);
    assert_non_null(a);
    hn_heap_set_limit(h, 0);
    assert_false(hn_heap_hit_limit(h));
    hn_heap_give(h, a, 100);
    hn_heap_give(h, b, 512);
    hn_heap_free(h);
}

static void large_blocks_fill_huge_pages(void **state) {
    (void)state;
    const size_t page = (size_t)2 << 20, bytes = 2 * page + 100;
    uint8_t *block = hn_block_alloc(NULL, bytes);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % page, 0);
    hn_block_fetch(block, bytes);
    memset(block, 7, bytes);
    hn_block_free(NULL, block, bytes);
    counting_allocator memory;
    counting_init(&memory, 0);
    block = hn_block_alloc(&memory.hook, bytes);
    assert_int_equal((uintptr_t)block % 64, 0);
    memset(block, 7, bytes);
    hn_block_free(&memory.hook, block, bytes);
    assert_true(counting_is_clean(&memory));
}

static void missing_memory_gives_null(void **state) {
    (void)state;
    counting_allocator memory;
    counting_init(&memory, 1);
    assert_null(hn_heap_new(&memory.hook));
    counting_init(&memory, 3);
    hn_heap *h = hn_heap_new(&memory.hook);
    hn_heap_give(h, hn_heap_alloc(h, 100), 100);
    void *large = hn_heap_alloc(h, 10000); /* fails once, but a block was waiting that could go */
    assert_non_null(large);
    memory.fail_at = memory.n_requests + 1;
    memory.keeps_failing = true;
    assert_null(hn_heap_alloc(h, 20000));
    assert_null(hn_heap_alloc(h, SIZE_MAX));
    assert_null(hn_block_alloc(&memory.hook, SIZE_MAX));
    hn_heap_give(h, large, 10000);
    hn_heap_free(h);
    assert_true(counting_is_clean(&memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_come_back),
        cmocka_unit_test(little_is_wasted),
        cmocka_unit_test(waiting_blocks_are_bounded),
        cmocka_unit_test(runs_that_repeat_themselves_need_nothing),
        cmocka_unit_test(limits_count_what_is_in_use),
        cmocka_unit_test(large_blocks_fill_huge_pages),
        cmocka_unit_test(missing_memory_gives_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
