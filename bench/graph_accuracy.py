#!/usr/bin/python3
"""What quantisation costs a trained network: CIFAR-10's test images in floats, in int8 on the processor, and on the tensor unit's model.

Usage: graph_accuracy.py BINARY_DIRECTORY CIFAR10_FOLDER [--network resnet20|mobilenetv2] [--epochs N] [--images N] [--seed N]

PyTorch trains the network of tests/graph/networks.py; `tributary model quantise` calibrates it on 256 training images, once for each rule
of ranges. The folder has train-images-idx4-ubyte.gz, t10k-images-idx4-ubyte.gz and their labels.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/graph"))

try:
    import torch
except ImportError:
    print(json.dumps({"bench": "graph_accuracy", "skipped": "PyTorch is not installed (python3-torch)"}))
    sys.exit(0)
import networks  # noqa: E402
from onnx import numpy_helper  # noqa: E402

BATCH = 64
CALIBRATION = 256
MODEL_IMAGES = 500  # the golden model takes some tenths of a second for each


def read(folder, name):
    images = gzip.open(folder / f"{name}-images-idx4-ubyte.gz").read()
    sides = np.frombuffer(images, ">u4", 4, 4).astype(int)
    images = np.frombuffer(images, np.uint8, offset=20).reshape(sides)
    if sides[3] == 3:
        images = images.transpose(0, 3, 1, 2)
    labels = np.frombuffer(gzip.open(folder / f"{name}-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
    return np.ascontiguousarray((images.astype(np.float32) / 255 - 0.47) / 0.25), labels.astype(np.int64)


class Trainable(torch.nn.Module):
    """The graph's nodes, with its constants as parameters."""

    def __init__(self, model):
        super().__init__()
        self.nodes = list(model.graph.node)
        self.constants = torch.nn.ParameterDict()
        for tensor in model.graph.initializer:
            values = torch.from_numpy(numpy_helper.to_array(tensor).copy())
            if tensor.name.startswith(("mean", "variance")):
                self.register_buffer(tensor.name, values)
            else:
                self.constants[tensor.name] = torch.nn.Parameter(values, requires_grad=not tensor.name.startswith("bound"))

    def constant(self, name):
        return self.constants[name] if name in self.constants else getattr(self, name)

    def forward(self, image):
        functional, values = torch.nn.functional, {"image": image}
        for node in self.nodes:
            attributes = {attribute.name: attribute for attribute in node.attribute}
            x = values[node.input[0]]
            if node.op_type == "Conv":
                y = functional.conv2d(x, self.constant(node.input[1]), None, list(attributes["strides"].ints),
                                      list(attributes["pads"].ints)[:2], 1, attributes["group"].i)
            elif node.op_type == "BatchNormalization":
                gamma, beta, mean, variance = (self.constant(name) for name in node.input[1:])
                y = functional.batch_norm(x, mean, variance, gamma, beta, self.training, 0.1, 1e-5)
            elif node.op_type == "Relu":
                y = functional.relu(x)
            elif node.op_type == "Clip":
                y = functional.relu6(x)
            elif node.op_type == "Add":
                y = x + values[node.input[1]]
            elif node.op_type == "GlobalAveragePool":
                y = x.mean(dim=(2, 3), keepdim=True)
            elif node.op_type == "Flatten":
                y = x.flatten(1)
            else:
                y = functional.linear(x, self.constant(node.input[1]), self.constant(node.input[2]))
            values[node.output[0]] = y
        return y


def train(model, images, labels, epochs, seed):
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    network = Trainable(model)
    steps = epochs * (len(images) // BATCH)
    weights = [p for p in network.parameters() if p.requires_grad]
    optimiser = torch.optim.SGD(weights, lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.2, total_steps=steps)
    began = time.monotonic()
    for step in range(steps):
        if step % (len(images) // BATCH) == 0:
            order = torch.randperm(len(images))
            print(f"epoch {step // (len(images) // BATCH)} of {epochs}, {time.monotonic() - began:.0f} s", file=sys.stderr)
        chosen = order[step % (len(images) // BATCH) * BATCH:][:BATCH]
        x = torch.nn.functional.pad(torch.from_numpy(images[chosen.numpy()]), (4, 4, 4, 4))
        top, left = torch.randint(0, 9, (2,)).tolist()
        x = x[:, :, top:top + 32, left:left + 32]
        if torch.rand(()) < 0.5:
            x = x.flip(3)
        loss = torch.nn.functional.cross_entropy(network(x), torch.from_numpy(labels[chosen.numpy()]), label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(network.constant(tensor.name).detach().numpy(), tensor.name))


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def logits(tributary, model, images, folder, *options):
    """In batches that fit the memory."""
    results = []
    for begin in range(0, len(images), 100):
        part = images[begin:begin + 100]
        np.save(folder / "part.npy", part)
        said = run([tributary, "model", "run", model, "--input", f"image={folder / 'part.npy'}", "--dimension", f"N={len(part)}", "--out",
                    folder / "out", "--memory-mib", 2048, "--json", *options])
        results.append(np.load(said["files"][0]))
    return np.concatenate(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("cifar10", type=pathlib.Path)
    parser.add_argument("--network", choices=networks.NETWORKS, default="resnet20")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--images", type=int, default=50_000, help="training images")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tributary = given.bin / "tributary"
    images, labels = read(given.cifar10, "train")
    images, labels = images[:given.images], labels[:given.images]
    tests, classes = read(given.cifar10, "t10k")
    model = networks.NETWORKS[given.network](given.seed)
    train(model, images, labels, given.epochs, given.seed)
    result = {"bench": "graph_accuracy", "network": given.network, "seed": given.seed, "epochs": given.epochs, "training_images": len(images),
              "test_images": len(tests)}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = folder / "float.onnx", folder / "examples.npy", folder / "int8.onnx"
        paths[0].write_bytes(model.SerializeToString())
        np.save(paths[1], images[:CALIBRATION])
        floats = logits(tributary, paths[0], tests, folder)
        percent = lambda found: round(100 * float((found.argmax(1) == classes[:len(found)]).mean()), 2)  # noqa: E731
        result["float"] = percent(floats)
        result[f"float, first {MODEL_IMAGES}"] = percent(floats[:MODEL_IMAGES])
        for rule in ("min-max", "percentile", "least-squares"):
            report = run([tributary, "model", "quantise", paths[0], "--calibration", f"image={paths[1]}", "--out", paths[2], "--range", rule,
                          "--json"])
            integers = logits(tributary, paths[2], tests, folder)
            unit = logits(tributary, paths[2], tests[:MODEL_IMAGES], folder, "--accelerator", "tensor-model")
            result[rule] = {"int8": percent(integers), f"tensor unit, first {MODEL_IMAGES}": percent(unit),
                            f"int8, first {MODEL_IMAGES}": percent(integers[:MODEL_IMAGES]),
                            "same_class_as_float": round(100 * float((integers.argmax(1) == floats.argmax(1)).mean()), 2),
                            "relative_error_of_logits": round(report["output_relative_errors"]["logits"], 4)}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
