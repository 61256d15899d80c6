"""The released daemons as processes, for tests. TRIBUTARY_BIN_DIR says where they are."""

import os
import pathlib
import random
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

BIN = pathlib.Path(os.environ.get("TRIBUTARY_BIN_DIR", "build/release/bin")).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[3]
PATIENCE_S = 30
WALLS = ("south", "east", "north", "west")


def free_port():
    """None that the system gives to a connection of another test meanwhile."""
    for port in random.sample(range(12_000, 30_000), 100):
        try:
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", port))
                return port
        except OSError:
            continue
    raise RuntimeError("no free port")


def eventually(condition):
    """What the condition says at last; asks for some seconds until it is true."""
    end = time.monotonic() + PATIENCE_S
    while not (said := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return said


class Folder:
    """A folder, the daemons that were started from files in it, and their ports."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self._folder.name)
        self.port, self.http = free_port(), free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._processes = []

    def close(self):
        for process in self._processes:
            self.stop(process)
        self._folder.cleanup()

    def stop(self, process):
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def log(self, name):
        return (self.path / f"{name}.log").read_text()

    def start(self, program, name, config, *options):
        (self.path / f"{name}.toml").write_text(config)
        with open(self.path / f"{name}.log", "a") as log:
            process = subprocess.Popen([BIN / program, "--config", self.path / f"{name}.toml", *options], stderr=log, stdout=log)
        self._processes.append(process)
        return process

    def wait_until_served(self, process, name, port):
        """Whoever lacks a process would wait for it for ever."""
        if not eventually(lambda: process.poll() is not None or self.get("/healthz", port)) or process.poll() is not None:
            raise RuntimeError(self.log(name))
        return process

    def aggregator(self, sites, extra=""):
        """`sites`: tables [[site]]. Waits until it serves."""
        process = self.start("tributary-aggregator", "aggregator",
                             f'listen = "{self.address}"\n{extra}\n[http]\nlisten = "127.0.0.1:{self.http}"\n{sites}')
        return self.wait_until_served(process, "aggregator", self.http)

    def room_node(self, site, uplink="", *options):
        """A node with four simulated panels and two subjects, 50 slots a second. `uplink`: more keys of that table."""
        panels = "".join(f"""
[[panel]]
name = "{wall}"
workload = "positioning"
model = "{ROOT}/models/positioning.safetensors"
orientation_deg = {90 * i}.0
[panel.source]
kind = "room"
seed = 1
subjects = 2
snapshots = 50
rate_hz = 50.0
""" for i, wall in enumerate(WALLS))
        return self.start("tributary-node", "node",
                          f'node = "board"\nsite = "{site}"\n[uplink]\naggregator = "{self.address}"\n{uplink}'
                          f'[http]\nlisten = ""\n{panels}', *options)

    def metrics(self):
        """By name and labels, as they are printed."""
        lines = (line.rsplit(" ", 1) for line in self.get("/metrics").splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines}

    def get(self, target, port=None):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port or self.http}{target}", timeout=5) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, OSError):
            return ""
