/* Edge cases of elementwise operators, casts and reductions that no published test case covers. */
#include "eval_text.h"

static void test_integers_wrap(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int32[3] z) <int32[3] a = {-2147483648, 7, -7}, int32[3] b = "
                           "{-1, 2, 2}>"
                           "{ z = Div(a, b) }",
                INT32_MIN, 3, -3);
    EXPECT_INTS(HEAD("21") "g () => (int64[4] z) <int64[4] a = {-9223372036854775808, 7, -7, -7},"
                           "int64[4] b = {-1, -3, 3, -3}> { z = Mod(a, b) }",
                0, -2, 2, -1);
    EXPECT_INTS(HEAD("21") "g () => (int64[4] z) <int64[4] a = {-9223372036854775808, 7, -7, -7},"
                           "int64[4] b = {-1, -3, 3, -3}> { z = Mod <fmod = 1> (a, b) }",
                0, 1, -1, -1);
    EXPECT_INTS(HEAD("21") "g () => (int8[2] z) <int8[2] a = {-128, 5}> { z = Abs(a) }", -128, 5);
    EXPECT_INTS(
        HEAD("21") "g () => (int32[3] z) <int32[3] a = {3, -1, 2}, int32[3] b = {4, -3, -1}>"
                   "{ z = Pow(a, b) }",
        81, -1, 0);
    EXPECT_INTS(
        HEAD("21") "g () => (int64[1,1] z) <int64[1,1] a = {-9223372036854775807}, int64[1,1] "
                   "b = {1}, int64[1] c = {-9223372036854775807}> { z = Gemm (a, b, c) }",
        2);
    EXPECT_INTS(
        HEAD("21") "g () => (int32[1,1] z) <int32[1,1] a = {2147483647}, int32[1,1] b = {1}, "
                   "int32[1] c = {1}> { z = Gemm (a, b, c) }",
        INT32_MIN);
}

static void test_shifts_beyond_the_width(void **state) {
    (void)state;
    EXPECT_INTS(
        HEAD("28") "g () => (int8[4] z) <int8[4] a = {-64, 64, -64, 3}, int8[4] b = {2, 9, -1, 1}>"
                   "{ z = BitShift <direction = \"RIGHT\"> (a, b) }",
        -16, 0, -1, 1);
    EXPECT_INTS(HEAD("28") "g () => (uint8[3] z) <uint8[3] a = {255, 1, 1}, uint8[3] b = {4, 8, 7}>"
                           "{ z = BitShift <direction = \"LEFT\"> (a, b) }",
                240, 0, 128);
}

static void test_division_by_zero(void **state) {
    (void)state;
    expect_refused(HEAD("21") "g () => (int32[2] z) <int32[2] a = {1, 2}, int32[2] b = {1, 0}> { z "
                              "= Div(a, b) }",
                   "divides by zero");
    expect_refused(
        HEAD("21") "g () => (uint8[2] z) <uint8[2] a = {1, 2}, uint8 b = {0}> { z = Mod(a, b) }",
        "divides by zero");
    expect_refused(HEAD("21") "g () => (float[n] z) <float a = {1.0}, float b = {2.0}>"
                              "{ d = Sub(b, b) z = Range(a, b, d) }",
                   "delta");
}

static void test_texts_as_numbers(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int64[4] z) <string[4] a = {\"-9223372036854775808\", \" 42 "
                           "\", \"1e3\", \"+7\"}>"
                           "{ z = Cast <to = 7> (a) }",
                INT64_MIN, 42, 1000, 7);
    expect_refused(
        HEAD(
            "21") "g () => (float[1] z) <string[1] a = {\"1.5 apples\"}> { z = Cast <to = 1> (a) }",
        "1.5 apples");
    expect_refused(
        HEAD("21") "g () => (float[1] z) <string[1] a = {\"\"}> { z = Cast <to = 1> (a) }",
        "no number");
    expect_refused(
        HEAD("21") "g () => (float[1] z) <string[1] a = {\".\"}> { z = Cast <to = 1> (a) }",
        "no number");
    expect_refused(
        HEAD("21") "g () => (float[1] z) <string[1] a = {\"1e\"}> { z = Cast <to = 1> (a) }",
        "no number");
}

