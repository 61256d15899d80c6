#!/usr/bin/python3
"""Writes docs/tensor-unit.md: area, cycles, latency, precision and learning operations of the tensor unit and of this processor.

Usage: tensor_tables.py BINARY_DIRECTORY [PAGE.md]
Needs python3-onnx; without PyTorch its columns say so. Takes some minutes.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/graph"), str(ROOT / "bench")]
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

import graph_inference  # noqa: E402
import learning_tables  # noqa: E402
import networks  # noqa: E402  (it ends with 77 without python3-onnx)
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from page_tables import percent, table  # noqa: E402

LANES = (8, 16, 32)
CLOCKS_MHZ = (50, 100, 150, 200)
STATED_MHZ = learning_tables.STATED_MHZ
ROUNDS = 25
CALIBRATION, EXAMPLES = 32, 16
PRECISIONS = {"": "int8", "bfloat": "int8, bfloat16", "int16": "int8, int16", "int32": "int8, int32", "float32": "int8, float32"}  # of a kernel, by the end of its name
FLOATS = ("bfloat16", "float32")  # precisions of a graph that is not quantised
HEADROOM = 2  # of int16 and int32 over the largest value of the calibration: they have bits to spare
SHAPES = {"digits": ("MNIST", networks.digits, (1, 28)),
          "resnet20": ("CIFAR-10", networks.resnet20, (3, 32)),
          "mobilenetv2": ("MobileNetV2", networks.mobilenetv2, (3, 32))}


class Shape:
    """A network of random weights, its quantised form, and what the command says of it."""

    def __init__(self, binaries, key, folder):
        self.binaries, self.folder = binaries, folder
        self.title, make, (channels, side) = SHAPES[key]
        self.model = make()
        self.images = networks.images(CALIBRATION, 2, channels, side)
        self.examples = networks.images(EXAMPLES, 3, channels, side)
        self.floats, self.bytes, self.arrays = (folder / f"{key}{end}" for end in (".onnx", "8.onnx", ".npy"))
        self.floats.write_bytes(self.model.SerializeToString())
        np.save(self.arrays, self.images)
        np.save(folder / "examples.npy", self.examples)
        self.command("quantise", self.floats, "--calibration", f"image={self.arrays}", "--out", self.bytes)
        self.nodes = {node.name: node for node in onnx.load(self.bytes).graph.node}
        self.units = {lanes: self.command("profile", self.bytes, "--accelerator", "tensor-model", "--lanes", lanes, "--runs", 3,
                                          "--clock-mhz", STATED_MHZ) for lanes in LANES}
        self.in_floats = {precision: self.command("profile", self.floats, "--accelerator", "tensor-model", "--float-layers", precision, "--runs", 3,
                                                  "--clock-mhz", STATED_MHZ) for precision in FLOATS}

    def command(self, *words):
        done = subprocess.run([str(word) for word in (self.binaries / "tributary", "model", *words, "--json")], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"tributary model {words}: {done.stderr}")
        return json.loads(done.stdout)

    def logits(self, file, *options):
        out = self.folder / "out"
        np.save(self.folder / "examples.npy", self.examples)
        self.command("run", file, "--input", f"image={self.folder / 'examples.npy'}", "--dimension", f"N={EXAMPLES}", "--memory-mib", 2048,
                     "--out", out, *options)
        return np.load(out / "logits.npy").astype(np.float64)

    def layer(self, part):
        """What a layer computes, in words."""
        node = self.nodes.get(part["name"])
        shape = re.sub(r".*\[\d+, ?(.*)\]", r"\1", part["result"]).replace(", ", " × ")
        if node is None or node.op_type != "Conv":
            return f"{part['operations'].split('+')[0]} to {shape}"
        attributes = {attribute.name: attribute for attribute in node.attribute}
        kernel = "×".join(str(side) for side in attributes["kernel_shape"].ints)
        stride = attributes["strides"].ints[0]
        kind = "depthwise " if attributes["group"].i > 1 else ""
        return f"{kind}{kernel}{f', stride {stride}' if stride > 1 else ''} to {shape}{', with sum' if 'Add' in part['operations'] else ''}"


def layer_table(shape):
    """Layers that compute the same are one row, with the mean of their cycles."""
    by_name = {lanes: {part["name"]: part for part in shape.units[lanes]["parts"] if part["name"]} for lanes in LANES}
    rows = {}
    for name in by_name[16]:
        parts = [by_name[lanes][name] for lanes in LANES]
        if any("cycles" in part for part in parts):
            rows.setdefault((shape.layer(parts[0]), parts[0]["multiply_accumulates"]), []).append(
                ["processor" if part["runs_on"] == "processor" else part.get("cycles", "in a convolution") for part in parts])
    cells = []
    for (text, products), counts in rows.items():
        cells.append([f"{len(counts)} × {text}" if len(counts) > 1 else text, f"{products:,}"])
        for lanes, cycles in zip(LANES, zip(*counts)):
            apart = [count for count in cycles if isinstance(count, str)]
            if apart:
                cells[-1].append(apart[0])
                continue
            mean = sum(cycles) / len(cycles)
            used = "" if "Pool" in text or products == 0 else f" ({percent(products / (mean * lanes * lanes), 0)})"
            cells[-1].append(f"{mean:,.0f}{used}")
    return table(["layer", "products each"] + [f"cycles each, {lanes} lanes (used)" for lanes in LANES], cells)


def area_table():
    """The counts of docs/fpga-resources.md, which ninja fpga_synth_tensor checks."""
    page = (ROOT / "docs/fpga-resources.md").read_text(encoding="utf-8")
    counted = {}
    for kind, parameters, *cells in re.findall(r"^\| `tensor_kernel(?:_(\w+))?((?: [^`]*)?)` \| ([\d,]+) \| ([\d,]+) \| (\d+) \| ([\d.]+) \|", page, re.M):
        lanes = re.search(r"LANES=(\d+)", parameters)
        counted[int(lanes.group(1)) if lanes else 16, kind] = cells
    rows = [[lanes, precisions, *counted[lanes, kind]] for lanes in LANES for kind, precisions in PRECISIONS.items() if (lanes, kind) in counted]
    return table(["lanes", "precisions", "LUT", "FF", "DSP", "BRAM36"], rows + [["Zynq-7020 has", "", "53,200", "106,400", "220", "140"]])


def measured(shape, binaries):
    """µs of one image on this processor, alternating; and the medians of the ratios to PyTorch."""
    sides = {form: graph_inference.candidate(str(binaries), str(shape.floats), str(shape.arrays), form) for form in ("float", "int8")}
    if graph_inference.torch is not None:
        sides["torch"] = graph_inference.baseline(graph_inference.Eager(shape.model).eval(), shape.images)
    times = {side: [] for side in sides}
    for _ in range(ROUNDS):
        for side, run in sides.items():
            times[side].append(run())
    cells = {side: f"{statistics.median(values):,.0f}" for side, values in times.items()}
    for form in ("float", "int8"):
        if "torch" in times:
            cells[form] += f" ({statistics.median(t / m for t, m in zip(times['torch'], times[form])):.1f}×)"
    return cells


class Reference:
    """The float graph in NumPy, in double precision; `store` rounds weights and what flows between layers."""

    def __init__(self, model):
        tensors = {tensor.name: numpy_helper.to_array(tensor).astype(np.float64) for tensor in model.graph.initializer}
        self.steps, renamed = [], {}
        for node in model.graph.node:
            inputs = [renamed.get(value, value) for value in node.input]
            last = self.steps[-1] if self.steps else None
            if node.op_type == "BatchNormalization":
                gamma, beta, mean, variance = (tensors[value] for value in inputs[1:])
                slope = gamma / np.sqrt(variance + 1e-5)
                last["weights"] = last["weights"] * slope.reshape(-1, 1, 1, 1)
                last["bias"] = beta - mean * slope
                renamed[node.output[0]] = inputs[0]
            elif node.op_type in ("Relu", "Clip"):
                last["bounds"] = (0, tensors[inputs[2]] if node.op_type == "Clip" else np.inf)
                renamed[node.output[0]] = inputs[0]
            else:
                step = {"operation": node.op_type, "inputs": inputs, "result": node.output[0]}
                attributes = {attribute.name: attribute for attribute in node.attribute}
                if node.op_type == "Conv":
                    step.update(weights=tensors[inputs[1]], stride=attributes["strides"].ints[0], padding=attributes["pads"].ints[0],
                                groups=attributes["group"].i)
                elif node.op_type == "Gemm":
                    step.update(weights=tensors[inputs[1]], bias=tensors[inputs[2]])
                self.steps.append(step)

    def run(self, images, store, weights):
        values = {"image": store("image", images.astype(np.float64))}
        for step in self.steps:
            x, operation = values[step["inputs"][0]], step["operation"]
            if operation == "Conv":
                y = networks.convolve(x, weights(step["weights"]), step["stride"], step["padding"], step["groups"])
                y = y + step["bias"].reshape(1, -1, 1, 1)
            elif operation == "Gemm":
                y = x @ weights(step["weights"]).T + step["bias"]
            elif operation == "Add":
                y = x + values[step["inputs"][1]]
            elif operation == "GlobalAveragePool":
                y = x.mean(axis=(2, 3), keepdims=True)
            elif operation == "MaxPool":
                n, c, h, w = x.shape
                y = x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))
            elif operation == "Flatten":
                y = x.reshape(len(x), -1)
            else:
                raise ValueError(operation)
            if "bounds" in step:
                y = np.clip(y, *step["bounds"])
            values[step["result"]] = store(step["result"], y)
        return y


def grid(values, largest, bits):
    step = np.where(largest > 0, largest, 1) / (2 ** (bits - 1) - 1)
    return np.clip(np.rint(values / step), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) * step


def precisions(shape):
    """Relative errors of the logits on examples that did not calibrate, by precision."""
    reference, largest = Reference(shape.model), {}

    def keep(name, values):
        largest[name] = np.abs(values).max()
        return values

    reference.run(shape.images, keep, lambda weights: weights)
    right = reference.run(shape.examples, lambda _, values: values, lambda weights: weights)
    results = {"int8, the unit as built": shape.logits(shape.bytes, "--accelerator", "tensor-model"),
               "int8, this processor": shape.logits(shape.bytes),
               "float32, this processor": shape.logits(shape.floats)}
    for bits in (16, 32):
        results[f"int{bits}, arithmetic alone"] = reference.run(
            shape.examples, lambda name, values, bits=bits: grid(values, HEADROOM * largest[name], bits),
            lambda weights, bits=bits: grid(weights, np.abs(weights).max(axis=tuple(range(1, weights.ndim)), keepdims=True), bits))
    for precision in FLOATS:
        results[f"{precision}, the unit as built"] = shape.logits(shape.floats, "--accelerator", "tensor-model", "--float-layers", precision)
    return {name: (np.linalg.norm(found - right) / np.linalg.norm(right), np.mean(found.argmax(1) == right.argmax(1)))
            for name, found in results.items()}


def processor_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return os.uname().machine


def whole_rows(shapes):
    for shape in shapes:
        for lanes in LANES:
            unit = shape.units[lanes]["accelerator"]
            yield [shape.title, lanes, f"{unit['cycles']:,}", f"{unit['transfer_cycles']:,}", percent(unit["utilisation"]),
                   percent(unit["share_of_nodes"]), percent(unit["share_of_multiply_accumulates"], 2),
                   f"{unit['processor_microseconds']['median']:,.0f}",
                   *(f"{unit['cycles'] / clock / 1000:.2f}" for clock in CLOCKS_MHZ)]


def float_rows(shapes):
    """With 16 lanes, by precision."""
    for shape in shapes:
        for precision, profile in {"int8": shape.units[16], **shape.in_floats}.items():
            unit = profile["accelerator"]
            yield [shape.title, precision, f"{unit['cycles']:,}", f"{unit['transfer_cycles']:,}", percent(unit["share_of_nodes"]),
                   percent(unit["share_of_multiply_accumulates"], 2), f"{unit['processor_microseconds']['median']:,.0f}",
                   f"{unit['cycles'] / STATED_MHZ / 1000:.2f}"]


def network_rows(shapes, binaries):
    for shape in shapes:
        cells = measured(shape, binaries)
        unit = shape.units[16]["accelerator"]
        yield [shape.title, f"{shape.units[16]['multiply_accumulates'] / 1e6:.1f} M", cells["float"], cells["int8"],
               cells.get("torch", "not installed"), "–", f"{unit['cycles']:,} cycles = {unit['cycles'] / STATED_MHZ:,.0f} µs"]


def precision_rows(shapes):
    errors = [precisions(shape) for shape in shapes]
    for name in errors[0]:
        yield [name] + [f"{error[name][0]:.1e} ({percent(error[name][1], 0)})" for error in errors]


PAGE = """# Figures of the tensor unit

