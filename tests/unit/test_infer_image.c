/* Resizing, sampling, regions. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE_WITH(19, "float[1,3,h,10] x", "float[4] s = {1.0, 1.0, 0.5, 2.0}", "Resize (x, , s)"),
     "float[1,3,floor(h/2),20]", "y"},
    {NODE_WITH(19, "float[n,3,h,10] x", "int64[2] s = {5, 6}",
               "Resize <axes = [-1, 2]> (x, , , s)"),
     "float[n,3,6,5]", "y"},
    {NODE_WITH(19, "float[1,1,2,4] x", "int64[2] s = {7, 8}",
               "Resize <axes = [2, 3], keep_aspect_ratio_policy = \"not_larger\"> (x, , , s)"),
     "float[1,1,4,8]", "y"},
    {NODE_WITH(19, "float[1,1,2,4] x", "int64[2] s = {7, 8}",
               "Resize <axes = [2, 3], keep_aspect_ratio_policy = \"not_smaller\"> (x, , , s)"),
     "float[1,1,7,14]", "y"},
    {NODE_WITH(11, "float[n,4] x", "float[0] e = {}, int64[2] s = {2, 9}", "Resize (x, e, e, s)"),
     "float[2,9]", "y"},
    {NODE_WITH(10, "float[n,5] x", "float[2] s = {1.0, 1.5}", "Resize (x, s)"), "float[n,7]", "y"},
    {NODE(13, "float[n,5] x, float[2] s", "Resize (x, , s)"), "float[?,?]", "y"},
    {NODE(7, "float[n,3] x", "Upsample <scales = [1.0, 2.0]> (x)"), "float[n,6]", "y"},
    {NODE(1, "float[n,3,4,w] x", "Upsample <height_scale = 2.0, width_scale = 3.0> (x)"),
     "float[n,3,8,3*w]", "y"},
    {NODE(22, "float[n,3,h,w] x, float[n,5,6,2] g", "GridSample (x, g)"), "float[n,3,5,6]", "y"},
    {NODE_WITH(20, "float[n,2,3] t", "int64[4] s = {2, 3, 5, 6}", "AffineGrid (t, s)"),
     "float[2,5,6,2]", "y"},
    {NODE(22, "float[n,c,8,8] x, float[r,4] rois, int64[r] i",
          "RoiAlign <output_height = 3, output_width = 2> (x, rois, i)"),
     "float[r,c,3,2]", "y"},
    {NODE(11, "float[1,6,4] b, float[1,2,6] s", "NonMaxSuppression (b, s)"), "int64[?,3]", "y"},
    {NODE(20, "uint8[n] x", "ImageDecoder <pixel_format = \"Grayscale\"> (x)"), "uint8[?,?,1]",
     "y"},
    {NODE_WITH(18, "float[n,12,9] x", "int64[2] i = {5, 5}, int64[2] b = {2, 3}",
               "Col2Im (x, i, b)"),
     "float[n,2,5,5]", "y"},
    {NODE_WITH(18, "float[n,c,8,8] x, float[r,4] rois, int32[r] i", "int32[2] s = {2, 3}",
               "com.microsoft.CropAndResize (x, rois, i, s)"),
     "float[r,c,2,3]", "y"},
};

static const wrong_case wrong[] = {
    {NODE_WITH(19, "float[1,3] x", "float[3] s = {1.0, 1.0, 1.0}", "Resize (x, , s)"), "3 values"},
    {NODE_WITH(19, "float[1,3] x", "float[2] s = {1.0, 0.0}", "Resize (x, , s)"),
     "must be positive"},
    {NODE_WITH(19, "float[1,3] x", "float[2] s = {1.0, 1.0}, int64[2] z = {1, 1}",
               "Resize (x, , s, z)"),
     "not both"},
    {NODE(19, "float[1,3] x", "Resize (x)"), "not both"},
    {NODE_WITH(19, "float[1,3] x", "float[2] s = {1.0, 1.0}", "Resize <axes = [1, -1]> (x, , s)"),
     "axis 1 twice"},
    {NODE_WITH(19, "float[1,3] x", "float[2] s = {1.0, 1.0}",
               "Resize <keep_aspect_ratio_policy = \"not_larger\"> (x, , s)"),
     "needs sizes"},
    {NODE(22, "float[n,3,h,w] x, float[n,5,6,3] g", "GridSample (x, g)"), "2 coordinates"},
    {NODE(22, "float[n,c,8,8] x, float[r,5] rois, int64[r] i", "RoiAlign (x, rois, i)"),
     "both 5 and 4"},
    {NODE(20, "uint8[n] x", "ImageDecoder <pixel_format = \"CMYK\"> (x)"), "pixel_format"},
    {NODE_WITH(18, "float[n,13,9] x", "int64[2] i = {5, 5}, int64[2] b = {2, 3}",
               "Col2Im (x, i, b)"),
     "13 rows"},
    {NODE_WITH(20, "float[n,2,3] t", "int64[3] s = {2, 3, 5}", "AffineGrid (t, s)"), "4 or 5"},
};

TABLE_TESTS

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
