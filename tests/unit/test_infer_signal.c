/* Inference of Fourier transforms and window functions. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(17, "float[b,n,1] x", "DFT <axis = 1> (x)"), "float[b,n,2]", "y"},
    {NODE(17, "float[b,n,1] x", "DFT <axis = 1, onesided = 1> (x)"), "float[b,floor(n/2) + 1,2]",
     "y"},
    {NODE_WITH(20, "float[b,9,2] x", "int64 l = {16}", "DFT <inverse = 1, onesided = 1> (x, l)"),
     "float[b,16,1]", "y"},
    {NODE(20, "float[b,n,1] x, int64 a", "DFT <onesided = 1> (x, , a)"), "float[?,?,2]", "y"},
    {NODE_WITH(17, "float[b,128,1] x, float[16] w", "int64 s = {8}", "STFT (x, s, w)"),
     "float[b,15,9,2]", "y"},
    {NODE_WITH(17, "float[b,n,1] x", "int64 s = {8}, int64 l = {16}",
               "STFT <onesided = 0> (x, s, , l)"),
     "float[b,floor(n/8) - 1,16,2]", "y"},
    {NODE_WITH(17, "float x", "int64 n = {10}", "HannWindow <output_datatype = 11> (n)"),
     "double[10]", "y"},
    {NODE_WITH(17, "float x", "int64 m = {8}, int64 n = {17}, int64 r = {16000}",
               "MelWeightMatrix (m, n, r, x, x)"),
     "float[9,8]", "y"},
    {NODE(17, "float[b,9] x", "com.microsoft.Rfft <signal_ndim = 1> (x)"), "float[b,5,2]", "y"},
    {NODE(17, "float[b,5,2] x", "com.microsoft.Irfft <signal_ndim = 1> (x)"), "float[b,8]", "y"},
    {NODE(17, "float[b,5,2] p, float[5,2] q", "com.microsoft.ComplexMul (p, q)"), "float[b,5,2]",
     "y"},
};

static const wrong_case wrong[] = {
    {NODE(20, "float[2] x", "DFT (x)"), "rank 2 or more"},
    {NODE(17, "float[2,8,1] x", "DFT <axis = 2> (x)"), "real and imaginary"},
    {NODE(20, "float[2,8,2] x", "DFT <onesided = 1> (x)"), "must be 1"},
    {NODE_WITH(20, "float[2,8,2] x", "int64[1] l = {4}", "DFT (x, l)"), "must have rank 0"},
    {NODE_WITH(17, "float[b,8,1] x, float[16] w", "int64 s = {8}", "STFT (x, s, w)"), "do not fit"},
    {NODE_WITH(17, "float[b,64,1] x, float[16] w", "int64 s = {8}, int64 l = {17}",
               "STFT (x, s, w, l)"),
     "both 17 and 16"},
    {NODE_WITH(17, "float x", "int64 n = {0}", "HannWindow (n)"), "size is 0"},
    {NODE_WITH(17, "float x", "int64 n = {4}", "HannWindow <output_datatype = 8> (n)"),
     "output_datatype is 8"},
};

RUN_TABLE_TESTS()
