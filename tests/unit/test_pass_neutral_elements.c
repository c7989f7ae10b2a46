/* The removal of arithmetic with constants that change nothing. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define CASE(opset, io, before, after)                                    \
  {                                                                       \
    .passes = "neutral-elements", .text = HEAD(opset) io " {" before "}", \
    .expected = HEAD(opset) io " {" after "}"                             \
  }
#define STAYS(opset, io, nodes) CASE(opset, io, nodes, nodes)
#define TO_NEG(opset, io, nodes) CASE(opset, io, nodes " y = Neg (a)", "y = Neg (x)")
#define TO_NOT(opset, io, nodes) CASE(opset, io, nodes " y = Not (a)", "y = Not (x)")

#define FLOATS "g (float[b,3] x) => (float[b,3] y)"
#define INTS "g (int32[b] x) => (int32[b] y)"
#define BOOLS "g (bool[b] x) => (bool[b] y)"
#define HALVES "g (float16[4] x) => (float16[4] y)"

static const pass_case gone[] = {
    TO_NEG(17, FLOATS " <float c = {1}>", "a = Mul (x, c)"),
    TO_NEG(17, FLOATS " <float[1,3] c = {1, 1, 1}>", "a = Mul (c, x)"),
    TO_NEG(17, FLOATS " <float c = {1}>", "a = Div (x, c)"),
    TO_NEG(17, FLOATS " <float c = {1}>", "a = Pow (x, c)"),
    TO_NEG(17, FLOATS " <int64 c = {1}>", "a = Pow (x, c)"),
    TO_NEG(17, FLOATS " <float[3] c = {0, 0, 0}>", "a = Add (x, c)"),
    TO_NEG(17, FLOATS " <float[1] c = {-0.0}>", "a = Sub (x, c)"),
    TO_NEG(17, HALVES " <float16 c = {0}>", "a = Add (c, x)"),
    TO_NEG(17, INTS " <int32[1] c = {1}>", "a = Div (x, c)"),
    TO_NEG(18, INTS " <int32 c = {0}>", "a = BitwiseXor (x, c)"),
    TO_NEG(17, FLOATS " <float c = {-inf}>", "a = Max (x, c)"),
    TO_NEG(17, FLOATS " <float c = {inf}>", "a = Min (c, x)"),
    TO_NOT(17, BOOLS " <bool c = {1}>", "a = And (x, c)"),
    TO_NOT(17, BOOLS " <bool c = {0}>", "a = Or (c, x)"),
    TO_NOT(17, BOOLS " <bool c = {0}>", "a = Xor (x, c)"),
    TO_NEG(6, FLOATS " <float[3] c = {1, 1, 1}>", "a = Mul <broadcast = 1> (x, c)"),
    CASE(17, "g (float[b] x, float[b] z) => (float[b] y) <bool c = {1}>",
         "a = Where (c, x, z) y = Neg (a)", "y = Neg (x)"),
    CASE(17, "g (float[b] x, float[b] z) => (float[b] y) <bool[1] c = {0}>",
         "a = Where (c, x, z) y = Neg (a)", "y = Neg (z)"),
    TO_NEG(17, FLOATS, "a = Clip (x)"),
    TO_NEG(17, FLOATS " <float l = {-inf}, float h = {inf}>", "a = Clip (x, l, h)"),
    /* A scalar does not change the shape of x, whatever it is. */
    CASE(17, "g (float[n] x, int64[k] t) => (float[m] y) <float c = {1}>",
         "a = Reshape (x, t) b = Mul (a, c) y = Relu (b)", "a = Reshape (x, t) y = Relu (a)"),
};

static void test_neutral_elements_go(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(gone); i++) {
        bool is_last = i + 1 == HN_COUNT(gone); /* whose random shape fits nothing */
        hn_model *m = optimized_from(&gone[i], NULL), *expected = model_from(gone[i].expected);
        if (!is_last)
            expect_same_results(&gone[i], m);
        tidy(m);
        tidy(expected);
        expect_same_text(m, expected);
        hn_model_free(m);
        hn_model_free(expected);
    }
}

static const pass_case kept[] = {
    STAYS(17, FLOATS " <float c = {1.00001}>", "a = Mul (x, c) y = Neg (a)"),
    STAYS(17, FLOATS " <float c = {0}>", "a = Mul (x, c) y = Neg (a)"), /* NaN stays NaN */
    STAYS(17, FLOATS " <float[3] c = {1, 2, 1}>", "a = Mul (x, c) y = Neg (a)"),
    STAYS(17, FLOATS " <float c = {1}>", "a = Div (c, x) y = Neg (a)"),
    STAYS(17, FLOATS " <float c = {1}>", "a = Pow (c, x) y = Neg (a)"),
    STAYS(17, FLOATS " <float c = {0}>", "a = Sub (c, x) y = Neg (a)"),
    STAYS(17, BOOLS " <bool c = {1}>", "a = Or (x, c) y = Not (a)"),
    STAYS(17, "g (float[3] x) => (float[2,3] y) <float[2,3] c = {1, 1, 1, 1, 1, 1}>",
          "a = Mul (x, c) y = Neg (a)"),
    STAYS(17, "g (float x) => (float[1] y) <float[1] c = {1}>", "a = Mul (x, c) y = Neg (a)"),
    STAYS(17, "g (float[1] x, float[2] z) => (float[2] y) <bool c = {1}>",
          "a = Where (c, x, z) y = Neg (a)"),
    STAYS(17, "g (float[2] x, float[2] z) => (float[2] y) <bool[2] c = {1, 0}>",
          "a = Where (c, x, z) y = Neg (a)"),
    STAYS(17, FLOATS " <float l = {-inf}, float h = {6}>", "a = Clip (x, l, h) y = Neg (a)"),
    STAYS(10, FLOATS, "a = Clip <min = 0.0> (x) y = Neg (a)"),
};

static void test_others_stay(void **state) {
    (void)state;
    expect_passes(kept, HN_COUNT(kept));
    expect_miss(&kept[7], "neutral", "the shape");
    expect_miss(&kept[9], "where-constant", "broadcasts the result");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neutral_elements_go),
        cmocka_unit_test(test_others_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
