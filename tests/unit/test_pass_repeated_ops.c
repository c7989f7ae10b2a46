/* The merging or removal of two operators in a row. */
#include "pass_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 18]>\n"
#define CASE(io, before, after) \
  { .passes = "repeated-ops", .text = HEAD io " {" before "}", .expected = HEAD io " {" after "}" }
#define STAYS(io, nodes) CASE(io, nodes, nodes)

#define FLOATS "g (float[4] x) => (float[4] y)"
#define INTS "g (int32[4] x, int32[4] z) => (bool[4] y)"

static const pass_case merged[] = {
    CASE("g (bool[4] x) => (bool[4] y)", "a = Not (x) b = Not (a) y = And (b, x)",
         "y = And (x, x)"),
    CASE(FLOATS, "a = Neg (x) b = Neg (a) y = Exp (b)", "y = Exp (x)"),
    CASE(FLOATS, "a = Relu (x) y = Relu (a)", "y = Relu (x)"),
    CASE(FLOATS, "a = Abs (x) y = Abs (a)", "y = Abs (x)"),
    CASE(FLOATS, "a = Sign (x) y = Sign (a)", "y = Sign (x)"),
    CASE(FLOATS, "a = Floor (x) y = Round (a)", "y = Floor (x)"),
    CASE(FLOATS, "a = Sigmoid (x) y = Relu (a)", "y = Sigmoid (x)"),
    CASE(FLOATS, "a = Softmax <axis = 0> (x) y = Abs (a)", "y = Softmax <axis = 0> (x)"),
    /* The inner one has another reader, so it stays. */
    CASE("g (float[4] x) => (float[4] y, float[4] z)",
         "a = Neg (x) b = Neg (a) y = Exp (b) z = Exp (a)", "a = Neg (x) y = Exp (x) z = Exp (a)"),
    CASE("g (bool[4] c, float[4] x, float[4] z) => (float[4] y)", "n = Not (c) y = Where (n, x, z)",
         "y = Where (c, z, x)"),
    CASE(INTS, "a = Less (x, z) y = Not (a)", "y = GreaterOrEqual (x, z)"),
    CASE(INTS, "a = GreaterOrEqual (x, z) y = Not (a)", "y = Less (x, z)"),
};

static void test_merges(void **state) {
    (void)state;
    expect_passes(merged, HN_COUNT(merged));
}

static const pass_case kept[] = {
    STAYS(FLOATS, "a = Relu (x) b = Neg (a) y = Relu (b)"),
    STAYS(FLOATS, "a = Reciprocal (x) y = Reciprocal (a)"),            /* rounds twice */
    STAYS("g (int8[4] x) => (int8[4] y)", "a = Abs (x) y = Relu (a)"), /* -128 */
    STAYS("g (float[4] x, float[4] z) => (bool[4] y)", "a = Less (x, z) y = Not (a)"), /* NaN */
    STAYS(FLOATS, "a = Tanh (x) y = Relu (a)"),
};

static void test_others_stay(void **state) {
    (void)state;
    expect_passes(kept, HN_COUNT(kept));
}

/* Types by name, numbers of TensorProto.DataType. */
#define TWO_CASTS(from, middle, to_name, to)                               \
  HEAD "g (" from "[4] x) => (" to_name "[4] y) { a = Cast <to = " #middle \
       "> (x) y = Cast <to = " #to "> (a) }"
#define ONE_CAST(from, to_name, to) \
  HEAD "g (" from "[4] x) => (" to_name "[4] y) { y = Cast <to = " #to "> (x) }"
#define MERGES(from, middle, to_name, to)                                   \
  {                                                                         \
    .passes = "repeated-ops", .text = TWO_CASTS(from, middle, to_name, to), \
    .expected = ONE_CAST(from, to_name, to)                                 \
  }
#define SEPARATE(from, middle, to_name, to)                                 \
  {                                                                         \
    .passes = "repeated-ops", .text = TWO_CASTS(from, middle, to_name, to), \
    .expected = TWO_CASTS(from, middle, to_name, to)                        \
  }

static const pass_case casts[] = {
    MERGES("float16", 1, "double", 11),
    MERGES("float", 11, "float16", 10),
    MERGES("int8", 6, "int64", 7),
    MERGES("int32", 7, "int8", 3),
    MERGES("bool", 1, "int64", 7),
    MERGES("uint8", 16, "float", 1),
    MERGES("int16", 1, "int32", 6),
    MERGES("float", 11, "int32", 6),
    MERGES("int32", 11, "bool", 9),
    {.passes = "repeated-ops", /* a cast and its inverse */
     .text = HEAD "g (float16[4] x) => (float16[4] y) { a = Cast <to = 1> (x)"
                  " b = Cast <to = 10> (a) y = Neg (b) }",
     .expected = HEAD "g (float16[4] x) => (float16[4] y) { y = Neg (x) }"},
};

static const pass_case lossy_casts[] = {
    SEPARATE("float", 10, "float", 1),    SEPARATE("float", 6, "float", 1),
    SEPARATE("int32", 1, "int64", 7),     SEPARATE("int64", 6, "int64", 7),
    SEPARATE("int32", 12, "int64", 7),    SEPARATE("float16", 16, "float", 1),
    SEPARATE("bfloat16", 10, "float", 1), SEPARATE("int32", 9, "int64", 7),
    SEPARATE("int32", 11, "int8", 3), /* wraps around one way, is undefined the other */
};

static void test_casts(void **state) {
    (void)state;
    expect_passes(casts, HN_COUNT(casts));
    expect_passes(lossy_casts, HN_COUNT(lossy_casts));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merges),
        cmocka_unit_test(test_others_stay),
        cmocka_unit_test(test_casts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
