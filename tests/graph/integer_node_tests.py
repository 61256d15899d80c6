"""ONNX's operators of integers, QLinearConv and QLinearMatMul, as its tests of single nodes have them.

The weights of these tests less their zero points need nine bits, so no test is computed by the unit as it stands. Each has variants
whose weights are clipped to int8, stored as int8 and as uint8 with the zero point 128. What ONNX defines is computed here.
"""
import numpy as np
import onnx
from error_bounds import different_bits
from onnx import helper, numpy_helper

OPERATIONS = {"QLinearConv", "QLinearMatMul"}
WEIGHTS, WEIGHT_ZERO = 3, 5


def model_of(case, arrays):
    """The test's node, whose first input is the graph's; the others are constants."""
    node = onnx.NodeProto()
    node.CopyFrom(case.model.graph.node[0])
    node.name = case.name
    ports = [helper.make_tensor_value_info(name, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape)
             for name, array in ((node.input[0], arrays[0]), (node.output[0], case.data_sets[0][1][0]))]
    constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in zip(node.input[1:], arrays[1:])]
    model = helper.make_model(helper.make_graph([node], case.name, ports[:1], ports[1:], constants), opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


def as_defined(operation, arrays):
    """ONNX's result, for products of matrices and convolutions with windows of one pixel."""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = [np.asarray(array).astype(np.float64) for array in arrays]
    if operation == "QLinearConv":
        assert w.shape[2:] == (1, 1)
        sums = np.einsum("nchw,oc->nohw", x - x_zero, (w - w_zero.reshape(-1, 1, 1, 1))[:, :, 0, 0])
        w_scale = w_scale.reshape(-1, 1, 1)
    else:
        sums = (x - x_zero) @ (w - w_zero)
    to = np.asarray(arrays[7]).dtype
    levels = np.rint(sums * x_scale * w_scale / y_scale) + y_zero
    return np.clip(levels, np.iinfo(to).min, np.iinfo(to).max).astype(to)


def variants(case):
    """Names, arrays and expected results: the test itself first."""
    arrays, operation = list(case.data_sets[0][0]), case.model.graph.node[0].op_type
    yield "", arrays, np.asarray(case.data_sets[0][1][0])
    weights = np.clip(arrays[WEIGHTS].astype(int) - np.asarray(arrays[WEIGHT_ZERO]).astype(int), -127, 127)
    for name, dtype, zero in (("weights of int8", np.int8, 0), ("weights of uint8", np.uint8, 128)):
        changed = list(arrays)
        changed[WEIGHTS] = (weights + zero).astype(dtype)
        changed[WEIGHT_ZERO] = np.full_like(np.asarray(arrays[WEIGHT_ZERO]), zero, dtype=dtype)
        yield name, changed, as_defined(operation, changed)


def compute(commands, case, arrays, expected, folder):
    """The type, what is wrong, the greatest error in steps of the scale, and as a share of the step that is allowed, in a list."""
    model = model_of(case, arrays)
    golden, unit = commands.run(model, {model.graph.input[0].name: arrays[0]}, folder)
    found = unit[model.graph.output[0].name]
    steps = int(np.max(np.abs(found.astype(int) - expected.astype(int)))) if found.shape == expected.shape else 255
    wrong = f"{found.dtype} {found.shape}: differs by {steps} steps" if steps > 1 or found.dtype != expected.dtype else ""
    return [(str(expected.dtype), different_bits(golden, unit) or wrong, steps, steps)]
