"""Every example under "Examples:" in a program's --help runs as it is written, in a laboratory that has what it names.

usage: check_help.py --root FOLDER --bin FOLDER
Exit status: 0 all is well, 1 faults (one line each), 77 this machine gives the test no namespace.
"""

import argparse
import json
import math
import pathlib
import re
import shutil
import struct
import sys
import tempfile
import time
import urllib.request

import commands
import namespace
import session

SKIPPED = 77
# Examples that need what is not here, and why.
NOT_RUN = (
    (re.compile(r"--config /etc/tributary/"), "the service of docs/running.md, which the page test starts"),
    (re.compile(r"^tributary doctor --xclbin|--accelerator xrt --xclbin"), "needs a board"),
    (re.compile(r"^tributary token revoke 3fa94c12"), "the number of a token is random"),
    (re.compile(r"^tributary join 'TOKEN'"), "a token is random, and needs an aggregator with an authority"),
    (re.compile(r"^tributary run split "), "needs a run whose nodes form clusters, which its test has"),
    (re.compile(r"^tributary model export .*--labels "), "needs a run of classifiers; labelled_place_test has a model"),
    (re.compile(r"tributary (backup|restore) "), "needs a store or a node's files, which the tests of backups have"),
    (re.compile(r"^tributary serial "), "needs a line and a trained beacon network, which serial_test has"),
    (re.compile(r"ranges\.csv"), "needs TRIBUTARY_DATA_DIR, which the tests of the commands use"),
)
# These train or measure for long, and `load` ends with 1 if a busy machine loses a tuple: they pass if they still run
# after this time. A fault in what they are given is said before.
MEASURES = re.compile(r"^tributary (?:load\b|watch .*--seconds \d\d|adapt |train (?:self_supervised|modulation|positioning)|evaluate .*--conditions)")
MEASURE_S = 4

AGGREGATOR = """
[[site]]
name = "room"
sources = ["south", "east", "north", "west"]
[[site]]
name = "load"
sources = ["panel-0", "panel-1", "panel-2", "panel-3"]
[federation]
store = "/var/lib/tributary/store"
"""
LEARNER = """node = "learner-{0}"
[uplink]
aggregator = "127.0.0.1:7400"
[http]
listen = ""
[federation]
images = "glyphs"
glyphs = 64
shards = 2
shard_index = {0}
"""
ESTIMATE = {"site": "lab", "epoch": 1, "subject": 0, "source": "south", "mean": [1, 2], "scale_tril": [1, 0, 1]}
RUN = """name = "{name}"
rounds = 1000000
[encoder]
channels = [2, 4]
grid = 1
[client]
local_steps = 1
batch = 4
"""


def write_npy(path, *shape, kind="<f4"):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    values = range(math.prod(shape))
    data = bytes(i % 256 for i in values) if kind == "|u1" else struct.pack(f"<{len(values)}f", *(0.01 * (i % 100) for i in values))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


