/* Interned strings, text buffers, numbers as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "counting_allocator.h"

static void test_intern(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    hn_strtab *tab = hn_strtab_new(arena);
    hn_str a = hn_intern_z(tab, "alpha");
    hn_str empty = hn_intern(tab, NULL, 0);
    assert_int_equal(a->id, 0);
    assert_int_equal(empty->id, 1);
    assert_int_equal(a->hash, hn_hash32("alpha", 5));
    char copy[] = "alphabet";
    assert_ptr_equal(hn_intern(tab, copy, 5), a);
    assert_ptr_equal(hn_internf(tab, "al%s", "pha"), a);
    assert_ptr_equal(hn_intern_z(tab, ""), empty);
    assert_ptr_equal(hn_intern_find(tab, "alpha", 5), a);
    assert_ptr_equal(hn_intern_find(tab, NULL, 0), empty);
    assert_null(hn_intern_find(tab, "alphabet", 8));
    assert_true(hn_str_is(a, "alpha"));
    assert_false(hn_str_is(NULL, ""));
    assert_true(hn_str_empty(empty) && hn_str_empty(NULL) && !hn_str_empty(a));
    assert_string_equal(hn_s(NULL), "");
    hn_arena_free(arena);
}

static void test_intern_keeps_nuls(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    hn_strtab *tab = hn_strtab_new(arena);
    hn_str a = hn_intern(tab, "a\0b", 3), b = hn_intern(tab, "a\0c", 3), c = hn_intern(tab, "a", 1);
    assert_true(a != b && a != c && b != c);
    assert_int_equal(a->n, 3);
    assert_memory_equal(a->s, "a\0b", 4);
    assert_false(hn_str_is(a, "a"));
    hn_arena_free(arena);
}

static void test_intern_many(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    hn_strtab *tab = hn_strtab_new(arena);
    enum { N = 50000 };
    hn_str *strs = hn_arena_calloc(arena, N, sizeof(*strs));
    for (int i = 0; i < N; i++) {
        strs[i] = hn_internf(tab, "node_%d/output", i);
        assert_int_equal(strs[i]->id, i);
    }
    for (int i = 0; i < N; i++)
        assert_ptr_equal(hn_internf(tab, "node_%d/output", i), strs[i]);
    static char wide[100001];
    memset(wide, 'w', sizeof(wide) - 1);
    hn_str w = hn_internf(tab, "%s", wide);
    assert_int_equal(w->n, 100000);
    assert_ptr_equal(hn_intern_z(tab, wide), w);
    hn_arena_free(arena);
}

static void test_intern_huge_length(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    hn_strtab *tab = hn_strtab_new(arena);
    assert_null(hn_intern(tab, "x", SIZE_MAX));
    assert_null(hn_intern(tab, "x", (size_t)UINT32_MAX + 1));
    hn_arena_free(arena);
}

static void test_strbuf(void **state) {
    (void)state;
    counting_allocator c;
    counting_init(&c, 0);
    hn_strbuf b;
    hn_strbuf_init(&b, &c.hook);
    hn_strbuf_put(&b, NULL, 0);
    assert_string_equal(b.at, "");
    for (int i = 0; i < 1000; i++)
        hn_strbuf_printf(&b, "%d,", i % 10);
    hn_strbuf_puts(&b, "end");
    hn_strbuf_put(&b, "\0z", 2);
    assert_int_equal(b.n, 2005);
    assert_memory_equal(b.at + 1998, "9,end\0z", 8);
    hn_strbuf_printf(&b, "%5000s", "x");
    assert_int_equal(b.n, 7005);
    assert_int_equal(b.at[7005], 0);
    assert_false(b.failed);
    hn_strbuf_put(&b, "x", SIZE_MAX);
    assert_true(b.failed);
    hn_strbuf_free(&b);
    assert_false(b.failed);
    assert_true(counting_is_clean(&c));
}

static void test_strbuf_failure_sticks(void **state) {
    (void)state;
    counting_allocator c;
    counting_init(&c, 2);
    hn_strbuf b;
    hn_strbuf_init(&b, &c.hook);
    hn_strbuf_puts(&b, "kept");
    hn_strbuf_printf(&b, "%5000s", "lost");
    assert_true(b.failed);
    hn_strbuf_puts(&b, "lost too");
    assert_string_equal(b.at, "kept");
    assert_int_equal(b.n, 4);
    hn_strbuf_free(&b);
    assert_true(counting_is_clean(&c));
}

static bool work_with_strings(const hone_allocator *a) {
    hn_arena *arena = hn_arena_new(a);
    hn_strtab *tab = arena ? hn_strtab_new(arena) : NULL;
    bool ok = tab != NULL;
    for (int i = 0; ok && i < 500; i++)
        ok = hn_internf(tab, "%*d", i % 300, i) != NULL;
    hn_arena_free(arena);
    return ok;
}

static void test_nth_allocation_fails(void **state) {
    (void)state;
    expect_every_failure_counts(work_with_strings);
}

static void check_f64(double v, const char *expected) {
    char text[32];
    int n = hn_format_f64(text, v);
    assert_string_equal(text, expected);
    assert_int_equal(n, strlen(expected));
}

static void check_f32(float v, const char *expected) {
    char text[32];
    int n = hn_format_f32(text, v);
    assert_string_equal(text, expected);
    assert_int_equal(n, strlen(expected));
}

static void test_known_floats(void **state) {
    (void)state;
    check_f32(0.1f, "0.1");
    check_f32(1e-5f, "1e-05");
    check_f32(-1.5f, "-1.5");
    check_f32(0.0f, "0");
    check_f32(-0.0f, "-0");
    check_f32(100.0f, "100");
    check_f32(16777216.0f, "16777216");
    check_f32(1e8f, "1e+08");
    check_f32(3.4028235e38f, "3.4028235e+38");
    check_f32(1e-45f, "1e-45");
    check_f32(1.1754944e-38f, "1.1754944e-38");
    check_f32(INFINITY, "inf");
    check_f32(-INFINITY, "-inf");
    check_f32(NAN, "nan");
    check_f32(-NAN, "nan");
    check_f64(0.1, "0.1");
    check_f64(0.0001, "0.0001");
    check_f64(0.00012, "0.00012");
    check_f64(0.00001, "1e-05");
    check_f64(1.0 / 3, "0.3333333333333333");
    check_f64(123456.789, "123456.789");
    check_f64(1e15, "1000000000000000");
    check_f64(1e16, "1e+16");
    check_f64(5e-324, "5e-324");
    check_f64(1.7976931348623157e308, "1.7976931348623157e+308");
    check_f64(-2.2250738585072014e-308, "-2.2250738585072014e-308");
    check_f64(9007199254740993.0, "9007199254740992");
}

/* Random bit patterns: all exponents, subnormal numbers and both signs come up. */
static void check_round_trips(void) {
    uint64_t seed = 1;
    char text[32], shorter[64];
    for (int i = 0; i < 40000; i++) {
        uint64_t bits = hn_hash64(&i, sizeof(i), seed);
        uint32_t low_bits = (uint32_t)bits & (i % 8 ? UINT32_MAX : 0x807FFFFF);
        double d;
        float f;
        memcpy(&d, &bits, sizeof(d));
        memcpy(&f, &low_bits, sizeof(f));
        if (isfinite(f)) {
            int n = hn_format_f32(text, f);
            assert_true(n == (int)strlen(text) && n < 32);
            assert_true(strtof(text, NULL) == f);
            /* One digit less would not do. */
            int n_digits = 0;
            for (const char *at = text; *at && *at != 'e'; at++)
                n_digits += *at >= '0' && *at <= '9' && (n_digits || *at != '0');
            if (n_digits > 1 && strchr(text, 'e')) {
                snprintf(shorter, sizeof(shorter), "%.*e", n_digits - 2, (double)f);
                assert_true(strtof(shorter, NULL) != f);
            }
        }
        if (isfinite(d)) {
            int n = hn_format_f64(text, d);
            assert_true(n == (int)strlen(text) && n < 32);
            assert_true(strtod(text, NULL) == d);
        }
    }
}

static void test_round_trips(void **state) {
    (void)state;
    check_round_trips();
}

static void test_comma_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8",
                                        "ps_AF"};
    bool found = false;
    for (size_t i = 0; !found && i < HN_COUNT(names); i++)
        found = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!found)
        skip();
    check_f64(0.1, "0.1");
    check_f64(1.0 / 3, "0.3333333333333333");
    check_f32(1.1754944e-38f, "1.1754944e-38");
    setlocale(LC_NUMERIC, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intern),
        cmocka_unit_test(test_intern_keeps_nuls),
        cmocka_unit_test(test_intern_many),
        cmocka_unit_test(test_intern_huge_length),
        cmocka_unit_test(test_strbuf),
        cmocka_unit_test(test_strbuf_failure_sticks),
        cmocka_unit_test(test_nth_allocation_fails),
        cmocka_unit_test(test_known_floats),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_comma_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
