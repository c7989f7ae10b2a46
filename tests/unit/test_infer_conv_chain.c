/* Shapes and operation counts of chains of convolutions, and invalid chains. */
#include "infer_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"hone\" : 1]>\n"
#define CHAIN(x, filters, lists) \
  HEAD "g (float" x " x, " filters ") => (y) { y = hone.ConvChain <" lists "> (x, u, , v) }"
#define FILTERS "float[6,4,1,1] u, float[6,1,3,3] v"
#define LISTS(groups, strides, pads, dilations)                                                \
  "activations = [\"Clip\", \"\"], activation_params = [0.0, 6.0], n_activation_params = [2, " \
  "0], groups = " groups ", strides = " strides ", pads = " pads ", dilations = " dilations
#define SAME "[0, 0, 0, 0, 1, 1, 1, 1]"
#define ONES "[1, 1, 1, 1]"

static const typed_case typed[] = {
    {CHAIN("[n,9,8,4]", FILTERS, LISTS("[1, 6]", ONES, SAME, ONES)), "float[n,9,8,6]", "y"},
    {CHAIN("[n,9,8,4]", FILTERS, LISTS("[1, 6]", "[1, 1, 2, 3]", SAME, ONES)), "float[n,5,3,6]",
     "y"},
    {CHAIN("[n,9,8,4]", FILTERS, LISTS("[1, 6]", "[2, 2, 1, 1]", SAME, "[1, 1, 2, 2]")),
     "float[n,3,2,6]", "y"},
    {HEAD "g (float[n,4,9,8] x, " FILTERS
          ") => (y) { y = hone.NchwConvChain <" LISTS("[1, 6]", ONES, SAME, ONES) "> (x, u, , v) }",
     "float[n,9,8,6]", "y"},
};

static const wrong_case wrong[] = {
    {CHAIN("[n,9,8,4]", FILTERS, LISTS("[1, 6]", "[1, 1]", SAME, ONES)), "stage 1"},
    {CHAIN("[n,9,8,4]", FILTERS, LISTS("[1, 6]", "[1, 1, 0, 1]", SAME, ONES)), "stage 1"},
    {CHAIN("[n,9,8,4]", FILTERS, LISTS("[1, 6]", "[1, 1, 1, 9999999]", SAME, ONES)), "too large"},
    {CHAIN("[n,9,8,5]", FILTERS, LISTS("[1, 6]", ONES, SAME, ONES)), "5 and 4"},
    {CHAIN("[n,9,8,4]", FILTERS, LISTS("[1, 3]", ONES, SAME, ONES)), "6 and 3"},
    {CHAIN("[n,9,8,4]", "float[6,4,1,1] u, float[6,1,3] v", LISTS("[1, 6]", ONES, SAME, ONES)),
     "rank 4"},
    {CHAIN("[n,9,8,4]", "float[6,4,1,1] u, float[6,1,0,3] v", LISTS("[1, 6]", ONES, SAME, ONES)),
     "no filters"},
    {CHAIN("[n,9,8,4]", FILTERS,
           LISTS("[1, 6]", ONES, "[0, 0, 1000000, 1000000, 1, 1, 1, 1]", ONES)),
     "too large"},
    {CHAIN("[n,h,8,4]", FILTERS, LISTS("[1, 6]", ONES, SAME, ONES)), "not known"},
};

static void test_macs(void **state) {
    (void)state;
    expect_macs(CHAIN("[2,9,8,4]", FILTERS, LISTS("[1, 6]", "[1, 1, 2, 3]", SAME, ONES)), "y",
                2 * (9 * 8 * 6 * 4 + 5 * 3 * 6 * 9));
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
