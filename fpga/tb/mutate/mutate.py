#!/usr/bin/env python3
"""Plants one bug after another in a block's RTL and counts how many its bench catches.

usage: mutate.py --folder WORK_FOLDER BLOCK...

BLOCK.txt beside this file lists the bench's target on the first line ("bench: convolution_tb") and one mutation per
further line: FILE | TEXT | REPLACEMENT. FILE is relative to fpga/rtl, TEXT must occur in it exactly once. The RTL is
copied: the tree is never changed. Not part of CI: each mutation is a build.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
THRESHOLD = 0.95
TIMEOUT_S = 120


def read_block(name):
    bench, mutations = None, []
    for line in (HERE / f"{name}.txt").read_text().splitlines():
        if line.startswith("bench:"):
            bench = line.split(":", 1)[1].strip()
        elif line.strip() and not line.startswith("#"):
            file, text, replacement = (part.strip() for part in line.split(" | "))
            mutations.append((file, text, replacement))
    if bench is None or len(mutations) < 10:
        sys.exit(f"{name}.txt: needs a bench and at least ten mutations")
    return bench, mutations


class Bench:
    """A second source tree of links, in which only the RTL is a copy, and its own build folder."""

    def __init__(self, name, block, folder):
        self.name = name
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
        # Renew the time stamps: the previous build was of a mutation.
        shutil.copytree(ROOT / "fpga/rtl", self.rtl, copy_function=shutil.copy)
        # A warning of Verilator does not count as caught: the bench must catch the bug.
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DTRIBUTARY_GRPC=OFF", "-DTRIBUTARY_XRT=OFF", "-DTRIBUTARY_RTL=ON",
                   f"-DTRIBUTARY_RTL_BLOCKS={block}", "-DTRIBUTARY_VERILATOR_FLAGS=-Wno-fatal"]
        subprocess.run(["cmake", "-S", folder / "tree", "-B", self.build, "-G", "Ninja", *options], check=True,
                       stdout=subprocess.DEVNULL)

    def run(self):
        """Builds and runs; returns (caught, how), caught None if it does not build."""
        built = subprocess.run(["ninja", "-C", self.build, self.name], capture_output=True, text=True, check=False)
        if built.returncode:
            return None, built.stdout[-800:]
        try:
            result = subprocess.run([self.build / "bin" / self.name, "--gtest_fail_fast"], capture_output=True,
                                    timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return True, "hangs"
        return result.returncode != 0, "fails"


def run_block(folder, name):
    bench_name, mutations = read_block(name)
    caught = 0
    bench = Bench(bench_name, name, folder)
    clean, how = bench.run()
    if clean is not False:
        sys.exit(f"{name}: the bench does not pass without a mutation: {how}")
    for number, (file, text, replacement) in enumerate(mutations, 1):
        path = bench.rtl / file
        original = path.read_text()
        if original.count(text) != 1:
            sys.exit(f"{name}: mutation {number}: {text!r} occurs {original.count(text)} times in {file}")
        path.write_text(original.replace(text, replacement))
        begin = time.monotonic()
        result, how = bench.run()
        path.write_text(original)
        if result is None:
            sys.exit(f"{name}: mutation {number} does not build: {how}")
        caught += result
        print(f"{name} {number:2}: {'caught' if result else 'MISSED'} ({how if result else 'passes'}, "
              f"{time.monotonic() - begin:.0f} s)  {file}: {text}  ->  {replacement}", flush=True)
    print(f"{name}: {caught} of {len(mutations)} mutations caught")
    return caught >= THRESHOLD * len(mutations)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True,
                        help="kept between runs, so that only RTL is rebuilt")
    parser.add_argument("blocks", nargs="+")
    arguments = parser.parse_args()
    sys.exit(0 if all([run_block(arguments.folder.resolve(), block) for block in arguments.blocks]) else 1)


if __name__ == "__main__":
    main()
