/* The elements of values as doubles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hone/hone.h"

/* ONNX's numbers of element types. */
enum {
    FLOAT = 1,
    UINT8 = 2,
    INT64 = 7,
    BOOL = 9,
    FLOAT16 = 10,
    COMPLEX64 = 14,
    BFLOAT16 = 16,
    INT4 = 22
};

static hone_value *new_row(int32_t elem_type, int64_t n) {
    hone_value *v;
    assert_int_equal(hone_value_create(elem_type, 1, &n, NULL, &v, NULL), HONE_OK);
    return v;
}

static void every_type_takes_and_gives_doubles(void **state) {
    static const int32_t types[] = {FLOAT, UINT8, INT64, FLOAT16, BFLOAT16, INT4};
    const double in[] = {0, 1, 2, 3, 7};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        double out[5];
        hone_value *v = new_row(types[t], 5);
        assert_true(hone_value_set_f64(v, 0, 5, in));
        assert_true(hone_value_get_f64(v, 0, 5, out));
        assert_memory_equal(in, out, sizeof in);
        hone_value_free(v);
    }
}

static void stores_round_or_cut(void **state) {
    const double third = 1.0 / 3, fraction = 2.75;
    double number;
    int64_t integer;
    (void)state;
    hone_value *small = new_row(BFLOAT16, 1), *whole = new_row(INT64, 1);
    hone_value_set_f64(small, 0, 1, &third);
    hone_value_get_f64(small, 0, 1, &number);
    assert_true(number == 0.333984375);
    hone_value_set_f64(whole, 0, 1, &fraction);
    hone_value_get_i64(whole, 0, 1, &integer);
    assert_int_equal(integer, 2);
    hone_value_free(small);
    hone_value_free(whole);
}

static void integers_are_exact(void **state) {
    const int64_t in = INT64_MAX - 1;
    int64_t out;
    (void)state;
    hone_value *v = new_row(INT64, 3);
    assert_true(hone_value_set_i64(v, 2, 1, &in));
    assert_true(hone_value_get_i64(v, 2, 1, &out));
    assert_true(out == in);
    hone_value_free(v);
}

static void complex_numbers_are_two(void **state) {
    const double in[] = {1, -2, 3, -4};
    double out[4];
    hone_tensor_info t;
    (void)state;
    hone_value *v = new_row(COMPLEX64, 2);
    assert_true(hone_value_set_f64(v, 0, 4, in));
    assert_true(hone_value_get_f64(v, 0, 4, out));
    assert_memory_equal(in, out, sizeof in);
    assert_true(hone_value_tensor(v, &t));
    assert_true(((const float *)t.data)[3] == -4);
    hone_value_free(v);
}

static void what_is_not_there_is_refused(void **state) {
    const char *const texts[] = {"one"};
    const int64_t one = 1;
    double number = 0;
    int64_t integer = 0;
    (void)state;
    hone_value *v = new_row(BOOL, 2), *text, *list;
    assert_true(hone_value_set_f64(v, 0, 1, &number) && hone_value_set_f64(v, 1, 1, &number));
    assert_false(hone_value_get_f64(v, 2, 1, &number));
    assert_false(hone_value_get_i64(v, 1, 2, &integer));
    assert_false(hone_value_set_f64(v, UINT64_MAX, 1, &number));
    assert_false(hone_value_set_i64(v, 1, UINT64_MAX, &integer));
    assert_true(hone_value_get_f64(v, 2, 0, &number));
    assert_int_equal(hone_value_create_strings(1, &one, texts, NULL, &text, NULL), HONE_OK);
    assert_false(hone_value_get_f64(text, 0, 1, &number));
    const hone_value *items[] = {v};
    assert_int_equal(hone_value_create_sequence(1, items, &list, NULL), HONE_OK);
    assert_false(hone_value_get_f64(list, 0, 1, &number));
    hone_value_free(list);
    hone_value_free(text);
    hone_value_free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_takes_and_gives_doubles),
        cmocka_unit_test(stores_round_or_cut),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(complex_numbers_are_two),
        cmocka_unit_test(what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
