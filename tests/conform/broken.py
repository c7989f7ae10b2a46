"""Broken models: one rule broken in each. The rules themselves are in broken_*.py; this is what they share.

Every case names what a good message mentions: node, value, attribute, or the number that is wrong.
A `gap` says why onnx.checker is wrong to accept the model.
"""
import collections

from onnx import TensorProto, helper, parser

Case = collections.namedtuple("Case", "title model names gap")

PLAIN = """
<ir_version: 10, opset_import: ["" : 21]>
main (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}> {
   [first] h = Add (x, w)
   [second] y = Relu (h)
}"""

BRANCHES = """
<ir_version: 10, opset_import: ["" : 21]>
main (bool c, float[2] x) => (float[2] y) {
   [choice] y = If (c) <
      then_branch: graph = yes () => (float[2] a) { [inner_yes] a = Relu (x) },
      else_branch: graph = no () => (float[2] b) { [inner_no] b = Neg (x) }
   >
}"""

LOOP = """
<ir_version: 10, opset_import: ["" : 21]>
main (int64 n, bool c, float[2] x) => (float[2] y, float[k,2] all) {
   [loop] y, all = Loop (n, c, x) <
      body: graph = body (int64 i, bool ci, float[2] v) => (bool co, float[2] vo, float[2] item) {
         [keep] co = Identity (ci)
         [step] vo = Add (v, x)
         [give] item = Identity (vo)
      }
   >
}"""

SCAN = """
<ir_version: 10, opset_import: ["" : 21]>
main (float[3] s, float[5,3] xs) => (float[3] t, float[5,3] ys) {
   [scan] t, ys = Scan (s, xs) <num_scan_inputs: int = 1,
      body: graph = body (float[3] a, float[3] b) => (float[3] an, float[3] o) {
         [sum] an = Add (a, b)
         [out] o = Identity (an)
      }
   >
}"""

FUNCTION = """
<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
main (float[2,3] x) => (float[2,3] y) {
   [call] y = local.Twice <alpha: float = 2.0> (x)
}
<domain: "local", opset_import: ["" : 21]>
Twice <alpha> (a) => (c) {
   [inner] b = LeakyRelu <alpha: float = @alpha> (a)
   [sum] c = Add (b, b)
}"""

CONSTANT = """
<ir_version: 10, opset_import: ["" : 21]>
main () => (float[3] y) {
   [const] y = Constant <value: tensor = float[3] {1, 2, 3}> ()
}"""

CASES = []


def add(title, model, *names, gap=None):
    CASES.append(Case(title, model, names, gap))


def case(title, text, edit, *names, gap=None):
    """A case made from a valid model in the textual syntax."""
    model = parser.parse_model(text)
    edit(model)
    add(title, model, *names, gap=gap)


def attribute(node, name):
    return next(a for a in node.attribute if a.name == name)


def branch(model, name="then_branch"):
    return attribute(model.graph.node[0], name).g


def body(model):
    return attribute(model.graph.node[0], "body").g


def scalar(name, kind=TensorProto.FLOAT, dims=()):
    return helper.make_tensor_value_info(name, kind, dims)


def each(*edits):
    """Several edits as one."""
    return lambda model: [edit(model) for edit in edits]
