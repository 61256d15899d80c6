"""Prints the rounds of a federated run as they are committed. usage: follow_run.py RUN"""

import sys

from tributary import Aggregator

with Aggregator() as aggregator:
    for change in aggregator.watch_run(sys.argv[1]):
        for done in change.rounds:
            print("round", done.round, "with", done.accepted, "updates")
        print(change.run.message)
