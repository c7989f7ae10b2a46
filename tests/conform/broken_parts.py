"""Rules of subgraphs (If, Loop, Scan, SequenceMap) and of model-local functions."""
from onnx import AttributeProto, TensorProto, helper

from broken import BRANCHES, FUNCTION, LOOP, PLAIN, SCAN, attribute, body, branch, case, each, scalar


def set_type(info, kind, dims):
    info.CopyFrom(scalar(info.name, kind, dims))


# ---- subgraphs -----------------------------------------------------------------------------------------

case("subgraph without a name", BRANCHES, lambda m: branch(m).ClearField("name"), "choice")
case("subgraph output without a name", BRANCHES, lambda m: branch(m).output[0].ClearField("name"), "choice")
case("subgraph reads what nothing computes", BRANCHES,
     lambda m: branch(m).node[0].input.__setitem__(0, "ghost"), "inner_yes", "ghost")
case("subgraph reads what comes later", BRANCHES,
     lambda m: branch(m).node[0].input.__setitem__(0, "y"), "inner_yes", "y")
case("subgraph reads the other branch", BRANCHES,
     lambda m: branch(m).node[0].input.__setitem__(0, "b"), "inner_yes", "b")
case("subgraph hides an outer value", BRANCHES, each(
    lambda m: branch(m).node[0].output.__setitem__(0, "x"),
    lambda m: setattr(branch(m).output[0], "name", "x")), "inner_yes", "x")
case("subgraph node of no known operator", BRANCHES,
     lambda m: setattr(branch(m).node[0], "op_type", "Rlu"), "inner_yes")
case("subgraph node with too many inputs", BRANCHES,
     lambda m: branch(m).node[0].input.append("x"), "inner_yes")
case("subgraph node with an unknown attribute", BRANCHES, lambda m: branch(m).node[0].attribute.append(
    helper.make_attribute("alpha", 1.0)), "inner_yes", "alpha")
case("subgraph gives a value twice", BRANCHES, lambda m: branch(m).node.add().CopyFrom(branch(m).node[0]), "a")
case("subgraph output that nothing computes", BRANCHES,
     lambda m: setattr(branch(m).output[0], "name", "ghost"), "choice", "ghost",)
case("subgraph output of another type", BRANCHES,
     lambda m: set_type(branch(m).output[0], TensorProto.INT64, [2]), "a")
case("branches of different types", BRANCHES, each(
    lambda m: setattr(branch(m).node[0], "op_type", "Cast"),
    lambda m: branch(m).node[0].attribute.append(helper.make_attribute("to", TensorProto.INT64)),
    lambda m: set_type(branch(m).output[0], TensorProto.INT64, [2])), "choice")
case("branches with different numbers of outputs", BRANCHES,
     lambda m: branch(m).output.add().CopyFrom(branch(m).output[0]), "choice")
case("branch with inputs", BRANCHES, lambda m: branch(m).input.add().CopyFrom(scalar("extra")), "choice")
case("one branch only", BRANCHES, lambda m: m.graph.node[0].attribute.pop(), "choice", "else_branch")
case("condition is no bool", BRANCHES, lambda m: set_type(m.graph.input[0], TensorProto.FLOAT, []), "choice")
case("choice declared with another shape", BRANCHES,
     lambda m: set_type(m.graph.output[0], TensorProto.FLOAT, [3]), "choice", "y")
case("initializer twice in a subgraph", BRANCHES, each(
    lambda m: branch(m).initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [1])),
    lambda m: branch(m).initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [1]))), "w")
case("initializer of wrong size in a subgraph", BRANCHES, lambda m: branch(m).initializer.add(
    name="w", data_type=TensorProto.FLOAT, dims=[2], float_data=[1]), "w")
case("subgraph initializer without an input before IR 4", BRANCHES, each(
    lambda m: setattr(m, "ir_version", 3),
    lambda m: branch(m).initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [1]))), "w")

case("loop body with too few inputs", LOOP, lambda m: body(m).input.pop(), "loop")
case("loop body with too many inputs", LOOP, lambda m: body(m).input.add().CopyFrom(scalar("z")), "loop")
case("loop body with too few outputs", LOOP, lambda m: body(m).output.pop(), "loop")
case("loop body with no outputs", LOOP, lambda m: body(m).ClearField("output"), "loop",
     gap="the body must give the condition, every variable and every stacked output")
case("loop trip count is a float", LOOP, lambda m: set_type(m.graph.input[0], TensorProto.FLOAT, []), "loop")
case("loop condition is a float", LOOP, lambda m: set_type(m.graph.input[1], TensorProto.FLOAT, []), "loop")
case("loop variable changes its type", LOOP, each(
    lambda m: setattr(body(m).node[1], "op_type", "Greater"),
    lambda m: set_type(body(m).output[1], TensorProto.BOOL, [2])))
case("loop variable is declared otherwise", LOOP,
     lambda m: set_type(body(m).input[2], TensorProto.DOUBLE, [2]), "v")
case("loop without a body", LOOP, lambda m: m.graph.node[0].ClearField("attribute"), "loop", "body")
case("loop body shape error", LOOP, lambda m: set_type(m.graph.input[2], TensorProto.FLOAT, [3]), "step")
case("loop body reads a later node", LOOP, lambda m: body(m).node[1].input.__setitem__(0, "item"), "step")
case("loop output declared with another type", LOOP,
     lambda m: set_type(m.graph.output[0], TensorProto.DOUBLE, [2]), "loop", "y")
