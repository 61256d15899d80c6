#!/usr/bin/python3
"""The dashboards as tables. Writes fleet.json, fusion.json and learning.json beside this file.

usage: dashboards.py [--check]   with --check: writes nothing and fails if a file differs
"""

import json
import pathlib
import sys

SOURCE = {"type": "prometheus", "uid": "tributary"}
COLUMNS = 24  # of Grafana's grid
SITE, RUN = '{site=~"$site"}', '{run=~"$run"}'
LOST = "tributary:lost:increase5m"


def graph(title, unit, *queries, width=8):
    return {"type": "timeseries", "title": title, "unit": unit, "queries": queries, "width": width}


def stat(title, unit, query, width=4):
    return {"type": "stat", "title": title, "unit": unit, "queries": [(query, "")], "width": width}


def table(title, query, width=12):
    return {"type": "table", "title": title, "unit": "none", "queries": [(query, "")], "width": width}


FLEET = [
    stat("Aggregators", "none", 'sum(up{job="tributary-aggregator"})'),
    stat("Nodes", "none", 'sum(up{job="tributary-node"})'),
    stat("Daemons down", "none", 'count(up{job=~"tributary-.+"} == 0) or vector(0)'),
    stat("Alerts", "none", 'count(ALERTS{alertstate="firing", alertname=~"Tributary.+"}) or vector(0)'),
    stat("Next certificate expires in", "s", 'min(tributary_certificate_expiry_seconds{use!="crl"})'),
    stat("Clocks not synchronised", "none", "count(tributary_clock_synchronised == 0) or vector(0)"),
    table("Firing alerts", 'count by (alertname, severity, instance, site, run, place) (ALERTS{alertstate="firing", alertname=~"Tributary.+"})'),
    table("Versions", "count by (job, instance, version, commit) (tributary_build_info)"),
    graph("Processor time, cores", "none", ("rate(process_cpu_seconds_total[$__rate_interval])", "{{instance}}")),
    graph("Resident memory", "bytes", ("process_resident_memory_bytes", "{{instance}}")),
    graph("Open files", "none", ("process_open_fds", "{{instance}}")),
    graph("Connections", "none", ("tributary_connections", "{{instance}} open"), ("tributary_connections_silent", "{{instance}} silent"),
          ("tributary_calls", "{{instance}} calls")),
    graph("Connections refused or cut", "none",
          ("sum by (instance, reason) (increase(tributary_connections_refused_total[5m])) > 0", "{{instance}} {{reason}}"),
          ("sum by (instance, reason) (increase(tributary_handshakes_failed_total[5m])) > 0", "{{instance}} handshake {{reason}}")),
    graph("Calls refused", "none", ("sum by (instance, reason) (increase(tributary_calls_refused_total[5m])) > 0", "{{instance}} {{reason}}"),
          ("sum by (instance) (increase(tributary_calls_unknown_total[5m])) > 0", "{{instance}} unknown call")),
    graph("Certificates expire in", "s", ("tributary_certificate_expiry_seconds", "{{instance}} {{use}}")),
    graph("TLS files", "none", ("sum by (instance, files, result) (increase(tributary_tls_reloads_total[5m]))", "{{instance}} {{files}} {{result}}"),
          ("tributary_certificates_revoked", "{{instance}} revoked")),
    graph("Clock: estimated error", "s", ("tributary_clock_estimated_error_seconds", "{{instance}}")),
    graph("HTTP requests/s", "reqps", ("rate(tributary_http_requests_total[$__rate_interval])", "{{instance}}"),
          ("sum by (instance) (rate(tributary_http_requests_rejected_total[$__rate_interval]))", "{{instance}} rejected")),
    graph("HTTP connections", "none", ("tributary_http_open_connections", "{{instance}}"), ("tributary_http_event_streams", "{{instance}} event streams")),
]

