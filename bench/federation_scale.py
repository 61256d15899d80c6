#!/usr/bin/python3
"""How federated learning scales with the number of nodes: time and CPU of a round, memory of a node, rate of joins.

Starts a real aggregator with its store on a disk and federation_scale_bench, which plays the nodes, 60 on
each connection. The run has a model of 10,000 parameters and int8 updates; every node answers in every round. Then
nodes that wait for a run, and a run with a long history.

    bench/federation_scale.py [build/bench/bin] [--nodes 100,1000,10000] [--rounds 3] [--limit 600]

seconds_per_round is the median, from the first task that a node gets to the first task of the next round, which
follows the commit. Updates wait for the disk: compare runs of like fsync_ms only, which is measured before and after
each row. cpu_ms_per_update is the aggregator's user and system time. Both leave out the joins and one first round.
Memory of a node is that of its stream, for 60 nodes share a connection: what each of them adds to an aggregator that
has had as many rounds with one. The last line is one JSON object.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

HISTORY_RUN = "history"
READY_SECONDS = 600
MAX_CALLS = 45_000  # two of each of 10,000 nodes; without TLS all are one peer's, which may have half
MIN_UPDATES = 2000  # at 10 ms per step of the CPU's clock, fewer cheap updates would not be measured


def filesystem(folder: pathlib.Path) -> str:
    command = ["stat", "--file-system", "--format=%T", str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def fsync_times_ms(folder: pathlib.Path, count: int = 50) -> list[float]:
    """How long the disk takes for the file of one update."""
    times = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(count):
            file.write(bytes(10_000))
            begin = time.monotonic()
            os.fsync(file.fileno())
            times.append(1e3 * (time.monotonic() - begin))
    return times


class Aggregator:
    """A tributary-aggregator with its store in `folder`."""

    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path):
        self.binaries = binaries
        self.folder = folder
        self.config = folder / "aggregator.toml"
        self.config.write_text('listen = "127.0.0.1:0"\n[http]\nlisten = "127.0.0.1:0"\n'
                               f'[ingest]\nmax_calls = {MAX_CALLS}\n'
                               '[federation]\nstore = "store"\nkeep_models = 2\n')

    def __enter__(self):
        log = self.folder / "aggregator.log"
        log.unlink(missing_ok=True)
        with log.open("w") as output:
            self.process = subprocess.Popen([self.binaries / "tributary-aggregator", "--config", self.config],
                                            stdout=output, stderr=output)
        deadline = time.monotonic() + READY_SECONDS
        while not (ports := re.search(r"\(port (\d+).*HTTP port (\d+)", log.read_text())):
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the aggregator does not start:\n{log.read_text()}")
            time.sleep(0.01)
        self.port, self.http_port = int(ports[1]), int(ports[2])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def play(self, mode: str, *arguments: float) -> dict:
        """The figures of federation_scale_bench; its last argument is the limit in seconds."""
        command = [self.binaries / "federation_scale_bench", mode, str(self.port), str(self.process.pid),
                   *map(str, arguments)]
        # A run that is over its limit may still have to answer a call.
        result = subprocess.run(command, capture_output=True, text=True, timeout=arguments[-1] + 900)
        if result.returncode != 0:
            sys.exit(f"{mode} with {arguments[0]} nodes: {result.stderr.strip() or result.returncode}")
        return json.loads(result.stdout.splitlines()[-1])

    def resident_bytes(self) -> int:
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=READY_SECONDS) as answer:
            return answer.read()

    def command(self, *arguments: str) -> str:
        command = [self.binaries / "tributary", *arguments, "--aggregator", f"127.0.0.1:{self.port}"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def scratch_folder(binaries: pathlib.Path):
    """Beside the binaries: on a disk, unlike /tmp perhaps."""
    with tempfile.TemporaryDirectory(prefix="federation_scale.", dir=binaries.parent) as folder:
        yield pathlib.Path(folder)


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(encoded + bytes([value]))


def message(fields: dict) -> bytes:
    """A protobuf message by field number: int as varint, float as double, ("fixed", int) as sfixed64, bytes."""
    encoded = b""
    for number, value in fields.items():
        if isinstance(value, float):
            encoded += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, tuple):
            encoded += varint(number << 3 | 1) + struct.pack("<q", value[1])
        elif isinstance(value, bytes):
            encoded += varint(number << 3 | 2) + varint(len(value)) + value
        else:
            encoded += varint(number << 3) + varint(value)
    return encoded


def write_history(store: pathlib.Path, rounds: int) -> None:
    """Puts `rounds` committed rounds into a run of a stopped aggregator, as the aggregator itself writes them."""
    begin_ns, round_ns = 1_700_000_000_000_000_000, 60_000_000_000
    contribution = message({1: b"n1", 2: 10, 3: 0.5, 4: 1.0})

    def line(number: int) -> bytes:  # Round of run.proto
        return message({1: number, 2: ("fixed", begin_ns + number * round_ns),
                        3: ("fixed", begin_ns + (number + 1) * round_ns), 4: 2, 5: 2, 8: 20, 9: 0.5, 10: 1.0, 11: 0.1,
                        12: 10_040, 13: bytes(32)}) + 2 * (varint(14 << 3 | 2) + varint(len(contribution)) + contribution)

    with contextlib.closing(sqlite3.connect(store / "tributary.db")) as database, database:
        # StoredRun of store.proto: the last round started, rounds committed.
        database.execute("UPDATE run SET document = ?", [message({1: rounds, 2: rounds})])
        database.executemany(
            "INSERT INTO history (run, revision, round, committed, evaluated, document) VALUES (?1, ?2, ?2, 1, 0, ?3)",
            ((HISTORY_RUN, number, line(number)) for number in range(1, rounds + 1)))


def small_model() -> bytes:
    """A safetensors file with one tensor of ten zeros."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [10], "data_offsets": [0, 40]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(40)


