/* Values at run time, through the public API. */
#include "run_model.h"

static void tensors_hold_what_was_given(void **state) {
    (void)state;
    float data[] = {1, 2, 3};
    hone_value *own = tensor_of(ELEM_FLOAT, data, DIMS(3)), *borrowed;
    expect_ok(hone_value_borrow(ELEM_FLOAT, DIMS(3), data, sizeof data, &borrowed, &error));
    data[0] = 9;
    EXPECT_FLOATS(own, 1, 2, 3);
    EXPECT_FLOATS(borrowed, 9, 2, 3);
    assert_int_equal(hone_value_kind(own), HONE_TYPE_TENSOR);
    assert_int_equal(hone_value_n_items(own), 0);
    const char *text;
    size_t n;
    assert_false(hone_value_string(own, 0, &text, &n));
    hone_value_free(own);
    hone_value_free(borrowed);
    hone_value_free(NULL);
}

static void wrong_shapes_are_refused(void **state) {
    (void)state;
    hone_value *v;
    float data[4];
    expect_failure(hone_value_create(ELEM_FLOAT, DIMS(2, -1), NULL, &v, &error), HONE_E_ARGUMENT,
                   "cannot be -1");
    assert_null(v);
    expect_failure(hone_value_create(ELEM_FLOAT, DIMS(INT64_MAX, INT64_MAX), NULL, &v, &error),
                   HONE_E_ARGUMENT, "dimension 1");
    expect_failure(hone_value_create(ELEM_FLOAT, DIMS(INT64_MAX), NULL, &v, &error),
                   HONE_E_ARGUMENT, "too large");
    expect_failure(hone_value_create(ELEM_FLOAT, DIMS(INT64_MAX / 8), NULL, &v, &error),
                   HONE_E_NOMEM, "");
    expect_failure(hone_value_create(99, DIMS(1), NULL, &v, &error), HONE_E_ARGUMENT,
                   "99 is not an element type");
    expect_failure(hone_value_create(ELEM_STRING, DIMS(1), NULL, &v, &error), HONE_E_ARGUMENT,
                   "strings");
    expect_failure(hone_value_create(ELEM_FLOAT, 65, NULL, NULL, &v, &error), HONE_E_ARGUMENT,
                   "rank 65");
    expect_failure(hone_value_borrow(ELEM_FLOAT, DIMS(5), data, sizeof data, &v, &error),
                   HONE_E_ARGUMENT, "needs 20 bytes");
    expect_failure(hone_value_borrow(ELEM_FLOAT, DIMS(2), (char *)data + 1, 8, &v, &error),
                   HONE_E_ARGUMENT, "not aligned");
    expect_failure(hone_value_borrow(ELEM_FLOAT, DIMS(2), NULL, 8, &v, &error), HONE_E_ARGUMENT,
                   "NULL");
    assert_null(v);
}

static void sequences_copy_their_items(void **state) {
    (void)state;
    const char *texts[] = {"a\0b", "second"};
    const size_t lengths[] = {3, 6};
    hone_value *strings, *floats = counting_floats(DIMS(2)), *s, *empty, *wrong;
    expect_ok(hone_value_create_strings(DIMS(2), texts, lengths, &strings, &error));
    const hone_value *items[] = {strings, floats}, *holes[] = {floats, NULL};
    expect_ok(hone_value_create_sequence(2, items, &s, &error));
    expect_ok(hone_value_create_sequence(0, NULL, &empty, &error));
    expect_failure(hone_value_create_sequence(2, holes, &wrong, &error), HONE_E_ARGUMENT, "items");
    hone_value_free(strings);
    hone_value_free(floats);
    const char *text;
    size_t n;
    assert_true(hone_value_string(hone_value_item(s, 0), 0, &text, &n));
    assert_int_equal(n, 3);
    assert_memory_equal(text, "a\0b", 3);
    assert_false(hone_value_string(hone_value_item(s, 0), 2, &text, &n));
    EXPECT_FLOATS(hone_value_item(s, 1), 0, 1);
    assert_ptr_equal(hone_value_item(s, 1), hone_value_item(s, 1));
    assert_null(hone_value_item(s, 2));
    assert_int_equal(hone_value_n_items(empty), 0);
    hone_value_free(s);
    hone_value_free(empty);
}

