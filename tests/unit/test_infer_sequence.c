/* Types of sequences and optionals. */
#include "infer_case.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 21]>\n"

static const typed_case typed[] = {
    {HEAD "g (seq(float[2,n]) x, int64 i) => (y) { y = SequenceAt (x, i) }", "float[2,n]", "y"},
    {HEAD "g (float[2,n] a, float[3,n] b) => (y) { y = SequenceConstruct (a, b) }",
     "seq(float[?,n])", "y"},
    {HEAD "g (float[2,n] a, float[n] b) => (y) { y = SequenceConstruct (a, b) }", "seq(float[])",
     "y"},
    {HEAD "g () => (y) { y = SequenceEmpty () }", "seq(float[])", "y"},
    {HEAD "g () => (y) { y = SequenceEmpty <dtype = 7> () }", "seq(int64[])", "y"},
    {HEAD "g (seq(float[2,n]) x) => (y) { y = SequenceErase (x) }", "seq(float[2,n])", "y"},
    {HEAD "g (seq(float[2,n]) x, float[2,5] a) => (y) { y = SequenceInsert (x, a) }",
     "seq(float[2,?])", "y"},
    {HEAD "g (seq(float[2,n]) x) => (y) { y = SequenceLength (x) }", "int64", "y"},
    {HEAD "g (seq(float[2,n]) x) => (y) { y = ConcatFromSequence <axis = 0> (x) }", "float[?,n]",
     "y"},
    {HEAD "g (seq(float[2,n]) x) => (y) { y = ConcatFromSequence <axis = -1, new_axis = 1> (x) }",
     "float[2,n,?]", "y"},
    {HEAD "g (seq(float[2,n]) x) => (y) { y = ConcatFromSequence <axis = 1, new_axis = 1> (x) }",
     "float[2,?,n]", "y"},
    {HEAD "g (float[6,n] x) => (y) { y = SplitToSequence (x) }", "seq(float[1,n])", "y"},
    {HEAD "g (float[6,n] x) => (y) { y = SplitToSequence <keepdims = 0> (x) }", "seq(float[n])",
     "y"},
    {HEAD "g (float[6,n] x) => (y) <int64 s = {2}> { y = SplitToSequence <keepdims = 0> (x, s) }",
     "seq(float[2,n])", "y"},
    {HEAD "g (float[6,n] x) => (y) <int64 s = {4}> { y = SplitToSequence (x, s) }",
     "seq(float[?,n])", "y"},
    {HEAD "g (float[6,n] x) => (y) <int64[2] s = {3, 3}> { y = SplitToSequence (x, s) }",
     "seq(float[3,n])", "y"},
    {HEAD "g (float[6,n] x) => (y) <int64[2] s = {2, 4}> { y = SplitToSequence (x, s) }",
     "seq(float[?,n])", "y"},
    {HEAD "g (float[6,n] x) => (y) <int64 s = {1}> { y = SplitToSequence <axis = -1> (x, s) }",
     "seq(float[6,1])", "y"},
    {HEAD "g (float[2,n] x) => (y) { y = Optional (x) }", "optional(float[2,n])", "y"},
    {HEAD "g (seq(float[2,n]) x) => (y) { y = Optional (x) }", "optional(seq(float[2,n]))", "y"},
    {HEAD "g () => (y) { y = Optional <type = float[3]> () }", "optional(float[3])", "y"},
    {HEAD "g (optional(float[2,n]) x) => (y) { y = OptionalGetElement (x) }", "float[2,n]", "y"},
    {HEAD "g (float[2,n] x) => (y) { y = OptionalGetElement (x) }", "float[2,n]", "y"},
    {HEAD "g (optional(float[2,n]) x) => (y) { y = OptionalHasElement (x) }", "bool", "y"},
    {HEAD "g () => (y) { y = OptionalHasElement () }", "bool", "y"},
};

static const wrong_case wrong[] = {
    {HEAD "g (float[2] a, int64[2] b) => (y) { y = SequenceConstruct (a, b) }",
     "both must have one type"},
    {HEAD "g () => (y) { y = SequenceEmpty <dtype = 99> () }", "dtype is 99"},
    {HEAD "g (seq(float[2]) x, int64[2] a) => (y) { y = SequenceInsert (x, a) }",
     "cannot insert int64[2] into seq(float[2])"},
    {HEAD "g (seq(float[2,n]) x) => (y) { y = ConcatFromSequence <axis = 2> (x) }",
     "must lie in [-2, 1]"},
    {HEAD "g (seq(float[2,n]) x) => (y) { y = ConcatFromSequence <axis = 0, new_axis = 2> (x) }",
     "new_axis is 2"},
    {HEAD "g (float[6] x) => (y) <int64 s = {0}> { y = SplitToSequence (x, s) }",
     "split has the entry 0"},
    {HEAD "g (float[6] x) => (y) <int64[2] s = {3, 4}> { y = SplitToSequence (x, s) }",
     "is both 7 and 6"},
    {HEAD "g (float[6] x) => (y) { y = SplitToSequence <axis = 1> (x) }", "must lie in [-1, 0]"},
    {HEAD "g () => (y) { y = Optional () }", "neither an input nor the attribute"},
};

RUN_TABLE_TESTS()
