#!/usr/bin/env python3
"""Fusion beside attacks on an aggregator's memory, descriptors, places and threads.

Four honest panels send 2,000 slots/s (`tributary load`), by turns undisturbed and under one attack of
tests/faults/attacks. Prints a line of docs/security.md for each attack; exit status 1 if an honest frame is lost,
the 99th percentile under attack is more than twice the undisturbed one, the resident memory exceeds the unit's
MemoryMax, the anonymous memory (without the pages of files) does not come back to within a tenth, or nothing is counted.
The attacker has an address of its own, 127.0.0.2, and runs only while a processor is idle (SCHED_IDLE): in the field it
has a machine of its own.

With --decoy each turn has a third part: the same attack on a second aggregator, while the panels report to the first.
What that costs the panels is the price of two busy processes on this machine, and no fault of the first aggregator.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent
ATTACKS = {
    # name: what is special about its aggregator
    "half_client_hello": {"tls": True},
    "idle_connections": {"files": 64},
    "reset_participate": {},
    "reset_report": {},
    "reset_list_nodes": {},
    "quadratic_headers": {},
    "quadratic_headers_after_a_call": {},
    "empty_strings": {},
    "empty_shares": {},
    "half_sent_models": {},
    "slow_uploads": {"run": True},
    "unread_messages": {},
    "half_calls": {},
    "source_names": {},
    "silent_reports": {},
    "idle_reflections": {},
}
LEFT_OVER_S = 8  # in which memory must come back
QUARANTINE_S = 10  # of the attacker's address


def memory_max_mib():
    unit = (SOURCE / "deploy/systemd/tributary-aggregator.service").read_text()
    return int(re.search(r"^MemoryMax=(\d+)M$", unit, re.M).group(1))


class Aggregator:
    """A fresh one with a store and two sites: the honest panels', and one that attackers may name."""

    def __init__(self, binaries, folder, port, special):
        self.binaries, self.port, self.http = binaries, port, port + 80
        self.tls = special.get("tls", False)
        self.folder = folder
        tls = ""
        if self.tls:
            subprocess.run([binaries / "tributary", "certs", "--out", f"{folder}/ca", "--server", "hub=127.0.0.1",
                            "--name", "panel"], check=True, capture_output=True)
            tls = '[tls]\ncertificate = "ca/hub.pem"\nkey = "ca/hub.key"\nca = "ca/ca.pem"\n[access]\nviewers = ["panel"]\n'
        owner = '[[site.owner]]\nnode = "panel"\nsources = ["panel-0", "panel-1", "panel-2", "panel-3"]\n'
        (folder / "hub.toml").write_text(
            f'listen = "127.0.0.1:{port}"\n[http]\nlisten = "127.0.0.1:{self.http}"\n{tls}'
            f'[ingest]\nmemory_bytes = {memory_max_mib() << 20}\n'
            '[federation]\nstore = "store"\n'
            '[[site]]\nname = "load"\nsources = ["panel-0", "panel-1", "panel-2", "panel-3"]\n'
            f'slot_ms = 0.5\ndeadline_ms = 50.0\n{owner if self.tls else ""}'
            '[[site]]\nname = "room"\nsources = ["spare"]\n')
        files = special.get("files")
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen([binaries / "tributary-aggregator", "--config", folder / "hub.toml"],
                                        stdout=self.log, stderr=self.log, preexec_fn=limit)
        self.wait_until_ready()
        if special.get("run"):
            self.start_run()

    def wait_until_ready(self):
        for _ in range(100):
            try:
                self.metrics()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError((self.folder / "log").read_text())

    def start_run(self):
        """With a model of 4 MB, so that few updates fill the memory for updates."""
        count = 1_000_000
        header = json.dumps({"w": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}).encode()
        (self.folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4 * count))
        (self.folder / "run.toml").write_text('name = "attacked"\nrounds = 1000\nmin_nodes = 2\nquorum = 2\n')
        subprocess.run([self.binaries / "tributary", "run", "start", self.folder / "run.toml", "--model",
                        self.folder / "model.safetensors", "--aggregator", f"127.0.0.1:{self.port}"],
                       check=True, capture_output=True)

    def end(self):
        self.process.kill()
        self.process.wait()

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}

    def refused(self):
        return {name: value for name, value in self.metrics().items()
                if re.search(r"refused|rejected|declined|failed", name) and value > 0}

    def resident_mib(self):
        return self.pages()[1] * resource.getpagesize() / 2**20

    def anonymous_mib(self):
        pages = self.pages()
        return (pages[1] - pages[2]) * resource.getpagesize() / 2**20

    def pages(self):
        """Pages of the address space, those that are resident, and those of files among them."""
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return [int(field) for field in statm.read().split()]

    def accepted_frames(self):
        return self.metrics()['tributary_frames_accepted_total{site="load"}']

    def load(self, seconds, when_connected=lambda: None):
        command = [self.binaries / "tributary", "load", "--aggregator", f"127.0.0.1:{self.port}", "--http",
                   f"127.0.0.1:{self.http}", "--seconds", str(seconds), "--json"]
        if self.tls:
            command += ["--certificate", f"{self.folder}/ca/panel.pem", "--key", f"{self.folder}/ca/panel.key",
                        "--ca", f"{self.folder}/ca/ca.pem"]
        before = self.accepted_frames()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and self.accepted_frames() == before:
            time.sleep(0.05)
        when_connected()
        output, errors = process.communicate()
        try:
            return json.loads(output)
        except ValueError:
            raise RuntimeError(f"tributary load: {errors}") from None