`bench/run.sh tensor_tables` writes this page. Change `bench/tensor_tables.py` instead of it. [The tensor unit](fpga/tensor.md) says how it works, [graphs](graphs.md) how a graph gets there.

**Conditions.** {conditions}

Three networks have the shapes of those in [[DTPU]](references.md), whose tables 5.1 and 5.2 are empty: two convolutions with pools and a product for images of MNIST, ResNet-20 for CIFAR-10, and MobileNetV2 for the same
images of 32 × 32. Their weights are random, with fitting batch norms: times and cycles do not depend on that, errors do. [DTPU]'s row "image classification" names no network, so it is not here.

Cycles are for int8, but for one table. No graph is compiled to [int16](fpga/tensor.md#int16) or [int32](fpga/tensor.md#int32) yet. No board was measured: cycles are those of the golden model, which equals the RTL within half a per cent in whole networks. A clock is stated, not reached: nothing was placed or routed.

## Area

Counted by yosys 0.23 `synth_xilinx` for whole kernels with 256 KiB of activations ([fpga-resources.md](fpga-resources.md)). With 32 lanes only int8 was counted.

{area}

## Whole networks

One image, weights and arrays moved at 64 bits a cycle. "Used" is products / (cycles · lanes²). The command gives 16,384 vectors of activations at each size: 128, 256 and 512 KiB. With 8 lanes and
256 KiB all of MobileNetV2 fits ([cycles](fpga/tensor.md#cycles)). Quantisation of the input and the way back to floats
stay on the processor, and so do layers whose tensors do not fit and the flattening of an image: `tributary model run --plan` says why. Their time is that of this processor.

{whole}

### In floats

The same networks before they are quantised, with 16 lanes and `--float-layers`: [convolutions and products](graphs.md#layers-in-floats) run on the unit one by one, and all between them and depthwise layers stay on the processor.

{in_floats}

## By layer

{layers}

## Against processors

µs for one image (table 5.1 of [DTPU]). In brackets: how many times as fast as PyTorch eager in float32, median of the ratios of alternating rounds. No figure of these networks on the board's processor (Cortex-A9) is in the literature that we cite,
and no board was there to measure: that column stays empty. The unit's column has 16 lanes and a stated clock of {clock} MHz; the nodes that stay on the board's processor come on top.

{processors}

## Precision

Relative error of the logits, |found − exact| / |exact| over {examples} images that did not calibrate, and in brackets the share of images with the same class (table 5.2 of [DTPU]). "Exact" is the float graph in double precision.
In bfloat16 and float32, convolutions in groups are the processor's, in float32. "Arithmetic alone" rounds weights and what flows between layers to that format and sums exactly, so these rows say what a unit with that precision gives at best. The unit adds exactly, too; its scales have 17 bits in int16 and 34 in int32, which these rows leave out. int16 and int32 have one scale for a tensor, with room for
twice the largest value of the calibration, and one for each channel of the weights. Random weights amplify small errors; trained networks are in [graphs](graphs.md#from-floats-to-integers).

{precision}

{learning}
"""


def main():
    binaries = pathlib.Path(sys.argv[1]).resolve()
    page = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/tensor-unit.md"
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        shapes = []
        for key in SHAPES:
            folder = pathlib.Path(scratch) / key
            folder.mkdir()
            shapes.append(Shape(binaries, key, folder))
        filled = {
            "area": area_table(),
            "whole": table(["network", "lanes", "cycles", "of them transfers", "used", "nodes on the unit", "products on the unit", "other nodes, µs here"]
                           + [f"ms at {clock} MHz" for clock in CLOCKS_MHZ], whole_rows(shapes)),
            "in_floats": table(["network", "precision", "cycles", "of them transfers", "nodes on the unit", "products on the unit", "other nodes, µs here",
                                f"ms at {STATED_MHZ} MHz"], float_rows(shapes)),
            "layers": "\n\n".join(f"**{shape.title}**\n\n{layer_table(shape)}" for shape in shapes),
            "processors": table(["network", "products", "this processor, float32", "this processor, int8", "PyTorch eager, float32", "the board's processor",
                                 "board + unit, 16 lanes"], network_rows(shapes, binaries)),
            "precision": table(["precision"] + [shape.title for shape in shapes], precision_rows(shapes)),
            "learning": learning_tables.section(binaries),
        }
    torch = graph_inference.torch
    conditions = (f"{processor_name()}, {os.cpu_count()} cores seen, one thread, shared with other work (load {load:.1f} before, {os.getloadavg()[0]:.1f} after). "
                  f"Sides alternate within each of {ROUNDS} rounds of {graph_inference.IMAGES} images; times are medians, ratios medians of the rounds' ratios. "
                  f"PyTorch {torch.__version__ if torch else 'is not installed'}. One seed of the weights.")
    page.write_text(PAGE.format(conditions=conditions, clock=STATED_MHZ, examples=EXAMPLES,
                                **filled), encoding="utf-8")
    print(json.dumps({"bench": "tensor_tables", "page": str(page)}))


if __name__ == "__main__":
    main()
