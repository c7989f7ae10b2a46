/* Inference of losses, gradients and optimizers. */
#include "infer_node.h"

static const typed_case typed[] = {
    {NODE(13, "float[n,c] x, int64[n] t", "NegativeLogLikelihoodLoss (x, t)"), "float", "y"},
    {NODE(13, "float[n,c,5] x, int64[3,5] t",
          "NegativeLogLikelihoodLoss <reduction = \"none\"> (x, t)"),
     "float[3,5]", "y"},
    {NODES(13, "float[n,c] x, int64[n] t", "y, p = SoftmaxCrossEntropyLoss (x, t)"), "float[n,c]",
     "p"},
    {NODES(13, "float r, int64 t, float[n] x, float[n] g, float[n] v, float[n] h",
           "y, nv, nh = ai.onnx.preview.training.Adam (r, t, x, g, v, h)"),
     "float[n]", "nh"},
    {NODES(13,
           "float r, int64 t, float[2] x, float[3] z, float[2] g, float[3] gz, float[2] h, "
           "float[3] hz",
           "y, nz, nh, nhz = ai.onnx.preview.training.Adagrad (r, t, x, z, g, gz, h, hz)"),
     "float[3]", "nhz"},
    {NODE(13, "float[n,3] x", "ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"x\"> (x)"),
     "float[n,3]", "y"},
};

static const wrong_case wrong[] = {
    {NODE(13, "float[2] x, int64[2] t", "NegativeLogLikelihoodLoss (x, t)"), "rank 2 or more"},
    {NODE(13, "float[2,3] x, int64[4] t", "NegativeLogLikelihoodLoss (x, t)"), "both 2 and 4"},
    {NODE(13, "float[2,3] x, int64[2,1] t", "NegativeLogLikelihoodLoss (x, t)"),
     "must have rank 1"},
    {NODE(13, "float[2,3] x, int64[2] t, float[2] w", "SoftmaxCrossEntropyLoss (x, t, w)"),
     "number of classes"},
    {NODE(13, "float[2,3] x, int64[2] t", "SoftmaxCrossEntropyLoss <reduction = \"all\"> (x, t)"),
     "reduction is 'all'"},
    {NODES(13, "float r, int64 t, float[2] x, float[2] g",
           "y, h = ai.onnx.preview.training.Adagrad (r, t, x, g)"),
     "each parameter needs 3 inputs"},
    {NODE(13, "float[2] x",
          "ai.onnx.preview.training.Gradient <xs = [\"x\", \"z\"], y = \"x\"> (x)"),
     "2 xs"},
};

RUN_TABLE_TESTS()
