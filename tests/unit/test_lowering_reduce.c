/* Lowered reductions and operators along one axis: the same bytes as their evaluations make. */
#include "lowered_case.h"

#define ONE_AXIS(op, dims, out, axis)                                                              \
  {                                                                                                \
    .text = TEXT_HEAD "g (float[" dims "] x) => (float[" out "] y) <int64[1] axes = {" axis "}> {" \
                      " y = " op " <keepdims = 0> (x, axes) }"                                     \
  }
#define REDUCES(op)                                                                              \
  ONE_AXIS(op, "3,7", "3", "1"), ONE_AXIS(op, "3,7", "7", "0"),                                  \
      ONE_AXIS(op, "2,5,300", "2,300", "1"), ONE_AXIS(op, "4,1", "4", "-1"),                     \
      ONE_AXIS(op, "1,1009", "1", "1"),                                                          \
      {.text = TEXT_HEAD "g (float[2,3,5,4] x) => (float[1,3,1,4] y) <int64[2] axes = {0, 2}> {" \
                         " y = " op " (x, axes) }"},                                             \
      {.text = TEXT_HEAD "g (float[2,3] x) => (float[1,1] y) { y = " op " (x) }"},               \
      {.text = TEXT_HEAD "g (float16[3,40] x) => (float16[3,1] y) <int64[1] axes = {1}> {"       \
                         " y = " op " (x, axes) }"},                                             \
      {.text = TEXT_HEAD "g (double[3,40] x) => (double[1,40] y) <int64[1] axes = {0}> {"        \
                         " y = " op " (x, axes) }"},                                             \
  {                                                                                              \
    .text = TEXT_HEAD "g (int32[3,40] x) => (int32[3,1] y) <int64[1] axes = {1}> {"              \
                      " y = " op " (x, axes) }"                                                  \
  }

static const lowered_case reduce_cases[] = {
    REDUCES("ReduceSum"), REDUCES("ReduceMean"), REDUCES("ReduceMax"),       REDUCES("ReduceMin"),
    REDUCES("ReduceL1"),  REDUCES("ReduceL2"),   REDUCES("ReduceSumSquare"),
};

static const lowered_case odd_reduce_cases[] = {
    ONE_AXIS("ReduceProd", "3,7", "3", "1"),
    ONE_AXIS("ReduceLogSumExp", "3,70", "3", "1"),
    ONE_AXIS("ReduceLogSumExp", "3,70", "70", "0"),
    {.text = TEXT_HEAD "g (float[3,7] x) => (float[7] y) <int64[1] axes = {0}> {"
                       " a = Abs (x) y = ReduceLogSum <keepdims = 0> (a, axes) }"},
    {.text = TEXT_HEAD "g (float[3,7] x) => (float[3,1] y, float[1,7] z)"
                       " <int64[1] last = {1}, int64[1] first = {0}> {"
                       " y = ReduceMax (x, last) z = ReduceMin (x, first) }"},
    /* An empty set is evaluated or lowered alike; nothing is folded into nothing. */
    {.text = TEXT_HEAD "g (float[3,0] x) => (float[3,1] y) <int64[1] axes = {1}> {"
                       " y = ReduceSum (x, axes) }"},
    {.text = TEXT_HEAD "g (float[0,3] x) => (float[0,1] y) <int64[1] axes = {1}> {"
                       " y = ReduceSum (x, axes) }",
     .lowered = ""},
    {.text = TEXT_HEAD "g (float[0,3,0,4] x) => (float[1,3,1,4] y) <int64[2] axes = {0, 2}> {"
                       " y = ReduceMax (x, axes) }"},
    {.text = TEXT_HEAD "g (float[0,3,0] x) => (float[1,3,1] y) <int64[2] axes = {0, 2}> {"
                       " y = ReduceMean (x, axes) }"},
    {.text = TEXT_HEAD "g (int32[0,3,0] x) => (int32[1,3,1] y) <int64[2] axes = {0, 2}> {"
                       " y = ReduceMin (x, axes) }"},
    {.text = TEXT_HEAD "g (float[2,3] x) => (float[2,3] y) {"
                       " y = ReduceSum <noop_with_empty_axes = 1> (x) }"},
    {.text = TEXT_HEAD "g (uint8[3,9] x) => (uint8[3,1] y) <int64[1] axes = {1}> {"
                       " y = ReduceMax (x, axes) }"},
    /* A part of a row-strided value: rows that Split leaves where they are. */
    {.text = TEXT_HEAD "g (float[4,10] x) => (float[4,1] y, float[4,1] z)"
                       " <int64[2] parts = {3, 7}, int64[1] axes = {1}> {"
                       " a, b = Split <axis = 1> (x, parts)"
                       " y = ReduceMax (a, axes) z = ReduceMin (b, axes) }",
     .lowered = "y z"},
};

#define SOFTMAX(op, type, dims, axis)                                                \
  {                                                                                  \
    .text = TEXT_HEAD "g (" type "[" dims "] x) => (" type "[" dims "] y) { y = " op \
                      " <axis = " axis "> (x) }"                                     \
  }
#define SOFTMAXES(op)                                                             \
  SOFTMAX(op, "float", "3,7", "1"), SOFTMAX(op, "float", "3,7", "0"),             \
      SOFTMAX(op, "float", "2,5,300", "1"), SOFTMAX(op, "float", "4,1", "1"),     \
      SOFTMAX(op, "float", "2,1009", "-1"), SOFTMAX(op, "float", "33,17,2", "0"), \
      SOFTMAX(op, "float16", "5,9", "1"), SOFTMAX(op, "double", "5,9", "0")

static const lowered_case axis_cases[] = {
    SOFTMAXES("Softmax"),
    SOFTMAXES("LogSoftmax"),
    SOFTMAXES("Hardmax"),
    SOFTMAXES("LpNormalization"),
    {.text = TEXT_HEAD "g (float[3,0] x) => (float[3,0] y) { y = Softmax (x) }", .lowered = ""},
    {.text = TEXT_HEAD "g (float[3,50] x) => (int64[3] y, int64[1,50] z) {"
                       " y = ArgMax <axis = 1, keepdims = 0> (x)"
                       " z = ArgMin <axis = 0, select_last_index = 1> (x) }"},
    {.text = TEXT_HEAD "g (int32[3,50] x) => (int64[3] y, int64[1,50] z) {"
                       " y = ArgMin <axis = 1, keepdims = 0> (x)"
                       " z = ArgMax <axis = 0, select_last_index = 1> (x) }",
     .most = 5},
    {.text = TEXT_HEAD "g (float[3,300] x) => (float[3,300] y, float[3,300] z)"
                       " <int64 last = {1}, int64 first = {0}> {"
                       " y = CumSum (x, last)"
                       " z = CumSum <exclusive = 1, reverse = 1> (x, first) }"},
    {.text = TEXT_HEAD "g (int64[3,7] x) => (int64[3,7] y) <int64 last = {-1}> {"
                       " y = CumSum <reverse = 1> (x, last) }"},
    /* An axis that only a run knows is evaluated. */
    {.text = TEXT_HEAD "g (float[3,7] x, int64 axis) => (float[3,7] y) { y = CumSum (x, axis) }",
     .lowered = "",
     .most = 1},
};

static void reductions_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(reduce_cases);
    EXPECT_LOWERED_CASES(odd_reduce_cases);
}

static void operators_along_an_axis_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(axis_cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_are_lowered),
        cmocka_unit_test(operators_along_an_axis_are_lowered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
