/* Lowered operators that move elements: the same bytes as the evaluation makes. */
#include "lowered_case.h"

/* What the first lowerings cover: the helper itself is tried on them. */
static const lowered_case first_cases[] = {
    {.text = TEXT_HEAD "g (float[3,5] x) => (float[3,5] y) { a = Relu (x) y = Neg (a) }"},
    {.text = TEXT_HEAD "g (float[3,5] x) => (float[3,5] y) { y = Softmax (x) }",
     .tolerance = 1e-6,
     .is_tame = true},
};

static void elementwise_steps_are_lowered(void **state) {
    (void)state;
    EXPECT_LOWERED_CASES(first_cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(elementwise_steps_are_lowered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