class Laboratory:
    """An aggregator with the sites of the examples, nodes with their panels, a run of two learners, and files."""

    def __init__(self, root, bin_folder, scratch):
        self.tree = session.make_tree(root, bin_folder, scratch)
        self.reader = session.Session(self.tree, bin_folder, scratch, "session")
        self.runs = 0
        examples = self.tree / "deploy/examples"
        aggregator = (examples / "aggregator.toml").read_text()
        (self.tree / "aggregator.toml").write_text(aggregator + AGGREGATOR)
        node = (examples / "four-panels.toml").read_text().replace("../../models", "models")
        node = node.replace("rate_hz = 200.0", "rate_hz = 50.0")  # leaves the processor to the examples
        # Examples start it again while it runs: give this one another HTTP port.
        node = node.replace("[[panel]]", '[http]\nlisten = "127.0.0.1:0"\n[[panel]]', 1)
        (self.tree / "node.toml").write_text(node)
        room = node.replace('site = "lab"', 'site = "room"').replace('node = "room"', 'node = "room-node"')
        (self.tree / "room.toml").write_text(room)
        for i in range(2):
            (self.tree / f"learner-{i}.toml").write_text(LEARNER.format(i))
        for name in ("train", "t10k"):
            namespace.images(self.tree / f"{name}-images-idx3-ubyte.gz", 200)
            namespace.labels(self.tree / f"{name}-labels-idx1-ubyte.gz", 200)
        namespace.pictures(self.tree / "pictures", 40)
        write_npy(self.tree / "panel.npy", 4, 1024)
        write_npy(self.tree / "images.npy", 4, 1, 28, 28, kind="|u1")
        write_npy(self.tree / "bursts.npy", 4, 2, 128)
        write_npy(self.tree / "points.npy", 20, 4, 1024)
        (self.tree / "points.csv").write_text("".join(f"{i % 5 - 2},{i % 7 - 3}\n" for i in range(20)))
        (self.tree / "estimates.jsonl").write_text(json.dumps(ESTIMATE) + "\n")
        self.reader.run("tributary-aggregator --config aggregator.toml")
        self.reader.run("tributary-node --config node.toml")
        self.reader.run("tributary-node --config room.toml")
        for i in range(2):
            self.reader.run(f"tributary-node --config learner-{i}.toml")
        self.start_run("letters")
        self.wait_for_rounds("letters", 13)  # examples speak of round 12
        self.reader.run("tributary model export run:letters --safetensors encoder.safetensors --onnx encoder.onnx")

    def start_run(self, name):
        (self.tree / "run.toml").write_text(RUN.format(name=name))
        self.reader.run("tributary run start run.toml")

    def wait_for_rounds(self, name, rounds):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with urllib.request.urlopen(f"http://127.0.0.1:7480/api/v1/runs/{name}", timeout=10) as answer:
                if json.load(answer)["run"]["committed_rounds"] >= rounds:
                    return
        raise session.Fault(f"run {name} has not committed {rounds} rounds within 60 s")

    def prepare(self, line):
        """What must hold before this very example."""
        if " run start " in line:  # a name is taken once
            self.runs += 1
            (self.tree / "run.toml").write_text(RUN.format(name=f"letters-{self.runs}"))
        elif " run resume " in line:
            self.reader.run("tributary run pause letters || true")
        elif " run pause " in line:
            self.reader.run("tributary run resume letters || true")


def reason_not_to_run(line, known):
    if not known.exists(line.split()[0]):
        return "is not built"
    return next((reason for pattern, reason in NOT_RUN if pattern.search(line)), None)


def run_examples(root, bin_folder):
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="tributary-help-"))
    namespace.prepare(scratch)
    known = commands.Commands(bin_folder)
    laboratory = Laboratory(root, bin_folder, scratch)
    faults, ran = [], 0
    # Stop the run and delete it last: the other examples look at it.
    examples = [(words, line) for words in known.all() for line in known.examples(words)]
    for words, line in sorted(examples, key=lambda example: (" run delete " in example[1], " run stop " in example[1])):
        if reason := reason_not_to_run(line, known):
            print(f"not run: {line}: {reason}")
            continue
        try:
            laboratory.prepare(line)
            # timeout ends with 124 if it had to end the command.
            unit = f"timeout -s INT {MEASURE_S} {line} || [ $? -eq 124 ]" if MEASURES.match(line) else line
            began = time.monotonic()
            laboratory.reader.run(unit)
            ran += 1
            if time.monotonic() - began > 2 * MEASURE_S:
                print(f"{time.monotonic() - began:.0f} s: {line}")
        except session.Fault as fault:
            faults.append(f"{' '.join(words)} --help: `{line}` {fault}")
    faults += laboratory.reader.close()
    print(f"{ran} examples ran as written")
    if not faults:
        shutil.rmtree(scratch, ignore_errors=True)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if reason := namespace.reason_against():
        print(f"skipped: this machine gives no network and mount namespace: {reason}")
        return SKIPPED
    namespace.enter()
    faults = run_examples(arguments.root.resolve(), arguments.bin.resolve())
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
