"""Boards on a bad network: each scenario starts an aggregator and nodes on machines of their own, and holds the counts of both sides against each other.

usage: run.py --root FOLDER --bin FOLDER [--clock-shift LIBRARY] [--quick] [--json FILE] [SCENARIO...]
Exit status: 0 all is well, 1 faults (one line each), 77 not here, with the reason.
"""

import argparse
import json
import pathlib
import sys
import tempfile

from fusion_scenarios import clock, lossy, narrow, partition, reboot, reordering, spooled
from learning_scenario import learning
from links import NotHere
from namespace import in_own_namespaces
from report import Outcome, table
from xrt_scenario import xrt

SCENARIOS = {each.__name__: each for each in (lossy, reordering, narrow, partition, spooled, reboot, clock, learning, xrt)}
NEEDS_CLOCK_SHIFT = "clock"


class Options:
    def __init__(self, arguments, folder):
        self.root, self.bin = arguments.root.resolve(), arguments.bin.resolve()
        self.clock_shift, self.quick, self.folder = arguments.clock_shift, arguments.quick, folder

    def seconds(self, full, quick):
        return quick if self.quick else full

    def scratch(self, name):
        folder = self.folder / name
        folder.mkdir()
        return folder


def run(arguments, folder):
    options, outcomes = Options(arguments, folder), []
    for name in arguments.scenarios or SCENARIOS:
        if name == NEEDS_CLOCK_SHIFT and not arguments.clock_shift:
            outcomes.append(Outcome(name, skipped="needs --clock-shift LIBRARY"))
            continue
        outcomes.append(SCENARIOS[name](options))
        print(f"{name}: {'fault' if outcomes[-1].faults else outcomes[-1].skipped or 'ok'}", file=sys.stderr, flush=True)
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--clock-shift", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    parser.add_argument("--json", type=pathlib.Path, help="writes the outcomes to this file")
    parser.add_argument("scenarios", nargs="*", choices=[[], *SCENARIOS], help="all by default", metavar="SCENARIO")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="tributary-boards-") as folder:
            outcomes = run(arguments, pathlib.Path(folder))
    except NotHere as reason:
        print(f"skipped: {reason}")
        return 77
    print(f"links: {next((each.link_kind for each in outcomes if each.link_kind), 'none')}")
    print(table(outcomes))
    if arguments.json:
        arguments.json.write_text(json.dumps([each.json() for each in outcomes], indent=1) + "\n", encoding="utf-8")
    return 1 if any(each.faults for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(in_own_namespaces(__file__, main))
