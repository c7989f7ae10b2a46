/* Inference of matrix products, Einsum and determinants. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(13, "float[n,4] a, float[4,5] b", "MatMul (a, b)"), "float[n,5]", "y"},
    {NODE(13, "float[4] a, float[4] b", "MatMul (a, b)"), "float", "y"},
    {NODE(13, "float[k] a, float[b,k,5] w", "MatMul (a, w)"), "float[b,5]", "y"},
    {NODE(13, "float[h,1,n,4] a, float[7,4,m] b", "MatMul (a, b)"), "float[h,7,n,m]", "y"},
    {NODE(13, "float[] a, float[4,5] b", "MatMul (a, b)"), "float[]", "y"},
    {NODE(10, "uint8[2,3] a, int8[3,4] b", "MatMulInteger (a, b)"), "int32[2,4]", "y"},
    {NODE(10, "uint16[2,3] a, uint16[3,4] b", "com.microsoft.MatMulInteger16 (a, b)"),
     "uint32[2,4]", "y"},
    {NODE(21, "uint8[2,3] a, float s, uint8 z, int8[3,4] b, int8 bz, int8 yz",
          "QLinearMatMul (a, s, z, b, s, bz, s, yz)"),
     "int8[2,4]", "y"},
    {NODE(13, "float[4,n] a, float[m,4] b, float[1,m] c",
          "Gemm <transA = 1, transB = 1> (a, b, c)"),
     "float[n,m]", "y"},
    {NODE(13, "float[] a, float[4,5] b", "Gemm (a, b)"), "float[?,5]", "y"},
    {NODE(22, "float[b,3,3] x", "Det (x)"), "float[b]", "y"},
    {NODE(22, "float[3,3] x", "Det (x)"), "float", "y"},

    /* Einsum */
    {NODE(12, "float[n,3] a, float[3,m] b", "Einsum <equation = \"ij,jk->ik\"> (a, b)"),
     "float[n,m]", "y"},
    {NODE(12, "float[b,h,n,3] a, float[b,h,m,3] c",
          "Einsum <equation = \"...id, ...jd -> ...ij\"> (a, c)"),
     "float[b,h,n,m]", "y"},
    {NODE(12, "float[5,2] a", "Einsum <equation = \"bA\"> (a)"), "float[2,5]", "y"},
    {NODE(12, "float[5,5] a", "Einsum <equation = \"ii\"> (a)"), "float", "y"},
    {NODE(12, "float[5,n,n] a", "Einsum <equation = \"...ii->...i\"> (a)"), "float[5,n]", "y"},
    {NODE(12, "float[] a, float[3,4] b", "Einsum <equation = \"ij,jk->ik\"> (a, b)"), "float[?,4]",
     "y"},
    {NODE(12, "float[] a", "Einsum <equation = \"...i->...\"> (a)"), "float[]", "y"},
};

static const wrong_case wrong[] = {
    {NODE(13, "float[2,3] a, float[4,5] b", "MatMul (a, b)"),
     "rows have 3 elements, but columns have 4"},
    {NODE(13, "float a, float[4,5] b", "MatMul (a, b)"), "is a scalar"},
    {NODE(13, "float[2,2,3] a, float[5,3,4] b", "MatMul (a, b)"), "do not broadcast"},
    {NODE(13, "float[2,3] a, float[4,3] b", "Gemm (a, b)"), "cannot be multiplied"},
    {NODE(13, "float[2,3,1] a, float[3,4] b", "Gemm (a, b)"), "must have rank 2"},
    {NODE(13, "float[2,3] a, float[3,4] b, float[3] c", "Gemm (a, b, c)"), "does not broadcast"},
    {NODE(22, "float[2,3] x", "Det (x)"), "both 2 and 3"},
    {NODE(12, "float[2,3] a, float[4,5] b", "Einsum <equation = \"ij,jk\"> (a, b)"),
     "different size than an earlier axis"},
    {NODE(12, "float[2,3] a", "Einsum <equation = \"ijk\"> (a)"), "has fewer axes"},
    {NODE(12, "float[2,3] a", "Einsum <equation = \"i\"> (a)"), "has more axes"},
    {NODE(12, "float[2,3] a", "Einsum <equation = \"ij,jk\"> (a)"), "the equation describes more"},
    {NODE(12, "float[2] a, float[2] b", "Einsum <equation = \"i\"> (a, b)"), "more are given"},
    {NODE(12, "float[2] a", "Einsum <equation = \"i->k\"> (a)"), "letter that no input has"},
    {NODE(12, "float[2] a", "Einsum <equation = \"i->ii\"> (a)"), "letter twice"},
    {NODE(12, "float[2] a", "Einsum <equation = \"1\"> (a)"), "not a letter"},
    {NODE(12, "float[2,3] a, float[2] b", "Einsum <equation = \"...,...\"> (a, b)"),
     "different number of axes"},
};

static void test_macs(void **state) {
    (void)state;
    expect_macs(NODE(13, "float[7,2,3] a, float[3,4] b", "MatMul (a, b)"), "y", 7 * 2 * 3 * 4);
    expect_macs(NODE(13, "float[3,2] a, float[3,4] b", "Gemm <transA = 1> (a, b)"), "y", 2 * 3 * 4);
    expect_macs(NODE(12, "float[7,2,3] a, float[7,3,4] b",
                     "Einsum <equation = \"...ij,...jk->...ik\"> (a, b)"),
                "y", 7 * 2 * 3 * 4);
}

RUN_TABLE_TESTS(cmocka_unit_test(test_macs))
