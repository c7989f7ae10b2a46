/* The ONNX reader: tensors in all encodings, and damaged tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/onnx.h"
#include "proto_builder.h"

typedef struct fixture {
    hn_arena *arena;
    hn_strtab *names;
    hone_error err;
} fixture;

static int setup(void **state) {
    static fixture f;
    f.arena = hn_arena_new(NULL);
    f.names = hn_strtab_new(f.arena);
    *state = &f;
    return f.names ? 0 : -1;
}

static int teardown(void **state) {
    hn_arena_free(((fixture *)*state)->arena);
    return 0;
}

static hone_status load(fixture *f, const proto *p, hn_tensor *t) {
    hn_error_clear(&f->err);
    return hn_load_tensor(f->arena, f->names, (hn_bytes){p->at, p->n}, t, &f->err);
}

enum { FLOAT_DATA = 4, INT32_DATA = 5, INT64_DATA = 7, DOUBLE_DATA = 10, UINT64_DATA = 11 };

/* The entries 1 and -2 (or their bits) in a typed field, and the bytes they must become. */
static const struct {
    hn_dtype dtype;
    uint32_t field;
    size_t entry_bytes;
    int64_t dim; /* elements that two entries make */
} typed[] = {
    {HN_I32, INT32_DATA, 4, 2},      {HN_I16, INT32_DATA, 2, 2},
    {HN_U16, INT32_DATA, 2, 2},      {HN_F16, INT32_DATA, 2, 2},
    {HN_BF16, INT32_DATA, 2, 2},     {HN_I8, INT32_DATA, 1, 2},
    {HN_U8, INT32_DATA, 1, 2},       {HN_BOOL, INT32_DATA, 1, 2},
    {HN_F8E4M3FN, INT32_DATA, 1, 2}, {HN_F8E4M3FNUZ, INT32_DATA, 1, 2},
    {HN_F8E5M2, INT32_DATA, 1, 2},   {HN_F8E5M2FNUZ, INT32_DATA, 1, 2},
    {HN_F8E8M0, INT32_DATA, 1, 2},   {HN_U4, INT32_DATA, 1, 4},
    {HN_I4, INT32_DATA, 1, 4},       {HN_F4E2M1, INT32_DATA, 1, 4},
    {HN_U2, INT32_DATA, 1, 8},       {HN_I2, INT32_DATA, 1, 8},
    {HN_I64, INT64_DATA, 8, 2},      {HN_U64, UINT64_DATA, 8, 2},
    {HN_U32, UINT64_DATA, 4, 2},
};

static proto integer_tensor(size_t i, bool is_packed) {
    proto p = {.n = 0}, list = {.n = 0};
    put_int(&p, 1, typed[i].dim);
    put_int(&p, 2, typed[i].dtype);
    put_varint(&list, 1);
    put_varint(&list, (uint64_t)-2);
    if (is_packed) {
        put_message(&p, typed[i].field, &list);
    } else {
        put_int(&p, typed[i].field, 1);
        put_int(&p, typed[i].field, -2);
    }
    return p;
}

static void test_integer_fields(void **state) {
    const uint64_t entries[] = {1, (uint64_t)-2};
    for (size_t i = 0; i < HN_COUNT(typed); i++) {
        for (int is_packed = 0; is_packed < 2; is_packed++) {
            proto p = integer_tensor(i, is_packed);
            hn_tensor t;
            assert_int_equal(load(*state, &p, &t), HONE_OK);
            assert_int_equal(t.dtype, typed[i].dtype);
            uint64_t expected_bytes;
            assert_true(hn_dtype_bytes(t.dtype, t.n_elems, &expected_bytes));
            assert_int_equal(t.data_bytes, expected_bytes);
            for (size_t k = 0; k < t.data_bytes; k++) {
                uint64_t entry = entries[k / typed[i].entry_bytes];
                uint8_t expected = (uint8_t)(entry >> (8 * (k % typed[i].entry_bytes)));
                assert_int_equal(((const uint8_t *)t.data)[k], expected);
            }
        }
    }
}

