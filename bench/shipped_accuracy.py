#!/usr/bin/env python3
"""Accuracy of the shipped models, and of beacons that are trained on a recording, over several seeds.

A seed changes what judges the shipped models: users and their worlds, or bursts and their channels. No training met them. For
beacons a seed changes the random starts of the networks; the learned geometry has nothing random and gets one run.

Each finished run is kept in the working folder. An interrupted command goes on with the first run that is missing. The tables show
every run that is kept; --only limits what is judged. WORK/shipped_accuracy.json has all figures of each run.

rows:
{rows}

examples:
  bench/run.sh shipped_accuracy                                              builds the programs, then judges all rows
  bench/shipped_accuracy.py build/release/bin --only modulation --seeds 2    by programs that are there
  bench/shipped_accuracy.py --kept --page docs/models.md                     judges nothing, writes the tables into the page
"""
import json
import pathlib
import sys
import tempfile

from kept_runs import ROOT, KeptRuns, mean_and_deviation, output_of, read_options, sha256, with_deviation
from page_tables import table, write_between_marks

FIRST_SEED = 20260  # of the judging commands: far from those of trainings
CONDITIONS = {
    "ideal": "ideal room", "height_1.05m": "antenna at 1.05 m", "height_1.2m": "antenna at 1.2 m", "snr_10db": "SNR 10 dB",
    "reflection_0.5": "surfaces reflect 0.5", "reflection_0": "surfaces do not reflect", "clock_1ns": "users' clocks 1 ns off",
    "blocked_12db": "line of sight to one panel weaker by 12 dB", "dead_antennas_10%": "one antenna in ten is dead",
    "scatterers": "one to three objects that scatter", "gains": "gains off by up to 1 dB and 10°", "turned_2deg": "every panel turned by 2°",
    "turned_apart": "panels turned by 2, −1, 0 and 1°", "moved_2cm": "every panel moved by 2 cm",
    "working": "drawn worlds of an installation that works", "drawn": "worlds as drawn in training"}
DECISIONS = {"one": "one burst", "vote_of_10": "vote of ten bursts", "conflation_of_10": "conflation of ten bursts",
             "receivers_2": "two receivers, conflated", "receivers_4": "four receivers", "receivers_8": "eight receivers",
             "pool_2": "two receivers, pooled", "pool_4": "four receivers, pooled", "pool_8": "eight receivers, pooled"}
NETWORKS = ("2,5,7", "2,3,4", "1,6,7", "0,4,5")
GEOMETRIES = ("0,2,4,6", "1,3,5,7")
FIRST_HALF, SECOND_HALF = ("--from", "0", "--to", "0.5"), ("--from", "0.5", "--to", "1")


def place(name):
    return ("--place", name, "--from", "0", "--to", "1")


class Shipped:
    """A model of the repository, judged by a command."""

    def __init__(self, model, *words):
        self.model, self.words = ROOT / f"models/{model}.safetensors", words
        self.text = f"models/{model}.safetensors: tributary evaluate {' '.join(words)}"

    def recipe(self, seed):
        return [*self.words, str(seed), sha256(self.model)]

    def judged(self, tributary, seed):
        return tributary("evaluate", *self.words, "--model", self.model, "--seed", FIRST_SEED + seed - 1)


class Positioning(Shipped):
    def __init__(self, model, *options):
        super().__init__(model, "positioning", "--conditions", "--format", "int8_16", *options)

    def figures(self, tributary, data, seed):
        return self.judged(tributary, seed)["formats"]["int8_16"]


class Modulation(Shipped):
    def __init__(self):
        super().__init__("modulation", "modulation", "--transmissions", "50")

    def figures(self, tributary, data, seed):
        definitions = self.judged(tributary, seed)["definitions"]
        names = ("accuracy", "nll", "expected_calibration_error", "accuracy_by_snr")
        return {snr: {name: {key: decision[key] for key in names if key in decision} for name, decision in decisions.items()}
                for snr, decisions in definitions.items()}


class Beacon:
    def __init__(self, boards, trained, judged, *options, seeds=True):
        self.boards, self.trained, self.judged, self.options, self.seeds = boards, trained, judged, options, seeds
        self.text = " ".join(["boards", *boards, *options, *trained])

    def recipe(self, seed):
        return [*self.boards, *self.trained, *self.judged, *self.options, *(("--seed", str(seed)) if self.seeds else ())]

    def figures(self, tributary, data, seed):
        folder = data / "uwb/lias"
        recording = ("--ranges", folder / "UWB_dynamic_exp_fast.csv", "--truth", folder / "motion_capture_dynamic_exp_fast.csv")
        with tempfile.TemporaryDirectory() as scratch:
            files = [pathlib.Path(scratch) / f"{anchors}.safetensors" for anchors in self.boards]
            for anchors, file in zip(self.boards, files):
                tributary("train", "beacon", *recording, "--anchors", anchors, "--out", file, "--seed", seed, *self.trained, *self.options)
            return tributary("evaluate", "beacon", *recording, *(word for file in files for word in ("--model", file)), *self.judged)


