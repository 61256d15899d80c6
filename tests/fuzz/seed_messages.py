"""Messages of protobuf that fuzzing starts from."""

import math
import struct

from seed_bytes import GROUPS, LONG, MAX_BYTES, field, fill, gather, many, numbered, varint


def answers():
    return {
        "size_name": field(1, field(1, LONG)),
        "times": field(1, field(1, b"s") + b"\x21" + b"\1" + bytes(6) + b"\x80") + b"\x11" + b"\xff" * 7 + b"\x7f",
        "depth_groups": GROUPS,
        "count_nodes": fill(field(1, field(1, b"s"))),
        "count_learns": many(1, 12),
        "count_learns_of_a_long_name": many(1, 12, head=field(2, b"n" * (MAX_BYTES // 2))),
        **{f"count_{number}": many(number) for number in range(1, 5)},
    }


def frames():
    return {
        "size_values": field(2, field(6, bytes(MAX_BYTES - 32))),
        "depth_groups": GROUPS,
        "count_frames": many(2),
        "count_sources": many(1, 4),
        "count_leaves": many(1, 4, 3),
        "count_watched_leaves": many(3),
        "count_classes": many(1, 4, 4),
        "count_watched_classes": many(6),
        "size_probabilities": field(2, field(10, bytes(MAX_BYTES - 32))),
    }


def tasks():
    return {
        "size_name": field(1, LONG),
        "depth_groups": GROUPS,
        "count_nodes": many(5, 4),
        "count_masking_nodes": many(3, 8, 2),
        "count_masking_shares": many(3, 8, 3),
        "count_survivors": many(6, 3),
    }


def serial_lines():
    """The first byte is the pace."""
    return {
        "commands": b"\1?\n-1\n" + b"1 " * 40 + b"\n-2\n" + b"-5 " * 22 + b"\n0\n2\n1,2,3,4,5\n1,2,3,4,5\n2\n1,2,3\n4,5,6\n",
        "faults": b"\1" + b"1\n1,2,5000\n\n\n1\n1,\x93,3\n\n\n16\n\n\n-\n\n\n99999999999\n\n\n1\n0,0,0\n",
        "slow": b"\xff1\n1,2,3\n-2\n1 2",
        "size_number": fill(b"1", b"\1"),
        "size_noise": fill(b"\xfe", b"\1"),
        "count_separators": fill(b"\n", b"\1"),
        "count_samples": fill(b"1,2,3,4,5\n", b"\0000\n4096\n"),
    }


def answers_of_trainers():
    """Messages behind their lengths in two bytes."""
    def framed(message):
        return struct.pack("<H", len(message)) + message

    chunk = field(2, field(2, struct.pack("<40f", *range(40))))
    return {
        "whole": framed(field(1)) + framed(chunk) + framed(field(3)),
        "count_progress": framed(field(1)) * (MAX_BYTES // 4),
        "size_chunk": framed(field(2, field(2, bytes(60_000)))),
        "depth_groups": framed(GROUPS[:60_000]),
    }


def updates():
    node = field(1, b"n") + field(2, b"b" * 16)
    return {
        "size_message": field(3, b"n") + field(4, b"b" * 16) + field(6, b"\x1b" * (MAX_BYTES - 64)),
        "size_chunk": field(2, field(3, bytes(MAX_BYTES - 32))),
        "depth_groups": GROUPS,
        "count_workloads": many(6, head=node),
        "count_encodings": node + field(7, b"\1" * (MAX_BYTES - 64)),
        "count_contributors": many(1, 11),
    }


def onnx_files():
    graphs = b""
    while len(graphs) < MAX_BYTES // 16:
        graphs = field(1, field(5, field(6, graphs)))  # in an attribute of a node of the one before
    return {
        "size_doc": field(6, LONG) + field(7),
        "size_shape": field(7, field(5, field(1, b"\1" * (MAX_BYTES - 32)))),
        "depth_graphs": field(7, graphs),
        "depth_groups": GROUPS,
        "count_metadata": gather((field(14, field(1, key)) for key in numbered(b"%d")), field(7)),
        "count_metadata_of_one_key": fill(field(14), field(7)),
        "count_nodes": many(7, 1),
        "count_tensors": many(7, 5),
        "count_inputs": many(7, 11),
    }


# Graphs that run, for each kind of operation

def onnx_integer(number, value):
    return varint(number << 3) + varint(value)


def onnx_value(name, shape, kind=1):
    dimensions = b"".join(field(1, onnx_integer(1, size)) for size in shape)
    return field(1, name) + field(2, field(1, onnx_integer(1, kind) + field(2, dimensions)))


def onnx_tensor(name, shape, values, kind=1):
    raw = struct.pack(f"<{len(values)}{ {1: 'f', 2: 'B', 3: 'b', 6: 'i', 7: 'q'}[kind]}", *values)
    return b"".join(onnx_integer(1, size) for size in shape) + onnx_integer(2, kind) + field(8, name) + field(9, raw)


def onnx_attribute(name, value):
    if isinstance(value, list):
        return field(1, name) + b"".join(onnx_integer(8, number) for number in value) + onnx_integer(20, 7)
    return field(1, name) + onnx_integer(3, value) + onnx_integer(20, 2)


def onnx_model(operation, shape, constants=(), outputs=(b"y",), **attributes):
    """One node: its first input is the graph's, the others are constants (shape, values, type)."""
    names = [b"c%d" % number for number, _ in enumerate(constants)]
    node = field(1, b"x") + b"".join(field(1, name) for name in names) + b"".join(field(2, name) for name in outputs) + field(4, operation)
    node += b"".join(field(5, onnx_attribute(name.encode(), value)) for name, value in attributes.items())
    tensors = b"".join(field(5, onnx_tensor(name, *constant)) for name, constant in zip(names, constants))
    return onnx_graph(field(1, node), shape, tensors, outputs)


def onnx_graph(nodes, shape, tensors, outputs):
    graph = nodes + field(11, onnx_value(b"x", shape)) + tensors + b"".join(field(12, onnx_value(name, ())) for name in outputs)
    return onnx_integer(1, 8) + field(7, graph) + field(8, onnx_integer(2, 13))


def onnx_chain(shape, tensors, *nodes):
    """Nodes (operation, inputs, output, attributes); tensors (name, shape, values, type). The last node gives y."""
    def written(operation, inputs, output, attributes):
        return (b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, operation) +
                b"".join(field(5, onnx_attribute(name.encode(), value)) for name, value in attributes.items()))
    return onnx_graph(b"".join(field(1, written(*node)) for node in nodes), shape,
                      b"".join(field(5, onnx_tensor(*tensor)) for tensor in tensors), (b"y",))


def onnx_quantised(operation, weights, **attributes):
    """x, quantised, through an operation with int8 weights and a sum with itself, and back."""
    tensors = [(b"s", (), [0.05], 1), (b"z", (), [100], 2), (b"w", weights, [i % 255 - 127 for i in range(math.prod(weights))], 3),
               (b"ws", (weights[0],), [0.01] * weights[0], 1), (b"b", (weights[0],), [7] * weights[0], 6)]
    return onnx_chain(
        (1, 4, 5, 5) if len(weights) > 2 else (2, 4), tensors,
        (b"QuantizeLinear", (b"x", b"s", b"z"), b"xq", {}), (b"DequantizeLinear", (b"xq", b"s", b"z"), b"xf", {}),
        (b"DequantizeLinear", (b"w", b"ws"), b"wf", {"axis": 0}), (b"DequantizeLinear", (b"b", b"ws"), b"bf", {"axis": 0}),
        (operation, (b"xf", b"wf", b"bf"), b"c", attributes), (b"Relu", (b"c",), b"r", {}),
        (b"QuantizeLinear", (b"r", b"s", b"z"), b"q", {}), (b"DequantizeLinear", (b"q", b"s", b"z"), b"f", {}),
        (b"Add", (b"f", b"f"), b"a", {}), (b"QuantizeLinear", (b"a", b"s", b"z"), b"aq", {}),
        (b"DequantizeLinear", (b"aq", b"s", b"z"), b"y", {}))


def onnx_integers(operation, shape, weights, **attributes):
    tensors = [(b"s", (), [0.05], 1), (b"z", (), [100], 2), (b"w", weights, [i % 255 - 127 for i in range(math.prod(weights))], 3),
               (b"wz", (), [3], 3)]
    return onnx_chain(shape, tensors, (b"QuantizeLinear", (b"x", b"s", b"z"), b"q", {}),
                      (operation, (b"q", b"w", b"z", b"wz"), b"y", attributes))


def onnx_requantised(operation, shape, weights, *between, **attributes):
    """x, quantised, through an operator of integers with weights of uint8, and nodes of integers behind it."""
    tensors = [(b"s", (), [0.05], 1), (b"z", (), [100], 2), (b"w", weights, [i % 255 + 1 for i in range(math.prod(weights))], 2),
               (b"ws", (1,), [0.01], 1), (b"wz", (1,), [128], 2)]
    return onnx_chain(shape, tensors, (b"QuantizeLinear", (b"x", b"s", b"z"), b"q", {}),
                      (operation, (b"q", b"s", b"z", b"w", b"ws", b"wz", b"s", b"z"), b"y" if not between else b"p", attributes), *between)


def onnx_normed():
    """A convolution with its batch norm and a pool, in floats."""
    channels = [(name, (2,), [1.0, 2.0], 1) for name in (b"g", b"b", b"m", b"v")]
    return onnx_chain(
        (1, 3, 6, 6), [(b"w", (2, 3, 3, 3), [0.1] * 54, 1), *channels],
        (b"Conv", (b"x", b"w"), b"c", {"pads": [1, 1, 1, 1]}), (b"BatchNormalization", (b"c", b"g", b"b", b"m", b"v"), b"n", {}),
        (b"Relu", (b"n",), b"r", {}), (b"MaxPool", (b"r",), b"p", {"kernel_shape": [2, 2]}), (b"Flatten", (b"p",), b"y", {}))


def graphs():
    def integers(*values):
        return ((len(values),), values, 7)

    image = (1, 2, 5, 5)
    weights = ((2, 1, 3, 3), [0.5] * 18, 1)
    return onnx_files() | {
        "valid_conv": onnx_model(b"Conv", image, [weights], group=2, pads=[1, 1, 1, 1], strides=[2, 2]),
        "valid_pool": onnx_model(b"AveragePool", image, kernel_shape=[2, 2], ceil_mode=1, count_include_pad=1),
        "valid_gemm": onnx_model(b"Gemm", (2, 3), [((4, 3), [1.0] * 12, 1), ((4,), [1.0] * 4, 1)], transB=1),
        "valid_matmul": onnx_model(b"MatMul", (2, 1, 3), [((1, 3, 2), [1.0] * 6, 1)]),
        "valid_slice": onnx_model(b"Slice", (4, 5), [integers(3, -1), integers(-9, 1), integers(0, 1), integers(-2, -1)]),
        "valid_pad": onnx_model(b"Pad", (2, 2), [integers(1, 0, 0, 2)]),
        "valid_gather": onnx_model(b"Gather", (3, 2), [integers(2, -1)], axis=0),
        "valid_reshape": onnx_model(b"Reshape", (3, 4), [integers(0, 2, -1)]),
        "valid_expand": onnx_model(b"Expand", (3, 1), [integers(2, 1, 4)]),
        "valid_transpose": onnx_model(b"Transpose", (2, 3, 4), perm=[2, 0, 1]),
        "valid_split": onnx_model(b"Split", (4, 2), [integers(1, 3)], (b"y", b"z")),
        "valid_softmax": onnx_model(b"Softmax", (2, 3), axis=0),
        "valid_reduce": onnx_model(b"ReduceSum", (2, 3, 2), [integers(0, 2)], keepdims=0),
        "valid_argmax": onnx_model(b"ArgMax", (2, 3), axis=1),
        "valid_quantise": onnx_model(b"QuantizeLinear", (2, 3), [((3,), [0.5, 1.0, 2.0], 1)], axis=1),
        "valid_cast": onnx_model(b"Cast", (2, 3), to=3),
        "valid_quantised_conv": onnx_quantised(b"Conv", (4, 4, 3, 3), pads=[1, 1, 1, 1]),
        "valid_quantised_depthwise": onnx_quantised(b"Conv", (4, 1, 3, 3), group=4),
        "valid_quantised_gemm": onnx_quantised(b"Gemm", (4, 4), transB=1),
        "valid_batch_norm": onnx_normed(),
        "valid_layer_norm": onnx_model(b"LayerNormalization", (2, 3), [((3,), [1.0] * 3, 1), ((1,), [0.5], 1)], axis=1),
        "valid_resize": onnx_model(b"Resize", (1, 2, 3, 3), [((0,), [], 1), ((4,), [1.0, 1.0, 2.0, 1.5], 1)]),
        "valid_integer_conv": onnx_integers(b"ConvInteger", (1, 2, 5, 5), (2, 1, 3, 3), group=2, strides=[2, 1]),
        "valid_integer_matmul": onnx_integers(b"MatMulInteger", (3, 4), (4, 2)),
        "valid_qlinear_conv": onnx_requantised(b"QLinearConv", (1, 2, 5, 5), (3, 2, 3, 3), (b"MaxPool", (b"p",), b"m", {"kernel_shape": [2, 2]}),
                                               (b"Flatten", (b"m",), b"y", {}), pads=[1, 1, 1, 1]),
        "valid_qlinear_matmul": onnx_requantised(b"QLinearMatMul", (3, 4), (4, 2)),
        "valid_pow": onnx_model(b"Pow", (2, 3), [((3,), [1.0, 2.0, 0.5], 1)]),
    }
