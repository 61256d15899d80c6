#!/usr/bin/python3
"""Networks on the tensor unit of the software device, through XRT: the bits of the golden model.

usage: on_board.py TRIBUTARY TRIBUTARY-XCLBIN XRT-FOLDER
Exit status: 0 all is well, 1 faults (one line each), 77 without python3-onnx.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import networks
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

tributary, tributary_xclbin = sys.argv[1:3]
os.environ["XILINX_XRT"] = sys.argv[3]
os.environ.pop("TRIBUTARY_DEVICE_FAULTS", None)
faults = []


def expect(condition, what):
    if not condition:
        faults.append(what)


def model(*words, **environment):
    return subprocess.run([tributary, "model", *map(str, words)], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def said(*words):
    done = model(*words, "--json")
    if done.returncode != 0:
        sys.exit(f"fault: {words}: {done.stderr}")
    return json.loads(done.stdout)


def refused(text, *words, **environment):
    done = model(*words, **environment)
    expect(done.returncode != 0 and text in done.stderr, f"{words}: expected \"{text}\", found {done.stderr.strip()}")


def check_network(name, floats, images, folder, board):
    """The least share of nodes is that of docs/graphs.md; cycles are counted within 1 % of the plan."""
    source, quantised, image = folder / f"{name}.onnx", folder / f"{name}8.onnx", folder / f"{name}.npy"
    source.write_bytes(floats.SerializeToString())
    np.save(image, images)
    said("quantise", source, "--calibration", f"image={image}", "--out", quantised)
    np.save(image, images[:1])
    given = ("--input", f"image={image}")
    unit = said("run", quantised, *board, *given, "--out", folder / "unit")["accelerator"]
    golden = said("run", quantised, "--accelerator", "tensor-model", *given, "--out", folder / "golden")["accelerator"]
    expect((folder / "unit/logits.npy").read_bytes() == (folder / "golden/logits.npy").read_bytes(), f"{name}: other bits")
    for key in ("nodes", "multiply_accumulates", "cycles", "transfer_cycles"):
        expect(unit[key] == golden[key], f"{name}: another plan: {key}")
    expect(abs(unit["counted_cycles"] / unit["cycles"] - 1) < 0.01, f"{name}: {unit['counted_cycles']} cycles counted, {unit['cycles']} planned")
    print(f"{name}: {100 * unit['share_of_nodes']:.1f} % of nodes, {100 * unit['share_of_multiply_accumulates']:.2f} % of multiply-accumulates, "
          f"{unit['counted_cycles']} cycles counted")
    return unit, quantised, given


def check_floats(name, floats, images, folder, kernel, precision, most_error):
    """The same of a network that is not quantised, beside the processor in float32."""
    xclbin, source, image = folder / f"{precision}.xclbin", folder / f"{name}.onnx", folder / f"{name}.npy"
    subprocess.run([tributary_xclbin, "--output", xclbin, "--kernel", kernel], check=True, capture_output=True)
    source.write_bytes(floats.SerializeToString())
    np.save(image, images)

    def logits(folder_name, *accelerator):
        done = said("run", source, *accelerator, "--input", f"image={image}", "--out", folder / folder_name)
        return done.get("accelerator"), np.load(folder / folder_name / "logits.npy")

    unit, on_board = logits("floats_unit", "--accelerator", "xrt", "--xclbin", xclbin, "--float-layers", precision)
    golden, by_model = logits("floats_golden", "--accelerator", "tensor-model", "--float-layers", precision)
    _, exact = logits("floats_processor")
    expect(on_board.tobytes() == by_model.tobytes(), f"{name} in floats: other bits")
    error = np.linalg.norm(on_board - exact) / np.linalg.norm(exact)
    expect(0 < error < most_error, f"{name} in {precision}: a relative error of {error}")
    expect(unit["share_of_multiply_accumulates"] > 0.99, f"{name} in floats: too little on the unit")
    expect(unit["cycles"] == golden["cycles"], f"{name} in floats: another plan")
    expect(abs(unit["counted_cycles"] / unit["cycles"] - 1) < 0.01, f"{name}: {unit['counted_cycles']} cycles counted, {unit['cycles']} planned")
    print(f"{name} in {precision}: {unit['counted_cycles']} cycles counted, a relative error of {error:.1e}")
    refused("is for an --accelerator other than cpu", "run", source, "--float-layers", "bfloat16", "--plan")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        xclbin = folder / "tensor.xclbin"
        subprocess.run([tributary_xclbin, "--output", xclbin, "--kernel", "tensor_kernel"], check=True, capture_output=True)
        board = ("--accelerator", "xrt", "--xclbin", xclbin)
        resnet, quantised, given = check_network("resnet20", networks.resnet20(), networks.images(8, 2), folder, board)
        expect(resnet["share_of_nodes"] >= 0.95 and resnet["share_of_multiply_accumulates"] >= 0.99, "resnet20: too little on the unit")
        run = ("run", quantised, *board, *given, "--out", folder / "none")
        refused("status 5 (a failed read) at command", *run, TRIBUTARY_DEVICE_FAULTS="read_error=1")
        refused("opening device 0", *run, TRIBUTARY_DEVICE_FAULTS="no_device")
        refused("does not run on the tensor unit", "run", folder / "resnet20.onnx", *board, "--plan", "--strict")
        refused("go together", "run", quantised, "--plan", "--accelerator", "xrt")
        refused("--lanes", "run", quantised, *board, "--plan", "--lanes", 8)
        refused("no compute unit of tensor_kernel_bfloat", "run", quantised, *board, "--plan", "--float-layers", "bfloat16")
        for kernel, precision, most_error in (("tensor_kernel_bfloat", "bfloat16", 0.02), ("tensor_kernel_float32", "float32", 1e-5)):
            check_floats("digits", networks.digits(), networks.images(1, 5, 1, 28), folder, kernel, precision, most_error)
    for fault in faults:
        print(f"fault: {fault}")
    print("on the board: bit for bit" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
