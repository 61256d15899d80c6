#!/usr/bin/python3
"""`tributary model profile`, `model import`, and images as examples of `model quantise`, on whole networks.

usage: model_commands.py TRIBUTARY
Exit status: 0 all is well, 1 faults (one line each), 77 without python3-onnx.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import networks
    import numpy as np
    import onnx
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

tributary = sys.argv[1]
faults = []


def expect(condition, what):
    if not condition:
        faults.append(what)


def said(*words):
    done = subprocess.run([tributary, "model", *map(str, words), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"fault: {words}: {done.stderr}")
    return json.loads(done.stdout)


def refused(text, *words):
    done = subprocess.run([tributary, "model", *map(str, words)], capture_output=True, text=True, check=False)
    expect(done.returncode not in (0, 1) or text in done.stderr, f"{words}: not refused")
    expect(done.returncode != 0 and text in done.stderr, f"{words}: expected \"{text}\", found {done.stderr.strip()}")


def check_profile(quantised, floats):
    profile = said("profile", quantised, "--runs", 3)
    plan = said("run", quantised, "--plan")
    parts = profile["parts"]
    expect(sum(part["multiply_accumulates"] for part in parts) == plan["multiply_accumulates"], "multiply-accumulates of the parts")
    expect(all(part["microseconds"]["median"] >= 0 for part in parts), "each layer of the processor has its time")
    expect(sum("Conv" in part["operations"] for part in parts) == 21, "each convolution is a part")
    expect(profile["made_inputs"] == ["image"] and "accelerator" not in profile, "the input is made")
    expect(profile["microseconds"]["lower_quartile"] <= profile["microseconds"]["median"] <= profile["microseconds"]["upper_quartile"],
           "quartiles are in order")

    unit = said("profile", quantised, "--runs", 2, "--accelerator", "tensor-model", "--lanes", 8, "--clock-mhz", 200)
    plan = said("run", quantised, "--plan", "--accelerator", "tensor-model", "--lanes", 8)
    of_layers = sum(part.get("cycles", 0) for part in unit["parts"])
    expect(unit["accelerator"]["cycles"] == plan["accelerator"]["cycles"], "cycles are those of the plan")
    expect(of_layers == unit["accelerator"]["cycles"] - unit["accelerator"]["transfer_cycles"], "cycles of the layers")
    expect(abs(unit["accelerator"]["microseconds"] - unit["accelerator"]["cycles"] / 200) < 1e-6, "cycles at 200 MHz")
    expect(all(0 < part["utilisation"] <= 1 for part in unit["parts"] if part["multiply_accumulates"]), "utilisation of each layer")
    together = [part for part in unit["parts"] if "time_of_layers" in part]
    expect(len(together) == 1 and together[0]["time_of_layers"] > 20, "the unit's layers share one time")

    whole = said("profile", floats, "--runs", 2)
    expect(sorted(part["operations"] for part in whole["parts"]) == sorted(node.op_type for node in onnx.load(floats).graph.node),
           "a float graph is timed node for node")
    refused("--clock-mhz", "profile", floats, "--clock-mhz", 100)
    refused("--arithmetic floats", "run", floats, "--plan", "--accelerator", "tensor-model", "--arithmetic", "floats")
    refused("no such input", "profile", floats, "--input", "other=images.npy")


def check_import(floats, folder):
    names = ",".join(f"class{i}" for i in range(10))
    panel = folder / "panel.onnx"
    refused("kind", "import", floats)
    refused("classes", "import", floats, "--kind", "logits", "--classes", "a,b")
    refused("10 elements", "import", floats, "--kind", "cholesky")
    checked = said("import", floats, "--kind", "logits", "--classes", names)
    expect("written" not in checked and not panel.exists(), "without --out nothing is written")
    written = said("import", floats, "--kind", "logits", "--classes", names, "--temperature", 1.7, "--out", panel)
    expect(written["classes"] == names.split(",") and written["temperature"] == 1.7, "what was written")
    again = said("import", panel)
    expect(again["kind"] == "logits" and again["temperature"] == 1.7, "the file says it alone")
    before, after = onnx.load(floats), onnx.load(panel)
    onnx.checker.check_model(after)
    expect({entry.key: entry.value for entry in after.metadata_props}["tributary.classes"] == names, "metadata")
    expect(before.graph.SerializeToString(deterministic=True) == after.graph.SerializeToString(deterministic=True), "the graph stays")
    refused("", "import", floats, "--kind", "logits", "--classes", names, "--out", floats)


def check_images_as_examples(floats, folder):
    digits, quantised = folder / "digits.onnx", folder / "digits8.onnx"
    digits.write_bytes(networks.digits().SerializeToString())
    report = said("quantise", digits, "--calibration", "image=glyphs", "--out", quantised)
    expect(report["examples"] == 256, "some images of the set")
    image = next(layer for layer in report["layers"] if "node" not in layer)
    expect(0 <= image["range"][0] < 1 and 200 < image["range"][1] <= 255, f"pixels as a panel gives them, found {image['range']}")
    refused("has images of", "quantise", floats, "--calibration", "image=glyphs", "--out", quantised)
    refused("no input", "quantise", digits, "--calibration", "picture=glyphs", "--out", quantised)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        floats, quantised, images = folder / "floats.onnx", folder / "quantised.onnx", folder / "images.npy"
        floats.write_bytes(networks.NETWORKS["resnet20"]().SerializeToString())
        np.save(images, networks.images(8, 2))
        said("quantise", floats, "--calibration", f"image={images}", "--out", quantised)
        check_profile(quantised, floats)
        check_images_as_examples(floats, folder)
        check_import(floats, folder)
    for fault in faults:
        print(f"fault: {fault}")
    print("profile and import: as planned" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
