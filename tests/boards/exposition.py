"""Reads Prometheus' text format, as the daemons write it."""

import re

LINE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", re.M)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    """One scrape."""

    def __init__(self, text):
        self.samples = [(name, dict(LABEL.findall(labels)), float(value)) for name, labels, value in LINE.findall(text)]

    def total(self, name, **labels):
        """The sum over all samples of this name with these labels; 0 without one, as of a counter that was never raised."""
        return sum(value for each, its_labels, value in self.samples if each == name and labels.items() <= its_labels.items())

    def by(self, label, name, **labels):
        """The samples of this name that are not 0, by the value of one label."""
        found = {}
        for each, its_labels, value in self.samples:
            if each == name and labels.items() <= its_labels.items() and value:
                found[its_labels[label]] = found.get(its_labels[label], 0) + value
        return found

    def __bool__(self):
        return bool(self.samples)
