#!/usr/bin/env python3
"""What open dashboards cost the aggregator, by turns with none, in one run.

    bench/dashboards.py [build/bench/bin] [--pages 10] [--turns 5] [--seconds 10]

Four panels send 2,000 slots/s of 16 subjects (`tributary load`). In every second turn, as many readers as --pages ask for what
the page asks for: the events of the site 20 times a second, its counters once a second, who asks every five seconds, and the
nodes and the account of losses every two. They are no browsers: what a browser costs is no matter of the aggregator's.
Prints one JSON object: the aggregator's share of a core in both kinds of turns and the difference, the ratio of the slots'
99th percentile with pages to that without, and how many events and answers the readers got. Ratios and differences are those
of neighbouring turns. Exit status 1: a frame was lost, or the readers got less than nine tenths of their events. The figures are not
judged; docs/performance.md has them.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SITE = "load"
EVENTS_HZ = 20
POLLS = (("/api/v1/sites", 1), ("/api/v1/session", 5), ("/api/v1/nodes", 2), (f"/api/v1/sites/{SITE}/flow", 2))


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Page:
    """Reads what one open page reads, until it is told to stop."""

    def __init__(self, http):
        self.http, self.events, self.answers, self.bytes = http, 0, 0, 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.follow)]
        self.threads += [threading.Thread(target=self.poll, args=each) for each in POLLS]
        for thread in self.threads:
            thread.start()

    def follow(self):
        with socket.create_connection(("127.0.0.1", self.http)) as link:
            link.settimeout(1)
            link.sendall(f"GET /api/v1/events?site={SITE}&rate_hz={EVENTS_HZ} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            while not self.over.is_set():
                try:
                    part = link.recv(1 << 16)
                except TimeoutError:
                    continue
                if not part:
                    return
                self.bytes += len(part)
                self.events += part.count(b"\ndata: ")

    def poll(self, path, period_s):
        while not self.over.wait(period_s):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=10) as answer:
                self.bytes += len(answer.read())
                self.answers += 1

    def close(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


def read_as_pages(http, pages):
    """A process of its own: prints its counts when its standard input ends."""
    began = time.monotonic()
    readers = [Page(http) for _ in range(pages)]
    sys.stdin.read()
    passed = time.monotonic() - began
    for reader in readers:
        reader.over.set()
    for reader in readers:
        reader.close()
    counts = {name: sum(getattr(reader, name) for reader in readers) for name in ("events", "answers", "bytes")}
    print(json.dumps(counts | {"seconds": passed}))


def turn(options, port, http, pages):
    command = [options.binaries / "tributary", "load", "--aggregator", f"127.0.0.1:{port}", "--http", f"127.0.0.1:{http}",
               "--seconds", str(options.seconds), "--json"]
    readers = None
    if pages:
        readers = subprocess.Popen([sys.executable, __file__, "--read", str(http), "--pages", str(pages)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(5))
        time.sleep(1)
    load = subprocess.run(command, capture_output=True, text=True)
    counts = json.loads(readers.communicate()[0]) if readers else None
    if not load.stdout:
        sys.exit(f"load: {load.stderr}")
    said = json.loads(load.stdout)
    return {"cores": said["aggregator"]["cpu_share"], "p50_us": said["latency_us"]["p50"], "p99_us": said["latency_us"]["p99"],
            "lost": said["lost"], "sending_share": said["seconds"] / (counts["seconds"] if counts else said["seconds"]), "read": counts}


def measure(folder, options):
    port, http = free_port(), free_port()
    (folder / "aggregator.toml").write_text(
        f'listen = "127.0.0.1:{port}"\n[http]\nlisten = "127.0.0.1:{http}"\n[[site]]\nname = "{SITE}"\n'
        'sources = ["panel-0", "panel-1", "panel-2", "panel-3"]\nslot_ms = 0.5\ndeadline_ms = 50.0\n')
    with (folder / "log").open("w") as log:
        aggregator = subprocess.Popen([options.binaries / "tributary-aggregator", "--config", folder / "aggregator.toml"], stdout=log, stderr=log)
    try:
        time.sleep(1)
        turns = []
        for _ in range(options.turns):
            turns.append((turn(options, port, http, 0), turn(options, port, http, options.pages)))
    finally:
        aggregator.terminate()
        aggregator.wait()
    return turns


def summary(turns, pages):
    closed, opened = zip(*turns)
    costs = [b["cores"] - a["cores"] for a, b in turns]
    ratio = [b["p99_us"] / a["p99_us"] for a, b in turns]
    events = sum(each["read"]["events"] for each in opened)
    # Events come while the panels send; between the turns of a load they rest.
    due = sum(each["read"]["seconds"] * each["sending_share"] for each in opened) * EVENTS_HZ * pages
    return {"bench": "dashboards", "pages": pages, "turns": len(turns),
            "cores_without": statistics.median(each["cores"] for each in closed), "cores_with": statistics.median(each["cores"] for each in opened),
            "cost_cores": {"median": statistics.median(costs), "largest": max(costs)},
            "p99_us_without": statistics.median(each["p99_us"] for each in closed), "p99_us_with": statistics.median(each["p99_us"] for each in opened),
            "p99_ratio": {"median": statistics.median(ratio), "largest": max(ratio)},
            "p50_ratio": statistics.median(b["p50_us"] / a["p50_us"] for a, b in turns),
            "events": events, "events_due": round(due), "answers": sum(each["read"]["answers"] for each in opened),
            "megabytes": round(sum(each["read"]["bytes"] for each in opened) / 1e6, 1), "lost": sum(each["lost"] for pair in turns for each in pair)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", nargs="?", type=pathlib.Path, default=pathlib.Path("build/bench/bin"))
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--read", type=int, metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        return read_as_pages(options.read, options.pages)
    options.binaries = options.binaries.resolve()
    with tempfile.TemporaryDirectory(prefix="dashboards.") as folder:
        result = summary(measure(pathlib.Path(folder), options), options.pages)
    print(json.dumps(result))
    return 1 if result["lost"] or result["events"] < 0.9 * result["events_due"] else 0


if __name__ == "__main__":
    sys.exit(main())
