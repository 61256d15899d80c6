#!/usr/bin/python3
"""Quantises networks in the shape of ResNet-20 and MobileNetV2, and runs them in integers: on the processor, and as programs of the
tensor unit on its golden model.

usage: quantised_networks.py TRIBUTARY [--seeds N]

Layer by layer, on the operands that the integers gave, each result must be within one step of what ONNX says in floats. The plan
must give the unit at least 99 % of the multiply-accumulates and 95 % of the nodes.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import networks  # which ends with 77 without python3-onnx
import onnx
from onnx import helper

IMAGES = 16
LEAST_PRODUCTS, LEAST_NODES = 0.99, 0.95


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(str(word) for word in words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def run(tributary, model, inputs, folder, *options):
    """The outputs of a model by name, and what the command says."""
    path = folder / "run.onnx"
    path.write_bytes(model.SerializeToString())
    words = [tributary, "model", "run", path, "--out", folder / "out", "--json", "--memory-mib", 1024, *options]
    for number, (name, value) in enumerate(inputs.items()):
        np.save(folder / f"in{number}.npy", value)
        words += ["--input", f"{name}={folder / f'in{number}.npy'}"]
    said = command(*words)
    return {port["name"]: np.load(file) for port, file in zip(said["outputs"], said["files"])}, said


def with_integers(model):
    """The model with every quantised value as an output."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            shown.graph.output.append(helper.make_empty_tensor_value_info(node.output[0]))
    return shown


def unrolled(model, values):
    """Each layer for itself: what it reads becomes an input of the graph. The model, and which value each input has."""
    producers = {output: node for node in model.graph.node for output in node.output}
    nodes, inputs, outputs, read = [], {}, [], set()

    def follow(name, layer):
        """The name, within the layer, of a value of the model."""
        producer = producers.get(name)
        if producer is None:  # a constant
            return name
        inner = f"{layer}/{name}"
        if inner in read:
            return inner
        read.add(inner)
        node = onnx.NodeProto()
        node.CopyFrom(producer)
        if producer.op_type == "DequantizeLinear" and producer.input[0] in values:
            inputs[f"{inner}/in"] = producer.input[0]
            node.input[0] = f"{inner}/in"
        else:
            for i, value in enumerate(producer.input):
                node.input[i] = follow(value, layer)
        node.output[0] = node.name = inner
        nodes.append(node)
        return inner

    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and node.input[0] != "image":
            outputs.append((follow(node.output[0], node.output[0]), node.output[0]))
    types = {np.dtype("uint8"): onnx.TensorProto.UINT8, np.dtype("int8"): onnx.TensorProto.INT8}
    ports = [helper.make_tensor_value_info(name, types[values[value].dtype], values[value].shape) for name, value in inputs.items()]
    graph = helper.make_graph(nodes, "layers", ports, [helper.make_empty_tensor_value_info(name) for name, _ in outputs],
                              list(model.graph.initializer))
    unrolled_model = helper.make_model(graph, opset_imports=model.opset_import)
    unrolled_model.ir_version = model.ir_version
    return unrolled_model, inputs, dict(outputs)


def compare_layers(tributary, model, integers, folder):
    """How many results of layers there are, how many differ from ONNX in floats, and by how much at most."""
    layers, inputs, outputs = unrolled(model, integers)
    given = {name: integers[value] for name, value in inputs.items()}
    expected, _ = run(tributary, layers, given, folder, "--arithmetic", "floats")
    elements = different = most = 0
    for name, value in outputs.items():
        steps = np.abs(expected[name].astype(int) - integers[value].astype(int))
        elements += steps.size
        different += int((steps > 0).sum())
        most = max(most, int(steps.max()))
    return elements, different, most


def check(tributary, name, seed, activations, folder):
    """Faults of a network, as texts."""
    faults = []
    paths = folder / "float.onnx", folder / "examples.npy", folder / "int8.onnx"
    network = networks.NETWORKS[name](seed)
    paths[0].write_bytes(network.SerializeToString())
    np.save(paths[1], networks.images(IMAGES, seed + 1))
    report = command(tributary, "model", "quantise", paths[0], "--calibration", f"image={paths[1]}", "--out", paths[2], "--json",
                     "--activations", activations)
    model = onnx.load(str(paths[2]))
    onnx.checker.check_model(model)
    image = {"image": networks.images(1, seed + 2)}
    floats, _ = run(tributary, network, image, folder)
    label = f"{name} seed {seed} {activations}"
    print(f"{label}: relative error of the logits {report['output_relative_errors']['logits']:.3f} on {IMAGES} examples; the largest layer's "
          f"{max(layer['relative_error'] for layer in report['layers']):.3f}")
    for target in ("cpu", "tensor-model"):
        options = ("--accelerator", target)
        plain, _ = run(tributary, model, image, folder, *options)
        shown, _ = run(tributary, with_integers(model), image, folder, *options)
        elements, different, most = compare_layers(tributary, model, shown, folder)
        error = np.linalg.norm(plain["logits"] - floats["logits"]) / np.linalg.norm(floats["logits"])
        print(f"{label} {target}: {different} of {elements} results of layers differ, by {most} at most; logits {error:.3f} from float")
        if most > 1 or elements == 0:
            faults.append(f"{label} {target}: a layer is {most} steps from ONNX")
        # Without the outputs in the middle, sums are part of other commands: the same bits.
        if not np.array_equal(plain["logits"], shown["logits"]):
            faults.append(f"{label} {target}: the fused program gives other bits")
        # Eight bits all through: far from another image's logits.
        if error > 0.5:
            faults.append(f"{label} {target}: the logits are {error:.2f} from float")
    plan = command(tributary, "model", "run", paths[2], "--plan", "--accelerator", "tensor-model", "--strict", "--json")
    shares = plan["accelerator"]
    print(f"{label} plan: {shares['share_of_nodes']:.1%} of {len(plan['nodes'])} nodes, {shares['share_of_multiply_accumulates']:.2%} of "
          f"{plan['multiply_accumulates']} multiply-accumulates, {shares['cycles']} cycles, utilisation {shares['utilisation']:.1%}")
    if shares["share_of_nodes"] < LEAST_NODES or shares["share_of_multiply_accumulates"] < LEAST_PRODUCTS:
        faults.append(f"{label}: too little on the unit")
    return faults


def main():
    tributary = sys.argv[1]
    seeds = int(sys.argv[sys.argv.index("--seeds") + 1]) if "--seeds" in sys.argv else 1
    faults = []
    for name in networks.NETWORKS:
        for seed in range(1, seeds + 1):
            with tempfile.TemporaryDirectory() as folder:
                faults += check(tributary, name, seed, "uint8" if seed % 2 else "int8", pathlib.Path(folder))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
