/* Status texts, the error record, checked arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "base/base.h"

static void test_status_text(void **state) {
    (void)state;
    assert_string_equal(hone_status_text(HONE_OK), "ok");
    assert_string_equal(hone_status_text(HONE_E_INTERNAL), "internal error");
    assert_string_equal(hone_status_text((hone_status)999), "unknown status");
    assert_string_equal(hone_status_text((hone_status)-1), "unknown status");
}

static void test_first_error_wins(void **state) {
    (void)state;
    hone_error err;
    hn_error_clear(&err);
    assert_int_equal(err.code, HONE_OK);
    assert_int_equal(err.offset, -1);
    assert_int_equal(hn_fail(&err, HONE_E_SHAPE, "node '%s' wants %d", "a", 3), HONE_E_SHAPE);
    assert_int_equal(hn_fail(&err, HONE_E_TYPE, "later"), HONE_E_TYPE);
    assert_int_equal(err.code, HONE_E_SHAPE);
    assert_string_equal(err.message, "node 'a' wants 3");
    hn_error_clear(&err);
    assert_string_equal(err.message, "");
}

static void test_no_record(void **state) {
    (void)state;
    hn_error_clear(NULL);
    assert_int_equal(hn_fail(NULL, HONE_E_LIMIT, "x"), HONE_E_LIMIT);
    errno = ENOENT;
    assert_int_equal(hn_fail_errno(NULL, "x"), HONE_E_IO);
    hn_error_prefix(NULL, "x");
    assert_int_equal(hn_error_complete(NULL, HONE_E_NOMEM), HONE_E_NOMEM);
}

static void test_errno(void **state) {
    (void)state;
    hone_error err;
    hn_error_clear(&err);
    errno = ENOENT;
    assert_int_equal(hn_fail_errno(&err, "cannot open '%s'", "x"), HONE_E_IO);
    assert_string_equal(err.message, "cannot open 'x': No such file or directory");
    hn_error_clear(&err);
    errno = ENOMEM;
    assert_int_equal(hn_fail_errno(&err, "cannot map"), HONE_E_NOMEM);
}

static void test_prefix(void **state) {
    (void)state;
    hone_error err;
    hn_error_clear(&err);
    hn_error_prefix(&err, "nothing is wrong");
    assert_string_equal(err.message, "");
    hn_fail(&err, HONE_E_SHAPE, "bad shape");
    hn_error_prefix(&err, "while inferring node '%s'", "conv1");
    hn_error_prefix(&err, "model.onnx");
    assert_string_equal(err.message, "model.onnx: while inferring node 'conv1': bad shape");
}

/* Sizes around the end of the message: nothing is written past it, the cause is kept, the text
 * stays terminated. */
static void test_prefix_truncation(void **state) {
    (void)state;
    static char longest[3000];
    memset(longest, 'x', sizeof(longest) - 1);
    for (int n_context = 0; n_context < 1100; n_context += 7)
        for (int n_message = 1; n_message < 1100; n_message += 31) {
            struct {
                hone_error err;
                char guard[8];
            } box;
            memset(box.guard, 'G', sizeof(box.guard));
            hn_error_clear(&box.err);
            hn_fail(&box.err, HONE_E_IO, "%.*s!", n_message, "CAUSE");
            hn_error_prefix(&box.err, "%.*s", n_context, longest);
            assert_int_equal(box.err.message[sizeof(box.err.message) - 1], 0);
            assert_non_null(strstr(box.err.message, n_message < 5 ? "C" : "CAUSE!"));
            hn_error_clear(&box.err);
            hn_fail(&box.err, HONE_E_IO, "%.*s", n_message, longest);
            hn_error_prefix(&box.err, "%.*s", n_context, longest);
            size_t shown = strlen(box.err.message);
            assert_true(shown < sizeof(box.err.message));
            assert_string_equal(box.err.node, "");
            assert_memory_equal(box.guard, "GGGGGGGG", 8);
        }
}

static bool ends_in_whole_character(const char *text) {
    size_t n = strlen(text);
    return n < 3 || memcmp(text + n - 3, "\xE2\x82\xAC", 3) == 0;
}

static void test_truncation_keeps_utf8_whole(void **state) {
    (void)state;
    char euros[1300] = "";
    for (int i = 0; i < 400; i++)
        strcat(euros, "\xE2\x82\xAC");
    for (int shift = 0; shift < 4; shift++) {
        hone_error err;
        hn_error_clear(&err);
        hn_fail(&err, HONE_E_IO, "%.*s%s", shift, "abcd", euros);
        assert_true(ends_in_whole_character(err.message));
        hn_error_prefix(&err, "in %s", euros);
        assert_true(ends_in_whole_character(err.message));
    }
}

