#!/usr/bin/env python3
"""Rooms drawn at random: adaptation keeps the order that docs/models.md states.

usage: rooms.py TRIBUTARY
Exit status: 0 the order holds, 1 it does not (one line for each room that breaks it).
"""

import json
import subprocess
import sys

ROOMS = 2
COMMAND = ("adapt", "positioning", "--rooms", str(ROOMS), "--labelled", "100", "--judged", "300", "--json")


def faults_of(room, methods):
    """What breaks the order in one room."""
    error = {method: figures["mean_cm"] for method, figures in methods.items()}
    claims = (
        (3 * error["adapted"] <= error["unadapted"], "adapted is above a third of unadapted"),
        (error["adapted"] < error["from_nothing"], "adapted is not below trained from nothing"),
        (error["adapted"] < error["points_alone"], "adapted is not below the points alone"),
        (error["adapted"] < error["plan_alone"], "adapted is not below the plan alone"),
        (error["adapted_int8_16"] < 1.1 * error["adapted"], "int8_16 loses more than a tenth"),
        (1.2 < methods["adapted"]["nees"] < 3.5, f"the NEES is {methods['adapted']['nees']:.2f}"),
    )
    return [f"{room}: {text} {error}" for holds, text in claims if not holds]


def main():
    program = sys.argv[1]
    study = json.loads(subprocess.run((program, *COMMAND), check=True, stdout=subprocess.PIPE).stdout)
    runs = [(room["room"], run) for room in study["rooms"] for run in room["labelled"]["100"]]
    if len(runs) != ROOMS:
        sys.exit(f"{len(runs)} runs instead of {ROOMS}")
    faults = [fault for room, run in runs for fault in faults_of(room, run)]
    print("\n".join(faults) if faults else f"the order holds in {len(runs)} rooms")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
