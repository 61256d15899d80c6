#!/usr/bin/env python3
"""Accuracy of the encoder on recorded images, beside the same encoder untrained, over several seeds.

A row of the first table is an image set and a number of features: `tributary train self_supervised` with its default recipe. A row
of the second table is a federated run: self_supervised_federated_bench trains five nodes together, each alone, and on all images in
one place. A seed changes the initial weights, the views and the order of the images, and in a federated run the split.

Each finished run is kept in the working folder. An interrupted command goes on with the first run that is missing. The tables show
every run that is kept; --only limits what is trained. WORK/encoder_accuracy.json has the figures of both tables and of each run.

rows:
{rows}

examples:
  TRIBUTARY_DATA_DIR=../shared/data bench/run.sh encoder_accuracy         builds the programs, then runs all rows: hours
  bench/encoder_accuracy.py build/bench/bin --only kmnist-64 --seeds 2    two runs, some minutes
  bench/encoder_accuracy.py --kept --page docs/models.md                  runs nothing, writes the tables into the page
"""
import dataclasses
import gzip
import json
import re
import statistics
import struct
import sys

from kept_runs import KeptRuns, mean_and_deviation, output_of, read_options, with_deviation
from page_tables import table, write_between_marks

FIGURES = ("linear_accuracy", "knn_accuracy")
# self_supervised_federated_bench takes its settings by place. These are the defaults of `tributary train self_supervised`.
RATE, VIEWS, METHOD = "3.2", "strong", "simclr"
ROUNDS, LOCAL_STEPS = 14, 75
IN_ONE_PLACE = f"one place, {ROUNDS * LOCAL_STEPS:,} steps"


@dataclasses.dataclass(frozen=True)
class ImageSet:
    title: str
    folder: str  # in the folder of the data
    images: str = "train-images-idx3-ubyte.gz"
    labels: str = "train-labels-idx1-ubyte.gz"
    test_images: str = "t10k-images-idx3-ubyte.gz"
    first: int = None  # trains on so many images of the set


GREY = ImageSet("CIFAR-10 as grey 28 × 28", "cifar10-grey28")
COLOUR = ImageSet("CIFAR-10 in colour, 32 × 32", "cifar10", images="train-images-idx4-ubyte.gz", test_images="t10k-images-idx4-ubyte.gz")
KMNIST = ImageSet("KMNIST", "kmnist", images="train-first7011-images-idx3-ubyte.gz")
MNIST = ImageSet("MNIST, the first 7,011", "mnist", first=7011)  # as many as of KMNIST


@dataclasses.dataclass(frozen=True)
class Encoder:
    set: ImageSet
    features: int
    grid: int  # means of grid × grid areas
    steps: int = 2000
    options: tuple = ()
    program: str = "tributary"

    @property
    def text(self):
        return f"{self.set.title}, {self.features:,} features, {self.steps:,} steps{''.join(f', {option}' for option in self.options)}"

    def recipe(self, seed):
        return ["--steps", str(self.steps), "--grid", str(self.grid), "--seed", str(seed), *self.options]

    def figures(self, binaries, files, work, seed):
        names = ("--images", "--labels", "--test-images", "--test-labels")
        paths = [word for pair in zip(names, files) for word in pair]
        out = work / "encoder.safetensors"
        found = json.loads(output_of([binaries / self.program, "train", "self_supervised", *paths, *self.recipe(seed), "--out", out, "--json"]))
        return {"images": found["images"], "untrained": found["random_encoder"], "trained": found["encoder"], "label_free": found["label_free"]}


@dataclasses.dataclass(frozen=True)
class FiveNodes:
    set: ImageSet
    features: int
    grid: int
    program: str = "self_supervised_federated_bench"

    @property
    def text(self):
        return f"{self.set.title}, {self.features:,} features, five nodes, {ROUNDS} rounds of {LOCAL_STEPS} steps"

    def recipe(self, seed):
        return [str(ROUNDS), str(LOCAL_STEPS), RATE, VIEWS, str(self.grid), METHOD, str(seed)]

    def figures(self, binaries, files, work, seed):
        text = output_of([binaries / self.program, *files, *self.recipe(seed)])
        lines = {name.strip(): dict(zip(FIGURES, (float(probe) / 100, float(neighbours) / 100)))
                 for name, probe, neighbours in re.findall(r"^(.+?) +linear probe +([\d.]+) % +kNN +([\d.]+) %", text, re.M)}
        alone = [figures for name, figures in lines.items() if name.endswith("alone")]
        return {"untrained": lines["random"], "together": lines[f"round {ROUNDS}"], "one_place": lines["one place"],
                "one_place_as_many_images": lines["one place, 5x"],
                "alone": {key: statistics.mean(figures[key] for figures in alone) for key in FIGURES}}


ROWS = {
    "cifar10-grey28-64": Encoder(GREY, 64, 1),
    "cifar10-grey28-576": Encoder(GREY, 576, 3),
    "kmnist-64": Encoder(KMNIST, 64, 1),
    "kmnist-576": Encoder(KMNIST, 576, 3),
    "mnist-64": Encoder(MNIST, 64, 1),
    "mnist-576": Encoder(MNIST, 576, 3),
    "kmnist-576-quantised": Encoder(KMNIST, 576, 3, options=("--quantised",)),
    "cifar10-64": Encoder(COLOUR, 64, 1, steps=8000),
    "cifar10-1024": Encoder(COLOUR, 1024, 4, steps=8000),
    "cifar10-grey28-64-five-nodes": FiveNodes(GREY, 64, 1),
}


