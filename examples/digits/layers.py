"""The layers of the digits network in plain numpy: forward, backward, and as an ONNX node.

Every layer keeps what its backward pass needs, lists its trained arrays in `params` (name ->
array) and leaves their gradients in `grads`. Images are NCHW, float32.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


class Layer:
    def __init__(self, name):
        self.name = name
        self.params = {}
        self.grads = {}

    def parts(self):
        """The layers with parameters, innermost first."""
        return [self]


class Conv(Layer):
    """3x3 convolution that keeps the size of the image; no bias, a BatchNorm follows."""

    def __init__(self, name, n_in, n_out, rng):
        super().__init__(name)
        scale = np.sqrt(2 / (n_in * 9))
        self.params["weight"] = rng.normal(0, scale, (n_out, n_in, 3, 3)).astype(np.float32)

    def forward(self, x, is_training):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = sliding_window_view(padded, (3, 3), axis=(2, 3))  # n c h w 3 3
        n, c, h, w = x.shape
        self.columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 9)
        weight = self.params["weight"].reshape(-1, c * 9)
        return (self.columns @ weight.T).reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, grad):
        n, n_out, h, w = grad.shape
        weight = self.params["weight"]
        rows = grad.transpose(0, 2, 3, 1).reshape(-1, n_out)
        self.grads["weight"] = (rows.T @ self.columns).reshape(weight.shape)
        spread = (rows @ weight.reshape(n_out, -1)).reshape(n, h, w, -1, 3, 3)
        padded = np.zeros((n, weight.shape[1], h + 2, w + 2), np.float32)
        for i in range(3):
            for j in range(3):
                padded[:, :, i : i + h, j : j + w] += spread[..., i, j].transpose(0, 3, 1, 2)
        return padded[:, :, 1:-1, 1:-1]

    def export(self, graph, x):
        return graph.node(
            "Conv", [x, graph.weight(self, "weight")], self.name, kernel_shape=[3, 3], pads=[1] * 4
        )


class BatchNorm(Layer):
    EPSILON = 1e-5
    MOMENTUM = 0.1  # share of the newest batch in the running statistics

    def __init__(self, name, n_channels):
        super().__init__(name)
        self.params["scale"] = np.ones(n_channels, np.float32)
        self.params["bias"] = np.zeros(n_channels, np.float32)
        self.mean = np.zeros(n_channels, np.float32)
        self.var = np.ones(n_channels, np.float32)

    def forward(self, x, is_training):
        mean, var = self.mean, self.var
        if is_training:
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean += self.MOMENTUM * (mean - self.mean)
            self.var += self.MOMENTUM * (var - self.var)
        self.inverse = 1 / np.sqrt(var + self.EPSILON)
        self.normal = (x - mean[:, None, None]) * self.inverse[:, None, None]
        scale, bias = self.params["scale"], self.params["bias"]
        return self.normal * scale[:, None, None] + bias[:, None, None]

    def backward(self, grad):
        self.grads["bias"] = grad.sum((0, 2, 3))
        self.grads["scale"] = (grad * self.normal).sum((0, 2, 3))
        n = grad.size // grad.shape[1]
        centered = (
            grad
            - self.grads["bias"][:, None, None] / n
            - self.normal * self.grads["scale"][:, None, None] / n
        )
        return centered * (self.params["scale"] * self.inverse)[:, None, None]

    def export(self, graph, x):
        inputs = [x, graph.weight(self, "scale"), graph.weight(self, "bias")]
        inputs.append(graph.constant(f"{self.name}.mean", self.mean))
        inputs.append(graph.constant(f"{self.name}.var", self.var))
        return graph.node("BatchNormalization", inputs, self.name, epsilon=self.EPSILON)


class Relu(Layer):
    def forward(self, x, is_training):
        self.positive = x > 0
        return x * self.positive

    def backward(self, grad):
        return grad * self.positive

    def export(self, graph, x):
        return graph.node("Relu", [x], self.name)


class MaxPool(Layer):
    """2x2 windows, without overlap."""

    def forward(self, x, is_training):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        best = blocks.max((3, 5), keepdims=True)
        self.chosen = blocks == best
        self.chosen = self.chosen / self.chosen.sum((3, 5), keepdims=True)  # ties share
        return best.reshape(n, c, h // 2, w // 2)

    def backward(self, grad):
        n, c, h, w = grad.shape
        spread = self.chosen * grad.reshape(n, c, h, 1, w, 1)
        return spread.reshape(n, c, h * 2, w * 2).astype(np.float32)

    def export(self, graph, x):
        return graph.node("MaxPool", [x], self.name, kernel_shape=[2, 2], strides=[2, 2])


class GlobalAveragePool(Layer):
    """The mean of every channel, flattened to one row per image."""

    def forward(self, x, is_training):
        self.shape = x.shape
        return x.mean((2, 3))

    def backward(self, grad):
        n, c, h, w = self.shape
        return np.broadcast_to(grad[:, :, None, None] / (h * w), self.shape)

    def export(self, graph, x):
        x = graph.node("GlobalAveragePool", [x], self.name)
        return graph.node("Flatten", [x], f"{self.name}.flatten")


class Gemm(Layer):
    def __init__(self, name, n_in, n_out, rng):
        super().__init__(name)
        self.params["weight"] = rng.normal(0, np.sqrt(1 / n_in), (n_out, n_in)).astype(np.float32)
        self.params["bias"] = np.zeros(n_out, np.float32)

    def forward(self, x, is_training):
        self.x = x
        return x @ self.params["weight"].T + self.params["bias"]

    def backward(self, grad):
        self.grads["weight"] = grad.T @ self.x
        self.grads["bias"] = grad.sum(0)
        return grad @ self.params["weight"]

    def export(self, graph, x):
        weights = [graph.weight(self, "weight"), graph.weight(self, "bias")]
        return graph.node("Gemm", [x, *weights], self.name, transB=1)


class Sequence(Layer):
    def __init__(self, name, *layers):
        super().__init__(name)
        self.layers = layers

    def parts(self):
        return [part for layer in self.layers for part in layer.parts()]

    def forward(self, x, is_training):
        for layer in self.layers:
            x = layer.forward(x, is_training)
        return x

    def backward(self, grad):
        for layer in reversed(self.layers):
            grad = layer.backward(grad)
        return grad

    def export(self, graph, x):
        for layer in self.layers:
            x = layer.export(graph, x)
        return x


class Residual(Sequence):
    """Adds its input to what its layers make of it."""

    def forward(self, x, is_training):
        return x + super().forward(x, is_training)

    def backward(self, grad):
        return grad + super().backward(grad)

    def export(self, graph, x):
        return graph.node("Add", [super().export(graph, x), x], self.name)
