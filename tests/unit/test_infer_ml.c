/* Types of the operators of ai.onnx.ml. */
#include "infer_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 3]>\n"
#define HEAD1 "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 1]>\n"
#define HEAD5 "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 5]>\n"
#define X HEAD "g (float[n,4] x) => (y) { "
#define XZ HEAD "g (float[n,4] x) => (y, z) { "
#define SVM(labels, extra)                                             \
  "y, z = ai.onnx.ml.SVMClassifier <classlabels_ints = [" labels "], " \
  "support_vectors = [1.0], vectors_per_class = [1]" extra "> (x) }"
#define TREE(weights, modes)                                                              \
  "y = ai.onnx.ml.TreeEnsemble <n_targets = 2, leaf_targetids = [0, 1], "                 \
  "leaf_weights = float[" weights "}, nodes_falseleafs = [1], nodes_falsenodeids = [1], " \
  "nodes_featureids = [0], nodes_modes = " modes "}, nodes_splits = float[1] {0.5}, "     \
  "nodes_trueleafs = [1], nodes_truenodeids = [0], tree_roots = [0]> (x) }"

static const typed_case typed[] = {
    {XZ "y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0], intercepts = [1.0, 2.0, 3.0], "
        "classlabels_ints = [1, 2, 3]> (x) }",
     "float[n,3]", "z"},
    {XZ "y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0], intercepts = [1.0], "
        "classlabels_strings = [\"a\", \"b\"]> (x) }",
     "float[n,2]", "z"},
    {XZ "y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0], intercepts = [1.0], "
        "classlabels_strings = [\"a\", \"b\"]> (x) }",
     "string[n]", "y"},
    {XZ SVM("0, 1, 2, 3", ""), "float[n,6]", "z"},
    {XZ SVM("0, 1, 2, 3", ", prob_a = [0.5]"), "float[n,4]", "z"},
    {XZ SVM("0, 1", ""), "float[n,2]", "z"},
    {XZ SVM("0, 1", ""), "int64[n]", "y"},
    {X "y = ai.onnx.ml.LinearRegressor <targets = 3> (x) }", "float[n,3]", "y"},
    {X "y = ai.onnx.ml.SVMRegressor (x) }", "float[n,1]", "y"},
    {HEAD "g (float[4] x) => (y) { y = ai.onnx.ml.SVMRegressor (x) }", "float[1,1]", "y"},
    {X "y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 2> (x) }", "float[n,2]", "y"},
    {XZ "y, z = ai.onnx.ml.TreeEnsembleClassifier <classlabels_int64s = [1, 2], "
        "class_ids = [0, 0]> (x) }",
     "float[n,2]", "z"},
    {HEAD5 "g (float[n,4] x) => (y) { " TREE("2] {1.0, 2.0", "uint8[1] {0"), "float[n,2]", "y"},
    {HEAD "g (float[n,4] x, int64[1,3] i) => (y) { y = ai.onnx.ml.ArrayFeatureExtractor (x, i) }",
     "float[n,3]", "y"},
    {HEAD "g (map(int64, float) x) => (y) { y = ai.onnx.ml.CastMap (x) }", "float[1,?]", "y"},
    {HEAD
     "g (map(int64, float) x) => (y) "
     "{ y = ai.onnx.ml.CastMap <cast_to = \"TO_INT64\", map_form = \"SPARSE\", max_map = 7> (x) }",
     "int64[1,7]", "y"},
    {HEAD "g (string[n] x) => (y) { y = ai.onnx.ml.CategoryMapper "
          "<cats_int64s = [1], cats_strings = [\"a\"]> (x) }",
     "int64[n]", "y"},
    {HEAD "g (map(string, double) x) => (y) "
          "{ y = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"a\", \"b\"]> (x) }",
     "double[1,2]", "y"},
    {HEAD "g (float[n,4] x, float[n,2] z) => (y) "
          "{ y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [4, 2]> (x, z) }",
     "float[n,6]", "y"},
    {HEAD1 "g (string[n] x) => (y) { y = ai.onnx.ml.LabelEncoder <classes_strings = [\"a\"]> (x) }",
     "int64[n]", "y"},
    {HEAD "g (string[n] x) => (y) { y = ai.onnx.ml.LabelEncoder "
          "<keys_strings = [\"a\"], values_floats = [1.0]> (x) }",
     "float[n]", "y"},
    {HEAD "g (int64[n,2] x) => (y) { y = ai.onnx.ml.Normalizer (x) }", "float[n,2]", "y"},
    {HEAD "g (int64[n,2] x) => (y) { y = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 2, 3]> (x) }",
     "float[n,2,3]", "y"},
    {X "y = ai.onnx.ml.ZipMap <classlabels_strings = [\"a\"]> (x) }", "seq(map(string, float))",
     "y"},
};

static const wrong_case wrong[] = {
    {HEAD "g (float[1,2,3] x) => (y) { y = ai.onnx.ml.LinearRegressor (x) }", "rank"},
    {X "y = ai.onnx.ml.LinearRegressor <targets = 0> (x) }", "targets is 0"},
    {X "y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 0> (x) }", "n_targets is 0"},
    {X "y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, base_values = [1.0], "
       "base_values_as_tensor = double[1] {1.0}> (x) }",
     "only one of them may be given"},
    {HEAD5 "g (float[n,4] x) => (y) { " TREE("1] {1.0", "uint8[1] {0"),
     "leaf_weights has 1 entries, but leaf_targetids has 2"},
    {HEAD5 "g (float[n,4] x) => (y) { " TREE("2] {1.0, 2.0", "uint8[2] {0, 0"),
     "nodes_modes has 2 entries, but nodes_splits has 1"},
    {HEAD5 "g (double[n,4] x) => (y) { " TREE("2] {1.0, 2.0", "uint8[1] {0"),
     "must be one of double"},
    {HEAD "g (map(int64, float) x) => (y) { y = ai.onnx.ml.CastMap <cast_to = \"X\"> (x) }",
     "TO_FLOAT"},
    {HEAD "g (string[n] x) => (y) { y = ai.onnx.ml.CategoryMapper <cats_int64s = [1]> (x) }",
     "must both be given"},
    {HEAD "g (float[2,4] x, float[3,2] z) => (y) { y = ai.onnx.ml.FeatureVectorizer (x, z) }",
     "the number of rows is both 2 and 3"},
    {HEAD "g (string[n] x) => (y) { y = ai.onnx.ml.LabelEncoder <keys_strings = [\"a\"]> (x) }",
     "one of values_*"},
    {HEAD "g (int64[n] x) => (y) { y = ai.onnx.ml.LabelEncoder "
          "<keys_strings = [\"a\"], values_floats = [1.0]> (x) }",
     "keys_strings holds string"},
    {HEAD "g (string[n] x) => (y) { y = ai.onnx.ml.LabelEncoder "
          "<keys_strings = [\"a\"], values_floats = [1.0, 2.0]> (x) }",
     "has 1 entries, but values_floats has 2"},
    {HEAD "g (int64[n] x) => (y) { y = ai.onnx.ml.OneHotEncoder (x) }", "exactly one of"},
    {X "y = ai.onnx.ml.ZipMap (x) }", "exactly one of"},
};

RUN_TABLE_TESTS()
