/* Einsum rewritten as simpler operators. */
#include "pass_case.h"

#define HEAD(opset) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n"
#define FOLDS(opset, io, equation, new_inits, after)                                \
  {                                                                                 \
    .passes = "einsum-matmul",                                                      \
    .text = HEAD(opset) io " { y = Einsum <equation = \"" equation "\"> " ARGS "}", \
    .expected = HEAD(opset) io new_inits " {" after "}"                             \
  }
#define STAYS(opset, io, equation) \
  FOLDS(opset, io, equation, "", "y = Einsum <equation = \"" equation "\"> " ARGS)

#define ARGS "(a)"
static const pass_case one_input[] = {
    FOLDS(13, "g (float[2,c] a) => (float[c,2] y)", "ij->ji", "",
          "y = Transpose <perm = [1, 0]> (a)"),
    FOLDS(13, "g (float[2,c,3] a) => (float[3,2] y)", "ijk -> ki", " <int64[1] x = {1}>",
          "s = ReduceSum <keepdims = 0> (a, x) y = Transpose <perm = [1, 0]> (s)"),
    FOLDS(12, "g (float[2,c] a) => (float y)", "ij->", "",
          "y = ReduceSum <axes = [0, 1], keepdims = 0> (a)"),
    STAYS(13, "g (float[3,3] a) => (float[3] y)", "ii->i"),
    STAYS(13, "g (float[2,3] a) => (float[3,2] y)", "...ij->...ji"),
};
#undef ARGS

#define ARGS "(a, b)"
static const pass_case two_inputs[] = {
    FOLDS(13, "g (float[n,2,3] a, float[n,3,4] b) => (float[n,2,4] y)", "bij,bjk->bik", "",
          "y = MatMul (a, b)"),
    FOLDS(13, "g (float[n,2,3] a, float[3,4] b) => (float[n,2,4] y)", "bij,jk->bik", "",
          "y = MatMul (a, b)"),
    FOLDS(13, "g (float[n,h,q,3] a, float[n,h,k,3] b) => (float[n,h,q,k] y)", "bhqd,bhkd->bhqk", "",
          "t = Transpose <perm = [0, 1, 3, 2]> (b) y = MatMul (a, t)"),
    /* With swapped operands no Transpose is needed. */
    FOLDS(13, "g (float[3,4] a, float[2,3] b) => (float[2,4] y)", "jk,ij->ik", "",
          "y = MatMul (b, a)"),
    FOLDS(13, "g (float[n,3] a, float[3] b) => (float[n] y)", "ij,j", "", "y = MatMul (a, b)"),
    /* Several axes of the weight. */
    FOLDS(13, "g (float[n,s,4] a, float[4,2,3] b) => (float[n,s,2,3] y)", "bsd,dhk->bshk",
          " <int64[2] v = {4, 6}, int64[4] w = {0, 0, 2, 3}>",
          "r = Reshape (b, v) p = MatMul (a, r) y = Reshape (p, w)"),
    FOLDS(13, "g (float[n,s,2,3] a, float[2,3,4] b) => (float[n,s,4] y)", "bshk,hkd->bsd",
          " <int64[3] v = {0, 0, 6}, int64[2] w = {6, 4}>",
          "r = Reshape (a, v) q = Reshape (b, w) y = MatMul (r, q)"),
    /* No letter is reduced. */
    FOLDS(13, "g (float[n] a, float[3] b) => (float[n,3] y)", "i,j->ij", " <int64[1] v = {1}>",
          "u = Unsqueeze (a, v) y = Mul (u, b)"),
    /* All remaining letters are in both inputs. */
    FOLDS(13, "g (float[n,3] a, float[n,3] b) => (float[n] y)", "bi,bi->b", " <int64[1] v = {1}>",
          "p = Mul (a, b) y = ReduceSum <keepdims = 0> (p, v)"),
    FOLDS(13, "g (float[2,3] a, float[3,4] b) => (float[4] y)", "ij,jk->k", " <int64[1] v = {0}>",
          "s = ReduceSum <keepdims = 0> (a, v) y = MatMul (s, b)"),
    STAYS(13, "g (float[n,2,3] a, float[n,3,4] b) => (float[n,2,4] y)", "...ij,...jk->...ik"),
};

static void test_one_input(void **state) {
    (void)state;
    expect_passes(one_input, HN_COUNT(one_input));
}

static void test_two_inputs(void **state) {
    (void)state;
    expect_passes(two_inputs, HN_COUNT(two_inputs));
}

/* Sizes that may differ: an axis of size 1 would broadcast. */
static void test_sizes_must_be_equal(void **state) {
    (void)state;
    pass_case c =
        STAYS(13, "g (float[n,2,k] a, float[n,m,4] b) => (float[n,2,4] y)", "bij,bjk->bik");
    expect_miss(&c, "einsum", "known sizes");
}

static void test_three_inputs_are_left(void **state) {
    (void)state;
    const char *text = HEAD(13) "g (float[2,2] a) => (float[2,2] y)"
                                " { y = Einsum <equation = \"ij,jk,kl->il\"> (a, a, a) }";
    pass_case c = {.passes = "einsum-matmul", .text = text, .expected = text};
    expect_pass(&c);
    expect_miss(&c, "einsum", "one or two inputs");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_input),
        cmocka_unit_test(test_two_inputs),
        cmocka_unit_test(test_sizes_must_be_equal),
        cmocka_unit_test(test_three_inputs_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
