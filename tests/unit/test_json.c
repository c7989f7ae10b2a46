/* The JSON writer and reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/base.h"
#include "counting_allocator.h"

static void write_sample(hn_json *j) {
    hn_json_object(j);
    hn_json_key(j, "name");
    hn_json_str(j, "conv\"1\"");
    hn_json_key(j, "none");
    hn_json_object(j);
    hn_json_object_end(j);
    hn_json_key(j, "list");
    hn_json_array(j);
    hn_json_i64(j, INT64_MIN);
    hn_json_u64(j, UINT64_MAX);
    hn_json_f64(j, 0.1);
    hn_json_array(j);
    hn_json_array_end(j);
    hn_json_bool(j, true);
    hn_json_bool(j, false);
    hn_json_null(j);
    hn_json_str(j, NULL);
    hn_json_f64(j, INFINITY);
    hn_json_f64(j, -INFINITY);
    hn_json_f64(j, NAN);
    hn_json_array_end(j);
    hn_json_object_end(j);
}

static void test_compact(void **state) {
    (void)state;
    hn_strbuf b;
    hn_json j;
    hn_strbuf_init(&b, NULL);
    hn_json_init(&j, &b, false);
    write_sample(&j);
    assert_false(b.failed);
    assert_string_equal(
        b.at, "{\"name\":\"conv\\\"1\\\"\",\"none\":{},\"list\":[-9223372036854775808,"
              "18446744073709551615,0.1,[],true,false,null,null,\"inf\",\"-inf\",\"nan\"]}");
    hn_strbuf_free(&b);
}

static void test_pretty(void **state) {
    (void)state;
    hn_strbuf b;
    hn_json j;
    hn_strbuf_init(&b, NULL);
    hn_json_init(&j, &b, true);
    hn_json_object(&j);
    hn_json_key(&j, "a");
    hn_json_array(&j);
    hn_json_i64(&j, 1);
    hn_json_object(&j);
    hn_json_object_end(&j);
    hn_json_array_end(&j);
    hn_json_key(&j, "b");
    hn_json_null(&j);
    hn_json_object_end(&j);
    assert_string_equal(b.at, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": null\n}");
    hn_strbuf_free(&b);
}

static void check_text(const char *text, size_t n, const char *expected) {
    hn_strbuf b;
    hn_json j;
    hn_strbuf_init(&b, NULL);
    hn_json_init(&j, &b, false);
    hn_json_strn(&j, text, n);
    assert_string_equal(b.at, expected);
    hn_strbuf_free(&b);
}

#define CHECK_TEXT(text, expected) check_text(text, sizeof(text) - 1, expected)
#define FFFD "\xEF\xBF\xBD"

static void test_escapes(void **state) {
    (void)state;
    check_text(NULL, 0, "\"\"");
    CHECK_TEXT("a\0b", "\"a\\u0000b\"");
    CHECK_TEXT("\b\f\n\r\t\\\"/", "\"\\b\\f\\n\\r\\t\\\\\\\"/\"");
    CHECK_TEXT("\x1b\x7f\x01", "\"\\u001b\\u007f\\u0001\"");
    CHECK_TEXT("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80",
               "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

static void test_invalid_utf8(void **state) {
    (void)state;
    CHECK_TEXT("\x80", "\"" FFFD "\"");
    CHECK_TEXT("a\xFFz", "\"a" FFFD "z\"");
    CHECK_TEXT("\xC3", "\"" FFFD "\"");
    CHECK_TEXT("\xC3\"", "\"" FFFD "\\\"\"");
    CHECK_TEXT("\xE2\x82", "\"" FFFD "\"");
    CHECK_TEXT("\xE2\x82z", "\"" FFFD "z\"");
    CHECK_TEXT("\xC0\xAF", "\"" FFFD FFFD "\"");
    CHECK_TEXT("\xE0\x80\xAF", "\"" FFFD FFFD FFFD "\"");
    CHECK_TEXT("\xED\xA0\x80", "\"" FFFD FFFD FFFD "\"");
    CHECK_TEXT("\xF4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\"");
    CHECK_TEXT("\xF4\x8F\xBF\xBF", "\"\xF4\x8F\xBF\xBF\"");
    CHECK_TEXT("\xF5\x80", "\"" FFFD FFFD "\"");
    CHECK_TEXT("\xEF\xBF\xBD", "\"" FFFD "\"");
}

static void test_misuse_fails_softly(void **state) {
    (void)state;
    hn_strbuf b;
    hn_json j;
    hn_strbuf_init(&b, NULL);
    hn_json_init(&j, &b, true);
    for (int i = 0; i < HN_JSON_MAX_DEPTH; i++)
        hn_json_array(&j);
    assert_false(b.failed);
    for (int i = 0; i < 200; i++)
        hn_json_array(&j);
    assert_true(b.failed);
    hn_strbuf_free(&b);
    hn_json_init(&j, &b, false);
    hn_json_array_end(&j);
    assert_true(b.failed);
    hn_strbuf_free(&b);
}

static void test_deepest_nesting(void **state) {
    (void)state;
    hn_strbuf b;
    hn_json j;
    hn_strbuf_init(&b, NULL);
    hn_json_init(&j, &b, false);
    for (int i = 0; i < HN_JSON_MAX_DEPTH; i++)
        hn_json_array(&j);
    hn_json_i64(&j, 1);
    hn_json_i64(&j, 2);
    for (int i = 0; i < HN_JSON_MAX_DEPTH; i++)
        hn_json_array_end(&j);
    assert_false(b.failed);
    assert_int_equal(b.n, HN_JSON_MAX_DEPTH + 3 + HN_JSON_MAX_DEPTH);
    hn_strbuf_free(&b);
}

static void test_nth_allocation_fails(void **state) {
    (void)state;
    bool done = false;
    for (size_t n = 1; !done; n++) {
        counting_allocator c;
        counting_init(&c, n);
        hn_strbuf b;
        hn_json j;
        hn_strbuf_init(&b, &c.hook);
        hn_json_init(&j, &b, true);
        hn_json_array(&j);
        for (int i = 0; i < 50; i++)
            write_sample(&j);
        hn_json_array_end(&j);
        done = !b.failed;
        assert_int_equal(done, c.n_requests < n);
        hn_strbuf_free(&b);
        assert_true(counting_is_clean(&c));
    }
}

/* ---- reading ----------------------------------------------------------------------------------- */

