#!/usr/bin/python3
"""The weighted sum of 10 updates of 25 M parameters: the fixed-point kernel against NumPy and the read bandwidth.

Runs the baselines and the candidate in turn, round by round, and reports the median over the rounds of the ratio within
a round, since the machine's speed drifts between rounds. One thread each, in time of the processor. The kernel adds
chunks of 1 MiB that are in the cache, as they are when they have just been received; "from memory" they are not.

    bench/federation_accumulate.py [build/bench/bin] [--rounds 7] [--json FILE]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

ELEMENTS = 25_000_000
UPDATES = 10
SECONDS = 0.3
BLOCK = 1 << 18  # elements of a 1 MiB chunk

# Share of the read bandwidth, counting 4 bytes of the update and 4 of the sum read and 4 of the sum written.
BANDWIDTH_GOAL = 0.6
TARGETS = {"numpy, in place": 2.5, "numpy, acc += w * x": None, "numpy, blocks of 1 MiB": None}


def run_binary(binary: pathlib.Path) -> dict[str, dict[str, float]]:
    names = "Read|Accumulate|AccumulateFromCache"
    command = [str(binary), "--benchmark_format=json", f"--benchmark_min_time={SECONDS}",
               f"--benchmark_filter=^({names})$"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {entry["name"]: {"ms": UPDATES * entry["cpu_time"], "gb_s": entry["bytes_per_second"] / 1e9}
            for entry in report["benchmarks"]}


def in_place(total, update, product, weight):
    np.multiply(update, weight, out=product)
    np.add(total, product, out=total)


def with_temporary(total, update, product, weight):
    total += weight * update


def in_blocks(total, update, product, weight):
    for begin in range(0, ELEMENTS, BLOCK):
        part = update[begin:begin + BLOCK]
        block = product[:len(part)]
        np.multiply(part, weight, out=block)
        total[begin:begin + BLOCK] += block


def time_numpy(add, *arrays) -> float:
    """Milliseconds of the processor for all updates."""
    start = time.process_time()
    for _ in range(UPDATES):
        add(*arrays, np.float32(0.1))
    return (time.process_time() - start) * 1e3


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path, nargs="?", default=root / "build/bench/bin")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    options = parser.parse_args()
    binary = options.bin / "federation_accumulate_bench"
    if not binary.exists():
        parser.error(f"{binary} does not exist; build it with: cmake --build --preset bench")

    update = np.random.default_rng(1).normal(0, 0.01, ELEMENTS).astype(np.float32)
    total, product = np.zeros_like(update), np.zeros_like(update)
    candidates = {"numpy, in place": in_place, "numpy, acc += w * x": with_temporary,
                  "numpy, blocks of 1 MiB": in_blocks}
    runs = []
    baselines: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(options.rounds):
        runs.append(run_binary(binary))
        for name, add in candidates.items():
            baselines[name].append(time_numpy(add, total, update, product))

    median = statistics.median
    figures = {"accumulate_ms": median(run["Accumulate"]["ms"] for run in runs),
               "accumulate_from_cache_ms": median(run["AccumulateFromCache"]["ms"] for run in runs),
               "read_gb_s": median(run["Read"]["gb_s"] for run in runs), "shares": {}, "baselines": {}}
    print(f"{UPDATES} updates of {ELEMENTS} parameters, median of {options.rounds} rounds")
    print(f"{'read bandwidth':32} {figures['read_gb_s']:8.1f} GB/s")
    for name in ("Accumulate", "AccumulateFromCache"):
        share = median(run[name]["gb_s"] / run["Read"]["gb_s"] for run in runs)
        figures["shares"][name] = share
        print(f"{name:32} {median(run[name]['ms'] for run in runs):8.1f} ms, "
              f"{median(run[name]['gb_s'] for run in runs):5.1f} GB/s, {share:.2f} of it (goal {BANDWIDTH_GOAL})")
    for name, times in baselines.items():
        ratio = median(t / run["Accumulate"]["ms"] for t, run in zip(times, runs))
        cached = median(t / run["AccumulateFromCache"]["ms"] for t, run in zip(times, runs))
        target = TARGETS[name]
        goal = f" (goal {target})" if target else ""
        print(f"{name:32} {median(times):8.1f} ms, ratio {cached:.2f}{goal}, from memory {ratio:.2f}")
        figures["baselines"][name] = {"ms": median(times), "ratio": cached, "from_memory": ratio, "goal": target}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
