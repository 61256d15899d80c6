"""The part of docs/tensor-unit.md about learning: [SSL]'s operations, and the convolutions of an encoder.

usage: learning_tables.py FOLDER-OF-BENCHES     prints the part; tensor_tables.py makes the whole page
"""
import json
import pathlib
import statistics
import subprocess
import sys
import time

import graph_inference
from page_tables import percent, table

STATED_MHZ = 100  # of [SSL], table 7.1, too
OPERATION_ROUNDS = 25
LANES = 16
# [SSL], table 7.1, in µs: Python on the board; cycles of its modules.
SSL_PYTHON_US = {"blur": 1038.1, "rotation": 1316.8, "crop": 608.833, "convolution": 132.8}
SSL_CYCLES = {"blur": 838, "rotation": 787, "crop": 787, "convolution": 838}
SSL_WRITE_US, SSL_READ_US, SSL_SLOWER = 2567.6, 2430.4, 1.75
# docs/fpga/augmentation.md and docs/fpga/convolution.md: counted by the benches of the RTL.
OUR_CHAIN_CYCLES, OUR_ALONE_CYCLES, LOOPBACK_WORDS_PER_CYCLE = 784, 3232, 0.96


def operations(binaries):
    """µs per 28×28 image on this processor, by operation: ours and PyTorch's, alternating."""
    server = subprocess.Popen([binaries / "image_operations_bench", "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ours(name, images):
        print(name, images, file=server.stdin, flush=True)
        return float(server.stdout.readline())

    eager = {}
    torch = graph_inference.torch
    if torch is not None:
        torch.set_num_threads(1)
        functional, image, weights = torch.nn.functional, torch.rand(1, 1, 28, 28), torch.rand(1, 1, 3, 3)
        turn = torch.tensor([[[0.966, -0.259, 0.0], [0.259, 0.966, 0.0]]])

        def rotation():
            return functional.grid_sample(image, functional.affine_grid(turn, (1, 1, 28, 28), align_corners=False), mode="nearest",
                                          align_corners=False)

        eager = {"blur": lambda: functional.conv2d(image, weights, padding=1), "rotation": rotation,
                 "crop": lambda: functional.interpolate(image[:, :, 4:24, 4:24], (28, 28), mode="bilinear", align_corners=False),
                 "convolution": lambda: functional.conv2d(image, weights)}
    result = {}
    for name in SSL_PYTHON_US:
        mine, theirs = [], []
        for _ in range(OPERATION_ROUNDS):
            mine.append(ours(name, 500))
            if name in eager:
                begin = time.perf_counter()
                for _ in range(100):
                    eager[name]()
                theirs.append((time.perf_counter() - begin) * 1e4)
        result[name] = statistics.median(mine), statistics.median(theirs) if theirs else None
    server.stdin.close()
    return result


def learning_rows(binaries):
    for name, (mine, eager) in operations(binaries).items():
        yield [name, f"{SSL_PYTHON_US[name]:,.1f}", f"{SSL_CYCLES[name]} cycles = {SSL_CYCLES[name] / STATED_MHZ:.2f}", f"{mine:.2f}",
               "not installed" if eager is None else f"{eager:.1f}"]


def slow_us():
    """[SSL]'s accelerated pipeline for one image, transfers counted."""
    return SSL_SLOWER * sum(SSL_PYTHON_US.values())


def alone_cycles():
    return OUR_ALONE_CYCLES + 2 * 28 * 28 / 8 / LOOPBACK_WORDS_PER_CYCLE


def chain_table():
    torch_us, alone, slow = sum(SSL_PYTHON_US.values()), alone_cycles(), slow_us()
    rows = [["[SSL], accelerated, with transfers", "–", f"{slow:,.0f}", "1"],
            ["[SSL], Torch on the board", "–", f"{torch_us:,.0f}", f"{SSL_SLOWER}"],
            ["ours, one image alone, with transfers", f"{alone:,.0f}", f"{alone / STATED_MHZ:.1f}", f"{slow * STATED_MHZ / alone:,.0f}"],
            ["ours, in a stream: transfers lie beneath", f"{OUR_CHAIN_CYCLES}", f"{OUR_CHAIN_CYCLES / STATED_MHZ:.2f}",
             f"{slow * STATED_MHZ / OUR_CHAIN_CYCLES:,.0f}"]]
    return table(["four operations on an image", "cycles", f"µs at {STATED_MHZ} MHz", "times as fast as row one"], rows)


def stages_rows(units):
    for unit in units:
        convolutions, pools = unit["layer_cycles"][::2], unit["layer_cycles"][1::2]
        yield [unit["lanes"], f"{unit['cycles']:,}", f"{unit['transfer_cycles']:,}", *(f"{cycles:,}" for cycles in convolutions), f"{sum(pools):,}",
               percent(unit["products"] / (unit["cycles"] * unit["lanes"] ** 2))]


def gradients_rows(units):
    for unit in units:
        weights, inputs = unit["gradients"]["weight_cycles"], unit["gradients"]["input_cycles"]
        cycles = sum(weights) + sum(inputs)
        yield [unit["lanes"], f"{cycles:,}", *(f"{part:,}" for part in weights + inputs),
               percent(unit["gradients"]["products"] / (cycles * unit["lanes"] ** 2 / 4))]


def section(binaries):
    lines = subprocess.run([binaries / "encoder_stages_bench"], capture_output=True, text=True, check=True).stdout.splitlines()
    *units, processor = map(json.loads, lines)
    chosen = next(unit for unit in units if unit["lanes"] == LANES)
    image = alone_cycles() + chosen["cycles"]
    gradients = sum(chosen["gradients"]["weight_cycles"]) + sum(chosen["gradients"]["input_cycles"])
    return PART.format(
        operations=table(["operation", "[SSL]: Torch on the board", "[SSL]: module", "golden model, this processor", "PyTorch eager, this processor"],
                         learning_rows(binaries)),
        chain=chain_table(), words=LOOPBACK_WORDS_PER_CYCLE, clock=STATED_MHZ, lanes=LANES,
        stages=table(["lanes", "cycles", "of them transfers", "conv 1", "conv 2", "conv 3", "maxima", "used"], stages_rows(units)),
        gradients=table(["lanes", "cycles", "weights 1", "weights 2", "weights 3", "inputs 2", "inputs 3", "used"], gradients_rows(units)),
        image_cycles=round(image), image_us=image / STATED_MHZ, faster=slow_us() * STATED_MHZ / image, processor_us=processor["processor_us"],
        step_cycles=round(image + gradients), step_us=(image + gradients) / STATED_MHZ,
        step_faster=slow_us() * STATED_MHZ / (image + gradients), backward_us=processor["processor_backward_us"])


PART = """## Learning: operations on images

µs for one image of 28 × 28 (table 7.1 of [[SSL]](references.md)). Its board figures are Torch on a Kria board and cycles of a simulation at {clock} MHz. "Golden model" and PyTorch were measured on this processor, alternating; both are one image at a time on one thread.
PyTorch has no torchvision here: its rotation is a grid sample, its blur a convolution.

{operations}

All four operations are stages of one pipeline in our RTL ([augmentation](fpga/augmentation.md)), so each has no time of its own in a stream:

{chain}

[SSL] states that its accelerated pipeline would take 1.75 times as long as Torch on its board, transfers counted. Ours are cycles at a stated clock, not a measured board: they count the words of one image in and one out at 64 bits and {words} words
a cycle, as the loopback kernel reaches them, and not the host's call.

## Learning: an encoder

The convolutions of a forward pass of the quantised encoder for 28 × 28 pixels with 16, 32 and 64 channels, one image, as [a board computes them](federated-runs.md#on-a-board): programs with weights that change in every step, three results out.

{stages}

Their gradients for one image of a batch of 32, in [bfloat16 with float32 sums](fpga/tensor.md#bfloat16), transfers included: of the weights of each convolution, and of its inputs but for the first. "Used" is products / (cycles · lanes² / 4).

{gradients}

The board computes views and convolutions of a node's image one after the other, each twice for a step of SimSiam or SimCLR. With {lanes} lanes a view with its convolutions takes {image_cycles:,} cycles, transfers counted: {image_us:.0f} µs at {clock} MHz, {faster:.0f} times as fast as [SSL]'s
accelerated pipeline, which has one convolution. With its gradients it takes {step_cycles:,} cycles: {step_us:.0f} µs, {step_faster:.1f} times as fast as that pipeline, which has none. This processor's passes alone take {processor_us:.0f} µs forward and {backward_us:.0f} µs backward for an image of a batch of 32. The host's part, which packs what the unit reads, is in none of these figures."""

if __name__ == "__main__":
    print(section(pathlib.Path(sys.argv[1]).resolve()))
