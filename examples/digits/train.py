"""Trains the digits network and writes digits.onnx, images.npy, labels.npy and calib.npy.

The data are the 1,797 handwritten digits (8x8 pixels) that come with scikit-learn; 360 of them
are held back. Training is plain numpy with a fixed seed and takes about a minute.

usage: python examples/digits/train.py
"""

from pathlib import Path

import numpy as np
import onnx
from layers import BatchNorm, Conv, Gemm, GlobalAveragePool, MaxPool, Relu, Residual, Sequence
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).parent
SEED = 17
N_HELD_BACK = 360
N_CALIBRATION = 100
N_EPOCHS = 40
BATCH = 64
LEARNING_RATE = 0.1
MOMENTUM = 0.9
WEIGHT_DECAY = 5e-4


class GraphWriter:
    """Collects nodes and initializers under readable names."""

    def __init__(self):
        self.nodes = []
        self.initializers = []

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def weight(self, layer, kind):
        return self.constant(f"{layer.name}.{kind}", layer.params[kind])

    def node(self, op, inputs, name, **attributes):
        output = f"{name}.out"
        self.nodes.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output


def make_network(rng):
    block = Residual(
        "block.add",
        Conv("block.conv1", 32, 32, rng),
        BatchNorm("block.bn1", 32),
        Relu("block.relu1"),
        Conv("block.conv2", 32, 32, rng),
        BatchNorm("block.bn2", 32),
    )
    return Sequence(
        "digits",
        Conv("stem.conv", 1, 32, rng),
        BatchNorm("stem.bn", 32),
        Relu("stem.relu"),
        block,
        Relu("block.relu2"),
        MaxPool("pool"),
        Conv("head.conv", 32, 64, rng),
        BatchNorm("head.bn", 64),
        Relu("head.relu"),
        GlobalAveragePool("head.mean"),
        Gemm("classify", 64, 10, rng),
    )


def load_data():
    """Training and held-back images as (n, 1, 8, 8) float32 in 0..1, and their labels."""
    digits = load_digits()
    images = (digits.images[:, None] / 16).astype(np.float32)
    labels = digits.target.astype(np.int64)
    return train_test_split(
        images, labels, test_size=N_HELD_BACK, stratify=labels, random_state=SEED
    )


def softmax_gradient(logits, labels):
    """Gradient of the mean cross-entropy with respect to the logits."""
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(labels)), labels] -= 1
    return p / len(labels)


def shifted(images, rng):
    """Moves the whole batch by at most one pixel."""
    dy, dx = rng.integers(0, 3, 2)
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return padded[:, :, dy : dy + 8, dx : dx + 8]


def train(network, images, labels, rng):
    velocity = {}
    n_steps = N_EPOCHS * (len(images) // BATCH)
    step = 0
    for epoch in range(N_EPOCHS):
        order = rng.permutation(len(images))[: len(images) // BATCH * BATCH]
        for batch in order.reshape(-1, BATCH):
            logits = network.forward(shifted(images[batch], rng), is_training=True)
            network.backward(softmax_gradient(logits, labels[batch]))
            rate = LEARNING_RATE * (1 + np.cos(np.pi * step / n_steps)) / 2
            descend(network, velocity, rate)
            step += 1
        print(f"epoch {epoch + 1:2}: training accuracy {accuracy(network, images, labels):.2%}")


def descend(network, velocity, rate):
    for part in network.parts():
        for kind, value in part.params.items():
            key = (part.name, kind)
            gradient = part.grads[kind] + WEIGHT_DECAY * value
            velocity[key] = MOMENTUM * velocity.get(key, 0) + gradient
            value -= rate * velocity[key]


def accuracy(network, images, labels):
    return (network.forward(images, is_training=False).argmax(1) == labels).mean()


def to_onnx(network):
    writer = GraphWriter()
    last = network.export(writer, "image")
    writer.nodes[-1].output[0] = "logits"
    assert last == "classify.out"
    graph = helper.make_graph(
        writer.nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
        writer.initializers,
    )
    model = helper.make_model(
        graph, producer_name="hone-digits", opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    rng = np.random.default_rng(SEED)
    images, held_back, labels, held_back_labels = load_data()
    network = make_network(rng)
    train(network, images, labels, rng)
    print(f"held-back accuracy {accuracy(network, held_back, held_back_labels):.2%}")

    onnx.save(to_onnx(network), HERE / "digits.onnx")
    np.save(HERE / "images.npy", held_back)
    np.save(HERE / "labels.npy", held_back_labels)
    np.save(HERE / "calib.npy", images[:N_CALIBRATION])


if __name__ == "__main__":
    main()
