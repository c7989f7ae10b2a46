"""Rules of the model, the graph, its nodes and their attributes."""
from onnx import AttributeProto, TensorProto, TypeProto, helper

from broken import PLAIN, case, each, scalar

# ---- the model -------------------------------------------------------------------------------------

case("no IR version", PLAIN, lambda m: m.ClearField("ir_version"), "ir_version")
case("IR version of the future", PLAIN, lambda m: setattr(m, "ir_version", 99), "99")
case("no opset import", PLAIN, lambda m: m.ClearField("opset_import"), "opset_import")
case("opset version zero", PLAIN, lambda m: setattr(m.opset_import[0], "version", 0), "0")
case("opset version negative", PLAIN, lambda m: setattr(m.opset_import[0], "version", -3), "-3")
case("opset import before IR 3", PLAIN, lambda m: setattr(m, "ir_version", 2), "2")
case("metadata key twice", PLAIN, lambda m: [m.metadata_props.add(key="k", value=v) for v in "ab"], "k")
case("domain not imported", PLAIN, lambda m: setattr(m.graph.node[1], "domain", "ai.onnx.ml"),
     "second", "ai.onnx.ml")
case("custom domain not imported", PLAIN, lambda m: setattr(m.graph.node[1], "domain", "my.ops"),
     "second", "my.ops")
case("no graph", PLAIN, lambda m: m.ClearField("graph"))

# ---- the graph -------------------------------------------------------------------------------------

case("graph without a name", PLAIN, lambda m: m.graph.ClearField("name"), "name")
case("input without a name", PLAIN, lambda m: m.graph.input.add().CopyFrom(scalar("")), "input")
case("input without a type", PLAIN, lambda m: m.graph.input[0].ClearField("type"), "x")
case("input without element type", PLAIN,
     lambda m: m.graph.input[0].type.tensor_type.ClearField("elem_type"), "x")
case("input of undefined element type", PLAIN,
     lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 0), "x")
case("input of unknown element type", PLAIN,
     lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 99), "x")
case("input without a shape", PLAIN, lambda m: m.graph.input[0].type.tensor_type.ClearField("shape"), "x")
case("input type is empty", PLAIN, lambda m: m.graph.input[0].type.CopyFrom(TypeProto()), "x")
case("sequence without element type", PLAIN,
     lambda m: m.graph.input.add(name="s").type.sequence_type.SetInParent(), "s")
case("optional without element type", PLAIN,
     lambda m: m.graph.input.add(name="s").type.optional_type.SetInParent(), "s")
case("map without types", PLAIN, lambda m: m.graph.input.add(name="s").type.map_type.SetInParent(), "s")
case("map without value type", PLAIN,
     lambda m: setattr(m.graph.input.add(name="s").type.map_type, "key_type", TensorProto.INT64), "s")
case("sparse input without a shape", PLAIN, lambda m: setattr(
    m.graph.input.add(name="s").type.sparse_tensor_type, "elem_type", TensorProto.FLOAT), "s")
case("output without a type", PLAIN, lambda m: m.graph.output[0].ClearField("type"), "y")
case("output without a shape", PLAIN, lambda m: m.graph.output[0].type.tensor_type.ClearField("shape"), "y")
case("input twice", PLAIN, lambda m: m.graph.input.add().CopyFrom(m.graph.input[0]), "x")
case("output without a name", PLAIN, lambda m: m.graph.output.add().CopyFrom(scalar("")), "output")
case("output that nothing computes", PLAIN, lambda m: m.graph.output.add().CopyFrom(scalar("ghost")), "ghost")
case("node reads what nothing computes", PLAIN,
     lambda m: m.graph.node[1].input.__setitem__(0, "ghost"), "second", "ghost")
case("node reads its own output", PLAIN, lambda m: m.graph.node[1].input.__setitem__(0, "y"), "second", "y")
case("nodes in a circle", PLAIN, lambda m: m.graph.node[0].input.__setitem__(0, "y"), "first", "y")
case("nodes in the wrong order", PLAIN, lambda m: m.graph.node.add().CopyFrom(m.graph.node.pop(0)),
     "second", "first")
case("two nodes give one value", PLAIN, lambda m: m.graph.node.add(
    op_type="Neg", name="third", input=["x"], output=["h"]), "third", "h")
case("one node gives a value twice", PLAIN, lambda m: m.graph.node.add(
    op_type="Split", name="third", input=["x"], output=["p", "p"]), "third", "p")
case("node gives an input", PLAIN, lambda m: m.graph.node.add(
    op_type="Neg", name="third", input=["h"], output=["x"]), "third", "x")
case("node gives an initializer", PLAIN, lambda m: m.graph.node.add(
    op_type="Neg", name="third", input=["h"], output=["w"]), "third", "w")
case("initializer twice", PLAIN, lambda m: m.graph.initializer.add().CopyFrom(m.graph.initializer[0]), "w")
case("initializer without a name", PLAIN, lambda m: m.graph.initializer[0].ClearField("name"), "initializer")
case("initializer without an input before IR 4", PLAIN, lambda m: setattr(m, "ir_version", 3), "w")
case("initializer of another type than its input", PLAIN,
     lambda m: m.graph.input.add().CopyFrom(scalar("w", TensorProto.DOUBLE, [3])), "w")
case("initializer of another shape than its input", PLAIN,
     lambda m: m.graph.input.add().CopyFrom(scalar("w", TensorProto.FLOAT, [4])), "w")
case("initializer of another rank than its input", PLAIN,
     lambda m: m.graph.input.add().CopyFrom(scalar("w", TensorProto.FLOAT, [1, 3])), "w")
