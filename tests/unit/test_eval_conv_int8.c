/* Convolutions of bytes are those of the same numbers as floats, zero points taken off: 0
 * differences for groups, paddings, strides, dilations, zero points of every filter, more positions
 * than a block. */
#include "eval_text.h"

#define COUNT(name, n, modulus, type)                                                           \
  " " name "_all = Range (no, " n ", one) " name "_mod = Mod (" name "_all, " modulus ") " name \
  "_flat = Cast <to = " type "> (" name "_mod)"

static void test_large_map_in_groups(void **state) {
    (void)state;
    EXPECT_INTS(
        HEAD("21") "g () => (int64 z) <int64 no = {0}, int64 one = {1}, int64 nx = {67600}, int64 "
                   "nw "
                   "= {288}, int64 mx = {251}, int64 mw = {17}, int64[4] sx = {1, 4, 130, 130},"
                   " int64[4] sw = {16, 2, 3, 3}, int64[4] sz = {16, 1, 1, 1}, uint8 x_zero = {7},"
                   " int8[16] w_zero = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12, -13, -14, 15}> "
                   "{" COUNT("x", "nx", "mx", "2")
                       COUNT("w", "nw", "mw",
                             "3") " x = Reshape (x_flat, sx) w = Reshape (w_flat, sw)"
                                  " y = ConvInteger <group = 2, pads = [1, 2, 0, 1]> (x, w, "
                                  "x_zero, w_zero)"
                                  " xf = Cast <to = 11> (x) wf = Cast <to = 11> (w) xz = Cast <to "
                                  "= 11> (x_zero)"
                                  " wz_list = Cast <to = 11> (w_zero) wz = Reshape (wz_list, sz)"
                                  " xd = Sub (xf, xz) wd = Sub (wf, wz)"
                                  " want = Conv <group = 2, pads = [1, 2, 0, 1]> (xd, wd) got = "
                                  "Cast <to = 11> (y)"
                                  " d = Sub (want, got) s = ReduceSumSquare <keepdims = 0> (d) z = "
                                  "Cast <to = 7> (s) }",
        0);
}

static void test_strides_and_dilations(void **state) {
    (void)state;
    EXPECT_INTS(
        HEAD("21") "g () => (int64 z) <int64 no = {0}, int64 one = {1}, int64 nx = {210}, int64 nw "
                   "= {75}, int64 mx = {127}, int64 mw = {255}, int64[3] sx = {2, 3, 35},"
                   " int64[3] sw = {5, 3, 5}, int8 x_zero = {-3}> {" COUNT("x", "nx", "mx", "3")
                       COUNT("w", "nw", "mw",
                             "2") " x = Reshape (x_flat, sx) w = Reshape (w_flat, sw)"
                                  " y = ConvInteger <strides = [2], dilations = [3], pads = [4, "
                                  "5]> (x, w, x_zero)"
                                  " xf = Cast <to = 11> (x) wf = Cast <to = 11> (w) xz = Cast <to "
                                  "= 11> (x_zero)"
                                  " xd = Sub (xf, xz) want = Conv <strides = [2], dilations = [3], "
                                  "pads = [4, 5]> (xd, wf)"
                                  " got = Cast <to = 11> (y) d = Sub (want, got)"
                                  " s = ReduceSumSquare <keepdims = 0> (d) z = Cast <to = 7> (s) }",
        0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_map_in_groups),
        cmocka_unit_test(test_strides_and_dilations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