GEOMETRY = ("--estimator", "geometry")
ROWS = {
    "positioning": Positioning("positioning"),
    "positioning-calibrated": Positioning("positioning", "--calibrated"),
    "ideal-room": Positioning("positioning-ideal-room"),
    "ideal-room-calibrated": Positioning("positioning-ideal-room", "--calibrated"),
    "modulation": Modulation(),
    "beacon-networks": Beacon(NETWORKS, FIRST_HALF, SECOND_HALF),
    "geometry-first-half": Beacon(GEOMETRIES, FIRST_HALF, SECOND_HALF, *GEOMETRY, seeds=False),
    "geometry-second-half": Beacon(GEOMETRIES, SECOND_HALF, FIRST_HALF, *GEOMETRY, seeds=False),
    "geometry-west": Beacon(GEOMETRIES, place("west"), place("east"), *GEOMETRY, seeds=False),
    "geometry-south": Beacon(GEOMETRIES, place("south"), place("north"), *GEOMETRY, seeds=False),
}


def over(runs, *keys):
    """A figure that lies under these keys in each run."""
    values = []
    for run in runs:
        for key in keys:
            run = run[key]
        values.append(run)
    return mean_and_deviation(values)


def nees(figure):
    return f"{figure['mean']:.0f}" if figure["mean"] >= 9.95 else f"{figure['mean']:.1f}"


def positioning_table(found):
    columns = {"shipped": "positioning", "calibrated": "positioning-calibrated", "`positioning-ideal-room`": "ideal-room",
               "the same, calibrated": "ideal-room-calibrated"}
    columns = {heading: found[row] for heading, row in columns.items() if row in found}
    rows = [[text] + [f"{with_deviation(over(runs, 'conditions', name, 'mean_cm'), 2)} / {nees(over(runs, 'conditions', name, 'nees'))}"
                      for runs in columns.values()] for name, text in CONDITIONS.items()]
    return columns and table(["condition", *columns], rows)


def modulation_table(found):
    rows, runs = [], found.get("modulation")

    def percents(*keys):
        return with_deviation(over(runs, *keys), scale=100)

    for name, text in DECISIONS.items() if runs else ():
        nll = error = ""
        if "nll" in runs[0]["true"][name]:
            nll, error = with_deviation(over(runs, "true", name, "nll"), 3), percents("true", name, "expected_calibration_error")
        rows.append([text, percents("true", name, "accuracy"), *(percents("true", name, "accuracy_by_snr", at) for at in (10, 19)), nll, error,
                     percents("label", name, "accuracy"), percents("label", name, "accuracy_by_snr", 19)])
    return rows and table(["decision", "true: accuracy", "at 0 dB", "at 18 dB", "NLL", "calibration error", "label: accuracy", "at 18 dB"], rows)


def networks_table(found):
    runs = found.get("beacon-networks")
    if not runs:
        return []
    def cm(*keys):  # Gauss-Newton has no seeds
        return f"{100 * over(runs, *keys, 'mean_m')['mean']:.1f}"

    rows = [[f"network, anchors {anchors}", with_deviation(over(runs, "boards", i, "network", "mean_m"), scale=100),
             cm("boards", i, "gauss_newton")] for i, anchors in enumerate(NETWORKS)]
    fused = with_deviation(over(runs, "fused", "mean_m"), scale=100)
    rows.append([f"the networks fused, NEES {with_deviation(over(runs, 'fused', 'nees'))}", f"**{fused}**",
                 f"all eight: {cm('gauss_newton')}; each anchor's median bias removed: **{cm('gauss_newton_corrected')}**"])
    return table(["estimator", "mean error in cm", "Gauss-Newton of the same anchors"], rows)


def geometry_table(found):
    titles = {"geometry-first-half": ("first half", "second half"), "geometry-second-half": ("second half", "first half"),
              "geometry-west": ("west", "east"), "geometry-south": ("south", "north")}
    rows = []
    for row, (trained, judged) in titles.items():
        for run in found.get(row, []):
            cells = [f"{100 * run[name]['mean_m']:.1f} / {100 * run[name]['p90_m']:.1f} / {run[name]['nees']:.2f}" for name in ("fused", "tracked")]
            baseline = run["gauss_newton_corrected"]
            rows.append([trained, judged, *cells, f"{100 * baseline['mean_m']:.1f} / {100 * baseline['p90_m']:.1f}"])
    return rows and table(["trained on", "evaluated on", "fused: mean / p90 / NEES", "tracked: mean / p90 / NEES", "baseline: mean / p90"], rows)


TABLES = {"positioning by condition": positioning_table, "modulation decisions": modulation_table, "beacon networks": networks_table,
          "beacon geometry": geometry_table}


def main():
    options = read_options(__doc__, "shipped_accuracy", ROWS, "tributary", "uwb/lias")
    kept = KeptRuns(options.work, lambda row, seed: ROWS[row].recipe(seed))

    def tributary(*words):
        return json.loads(output_of([options.binaries / "tributary", *words, "--json"]))

    for row in [] if options.kept else options.only or ROWS:
        seeds = range(1, options.seeds + 1 if getattr(ROWS[row], "seeds", True) else 2)
        kept.make_missing([row], seeds, lambda _: options.binaries / "tributary",
                          lambda row, seed: ROWS[row].figures(tributary, options.data, seed), lambda _: "finished")
    found = kept.found(ROWS)
    (options.work / "shipped_accuracy.json").write_text(json.dumps({"bench": "shipped_accuracy", "rows": found}, indent=1))
    for mark, make in TABLES.items():
        if text := make(found):
            print(f"\n{text}")
            if options.page:
                write_between_marks(options.page, mark, text + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on with the run that is missing")
