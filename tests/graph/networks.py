#!/usr/bin/python3
"""Networks in the shape of ResNet-20 and MobileNetV2 for images of 3 × 32 × 32, and a small one for those of MNIST, as ONNX, with random
weights and fitting batch norms.

usage: networks.py (resnet20|mobilenetv2|digits) MODEL.onnx [--images COUNT FILE.npy] [--seed N]

The weights are those of [He15] before training. Each batch norm has the mean and variance that its input has on random images, as
after training, so that values keep their size through the network. --images writes other such images.
"""
import argparse
import sys

import numpy as np

try:
    import onnx
    from onnx import helper, numpy_helper
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

SIDE = 32


def images(count, seed, channels=3, side=SIDE):
    """Smooth patterns with noise: neighbours are alike, as in pictures."""
    random = np.random.default_rng(seed)
    coarse = random.normal(size=(count, channels, 8, 8))
    fine = coarse.repeat(4, axis=2).repeat(4, axis=3)[:, :, :side, :side]
    return (fine + 0.3 * random.normal(size=fine.shape)).astype(np.float32)


def convolve(x, weights, stride, padding, groups):
    """NumPy's, for the statistics alone."""
    outputs, inputs, height, width = weights.shape
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (height, width), axis=(2, 3))[:, :, ::stride, ::stride]
    if groups == 1:
        return np.einsum("nchwij,ocij->nohw", windows, weights, optimize=True)
    return np.einsum("nchwij,cij->nchw", windows, weights[:, 0], optimize=True)


class Network:
    """A graph that grows, and its values on a few images."""

    def __init__(self, seed, channels=3, side=SIDE):
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors, self.values = [], [], {"image": images(4, seed + 1000, channels, side)}
        self.last, self.count = "image", 0

    def tensor(self, stem, values):
        name = f"{stem}{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(self, operation, inputs, value, **attributes):
        self.count += 1
        name = f"{operation.lower()}_{self.count}"
        self.nodes.append(helper.make_node(operation, inputs, [name], name=name, **attributes))
        self.values[name] = value.astype(np.float32)
        self.last = name
        return name

    def channels(self):
        return self.values[self.last].shape[1]

    def convolution(self, outputs, size, stride=1, groups=1, activation=None):
        """With its batch norm and activation."""
        x, inputs = self.last, self.channels() // groups
        weights = self.random.normal(scale=np.sqrt(2 / (inputs * size * size)), size=(outputs, inputs, size, size)).astype(np.float32)
        padding = size // 2
        y = convolve(self.values[x], weights, stride, padding, groups)
        self.node("Conv", [x, self.tensor("weight", weights)], y, kernel_shape=[size, size], strides=[stride, stride],
                  pads=[padding] * 4, group=groups)
        mean, variance = y.mean(axis=(0, 2, 3)), y.var(axis=(0, 2, 3)) + 1e-3
        gamma = self.random.uniform(0.7, 1.3, outputs)
        beta = self.random.normal(scale=0.2, size=outputs)
        parameters = [self.tensor(name, np.asarray(values, dtype=np.float32))
                      for name, values in (("gamma", gamma), ("beta", beta), ("mean", mean), ("variance", variance))]
        shape = (1, outputs, 1, 1)
        y = (y - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + 1e-5) * gamma.reshape(shape) + beta.reshape(shape)
        self.node("BatchNormalization", [self.last, *parameters], y)
        return self.activate(activation)

    def activate(self, activation):
        y = self.values[self.last]
        if activation == "Relu":
            self.node("Relu", [self.last], np.maximum(y, 0))
        elif activation == "Clip":
            bounds = [self.tensor("bound", np.float32(bound)) for bound in (0, 6)]
            self.node("Clip", [self.last, *bounds], np.clip(y, 0, 6))
        return self.last

    def add(self, a, b):
        return self.node("Add", [a, b], self.values[a] + self.values[b])

    def classifier(self, classes):
        pooled = self.values[self.last].mean(axis=(2, 3), keepdims=True)
        self.node("GlobalAveragePool", [self.last], pooled)
        self.dense(classes)

    def max_pool(self):
        """The largest of 2 × 2."""
        images_, channels, height, width = self.values[self.last].shape
        windows = self.values[self.last].reshape(images_, channels, height // 2, 2, width // 2, 2)
        self.node("MaxPool", [self.last], windows.max(axis=(3, 5)), kernel_shape=[2, 2], strides=[2, 2])

    def dense(self, classes):
        pooled = self.values[self.last]
        flat = pooled.reshape(pooled.shape[0], -1)
        self.node("Flatten", [self.last], flat)
        weights = self.random.normal(scale=np.sqrt(1 / flat.shape[1]), size=(classes, flat.shape[1])).astype(np.float32)
        bias = self.random.normal(scale=0.1, size=classes).astype(np.float32)
        self.node("Gemm", [self.last, self.tensor("weight", weights), self.tensor("bias", bias)], flat @ weights.T + bias, transB=1)

    def model(self, name):
        image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["N", *self.values["image"].shape[1:]])
        self.nodes[-1].output[0] = "logits"
        logits = helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["N", self.values[self.last].shape[1]])
        graph = helper.make_graph(self.nodes, name, [image], [logits], self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


def resnet20(seed=1):
    network = Network(seed)
    network.convolution(16, 3, activation="Relu")
    for channels in (16, 32, 64):
        for block in range(3):
            stride = 2 if block == 0 and channels > 16 else 1
            begin = shortcut = network.last
            if stride == 2:
                shortcut = network.convolution(channels, 1, stride)
                network.last = begin
            network.convolution(channels, 3, stride, activation="Relu")
            network.convolution(channels, 3)
            network.add(network.last, shortcut)
            network.activate("Relu")
    network.classifier(10)
    return network.model("resnet20")


def mobilenetv2(seed=1):
    network = Network(seed)
    network.convolution(32, 3, activation="Clip")
    for expansion, channels, blocks, first_stride in ((1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                                      (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            begin, inputs = network.last, network.channels()
            if expansion > 1:
                network.convolution(inputs * expansion, 1, activation="Clip")
            network.convolution(inputs * expansion, 3, stride, groups=inputs * expansion, activation="Clip")
            network.convolution(channels, 1)
            if stride == 1 and inputs == channels:
                network.add(network.last, begin)
    network.convolution(1280, 1, activation="Clip")
    network.classifier(10)
    return network.model("mobilenetv2")


def digits(seed=1):
    """Two convolutions with pools and a product, for grey images of 28 × 28."""
    network = Network(seed, 1, 28)
    for channels in (32, 64):
        network.convolution(channels, 3, activation="Relu")
        network.max_pool()
    network.dense(10)
    return network.model("digits")


NETWORKS = {"resnet20": resnet20, "mobilenetv2": mobilenetv2}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=[*NETWORKS, "digits"])
    parser.add_argument("model")
    parser.add_argument("--images", nargs=2, metavar=("COUNT", "FILE"))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with open(given.model, "wb") as file:
        file.write({**NETWORKS, "digits": digits}[given.network](given.seed).SerializeToString())
    if given.images:
        shape = (1, 28) if given.network == "digits" else (3, SIDE)
        np.save(given.images[1], images(int(given.images[0]), given.seed + 1, *shape))


if __name__ == "__main__":
    main()
