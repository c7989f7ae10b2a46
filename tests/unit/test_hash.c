/* Hashes and the map. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/base.h"
#include "counting_allocator.h"

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* All prefixes of one text, each with every single bit flipped: no two hashes are equal. */
static void test_hash_has_no_cheap_collisions(void **state) {
    (void)state;
    unsigned char text[200];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (unsigned char)(i * 37);
    size_t cap = sizeof(text) * sizeof(text) * 8, n = 0;
    uint64_t *hashes = malloc(cap * sizeof(*hashes));
    for (size_t length = 0; length < sizeof(text); length++) {
        hashes[n++] = hn_hash64(text, length, 5);
        for (size_t bit = 0; bit < length * 8; bit++) {
            text[bit / 8] ^= (unsigned char)(1 << bit % 8);
            hashes[n++] = hn_hash64(text, length, 5);
            text[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
    assert_true(n <= cap);
    qsort(hashes, n, sizeof(*hashes), compare_u64);
    for (size_t i = 1; i < n; i++)
        assert_true(hashes[i] != hashes[i - 1]);
    free(hashes);
}

static void test_hash_of_zeros_and_seeds(void **state) {
    (void)state;
    static const unsigned char zeros[256];
    for (size_t n = 1; n < sizeof(zeros); n++) {
        assert_true(hn_hash64(zeros, n, 0) != hn_hash64(zeros, n - 1, 0));
        assert_true(hn_hash64(zeros, n, 0) != hn_hash64(zeros, n, 1));
        assert_true(hn_hash32(zeros, n) != 0);
    }
    assert_true(hn_hash64(zeros, 0, 0) != hn_hash64(zeros, 0, 1));
}

static void test_hash_ignores_alignment(void **state) {
    (void)state;
    unsigned char room[300];
    for (size_t shift = 0; shift < 9; shift++) {
        for (size_t i = 0; i < 200; i++)
            room[shift + i] = (unsigned char)(i * i);
        for (size_t n = 0; n < 200; n += 11) {
            uint64_t here = hn_hash64(room + shift, n, 9);
            memmove(room + shift + 1, room + shift, 200);
            assert_true(hn_hash64(room + shift + 1, n, 9) == here);
            memmove(room + shift, room + shift + 1, 200);
        }
    }
}

static void test_map_basics(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    hn_map m;
    hn_map_init(&m, arena);
    assert_int_equal(hn_map_get(&m, 1), HN_MAP_NONE);
    assert_false(hn_map_remove(&m, 1));
    assert_true(hn_map_put(&m, 0, 10));
    assert_true(hn_map_put(&m, UINT64_MAX, 11));
    assert_true(hn_map_put(&m, hn_key(3, 4), 0));
    assert_true(hn_map_put(&m, 0, 12));
    assert_int_equal(m.n, 3);
    assert_int_equal(hn_map_get(&m, 0), 12);
    assert_int_equal(hn_map_get(&m, UINT64_MAX), 11);
    assert_int_equal(hn_map_get(&m, hn_key(3, 4)), 0);
    assert_int_equal(hn_map_get(&m, hn_key(4, 3)), HN_MAP_NONE);
    assert_true(hn_map_put(&m, 0, HN_MAP_NONE));
    assert_int_equal(hn_map_get(&m, 0), HN_MAP_NONE);
    assert_int_equal(m.n, 2);
    hn_arena_free(arena);
}

/* Random puts and removes over few keys, so that clusters form, wrap around and break; against a
 * plain array. */
static void test_map_against_array(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    for (uint64_t round = 0; round < 20; round++) {
        enum { N_KEYS = 150 };
        uint32_t expected[N_KEYS];
        uint32_t n = 0;
        for (int i = 0; i < N_KEYS; i++)
            expected[i] = HN_MAP_NONE;
        hn_map m;
        hn_map_init(&m, arena);
        for (uint32_t step = 0; step < 4000; step++) {
            uint64_t dice = hn_hash64(&step, sizeof(step), round);
            uint32_t key = (uint32_t)(dice >> 8) % (round % 2 ? N_KEYS : 11);
            bool present = expected[key] != HN_MAP_NONE;
            if (dice & 1) {
                assert_true(hn_map_put(&m, (uint64_t)key << 32, step));
                n += !present;
                expected[key] = step;
            } else {
                assert_int_equal(hn_map_remove(&m, (uint64_t)key << 32), present);
                n -= present;
                expected[key] = HN_MAP_NONE;
            }
            assert_int_equal(m.n, n);
            for (uint64_t k = 0; k < N_KEYS; k++)
                assert_int_equal(hn_map_get(&m, k << 32), expected[k]);
        }
    }
    hn_arena_free(arena);
}

static void test_map_many(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    hn_map m;
    hn_map_init(&m, arena);
    for (uint32_t i = 0; i < 200000; i++)
        assert_true(hn_map_put(&m, hn_key(i, i ^ 5), i));
    for (uint32_t i = 0; i < 200000; i += 2)
        assert_true(hn_map_remove(&m, hn_key(i, i ^ 5)));
    for (uint32_t i = 0; i < 200000; i++)
        assert_int_equal(hn_map_get(&m, hn_key(i, i ^ 5)), i % 2 ? i : HN_MAP_NONE);
    assert_int_equal(m.n, 100000);
    hn_arena_free(arena);
}

static bool fill_map(const hone_allocator *a, hn_map *m, hn_arena **arena) {
    *arena = hn_arena_new(a);
    if (!*arena)
        return false;
    hn_map_init(m, *arena);
    for (uint32_t i = 0; i < 3000; i++)
        if (!hn_map_put(m, i, i))
            return false;
    return true;
}

static void test_nth_allocation_fails(void **state) {
    (void)state;
    bool done = false;
    for (size_t n = 1; !done; n++) {
        counting_allocator c;
        counting_init(&c, n);
        hn_map m = {.n = 0};
        hn_arena *arena;
        done = fill_map(&c.hook, &m, &arena);
        for (uint32_t i = 0; i < m.n; i++) /* what was put before the failure is still there */
            assert_int_equal(hn_map_get(&m, i), i);
        hn_arena_free(arena);
        assert_true(counting_is_clean(&c));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_has_no_cheap_collisions),
        cmocka_unit_test(test_hash_of_zeros_and_seeds),
        cmocka_unit_test(test_hash_ignores_alignment),
        cmocka_unit_test(test_map_basics),
        cmocka_unit_test(test_map_against_array),
        cmocka_unit_test(test_map_many),
        cmocka_unit_test(test_nth_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
