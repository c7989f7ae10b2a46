/* Element types: names, numbers, families, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/ir.h"

static void test_names_read_back(void **state) {
    (void)state;
    for (int t = 1; t < HN_DTYPE_COUNT; t++) {
        const char *name = hn_dtype_name((hn_dtype)t);
        assert_int_equal(hn_dtype_from_name(name, strlen(name)), t);
        assert_int_equal(hn_dtype_from_name(name, strlen(name) - 1) == (hn_dtype)t, 0);
    }
    assert_string_equal(hn_dtype_name(HN_F32), "float");
    assert_string_equal(hn_dtype_name(HN_I2), "int2");
    assert_int_equal(hn_dtype_from_name("", 0), HN_UNDEFINED);
    assert_int_equal(hn_dtype_from_name("undefined", 9), HN_UNDEFINED);
    assert_int_equal(hn_dtype_from_name("half", 4), HN_UNDEFINED);
}

static void test_numbers_that_are_no_type(void **state) {
    (void)state;
    static const int numbers[] = {-1, HN_DTYPE_COUNT, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < HN_COUNT(numbers); i++) {
        hn_dtype t = (hn_dtype)numbers[i];
        assert_string_equal(hn_dtype_name(t), "?");
        assert_int_equal(hn_dtype_bits(t), 0);
        assert_false(hn_dtype_is_int(t) || hn_dtype_is_float(t));
    }
}

static void test_families(void **state) {
    (void)state;
    int n_ints = 0, n_floats = 0;
    for (int t = 0; t < HN_DTYPE_COUNT; t++) {
        bool is_int = hn_dtype_is_int((hn_dtype)t), is_float = hn_dtype_is_float((hn_dtype)t);
        assert_false(is_int && is_float);
        n_ints += is_int;
        n_floats += is_float;
    }
    assert_int_equal(n_ints, 12);
    assert_int_equal(n_floats, 12);
    assert_true(hn_dtype_is_int(HN_U4) && hn_dtype_is_float(HN_F8E8M0));
    assert_false(hn_dtype_is_int(HN_BOOL) || hn_dtype_is_float(HN_C64) ||
                 hn_dtype_is_int(HN_STRING));
}

static void test_bytes(void **state) {
    (void)state;
    static const struct {
        hn_dtype t;
        uint64_t n_elems, bytes;
    } cases[] = {
        {HN_F32, 3, 12},      {HN_C128, 2, 32},
        {HN_BOOL, 5, 5},      {HN_U4, 0, 0},
        {HN_U4, 3, 2},        {HN_F4E2M1, 4, 2},
        {HN_I2, 4, 1},        {HN_I2, 5, 2},
        {HN_F6E2M3, 1, 1},    {HN_F6E3M2, 4, 3},
        {HN_F6E3M2, 5, 4},    {HN_STRING, 9, 0},
        {HN_UNDEFINED, 9, 0}, {HN_I4, UINT64_MAX, UINT64_C(1) << 63},
    };
    uint64_t bytes;
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        assert_true(hn_dtype_bytes(cases[i].t, cases[i].n_elems, &bytes));
        assert_true(bytes == cases[i].bytes);
    }
    assert_false(hn_dtype_bytes(HN_F32, UINT64_MAX / 4 + 1, &bytes));
    assert_false(hn_dtype_bytes(HN_I16, UINT64_MAX, &bytes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_read_back),
        cmocka_unit_test(test_numbers_that_are_no_type),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
