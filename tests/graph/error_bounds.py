"""How far a quantised graph's result may be from that of its float graph, by the steps that its own scales state.

The error of a value is bounded from node to node. `QuantizeLinear` adds half a step of its scale, for one rounding: the examples held
these inputs, so nothing is clipped by more. The tensor unit rounds up to SLACK of a step off the tie (fpga/model/tensor_layout.h).
A product of weights w and a value of error e adds Σ|w|·e, and its own weights' errors times the largest value that they meet. A sum
adds its operands' errors. Pools, moves, `Relu` and `Clip` give no result that is further off than what they read.
"""
import numpy as np
from onnx import helper, numpy_helper

SLACK = 1 / 64  # of a sum of two tensors; other layers have half of it
MOST_STEPS = 12  # a bound above this would say nothing of a result of eight bits


def constants_of(model):
    """All constants by name, dequantised ones as well."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        if node.op_type == "DequantizeLinear" and node.input[0] in values:
            integers, scale = values[node.input[0]].astype(np.float64), values[node.input[1]].astype(np.float64)
            if scale.size > 1:
                axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
                scale = scale.reshape([-1 if d == axis else 1 for d in range(integers.ndim)])
            values[node.output[0]] = integers * scale  # zero points of constants are 0
    return values


def of_product(node, floats, constants, error, peak, unit):
    """The greatest error of a product's results. `floats`: its node in the float graph, with its constants; `unit`: of a sum."""
    float_node, float_constants = floats
    weights = float_constants[float_node.input[1]].astype(np.float64)
    moved = np.abs(constants[node.input[1]] - weights)
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    outputs_first = node.op_type == "Conv" or attributes.get("transB", 0)
    axes = tuple(range(1, weights.ndim)) if outputs_first else (0,)
    total = np.abs(weights).sum(axes) * error + moved.sum(axes) * (peak + error)
    total = total * attributes.get("alpha", 1.0) + unit / 2  # the bias is a whole number of sums
    if len(node.input) > 2 and node.input[2]:
        bias = np.abs(constants[node.input[2]] - float_constants[float_node.input[2]])
        total = total + attributes.get("beta", 1.0) * bias.max()
    return float(np.max(total))


def of_graph(quantised, model, given):
    """The greatest error of each value, and the scale of each that is quantised."""
    constants, float_constants = constants_of(quantised), constants_of(model)
    float_nodes = {node.name: node for node in model.graph.node}
    errors = {name: 0.0 for name in given}
    peaks = {name: float(np.max(np.abs(values), initial=0)) for name, values in given.items()}
    scales = {}
    for node in quantised.graph.node:
        output = node.output[0]
        if output in constants:
            continue
        before = [name for name in node.input if name in errors]
        error = sum(errors[name] for name in before) if node.op_type == "Add" else errors[before[0]]
        peaks[output] = peaks.get(before[0], np.inf)
        if node.op_type == "QuantizeLinear":
            scales[output] = float(constants[node.input[1]])
            error += scales[output] * (0.5 + SLACK)
        elif node.op_type == "DequantizeLinear":
            scales[output] = scales[node.input[0]]
        elif node.op_type in ("Conv", "MatMul", "Gemm"):
            unit = scales[before[0]] * step_of_weights(quantised, constants, node)
            error = of_product(node, (float_nodes[node.name], float_constants), constants, error, peaks[before[0]], unit)
            peaks[output] = np.inf  # a product with another's result is in none of the tests
        errors[output] = error
    return errors, scales


def step_of_weights(quantised, constants, node):
    """The largest scale of a product's weights."""
    producer = next(each for each in quantised.graph.node if each.output[0] == node.input[1])
    return float(np.max(constants[producer.input[1]]))


def different_bits(golden, unit, prefix=""):
    """Which output of two runs, by the beginning of its name, has other bits; "" if none."""
    names = (name for name in golden if name.startswith(prefix) and golden[name].tobytes() != unit[name].tobytes())
    return next((f"{name} has other bits on the unit" for name in names), "")


def difference(quantised, model, given, found, expected):
    """What is wrong with a result, or ""; its greatest error in steps of its scale, and as a share of the bound."""
    if found.shape != expected.shape:
        return f"{found.shape}, expected {expected.shape}", 0, 0
    errors, scales = of_graph(quantised, model, given)
    output = model.graph.output[0].name
    bound, step = errors[output], scales[output]
    error = float(np.max(np.abs(found.astype(np.float64) - expected), initial=0))
    measured = error / step, error / bound
    if bound > MOST_STEPS * step:
        return f"the bound of {bound / step:.1f} steps says nothing", *measured
    # float32 has 24 bits: what ONNX states is itself rounded.
    if not error <= bound + 1e-6 * float(np.max(np.abs(expected), initial=0)):
        return f"differs by {error / step:.2f} steps of {step:.3g}; at most {bound / step:.2f} are due to quantisation", *measured
    return "", *measured
