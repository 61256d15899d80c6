#!/usr/bin/python3
"""Positioning inference against PyTorch eager on OpenBLAS: batch 16, one thread, alternating in one run.

Usage: positioning_inference.py BINARY_DIRECTORY
The baseline is the network alone; ours includes phase alignment, standardisation and quantisation.
"""
import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 40
BATCHES = 60
BATCH = 16

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"


def skip(reason):
    print(json.dumps({"bench": "positioning_inference", "skipped": reason}))
    sys.exit(0)


def baseline():
    try:
        import torch
    except ImportError:
        skip("PyTorch is not installed (python3-torch)")
    torch.set_num_threads(1)
    layers = []
    for inputs, outputs in ((1024, 200), (200, 100), (100, 20), (20, 5)):
        layers.append(torch.nn.Linear(inputs, outputs, bias=False))
        if outputs != 5:
            layers.append(torch.nn.ReLU())
        if outputs == 200:
            layers.append(torch.nn.BatchNorm1d(200))
    network = torch.nn.Sequential(*layers).eval()
    features = torch.randn(BATCH, 1024)

    def microseconds():
        with torch.no_grad():
            start = time.perf_counter()
            for _ in range(BATCHES):
                network(features)
            return (time.perf_counter() - start) / BATCHES * 1e6

    microseconds()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        if "openblas" not in maps.read():
            skip("PyTorch does not use OpenBLAS here (libopenblas0): reference BLAS is a straw man")
    return f"PyTorch {torch.__version__} eager, OpenBLAS", microseconds


def candidate(directory, number_format):
    server = subprocess.Popen(
        [os.path.join(directory, "positioning_inference_bench"), "--serve", number_format],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    description = server.stdout.readline().strip()

    def microseconds():
        print(BATCHES, file=server.stdin, flush=True)
        return float(server.stdout.readline())

    microseconds()
    return description, microseconds


def main():
    baseline_name, run_baseline = baseline()
    candidates = [candidate(sys.argv[1], f) for f in ("int8_16", "int8", "int16", "float")]
    times = {name: [] for name, _ in candidates}
    ratios = {name: [] for name, _ in candidates}
    baseline_times = []
    for _ in range(ROUNDS):
        reference = run_baseline()
        baseline_times.append(reference)
        for name, run in candidates:
            mine = run()
            times[name].append(mine)
            ratios[name].append(reference / mine)
    result = {"bench": "positioning_inference", "batch": BATCH, "threads": 1,
              "baseline": {"name": baseline_name, "us": round(statistics.median(baseline_times), 1)}}
    for name, _ in candidates:
        result[name] = {"us": round(statistics.median(times[name]), 2),
                        "median_ratio": round(statistics.median(ratios[name]), 2)}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
