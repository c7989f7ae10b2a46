/* Products of complex numbers are lowered as they are evaluated. */
#include "lowered_case.h"

#define MS "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"

static const lowered_case complex_cases[] = {
    {.text = MS "g (float[3,5,2] a, float[3,5,2] b) => (float[3,5,2] y, float[3,5,2] z) {"
                " y = com.microsoft.ComplexMul (a, b) z = com.microsoft.ComplexMulConj (a, b) }"},
    {.text = MS "g (float[3,5,2] a, float[5,2] b) => (float[3,5,2] y) {"
                " y = com.microsoft.ComplexMul (a, b) }",
     .lowered = ""},
    {.text = MS "g (float16[7,2] a, float16[7,2] b) => (float16[7,2] y) {"
                " y = com.microsoft.ComplexMulConj (a, b) }",
     .lowered = ""},
    {.text = MS "g (float[0,2] a, float[0,2] b) => (float[0,2] y) {"
                " y = com.microsoft.ComplexMul (a, b) }",
     .lowered = ""},
};

static void products_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(complex_cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_lowered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
