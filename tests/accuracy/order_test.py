#!/usr/bin/env python3
"""order.py passes the figures of docs/models.md, and each of its claims breaks for some wrong ones."""

import copy
import os
import pathlib
import subprocess
import sys
import unittest

import order

# docs/models.md. Mean error in cm and NEES: the shipped model, the same calibrated, the model for the ideal room.
POSITIONING = {
    "ideal": ((1.06, 1.3), (1.06, 1.7), (0.71, 2.1)),
    "height_1.05m": ((1.08, 1.4), (1.08, 1.8), (3.00, 47)),
    "height_1.2m": ((1.08, 1.4), (1.08, 1.8), (8.31, 409)),
    "snr_10db": ((1.84, 2.8), (1.83, 1.9), (2.67, 22)),
    "reflection_0.5": ((1.22, 1.6), (1.22, 1.8), (2.19, 14)),
    "reflection_0": ((1.19, 1.5), (1.19, 2.4), (1.42, 7.7)),
    "clock_1ns": ((1.21, 1.7), (1.21, 1.6), (5.84, 168)),
    "blocked_12db": ((1.28, 1.3), (1.28, 1.5), (1.27, 17)),
    "dead_antennas_10%": ((1.65, 2.4), (1.65, 1.7), (4.72, 90)),
    "scatterers": ((1.81, 4.6), (1.81, 2.4), (1.85, 23)),
    "gains": ((1.55, 2.9), (1.55, 2.7), (1.33, 9.1)),
    "turned_2deg": ((17.3, 237), (1.33, 2.1), (8.77, 402)),
    "turned_apart": ((11.3, 175), (1.23, 2.0), (7.25, 297)),
    "moved_2cm": ((1.89, 7.1), (1.33, 1.5), (1.40, 13)),
    "working": ((1.91, 3.1), (1.91, 1.7), (25.7, 1293)),
    "drawn": ((10.7, 80), (10.7, 5.7), (34.6, 1755)),
}
# Accuracy in per cent and NLL, by true SNR. The losses of votes and of pools beyond those of the page are not needed.
MODULATION = {"one": (57.5, 1.102), "vote_of_10": (65.6, 0), "conflation_of_10": (70.7, 0.779), "receivers_2": (60.8, 1.015),
              "receivers_4": (63.4, 0.987), "receivers_8": (65.8, 1.043), "pool_4": (63.2, 0.973), "pool_8": (65.3, 0.939)}


def errors(mean_cm, nees=2.0):
    return {"mean_m": mean_cm / 100, "nees": nees}


def documented():
    encoder = {name: {"encoder": {"linear_accuracy": 0.7, "knn_accuracy": 0.7}, "random_encoder": {"linear_accuracy": 0.5, "knn_accuracy": 0.5}}
               for name in order.ENCODERS}
    positioning = {model: {name: dict(zip(("mean_cm", "nees"), row[place])) for name, row in POSITIONING.items()}
                   for place, model in enumerate(("shipped", "calibrated", "ideal_room"))}
    decisions = {name: {"accuracy": accuracy / 100, "nll": nll} for name, (accuracy, nll) in MODULATION.items()}
    boards = [{"anchors": anchors.split(","), "network": errors(mean), "gauss_newton": errors(30)}
              for anchors, mean in zip(order.NETWORKS, (9.97, 10.1, 10.2, 12.4))]
    geometry = {name: {"fused": errors(fused, nees), "tracked": errors(tracked), "gauss_newton_corrected": errors(corrected)}
                for name, (fused, nees, tracked, corrected) in zip(order.PARTS, (
                    (2.7, 2.25, 2.5, 6.6), (2.3, 1.13, 2.0, 6.0), (2.8, 1.96, 2.6, 6.8), (3.3, 1.43, 3.0, 7.0)))}
    networks = {"boards": boards, "fused": errors(7.9), "gauss_newton": errors(16.1), "gauss_newton_corrected": errors(6.6)}
    return {"encoder": encoder, "positioning": positioning, "modulation": {"true": decisions}, "beacon": {"networks": networks, "geometry": geometry}}


def changed(figures, changes):
    """A copy in which each number under a key of `changes` is changed."""
    if isinstance(figures, dict):
        return {key: changes[key](value) if key in changes else changed(value, changes) for key, value in figures.items()}
    return [changed(each, changes) for each in figures] if isinstance(figures, list) else copy.copy(figures)


def exchanged(figures, first, second):
    return {**figures, first: figures[second], second: figures[first]}


def wrong(area, figures):
    """Figures that turn the order round, in several ways."""
    if area == "encoder":
        return [{name: exchanged(each, "encoder", "random_encoder") for name, each in figures.items()}]
    if area == "positioning":
        far = changed(figures["calibrated"], {"nees": lambda nees: 3 * nees})
        return [exchanged(figures, "shipped", "ideal_room"), exchanged(figures, "shipped", "calibrated"), {**figures, "calibrated": far},
                {**figures, "calibrated": changed(figures["shipped"], {"mean_cm": lambda mean: 1.1 * mean})}]
    if area == "modulation":
        return [changed(figures, {"accuracy": lambda right: 1 - right, "nll": lambda loss: -loss})]
    return [changed(figures, {"mean_m": lambda mean: 1 / mean}), changed(figures, {"nees": lambda nees: 3 * nees})]


def broken(area, figures):
    return {text for text, holds, _ in order.AREAS[area][1](figures) if not holds}


class OrderTest(unittest.TestCase):
    def test_documented_figures_keep_the_order(self):
        for area, figures in documented().items():
            with self.subTest(area):
                self.assertEqual(broken(area, figures), set())

    def test_every_claim_breaks_for_some_wrong_figures(self):
        for area, figures in documented().items():
            with self.subTest(area):
                every = {text for text, _, _ in order.AREAS[area][1](figures)}
                self.assertEqual(every - set().union(*(broken(area, each) for each in wrong(area, figures))), set())

    def test_a_missing_recording_is_named(self):
        script = pathlib.Path(order.__file__)
        for area in ("encoder", "beacon"):
            done = subprocess.run([sys.executable, script, "/bin/false", area], env={**os.environ, "TRIBUTARY_DATA_DIR": "/nowhere"},
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, order.SKIPPED)
            self.assertIn("TRIBUTARY_DATA_DIR", done.stdout)


if __name__ == "__main__":
    unittest.main()
