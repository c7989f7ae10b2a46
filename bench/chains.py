"""Models of a thousand tiny nodes in a chain, and of a Loop: what is left of their time is the cost of a node.

No node can be folded or dropped: operands are inputs of the graph (or weights of a convolution or normalization that
differ from node to node), and each node reads what the one before it made. Values after the first, the tenth and the
hundredth node are outputs as well, because many chains end at the same numbers whatever they began with. All maps
are contractions, so rounding does not grow along a chain.
"""

import numpy
from onnx import TensorProto, helper, numpy_helper

LENGTH = 1000  # nodes, and turns of the Loop
TAPS = (1, 10, 100)
WIDTH = 8
MAP = (1, 4, 4, 4)
LOOP_OPS = ("Identity", "Mul", "Add", "Tanh", "Sub", "Sigmoid")


class Chain:
    """A model that grows at one end."""

    def __init__(self, name, shape):
        self.name, self.shape = name, shape
        self.nodes, self.weights, self.outputs = [], [], []
        self.generator = numpy.random.default_rng(0)
        self.value = "x"

    def weight(self, array):
        self.weights.append(numpy_helper.from_array(numpy.asarray(array), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def random(self, *shape):
        return self.generator.uniform(-1, 1, shape).astype("f4")

    def add(self, op, *others, **attributes):
        name = f"v{len(self.nodes) + 1}"
        self.nodes.append(helper.make_node(op, [self.value, *others], [name], name=f"n{len(self.nodes) + 1}", **attributes))
        self.value = name
        if len(self.nodes) in TAPS:
            self.outputs.append(name)

    def model(self):
        def info(name):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shape)

        outputs = [onnx_output(name) for name in (*self.outputs, self.value)]
        graph = helper.make_graph(self.nodes, self.name, [info(name) for name in "xab"], outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def onnx_output(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def inputs(shape):
    """a and b nearly cancel, so that adding one after the other stays small."""
    generator = numpy.random.default_rng(1)
    x, a, b = (generator.uniform(0.25, 0.75, shape).astype("f4") for _ in range(3))
    return {"x": x, "a": a, "b": (-a + 0.001 * b).astype("f4")}


# ---- one node at a time --------------------------------------------------------------------------------

def add(chain):
    chain.add("Add", "ab"[len(chain.nodes) % 2])


def cos(chain):
    chain.add("Cos")


def conv(chain):
    channels = chain.shape[1]
    weights = 0.8 * chain.random(channels, channels, 3, 3) / (3 * numpy.sqrt(channels))
    chain.add("Conv", chain.weight(weights.astype("f4")), chain.weight(chain.random(channels)), pads=[1, 1, 1, 1])


def softmax(chain):
    chain.add("Softmax", axis=-1)


def layer_normalization(chain):
    scale, bias = 0.4 + 0.1 * chain.random(chain.shape[-1]), chain.random(chain.shape[-1])
    chain.add("LayerNormalization", chain.weight(scale), chain.weight(bias), axis=-1)


# ---- several -------------------------------------------------------------------------------------------

def elementwise(chain):
    op = ("Mul", "Add", "Tanh", "Sub", "Sigmoid")[len(chain.nodes) % 5]
    chain.add(op, *{"Mul": "a", "Add": "b", "Sub": "a"}.get(op, ""))


def network(chain):
    place = len(chain.nodes) % 5
    if place == 0:
        conv(chain)
    elif place == 2:
        chain.add("Add", "a")
    else:
        chain.add({1: "Sigmoid", 3: "Softmax", 4: "Cos"}[place])


def moves(chain):
    """Shapes change and come back; Cos between them keeps moves from being merged."""
    place = len(chain.nodes) % 6
    if place == 0:
        chain.add("Transpose", perm=[1, 0])
    elif place == 1:
        chain.add("Reshape", chain.weight(numpy.array([2, WIDTH // 2], "i8")))
    elif place == 2:
        chain.add("Concat", chain.value, axis=0)
    elif place == 3:
        chain.add("Slice", chain.weight(numpy.array([1], "i8")), chain.weight(numpy.array([3], "i8")),
                  chain.weight(numpy.array([0], "i8")))
    elif place == 4:
        chain.add("Reshape", chain.weight(numpy.array(chain.shape, "i8")))
    else:
        chain.add("Cos")


# ---- all -----------------------------------------------------------------------------------------------

CHAINS = {
    "Add": (add, (1, WIDTH)),
    "Cos": (cos, (1, WIDTH)),
    "Conv": (conv, MAP),
    "Softmax": (softmax, (1, WIDTH)),
    "LayerNormalization": (layer_normalization, (1, WIDTH)),
    "mixed elementwise": (elementwise, (1, WIDTH)),
    "mixed network": (network, MAP),
    "mixed moves": (moves, (1, WIDTH)),
}
LOOP = "Loop"


def make_chain(name, length):
    grow, shape = CHAINS[name]
    chain = Chain(name, shape)
    while len(chain.nodes) < length:
        grow(chain)
    return chain.model(), inputs(shape)


def make_loop(turns):
    """Turns over six nodes on eight floats."""
    body_nodes = [helper.make_node("Identity", ["go"], ["go_on"])]
    value = "v"
    for number, op in enumerate(LOOP_OPS[1:]):
        others = {"Mul": ["a"], "Add": ["b"], "Sub": ["a"]}.get(op, [])
        body_nodes.append(helper.make_node(op, [value, *others], [f"t{number}"]))
        value = f"t{number}"

    def info(name, elem_type=TensorProto.FLOAT, shape=(WIDTH,)):
        return helper.make_tensor_value_info(name, elem_type, shape)

    body = helper.make_graph(body_nodes, "body",
                             [info("i", TensorProto.INT64, ()), info("go", TensorProto.BOOL, ()), info("v")],
                             [info("go_on", TensorProto.BOOL, ()), info(value)])
    loop = helper.make_node("Loop", ["turns", "yes", "x"], ["y"], body=body)
    weights = [numpy_helper.from_array(numpy.array(turns, "i8"), "turns"),
               numpy_helper.from_array(numpy.array(True), "yes")]
    graph = helper.make_graph([loop], LOOP, [info(name) for name in "xab"], [info("y")], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, inputs((WIDTH,))


def make(name, length=LENGTH):
    """(model, inputs, how many nodes of each operator a run without optimization executes)."""
    if name == LOOP:
        model, feed = make_loop(length)
        return model, feed, {LOOP: 1} | {op: length for op in LOOP_OPS}
    model, feed = make_chain(name, length)
    counts = {}
    for node in model.graph.node:
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    return model, feed, counts