class PeakMemory:
    """The largest resident memory while it is entered."""

    def __init__(self, aggregator):
        self.aggregator, self.mib, self.over = aggregator, 0.0, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while not self.over.wait(0.02):
            self.mib = max(self.mib, self.aggregator.resident_mib())

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def load_under_attack(name, arguments, hub, target):
    """What the panels of `hub` see while `target` is attacked, and the peak of the hub's memory in MiB.

    The panels connect first: while memory is short, nobody comes in."""
    started = []

    def attack():
        started.append(subprocess.Popen(["chrt", "--idle", "0", arguments.bin / "attacker", name, str(target.port),
                                         str(arguments.seconds)]))

    with PeakMemory(hub) as memory:
        load = hub.load(arguments.seconds, attack)
    started[0].wait()
    time.sleep(1)
    return load, memory.mib


def measure(name, arguments):
    with contextlib.ExitStack() as stack:
        def start(port):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tributary."))
            aggregator = Aggregator(arguments.bin, pathlib.Path(folder), port, ATTACKS[name])
            stack.callback(aggregator.end)
            return aggregator

        hub = start(arguments.port)
        decoy = start(arguments.port + 1) if arguments.decoy else None
        hub.load(2)  # the first touch of its memory
        time.sleep(LEFT_OVER_S)
        calm, attacked, beside, before, peak = [], [], [], hub.anonymous_mib(), 0.0
        for _ in range(arguments.turns):
            calm.append(hub.load(arguments.calm_seconds or arguments.seconds))
            load, mib = load_under_attack(name, arguments, hub, hub)
            attacked.append(load)
            peak = max(peak, mib)
            if decoy:
                time.sleep(QUARANTINE_S)
                beside.append(load_under_attack(name, arguments, hub, decoy)[0])
        time.sleep(LEFT_OVER_S)
        if hub.process.poll() is not None:
            raise RuntimeError("the aggregator has ended: " + (hub.folder / "log").read_text()[-2000:])
        return {"attack": name, "calm": calm, "attacked": attacked, "beside": beside, "before": before, "peak": peak,
                "after": hub.anonymous_mib(), "refused": hub.refused()}


def judge(result):
    """The line of the table, and what is not as it must be."""
    def quantile(runs, which):
        return statistics.median(run["latency_us"][which] for run in runs)

    def lost(runs):
        return sum(run["lost"] for run in runs)

    calm, attacked = quantile(result["calm"], "p99"), quantile(result["attacked"], "p99")
    faults = []
    if lost(result["attacked"]) > lost(result["calm"]):
        faults.append(f"{lost(result['attacked'])} honest frames or slots lost")
    beside = quantile(result["beside"], "p99") if result["beside"] else None
    least = max(calm, beside or 0)
    if attacked > 2 * least:
        faults.append(f"p99 is {attacked / least:.1f} times the undisturbed one" + (" or the decoy's" if beside else ""))
    if result["peak"] > memory_max_mib():
        faults.append(f"{result['peak']:.0f} MiB exceed MemoryMax")
    if result["after"] > 1.1 * result["before"]:
        faults.append(f"{result['after']:.1f} MiB of anonymous memory stay, {result['before']:.1f} before")
    if not result["refused"]:
        faults.append("nothing is counted")
    counted = ", ".join(f"{name.removeprefix('tributary_')} {value:.0f}" for name, value in result["refused"].items())
    of_decoy = f" / {beside:.0f}" if beside else ""
    line = (f"| {result['attack']} | {lost(result['attacked'])} | {calm:.0f} / {attacked:.0f}{of_decoy} | "
            f"{quantile(result['calm'], 'p50'):.0f} / {quantile(result['attacked'], 'p50'):.0f} | "
            f"{result['peak']:.0f} | {result['before']:.1f} / {result['after']:.1f} | {counted} |")
    return line, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS), help="default: all")
    parser.add_argument("--bin", type=pathlib.Path, default=SOURCE / "build/release/bin")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="of a turn, undisturbed and under attack each")
    parser.add_argument("--calm-seconds", type=int, help="of the undisturbed part of a turn; default: as --seconds")
    parser.add_argument("--decoy", action="store_true", help="attack a second aggregator, too, as a control")
    parser.add_argument("--port", type=int, default=41900)
    arguments = parser.parse_args()
    unknown = set(arguments.attacks) - set(ATTACKS)
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(ATTACKS)}")
    beside = " / decoy attacked" if arguments.decoy else ""
    print(f"| attack | lost | p99, µs: undisturbed / under attack{beside} | p50, µs | peak, MiB | "
          "anonymous, MiB: before / after | counted |\n|---|---|---|---|---|---|---|")
    failed = False
    for name in arguments.attacks:
        line, faults = judge(measure(name, arguments))
        print(line, flush=True)
        for fault in faults:
            failed = True
            print(f"{name}: {fault}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
