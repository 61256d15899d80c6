"""Snapshots of 1,000 slots as four panels see them, images for a training, and the panels' tuples as lines for `tributary conflate`.

usage: slots.py --write FOLDER    writes south.npy … and images.idx
       slots.py --tuples FOLDER   prints the tuples of south.tuples.npy …
       slots.py --compare A B     ends with 1 if two outputs of `tributary conflate` differ in their first 12 digits
The snapshots are noise: what counts is that every bit of a network's output is compared, not where a user is.
"""

import json
import pathlib
import struct
import sys

import numpy

WALLS = ("south", "east", "north", "west")
SLOTS, FEATURES = 1000, 1024
IMAGES, SIDE = 320, 28


def write(folder):
    random = numpy.random.default_rng(20)
    for wall in WALLS:
        numpy.save(folder / f"{wall}.npy", random.standard_normal((SLOTS, FEATURES)).astype(numpy.float32))
    pixels = random.integers(0, 256, (IMAGES, SIDE, SIDE), dtype=numpy.uint8)
    header = struct.pack(">IIII", 0x803, IMAGES, SIDE, SIDE)
    (folder / "images.idx").write_bytes(header + pixels.tobytes())


def tuples(folder):
    panels = {wall: numpy.load(folder / f"{wall}.tuples.npy") for wall in WALLS}
    for slot in range(SLOTS):
        for wall, rows in panels.items():
            x, y, *factor = (float(value) for value in rows[slot])
            print(json.dumps({"site": "lab", "epoch": slot, "subject": 0, "source": wall, "mean": [x, y], "scale_tril": factor}))


def numbers(value):
    """All numbers of a JSON value, in order; other scalars as they are."""
    if isinstance(value, dict):
        return [item for key in sorted(value) for item in (key, *numbers(value[key]))]
    if isinstance(value, list):
        return [item for element in value for item in numbers(element)]
    return [value]


def compare(first, second):
    lines = [path.read_text().splitlines() for path in (first, second)]
    largest, count = 0.0, 0
    for ours, theirs in zip(*lines, strict=True):
        for a, b in zip(numbers(json.loads(ours)), numbers(json.loads(theirs)), strict=True):
            if isinstance(a, float) and isinstance(b, (int, float)):
                largest = max(largest, abs(a - b) / max(abs(a), abs(b), 1e-300))
                count += 1
            elif a != b:
                sys.exit(f"{a} and {b} differ")
    print(f"fused tuples of {len(lines[0]):,} slots: {count:,} numbers, largest relative difference {largest:.1e}")
    if largest > 1e-12:
        sys.exit("more than the last bits")


if __name__ == "__main__":
    {"--write": write, "--tuples": tuples, "--compare": compare}[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))
