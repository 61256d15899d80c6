#!/usr/bin/env python3
"""Fusion beside attacks on an aggregator's memory, descriptors, places and threads.

Four honest panels send 2,000 slots/s (`tributary load`), by turns undisturbed and under one attack of
tests/faults/attacks. Prints one JSON object: for each attack the ratios of the latencies' quantiles (attacked to
undisturbed, the median over the turns), lost frames, memory and what was refused. --page FILE also writes the table of
docs/security.md. Exit status 1 if an honest frame is lost, the 99th percentile under attack is more than twice the
undisturbed one, the resident memory exceeds the unit's MemoryMax or does not come back to within a tenth, or nothing is
counted. The anonymous memory, which is the resident one without the pages of files, is printed beside it.

The attacker has addresses of its own, 127.0.0.2 and later, and runs only while a processor is idle (SCHED_IDLE): in the field it
has a machine of its own.

With --decoy each turn has a third part: the same attack on a second aggregator, while the panels report to the first.
What that costs the panels is the price of two busy processes on this machine, and no fault of the first aggregator.

  bench/under_attack.py --seconds 60 --turns 3 --page docs/security.md
  bench/under_attack.py --attack half_calls --seconds 5 --turns 1
"""

import argparse
import contextlib
import dataclasses
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

from page_tables import write_between_marks

SOURCE = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Attack:
    title: str  # as the table of docs/security.md calls it
    tls: bool = False
    files: int = None  # that the aggregator may open
    run: bool = False  # a run of federated learning with a model of 4 MB


ATTACKS = {
    "half_client_hello": Attack("connections with half a ClientHello, TLS", tls=True),
    "idle_connections": Attack("idle connections, 64 files", files=64),
    "reset_participate": Attack("streams of Participate, reset"),
    "reset_report": Attack("streams of Report, reset"),
    "reset_list_nodes": Attack("streams of ListNodes, reset"),
    "quadratic_headers": Attack("endless header before a call"),
    "quadratic_headers_after_a_call": Attack("endless header after a call"),
    "quadratic_headers_beside_an_upload": Attack("endless header beside a half upload"),
    "calls_without_a_path": Attack("calls without a path, on 40 connections"),
    "calls_without_a_path_beside_calls": Attack("the same beside calls that are answered, on 16 connections"),
    "refused_calls": Attack("calls of a certificate without a role, on 40 connections, TLS", tls=True),
    "calls_from_many_addresses": Attack("calls that are answered, from 8 addresses on 60 connections"),
    "tls_records_at_once": Attack("records of TLS that become whole together, on 100 connections", tls=True),
    "long_chains": Attack("300 certificates in each handshake, from 40 addresses at once, TLS", tls=True),
    "reused_port": Attack("connections from one port, one after the other, each reset"),
    "reports_beside_garbage": Attack("reports of nothing beside calls without a path, on 60 connections"),
    "ends_together": Attack("480 connections that end together"),
    "unknown_fields": Attack("requests of unknown fields that become whole together, on 100 connections"),
    "second_hellos": Attack("second hellos of empty sources that become whole together, on 100 connections"),
    "a_few_headers_at_once": Attack("four calls without a path on each of 480 connections at once"),
    "pings": Attack("pings whose answers nobody reads"),
    "empty_strings": Attack("declarations of a million empty strings"),
    "empty_shares": Attack("shares of secure aggregation without content"),
    "half_sent_models": Attack("half of a model"),
    "slow_uploads": Attack("slow uploads", run=True),
    "unread_messages": Attack("messages that nobody reads"),
    "half_calls": Attack("calls of which only headers come, on 60 connections"),
    "half_calls_of_a_node": Attack("the same of one node, TLS", tls=True),
    "source_names": Attack("names of sources"),
    "silent_reports": Attack("silent Report streams"),
    "idle_reflections": Attack("idle reflection streams"),
}
LEFT_OVER_S = 8  # in which memory must come back
ROUND_S = 60  # in which a round that is under way keeps its sums
QUARANTINE_S = 10  # of the attacker's address


def memory_max_mib():
    unit = (SOURCE / "deploy/systemd/tributary-aggregator.service").read_text()
    return int(re.search(r"^MemoryMax=(\d+)M$", unit, re.M).group(1))


