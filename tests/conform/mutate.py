"""Small damages to valid models, as people and converters make them. Each keeps the file readable.

A mutation takes a model and a random generator, changes the model in place and returns the names
that a good message mentions one of (node or value), or None when the model has nothing to damage.
"""
import onnx
from onnx import AttributeProto, TensorProto, helper

TYPES = [TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.STRING,
         TensorProto.UINT8, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT8]


def name_nodes(graph, prefix="n"):
    """Gives every node a name, so that messages can be held against it."""
    for i, node in enumerate(graph.node):
        node.name = node.name or f"{prefix}_{i}"
        for attribute in node.attribute:
            if attribute.HasField("g"):
                name_nodes(attribute.g, f"{prefix}_{i}")


def pick_node(model, rng):
    return rng.choice(model.graph.node) if model.graph.node else None


def pick_tensor_info(infos, rng):
    tensors = [v for v in infos if v.type.WhichOneof("value") == "tensor_type"]
    return rng.choice(tensors) if tensors else None


def readers(model, value):
    """Who is to blame for a value: itself, and the nodes that read or write it."""
    names = {value}
    for node in model.graph.node:
        if value in node.input or value in node.output:
            names.add(node.name)
    return names


# ---- nodes -----------------------------------------------------------------------------------------

def drop_input(model, rng):
    node = pick_node(model, rng)
    if not node or not node.input:
        return None
    del node.input[rng.randrange(len(node.input))]
    return {node.name}


def blank_input(model, rng):
    node = pick_node(model, rng)
    if not node or not node.input:
        return None
    node.input[rng.randrange(len(node.input))] = ""
    return {node.name}


def add_input(model, rng):
    node = pick_node(model, rng)
    if not node or not node.input:
        return None
    node.input.append(node.input[0])
    return {node.name}


def swap_inputs(model, rng):
    node = pick_node(model, rng)
    if not node or len(node.input) < 2:
        return None
    i, j = rng.sample(range(len(node.input)), 2)
    node.input[i], node.input[j] = node.input[j], node.input[i]
    return {node.name, *node.input, *node.output}


def read_undefined(model, rng):
    node = pick_node(model, rng)
    if not node or not node.input:
        return None
    node.input[rng.randrange(len(node.input))] = "undefined_value"
    return {node.name}


def add_output(model, rng):
    node = pick_node(model, rng)
    if not node:
        return None
    node.output.append("one_more_output")
    return {node.name}


def repeat_output(model, rng):
    node = pick_node(model, rng)
    if not node or not node.output:
        return None
    model.graph.node.add().CopyFrom(node)
    model.graph.node[-1].name = "repeated"
    return {"repeated", node.name, *node.output}


def drop_node(model, rng):
    node = pick_node(model, rng)
    if not node:
        return None
    lost = set(node.output)
    model.graph.node.remove(node)
    return lost | {n.name for n in model.graph.node if lost & set(n.input)}


def reverse_nodes(model, _rng):
    nodes = list(reversed(model.graph.node))
    if len(nodes) < 2:
        return None
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return {n.name for n in nodes}


def unknown_op(model, rng):
    node = pick_node(model, rng)
    if not node:
        return None
    node.op_type += "2"
    return {node.name}


def other_op(model, rng):
    node = pick_node(model, rng)
    if not node:
        return None
    node.op_type = rng.choice(["Relu", "Add", "Conv", "MatMul", "Concat", "Reshape", "Gather", "Slice",
                               "Softmax", "Cast", "Transpose", "If", "Where", "Gemm", "ReduceSum"])
    return {node.name, *node.output}


def unknown_domain(model, rng):
    node = pick_node(model, rng)
    if not node:
        return None
    node.domain = "no.such.domain"
    return {node.name}


# ---- attributes ------------------------------------------------------------------------------------

def pick_attribute(model, rng):
    nodes = [n for n in model.graph.node if n.attribute]
    if not nodes:
        return None, None
    node = rng.choice(nodes)
    return node, rng.choice(node.attribute)


def unknown_attribute(model, rng):
    node = pick_node(model, rng)
    if not node:
        return None
    node.attribute.append(helper.make_attribute("no_such_attribute", 1))
    return {node.name}


def drop_attribute(model, rng):
    node, attribute = pick_attribute(model, rng)
    if not node:
        return None
    node.attribute.remove(attribute)
    return {node.name, *node.output}


def repeat_attribute(model, rng):
    node, attribute = pick_attribute(model, rng)
    if not node:
        return None
    node.attribute.add().CopyFrom(attribute)
    return {node.name}


def other_attribute_kind(model, rng):
    node, attribute = pick_attribute(model, rng)
    if not node:
        return None
    values = [v for v in (7, 0.5, "text", [1, 2], [0.5], ["a"])
              if helper.make_attribute("x", v).type != attribute.type]
    attribute.CopyFrom(helper.make_attribute(attribute.name, rng.choice(values)))
    return {node.name}


def other_attribute_value(model, rng):
    node, attribute = pick_attribute(model, rng)
    if not node:
        return None
    if attribute.type == AttributeProto.INT:
        attribute.i = rng.choice([-100, -3, 2, 17, 100])
    elif attribute.type == AttributeProto.INTS:
        if attribute.ints and rng.random() < 0.5:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice([-100, -1, 0, 3, 100])
        elif attribute.ints and rng.random() < 0.5:
            attribute.ints.pop()
        else:
            attribute.ints.append(rng.choice([0, 1, 2]))
    elif attribute.type == AttributeProto.STRING:
        attribute.s = b"no_such_choice"
    else:
        return None
    return {node.name, *node.output}


