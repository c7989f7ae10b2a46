/* Lowered operators on bytes: the same bytes as their evaluations make. */
#include "lowered_case.h"

#define BYTES_HEAD \
  "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1, \"hone\" : 1]>\n"

#define PARAMS                                                                                  \
  " <float s = {0.5}, uint8 z = {3}, float t = {0.07}, uint8 y_zero = {120}, float u = {1.25}," \
  " int8 sz = {-4}, int8 sy = {5}> "

#define PAIR(op, type, left, right, result, zeros)                                            \
  {                                                                                           \
    .text = BYTES_HEAD "g (" type "[" left "] a, " type "[" right "] b) => (" type "[" result \
                       "] y)" PARAMS " { y = com.microsoft." op " (a, s, " zeros ") }",       \
    .most = 300                                                                               \
  }
#define UNSIGNED "z, b, t, y_zero, u, z"
#define SIGNED "sz, b, t, sy, u, sy"
#define PAIRS(op, type, zeros)                                                              \
  PAIR(op, type, "3,5", "3,5", "3,5", zeros), PAIR(op, type, "3,500", "1", "3,500", zeros), \
      PAIR(op, type, "1", "7", "7", zeros),                                                 \
      PAIR(op, type, "2,4,4,40", "2,1,1,40", "2,4,4,40", zeros),                            \
      PAIR(op, type, "2,3,1", "1,3,4", "2,3,4", zeros)

static const lowered_case pair_cases[] = {
    PAIRS("QLinearAdd", "uint8", UNSIGNED),
    PAIRS("QLinearAdd", "int8", SIGNED),
    PAIRS("QLinearMul", "uint8", UNSIGNED),
    PAIRS("QLinearMul", "int8", SIGNED),
};

#define POOL(op, type, dims, result, zeros)                                          \
  {                                                                                  \
    .text = BYTES_HEAD "g (" type "[" dims "] x) => (" type "[" result "] y)" PARAMS \
                       " { y = com.microsoft." op " (x, s, " zeros ") }",            \
    .most = 300                                                                      \
  }

static const lowered_case pool_cases[] = {
    POOL("QLinearAveragePool <channels_last = 1, kernel_shape = [3, 3], pads = [1, 1, 1, 1],"
         " strides = [2, 2]>",
         "uint8", "2,7,5,70", "2,4,3,70", "z, t, y_zero"),
    POOL("QLinearAveragePool <channels_last = 1, kernel_shape = [3, 3], pads = [1, 1, 1, 1],"
         " count_include_pad = 1>",
         "int8", "1,4,5,3", "1,4,5,3", "sz, t, sy"),
    POOL("QLinearGlobalAveragePool <channels_last = 1>", "uint8", "2,30,20,130", "2,1,1,130",
         "z, t, y_zero"),
    POOL("QLinearGlobalAveragePool <channels_last = 1>", "int8", "2,3,64", "2,1,64", "sz, t, sy"),
};

static const lowered_case other_cases[] = {
    {.text = BYTES_HEAD "g (uint8[2,7,5,70] x) => (uint8[2,4,3,70] y) { y = hone.MaxPool"
                        " <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x) }",
     .most = 300},
    {.text = BYTES_HEAD "g (int8[2,9,6,33] x) => (int8[2,10,3,33] y) { y = hone.MaxPool"
                        " <kernel_shape = [2, 4], pads = [1, 2, 1, 1], strides = [1, 2]> (x) }",
     .most = 300},
    {.text = BYTES_HEAD "g (uint8[1,9,9,8] x) => (uint8[1,5,5,8] y) { y = hone.MaxPool"
                        " <kernel_shape = [3, 3], dilations = [2, 2]> (x) }",
     .most = 300},
    {.text = BYTES_HEAD "g (int8[1,9,64] x) => (int8[1,7,64] y) { y = hone.MaxPool"
                        " <kernel_shape = [3]> (x) }",
     .most = 300},
    {.text = BYTES_HEAD "g (int8[3,50] x, uint8[256] t) => (uint8[3,50] y)"
                        " { y = hone.ByteTable (x, t) }",
     .most = 300},
    {.text = BYTES_HEAD "g (uint8[2,3,4] a, uint8[2,3,70] b) => (uint8[2,3,74] y)" PARAMS
                        " { y = com.microsoft.QLinearConcat <axis = 2> (s, z, a, s, z, b, t, z) }",
     .most = 300},
    {.text = BYTES_HEAD "g (int8[2,3,4] a, int8[2,1,4] b) => (int8[2,4,4] y)" PARAMS
                        " { y = com.microsoft.QLinearConcat <axis = -2> (s, sz, a, u, sy, b, s, sz)"
                        " }",
     .most = 300},
};

static void test_pairs(void **state) {
    (void)state;
    expect_lowered_cases(pair_cases, HN_COUNT(pair_cases));
}

static void test_pools(void **state) {
    (void)state;
    expect_lowered_cases(pool_cases, HN_COUNT(pool_cases));
}

static void test_others(void **state) {
    (void)state;
    expect_lowered_cases(other_cases, HN_COUNT(other_cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