/* There and back again through packed types. */
static void test_packed_casts(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("28") "g () => (int32[5] z) <int32[5] a = {-2, -1, 0, 1, 5}>"
                           "{ p = Cast <to = 26> (a) z = Cast <to = 6> (p) }",
                -2, -1, 0, 1, 1);
    EXPECT_INTS(HEAD("28") "g () => (int32[5] z) <int32[5] a = {-8, -1, 0, 7, 100}>"
                           "{ p = Cast <to = 28> (a) z = Cast <to = 6> (p) }",
                -8, -1, 0, 7, 28);
}

static void test_empty_sets(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (int32[2] z) <int64[2] s = {2, 0}>"
                           "{ e = ConstantOfShape <value = int32[1] {0}> (s) k = Constant "
                           "<value_ints = [1]> ()"
                           "z = ReduceMax <keepdims = 0> (e, k) }",
                INT32_MIN, INT32_MIN);
    EXPECT_INTS(HEAD("21") "g () => (int64[2] z) <int64[2] s = {2, 0}>"
                           "{ e = ConstantOfShape <value = int64[1] {0}> (s) k = Constant "
                           "<value_ints = [1]> ()"
                           "z = ReduceProd <keepdims = 0> (e, k) }",
                1, 1);
    expect_refused(HEAD("21") "g () => (int64[2] z) <int64[2] s = {2, 0}>"
                              "{ e = ConstantOfShape (s) z = ArgMax <axis = 1, keepdims = 0> (e) }",
                   "empty");
}

/* Numbers beyond what doubles and int64 hold exactly. */
static void test_wide_integers(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("21") "g () => (uint64[1] z) <uint64[3] a = {1, 18446744073709551615, "
                           "9223372036854775808}>"
                           "{ z = ReduceMax(a) }",
                -1);
    EXPECT_INTS(HEAD("21") "g () => (int64[1] z) <uint64[3] a = {18446744073709551615, 2, "
                           "9223372036854775808}>"
                           "{ z = ArgMin(a) }",
                1);
    EXPECT_INTS(
        HEAD("21") "g () => (int64[1] z) <int64[3] a = {9007199254740993, 9007199254740992, 1}>"
                   "{ z = ArgMax(a) }",
        0);
}

/* Along the middle axis, and turned so that it is the last one: elements that differ. */
#define SOFTENED(op)                                                                             \
  HEAD("21")                                                                                     \
  "g () => (int64 z) <float no = {0}, float one = {1}, float all = {60770}, float part = {97}, " \
  "int64[3] s = {2, 59, 515}, float near = {0.000002}> {"                                        \
  " r = Range (no, all, one) m = Mod <fmod = 1> (r, part) h = Sin (m) x = Reshape (h, s)"        \
  " y = " op " <axis = 1> (x) t = Transpose <perm = [0, 2, 1]> (x) u = " op " <axis = 2> (t)"    \
  " w = Transpose <perm = [0, 2, 1]> (u) d = Sub (y, w) a = Abs (d) b = Greater (a, near)"       \
  " i = Cast <to = 7> (b) z = ReduceSum <keepdims = 0> (i) }"

static void test_softmax_along_any_axis(void **state) {
    (void)state;
    EXPECT_INTS(SOFTENED("Softmax"), 0);
    EXPECT_INTS(SOFTENED("LogSoftmax"), 0);
}

/* How many results of rows with +inf are NaN: rows, lanes, and wider numbers. */
#define INFINITE(op, type, perm, axis)                                                          \
  HEAD("21")                                                                                    \
  "g () => (int64 z) <float[2,3] a = {1, 3e38, 2, 1, 2, 3}, float ten = {10}> {"                \
  " b = Mul (a, ten) c = Cast <to = " type "> (b) x = Transpose <perm = " perm "> (c)"          \
  " y = " op " <axis = " axis "> (x) f = Cast <to = 1> (y) n = IsNaN (f) i = Cast <to = 7> (n)" \
  " z = ReduceSum <keepdims = 0> (i) }"