FUSION = [
    stat("Fused tuples/s", "none", f"sum(tributary:fused_tuples:rate5m{SITE})"),
    stat("Sources present", "none", f"sum(tributary_sources_present{SITE})"),
    stat("Sources expected", "none", f"sum(tributary_sources_expected{SITE})"),
    stat("Lost in 5 minutes", "none", f'sum({LOST}{{place!~"update|training|masking|partial_sum|evaluation|http"}})'),
    stat("Incomplete slots", "percentunit", f"max(tributary:incomplete_slots:ratio_rate5m{SITE})"),
    stat("Age of the latest slot", "s", f"max(tributary_last_slot_age_seconds{SITE})"),
    graph("Slots/s by end", "none", (f"sum by (site, end) (rate(tributary_slots_fused_total{SITE}[$__rate_interval]))", "{{site}} {{end}}")),
    graph("Sources present", "none", (f"tributary_leaf_present{SITE}", "{{site}} {{leaf}}")),
    graph("Slots without a source", "percentunit", (f"tributary:missed_slots:ratio_rate5m{SITE}", "{{site}} {{leaf}}")),
    graph("From capture to fusion", "s", (f"tributary:fusion_latency:p99_5m{SITE}", "{{site}} p99"),
          (f"histogram_quantile(0.5, sum by (site, le) (rate(tributary_fusion_latency_seconds_bucket{SITE}[5m])))", "{{site}} p50")),
    graph("Consistency: 1 is consistent", "none", (f"tributary_source_consistency{SITE}", "{{site}} {{source}}")),
    graph("Tuples left out by the gate", "percentunit", (f"tributary:gated_tuples:ratio_rate5m{SITE}", "{{site}} {{source}}")),
    graph("Late frames", "percentunit", (f"tributary:late_frames:ratio_rate5m{SITE}", "{{site}}")),
    graph("Frames refused in 5 minutes", "none",
          (f"sum by (site, reason) (increase(tributary_frames_refused_total{SITE}[5m])) > 0", "{{site}} {{reason}}"),
          (f"sum by (site, reason) (increase(tributary_frames_malformed_total{SITE}[5m])) > 0", "{{site}} malformed {{reason}}")),
    graph("Frames' age on arrival", "s", (f"tributary:frame_age:min5m{SITE}", "{{site}} {{source}}")),
    graph("Lost in 5 minutes, by place", "none", (f"sum by (instance, place) ({LOST}) > 0", "{{instance}} {{place}}"), width=12),
    graph("Spools", "percentunit", ("tributary:spool_fill:ratio", "{{instance}} {{site}}"), width=12),
    graph("Panels: frames/s", "none", ("rate(tributary_panel_frames_total[$__rate_interval])", "{{instance}} {{panel}}")),
    graph("Panels: from capture to offer, p99", "s",
          ("histogram_quantile(0.99, sum by (instance, panel, le) (rate(tributary_panel_latency_seconds_bucket[5m])))", "{{instance}} {{panel}}")),
    graph("Link: round trip, p99", "s",
          ("histogram_quantile(0.99, sum by (instance, le) (rate(tributary_uplink_round_trip_seconds_bucket[5m])))", "{{instance}}")),
    graph("Boards: runs/s", "none", ("rate(tributary_accelerator_runs_total[$__rate_interval])", "{{instance}} {{panel}}")),
    graph("Boards: faults in 5 minutes", "none", ("increase(tributary_accelerator_failed_runs_total[5m]) > 0", "{{instance}} {{panel}} failed"),
          ("increase(tributary_accelerator_timeouts_total[5m]) > 0", "{{instance}} {{panel}} timed out"),
          ("increase(tributary_accelerator_reopened_total[5m]) > 0", "{{instance}} {{panel}} opened again"),
          ("increase(tributary_accelerator_fallback_batches_total[5m]) > 0", "{{instance}} {{panel}} on the processor")),
    graph("Readers", "none", ("tributary_watch_streams", "{{instance}} streams"),
          ("rate(tributary_watch_skipped_slots_total[$__rate_interval])", "{{instance}} skipped slots/s")),
]

