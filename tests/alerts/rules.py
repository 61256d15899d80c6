"""The rules of deploy/prometheus, the metrics of docs/metrics.md, and what a query names."""

import dataclasses
import functools
import re

import yaml

# Prometheus adds these to what a daemon exports.
TARGET_LABELS = {"job", "instance", "le"}
NAME = re.compile(r"\b(?:tributary[:_][a-z0-9_:]+|process_[a-z_]+|up)\b")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
MATCHERS = re.compile(r"\{([^{}]*)\}")
MATCHER = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)\s*\"")
TEMPLATE = re.compile(r"\$labels\.([a-z_]+)|\{\{\s*([a-z_]+)\s*\}\}")


def documented(root):
    """Name of each metric of docs/metrics.md, and its labels."""
    metrics = {"up": set()}
    for line in (root / "docs/metrics.md").read_text(encoding="utf-8").splitlines():
        if line == "## Values of labels":
            break
        cells = line.split("|")
        if line.startswith("| `"):
            metrics.setdefault(cells[1].strip(" `"), set()).update(re.findall(r"`(\w+)`", cells[4]))
    return metrics


def family(name, metrics):
    """The metric that a series such as x_seconds_bucket belongs to."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if name not in metrics and base in metrics else name


@dataclasses.dataclass
class Rules:
    """Recording and alerting rules as read, in the order of the files."""

    recorded: list
    alerts: list

    @functools.cached_property
    def by_record(self):
        found = {}
        for rule in self.recorded:
            found.setdefault(rule["record"], []).append(rule)
        return found

    def metrics_of(self, query):
        """The exported metrics that a query reads, also through recorded series."""
        names = set()
        for name in NAME.findall(without_strings(query)):
            if name in self.by_record:
                for rule in self.by_record[name]:
                    names |= self.metrics_of(rule["expr"])
            else:
                names.add(name)
        return names

    def labels_of(self, query, metrics):
        labels = set(TARGET_LABELS)
        if "ALERTS" in query:  # Prometheus' own series of the alerts: it has what their queries have
            labels |= {"alertname", "alertstate", "severity", "place"}.union(*metrics.values())
        for name in self.metrics_of(query):
            labels |= metrics.get(family(name, metrics), set())
        for name in NAME.findall(without_strings(query)):
            for rule in self.by_record.get(name, []):
                labels |= set(rule.get("labels", {}))
        return labels


def without_strings(query):
    return re.sub(r"\"[^\"]*\"", '""', query)


def read(folder):
    recorded, alerts = [], []
    for path in [folder / "recording.yml", *sorted(folder.glob("alerts/*.yml"))]:
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                (alerts if "alert" in rule else recorded).append(rule)
    return Rules(recorded, alerts)


def query_faults(query, rules, metrics):
    """Names and labels of a query that no daemon exports and no rule records."""
    faults = [f"no metric is called {name}" for name in NAME.findall(without_strings(query))
              if name not in rules.by_record and family(name, metrics) not in metrics]
    known = rules.labels_of(query, metrics)
    used = {label.strip() for labels in GROUPING.findall(query) for label in labels.split(",")} - {""}
    used |= {label for matchers in MATCHERS.findall(query) for label in MATCHER.findall(matchers)}
    # label_replace makes labels of its own.
    used -= set(re.findall(r"label_replace\([^\"]*\"(\w+)\"", query))
    return faults + [f"no metric of the query has the label {label}" for label in sorted(used - known)]


def template_faults(text, query, rules, metrics):
    """Labels that an annotation or a legend shows and the result of the query does not have."""
    named = {first or second for first, second in TEMPLATE.findall(text)}
    grouped = re.match(r"\w+ by \(([^)]*)\)", query)
    known = rules.labels_of(query, metrics)
    if grouped:
        known &= {label.strip() for label in grouped.group(1).split(",")}
    return [f"{{{{{label}}}}} is no label of the result" for label in sorted(named - known)]