class Aggregator:
    """A fresh one with a store and two sites: the honest panels', and one that attackers may name."""

    def __init__(self, binaries, folder, port, attack):
        self.binaries, self.port, self.http = binaries, port, port + 80
        self.tls = attack.tls
        self.folder = folder
        tls = ""
        if self.tls:
            subprocess.run([binaries / "tributary", "certs", "--out", f"{folder}/ca", "--server", "hub=127.0.0.1",
                            "--name", "panel", "--name", "evil"], check=True, capture_output=True)
            tls = ('[tls]\ncertificate = "ca/hub.pem"\nkey = "ca/hub.key"\nca = "ca/ca.pem"\n'
                   '[access]\nviewers = ["panel"]\nnodes = ["evil"]\n')
        owner = '[[site.owner]]\nnode = "panel"\nsources = ["panel-0", "panel-1", "panel-2", "panel-3"]\n'
        (folder / "hub.toml").write_text(
            f'listen = "127.0.0.1:{port}"\n[http]\nlisten = "127.0.0.1:{self.http}"\n{tls}'
            f'[ingest]\nmemory_bytes = {memory_max_mib() << 20}\n'
            '[federation]\nstore = "store"\n'
            '[[site]]\nname = "load"\nsources = ["panel-0", "panel-1", "panel-2", "panel-3"]\n'
            f'slot_ms = 0.5\ndeadline_ms = 50.0\n{owner if self.tls else ""}'
            '[[site]]\nname = "room"\nsources = ["spare"]\n')
        files = attack.files
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen([binaries / "tributary-aggregator", "--config", folder / "hub.toml"],
                                        stdout=self.log, stderr=self.log, preexec_fn=limit)
        self.wait_until_ready()
        if attack.run:
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
        return {name: int(value) for name, value in self.metrics().items()
                if re.search(r"refused|rejected|declined|failed|unknown|ended", name) and value > 0}

    def resident_mib(self):
        return self.pages()[1] * resource.getpagesize() / 2**20

    def memory_mib(self):
        _, resident, of_files = self.pages()
        mib = resource.getpagesize() / 2**20
        return {"resident": resident * mib, "anonymous": (resident - of_files) * mib}

    def pages(self):
        """Pages of the address space, those that are resident, and those of files among them."""
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return [int(field) for field in statm.read().split()[:3]]

    def accepted_frames(self):
        return self.metrics()['tributary_frames_accepted_total{site="load"}']

    def identity(self, name):
        return [f"{self.folder}/ca/{name}.pem", f"{self.folder}/ca/{name}.key", f"{self.folder}/ca/ca.pem"]

    def load(self, seconds, when_connected=lambda: None):
        command = [self.binaries / "tributary", "load", "--aggregator", f"127.0.0.1:{self.port}", "--http",
                   f"127.0.0.1:{self.http}", "--seconds", str(seconds), "--json"]
        if self.tls:
            for option, file in zip(["--certificate", "--key", "--ca"], self.identity("panel")):
                command += [option, file]
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
    identity = target.identity("evil") if target.tls else []
    seconds = arguments.seconds * 3 // 2  # the load's pauses, in which it compares itself with TCP, are half as long

    def attack():
        started.append(subprocess.Popen(["chrt", "--idle", "0", arguments.bin / "attacker", name, str(target.port),
                                         str(seconds), *identity]))

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
        calm, attacked, beside, before, peak = [], [], [], hub.memory_mib(), 0.0
        for _ in range(arguments.turns):
            calm.append(hub.load(arguments.calm_seconds or arguments.seconds))
            load, mib = load_under_attack(name, arguments, hub, hub)
            attacked.append(load)
            peak = max(peak, mib)
            # Quiet turns are quiet: the address of this attack is forgotten by the next one.
            time.sleep(QUARANTINE_S)
            if decoy:
                beside.append(load_under_attack(name, arguments, hub, decoy)[0])
        time.sleep(LEFT_OVER_S + (ROUND_S if ATTACKS[name].run else 0))
        if hub.process.poll() is not None:
            raise RuntimeError("the aggregator has ended: " + (hub.folder / "log").read_text()[-2000:])
        return judged(calm, attacked, beside, before, peak, hub.memory_mib(), hub.refused())


def quantile(runs, which):
    return statistics.median(run["latency_us"][which] for run in runs)


