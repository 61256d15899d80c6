#!/usr/bin/python3
"""Features of images by an ONNX encoder, as text, one image per line.

Usage: encoder_onnx_evaluate.py MODEL IMAGES   (IMAGES: raw uint8, as many as the file holds)
Exit 77 without onnx or numpy. Checks the model and the run that its metadata names, then computes with onnx's
reference evaluator; where that is missing (it came with onnx 1.13, Debian 12 has 1.12), with the definitions of the
few operators that the export uses.
"""
import sys

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as error:
    print(error)
    sys.exit(77)


def convolve(x, weights, kernel_shape, pads):
    assert kernel_shape == [3, 3] and pads == [1, 1, 1, 1]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.einsum("ncyxij,ocij->noyx", windows, weights, optimize=True)


def normalise(x, scale, shift, mean, variance, epsilon):
    def channel(values):
        return values[None, :, None, None]
    return (x - channel(mean)) / np.sqrt(channel(variance) + epsilon) * channel(scale) + channel(shift)


def max_pool(x, kernel_shape, strides):
    assert kernel_shape == strides == [2, 2]
    height, width = x.shape[2] // 2, x.shape[3] // 2
    return x[:, :, :2 * height, :2 * width].reshape(*x.shape[:2], height, 2, width, 2).max(axis=(3, 5))


OPERATORS = {
    "Abs": np.abs,
    "Add": np.add,
    "BatchNormalization": normalise,
    "Cast": lambda x, to: x.astype(onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[to]),
    "Clip": np.clip,
    "Conv": convolve,
    "DequantizeLinear": lambda x, scale, zero: (x.astype(np.int32) - zero) * scale,
    "Div": np.divide,
    "Flatten": lambda x: x.reshape(x.shape[0], -1),
    "MatMul": np.matmul,
    "MaxPool": max_pool,
    "Mul": np.multiply,
    "QuantizeLinear": lambda x, scale, zero: np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8),
    "ReduceMean": lambda x, axes: x.mean(axis=tuple(axes), keepdims=True),
    "Relu": lambda x: np.maximum(x, 0),
    "Reshape": lambda x, shape: x.reshape([n if size == 0 else size for n, size in zip(x.shape, shape)]),
}


def evaluate(model, images):
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values["images"] = images
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = OPERATORS[node.op_type](*(values[name] for name in node.input), **attributes)
    return values["features"]


def main():
    model = onnx.load(sys.argv[1])
    onnx.checker.check_model(model, full_check=True)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert metadata["run"] == "letters" and metadata["round"] == "12", metadata
    channels, side = (model.graph.input[0].type.tensor_type.shape.dim[i].dim_value for i in (1, 2))
    images = np.fromfile(sys.argv[2], dtype=np.uint8).reshape(-1, channels, side, side)
    try:
        from onnx.reference import ReferenceEvaluator
    except ImportError:
        features = evaluate(model, images)
    else:
        features = ReferenceEvaluator(model).run(None, {"images": images})[0]
    for row in features:
        print(" ".join(f"{value:.9g}" for value in row))


if __name__ == "__main__":
    main()
