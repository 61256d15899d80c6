#!/usr/bin/python3
"""Writes strategies.json: recorded updates and what each server strategy makes of them, by NumPy in double.

The formulas are those of the papers that aggregator/learning/rules/strategy.h names. Run it again after a change of the
updates or the options:

    tests/reference/strategies.py
"""

import json
import pathlib

import numpy as np

NODES = ["ash", "birch", "cedar", "fir", "larch"]
SAMPLES = [120, 80, 200, 40, 160]
ELEMENTS = 24
ROUNDS = 3
RATE, MOMENTUM, BETA1, BETA2, TAU = 0.5, 0.9, 0.9, 0.99, 1e-3
ADAPTIVE_RATE = 0.01
TRIM, BYZANTINE = 0.2, 1


def weighted_mean(updates):
    return np.average(updates, axis=0, weights=SAMPLES)


def fedavg(updates, model, state):
    return model + RATE * weighted_mean(updates)


def fedavgm(updates, model, state):
    state["m"] = MOMENTUM * state.get("m", 0) + weighted_mean(updates)
    return model + RATE * state["m"]


def adaptive(second_moment):
    def step(updates, model, state):
        delta = weighted_mean(updates)
        state["m"] = BETA1 * state.get("m", 0) + (1 - BETA1) * delta
        state["v"] = second_moment(state.get("v", np.full(ELEMENTS, TAU**2)), delta**2)
        return model + ADAPTIVE_RATE * state["m"] / (np.sqrt(state["v"]) + TAU)

    return step


def median(updates, model, state):
    return model + RATE * np.median(updates, axis=0)


def trimmed_mean(updates, model, state):
    cut = int(TRIM * len(updates))
    return model + RATE * np.sort(updates, axis=0)[cut:len(updates) - cut].mean(axis=0)


def multi_krum(updates, model, state):
    distances = ((updates[:, None] - updates[None]) ** 2).sum(axis=2)
    nearest = np.sort(distances, axis=1)[:, 1:len(updates) - BYZANTINE - 1]
    chosen = np.argsort(nearest.sum(axis=1), kind="stable")[:len(updates) - BYZANTINE]
    return model + RATE * updates[chosen].mean(axis=0)


STRATEGIES = {
    "fedavg": fedavg,
    "fedprox": fedavg,
    "fedema": fedavg,
    "fedbuff": fedavg,
    "fedavgm": fedavgm,
    "fedadam": adaptive(lambda v, square: BETA2 * v + (1 - BETA2) * square),
    "fedyogi": adaptive(lambda v, square: v - (1 - BETA2) * square * np.sign(v - square)),
    "median": median,
    "trimmed_mean": trimmed_mean,
    "multi_krum": multi_krum,
}


def record(values):
    return [float(f"{value:.9g}") for value in values]


def main():
    random = np.random.default_rng(4)
    initial = random.normal(0, 0.3, ELEMENTS).astype(np.float32)
    updates = random.normal(0.02, 0.1, (ROUNDS, len(NODES), ELEMENTS)).astype(np.float32)
    updates[:, 3] *= -20  # one node is hostile
    expected = {}
    for name, step in STRATEGIES.items():
        model, state = initial.astype(np.float64), {}
        expected[name] = []
        for received in updates.astype(np.float64):
            model = step(received, model, state)
            expected[name].append(record(model))
    options = {"learning_rate": RATE, "adaptive_learning_rate": ADAPTIVE_RATE, "momentum": MOMENTUM, "beta1": BETA1,
               "beta2": BETA2, "tau": TAU, "trim": TRIM, "byzantine": BYZANTINE}
    recorded = {"options": options, "nodes": NODES, "samples": SAMPLES, "initial": record(initial),
                "updates": [[record(update) for update in received] for received in updates], "expected": expected}
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(recorded, separators=(",", ":")).replace("],[", "],\n[") + "\n")


if __name__ == "__main__":
    main()