def ratio(runs, others, which):
    """The median over the turns, each against its own neighbour."""
    return statistics.median(run["latency_us"][which] / other["latency_us"][which] for run, other in zip(runs, others))


def lost(runs):
    return sum(run["lost"] for run in runs)


def judged(calm, attacked, beside, before, peak, after, refused):
    """The figures of one attack, and what is not as it must be."""
    figures = {
        "lost": lost(attacked),
        "lost_undisturbed": lost(calm),
        "reconnections": sum(run["reconnections"] for run in attacked),
        "p50_us": {"undisturbed": quantile(calm, "p50"), "attacked": quantile(attacked, "p50")},
        "p99_us": {"undisturbed": quantile(calm, "p99"), "attacked": quantile(attacked, "p99")},
        "p50_ratio": ratio(attacked, calm, "p50"),
        "p99_ratio": ratio(attacked, calm, "p99"),
        "peak_mib": peak,
        "memory_mib": {"before": before, "after": after},
        "refused": refused,
    }
    least = figures["p99_ratio"]
    if beside:
        figures["p99_us"]["decoy"] = quantile(beside, "p99")
        least = min(least, ratio(attacked, beside, "p99"))
    faults = []
    if figures["lost"] > figures["lost_undisturbed"]:
        faults.append(f"{figures['lost']} honest frames or slots lost")
    if least > 2:
        faults.append(f"p99 is {least:.1f} times the undisturbed one" + (" or the decoy's" if beside else ""))
    if peak > memory_max_mib():
        faults.append(f"{peak:.0f} MiB exceed MemoryMax")
    if after["resident"] > 1.1 * before["resident"]:
        faults.append(f"{after['resident']:.1f} MiB of memory stay, {before['resident']:.1f} before")
    if not refused:
        faults.append("nothing is counted")
    return figures | {"faults": faults}


def table(results):
    """For docs/security.md."""
    lines = ["| attack | frames and slots lost | p50 of a slot, ms: undisturbed / under attack | p99 | ratio of p99 | "
             "memory, MiB: before / after (anonymous); peak | what was refused or cut |",
             "|---|---|---|---|---|---|---|"]
    for name, each in results.items():
        def both(which):
            return f"{each[which]['undisturbed'] / 1000:.2f} / {each[which]['attacked'] / 1000:.2f}"

        counted = "; ".join(f"`{metric.removeprefix('tributary_')}` {value:,}" for metric, value in each["refused"].items())
        before, after = each["memory_mib"]["before"], each["memory_mib"]["after"]
        memory = (f"{before['resident']:.1f} / {after['resident']:.1f} "
                  f"({before['anonymous']:.1f} / {after['anonymous']:.1f}); {each['peak_mib']:.0f}")
        p99 = f"{each['p99_ratio']:.1f}"
        lines.append(f"| {ATTACKS[name].title} | {each['lost']:,} | {both('p50_us')} | {both('p99_us')} | "
                     f"{p99 if each['p99_ratio'] <= 2 else f'**{p99}**'} | "
                     f"{memory} | {counted or 'nothing'} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attack", action="append", choices=list(ATTACKS), metavar="NAME",
                        help=f"one of {', '.join(ATTACKS)}; repeat it for more; default: all")
    parser.add_argument("--bin", type=pathlib.Path, default=SOURCE / "build/release/bin")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="of a turn, undisturbed and under attack each")
    parser.add_argument("--calm-seconds", type=int, help="of the undisturbed part of a turn; default: as --seconds")
    parser.add_argument("--decoy", action="store_true", help="attack a second aggregator, too, as a control")
    parser.add_argument("--port", type=int, default=41900)
    parser.add_argument("--page", type=pathlib.Path, help="write the table between the marks of this page")
    arguments = parser.parse_args()
    results = {}
    for name in arguments.attack or list(ATTACKS):
        results[name] = measure(name, arguments)
        for fault in results[name]["faults"]:
            print(f"{name}: {fault}", file=sys.stderr, flush=True)
    conditions = {"turns": arguments.turns, "seconds": arguments.seconds,
                  "calm_seconds": arguments.calm_seconds or arguments.seconds, "processors": os.cpu_count()}
    print(json.dumps({"conditions": conditions, "attacks": results}, indent=2))
    if arguments.page:
        write_between_marks(arguments.page, "under attack", table(results))
    return 1 if any(each["faults"] for each in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