static const hn_json_value *parsed(hn_arena *a, const char *text) {
    const hn_json_value *v;
    hone_error err = {0};
    if (hn_json_parse(text, strlen(text), a, &v, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return v;
}

static void test_parse(void **state) {
    (void)state;
    hn_arena *a = hn_arena_new(NULL);
    const hn_json_value *v = parsed(a, " {\"a\": [1, -2.5e-3, 1E2, true, false, null],\n"
                                       "\"b\\n\\u00e9\\\"\": {}, \"c\": \"\"} ");
    assert_int_equal(v->kind, HN_JSON_OBJECT);
    const hn_json_value *item = hn_json_member(v, "a")->first;
    assert_true(item->kind == HN_JSON_NUMBER && item->number == 1);
    assert_true((item = item->next)->number == -2.5e-3);
    assert_true((item = item->next)->number == 100);
    assert_true((item = item->next)->kind == HN_JSON_BOOL && item->boolean);
    assert_true((item = item->next)->kind == HN_JSON_BOOL && !item->boolean);
    assert_true((item = item->next)->kind == HN_JSON_NULL && !item->next);
    assert_int_equal(hn_json_member(v, "b\n\xc3\xa9\"")->kind, HN_JSON_OBJECT);
    assert_string_equal(hn_json_member(v, "c")->text, "");
    assert_null(hn_json_member(v, "d"));
    hn_arena_free(a);
}

static void test_parse_refuses(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",       "{",       "[1,]",    "[1 2]",       "{\"a\" 1}", "{\"a\":}",
        "\"open", "\"\\x\"", "\"\\u12", "\"\\u0000\"", "tru",       "1 2",
        "--1",    "+",       "{1: 2}",  "\"a\nb\"",    "\"\\",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++) {
        hn_arena *a = hn_arena_new(NULL);
        const hn_json_value *v;
        hone_error err = {0};
        if (hn_json_parse(texts[i], strlen(texts[i]), a, &v, &err) != HONE_E_FORMAT)
            fail_msg("accepted: %s", texts[i]);
        assert_non_null(strstr(err.message, "line "));
        hn_arena_free(a);
    }
    char deep[400];
    memset(deep, '[', sizeof deep);
    hn_arena *a = hn_arena_new(NULL);
    const hn_json_value *v;
    assert_int_equal(hn_json_parse(deep, sizeof deep, a, &v, NULL), HONE_E_FORMAT);
    hn_arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_pretty),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_misuse_fails_softly),
        cmocka_unit_test(test_deepest_nesting),
        cmocka_unit_test(test_nth_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
