"""Draws two seconds of a site's tracks to tracks.png. usage: plot.py [SITE]"""

import collections
import sys

import matplotlib
from tributary import Aggregator

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

tracks = collections.defaultdict(list)
with Aggregator() as aggregator:
    slots = aggregator.watch(sys.argv[1] if len(sys.argv) > 1 else "", rate_hz=20)
    for _, slot in zip(range(40), slots):
        for subject, mean in zip(slot.subjects, slot.means):
            tracks[subject].append(mean)
for subject, track in tracks.items():
    pyplot.plot(*zip(*track), label=subject)
pyplot.axis("equal")
pyplot.savefig("tracks.png")
print(f"tracks.png: {len(tracks)} subjects, {max(map(len, tracks.values()))} slots")