def count_of(images):
    with gzip.open(images) as file:
        return struct.unpack(">I", file.read(8)[4:])[0]


def first_images(images, count, work):
    """A file with the first images of a set."""
    part = work / f"first-{count}-of-{images.parent.name}-{images.stem}"
    if not part.exists():
        with gzip.open(images) as file:
            magic, _, height, width = header = struct.unpack(">4I", file.read(16))
            begun = part.with_suffix(".begun")
            begun.write_bytes(struct.pack(">4I", magic, count, *header[2:]) + file.read(count * height * width))
        begun.rename(part)
    return part


def files_of(images, data, work):
    """Images, labels, test images, test labels."""
    folder = data / images.folder
    files = [folder / images.images, folder / images.labels, folder / images.test_images, folder / "t10k-labels-idx1-ubyte.gz"]
    for file in files:
        if not file.exists():
            sys.exit(f"{file} is missing: set TRIBUTARY_DATA_DIR, or --data, to the folder that holds {images.folder}")
    if images.first:
        files[0] = first_images(files[0], images.first, work)
    return files


def encoders_of(run):
    return [name for name, value in run.items() if isinstance(value, dict) and FIGURES[0] in value]


def text_of(run):
    return ", ".join(f"{name} " + " / ".join(f"{100 * run[name][key]:.1f}" for key in FIGURES) for name in encoders_of(run))


def figures_of(row, seed, options):
    """One run."""
    what = ROWS[row]
    files = files_of(what.set, options.data, options.work)
    return {"test_images": count_of(files[2]), **what.figures(options.binaries, files, options.work, seed)}


def summary(runs):
    """Mean and deviation of each encoder, and what it has over the untrained one."""
    found = {name: {key: mean_and_deviation([run[name][key] for run in runs]) for key in FIGURES} for name in encoders_of(runs[0])}
    for name in found:
        gains = {key: [run[name][key] - run["untrained"][key] for run in runs] for key in FIGURES}
        found[name]["over_untrained"] = {key: {"mean": statistics.mean(values), "least": min(values)} for key, values in gains.items()}
    return found


def cell(figures, bold=False):
    """Linear probe / nearest neighbours in per cent."""
    texts = [with_deviation(figures[key], scale=100) for key in FIGURES]
    return f"**{texts[0]}** / {texts[1]}" if bold else " / ".join(texts)


def encoder_table(found):
    rows = []
    for row, what in ROWS.items():
        if isinstance(what, Encoder) and (runs := found.get(row)):
            figures = summary(runs)
            least = figures["trained"]["over_untrained"]
            title = what.set.title + "".join(f", `{option}`" for option in what.options)
            rows.append([title, f"{runs[0]['images']:,} / {runs[0]['test_images']:,}", f"{what.features:,}", f"{what.steps:,}", len(runs),
                         cell(figures["untrained"]), cell(figures["trained"], bold=True),
                         " / ".join(f"{100 * least[key]['least']:.1f}" for key in FIGURES)])
    return rows and table(["set", "images: training / test", "features", "steps", "seeds", "untrained", "trained", "least gain of a seed"], rows)


def federated_table(found):
    rows = []
    for row, what in ROWS.items():
        if isinstance(what, FiveNodes) and (runs := found.get(row)):
            figures = summary(runs)
            ahead = [100 * (run["together"][FIGURES[0]] - run["one_place"][FIGURES[0]]) for run in runs]
            rows.append([f"{what.set.title}, {what.features:,} features", len(runs), cell(figures["untrained"]), cell(figures["alone"]),
                         cell(figures["together"], bold=True), cell(figures["one_place"]), cell(figures["one_place_as_many_images"]),
                         f"{statistics.mean(ahead):+.1f} ({min(ahead):+.1f} to {max(ahead):+.1f})".replace("-", "−")])
    return rows and table(["set", "seeds", "untrained", "nodes alone", "together", IN_ONE_PLACE, f"one place, {5 * ROUNDS * LOCAL_STEPS:,} steps",
                           "together less one place, probe: mean (range)"], rows)


def main():
    options = read_options(__doc__, "encoder_accuracy", ROWS, "tributary and self_supervised_federated_bench",
                           "mnist, kmnist, cifar10 and cifar10-grey28")
    kept = KeptRuns(options.work, lambda row, seed: ROWS[row].recipe(seed))
    if not options.kept:
        kept.make_missing(options.only or ROWS, range(1, options.seeds + 1), lambda row: options.binaries / ROWS[row].program,
                          lambda row, seed: figures_of(row, seed, options), text_of)
    found = kept.found(ROWS)
    (options.work / "encoder_accuracy.json").write_text(json.dumps(
        {"bench": "encoder_accuracy", "rows": {row: {**summary(runs), "runs": runs} for row, runs in found.items()}}, indent=1))
    tables = {"encoder accuracy": encoder_table(found), "encoder accuracy over nodes": federated_table(found)}
    for mark, text in tables.items():
        if not text:
            continue
        print(f"\n{text}")
        if options.page:
            write_between_marks(options.page, mark, text + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on with the run that is missing")
