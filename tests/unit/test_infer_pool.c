/* Inference of pooling, global and over windows. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(22, "float[n,3,32,32] x", "MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)"),
     "float[n,3,16,16]", "y"},
    {NODES(22, "float[n,3,h] x", "y, i = MaxPool <kernel_shape = [3], pads = [1, 1]> (x)"),
     "int64[n,3,h]", "i"},
    {NODE(22, "float[n,3,h] x",
          "AveragePool <auto_pad = \"SAME_LOWER\", kernel_shape = [3], strides = [2]> (x)"),
     "float[n,3,floor((h + 1)/2)]", "y"},
    {NODE(22, "float[n,3,8] x", "MaxPool <ceil_mode = 1, kernel_shape = [3], strides = [2]> (x)"),
     "float[n,3,4]", "y"},
    {NODE(22, "float[n,3,h] x", "MaxPool <ceil_mode = 1, kernel_shape = [3], strides = [2]> (x)"),
     "float[n,3,floor(h/2)]", "y"},

    /* a last window in the padding is dropped, in all versions */
    {NODE(22, "float[n,3,3] x",
          "MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [1, 1], strides = [2]> (x)"),
     "float[n,3,2]", "y"},
    {NODE(12, "float[n,3,3] x",
          "MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [1, 1], strides = [2]> (x)"),
     "float[n,3,2]", "y"},
    {NODE(19, "float[n,3,8] x",
          "AveragePool <ceil_mode = 1, kernel_shape = [2], pads = [0, 1], strides = [3]> (x)"),
     "float[n,3,3]", "y"},
    {NODE(18, "float[n,3,2] x", "LpPool <ceil_mode = 1, kernel_shape = [1], strides = [4]> (x)"),
     "float[n,3,1]", "y"},
    {NODE(22, "float[n,3,h] x",
          "MaxPool <ceil_mode = 1, kernel_shape = [2], pads = [1, 1], strides = [2]> (x)"),
     "float[n,3,floor(h/2) + 1]", "y"},

    {NODE(22, "float[n,3,9] x", "LpPool <dilations = [2], kernel_shape = [3]> (x)"), "float[n,3,5]",
     "y"},
    {NODE(22, "float[] x", "MaxPool <kernel_shape = [2]> (x)"), "float[]", "y"},
    {NODE(22, "float[n,c,h,w] x", "GlobalAveragePool (x)"), "float[n,c,1,1]", "y"},
    {NODE(22, "float[1,1,2,w] x, int64[1,1,2,2] i",
          "MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i)"),
     "float[1,1,4,4]", "y"},
    {NODE_WITH(22, "float[1,1,2,2] x, int64[1,1,2,2] i", "int64[4] s = {1, 1, 5, 5}",
               "MaxUnpool <kernel_shape = [2, 2]> (x, i, s)"),
     "float[1,1,5,5]", "y"},
    {NODE(22, "float[n,c,8,8] x, float[r,5] rois", "MaxRoiPool <pooled_shape = [2, 3]> (x, rois)"),
     "float[r,c,2,3]", "y"},
};

static const wrong_case wrong[] = {
    {NODE(22, "float[1,2] x", "MaxPool <kernel_shape = [2]> (x)"), "rank 3 or more"},
    {NODE(22, "float[1,2,8] x", "MaxPool <kernel_shape = [2, 2]> (x)"),
     "kernel_shape has 2 values"},
    {NODE(22, "float[1,2,8] x", "MaxPool <kernel_shape = [0]> (x)"), "kernel_shape holds 0"},
    {NODE(22, "float[1,2,8] x", "MaxPool <kernel_shape = [2], pads = [-1, 0]> (x)"),
     "pads holds -1"},
    {NODE(22, "float[2] x", "GlobalMaxPool (x)"), "rank 2 or more"},
    {NODE_WITH(22, "float[1,1,2] x, int64[1,1,2] i", "int64[2] s = {1, 1}",
               "MaxUnpool <kernel_shape = [2]> (x, i, s)"),
     "output_shape has 2 sizes"},
    {NODE(22, "float[1,2,8,8] x, float[3,4] rois", "MaxRoiPool <pooled_shape = [2, 3]> (x, rois)"),
     "both 4 and 5"},
    {NODE(22, "float[1,2,8,8] x, float[3,5] rois", "MaxRoiPool <pooled_shape = [2]> (x, rois)"),
     "pooled_shape"},
};

RUN_TABLE_TESTS()