static void test_control_characters_are_hidden(void **state) {
    (void)state;
    hone_error err;
    hn_error_clear(&err);
    hn_fail(&err, HONE_E_INVALID, "node '%s'", "\x1b[2Ja\nb\x7f");
    assert_string_equal(err.message, "node '?[2Ja?b?'");
}

static void test_complete(void **state) {
    (void)state;
    hone_error err;
    hn_error_clear(&err);
    assert_int_equal(hn_error_complete(&err, HONE_OK), HONE_OK);
    assert_int_equal(err.code, HONE_OK);
    assert_int_equal(hn_error_complete(&err, HONE_E_NOMEM), HONE_E_NOMEM);
    assert_string_equal(err.message, "out of memory");
    assert_int_equal(hn_error_complete(&err, HONE_E_TYPE), HONE_E_TYPE);
    assert_string_equal(err.message, "out of memory");
}

static void test_unsigned(void **state) {
    (void)state;
    uint64_t u = 7;
    size_t z = 7;
    assert_false(hn_add_u64(UINT64_MAX, 1, &u));
    assert_false(hn_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &u));
    assert_false(hn_add_size(SIZE_MAX, 1, &z));
    assert_false(hn_mul_size(SIZE_MAX / 2 + 1, 2, &z));
    assert_true(u == 7 && z == 7);
    assert_true(hn_add_u64(UINT64_MAX - 1, 1, &u) && u == UINT64_MAX);
    assert_true(hn_mul_u64(UINT64_MAX, 0, &u) && u == 0);
    assert_true(hn_mul_u64(0, UINT64_MAX, &u) && u == 0);
    assert_true(hn_mul_u64(UINT64_C(0xFFFFFFFF), UINT64_C(0x100000001), &u) && u == UINT64_MAX);
    assert_true(hn_add_size(SIZE_MAX, 0, &z) && z == SIZE_MAX);
    assert_true(hn_mul_size(SIZE_MAX, 1, &z) && z == SIZE_MAX);
}

/* Every pair of hostile values, against the exact result in wider arithmetic. */
static void test_signed(void **state) {
    (void)state;
    static const int64_t values[] = {INT64_MIN,
                                     INT64_MIN + 1,
                                     INT64_MIN / 2,
                                     INT64_MIN / 2 - 1,
                                     -3037000500,
                                     -3037000499,
                                     -4294967296,
                                     -2,
                                     -1,
                                     0,
                                     1,
                                     2,
                                     3037000499,
                                     3037000500,
                                     4294967296,
                                     INT64_MAX / 2,
                                     INT64_MAX / 2 + 1,
                                     INT64_MAX - 1,
                                     INT64_MAX};
    __extension__ typedef __int128 wide;
    for (size_t i = 0; i < HN_COUNT(values); i++)
        for (size_t j = 0; j < HN_COUNT(values); j++) {
            const wide exact[] = {(wide)values[i] + values[j], (wide)values[i] - values[j],
                                  (wide)values[i] * values[j]};
            bool (*const ops[])(int64_t, int64_t, int64_t *) = {hn_add_i64, hn_sub_i64, hn_mul_i64};
            for (size_t k = 0; k < HN_COUNT(ops); k++) {
                int64_t out = 42;
                bool fits = exact[k] >= INT64_MIN && exact[k] <= INT64_MAX;
                assert_int_equal(ops[k](values[i], values[j], &out), fits);
                assert_true(out == (fits ? (int64_t)exact[k] : 42));
            }
        }
}

static void test_floor(void **state) {
    (void)state;
    assert_int_equal(hn_floor_div(7, 3), 2);
    assert_int_equal(hn_floor_div(-7, 3), -3);
    assert_int_equal(hn_floor_div(-6, 3), -2);
    assert_int_equal(hn_floor_mod(-7, 3), 2);
    assert_int_equal(hn_floor_mod(-6, 3), 0);
    assert_true(hn_floor_div(INT64_MIN, 1) == INT64_MIN);
    assert_true(hn_floor_div(INT64_MIN, INT64_MAX) == -2);
    assert_true(hn_floor_mod(INT64_MIN, INT64_MAX) == INT64_MAX - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_text),
        cmocka_unit_test(test_first_error_wins),
        cmocka_unit_test(test_no_record),
        cmocka_unit_test(test_errno),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_prefix_truncation),
        cmocka_unit_test(test_truncation_keeps_utf8_whole),
        cmocka_unit_test(test_control_characters_are_hidden),
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_unsigned),
        cmocka_unit_test(test_signed),
        cmocka_unit_test(test_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