def seconds_of(call, *arguments) -> tuple[float, int]:
    """How long a call takes, and the size of its answer."""
    begin = time.monotonic()
    answer = call(*arguments)
    return time.monotonic() - begin, len(answer)


def measure_rounds(binaries: pathlib.Path, nodes: int, rounds: int, elements: int, limit: float) -> dict:
    """A row: rounds of `nodes` nodes with an aggregator of their own."""
    with scratch_folder(binaries) as folder, Aggregator(binaries, folder) as aggregator:
        syncs = fsync_times_ms(folder)
        row = aggregator.play("run", nodes, rounds, elements, limit)
        row["fsync_ms"] = statistics.median(syncs + fsync_times_ms(folder))
    return row


def measure_history(binaries: pathlib.Path, rounds: int) -> dict:
    with scratch_folder(binaries) as folder:
        (folder / "run.toml").write_text(f'name = "{HISTORY_RUN}"\nrounds = {rounds + 1}\n')
        (folder / "model.safetensors").write_bytes(small_model())
        with Aggregator(binaries, folder) as aggregator:
            aggregator.command("run", "start", str(folder / "run.toml"), "--model", str(folder / "model.safetensors"))
        write_history(folder / "store", rounds)
        figures = {"rounds": rounds}
        begin = time.monotonic()
        with Aggregator(binaries, folder) as aggregator:
            figures["start_s"] = time.monotonic() - begin
            figures["resident_bytes"] = aggregator.resident_bytes()
            committed = json.loads(aggregator.get("/api/v1/runs"))["runs"][0]["committed_rounds"]
            if committed != rounds:
                sys.exit(f"the aggregator says {committed} committed rounds, expected {rounds}")
            calls = {"runs": (aggregator.get, "/api/v1/runs"),
                     "run": (aggregator.get, f"/api/v1/runs/{HISTORY_RUN}"),
                     "show": (aggregator.command, "run", "show", HISTORY_RUN)}
            for name, call in calls.items():
                figures[f"{name}_s"], figures[f"{name}_bytes"] = seconds_of(*call)
        return figures


