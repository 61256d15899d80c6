#!/usr/bin/python3
"""Inference of the modulation networks against PyTorch eager on OpenBLAS: one thread, alternating in one run.

Usage: modulation_inference.py BINARY_DIRECTORY [NETWORK...]
Times are those of the processor, so other programs do not count. The baseline is the network alone; ours includes the check
for samples that are not finite, and in int8 the quantisation.
"""
import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 40
BURSTS = 512  # of one side in a round
BATCHES = (1, 64)
FORMATS = ("int8", "float")

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"


def skip(reason):
    print(json.dumps({"bench": "modulation_inference", "skipped": reason}))
    sys.exit(0)


def torch_with_openblas():
    try:
        import torch
    except ImportError:
        skip("PyTorch is not installed (python3-torch)")
    torch.set_num_threads(1)
    torch.randn(64, 64) @ torch.randn(64, 64)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        if "openblas" not in maps.read():
            skip("PyTorch does not use OpenBLAS here (libopenblas0): reference BLAS is a straw man")
    return torch


def networks(torch):
    """The layers of core/nn/modulation/modulation_architectures.cc."""
    nn = torch.nn

    class MeanOverTime(nn.Module):
        def forward(self, features):
            return features.mean(dim=2)

    def layer(inputs, outputs, taps):
        return [nn.Conv1d(inputs, outputs, taps), nn.ReLU()]

    def stage(inputs, outputs, taps):
        return [*layer(inputs, outputs, taps), nn.MaxPool1d(2)]

    return {
        "table4": nn.Sequential(
            *stage(2, 32, 8), *stage(32, 16, 16), nn.Flatten(), nn.Linear(352, 64, bias=False), nn.ReLU(),
            nn.Linear(64, 32, bias=False), nn.ReLU(), nn.Linear(32, 10, bias=False)),
        "compact": nn.Sequential(
            *stage(2, 24, 12), *stage(24, 24, 7), *stage(24, 32, 5), MeanOverTime(), nn.Linear(32, 10)),
        "deep": nn.Sequential(
            *layer(2, 16, 8), *stage(16, 24, 5), *stage(24, 24, 5), *stage(24, 32, 4), *layer(32, 32, 1), MeanOverTime(), nn.Linear(32, 10)),
    }


def baseline(torch, network, batch):
    network = network.eval()
    bursts = torch.randn(batch, 2, 128)

    def microseconds():
        with torch.no_grad():
            start = time.process_time()
            for _ in range(BURSTS // batch):
                network(bursts)
            return (time.process_time() - start) / BURSTS * 1e6

    microseconds()
    return microseconds


def candidate(directory, network, number_format, batch):
    server = subprocess.Popen(
        [os.path.join(directory, "modulation_inference_bench"), "--serve", network, number_format, str(batch)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server.stdout.readline()

    def microseconds():
        print(BURSTS // batch, file=server.stdin, flush=True)
        return float(server.stdout.readline())

    microseconds()
    return microseconds


def compare(reference, candidates):
    """Medians of the microseconds per burst and of the ratios."""
    times = {name: [] for name in candidates}
    ratios = {name: [] for name in candidates}
    reference_times = []
    for _ in range(ROUNDS):
        theirs = reference()
        reference_times.append(theirs)
        for name, run in candidates.items():
            ours = run()
            times[name].append(ours)
            ratios[name].append(theirs / ours)
    result = {"baseline_us": round(statistics.median(reference_times), 2)}
    for name in candidates:
        result[name] = {"us": round(statistics.median(times[name]), 2),
                        "median_ratio": round(statistics.median(ratios[name]), 2)}
    return result


def main():
    torch = torch_with_openblas()
    result = {"bench": "modulation_inference", "threads": 1, "times": "microseconds of the processor per burst",
              "baseline": f"PyTorch {torch.__version__} eager, OpenBLAS"}
    for name, network in networks(torch).items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        for batch in BATCHES:
            result[f"{name}, batch {batch}"] = compare(
                baseline(torch, network, batch),
                {number_format: candidate(sys.argv[1], name, number_format, batch) for number_format in FORMATS})
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
