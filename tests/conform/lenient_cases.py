"""Models that break a rule of the standard and that onnxruntime runs all the same. Each case is a name, a model and its
inputs."""
import numpy
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

X = numpy.array([[1, -2, 3]], "f4")


def info(name, elem=TensorProto.FLOAT, shape=(1, 3)):
    return helper.make_tensor_value_info(name, elem, shape)


def untyped(name):
    value = ValueInfoProto()
    value.name = name
    return value


def model_of(nodes, outputs, opset=17, ir_version=10, inputs=None, imports=None):
    inputs = [info("x")] if inputs is None else inputs
    imports = [helper.make_opsetid("", opset)] if imports is None else imports
    return helper.make_model(helper.make_graph(nodes, "lenient", inputs, outputs), opset_imports=imports,
                             ir_version=ir_version)


def chain():
    return [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Exp", ["a"], ["b"]),
            helper.make_node("Neg", ["b"], ["y"])]


def order_cases():
    yield "unsorted", model_of(chain()[::-1], [info("y")]), {"x": X}


def output_cases():
    yield "untyped output", model_of(chain(), [untyped("y")]), {"x": X}
    yield "untyped intermediate value", model_of(chain(), [info("y"), untyped("a")]), {"x": X}
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"]), helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    yield "untyped output of a sequence", model_of(nodes, [untyped("y")]), {"x": X}


def import_cases():
    gelu = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    yield "com.microsoft is not imported", model_of([gelu], [info("y")]), {"x": X}
    scaler = helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.5], scale=[2.0])
    yield "ai.onnx.ml is not imported", model_of([scaler], [info("y")]), {"x": X}
    gelu.output[0] = "g"
    nodes = [gelu, helper.make_node("Softmax", ["g"], ["y"])]
    imports = [helper.make_opsetid("com.microsoft", 1)]
    yield "ai.onnx is not imported", model_of(nodes, [info("y")], imports=imports), {"x": X}


def constant_cases():
    for opset in (1, 6, 8):
        text = helper.make_tensor("t", TensorProto.STRING, [2], [b"a", b"b"])
        node = helper.make_node("Constant", [], ["y"], value=text)
        yield f"strings in opset {opset}", model_of([node], [info("y", TensorProto.STRING, [2])], opset, 4, []), {}
        for dtype in ("i8", "i4", "?", "u1"):
            tensor = numpy_helper.from_array(numpy.array([1, 0], dtype))
            node = helper.make_node("Constant", [], ["y"], value=tensor)
            yield f"{dtype} in opset {opset}", model_of([node], [info("y", tensor.data_type, [2])], opset, 4, []), {}


def version_cases():
    for ir_version in (0, 1, 2):
        yield f"imports in IR version {ir_version}", model_of(chain(), [info("y")], 13, ir_version), {"x": X}
    model = model_of(chain(), [info("y")])
    model.graph.name = ""
    yield "a graph without a name", model, {"x": X}
    model = model_of(chain(), [info("y")])
    for value in ("a", "b"):
        model.metadata_props.add(key="key", value=value)
    yield "a metadata key twice", model, {"x": X}


def all_cases():
    for makers in (order_cases, output_cases, import_cases, constant_cases, version_cases):
        yield from makers()