static void maps_have_as_many_keys_as_values(void **state) {
    (void)state;
    int64_t numbers[] = {7, 8};
    hone_value *keys = tensor_of(ELEM_INT64, numbers, DIMS(2)), *two = counting_floats(DIMS(2));
    hone_value *three = counting_floats(DIMS(3)), *map, *wrong;
    expect_ok(hone_value_create_map(keys, two, &map, &error));
    expect_failure(hone_value_create_map(keys, three, &wrong, &error), HONE_E_ARGUMENT,
                   "equal size");
    expect_failure(hone_value_create_map(map, two, &wrong, &error), HONE_E_ARGUMENT, "rank 1");
    expect_failure(hone_value_create_map(keys, NULL, &wrong, &error), HONE_E_ARGUMENT, "values");
    hone_value_free(keys);
    hone_value_free(two);
    hone_value_free(three);
    assert_int_equal(hone_value_kind(map), HONE_TYPE_MAP);
    assert_int_equal(hone_value_n_items(map), 2);
    EXPECT_FLOATS(hone_value_item(map, 1), 0, 1);
    hone_value_free(map);
}

/* A TensorProto: dims [n], float, raw data of `bytes` bytes, within a SequenceProto when asked for.
 */
static size_t put_tensor(uint8_t *out, uint8_t n, uint8_t bytes, bool in_sequence) {
    uint8_t tensor[] = {0x08, n, 0x10, 1, 0x4A, bytes};
    uint8_t outer[] = {0x08, 1, 0x1A, (uint8_t)(sizeof tensor + bytes)};
    size_t at = in_sequence ? sizeof outer : 0;
    memcpy(out, outer, at);
    memcpy(out + at, tensor, sizeof tensor);
    memset(out + at + sizeof tensor, 0, bytes);
    return at + sizeof tensor + bytes;
}

static void serialized_values_are_checked(void **state) {
    (void)state;
    uint8_t bytes[64];
    hone_value *v;
    size_t n = put_tensor(bytes, 2, 8, false);
    expect_ok(hone_value_parse(bytes, n, HONE_TYPE_TENSOR, &v, &error));
    EXPECT_FLOATS(v, 0, 0);
    hone_value_free(v);
    for (size_t k = 0; k < n; k++) /* cut anywhere: refused, or read as a smaller message */
        if (hone_value_parse(bytes, k, HONE_TYPE_TENSOR, &v, &(hone_error){0}) == HONE_OK)
            hone_value_free(v);
    n = put_tensor(bytes, 2, 8, true);
    expect_ok(hone_value_parse(bytes, n, HONE_TYPE_SEQUENCE, &v, &error));
    assert_int_equal(hone_value_n_items(v), 1);
    hone_value_free(v);
    n = put_tensor(bytes, 100, 8, true);
    assert_int_not_equal(hone_value_parse(bytes, n, HONE_TYPE_SEQUENCE, &v, &(hone_error){0}),
                         HONE_OK);
    assert_null(v);
    n = put_tensor(bytes, 100, 8, false);
    assert_int_not_equal(hone_value_parse(bytes, n, HONE_TYPE_TENSOR, &v, &(hone_error){0}),
                         HONE_OK);
    assert_null(v);
}

static void initializers_take_other_data(void **state) {
    (void)state;
    static const char text[] = RUN_HEAD "agraph (float[2] x) => (float[2] y)\n"
                                        "<float[2] w = {1, 1}> { y = Mul(x, w) }";
    hone_model *model;
    hone_session *session;
    hone_value *fits = counting_floats(DIMS(2)), *too_long = counting_floats(DIMS(3));
    hone_value *integers = tensor_of(ELEM_INT64, (int64_t[]){1, 2}, DIMS(2)), *out = NULL;
    expect_ok(load_text(text, NULL, &model, &error));
    expect_failure(hone_model_set_initializer(model, "x", fits, &error), HONE_E_NOT_FOUND, "'x'");
    expect_failure(hone_model_set_initializer(model, "w", integers, &error), HONE_E_TYPE, "float");
    expect_failure(hone_model_set_initializer(model, "w", too_long, &error), HONE_E_SHAPE, "'w'");
    expect_ok(hone_model_set_initializer(model, "w", fits, &error));
    expect_ok(hone_session_create(model, NULL, &session, &error));
    expect_ok(hone_session_run(session, NULL, 1, (const char *[]){"x"},
                               (const hone_value *[]){fits}, 0, NULL, &out, &error));
    EXPECT_FLOATS(out, 0, 1);
    hone_value_free(out);
    hone_value_free(fits);
    hone_value_free(too_long);
    hone_value_free(integers);
    hone_session_free(session);
    hone_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_hold_what_was_given),
        cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(sequences_copy_their_items),
        cmocka_unit_test(maps_have_as_many_keys_as_values),
        cmocka_unit_test(serialized_values_are_checked),
        cmocka_unit_test(initializers_take_other_data),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