LEARNING = [
    stat("Runs under way", "none", "count(tributary_run_state < 3) or vector(0)"),
    stat("Failed runs", "none", "count(tributary_run_state == 5) or vector(0)"),
    stat("Nodes that learn", "none", "sum(tributary_participants_connected)"),
    stat("Nodes that wait", "none", "sum(tributary_participants_waiting)"),
    stat("Highest epsilon", "none", f"max(tributary_run_epsilon{RUN})"),
    stat("Store free", "percentunit", "min(tributary_store_free_bytes / tributary_store_capacity_bytes)"),
    graph("Committed rounds", "none", (f"tributary_run_committed_rounds{RUN}", "{{run}}"), (f"tributary_run_rounds{RUN}", "{{run}} to do")),
    graph("Loss", "none", (f"tributary_run_loss{RUN}", "{{run}}")),
    graph("Spread: near 1 is healthy", "none", (f"tributary_run_spread{RUN}", "{{run}} nodes"), (f"tributary_run_test_spread{RUN}", "{{run}} test images"),
          (f"tributary_run_random_test_spread{RUN}", "{{run}} random encoder")),
    graph("Accuracy on the test images", "percentunit", (f"tributary_run_linear_probe{RUN}", "{{run}} linear probe"), (f"tributary_run_knn{RUN}", "{{run}} k-NN"),
          (f"tributary_run_random_linear_probe{RUN}", "{{run}} random, linear probe"), (f"tributary_run_random_knn{RUN}", "{{run}} random, k-NN")),
    graph("Seconds a round", "s", (f"tributary_run_round_seconds{RUN}", "{{run}}")),
    graph("Norm of the update", "none", (f"tributary_run_update_norm{RUN}", "{{run}}")),
    graph("Nodes", "none", (f"tributary_run_connected_nodes{RUN}", "{{run}} connected"), (f"tributary_run_accepted_updates{RUN}", "{{run}} updates in the round"),
          (f"tributary_run_unable_nodes{RUN}", "{{run}} unable")),
    graph("Failed rounds in 15 minutes", "none", (f"increase(tributary_run_failed_rounds_total{RUN}[15m])", "{{run}}")),
    graph("Epsilon", "none", (f"tributary_run_epsilon{RUN}", "{{run}}"), ("tributary:epsilon_budget", "budget")),
    graph("Updates refused in 5 minutes", "none", ("sum by (instance, reason) (increase(tributary_updates_refused_total[5m])) > 0", "{{reason}}")),
    graph("Tasks declined in 5 minutes", "none", ("sum by (instance, reason) (increase(tributary_tasks_declined_total[5m])) > 0", "{{reason}}")),
    graph("Received", "Bps", ("rate(tributary_updates_received_bytes_total[$__rate_interval])", "{{instance}}")),
    graph("On the nodes: training time, share", "percentunit", ("rate(tributary_learner_training_seconds_total[$__rate_interval])", "{{instance}}")),
    graph("On the nodes: memory for training", "bytes", ("tributary_learner_needed_bytes", "{{instance}} needed"),
          ("tributary_learner_available_bytes", "{{instance}} available")),
    graph("Partial sums of children in 5 minutes", "none", ("sum by (instance, outcome) (increase(tributary_relay_sums_total[5m]))", "{{instance}} {{outcome}}")),
    graph("Store: free space", "bytes", ("tributary_store_free_bytes", "{{instance}}"), width=12),
    graph("Store: healthy", "none", ("tributary_store_healthy", "{{instance}}"), width=12),
]


def variable(name, metric):
    query = f"label_values({metric}, {name})"
    return {"type": "query", "name": name, "label": name, "query": query, "definition": query, "datasource": SOURCE, "refresh": 2, "sort": 1,
            "multi": True, "includeAll": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}}


def panel(number, spec, place):
    targets = [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expr, "legendFormat": legend, **instant(spec)}
               for i, (expr, legend) in enumerate(spec["queries"])]
    return {"id": number, "type": spec["type"], "title": spec["title"], "datasource": SOURCE, "gridPos": place, "targets": targets,
            "fieldConfig": {"defaults": {"unit": spec["unit"]}, "overrides": []}, "options": {}}


def instant(spec):
    return {"instant": True, "format": "table"} if spec["type"] == "table" else {}


def dashboard(name, variables, specs):
    panels, x, y, row = [], 0, 0, 0
    for number, spec in enumerate(specs, 1):
        height = 4 if spec["type"] == "stat" else 8
        if x + spec["width"] > COLUMNS:
            x, y, row = 0, y + row, 0
        panels.append(panel(number, spec, {"x": x, "y": y, "w": spec["width"], "h": height}))
        x, row = x + spec["width"], max(row, height)
    return {"uid": f"tributary-{name}", "title": f"Tributary: {name}", "tags": ["tributary"], "schemaVersion": 38, "editable": False,
            "refresh": "10s", "time": {"from": "now-1h", "to": "now"}, "templating": {"list": variables}, "panels": panels}


DASHBOARDS = {
    "fleet": dashboard("fleet", [], FLEET),
    "fusion": dashboard("fusion", [variable("site", "tributary_sources_expected")], FUSION),
    "learning": dashboard("learning", [variable("run", "tributary_run_state")], LEARNING),
}


def main():
    folder = pathlib.Path(__file__).resolve().parent
    differ = []
    for name, content in DASHBOARDS.items():
        path, text = folder / f"{name}.json", json.dumps(content, indent=1) + "\n"
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            differ.append(f"{path.name} differs from its table: run deploy/grafana/dashboards.py")
    print("\n".join(differ), end="\n" if differ else "")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
