#!/usr/bin/python3
"""Training of the table 4 network on a fixed set of bursts against PyTorch: accuracy on held-out bursts, and seconds.

Usage: modulation_training.py BINARY_DIRECTORY [TRAINING_BURSTS [EPOCHS [SEEDS]]]
Both train from their own random weights on the bursts that modulation_training_bench draws and writes, with the same batch,
Adam and one-cycle schedule, and both are judged on the same held-out bursts. One thread each, alternating, seed after seed.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

BATCH = 128
RATE = 4e-3
HELD_OUT = 40_000


def skip(reason):
    print(json.dumps({"bench": "modulation_training", "skipped": reason}))
    sys.exit(0)


try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError:
    skip("PyTorch is not installed (python3-torch)")


def table4():
    """The layers and the initial weights of core/nn/modulation: He before a ReLU, near zero for the last layer."""
    network = nn.Sequential(nn.Conv1d(2, 32, 8), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(32, 16, 16), nn.ReLU(),
                            nn.MaxPool1d(2), nn.Flatten(), nn.Linear(352, 64, bias=False), nn.ReLU(),
                            nn.Linear(64, 32, bias=False), nn.ReLU(), nn.Linear(32, 10, bias=False))
    for layer in network:
        if hasattr(layer, "weight"):
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    with torch.no_grad():
        network[-1].weight *= 0.1
    return network


def read(folder, name):
    bursts = torch.from_numpy(np.load(os.path.join(folder, name + ".npy")))
    classes = torch.from_numpy(np.load(os.path.join(folder, name + "_classes.npy")).astype(np.int64))
    return bursts, classes


def train(bursts, classes, seed, epochs):
    """The trained network, and the seconds that it took."""
    torch.manual_seed(seed)
    network = table4()
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    batches = len(classes) // BATCH
    # As OneCycle in core/nn/optimise: from RATE / 25 over 30 % of the steps, then to RATE / 250,000; Adam's momentum stays.
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=RATE, total_steps=epochs * batches + 1,
                                                   cycle_momentum=False)
    begin = time.perf_counter()
    for _ in range(epochs):
        for batch in torch.randperm(len(classes))[:batches * BATCH].view(batches, BATCH):
            loss = F.cross_entropy(network(bursts[batch]), classes[batch])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            schedule.step()
    return network, time.perf_counter() - begin


def accuracy(network, bursts, classes):
    with torch.no_grad():
        right = sum(int((network(b).argmax(1) == c).sum()) for b, c in zip(bursts.split(1000), classes.split(1000)))
    return right / len(classes)


def main():
    training, epochs, seeds = (int(value) for value in (sys.argv[2:] + ["80000", "10", "2"][len(sys.argv) - 2:]))
    torch.set_num_threads(1)
    ours, theirs, our_s, their_s = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([os.path.join(sys.argv[1], "modulation_training_bench"), folder, "table4", str(training),
                                   str(HELD_OUT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline().strip() == "ready"
        bursts, classes = read(folder, "training")
        held_out = read(folder, "held_out")
        for seed in range(1, seeds + 1):
            print(seed, epochs, BATCH, RATE, file=server.stdin, flush=True)
            seconds, share = (float(value) for value in server.stdout.readline().split())
            ours.append(share)
            our_s.append(seconds)
            network, seconds = train(bursts, classes, seed, epochs)
            theirs.append(accuracy(network, *held_out))
            their_s.append(seconds)
        server.stdin.close()
        server.wait()
    print(json.dumps({"bench": "modulation_training", "network": "table4", "bursts": training, "epochs": epochs,
                      "held_out": HELD_OUT,
                      "baseline": {"name": f"PyTorch {torch.__version__}, Adam, one cycle, one thread",
                                   "accuracy": [round(v, 4) for v in theirs], "s": [round(v, 1) for v in their_s]},
                      "accuracy": [round(v, 4) for v in ours], "s": [round(v, 1) for v in our_s],
                      "accuracy_difference": round(statistics.mean(ours) - statistics.mean(theirs), 4),
                      "median_ratio": round(statistics.median(t / o for t, o in zip(their_s, our_s)), 2)}, indent=1))


if __name__ == "__main__":
    main()
