#!/usr/bin/env python3
"""Plants faults in a block's RTL, drawn at random from all that mutants.py finds, and counts how many the checks catch.

usage: mutate.py --folder WORK_FOLDER [--count N] [--seed N] [--write] BLOCK...

All mutants of a block are compiled into one bench, which is then run once for each. What the bench misses is planted
alone and given to the block's proofs. BLOCK.txt beside this file keeps the list as it was drawn, with what caught each
mutant; a line `equivalent: FILE: EXPRESSION => MUTANT # REASON` there argues that no check can see that one, and takes it
out of the count. --write renews the list. The RTL is copied: the tree is never changed. Not part of CI.

Exit status: 0 if at least 95 % of the mutants that are not equivalent were caught, and at least 60 were planted; 1 if not.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

import mutants

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
THRESHOLD = 0.95
LEAST = 60
SLOWER = 20       # a bench that takes so many times what it takes without a mutant hangs
SHORTEST_S = 5.0
REFUTED = re.compile("Assert failed|Unreached cover statement|Temporal induction failed|ERROR")
ACTIVE = "mutant_pkg::active"
PACKAGE = """// Which mutant of this model is active: the environment says so when the model is made.
package mutant_pkg;
  int active = $c32("::atoi(::getenv(\\"TRIBUTARY_MUTANT\\"))");
