"""A long outage of the aggregator with the spool on the disk: what the folder takes, what is dropped, what a killed node has left.

usage: spool_outage.py --root FOLDER --bin FOLDER [--seconds N] [--rate-hz N] [--json FILE]
Two nodes with 16 subjects each and no aggregator: one whose folder may hold the whole outage, one with a sixteenth of that. Then
one is killed and one stopped, and both start again with an aggregator. No namespace is needed. SECONDS in the environment is another way to say
--seconds.
Exit status: 0 all is well, 1 faults (one line each).
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from exposition import Metrics

SUBJECTS = 16
# docs/running.md states what a frame of 16 positions takes on the disk, and what 24 hours at 2,000 slots/s need.
MOST_FRAME_BYTES = 390
DAY_GB = 66
# A node's counters are read one after the other, while it goes on.
SCRAPE_S = 0.1
READY_S = 30


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def panel(root, name, rate_hz):
    return f'''[[panel]]
name = "{name}"
model = "{root}/models/positioning.safetensors"
[panel.source]
kind = "room"
seed = 1
subjects = {SUBJECTS}
snapshots = 200
rate_hz = {rate_hz}
'''


class Daemon:
    options = ()

    def __init__(self, program, config, text, http_port):
        self.program, self.config, self.http_port = program, config, http_port
        config.write_text(text, encoding="utf-8")
        self.log = config.with_suffix(".log")
        self.start()

    def start(self):
        with self.log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen([self.program, "--config", self.config, *self.options], stdout=log, stderr=subprocess.STDOUT)

    def metrics(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=10) as answer:
                return Metrics(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return Metrics("")

    def kill(self, how):
        self.process.send_signal(how)
        self.process.wait(60)


class Node(Daemon):
    def __init__(self, arguments, folder, name, budget, aggregator_port, http_port):
        self.name, self.budget, self.spool = name, budget, folder / f"{name}.spool"
        text = f'''node = "{name}"
site = "lab"
slot_ms = {1000 / arguments.rate_hz}
[uplink]
aggregator = "127.0.0.1:{aggregator_port}"
spool_dir = "{self.spool}"
spool_dir_bytes = {budget}
drain_s = 0.1
[http]
listen = "127.0.0.1:{http_port}"
{panel(arguments.root.resolve(), name, arguments.rate_hz)}'''
        self.largest_bytes, self.memory = 0, []
        self.summary_file = folder / f"{name}.json"
        self.options = ("--summary", self.summary_file)
        super().__init__(arguments.bin.resolve() / "tributary-node", folder / f"{name}.toml", text, http_port)

    def sample(self, now_s):
        """What lies on the disk, which no counter of the node has told."""
        total = 0
        for entry in os.scandir(self.spool) if self.spool.is_dir() else ():
            try:
                total += entry.stat().st_size
            except FileNotFoundError:
                pass  # the oldest of a full folder
        self.largest_bytes = max(self.largest_bytes, total)
        self.memory.append((now_s, resident(self.process.pid)))
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} has ended: {self.log.read_text()[-500:]}")

    def counts(self):
        metrics = self.metrics()
        names = ("offered", "acknowledged", "dropped", "disk_recovered")
        found = {each: metrics.total(f"tributary_uplink_{each}_frames_total") for each in names}
        found["held"] = metrics.total("tributary_uplink_spool_frames")
        found["stored"] = metrics.total("tributary_uplink_disk_frames")
        found["bytes"] = metrics.total("tributary_uplink_disk_bytes")
        found["reasons"] = metrics.by("reason", "tributary_uplink_disk_dropped_frames_total")
        return found


def resident(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def wait_for(what, holds, seconds):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds} s for {what}")
        time.sleep(0.2)


class Outage:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.faults, self.figures = [], {}
        self.port, self.hub_http, *node_http = free_ports(4)
        whole = int(arguments.seconds * arguments.rate_hz * MOST_FRAME_BYTES) + (4 << 20)
        budgets = {"ample": whole, "scarce": max(whole // 16, 1 << 18)}
        self.nodes = [Node(arguments, folder, name, budget, self.port, http)
                      for (name, budget), http in zip(budgets.items(), node_http)]

    def check(self, holds, fault):
        if not holds:
            self.faults.append(fault)

    def run(self):
        began = time.monotonic()
        while (now_s := time.monotonic() - began) < self.arguments.seconds:
            for node in self.nodes:
                node.sample(now_s)
            time.sleep(min(1.0, self.arguments.seconds / 20))
        self.judge_outage()
        self.judge_return()

    def judge_outage(self):
        for node in self.nodes:
            counts = node.counts()
            name = node.name
            self.figures[name] = {**counts, "budget": node.budget, "largest_bytes": node.largest_bytes,
                                  "mib": [round(node.memory[len(node.memory) // 3][1] / 2**20, 1),
                                          round(node.memory[-1][1] / 2**20, 1)]}
            made, rate = counts["offered"], self.arguments.rate_hz
            # A quarter of what was asked for: a busy machine is slower, an empty run is none.
            self.check(made >= 0.25 * rate * self.arguments.seconds, f"{name}: made {made:.0f} frames only")
            self.check(node.largest_bytes <= node.budget, f"{name}: {node.largest_bytes} bytes in the folder, more than the {node.budget} of its budget")
            self.check(abs(made - counts["stored"] - counts["held"] - counts["dropped"]) <= SCRAPE_S * rate,
                       f"{name}: made {made:.0f} frames, counted {counts}")
            frame_bytes = counts["bytes"] / max(1.0, counts["stored"])
            self.figures[name]["frame_bytes"] = round(frame_bytes, 1)
            self.check(frame_bytes <= MOST_FRAME_BYTES, f"{name}: {frame_bytes:.0f} bytes a frame, more than {MOST_FRAME_BYTES}")
            self.check(frame_bytes * 2000 * 86_400 <= DAY_GB * 1e9, f"{name}: 24 h would take more than {DAY_GB} GB")
        ample, scarce = (self.figures[name] for name in ("ample", "scarce"))
        self.check(ample["dropped"] == 0, f"ample: dropped {ample['dropped']:.0f} frames")
        self.check(scarce["dropped"] == scarce["reasons"].get("over_budget", 0) > 0, f"scarce: {scarce}")

    def judge_return(self):
        """A killed node leaves what is on the disk; one that stops counts to the last tuple."""
        rate = self.arguments.rate_hz
        for node, how in zip(self.nodes, (signal.SIGKILL, signal.SIGTERM)):
            self.figures[node.name]["at_end"] = node.counts()["stored"]
            node.kill(how)
        summary = json.loads(self.nodes[1].summary_file.read_text())
        self.check(summary["tuples"] == summary["stored_tuples"] + summary["dropped_tuples"], f"scarce: {summary}")
        self.figures["scarce"]["at_end"] = summary["stored_tuples"] / SUBJECTS
        hub = Daemon(self.arguments.bin.resolve() / "tributary-aggregator", self.folder / "hub.toml", f'''listen = "127.0.0.1:{self.port}"
[http]
listen = "127.0.0.1:{self.hub_http}"
[[site]]
name = "lab"
sources = ["ample", "scarce"]
slot_ms = {1000 / rate}
late = "revise"
max_age_s = {min(self.arguments.seconds + 60, (1 << 20) / rate - 10)}
max_subjects = {SUBJECTS}
''', self.hub_http)
        wait_for("the aggregator", hub.metrics, READY_S)
        try:
            for node in self.nodes:
                node.start()
            for node in self.nodes:
                self.judge_recovery(node)
        finally:
            hub.kill(signal.SIGTERM)

    def judge_recovery(self, node):
        rate, figures = self.arguments.rate_hz, self.figures[node.name]
        wait_for(f"{node.name}'s folder", lambda: node.counts()["disk_recovered"] > 0, READY_S)
        began, counts = time.monotonic(), node.counts()
        recovered = figures["recovered"] = counts["disk_recovered"]
        # The killed node stored more between the reading and the signal.
        more = rate if node.name == "ample" else 0
        self.check(figures["at_end"] <= recovered <= figures["at_end"] + more,
                   f"{node.name}: {figures['at_end']:.0f} frames stored, {recovered:.0f} found by the next start")
        wait_for(f"{node.name}'s backlog", lambda: node.counts()["stored"] == 0, 60 + recovered / 1000)
        figures["resent_s"] = round(time.monotonic() - began, 1)
        node.kill(signal.SIGTERM)
        summary = json.loads(node.summary_file.read_text())
        figures["again"] = {each: summary[each] for each in (
            "tuples", "recovered_tuples", "acknowledged_tuples", "refused_tuples", "dropped_tuples", "stored_tuples")}
        self.check(summary["tuples"] + summary["recovered_tuples"] ==
                   summary["acknowledged_tuples"] + summary["dropped_tuples"] + summary["stored_tuples"], f"{node.name}: {summary}")
        # What is older than the site admits is dropped; a short outage has nothing so old.
        short = self.arguments.seconds * rate < 1 << 19
        self.check(not short or summary["dropped_tuples"] == 0, f"{node.name}: {summary}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SECONDS", "600")))
    parser.add_argument("--rate-hz", type=float, default=2000.0)
    parser.add_argument("--json", type=pathlib.Path, help="writes the figures to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tributary-outage-") as folder:
        outage = Outage(arguments, pathlib.Path(folder))
        try:
            outage.run()
        except RuntimeError as error:
            outage.faults.append(str(error))
        finally:
            for node in outage.nodes:
                if node.process.poll() is None:
                    node.kill(signal.SIGKILL)
    for name, figures in outage.figures.items():
        print(f"{name}: {json.dumps(figures)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(outage.figures, indent=1) + "\n", encoding="utf-8")
    for fault in outage.faults:
        print(f"FAULT: {fault}")
    sys.exit(1 if outage.faults else 0)


if __name__ == "__main__":
    main()
