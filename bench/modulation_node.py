#!/usr/bin/python3
"""How many bursts of radio samples one node recognises and reports without a loss, with the real daemons on the loopback.

    bench/modulation_node.py [build/bench/bin] [--panels 4] [--subjects 256] [--rate-hz 100] [--seconds 20] [--model FILE]

A node replays a recording of noise in every panel, so the rate is panels × subjects × rate_hz; a simulated emitter would
take ten times as long as the network. One aggregator fuses the panels' tuples, and `tributary watch` reads every slot.
lost counts the bursts that were due and reached no fused slot or not the reader. CPU is that of user and system, in cores.
bursts_per_s is null if a slot was fused without a panel. The last line is one JSON object; the exit status is 1 if bursts were lost.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy

SLOTS = 16  # of the recording, which is played in a loop
CLASSES = ["BPSK", "8PSK", "CPFSK", "GFSK", "PAM4", "QAM16", "QAM64", "QPSK", "AM-SSB", "WBFM"]
READY_SECONDS = 60


def write_configurations(folder: pathlib.Path, options) -> None:
    panels = [f"panel{i}" for i in range(options.panels)]
    slot_ms = 1000.0 / options.rate_hz
    bursts = numpy.random.default_rng(1).standard_normal((SLOTS, options.subjects, 2, 128), dtype=numpy.float32)
    numpy.save(folder / "bursts.npy", bursts)
    (folder / "aggregator.toml").write_text(
        'listen = "127.0.0.1:0"\n[http]\nlisten = ""\n[[site]]\nname = "band"\n'
        f"sources = {json.dumps(panels)}\nclasses = {json.dumps(CLASSES)}\nslot_ms = {slot_ms}\n"
        f"max_subjects = {options.subjects}\ndeadline_ms = 500.0\n")
    node = f'node = "board"\nsite = "band"\nslot_ms = {slot_ms}\n[uplink]\naggregator = "127.0.0.1:PORT"\n[http]\nlisten = ""\n'
    for panel in panels:
        node += (f'[[panel]]\nname = "{panel}"\nworkload = "modulation"\nmodel = "{options.model.resolve()}"\n'
                 f'[panel.source]\nkind = "replay"\nfile = "bursts.npy"\nloop = true\nrate_hz = {options.rate_hz}\n')
    (folder / "node.toml").write_text(node)


def start(folder: pathlib.Path, name: str, *command) -> subprocess.Popen:
    with (folder / f"{name}.log").open("w") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def cpu_seconds(process: subprocess.Popen) -> float:
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def port_of(folder: pathlib.Path, aggregator: subprocess.Popen) -> str:
    log = folder / "aggregator.log"
    deadline = time.monotonic() + READY_SECONDS
    while not (port := re.search(r"\(port (\d+)", log.read_text())):
        if aggregator.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"the aggregator does not start:\n{log.read_text()}")
        time.sleep(0.01)
    return port[1]


def measure(folder: pathlib.Path, options) -> dict:
    write_configurations(folder, options)
    aggregator = start(folder, "aggregator", options.binaries / "tributary-aggregator", "--config", folder / "aggregator.toml")
    node = None
    try:
        port = port_of(folder, aggregator)
        configuration = folder / "node.toml"
        configuration.write_text(configuration.read_text().replace("PORT", port))
        node = start(folder, "node", options.binaries / "tributary-node", "--config", configuration,
                     "--summary", folder / "node.json")
        before = cpu_seconds(node), cpu_seconds(aggregator), time.monotonic()
        watch = subprocess.run([options.binaries / "tributary", "watch", "band", "--aggregator", f"127.0.0.1:{port}",
                                "--seconds", str(options.seconds), "--summary", folder / "watch.json"],
                               capture_output=True, text=True)
        passed = time.monotonic() - before[2]
        cpu = [(cpu_seconds(process) - earlier) / passed for process, earlier in zip((node, aggregator), before)]
        if watch.returncode != 0:
            sys.exit(f"watch: {watch.stderr}{(folder / 'node.log').read_text()}")
        node.send_signal(signal.SIGTERM)
        if node.wait(READY_SECONDS) != 0:
            sys.exit((folder / "node.log").read_text())
    finally:
        for process in filter(None, (node, aggregator)):
            process.send_signal(signal.SIGTERM)
            process.wait(READY_SECONDS)
    board = json.loads((folder / "node.json").read_text())
    seen = json.loads((folder / "watch.json").read_text())
    lost = ((board["missed_frames"] + board["failed_frames"]) * options.subjects + board["unusable_tuples"]
            + board["lost_tuples"] + seen["skipped_slots"] * options.subjects * options.panels)
    return {"bench": "modulation_node", "panels": options.panels, "subjects": options.subjects, "rate_hz": options.rate_hz,
            "bursts_per_s": None if seen["incomplete_slots"] else round(seen["fused_per_s"] * options.panels),
            "lost": lost, "incomplete_slots": seen["incomplete_slots"], "seconds": seen["seconds"],
            "node_cores": round(cpu[0], 2), "aggregator_cores": round(cpu[1], 2), "latency_us": seen["latency_us"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", nargs="?", type=pathlib.Path, default=pathlib.Path("build/bench/bin"))
    parser.add_argument("--panels", type=int, default=4)
    parser.add_argument("--subjects", type=int, default=256)
    parser.add_argument("--rate-hz", type=float, default=100.0)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--model", type=pathlib.Path, default=pathlib.Path("models/modulation.safetensors"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="modulation_node.") as folder:
        result = measure(pathlib.Path(folder), options)
    print(json.dumps(result))
    sys.exit(1 if result["lost"] or result["incomplete_slots"] else 0)


if __name__ == "__main__":
    main()
