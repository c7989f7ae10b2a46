/* Tensors: sizes, conversions of every type, failed allocations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counting_allocator.h"
#include "ir/ir.h"

static int setup(void **state) {
    *state = hn_arena_new(NULL);
    return *state ? 0 : -1;
}

static int teardown(void **state) {
    hn_arena_free(*state);
    return 0;
}

static void test_sizes(void **state) {
    hn_arena *a = *state;
    const int64_t dims[] = {2, 3};
    float data[6] = {1, 2, 3, 4, 5, 6};
    const hn_tensor *copied = hn_tensor_new(a, HN_F32, 2, dims, data, false);
    const hn_tensor *borrowed = hn_tensor_new(a, HN_F32, 2, dims, data, true);
    assert_true(copied->n_elems == 6 && copied->data_bytes == 24 && copied->rank == 2);
    assert_true(copied->dims != dims && copied->dims[1] == 3);
    assert_true(copied->data != data && borrowed->data == data);
    const hn_tensor *scalar = hn_tensor_new(a, HN_F32, 0, NULL, data, false);
    assert_true(scalar->n_elems == 1 && scalar->data_bytes == 4);
    const hn_tensor *nibbles = hn_tensor_new(a, HN_U4, 1, &(int64_t){5}, data, false);
    assert_true(nibbles->n_elems == 5 && nibbles->data_bytes == 3);
    const hn_tensor *absent = hn_tensor_new(a, HN_F32, 2, dims, NULL, false);
    assert_true(absent->n_elems == 6 && !absent->data && absent->data_bytes == 0);
    const hn_tensor *strings = hn_tensor_new(a, HN_STRING, 2, dims, NULL, false);
    assert_true(strings->n_elems == 6 && strings->data_bytes == 0);
}

static void test_hostile_sizes(void **state) {
    hn_arena *a = *state;
    const int64_t negative[] = {2, -1}, too_many[] = {INT64_MAX, INT64_MAX, 4},
                  too_long[] = {INT64_MAX, 2};
    const int64_t empty[] = {INT64_MAX, INT64_MAX, 0}, negative_empty[] = {-1, 0};
    const char data[8] = {0};
    assert_null(hn_tensor_new(a, HN_F32, 2, negative, data, true));
    assert_null(hn_tensor_new(a, HN_F32, 2, negative_empty, data, true));
    assert_null(hn_tensor_new(a, HN_F32, 3, too_many, data, true));
    assert_null(hn_tensor_new(a, HN_F32, 2, too_long, data, true));
    assert_null(hn_tensor_new(a, HN_F32, -1, NULL, data, true));
    assert_true(hn_tensor_new(a, HN_F32, 3, empty, data, true)->n_elems == 0);
}

/* The second element of each type, one byte off any alignment. */
static void test_every_type(void **state) {
    hn_arena *a = *state;
    static const struct {
        hn_dtype t;
        uint8_t bytes[17]; /* bytes[0] is skipped */
        double value;
        bool is_int;
    } cases[] = {
        {HN_F32, {0, 9, 9, 9, 9, 0, 0, 0xC0, 0x3F}, 1.5, false},
        {HN_F64, {0, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0xF8, 0xBF}, -1.5, false},
        {HN_F16, {0, 9, 9, 0, 0x3E}, 1.5, false},
        {HN_BF16, {0, 9, 9, 0xC0, 0x3F}, 1.5, false},
        {HN_F8E4M3FN, {0, 9, 0x3C}, 1.5, false},
        {HN_F8E4M3FNUZ, {0, 9, 0x44}, 1.5, false},
        {HN_F8E5M2, {0, 9, 0x3E}, 1.5, false},
        {HN_F8E5M2FNUZ, {0, 9, 0x42}, 1.5, false},
        {HN_F8E8M0, {0, 9, 0x80}, 2, false},
        {HN_F4E2M1, {0, 0xB9}, -1.5, false},
        {HN_F6E2M3, {0, 0x00, 0x0B}, -1.5, false},
        {HN_U8, {0, 9, 0xFF}, 255, true},
        {HN_I8, {0, 9, 0xFF}, -1, true},
        {HN_U16, {0, 9, 9, 0xFE, 0xFF}, 65534, true},
        {HN_I16, {0, 9, 9, 0xFE, 0xFF}, -2, true},
        {HN_U32, {0, 9, 9, 9, 9, 0xFE, 0xFF, 0xFF, 0xFF}, 4294967294.0, true},
        {HN_I32, {0, 9, 9, 9, 9, 0xFE, 0xFF, 0xFF, 0xFF}, -2, true},
        {HN_U64, {0, 9, 9, 9, 9, 9, 9, 9, 9, 1, 1}, 257, true},
        {HN_U64,
         {0, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0x80},
         9223372036854775808.0,
         false},
        {HN_I64,
         {0, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0x80},
         -9223372036854775808.0,
         true},
        {HN_BOOL, {0, 0, 7}, 1, true},
        {HN_U4, {0, 0xF2}, 15, true},
        {HN_I4, {0, 0xF2}, -1, true},
        {HN_U2, {0, 0x0C}, 3, true},
        {HN_I2, {0, 0x0C}, -1, true},
    };
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        const hn_tensor *t =
            hn_tensor_new(a, cases[i].t, 1, &(int64_t){2}, cases[i].bytes + 1, true);
        int64_t integer = -99;
        double real = NAN;
        assert_true(hn_tensor_get_f64(t, 1, &real) && real == cases[i].value);
        assert_int_equal(hn_tensor_get_i64(t, 1, &integer), cases[i].is_int);
        assert_true(!cases[i].is_int || (double)integer == cases[i].value);
        assert_false(hn_tensor_get_f64(t, 2, &real) || hn_tensor_get_i64(t, 2, &integer));
        assert_false(hn_tensor_get_f64(t, UINT64_MAX, &real));
    }
}

static void test_nothing_to_read(void **state) {
    hn_arena *a = *state;
    int64_t integer;
    double real;
    const char data[32] = {0};
    static const hn_dtype not_numeric[] = {HN_STRING, HN_C64, HN_C128, HN_UNDEFINED, (hn_dtype)77};
    for (size_t i = 0; i < HN_COUNT(not_numeric); i++) {
        const hn_tensor *t = hn_tensor_new(a, not_numeric[i], 1, &(int64_t){2}, data, true);
        assert_false(hn_tensor_get_f64(t, 0, &real) || hn_tensor_get_i64(t, 0, &integer));
    }
    hn_tensor cut = *hn_tensor_new(a, HN_I64, 1, &(int64_t){4}, data, true);
    cut.data_bytes = 15; /* a file that ends early */
    assert_true(hn_tensor_get_i64(&cut, 0, &integer));
    assert_false(hn_tensor_get_i64(&cut, 1, &integer));
    cut.data = NULL;
    assert_false(hn_tensor_get_i64(&cut, 0, &integer));
}

static void test_out_of_memory(void **state) {
    (void)state;
    counting_allocator memory;
    counting_init(&memory, 0);
    hn_arena *arena = hn_arena_new(&memory.hook);
    hn_arena_set_limit(arena, 100000);
    static const char data[512];
    size_t n_made = 0;
    while (hn_tensor_new(arena, HN_U8, 1, &(int64_t){512}, data, false))
        n_made++;
    assert_true(n_made > 10 && n_made < 200);
    hn_arena_free(arena);
    assert_true(counting_is_clean(&memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_type, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_to_read, setup, teardown),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