def number(value, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def print_row(row: dict) -> None:
    print(f"{row['nodes']:8,} {number(row['seconds_per_round'], 2):>8} {number(row['fsync_ms'], 2):>8} "
          f"{number(row['cpu_ms_per_update'], 3):>14} "
          f"{row['resident_bytes_per_node'] / 1024:9.1f} {number(row['joins_per_s'], 0):>9} "
          f"{row['peak_resident_bytes'] / 2**20:9.0f} {number(row.get('aggregator_cpu_percent'), 0):>13} "
          f"{number(row.get('generator_cpu_percent'), 0):>12}"
          + (f"  incomplete: {row['joined']:,} joined, {row['rounds']} rounds, {row['accepted_updates']:,} updates"
             if row["incomplete"] else ""), flush=True)


def print_waiting(row: dict) -> None:
    print(f"{row['nodes']:8,} {row['waiting_joins_per_s']:9,.0f} {row['waiting_resident_bytes_per_node'] / 1024:9.1f} "
          f"{row['waiting_cpu_percent']:13.1f}" + ("  incomplete" if row["incomplete"] else ""), flush=True)


def print_history(history: dict) -> None:
    print(f"\na history of {history['rounds']:,} rounds: the aggregator starts in {history['start_s']:.2f} s and has "
          f"{history['resident_bytes'] / 2**20:.0f} MiB resident")
    for name, what in (("runs", "GET /api/v1/runs"), ("run", "GET /api/v1/runs/NAME"),
                       ("show", "tributary run show NAME")):
        print(f"{what:24} {1e3 * history[f'{name}_s']:10,.1f} ms {history[f'{name}_bytes']:14,} bytes")


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path, nargs="?", default=root / "build/bench/bin")
    parser.add_argument("--nodes", default="100,1000,10000", help="numbers of nodes, with commas between them")
    parser.add_argument("--rounds", type=int, help="measured ones; default: 3, more with few nodes")
    parser.add_argument("--elements", type=int, default=10_000, help="parameters of the model")
    parser.add_argument("--limit", type=float, default=600, help="seconds for the joins and rounds of one row")
    parser.add_argument("--history", type=int, default=100_000, help="rounds of the long history; 0: leave it out")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    options = parser.parse_args()
    binaries = options.bin.resolve()
    if not (binaries / "federation_scale_bench").exists():
        parser.error(f"{binaries}/federation_scale_bench does not exist; build it with: cmake --build --preset bench")
    counts = [int(count) for count in options.nodes.split(",")]
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    disk = filesystem(binaries.parent)
    if disk in ("tmpfs", "ramfs"):
        sys.exit(f"{binaries.parent}: is in memory ({disk}); the store must be on a disk")

    figures = {"filesystem": disk, "rows": [], "waiting": [], "history": None}
    print(f"a model of {options.elements:,} parameters, int8 updates, a store on {disk}")
    print("   nodes  s/round fsync ms  CPU ms/update  KiB/node   joins/s  peak MiB  aggregator %  generator %")
    for nodes in counts:
        rounds = options.rounds or max(3, MIN_UPDATES // nodes)
        # Code that is paged in, caches of the store and freed buffers are the process's, not a node's.
        with_one = measure_rounds(binaries, 1, rounds, options.elements, options.limit)["resident_bytes"]
        row = measure_rounds(binaries, nodes, rounds, options.elements, options.limit)
        row["resident_bytes_with_one_node"] = with_one
        row["resident_bytes_per_node"] = (row["resident_bytes"] - with_one) / max(1, row["joined"] - 1)
        figures["rows"].append(row)
        print_row(row)
    print("\nnodes that wait for a run\n   nodes   joins/s  KiB/node  aggregator %")
    for nodes in counts:
        with scratch_folder(binaries) as folder, Aggregator(binaries, folder) as aggregator:
            figures["waiting"].append(aggregator.play("wait", nodes, options.limit))
        print_waiting(figures["waiting"][-1])
    if options.history > 0:
        figures["history"] = measure_history(binaries, options.history)
        print_history(figures["history"])
    print(json.dumps(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
