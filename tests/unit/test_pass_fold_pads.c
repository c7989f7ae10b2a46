/* Pad folded into convolutions and pooling. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 18]>\n"
#define FOLD .passes = "fold-pads"

static const pass_case folded[] = {
    {FOLD, /* the node's own pads are added */
     .text = HEAD "g (float[1,1,n,m] x) => (float[1,1,i,j] y) <float[1,1,2,2] w = {1, 2, 3, 4},"
                  " int64[8] p = {0, 0, 1, 2, 0, 0, 3, 4}> {"
                  " h = Pad (x, p) y = Conv <pads = [1, 1, 1, 1]> (h, w) }",
     .expected = HEAD "g (float[1,1,n,m] x) => (float[1,1,i,j] y) <float[1,1,2,2] w = {1, 2, 3, 4}>"
                      " { y = Conv <pads = [2, 3, 4, 5], auto_pad = \"NOTSET\"> (x, w) }"},
    {FOLD, /* some axes; auto_pad without padding */
     .text =
         HEAD "g (float[1,1,5] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2}, float[1] b = {1},"
              " int64[2] p = {1, 1}, float z = {0}, int64[1] a = {-1}> {"
              " h = Pad <mode = \"constant\"> (x, p, z, a)"
              " y = Conv <auto_pad = \"VALID\"> (h, w, b) }",
     .expected = HEAD "g (float[1,1,5] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2},"
                      " float[1] b = {1}> {"
                      " y = Conv <auto_pad = \"NOTSET\", pads = [1, 1]> (x, w, b) }"},
    {FOLD,
     .text = HEAD "g (float[1,1,5] x) => (float[1,1,6] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> {"
                  " h = Pad (x, p) y = AveragePool <kernel_shape = [2]> (h) }",
     .expected =
         HEAD "g (float[1,1,5] x) => (float[1,1,6] y) { y = AveragePool <kernel_shape = [2],"
              " pads = [1, 1], auto_pad = \"NOTSET\", count_include_pad = 1> (x) }"},
    {FOLD,
     .text = HEAD "g (float[1,1,5] x) => (float[1,1,6] y) <int64[6] p = {0, 0, 1, 0, 0, 1},"
                  " float z = {-inf}> { h = Pad (x, p, z) y = MaxPool <kernel_shape = [2]> (h) }",
     .expected = HEAD "g (float[1,1,5] x) => (float[1,1,6] y) { y = MaxPool <kernel_shape = [2],"
                      " pads = [1, 1], auto_pad = \"NOTSET\"> (x) }"},
    {FOLD, /* zeros never exceed values that are never negative */
     .text = HEAD "g (float[1,1,5] x) => (float[1,1,3] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> {"
                  " r = Relu (x) h = Pad (r, p) y = MaxPool <kernel_shape = [3], strides = [2]> (h)"
                  " }",
     .expected = HEAD "g (float[1,1,5] x) => (float[1,1,3] y) { r = Relu (x) y = MaxPool"
                      " <kernel_shape = [3], strides = [2], pads = [1, 1], auto_pad = \"NOTSET\">"
                      " (r) }"},
    {FOLD, /* attributes of old versions */
     .text = "<ir_version: 4, opset_import: [\"\" : 9]>\n"
             "g (float[1,1,5] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2}> {"
             " h = Pad <pads = [0, 0, 1, 0, 0, 1]> (x) y = Conv (h, w) }",
     .expected = "<ir_version: 4, opset_import: [\"\" : 9]>\n"
                 "g (float[1,1,5] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2}> {"
                 " y = Conv <pads = [1, 1], auto_pad = \"NOTSET\"> (x, w) }"},
};

static void test_folds(void **state) {
    (void)state;
    expect_passes(folded, HN_COUNT(folded));
}

static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* another padding value */
        HEAD "g (float[1,1,5] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2},"
             " int64[6] p = {0, 0, 1, 0, 0, 1}, float z = {1}> {"
             " h = Pad (x, p, z) y = Conv (h, w) }",
        /* other modes */
        HEAD "g (float[1,1,5] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2},"
             " int64[6] p = {0, 0, 1, 0, 0, 1}> {"
             " h = Pad <mode = \"reflect\"> (x, p) y = Conv (h, w) }",
        /* negative pads */
        HEAD "g (float[1,1,5] x) => (float[1,1,3] y) <float[1,1,2] w = {1, 2},"
             " int64[6] p = {0, 0, -1, 0, 0, 0}> { h = Pad (x, p) y = Conv (h, w) }",
        /* channels */
        HEAD "g (float[1,1,5] x) => (float[1,1,4] y) <float[1,2,2] w = {1, 2, 3, 4},"
             " int64[6] p = {0, 1, 0, 0, 0, 0}> { h = Pad (x, p) y = Conv (h, w) }",
        /* pads that depend on the size */
        HEAD "g (float[1,1,5] x) => (float[1,1,7] y) <float[1,1,2] w = {1, 2},"
             " int64[6] p = {0, 0, 1, 0, 0, 1}> {"
             " h = Pad (x, p) y = Conv <auto_pad = \"SAME_UPPER\"> (h, w) }",
        /* pads that are unknown */
        HEAD "g (float[1,1,5] x, int64[6] p) => (float[1,1,n] y) <float[1,1,2] w = {1, 2}> {"
             " z = Sub (p, p) h = Pad (x, z) y = Conv (h, w) }",
        /* another reader */
        HEAD "g (float[1,1,5] x) => (float[1,1,6] y, float[1,1,7] h) <float[1,1,2] w = {1, 2},"
             " int64[6] p = {0, 0, 1, 0, 0, 1}> { h = Pad (x, p) y = Conv (h, w) }",
        /* the pool's own padding does not count */
        HEAD "g (float[1,1,5] x) => (float[1,1,7] y) <int64[6] p = {0, 0, 0, 0, 0, 1}> {"
             " h = Pad (x, p) y = AveragePool <kernel_shape = [2], pads = [1, 1]> (h) }",
        /* windows entirely in the padding */
        HEAD "g (float[1,1,5] x) => (float[1,1,8] y) <int64[6] p = {0, 0, 2, 0, 0, 2}> {"
             " h = Pad (x, p) y = AveragePool <kernel_shape = [2]> (h) }",
        /* zeros may be the maximum */
        HEAD "g (float[1,1,5] x) => (float[1,1,6] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> {"
             " h = Pad (x, p) y = MaxPool <kernel_shape = [2]> (h) }",
        /* the same where the upper bound of a Clip takes precedence over its lower one */
        HEAD "g (float[1,1,5] x) => (float[1,1,6] y) <int64[6] p = {0, 0, 1, 0, 0, 1},"
             " float lo = {0}, float hi = {-1}> { c = Clip (x, lo, hi)"
             " h = Pad (c, p) y = MaxPool <kernel_shape = [2]> (h) }",
        /* indices refer to the padded image */
        HEAD "g (float[1,1,5] x) => (float[1,1,6] y, int64[1,1,6] i)"
             " <int64[6] p = {0, 0, 1, 0, 0, 1}, float z = {-inf}> {"
             " h = Pad (x, p, z) y, i = MaxPool <kernel_shape = [2]> (h) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){FOLD, .text = texts[i], .expected = texts[i]});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
