"""Prints where the subjects of a site are, once a second."""

from tributary import Aggregator

with Aggregator() as aggregator:
    for slot in aggregator.watch(rate_hz=1):
        for subject, mean, names in zip(slot.subjects, slot.means, slot.contributors):
            print(subject, [f"{x:.2f} m" for x in mean], "from", ", ".join(names))
