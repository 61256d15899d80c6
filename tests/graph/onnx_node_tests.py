#!/usr/bin/python3
"""ONNX's own backend tests of single nodes, through `tributary model run`.

usage: onnx_node_tests.py TRIBUTARY [--list]

Each test of an operation that the graph knows must pass, or be refused with an error for a reason that LEFT_OUT gives. Tests of
other operations are counted. --list prints the tests that are not run, with the reason.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np

try:
    import onnx
    import onnx.numpy_helper
except ImportError:
    print("python3-onnx is not installed")
    sys.exit(77)

TAKEN = {np.dtype(name) for name in ("float32", "int8", "uint8", "int32", "int64", "bool")}

# By a part of the test's name. The command must refuse each of these; one that it computes must be taken off this list.
LEFT_OUT = {
    "training": ("batchnorm_example_training", "batchnorm_epsilon_training", "training_dropout", "dropout_default_mask"),
    "a second output": ("maxpool_with_argmax",),
    "padding by other modes": ("edge_pad", "reflect_pad"),
    "resizing by other modes": ("linear", "cubic", "tf_crop_and_resize"),
    "operator sets before 13, in which the operation was another one": ("dropout_default_old", "dropout_random_old", "celu_expanded"),
}

# What these take beside the data must be constants in a graph: its shapes are planned.
SHAPED_BY_INPUTS = {"Reshape", "Expand", "Slice", "Pad", "Squeeze", "Unsqueeze", "Split", "ReduceSum", "Resize"}


def as_arrays(values):
    """Scalars of NumPy, such as the bounds of Clip, are arrays as well."""
    return [np.asarray(value) if isinstance(value, np.generic) else value for value in values]


def cases():
    """All node tests of the installed package. It was written for an older NumPy."""
    for name, stands_for in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in np.__dict__:
            setattr(np, name, stands_for)
    from onnx.backend.test.case.node import collect_testcases
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    for case in found:
        case.data_sets = [tuple(as_arrays(side) for side in data) for data in case.data_sets]
    return found


def arrays_of(values):
    return all(isinstance(value, np.ndarray) and value.dtype in TAKEN for value in values)


def with_constants(case, inputs):
    """The test's model in operator set 13 at least, with the integers that shape its result as constants, and the inputs left."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    set_of = next(each for each in model.opset_import if each.domain in ("", "ai.onnx"))
    if set_of.version < 13 and all(onnx.defs.get_schema(node.op_type, 13).since_version ==
                                   onnx.defs.get_schema(node.op_type, set_of.version).since_version
                                   for node in model.graph.node):
        set_of.version = 13
    if model.graph.node[0].op_type not in SHAPED_BY_INPUTS or len(model.graph.node) > 1:
        return model, list(inputs)
    left = []
    for port, value in zip(list(model.graph.input), inputs):
        shapes = value.dtype == np.int64 or model.graph.node[0].op_type == "Resize"
        if port.name != model.graph.node[0].input[0] and shapes:
            model.graph.input.remove(port)
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, port.name))
        else:
            left.append(value)
    return model, left


def run(tributary, case, inputs, folder):
    """The outputs, or the command's error as a text."""
    path = folder / "model.onnx"
    model, inputs = with_constants(case, inputs)
    path.write_bytes(model.SerializeToString())
    command = [tributary, "model", "run", str(path), "--out", str(folder / "out"), "--json"]
    for number, (port, value) in enumerate(zip(model.graph.input, inputs)):
        np.save(folder / f"{number}.npy", np.array(value, order="C"))
        command += ["--input", f"{port.name}={folder / f'{number}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return done.stderr.strip()
    return [np.load(path) for path in json.loads(done.stdout)["files"]]


def difference(found, expected, case):
    """What is wrong with the outputs; "" if nothing."""
    for got, want in zip(found, expected):
        want = np.asarray(want)
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"{got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
        if not np.allclose(got, want, rtol=case.rtol, atol=case.atol, equal_nan=True):
            return f"differs by {np.max(np.abs(got.astype(float) - want.astype(float)))}"
    return ""


def main():
    tributary, listed = sys.argv[1], "--list" in sys.argv
    known = set(json.loads(subprocess.run([tributary, "model", "run", "--operations", "--json"], capture_output=True,
                                          check=True, text=True).stdout)["operations"])
    counts, faults = collections.Counter(), []
    for case in cases():
        operations = {node.op_type for node in case.model.graph.node}
        if not operations <= known | {"Constant"}:
            counts["other operations"] += 1
            continue
        inputs, outputs = case.data_sets[0]
        if not arrays_of(inputs) or not arrays_of(outputs):
            counts["other types"] += 1
            if listed:
                print(f"{case.name}: another type")
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = run(tributary, case, inputs, pathlib.Path(folder))
        if isinstance(found, str):
            reason = next((reason for reason, names in LEFT_OUT.items() if any(name in case.name for name in names)), None)
            counts[reason or "refused"] += 1
            if listed:
                print(f"{case.name}: {reason}: {found}")
            if reason is None:
                faults.append(f"{case.name} was refused: {found}")
            continue
        wrong = difference(found, outputs, case)
        counts["failed" if wrong else "passed"] += 1
        if wrong:
            faults.append(f"{case.name}: {wrong}")
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    for fault in faults:
        print(fault)
    return 1 if faults or counts["passed"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
