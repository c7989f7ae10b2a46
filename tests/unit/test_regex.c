/* Regular expressions: syntax, semantics, and patterns that make backtracking matchers slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/regex.h"

static hn_bytes bytes_of(const char *text) {
    return (hn_bytes){text, strlen(text)};
}

static void expect_match(const char *pattern, const char *text, bool wanted) {
    hn_arena *arena = hn_arena_new(NULL);
    const char *why = NULL;
    hn_regex *re = NULL;
    assert_int_equal(hn_regex_compile(arena, bytes_of(pattern), &re, &why), HONE_OK);
    if (hn_regex_matches(re, bytes_of(text)) != wanted)
        fail_msg("'%s' against '%s'", pattern, text);
    hn_arena_free(arena);
}

/* The complement of a class relies on the order of its ranges in the table. */
static void test_classes_and_complements(void **state) {
    static const char *const patterns[][2] = {
        {"\\d", "\\D"},
        {"\\s", "\\S"},
        {"\\w", "\\W"},
        {"[[:alnum:]]", "[[:^alnum:]]"},
        {"[[:alpha:]]", "[[:^alpha:]]"},
        {"[[:ascii:]]", "[[:^ascii:]]"},
        {"[[:blank:]]", "[[:^blank:]]"},
        {"[[:cntrl:]]", "[[:^cntrl:]]"},
        {"[[:digit:]]", "[[:^digit:]]"},
        {"[[:graph:]]", "[[:^graph:]]"},
        {"[[:lower:]]", "[[:^lower:]]"},
        {"[[:print:]]", "[[:^print:]]"},
        {"[[:punct:]]", "[[:^punct:]]"},
        {"[[:space:]]", "[[:^space:]]"},
        {"[[:upper:]]", "[[:^upper:]]"},
        {"[[:word:]]", "[[:^word:]]"},
        {"[[:xdigit:]]", "[[:^xdigit:]]"},
    };
    (void)state;
    for (size_t i = 0; i < HN_COUNT(patterns); i++) {
        hn_arena *arena = hn_arena_new(NULL);
        hn_regex *class, *complement;
        const char *why;
        assert_int_equal(hn_regex_compile(arena, bytes_of(patterns[i][0]), &class, &why), HONE_OK);
        assert_int_equal(hn_regex_compile(arena, bytes_of(patterns[i][1]), &complement, &why),
                         HONE_OK);
        for (char c = 1; c < 127; c++)
            if (hn_regex_matches(class, (hn_bytes){&c, 1}) ==
                hn_regex_matches(complement, (hn_bytes){&c, 1}))
                fail_msg("character %d and %s", c, patterns[i][0]);
        hn_arena_free(arena);
    }
}

static void test_meaning(void **state) {
    static const struct {
        const char *pattern, *yes, *no;
    } cases[] = {
        {"a|b*", "bbb", "ab"},
        {"(ab)+c?", "ababc", "abb"},
        {"[^a-c]+", "xyz", "xbz"},
        {"\\d{2,4}", "123", "12345"},
        {"(?i)heLLo", "HELlo", "helo"},
        {"(?i:a)b", "Ab", "AB"},
        {"[[:alpha:]]+", "abZ", "a1"},
        {"[]a]+", "]a", "b"},
        {"[a\\-z]+", "a-z", "b"},
        {".", "\xC3\xA9", "\n"},
        {"(?s).", "\n", "ab"},
        {"\\bfoo\\b", "foo", "foox"},
        {"^a$", "a", "aa"},
        {"\\Qa.b\\E", "a.b", "axb"},
        {"\\x{e9}|\\x41", "\xC3\xA9", "B"},
        {"(a*)*b", "aab", "aa"},
        {"((a|b)c|d)e", "bce", "be"},
        {"(|a)c", "c", "a"},
        {"(?P<n>x)y", "xy", "x"},
        {"a{0}b", "b", "ab"},
        {"a{,2}", "a{,2}", "aa"},
        {"[\\w.]+@(x|y)\\.com", "a.b@x.com", "a@z.com"},
        {"\\W\\S\\D", "-aa", "a-a"},
        {"x*?", "xx", "y"},
    };
    (void)state;
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        expect_match(cases[i].pattern, cases[i].yes, true);
        expect_match(cases[i].pattern, cases[i].no, false);
    }
}

static void test_refused_patterns(void **state) {
    static const char *const patterns[] = {"(",   ")",     "[a",  "*a",    "a{2,1}",      "a{1001}",
                                           "\\1", "(?=a)", "a\\", "[z-a]", "\\x{110000}", "\xFF"};
    (void)state;
    for (size_t i = 0; i < HN_COUNT(patterns); i++) {
        hn_arena *arena = hn_arena_new(NULL);
        const char *why = NULL;
        hn_regex *re = NULL;
        if (hn_regex_compile(arena, bytes_of(patterns[i]), &re, &why) != HONE_E_INVALID || !why)
            fail_msg("'%s' was not refused", patterns[i]);
        hn_arena_free(arena);
    }
}

/* Nested repetitions and long patterns cost neither much time nor the stack. */
static void test_hostile_patterns(void **state) {
    char text[2001], deep[60001];
    const char *why = NULL;
    hn_regex *re = NULL;
    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    expect_match("(((a*)*)*)*b", text, false);
    expect_match("(a?){500}a{500}", text, false);
    for (size_t i = 0; i < sizeof deep - 1; i++)
        deep[i] = i % 2 ? '|' : 'a';
    deep[sizeof deep - 1] = 0;
    expect_match(deep, "a", true);
    hn_arena *arena = hn_arena_new(NULL);
    assert_int_equal(hn_regex_compile(arena, bytes_of("((a{1000}){1000}){1000}"), &re, &why),
                     HONE_E_LIMIT);
    memset(deep, '(', sizeof deep - 1);
    assert_int_equal(hn_regex_compile(arena, bytes_of(deep), &re, &why), HONE_E_LIMIT);
    hn_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_classes_and_complements),
        cmocka_unit_test(test_refused_patterns),
        cmocka_unit_test(test_hostile_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