#define INFINITE_ALL_WAYS(op, type)                  \
  EXPECT_INTS(INFINITE(op, type, "[0, 1]", "1"), 3); \
  EXPECT_INTS(INFINITE(op, type, "[1, 0]", "0"), 3)

static void test_softmax_of_infinity(void **state) {
    (void)state;
    INFINITE_ALL_WAYS("Softmax", "1");
    INFINITE_ALL_WAYS("LogSoftmax", "1");
    INFINITE_ALL_WAYS("Softmax", "11");
    INFINITE_ALL_WAYS("LogSoftmax", "11");
    INFINITE_ALL_WAYS("LogSoftmax", "10");
}

/* Axes of a run, two of which are the same. */
static void test_reduces_an_axis_once(void **state) {
    (void)state;
    runner r =
        runner_of(HEAD("21") "g (int64[2] a) => (float[?] z) <float[2,3] x = {1, 2, 3, 4, 5, "
                             "6}> { z = ReduceSum <keepdims = 0> (x, a) }");
    hone_value *axes = tensor_of(ELEM_INT64, (const int64_t[]){0, -2}, DIMS(2));
    hone_value *z = result_of(&r, "a", axes, "z");
    EXPECT_FLOATS(z, 5, 7, 9);
    expect_dims(z, DIMS(3));
    hone_value_free(axes);
    hone_value_free(z);
    runner_free(&r);
}

/* Numbers that int32 holds take another way than those that it does not. */
static void test_floats_as_integers(void **state) {
    (void)state;
    EXPECT_INTS(
        HEAD("21") "g () => (int32[4] z) <float[4] x = {3000000000, -1.5, 2147483648, 7.9}> "
                   "{ z = Cast <to = 6> (x) }",
        -1294967296, -1, INT32_MIN, 7);
    EXPECT_INTS(HEAD("21") "g () => (int32[3] z) <float[3] x = {-2147483648, 2147483520, -0.9}> "
                           "{ z = Cast <to = 6> (x) }",
                INT32_MIN, 2147483520, 0);
    EXPECT_INTS(HEAD("21") "g () => (uint8[4] z) <float[4] x = {300.7, -1.5, 255, 65537}> "
                           "{ z = Cast <to = 2> (x) }",
                44, 255, 255, 1);
    EXPECT_INTS(HEAD("21") "g () => (int16[3] z) <double[3] x = {40000, -1.5, 7.9}> "
                           "{ z = Cast <to = 5> (x) }",
                -25536, -1, 7);
}

/* Before version 7 the slope has one element, or one per channel. */
static void test_slopes_of_old_versions(void **state) {
    (void)state;
    EXPECT_INTS(HEAD("6") "g () => (int64[3] z) <float[3] x = {-1, 2, -3}, float[3] s = {2, 3, 4}> "
                          "{ y = PRelu (x, s) z = Cast <to = 7> (y) }",
                -2, 2, -12);
    expect_refused(HEAD("6") "g () => (float z) <float x = {-1}, float[0] s = {}> "
                             "{ z = PRelu (x, s) }",
                   "slope has 0 elements");
    expect_refused(HEAD("6") "g () => (float[2] z) <float[2] x = {-1, 1}, float[5] s = {1, 2, 3, "
                             "4, 5}> { z = PRelu (x, s) }",
                   "slope has 5 elements");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes_of_old_versions),
        cmocka_unit_test(test_floats_as_integers),
        cmocka_unit_test(test_softmax_of_infinity),
        cmocka_unit_test(test_reduces_an_axis_once),
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_shifts_beyond_the_width),
        cmocka_unit_test(test_division_by_zero),
        cmocka_unit_test(test_texts_as_numbers),
        cmocka_unit_test(test_packed_casts),
        cmocka_unit_test(test_empty_sets),
        cmocka_unit_test(test_wide_integers),
        cmocka_unit_test(test_softmax_along_any_axis),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
