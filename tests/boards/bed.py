"""A bed of boards: an aggregator on the hub, a node on each board, and a link that can be impaired between them."""

import contextlib
import json
import pathlib
import subprocess
import sys

from exposition import Metrics
from links import Star, hub_address

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "alerts"))
from daemons import Program, http_text, wait_for  # noqa: E402 (its folder must be known first)

INGEST_PORT = 7400
HTTP_PORT = {"aggregator": 7480, "node": 7481}
WALLS = {"south": 0, "east": 90, "north": 180, "west": 270}
PATIENCE_S = 60
SEED = 1  # of the rooms; nodes with the same seed see the same users


class Remote(Program):
    """A program on one of the machines."""

    def __init__(self, bed, namespace, name, command):
        self.namespace = namespace
        super().__init__(bed.scratch, name, command)
        bed.programs.append(self)

    def start(self):
        with self.namespace.entered():
            super().start()

    def finish(self):
        """Waits for its own end; its standard output and error are in `log`."""
        if self.process.wait(PATIENCE_S) != 0:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}: {self.log.read_text()[-800:]}")


class Daemon(Remote):
    """tributary-aggregator or tributary-node."""

    def __init__(self, bed, namespace, kind, name, settings, environment=()):
        self.kind, self.summary_file = kind, bed.scratch / f"{name}.summary"
        config = bed.scratch / f"{name}.toml"
        config.write_text(settings, encoding="utf-8")
        command = ["env", *environment, bed.bin / f"tributary-{kind}", "--config", config]
        super().__init__(bed, namespace, name, command + (["--summary", self.summary_file] if kind == "node" else []))

    def get(self, path):
        with self.namespace.entered():
            return http_text(HTTP_PORT[self.kind], path)

    def metrics(self):
        return Metrics(self.get("/metrics"))

    def ended(self):
        """Stops it in good order; a node's summary."""
        self.process.terminate()
        if self.process.wait(PATIENCE_S) != 0:
            raise RuntimeError(f"{self.name} ended with {self.process.returncode}: {self.log.read_text()[-800:]}")
        return json.loads(self.summary_file.read_text()) if self.kind == "node" else {}


class Bed:
    """The machines of one scenario and everything that runs on them. All ends with it."""

    def __init__(self, root, binaries, scratch, boards, links=None):
        self.root, self.bin, self.scratch, self.programs = root, binaries, scratch, []
        self.star = Star(boards, links=links)

    def aggregator(self, settings):
        self.hub = Daemon(self, self.star.hub, "aggregator", "aggregator", f'listen = "0.0.0.0:{INGEST_PORT}"\ninsecure = true\n{settings}')
        wait_for("the aggregator", lambda: bool(self.hub.metrics()))
        return self.hub

    def node(self, board, name, settings, site=None, uplink="", environment=()):
        """`uplink`: further keys of that table. A node without a site only learns."""
        top = f'node = "{name}"\n{site.node_keys if site else ""}'
        link = f'[uplink]\naggregator = "{hub_address(board)}:{INGEST_PORT}"\ninsecure = true\ndrain_s = 30.0\n{uplink}\n'
        return Daemon(self, self.star.boards[board], "node", name, top + link + settings, environment)

    def panel_node(self, board, site, **options):
        """A node with one panel, on the wall of the board's number."""
        wall = list(WALLS)[board]
        return self.node(board, wall, panel(self.root, wall), site, **options)

    def tributary(self, name, *words):
        """Starts a command on the hub."""
        return Remote(self, self.star.hub, name, [self.bin / "tributary", *words, "--aggregator", f"127.0.0.1:{INGEST_PORT}"])

    def watch(self, site, seconds, name="watch"):
        """Starts a reader; watched() has what it saw."""
        return self.tributary(name, "watch", "--site", site, "--seconds", f"{seconds:g}", "--summary", self.scratch / f"{name}.json")

    def watched(self, watch):
        watch.finish()
        return json.loads((self.scratch / f"{watch.name}.json").read_text())

    def wait_for_sources(self, sources):
        wait_for("all sources", lambda: self.hub.metrics().total("tributary_sources_present") == len(sources), PATIENCE_S)

    def logs(self):
        return [f"{program.name}: ...{program.log.read_text(errors='replace')[-600:]}" for program in self.programs]

    @contextlib.contextmanager
    def closing(self, outcome):
        """Ends everything; an error becomes a fault of the outcome, with the last lines of the logs."""
        try:
            yield self
        except (OSError, RuntimeError, TimeoutError, KeyError, subprocess.SubprocessError) as error:
            outcome.faults += [f"{type(error).__name__}: {error}", *self.logs()]
        finally:
            for program in reversed(self.programs):
                program.stop()
            self.star.stop()


class Site:
    """A site and what its nodes must say alike."""

    def __init__(self, name, sources, slot_ms=10.0, deadline_ms=250.0, late="count", max_age_s=60.0, further=""):
        self.name, self.sources, self.late = name, list(sources), late
        self.node_keys = f'site = "{name}"\nslot_ms = {slot_ms}\n'
        self.table = (f'[[site]]\nname = "{name}"\nsources = {json.dumps(self.sources)}\nslot_ms = {slot_ms}\ndeadline_ms = {deadline_ms}\n'
                      f'max_age_s = {max_age_s}\nlate = "{late}"\n{further}')


def panel(root, wall, name="", subjects=8, rate_hz=100.0, keys=""):
    return f'''[[panel]]
name = "{name or wall}"
model = "{root}/models/positioning.safetensors"
orientation_deg = {WALLS[wall]}.0
{keys}
[panel.source]
kind = "room"
seed = {SEED}
wall = "{wall}"
subjects = {subjects}
snapshots = 200
rate_hz = {rate_hz}
'''
