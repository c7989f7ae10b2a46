/* The fusion of dynamically quantized products. */
#include "pass_case.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define MS "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
#define DYNAMIC .passes = "dynamic-quant", .target = HN_TARGET_ONNXRUNTIME
#define WEIGHT "int8[2,3] w = {1, -2, 3, -4, 5, 6}, int8 wz = {1}, float[3] ws = {0.5, 1, 2}"
#define PRODUCT " p = MatMulInteger (q, w, z, wz) c = Cast <to = 1> (p) t = Mul (s, ws)"

static const pass_case fused[] = {
    {DYNAMIC,
     .text = HEAD "g (uint8[n,2] q, uint8 z, float s) => (float[n,3] y) <" WEIGHT "> {" PRODUCT
                  " y = Mul (c, t) }",
     .expected = MS "g (uint8[n,2] q, uint8 z, float s) => (float[n,3] y) <" WEIGHT "> {"
                    " y = com.microsoft.MatMulIntegerToFloat (q, w, s, ws, z, wz) }"},
    {DYNAMIC, /* with the quantization and a bias */
     .text = HEAD "g (float[n,2] x) => (float[n,3] y) <" WEIGHT ", float[3] b = {1, 2, 3}> {"
                  " q, s, z = DynamicQuantizeLinear (x)" PRODUCT " h = Mul (t, c) y = Add (h, b) }",
     .expected = MS "g (float[n,2] x) => (float[n,3] y) <" WEIGHT ", float[3] b = {1, 2, 3}> {"
                    " y = com.microsoft.DynamicQuantizeMatMul (x, w, ws, wz, b) }"},
    {DYNAMIC, /* a value that is quantized once for several readers stays so */
     .text = HEAD "g (float[n,2] x) => (float[n,3] y, uint8[n,2] q) <" WEIGHT "> {"
                  " q, s, z = DynamicQuantizeLinear (x)" PRODUCT " y = Mul (c, t) }",
     .expected = MS "g (float[n,2] x) => (float[n,3] y, uint8[n,2] q) <" WEIGHT "> {"
                    " q, s, z = DynamicQuantizeLinear (x)"
                    " y = com.microsoft.MatMulIntegerToFloat (q, w, s, ws, z, wz) }"},
};

static void test_fuses(void **state) {
    (void)state;
    expect_passes(fused, HN_COUNT(fused));
}

static void test_leaves_alone(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* the integers have other readers */
        HEAD "g (uint8[n,2] q, uint8 z, float s) => (float[n,3] y, int32[n,3] p) <" WEIGHT
             "> {" PRODUCT " y = Mul (c, t) }",
        /* a scale for every row */
        HEAD "g (uint8[3,2] q, uint8 z, float[3,1] s) => (float[3,3] y) <" WEIGHT "> {" PRODUCT
             " y = Mul (c, t) }",
        /* another type of result */
        HEAD "g (uint8[n,2] q, uint8 z, double s) => (double[n,3] y) <"
             "int8[2,3] w = {1, -2, 3, -4, 5, 6}, int8 wz = {1}, double[3] ws = {0.5, 1, 2}> {"
             " p = MatMulInteger (q, w, z, wz) c = Cast <to = 11> (p) t = Mul (s, ws)"
             " y = Mul (c, t) }",
    };
    for (size_t i = 0; i < HN_COUNT(texts); i++)
        expect_pass(&(pass_case){DYNAMIC, .text = texts[i], .expected = texts[i]});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fuses),
        cmocka_unit_test(test_leaves_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
