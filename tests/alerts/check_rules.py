"""The rules of deploy/prometheus and the dashboards of deploy/grafana are sound, and everything that they name exists.

usage: check_rules.py --root FOLDER
Exit status: 0 all is well, 1 faults (one line each), 77 promtool or python3-yaml is missing.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
try:
    import yaml
except ImportError:
    print("skipped: Debian's package python3-yaml is not installed")
    sys.exit(SKIPPED)

import rules as rule_files

SEVERITIES = {"critical", "warning", "info"}
# Counted in the table of losses, but meant to be: no alert.
BY_DESIGN = {
    "tributary_panel_surplus_frames_total": "the first frame of a slot counts",
    "tributary_learner_withdrawn_rounds_total": "the aggregator went on without the node",
    "tributary_learner_dropped_images_total": "the bounded buffer keeps the most novel images",
    "tributary_learner_declined_tasks_total": "TributaryTasksDeclined reads the aggregator's count",
    "tributary_learner_trainer_failures_total": "tributary_learner_failed_rounds_total counts the round",
    "tributary_serial_ignored_bytes_total": "the command before them is counted as refused",
    "tributary_leaf_missed_slots_total": "TributarySlotsIncomplete reads the slots, of all leaves",
    "tributary_tuples_redundant_total": "a larger contribution has them",
    "tributary_watch_skipped_slots_total": "readers choose their rate",
    "tributary_uplink_dropped_tuples_total": "the frames are counted",
    "tributary_uplink_disk_dropped_frames_total": "tributary_uplink_dropped_frames_total counts these, too",
}


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"promtool {arguments[0]} {arguments[1]}: {done.stdout}{done.stderr}".strip()]


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def headings(page):
    return [line.lstrip("#").strip() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#")]


def alert_faults(rules, metrics, root):
    faults = []
    pages = {}
    for alert in rules.alerts:
        name, notes = alert["alert"], alert.get("annotations", {})
        if alert.get("labels", {}).get("severity") not in SEVERITIES:
            faults.append(f"{name}: severity is one of {', '.join(sorted(SEVERITIES))}")
        for key in ("summary", "description", "runbook"):
            if not notes.get(key):
                faults.append(f"{name}: no {key}")
            faults += [f"{name}: {key}: {fault}"
                       for fault in rule_files.template_faults(notes.get(key, ""), alert["expr"], rules, metrics)]
        page, _, fragment = notes.get("runbook", "").partition("#")
        if (root / page).is_file():
            known = pages.setdefault(page, {anchor(heading) for heading in headings(root / page)})
            if fragment not in known:
                faults.append(f"{name}: {page} has no heading #{fragment}")
        else:
            faults.append(f"{name}: there is no page {page or 'for it'}")
    names = [alert["alert"] for alert in rules.alerts]
    faults += [f"{name}: two alerts have this name" for name in sorted({n for n in names if names.count(n) > 1})]
    explained = {heading for heading in headings(root / "docs/monitoring.md") if heading.startswith("Tributary")}
    return faults + [f"docs/monitoring.md explains {name}, which is no alert" for name in sorted(explained - set(names))]


def test_faults(rules, folder):
    """Each alert has a moment when it fires and one when it does not."""
    fires, silent = set(), set()
    for path in sorted(folder.glob("tests/*.yml")):
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]:
            for check in test["promql_expr_test"]:
                for name in re.findall(r'alertname="(\w+)"', check["expr"]):
                    (fires if check["exp_samples"] else silent).add(name)
    names = {alert["alert"] for alert in rules.alerts}
    return ([f"{name}: no test in which it fires" for name in sorted(names - fires)] +
            [f"{name}: no test in which it is silent" for name in sorted(names - silent)] +
            [f"{name}: a test names this alert, and there is none" for name in sorted((fires | silent) - names)])


def loss_faults(rules, root):
    """Each metric in the table of losses is in the query of an alert."""
    text = (root / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.partition("## Where data can be lost")[2].partition("\n## ")[0]
    lost = set()
    for name in re.findall(r"`(tributary_[a-z0-9_]*(?:\{[a-z0-9_,]+\}[a-z0-9_]*)?)", table):
        start, brace, rest = name.partition("{")
        names, _, end = rest.partition("}")
        lost |= {start + each + end for each in names.split(",")} if brace and start.endswith("_") else {start}
    if len(lost) < 20:
        return ["docs/architecture.md: the table of losses was not understood"]
    watched = set()
    for alert in rules.alerts:
        watched |= rules.metrics_of(alert["expr"])
    faults = [f"{name}: counts a loss, and no alert reads it" for name in sorted(lost - watched - set(BY_DESIGN))]
    return faults + [f"{name}: is read by an alert and listed as meant" for name in sorted(watched & set(BY_DESIGN))]


def dashboard_queries(folder):
    for path in sorted(folder.glob("*.json")):
        dashboard = json.loads(path.read_text(encoding="utf-8"))
        for variable in dashboard.get("templating", {}).get("list", []):
            if variable["type"] == "query":
                found = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"])
                yield f"{path.name}: variable {variable['name']}", f"count by ({found[2]}) ({found[1]})", ""
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                place = f"{path.name}: {panel['title']}"
                yield place, re.sub(r"\$(__rate_interval|__range)", "5m", target["expr"]), target.get("legendFormat", "")


def dashboard_faults(rules, metrics, folder):
    faults, every = [], []
    for place, query, legend in dashboard_queries(folder):
        every.append({"record": "a:b", "expr": query})
        faults += [f"{place}: {fault}" for fault in rule_files.query_faults(query, rules, metrics)]
        faults += [f"{place}: {fault}" for fault in rule_files.template_faults(legend, query, rules, metrics)]
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "dashboards.yml"
        groups = [{"name": f"query {i}", "rules": [rule]} for i, rule in enumerate(every)]
        path.write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
        faults += promtool("check", "rules", path)
    return faults if every else ["deploy/grafana has no queries"]


def all_faults(root):
    folder = root / "deploy/prometheus"
    rules, metrics = rule_files.read(folder), rule_files.documented(root)
    files = [folder / "recording.yml", *sorted(folder.glob("alerts/*.yml"))]
    faults = promtool("check", "rules", *files) + promtool("check", "config", folder / "prometheus.yml")
    faults += promtool("test", "rules", *sorted(folder.glob("tests/*.yml")))
    for rule in rules.recorded + rules.alerts:
        name = rule.get("record") or rule.get("alert")
        faults += [f"{name}: {fault}" for fault in rule_files.query_faults(rule["expr"], rules, metrics)]
    faults += alert_faults(rules, metrics, root) + test_faults(rules, folder) + loss_faults(rules, root)
    faults += dashboard_faults(rules, metrics, root / "deploy/grafana")
    return faults, len(rules.alerts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    if not shutil.which("promtool"):
        print("skipped: promtool, of Debian's package prometheus, is not installed")
        return SKIPPED
    faults, alerts = all_faults(root)
    print("\n".join(faults) if faults else f"{alerts} alerts: each is tested and explained, and all that it names exists")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