case("value info of another type", PLAIN,
     lambda m: m.graph.value_info.add().CopyFrom(scalar("h", TensorProto.INT64, [2, 3])), "first", "h")
case("value info of another shape", PLAIN,
     lambda m: m.graph.value_info.add().CopyFrom(scalar("h", TensorProto.FLOAT, [2, 4])), "first", "h")
case("value info of another rank", PLAIN,
     lambda m: m.graph.value_info.add().CopyFrom(scalar("h", TensorProto.FLOAT, [2])), "first", "h")
case("output of another type", PLAIN,
     lambda m: m.graph.output[0].CopyFrom(scalar("y", TensorProto.DOUBLE, [2, 3])), "second", "y")
case("output of another shape", PLAIN,
     lambda m: m.graph.output[0].CopyFrom(scalar("y", TensorProto.FLOAT, [2, 5])), "second", "y")
case("output of another rank", PLAIN,
     lambda m: m.graph.output[0].CopyFrom(scalar("y", TensorProto.FLOAT, [2, 3, 1])), "second", "y")
case("output is declared a sequence", PLAIN, lambda m: m.graph.output[0].CopyFrom(
    helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)), "second", "y")

# ---- nodes -------------------------------------------------------------------------------------------

case("node without an operator", PLAIN, lambda m: m.graph.node[1].ClearField("op_type"), "second")
case("node without inputs and outputs", PLAIN, lambda m: m.graph.node.add(op_type="Relu", name="third"), "third")
case("operator that does not exist", PLAIN, lambda m: setattr(m.graph.node[1], "op_type", "Rlu"), "second", "Relu")
case("operator in the wrong case", PLAIN, lambda m: setattr(m.graph.node[1], "op_type", "relu"), "second", "Relu")
case("operator that came later", PLAIN, each(
    lambda m: setattr(m.graph.node[1], "op_type", "Gelu"),
    lambda m: setattr(m.opset_import[0], "version", 17)), "second", "20")
case("operator that is gone", PLAIN, lambda m: setattr(m.graph.node[1], "op_type", "Upsample"), "second")
case("operator that was deprecated", PLAIN, each(
    lambda m: setattr(m.graph.node[1], "op_type", "Scatter")), "second")
case("too few inputs", PLAIN, lambda m: m.graph.node[0].input.pop(), "first")
case("too many inputs", PLAIN, lambda m: m.graph.node[1].input.append("x"), "second")
case("too few outputs", PLAIN, lambda m: m.graph.node.add(op_type="TopK", name="third", input=["x", "w"],
                                                          output=["p"]), "third")
case("too many outputs", PLAIN, lambda m: m.graph.node[1].output.append("z"), "second")
case("needed input left out", PLAIN, lambda m: m.graph.node[0].input.__setitem__(0, ""), "first")
case("variadic input left out", PLAIN, each(
    lambda m: setattr(m.graph.node[0], "op_type", "Sum"),
    lambda m: m.graph.node[0].input.__setitem__(0, "")), "first")
case("needed output left out", PLAIN, lambda m: m.graph.node.add(
    op_type="Relu", name="third", input=["x"], output=[""]), "third")

# ---- attributes ----------------------------------------------------------------------------------------


def leaky(edit, *names, title, gap=None):
    """A LeakyRelu with attribute alpha, which `edit` then changes."""
    def change(m):
        m.graph.node[1].op_type = "LeakyRelu"
        edit(m.graph.node[1].attribute.add(name="alpha", f=0.1, type=AttributeProto.FLOAT))
    case(title, PLAIN, change, "second", *names, gap=gap)


leaky(lambda a: setattr(a, "name", "beta"), "beta", title="unknown attribute")
leaky(lambda a: a.ClearField("name"), title="attribute without a name")
leaky(lambda a: a.ClearField("type"), "alpha", title="attribute without a kind")
leaky(lambda a: setattr(a, "type", AttributeProto.INT), "alpha", title="attribute says another kind")
leaky(lambda a: a.CopyFrom(helper.make_attribute("alpha", 1)), "alpha", title="attribute of another kind")
leaky(lambda a: a.CopyFrom(helper.make_attribute("alpha", "1")), "alpha", title="string for a float")
leaky(lambda a: a.CopyFrom(helper.make_attribute("alpha", [0.1])), "alpha", title="list for a float")
leaky(lambda a: setattr(a, "i", 3), "alpha", title="attribute with two values")
leaky(lambda a: a.floats.append(3), "alpha", title="attribute with a value and a list")
leaky(lambda a: setattr(a, "ref_attr_name", "outer"), "alpha", title="reference outside a function",
      gap="outside a function there is no attribute that it could refer to")
case("attribute twice", PLAIN, each(
    lambda m: setattr(m.graph.node[1], "op_type", "LeakyRelu"),
    lambda m: [m.graph.node[1].attribute.add(name="alpha", f=0.1, type=AttributeProto.FLOAT) for _ in "ab"]),
    "second", "alpha")
case("needed attribute missing", PLAIN, lambda m: setattr(m.graph.node[0], "op_type", "Concat"), "first", "axis")
case("needed attribute missing in Cast", PLAIN, lambda m: setattr(m.graph.node[1], "op_type", "Cast"), "second", "to")
case("attribute of a later version", PLAIN, each(
    lambda m: setattr(m.graph.node[1], "op_type", "Flatten"),
    lambda m: m.graph.node[1].attribute.append(helper.make_attribute("axis", -1)),
    lambda m: setattr(m.opset_import[0], "version", 9)), "second")
