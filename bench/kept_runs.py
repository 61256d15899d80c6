"""Finished runs of a long bench, one file each, so that an interrupted command goes on where it stopped."""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_options(description, name, rows, programs, data):
    """The options of a bench of many runs; `rows` have a text each, `programs` and `data` say what it needs."""
    width = 2 + max(map(len, rows))
    listed = "\n".join(f"  {row:<{width}}{what.text}" for row, what in rows.items())
    parser = argparse.ArgumentParser(description=description.replace("{rows}", listed), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="?", type=pathlib.Path, default=ROOT / "build/bench/bin",
                        help=f"folder of {programs} (default: build/bench/bin)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds of each row (default: %(default)s)")
    parser.add_argument("--only", action="append", choices=list(rows), metavar="ROW",
                        help="make the runs of this row; repeat it for more (default: all)")
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("TRIBUTARY_DATA_DIR"), metavar="DIR",
                        help=f"folder that holds {data} (default: TRIBUTARY_DATA_DIR)")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / name, metavar="DIR",
                        help=f"working folder, which keeps finished runs (default: build/{name})")
    parser.add_argument("--kept", action="store_true", help="make no run, only the tables of the runs that are kept")
    parser.add_argument("--page", type=pathlib.Path, help="also write the tables between the marks of this page")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds: at least 1")
    if not options.kept and options.data is None:
        parser.error(f"set TRIBUTARY_DATA_DIR, or --data, to the folder that holds {data}")
    return options


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def output_of(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} ends with status {done.returncode}:\n{done.stderr}")
    return done.stdout


def mean_and_deviation(values):
    """The deviation of one value is None."""
    return {"mean": statistics.mean(values), "deviation": statistics.stdev(values) if len(values) > 1 else None}


def with_deviation(figure, digits=1, scale=1):
    """`figure` is of mean_and_deviation."""
    text = f"{scale * figure['mean']:.{digits}f}"
    return text if figure["deviation"] is None else f"{text} ± {scale * figure['deviation']:.{digits}f}"


class KeptRuns:
    """A run has a row, a seed and a recipe: the words that made it. A run of another recipe counts as missing."""

    def __init__(self, work, recipe_of):
        self.folder, self.recipe_of = work / "runs", recipe_of
        self.folder.mkdir(parents=True, exist_ok=True)

    def file(self, row, seed):
        return self.folder / f"{row}-seed-{seed}.json"

    def find(self, row, seed):
        """None if it is missing."""
        file = self.file(row, seed)
        run = json.loads(file.read_text()) if file.exists() else {}
        return run if run.get("recipe") == self.recipe_of(row, seed) else None

    def of_row(self, row):
        seeds = sorted(int(file.stem.rsplit("-", 1)[1]) for file in self.folder.glob(f"{row}-seed-*.json"))
        return [run for seed in seeds if (run := self.find(row, seed))]

    def make_missing(self, rows, seeds, program, figures_of, text_of):
        """Calls figures_of(row, seed) for each missing run, and prints text_of(figures). `program(row)` is the file that makes the run."""
        for row in rows:
            for seed in seeds:
                if self.find(row, seed):
                    continue
                begin = time.monotonic()
                figures = figures_of(row, seed)
                seconds = time.monotonic() - begin
                print(f"{row}, seed {seed}: {text_of(figures)}; {seconds:.0f} s", file=sys.stderr, flush=True)
                run = {"row": row, "seed": seed, "recipe": self.recipe_of(row, seed), "program": program(row).name,
                       "program_sha256": sha256(program(row)), "seconds": round(seconds, 1), **figures}
                begun = self.folder / "begun"
                begun.write_text(json.dumps(run, indent=1))
                begun.rename(self.file(row, seed))

    def found(self, rows):
        """The runs of each row that has some. Warns of several builds; ends with a message if there are no runs."""
        found = {row: runs for row in rows if (runs := self.of_row(row))}
        if not found:
            sys.exit(f"{self.folder} has no finished run")
        builds = {}
        for run in sum(found.values(), []):
            builds.setdefault(run["program"], set()).add(run["program_sha256"])
        for program, several in builds.items():
            if len(several) > 1:
                print(f"{len(several)} builds of {program} made these runs; delete {self.folder} to make all by one", file=sys.stderr)
        return found
