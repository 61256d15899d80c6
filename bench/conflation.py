#!/usr/bin/python3
"""Conflation of four panels: the vectorised batch against Eigen's Matrix2f and against a Python loop with numpy.

Runs the baselines and the candidate in turn, round by round, and reports the median over the rounds of the ratio within
a round, since the machine's speed drifts between rounds.

    bench/conflation.py [build/bench/bin] [--rounds 7] [--json FILE]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

PANELS = 4
SUBJECTS = 256
SECONDS = 0.2

CANDIDATE = f"BatchInSingle/{SUBJECTS}"
BASELINES = {"Eigen Matrix2f": f"EigenMatrix2f/{SUBJECTS}", "batch in double": f"Batch/{SUBJECTS}"}
TARGETS = {"Eigen Matrix2f": 8, "batch in double": None, "Python loop, linalg.inv": 200, "numpy, batched": None}


def run_binary(binary: pathlib.Path) -> dict[str, float]:
    """Nanoseconds per fused result, by benchmark."""
    names = [CANDIDATE, *BASELINES.values()]
    command = [str(binary), "--benchmark_format=json", f"--benchmark_min_time={SECONDS}",
               "--benchmark_filter=^(" + "|".join(names) + ")$"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {entry["name"]: 1e9 / entry["items_per_second"] for entry in report["benchmarks"]}


def draw() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    means = random.normal(size=(SUBJECTS, PANELS, 2)).astype(np.float32)
    factors = np.zeros((SUBJECTS, PANELS, 2, 2), dtype=np.float32)
    factors[..., 0, 0] = random.uniform(0.01, 0.03, (SUBJECTS, PANELS))
    factors[..., 1, 0] = random.normal(0, 0.01, (SUBJECTS, PANELS))
    factors[..., 1, 1] = random.uniform(0.01, 0.03, (SUBJECTS, PANELS))
    return means, factors


def python_loop(means: np.ndarray, factors: np.ndarray) -> None:
    for subject in range(SUBJECTS):
        information = np.zeros((2, 2), dtype=np.float32)
        weighted = np.zeros(2, dtype=np.float32)
        for panel in range(PANELS):
            factor = factors[subject, panel]
            inverse = np.linalg.inv(factor @ factor.T)
            information += inverse
            weighted += inverse @ means[subject, panel]
        covariance = np.linalg.inv(information)
        covariance @ weighted


def numpy_batched(means: np.ndarray, factors: np.ndarray) -> None:
    inverse = np.linalg.inv(factors @ factors.swapaxes(-1, -2))
    covariance = np.linalg.inv(inverse.sum(axis=1))
    covariance @ (inverse @ means[..., None]).sum(axis=1)


def time_python(function, *arguments) -> float:
    """Nanoseconds per fused result."""
    runs = 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        function(*arguments)
        runs += 1
    return (time.perf_counter() - start) * 1e9 / runs / SUBJECTS


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path, nargs="?", default=root / "build/bench/bin")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    options = parser.parse_args()
    binary_path = options.bin / "conflation_bench"
    if not binary_path.exists():
        parser.error(f"{binary_path} does not exist; build it with: cmake --build --preset bench")

    means, factors = draw()
    candidate: list[float] = []
    baselines: dict[str, list[float]] = {name: [] for name in TARGETS}
    for _ in range(options.rounds):
        binary = run_binary(binary_path)
        candidate.append(binary[CANDIDATE])
        for name, benchmark in BASELINES.items():
            baselines[name].append(binary[benchmark])
        baselines["Python loop, linalg.inv"].append(time_python(python_loop, means, factors))
        baselines["numpy, batched"].append(time_python(numpy_batched, means, factors))

    figures = {"batch_ns": statistics.median(candidate), "baselines": {}}
    print(f"conflation of {PANELS} panels, {SUBJECTS} subjects, median of {options.rounds} rounds")
    print(f"{'batch in fp32':26} {figures['batch_ns']:10.2f} ns per fused result")
    for name, times in baselines.items():
        ratio = statistics.median(b / c for b, c in zip(times, candidate))
        target = TARGETS[name]
        goal = f"  (goal {target})" if target else ""
        print(f"{name:26} {statistics.median(times):10.2f} ns, ratio {ratio:8.1f}{goal}")
        figures["baselines"][name] = {"ns": statistics.median(times), "ratio": ratio, "goal": target}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
