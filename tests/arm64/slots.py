"""Snapshots of 1,000 slots as four panels see them, images for a training, and the panels' tuples as lines for `tributary conflate`.

usage: slots.py --write FOLDER    writes south.npy … and images.idx
       slots.py --tuples FOLDER   prints the tuples of south.tuples.npy …
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


if __name__ == "__main__":
    {"--write": write, "--tuples": tuples}[sys.argv[1]](pathlib.Path(sys.argv[2]))
