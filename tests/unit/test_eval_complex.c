/* Products of complex numbers, as arithmetic has them. */
#include "run_model.h"

#include "base/base.h"

#define MS "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"

/* (1 + 2i)(3 - 4i) = 11 + 2i, and (1 + 2i)(3 + 4i) = -5 + 10i. */
static void products_are_right(void **state) {
    (void)state;
    static const struct {
        const char *op;
        float y[2];
    } wanted[] = {{"ComplexMul", {11, 2}}, {"ComplexMulConj", {-5, 10}}};
    for (size_t i = 0; i < HN_COUNT(wanted); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 MS "g (float[1,2] x) => (float[1,2] y) <float[1,2] b = {3, -4}> {"
                    " y = com.microsoft.%s (x, b) }",
                 wanted[i].op);
        runner r = runner_of(text);
        hone_value *x = tensor_of(ELEM_FLOAT, (const float[]){1, 2}, DIMS(1, 2));
        hone_value *y = result_of(&r, "x", x, "y");
        hone_tensor_info info;
        hone_value_tensor(y, &info);
        assert_memory_equal(info.data, wanted[i].y, sizeof wanted[i].y);
        hone_value_free(x);
        hone_value_free(y);
        runner_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_right)};
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
