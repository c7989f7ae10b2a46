/* The allocator hook, arenas, vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "counting_allocator.h"

#if defined(__SANITIZE_ADDRESS__)
#  define HAS_ASAN 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define HAS_ASAN 1
#  endif
#endif
#ifdef HAS_ASAN
#  include <sanitizer/asan_interface.h>
#endif

static void test_allocator_sizes(void **state) {
    (void)state;
    counting_allocator c;
    counting_init(&c, 0);
    const hone_allocator *both[] = {NULL, &c.hook};
    for (size_t i = 0; i < HN_COUNT(both); i++) {
        void *empty = hn_alloc(both[i], 0);
        assert_non_null(empty);
        empty = hn_realloc(both[i], empty, 0, 0);
        assert_non_null(empty);
        hn_free(both[i], empty, 0);
        char *p = hn_calloc(both[i], 3, 5);
        for (int k = 0; k < 15; k++)
            assert_int_equal(p[k], 0);
        p[14] = 'x';
        p = hn_realloc(both[i], p, 15, 100000);
        assert_int_equal(p[14], 'x');
        hn_free(both[i], p, 100000);
        assert_null(hn_calloc(both[i], SIZE_MAX / 2, 3));
        hn_free(both[i], NULL, 0);
    }
    assert_true(counting_is_clean(&c));
}

static void test_blocks_are_aligned_and_apart(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    unsigned char *blocks[300];
    for (size_t i = 0; i < HN_COUNT(blocks); i++) {
        blocks[i] = hn_arena_alloc(arena, i * 7);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)i & 0xFF, i * 7);
    }
    for (size_t i = 0; i < HN_COUNT(blocks); i++)
        for (size_t k = 0; k < i * 7; k++)
            assert_int_equal(blocks[i][k], i & 0xFF);
    assert_ptr_not_equal(blocks[0], blocks[1]);
    hn_arena_free(arena);
    hn_arena_free(NULL);
}

static void test_hostile_sizes(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    static const size_t sizes[] = {SIZE_MAX,      SIZE_MAX - 1,  SIZE_MAX - 15, SIZE_MAX - 16,
                                   SIZE_MAX - 48, SIZE_MAX - 64, SIZE_MAX - 100};
    for (size_t i = 0; i < HN_COUNT(sizes); i++)
        assert_null(hn_arena_alloc(arena, sizes[i]));
    assert_null(hn_arena_calloc(arena, SIZE_MAX / 4, 5));
    assert_false(hn_arena_hit_limit(arena));
    assert_non_null(hn_arena_alloc(arena, 10));
    hn_arena_free(arena);
}

static void test_limit(void **state) {
    (void)state;
    counting_allocator c;
    counting_init(&c, 0);
    hn_arena *arena = hn_arena_new(&c.hook);
    assert_ptr_equal(hn_arena_allocator(arena), &c.hook);
    hn_arena_set_limit(arena, 100000);
    size_t n = 0;
    while (hn_arena_alloc(arena, 500))
        n++;
    assert_true(hn_arena_hit_limit(arena));
    assert_true(n > 150);
    assert_true(c.n_bytes <= 100000);
    assert_int_equal(c.n_bytes, hn_arena_bytes(arena));
    c.fail_at = c.n_requests + 1;
    hn_arena_set_limit(arena, 0);
    assert_null(hn_arena_alloc(arena, 500));
    assert_false(hn_arena_hit_limit(arena));
    assert_non_null(hn_arena_alloc(arena, 500));
    hn_arena_free(arena);
    assert_true(counting_is_clean(&c));
}

static void test_chunks_are_few(void **state) {
    (void)state;
    counting_allocator c;
    counting_init(&c, 0);
    hn_arena *arena = hn_arena_new(&c.hook);
    for (int i = 0; i < 100000; i++)
        assert_non_null(hn_arena_alloc(arena, 32));
    assert_true(c.n_requests < 30);
    hn_arena_free(arena);
    assert_true(counting_is_clean(&c));
}

static void test_marks(void **state) {
    (void)state;
    counting_allocator c;
    counting_init(&c, 0);
    hn_arena *arena = hn_arena_new(&c.hook);
    hn_arena_mark start = hn_arena_save(arena);
    char *kept = hn_arena_copy(arena, "kept", 5);
    size_t held = hn_arena_bytes(arena);
    hn_arena_mark mark = hn_arena_save(arena);
    char *first = hn_arena_alloc(arena, 40);
    for (int i = 0; i < 1000; i++)
        assert_non_null(hn_arena_alloc(arena, 1000));
    hn_arena_restore(arena, mark);
    assert_int_equal(hn_arena_bytes(arena), held);
    assert_ptr_equal(hn_arena_alloc(arena, 40), first);
    assert_string_equal(kept, "kept");
    hn_arena_restore(arena, start);
    assert_int_equal(c.n_blocks, 1);
    assert_non_null(hn_arena_alloc(arena, 1));
    hn_arena_free(arena);
    assert_true(counting_is_clean(&c));
}

static void test_copies_and_text(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    assert_non_null(hn_arena_copy(arena, NULL, 0));
    assert_string_equal(hn_arena_printf(arena, "%s-%d", "a", 5), "a-5");
    assert_string_equal(hn_arena_printf(arena, "%s", ""), "");
    char *wide = hn_arena_printf(arena, "%20000d", 1);
    assert_int_equal(strlen(wide), 20000);
    hn_arena_free(arena);
}

#ifdef HAS_ASAN
static void test_redzones(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    char *a = hn_arena_alloc(arena, 13);
    hn_arena_mark mark = hn_arena_save(arena);
    char *b = hn_arena_alloc(arena, 16);
    assert_false(__asan_address_is_poisoned(a + 12));
    assert_true(__asan_address_is_poisoned(a + 13));
    assert_false(__asan_address_is_poisoned(b));
    assert_true(__asan_address_is_poisoned(b - 1));
    assert_true(__asan_address_is_poisoned(b + 16));
    hn_arena_restore(arena, mark);
    assert_true(__asan_address_is_poisoned(b));
    assert_false(__asan_address_is_poisoned(a));
    assert_true(__asan_address_is_poisoned(hn_arena_alloc(arena, 0)));
    hn_arena_free(arena);
}
#endif

static void test_vec(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    HN_VEC(uint64_t) v = {0};
    for (uint64_t i = 0; i < 10000; i++)
        assert_true(HN_VEC_PUSH(arena, &v, i * i));
    assert_int_equal(v.n, 10000);
    for (uint64_t i = 0; i < v.n; i++)
        assert_true(v.at[i] == i * i);
    uint32_t cap = v.cap;
    assert_true(HN_VEC_RESERVE(arena, &v, cap - v.n));
    assert_int_equal(v.cap, cap);
    assert_true(HN_VEC_RESERVE(arena, &v, 100000));
    assert_true(v.cap >= 110000);
    assert_true(v.at[99] == 99 * 99);
    hn_arena_free(arena);
}

/* A sum beyond 32 bits, and a product beyond size_t. */
static void test_vec_overflow(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    hn_arena_set_limit(arena, 1 << 20);
    HN_VEC(char) v = {0};
    assert_true(HN_VEC_PUSH(arena, &v, 'a'));
    assert_false(HN_VEC_RESERVE(arena, &v, UINT32_MAX));
    assert_false(HN_VEC_RESERVE(arena, &v, UINT32_MAX - 1));
    assert_int_equal(v.n, 1);
    assert_int_equal(v.at[0], 'a');
    void *at = v.at;
    uint32_t cap = v.cap;
    assert_false(hn_vec_grow(arena, &at, &cap, UINT32_MAX, SIZE_MAX / 2));
    assert_ptr_equal(at, v.at);
    hn_arena_free(arena);
}

/* A piece of work that allocates in every way; false when memory ran out. */
static bool work_in_arena(const hone_allocator *a) {
    hn_arena *arena = hn_arena_new(a);
    if (!arena)
        return false;
    HN_VEC(int) v = {0};
    bool ok = hn_arena_alloc(arena, 5000) && hn_arena_calloc(arena, 100, 100) &&
              hn_arena_copy(arena, "abc", 4) && hn_arena_printf(arena, "%9000d", 1);
    for (int i = 0; ok && i < 5000; i++)
        ok = HN_VEC_PUSH(arena, &v, i);
    hn_arena_free(arena);
    return ok;
}

static void test_nth_allocation_fails(void **state) {
    (void)state;
    expect_every_failure_counts(work_in_arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocator_sizes),
        cmocka_unit_test(test_blocks_are_aligned_and_apart),
        cmocka_unit_test(test_hostile_sizes),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_chunks_are_few),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_copies_and_text),
#ifdef HAS_ASAN
        cmocka_unit_test(test_redzones),
#endif
        cmocka_unit_test(test_vec),
        cmocka_unit_test(test_vec_overflow),
        cmocka_unit_test(test_nth_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
