#!/usr/bin/python3
"""Networks of ONNX in floats and in int8 against PyTorch eager in float32 and oneDNN in int8: one image, one thread, alternating in one run.

Usage: graph_inference.py BINARY_DIRECTORY
The baselines have the batch norms folded into their convolutions, as our graphs do; oneDNN also takes in additions and activations. The
networks have the shapes of ResNet-20 and MobileNetV2 at 3 × 32 × 32 (tests/graph/networks.py).
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 25
IMAGES = 20

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/graph"))


def skip(reason):
    print(json.dumps({"bench": "graph_inference", "skipped": reason}))
    sys.exit(0)


try:
    import torch
except ImportError:
    torch = None
import networks  # noqa: E402  (it needs python3-onnx, and says so)
import numpy as np  # noqa: E402
from onnx import numpy_helper  # noqa: E402


class Eager(torch.nn.Module if torch else object):
    """The graph's nodes as PyTorch's functions, one call for each."""

    def __init__(self, model):
        super().__init__()
        self.steps = []
        tensors = {tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy()) for tensor in model.graph.initializer}
        renamed = {}
        for node in model.graph.node:
            inputs = [renamed.get(value, value) for value in node.input]
            attributes = {attribute.name: attribute for attribute in node.attribute}
            if node.op_type == "Conv":
                weights = tensors[inputs[1]]
                self.steps.append(["Conv", inputs[0], node.output[0], weights, torch.zeros(len(weights)),
                                   list(attributes["strides"].ints), list(attributes["pads"].ints)[:2], attributes["group"].i])
            elif node.op_type == "BatchNormalization":
                gamma, beta, mean, variance = (tensors[value] for value in inputs[1:])
                slope = gamma / torch.sqrt(variance + 1e-5)
                step = self.steps[-1]
                step[3] = (step[3] * slope.reshape(-1, 1, 1, 1)).contiguous()
                step[4] = beta - mean * slope
                renamed[node.output[0]] = inputs[0]
            elif node.op_type == "Gemm":
                self.steps.append(["Gemm", inputs[0], node.output[0], tensors[inputs[1]], tensors[inputs[2]]])
            else:
                self.steps.append([node.op_type, inputs[0], node.output[0], *inputs[1:]])

    def forward(self, image):
        return self.values(image)[self.steps[-1][2]]

    def values(self, image):
        functional, values = torch.nn.functional, {"image": image}
        for operation, source, result, *rest in self.steps:
            x = values[source]
            if operation == "Conv":
                weights, bias, stride, padding, groups = rest
                x = functional.conv2d(x, weights, bias, stride, padding, 1, groups)
            elif operation == "Relu":
                x = functional.relu(x)
            elif operation == "MaxPool":
                x = functional.max_pool2d(x, 2)
            elif operation == "Clip":
                x = functional.relu6(x)
            elif operation == "Add":
                x = x + values[rest[0]]
            elif operation == "GlobalAveragePool":
                x = functional.adaptive_avg_pool2d(x, 1)
            elif operation == "Flatten":
                x = torch.flatten(x, 1)
            elif operation == "Gemm":
                x = functional.linear(x, *rest)
            else:
                raise ValueError(operation)
            values[result] = x
        return values


def onednn_layers(network, image):
    """The network's layers as lines for onednn_inference_bench: each convolution with the addition and activation that follow it."""
    with torch.no_grad():
        shapes = {name: value.shape for name, value in network.values(image).items()}
    lines, flattened = [], {}
    for operation, source, result, *rest in network.steps:
        if operation == "Conv":
            weights, _, stride, _, groups = rest
            _, inputs, side, _ = shapes[source]
            lines.append(["conv", source, result, inputs, weights.shape[0], side, weights.shape[2], stride[0], groups, "s8", "-"])
        elif operation in ("Add", "Relu", "Clip"):
            convolution = next(line for line in lines if line[2] == source)
            convolution[2] = result
            if operation == "Add":
                convolution[10] = rest[0]
            else:
                convolution[9] = "u8"
        elif operation == "GlobalAveragePool":
            lines.append(["pool", source, result, *shapes[source][1:3]])
        elif operation == "Flatten":
            flattened[result] = source
        elif operation == "Gemm":
            lines.append(["product", flattened[source], result, shapes[source][1], shapes[result][1]])
        else:
            raise ValueError(operation)
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)


def baseline(network, images):
    torch.set_num_threads(1)
    inputs = torch.from_numpy(images)

    def microseconds():
        with torch.no_grad():
            start = time.perf_counter()
            for i in range(IMAGES):
                network(inputs[i % len(inputs)][None])
            return (time.perf_counter() - start) / IMAGES * 1e6

    microseconds()
    return microseconds


def served(*command):
    """What a benchmark measures that answers a number of images by the microseconds for each."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def microseconds():
        print(IMAGES, file=server.stdin, flush=True)
        return float(server.stdout.readline())

    microseconds()
    return microseconds


def candidate(directory, model, images, form):
    return served(os.path.join(directory, "graph_inference_bench"), model, images, "--serve", form)


def measure(directory, name, folder):
    model = networks.NETWORKS[name]()
    images = networks.images(32, 2)
    path, images_path, layers_path = (os.path.join(folder, file) for file in (f"{name}.onnx", "images.npy", f"{name}.layers"))
    pathlib.Path(path).write_bytes(model.SerializeToString())
    np.save(images_path, images)
    network = Eager(model).eval()
    pathlib.Path(layers_path).write_text(onednn_layers(network, torch.from_numpy(images[:1])))

    runs = {"eager": baseline(network, images)}
    onednn = os.path.join(directory, "onednn_inference_bench")
    if os.path.exists(onednn):
        runs["onednn-int8"] = served(onednn, layers_path, "--serve")
    for form in ("float", "quantised-in-floats", "int8"):
        runs[form] = candidate(directory, path, images_path, form)
    times = {run: [] for run in runs}
    for _ in range(ROUNDS):
        for run, microseconds in runs.items():
            times[run].append(microseconds())

    def ratio(to, of):
        return round(statistics.median(b / m for b, m in zip(times[to], times[of])), 2)

    result = {run: {"us": round(statistics.median(all_), 1), "median_ratio": ratio("eager", run)} for run, all_ in times.items()}
    if "onednn-int8" in runs:
        result["int8"]["median_ratio_to_onednn"] = ratio("onednn-int8", "int8")
    return result


def main():
    if torch is None:
        skip("PyTorch is not installed (python3-torch)")
    result = {"bench": "graph_inference", "batch": 1, "threads": 1, "baseline": f"PyTorch {torch.__version__} eager float32"}
    with tempfile.TemporaryDirectory() as folder:
        for name in networks.NETWORKS:
            result[name] = measure(sys.argv[1], name, folder)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