case("stacked output declared with another rank", LOOP,
     lambda m: set_type(m.graph.output[1], TensorProto.FLOAT, [2]), "loop", "all")

case("scan body with too few inputs", SCAN, lambda m: body(m).input.pop(), "scan")
case("scan body with too few outputs", SCAN, lambda m: body(m).output.pop(), "scan")
case("scan with more scan inputs than inputs", SCAN,
     lambda m: setattr(attribute(m.graph.node[0], "num_scan_inputs"), "i", 5), "scan")
case("scan over a scalar", SCAN, lambda m: set_type(m.graph.input[1], TensorProto.FLOAT, []), "scan")
case("scan axis out of range", SCAN, lambda m: m.graph.node[0].attribute.append(
    helper.make_attribute("scan_input_axes", [7])), "scan", "7")
case("scan axes of the wrong number", SCAN, lambda m: m.graph.node[0].attribute.append(
    helper.make_attribute("scan_input_axes", [0, 0])), "scan")
case("scan directions of the wrong number", SCAN, lambda m: m.graph.node[0].attribute.append(
    helper.make_attribute("scan_input_directions", [0, 0])), "scan",
    gap="there must be one direction for each scan input")
case("scan body without num_scan_inputs", SCAN,
     lambda m: m.graph.node[0].attribute.remove(attribute(m.graph.node[0], "num_scan_inputs")),
     "scan", "num_scan_inputs")
case("scan body shape error", SCAN, lambda m: set_type(m.graph.input[1], TensorProto.FLOAT, [5, 4]), "scan")
case("scan state changes its type", SCAN, lambda m: set_type(m.graph.input[0], TensorProto.INT64, [3]))

# ---- functions -----------------------------------------------------------------------------------------


def function(model):
    return model.functions[0]


case("function without a name", FUNCTION, lambda m: function(m).ClearField("name"))
case("function twice", FUNCTION, lambda m: m.functions.add().CopyFrom(function(m)), "Twice")
case("function input twice", FUNCTION, lambda m: function(m).input.append("a"), "Twice", "a")
case("function output twice", FUNCTION, lambda m: function(m).output.append("c"), "Twice", "c")
case("function attribute twice", FUNCTION, lambda m: function(m).attribute.append("alpha"), "Twice", "alpha")
case("function imports nothing", FUNCTION, lambda m: function(m).ClearField("opset_import"), "Twice")
case("function domain not imported", FUNCTION, lambda m: m.opset_import.pop(), "call", "local")
case("function node of no known operator", FUNCTION,
     lambda m: setattr(function(m).node[1], "op_type", "Ad"), "Twice", "sum")
case("function node reads what nothing computes", FUNCTION,
     lambda m: function(m).node[1].input.__setitem__(0, "ghost"), "Twice", "sum", "ghost")
case("function nodes in the wrong order", FUNCTION,
     lambda m: function(m).node.add().CopyFrom(function(m).node.pop(0)), "Twice", "sum")
case("function value defined twice", FUNCTION, lambda m: function(m).node.add(
    op_type="Relu", name="again", input=["a"], output=["b"]), "Twice", "again", "b")
case("function node with too many inputs", FUNCTION, lambda m: function(m).node[1].input.append("a"),
     "Twice", "sum")
case("function node with an unknown attribute", FUNCTION, lambda m: function(m).node[1].attribute.append(
    helper.make_attribute("beta", 1.0)), "Twice", "sum", "beta")
case("function attribute of another kind", FUNCTION, lambda m: setattr(
    function(m).node[0].attribute[0], "type", AttributeProto.INT), "Twice", "inner", "alpha")
case("function output that nothing computes", FUNCTION, lambda m: function(m).output.__setitem__(0, "ghost"),
     "Twice", "ghost", gap="the caller would read a value that does not exist")
case("function called with too many inputs", FUNCTION, lambda m: m.graph.node[0].input.append("x"), "call",
     gap="the function has no parameter for it")
case("function called with too many outputs", FUNCTION, lambda m: m.graph.node[0].output.append("z"), "call",
     gap="the function gives no such output")
case("function fails on its inputs", FUNCTION,
     lambda m: set_type(m.graph.input[0], TensorProto.STRING, [2, 3]))
case("function result declared otherwise", FUNCTION,
     lambda m: set_type(m.graph.output[0], TensorProto.FLOAT, [2, 4]), "y")
case("function calls itself", FUNCTION, each(
    lambda m: function(m).opset_import.add(domain="local", version=1),
    lambda m: function(m).node.add(op_type="Twice", domain="local", name="again", input=["a"], output=["d"])),
    "Twice")
case("function of a newer operator set than the model", FUNCTION, each(
    lambda m: setattr(m.opset_import[0], "version", 12),
    lambda m: setattr(function(m).node[1], "op_type", "Gelu"),
    lambda m: function(m).node[1].input.pop()), "Twice")
case("call of a function that is not there", PLAIN, each(
    lambda m: m.opset_import.add(domain="ai.onnx.ml", version=3),
    lambda m: setattr(m.graph.node[1], "domain", "ai.onnx.ml")), "second")