def attribute_without_kind(model, rng):
    node, attribute = pick_attribute(model, rng)
    if not node:
        return None
    attribute.ClearField("type")
    return {node.name}


def attribute_says_other_kind(model, rng):
    node, attribute = pick_attribute(model, rng)
    if not node:
        return None
    attribute.type = rng.choice([t for t in (1, 2, 3, 6, 7, 8) if t != attribute.type])
    return {node.name}


# ---- types and shapes --------------------------------------------------------------------------------

def other_type(infos, model, rng):
    info = pick_tensor_info(infos, rng)
    if not info:
        return None
    tensor = info.type.tensor_type
    tensor.elem_type = rng.choice([t for t in TYPES if t != tensor.elem_type])
    return readers(model, info.name)


def other_dim(infos, model, rng):
    info = pick_tensor_info(infos, rng)
    dims = [d for d in info.type.tensor_type.shape.dim if d.HasField("dim_value")] if info else []
    if not dims:
        return None
    rng.choice(dims).dim_value += rng.choice([1, 2, 5])
    return readers(model, info.name)


def other_rank(infos, model, rng):
    info = pick_tensor_info(infos, rng)
    if not info or not info.type.tensor_type.HasField("shape"):
        return None
    dims = info.type.tensor_type.shape.dim
    if dims and rng.random() < 0.5:
        dims.pop()
    else:
        dims.add().dim_value = rng.choice([1, 2])
    return readers(model, info.name)


def other_kind_of_type(infos, model, rng):
    info = pick_tensor_info(infos, rng)
    if not info:
        return None
    inner = onnx.TypeProto()
    inner.CopyFrom(info.type)
    info.type.Clear()
    rng.choice([info.type.sequence_type, info.type.optional_type]).elem_type.CopyFrom(inner)
    return readers(model, info.name)


def on_inputs(change):
    return lambda model, rng: change(model.graph.input, model, rng)


def on_outputs(change):
    return lambda model, rng: change(model.graph.output, model, rng)


def without_type(model, rng):
    infos = list(model.graph.input) + list(model.graph.output)
    info = rng.choice(infos) if infos else None
    if not info:
        return None
    info.ClearField("type")
    return {info.name}


def repeat_input(model, _rng):
    if not model.graph.input:
        return None
    model.graph.input.add().CopyFrom(model.graph.input[0])
    return {model.graph.input[0].name}


# ---- initializers and versions -----------------------------------------------------------------------

def initializer_dims(model, rng):
    if not model.graph.initializer:
        return None
    tensor = rng.choice(model.graph.initializer)
    if tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] += 1
    else:
        tensor.dims.append(3)
    return {tensor.name}


def initializer_type(model, rng):
    if not model.graph.initializer:
        return None
    tensor = rng.choice(model.graph.initializer)
    tensor.data_type = rng.choice([t for t in TYPES if t != tensor.data_type])
    return readers(model, tensor.name)


def drop_initializer(model, rng):
    if not model.graph.initializer:
        return None
    tensor = rng.choice(model.graph.initializer)
    names = readers(model, tensor.name)
    model.graph.initializer.remove(tensor)
    return names


def repeat_initializer(model, rng):
    if not model.graph.initializer:
        return None
    tensor = rng.choice(model.graph.initializer)
    model.graph.initializer.add().CopyFrom(tensor)
    return {tensor.name}


def older_opset(model, rng):
    if not model.opset_import:
        return None
    entry = rng.choice(model.opset_import)
    entry.version = rng.randint(1, max(1, entry.version - 1))
    return {n.name for n in model.graph.node} | {v for n in model.graph.node for v in n.output}


MUTATIONS = {
    "drop_input": drop_input, "blank_input": blank_input, "add_input": add_input,
    "swap_inputs": swap_inputs, "read_undefined": read_undefined, "add_output": add_output,
    "repeat_output": repeat_output, "drop_node": drop_node, "reverse_nodes": reverse_nodes,
    "unknown_op": unknown_op, "other_op": other_op, "unknown_domain": unknown_domain,
    "unknown_attribute": unknown_attribute, "drop_attribute": drop_attribute,
    "repeat_attribute": repeat_attribute, "other_attribute_kind": other_attribute_kind,
    "other_attribute_value": other_attribute_value, "attribute_without_kind": attribute_without_kind,
    "attribute_says_other_kind": attribute_says_other_kind,
    "input_type": on_inputs(other_type), "input_dim": on_inputs(other_dim),
    "input_rank": on_inputs(other_rank), "input_kind": on_inputs(other_kind_of_type),
    "output_type": on_outputs(other_type), "output_dim": on_outputs(other_dim),
    "output_rank": on_outputs(other_rank), "output_kind": on_outputs(other_kind_of_type),
    "without_type": without_type, "repeat_input": repeat_input,
    "initializer_dims": initializer_dims, "initializer_type": initializer_type,
    "drop_initializer": drop_initializer, "repeat_initializer": repeat_initializer,
    "older_opset": older_opset,
}