static void test_float_fields(void **state) {
    const float floats[] = {1.5f, -2.25f};
    const double doubles[] = {1.5, -2.25};
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        for (int is_complex = 0; is_complex < 2; is_complex++) {
            proto f = {.n = 0}, d = {.n = 0};
            put_int(&f, 1, is_complex ? 1 : 2);
            put_int(&f, 2, is_complex ? HN_C64 : HN_F32);
            put_int(&d, 1, is_complex ? 1 : 2);
            put_int(&d, 2, is_complex ? HN_C128 : HN_F64);
            for (int i = 0; i < 2 && !is_packed; i++) {
                put_float(&f, FLOAT_DATA, floats[i]);
                put_double(&d, DOUBLE_DATA, doubles[i]);
            }
            if (is_packed) {
                put_bytes(&f, FLOAT_DATA, floats, sizeof(floats));
                put_bytes(&d, DOUBLE_DATA, doubles, sizeof(doubles));
            }
            hn_tensor t;
            assert_int_equal(load(*state, &f, &t), HONE_OK);
            assert_int_equal(t.data_bytes, sizeof(floats));
            assert_memory_equal(t.data, floats, sizeof(floats));
            const uint8_t *at = t.data;
            assert_int_equal(at >= f.at && at < f.at + f.n, is_packed); /* a view when it can be */
            assert_int_equal(load(*state, &d, &t), HONE_OK);
            assert_int_equal(t.data_bytes, sizeof(doubles));
            assert_memory_equal(t.data, doubles, sizeof(doubles));
        }
    }
}

static void test_strings(void **state) {
    proto p = {.n = 0};
    put_int(&p, 1, 2);
    put_int(&p, 2, HN_STRING);
    put_text(&p, 6, "one");
    hn_tensor t;
    assert_int_equal(load(*state, &p, &t), HONE_E_FORMAT); /* two wanted */
    put_text(&p, 6, "");
    assert_int_equal(load(*state, &p, &t), HONE_OK);
    assert_true(t.n_elems == 2 && t.strings[0].n == 3 && t.strings[1].n == 0 && !t.data);
}

static void test_sizes_that_disagree_are_kept(void **state) {
    proto p = {.n = 0};
    put_bytes(&p, 1, "\x03\x04", 2); /* packed dims */
    put_int(&p, 2, HN_F32);
    put_bytes(&p, 9, "1234567", 7);
    hn_tensor t;
    assert_int_equal(load(*state, &p, &t), HONE_OK);
    assert_true(t.rank == 2 && t.n_elems == 12 && t.data_bytes == 7);
    p.n = 0; /* a type that does not exist */
    put_int(&p, 2, 1234);
    put_bytes(&p, 9, "12", 2);
    assert_int_equal(load(*state, &p, &t), HONE_OK);
    assert_true(t.rank == 0 && t.n_elems == 1 && t.data_bytes == 2);
}

static void test_impossible_dimensions(void **state) {
    hn_tensor t;
    proto p = {.n = 0};
    put_int(&p, 1, -1);
    assert_int_equal(load(*state, &p, &t), HONE_E_FORMAT);
    assert_non_null(strstr(((fixture *)*state)->err.message, "negative"));
    p.n = 0;
    for (int i = 0; i < 3; i++)
        put_int(&p, 1, INT64_C(1) << 30);
    assert_int_equal(load(*state, &p, &t), HONE_E_FORMAT);
    assert_non_null(strstr(((fixture *)*state)->err.message, "2^64"));
    put_int(&p, 1, 0); /* empty, whatever the others say */
    assert_int_equal(load(*state, &p, &t), HONE_OK);
    assert_int_equal(t.n_elems, 0);
}

static void test_damaged_packed_numbers(void **state) {
    hn_tensor t;
    proto p = {.n = 0};
    put_int(&p, 2, HN_I64);
    put_bytes(&p, INT64_DATA, "\x01\x80", 2);
    assert_int_equal(load(*state, &p, &t), HONE_E_FORMAT);
    p.n = 0;
    put_bytes(&p, 1, "\xff\xff", 2);
    assert_int_equal(load(*state, &p, &t), HONE_E_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integer_fields),
        cmocka_unit_test(test_float_fields),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_sizes_that_disagree_are_kept),
        cmocka_unit_test(test_impossible_dimensions),
        cmocka_unit_test(test_damaged_packed_numbers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
