#!/usr/bin/python3
"""Beacon training against SciPy least_squares(method="lm") with an analytic Jacobian, to equal error.

Usage: beacon_training.py BINARY_DIRECTORY
600 patterns of ranges to three anchors (noise 0.07 m, bias 0.2 m, as the recordings have), 62 weights, several
starts. Both train to the end first; the worse of both final errors, plus 0.1 %, is the target that both are then timed to,
alternating.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

PATTERNS = 600
STARTS = 5
ROUNDS = 5

try:
    import numpy as np
    from scipy.optimize import least_squares
except ImportError:
    print(json.dumps({"bench": "beacon_training", "skipped": "SciPy is not installed (python3-scipy)"}))
    sys.exit(0)


class Reached(Exception):
    pass


def patterns(random):
    t = np.linspace(0, 60, PATTERNS)
    truth = np.stack([2.9 * np.sin(0.37 * t), 2.4 * np.sin(0.53 * t + 0.4)], 1)
    anchors = np.array([[0.0, 3.0], [3.57, -3.0], [-3.47, -2.96]])
    ranges = np.linalg.norm(truth[:, None] - anchors, axis=2) + 0.2 + 0.07 * random.standard_normal((PATTERNS, 3))
    return (ranges - 3.8) / 4.2, truth / 3.3


def forward(w, x):
    layer1 = w[:40].reshape(10, 4)
    layer2 = w[40:].reshape(2, 11)
    hidden = np.tanh(x @ layer1[:, :3].T + layer1[:, 3])
    return hidden, layer2, hidden @ layer2[:, :10].T + layer2[:, 10]


def jacobian(w, x):
    hidden, layer2, _ = forward(w, x)
    n = len(x)
    rows = np.zeros((n, 2, 62))
    inputs = np.concatenate([x, np.ones((n, 1))], 1)
    slope = 1 - hidden * hidden
    for o in range(2):
        rows[:, o, :40] = ((layer2[o, :10] * slope)[:, :, None] * inputs[:, None, :]).reshape(n, 40)
        rows[:, o, 40 + 11 * o:50 + 11 * o] = hidden
        rows[:, o, 50 + 11 * o] = 1
    return rows.reshape(2 * n, 62)


def train_scipy(x, targets, start, target_rms=0.0):
    """Seconds to the target (or to the end) and the error reached."""
    best = [math.inf]

    def errors(w):
        e = (forward(w, x)[2] - targets).ravel()
        rms = math.sqrt(e @ e / len(e))
        best[0] = min(best[0], rms)
        if rms <= target_rms:
            raise Reached
        return e

    begin = time.perf_counter()
    try:
        least_squares(errors, start, jac=lambda w: jacobian(w, x), method="lm", max_nfev=300)
    except Reached:
        pass
    return time.perf_counter() - begin, best[0]


def main():
    random = np.random.default_rng(1)
    x, targets = patterns(random)
    ratios, scipy_s, ours_s, errors = [], [], [], []
    for _ in range(STARTS):
        start = random.uniform(-1, 1, 62)
        start[40:] /= math.sqrt(10)
        server = subprocess.Popen([os.path.join(sys.argv[1], "beacon_training_bench")],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def ask(command):
            print(command, file=server.stdin, flush=True)
            return [float(v) for v in server.stdout.readline().split()]

        lines = [" ".join(repr(float(v)) for v in row) for row in np.concatenate([x, targets], 1)]
        print(PATTERNS, *lines, " ".join(repr(float(w)) for w in start), sep="\n", file=server.stdin, flush=True)
        target = 1.001 * max(train_scipy(x, targets, start)[1], ask("limit")[0])
        for _ in range(ROUNDS):
            theirs, their_error = train_scipy(x, targets, start, target)
            ours, our_error, _ = ask(f"time {target!r}")
            assert their_error <= target and our_error <= target
            ratios.append(theirs / ours)
            scipy_s.append(theirs)
            ours_s.append(ours)
        errors.append(target)
        server.stdin.close()
        server.wait()
    print(json.dumps({"bench": "beacon_training", "patterns": PATTERNS, "weights": 62,
                      "baseline": {"name": "SciPy least_squares(method='lm'), analytic Jacobian",
                                   "ms": round(1e3 * statistics.median(scipy_s), 2)},
                      "ms": round(1e3 * statistics.median(ours_s), 3),
                      "rms": [round(e, 5) for e in errors],
                      "median_ratio": round(statistics.median(ratios), 1)}, indent=1))


if __name__ == "__main__":
    main()