endpackage
"""


@dataclasses.dataclass(frozen=True)
class Block:
    bench: str
    left_out: tuple = ()  # files whose text the bench does not run, or that a program writes and another test compares
    proofs: dict = dataclasses.field(default_factory=dict)  # of a file: ctest's regular expression
    folder: str = ""      # of the sources, if it is not the block's name
    files: str = "*.sv"

    def sources(self, name):
        """(as the list names it, path) of each file from which mutants are drawn."""
        folder = self.folder or name
        for path in sorted((ROOT / "fpga/rtl" / folder).glob(self.files)):
            if not any(fnmatch.fnmatch(path.name, pattern) for pattern in self.left_out):
                yield f"{folder}/{path.name}", path


BLOCKS = {
    "augmentation": Block("augmentation_tb"),
    "beacon": Block("beacon_tb", proofs={
        f"beacon/beacon_{port}_port.sv": f"formal_beacon_{port}_port$" for port in ("read", "write")}),
    "common": Block("common_tb", (
        "axi_lite_check.sv", "axi_master_check.sv", "axi_slave_read_check.sv", "axi_slave_write_check.sv", "stream_check.sv"), {
        f"common/{block}.sv": f"formal_{block}$"
        for block in ("fifo", "round_robin_arbiter", "skid_buffer", "stream_pack", "stream_unpack")}),
    "convolution": Block("convolution_tb"),
    "fusion": Block("fusion_tb", ("fusion_program.sv", "fusion_table.sv")),
    "kernel": Block("kernel_tb", ("augment_convolve_kernel.sv", "beacon_kernel.sv", "fusion_kernel.sv", "modulation_kernel.sv", "modulation_kernel_8.sv", "positioning_kernel.sv"), {
        "kernel/axi_burst_plan.sv": "formal_axi_", "kernel/axi_read_master.sv": "formal_axi_read",
        "kernel/axi_write_master.sv": "formal_axi_write", "kernel/kernel_control.sv": "formal_kernel_control"}),
    "modulation": Block("modulation_tb", proofs={
        f"modulation/modulation_{part}.sv": f"formal_modulation_{part}$" for part in ("sequence", "store")}),
    "positioning": Block("positioning_tb", proofs={"positioning/positioning_input.sv": "formal_positioning_input"}),
    "tensor": Block("tensor_tb", ("tensor_pkg.sv", "tensor_*float*.sv", "tensor_int*.sv"), {
        f"tensor/tensor_{part}.sv": f"formal_tensor_{part}$" for part in ("loader", "read_mux")}),
    "tensor_bfloat": Block("tensor_tb", folder="tensor", files="tensor_bfloat*.sv"),
    "tensor_float": Block("tensor_tb", folder="tensor", files="tensor_float*.sv"),  # for float32, and what bfloat16 shares with it
    "tensor_integers": Block("tensor_tb", folder="tensor", files="tensor_int*.sv"),
}


class Tree:
    """A second source tree of links, in which only the RTL is a copy, and its own build folder."""

    def __init__(self, name, block, folder):
        self.block = block
        self.limit_s = 600.0
        self.rtl = folder / "tree/fpga/rtl"
        self.build = folder / "build"
        shutil.rmtree(folder / "tree", ignore_errors=True)
        (folder / "tree/fpga").mkdir(parents=True)
        for entry in ROOT.iterdir():
            if entry.name not in ("build", "fpga", ".git"):
                (folder / "tree" / entry.name).symlink_to(entry)
        for entry in (ROOT / "fpga").iterdir():
            if entry.name != "rtl":
                (folder / "tree/fpga" / entry.name).symlink_to(entry)
        # Renew the time stamps: the previous build may have been of mutants.
        shutil.copytree(ROOT / "fpga/rtl", self.rtl, copy_function=shutil.copy)
        package = folder / "mutant_pkg.sv"
        package.write_text(PACKAGE)
        # A warning of Verilator does not count as caught: the bench must catch the fault.
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DTRIBUTARY_GRPC=OFF", "-DTRIBUTARY_XRT=OFF", "-DTRIBUTARY_RTL=ON",
                   f"-DTRIBUTARY_RTL_BLOCKS={block.folder or name}", f"-DTRIBUTARY_VERILATOR_FLAGS=-Wno-fatal;-Wno-lint;{package}"]
        subprocess.run(["cmake", "-S", folder / "tree", "-B", self.build, "-G", "Ninja", *options], check=True,
                       stdout=subprocess.DEVNULL)

    def compile(self, drawn):
        """Builds the bench with all of `drawn`, numbered from 1."""
        for file in {mutant.file for mutant in drawn}:
            path = self.rtl / file
            numbered = [(number, mutant) for number, mutant in enumerate(drawn, 1) if mutant.file == file]
            path.write_text(mutants.selectable(path.read_text(), numbered, ACTIVE))
        built = subprocess.run(["ninja", "-C", self.build, self.block.bench], capture_output=True, text=True, check=False)
        if built.returncode:
            sys.exit(f"the bench with its mutants does not build:\n{built.stdout[-4000:]}")
        shutil.copytree(ROOT / "fpga/rtl", self.rtl, dirs_exist_ok=True)  # for the proofs, which take one mutant each

    def measure(self):
        """Runs the bench without a mutant: what it takes bounds the others."""
        begin = time.monotonic()
        if self.bench_catches(0):
            sys.exit(f"{self.block.bench} does not pass without a mutant")
        self.limit_s = max(SHORTEST_S, SLOWER * (time.monotonic() - begin))

    def bench_catches(self, number):
        """What stopped the bench, or None if it passes. 0 is the design without a mutant."""
        environment = {**os.environ, "TRIBUTARY_MUTANT": str(number)}
        try:
            result = subprocess.run([self.build / "bin" / self.block.bench, "--gtest_fail_fast"], env=environment, check=False,
                                    capture_output=True, timeout=self.limit_s)
        except subprocess.TimeoutExpired:
            return "bench (time)"
        return "bench" if result.returncode else None

    def proof_catches(self, mutant):
        """Whether a proof of the file fails with this mutant alone."""
        if mutant.file not in self.block.proofs:
            return None
        path = self.rtl / mutant.file
        original = (ROOT / "fpga/rtl" / mutant.file).read_text()
        path.write_text(original[:mutant.site.begin] + mutant.mutated + original[mutant.site.end:])
        proof = subprocess.run(["ctest", "--test-dir", self.build, "--no-tests=error", "--output-on-failure", "-R",
                                self.block.proofs[mutant.file]], capture_output=True, text=True, check=False)
        path.write_text(original)
        if proof.returncode and not REFUTED.search(proof.stdout):
            sys.exit(f"a proof of {mutant.file} did not come to its end:\n{proof.stdout[-2000:]}")
        return "proof" if proof.returncode else None


def equivalents(name):
    """Reasons by the key of the mutant."""
    reasons = {}
    path = HERE / f"{name}.txt"
    for line in path.read_text().splitlines() if path.exists() else []:
        outcome, _, rest = line.partition(": ")
        key, _, reason = rest.partition(" # ")
        if outcome == "equivalent" and reason:
            reasons[key] = reason
    return reasons


def draw(name, count, seed):
    everything = []
    for file, path in BLOCKS[name].sources(name):
        everything += mutants.mutants_of(file, path.read_text())
    chooser = random.Random(f"{seed} {name}")
    chosen = chooser.sample(everything, min(count, len(everything)))
    return len(everything), sorted(chosen, key=lambda mutant: (mutant.file, mutant.line, mutant.mutated))


def run_block(name, arguments):
    available, drawn = draw(name, arguments.count, arguments.seed)
    reasons = equivalents(name)
    tree = Tree(name, BLOCKS[name], arguments.folder.resolve() / name)
    begin = time.monotonic()
    tree.compile(drawn)
    print(f"{name}: {len(drawn)} mutants drawn from {available} with seed {arguments.seed}, built in "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    tree.measure()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(pool.map(tree.bench_catches, range(1, len(drawn) + 1)))
    lines, missed, equivalent = [], 0, 0
    for mutant, outcome in zip(drawn, outcomes):
        key = mutant.key()
        outcome = outcome or tree.proof_catches(mutant)
        if outcome is None and key in reasons:
            equivalent += 1
            lines.append(f"equivalent: {key} # {reasons[key]}")
            continue
        missed += outcome is None
        lines.append(f"{outcome or 'MISSED'}: {key}")
        if outcome is None:
            print(f"MISSED {mutant.file}:{mutant.line}: {key.split(': ', 1)[1]}", flush=True)
    planted = len(drawn) - equivalent
    caught = planted - missed
    summary = f"{name}: {caught} of {planted} caught ({100 * caught / planted:.1f} %), {equivalent} equivalent"
    print(summary, flush=True)
    if arguments.write:
        head = [f"# Drawn by mutate.py with seed {arguments.seed} from {available}. {summary}",
                "# what caught it: file: expression => as planted, and behind # why no check can see an equivalent one"]
        (HERE / f"{name}.txt").write_text("\n".join(head + lines) + "\n")
    return caught >= THRESHOLD * planted and planted >= LEAST


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="kept between runs, so that only RTL is rebuilt")
    parser.add_argument("--count", type=int, default=90, help="mutants of each block (default 90)")
    parser.add_argument("--seed", type=int, default=1, help="of the drawing (default 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="benches at a time (default: processors)")
    parser.add_argument("--write", action="store_true", help="renew BLOCK.txt")
    parser.add_argument("blocks", nargs="+", choices=sorted(BLOCKS), metavar="BLOCK")
    arguments = parser.parse_args()
    sys.exit(0 if all([run_block(name, arguments) for name in arguments.blocks]) else 1)


if __name__ == "__main__":
    main()
