"""Alerts fire in a real Prometheus while real daemons have real faults, and clear once these are mended.

usage: live_test.py --root FOLDER --bin FOLDER
Takes two to three minutes. The rules are those of deploy/prometheus with all their times shortened by SHORTER, so that
a scrape a second stands for one in half a minute.
Exit status: 0 all is well, 1 an alert did not fire or clear, 77 prometheus, promtool or python3-yaml is missing.
"""

import argparse
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

try:
    import yaml
except ImportError:
    print("skipped: Debian's package python3-yaml is not installed")
    sys.exit(77)

from daemons import Daemon, Program, SlowLink, SmallDisk, World, free_port, http_text, wait_for

SHORTER = 30
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
PATIENCE_S = 180


def shortened(duration):
    return f"{max(1, round(int(duration[:-1]) * SECONDS[duration[-1]] / SHORTER))}s"


def shorten_rules(source, target):
    """Copies a file of rules; windows and `for` become shorter, thresholds stay."""
    content = yaml.safe_load(source.read_text(encoding="utf-8"))
    for group in content["groups"]:
        for rule in group["rules"]:
            rule["expr"] = re.sub(r"\[(\d+[smhd])\]", lambda found: f"[{shortened(found[1])}]", rule["expr"])
            if "for" in rule:
                rule["for"] = shortened(rule["for"])
    target.write_text(yaml.safe_dump(content), encoding="utf-8")


class Prometheus(Program):
    def __init__(self, world):
        folder = world.scratch / "prometheus"
        (folder / "alerts").mkdir(parents=True)
        rules = world.root / "deploy/prometheus"
        shorten_rules(rules / "recording.yml", folder / "recording.yml")
        for path in sorted(rules.glob("alerts/*.yml")):
            shorten_rules(path, folder / "alerts" / path.name)
        config = yaml.safe_load((rules / "prometheus.yml").read_text(encoding="utf-8"))
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        for job in config["scrape_configs"]:
            kind = job["job_name"].removeprefix("tributary-")
            job["static_configs"] = [{"targets": [daemon.instance for daemon in world.daemons(kind)]}]
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        self.port = free_port()
        super().__init__(world.scratch, "prometheus-server",
                         ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                          f"--web.listen-address=127.0.0.1:{self.port}"])
        world.add(self)

    def get(self, path):
        text = http_text(self.port, path)
        return json.loads(text)["data"] if text else {}

    def firing(self):
        return [alert for alert in self.get("/api/v1/alerts").get("alerts", []) if alert["state"] == "firing"]

    def unhealthy_rules(self):
        groups = self.get("/api/v1/rules").get("groups", [])
        return [f"{rule['name']}: {rule.get('lastError')}" for group in groups for rule in group["rules"] if rule["health"] == "err"]


def site(name, leaves, extra=""):
    listed = ", ".join(f'"{leaf}"' for leaf in leaves)
    return f'[[site]]\nname = "{name}"\nsources = [{listed}]\nslot_ms = 20.0\ndeadline_ms = 50.0\nmax_age_s = 2.0\n{extra}'


def aggregator(world, name, tables, port, top="", launcher=()):
    return Daemon(world, "aggregator", name, f'listen = "127.0.0.1:{port}"\n{top}{tables}', launcher)


def panel_node(world, name, site_name, port, wall="south", moved_m=0.0, spool=16384, tls=""):
    turns = {"south": 0, "east": 90, "north": 180, "west": 270}
    settings = f'''node = "{name}"
site = "{site_name}"
slot_ms = 20.0
{tls}
[uplink]
aggregator = "127.0.0.1:{port}"
spool_frames = {spool}
[[panel]]
name = "{name}"
model = "{world.root}/models/positioning.safetensors"
orientation_deg = {turns[wall]}.0
x_m = {moved_m}
[panel.source]
kind = "room"
wall = "{wall}"
subjects = 4
snapshots = 100
rate_hz = 50.0'''
    return settings, lambda: Daemon(world, "node", name, settings)


def learner(world, name, port):
    return Daemon(world, "node", name, f'node = "{name}"\n[federation]\naggregator = "127.0.0.1:{port}"\nimages = "glyphs"\nglyphs = 120')


class Case:
    """A fault, its mending, and the alerts that it raises: name and labels."""

    raises = []

    def prepare(self, world):
        raise NotImplementedError

    def break_it(self):
        raise NotImplementedError

    def mend(self):
        raise NotImplementedError


class Panels(Case):
    """A site with four panels: one dies, one was moved, one has a slow link."""

    raises = [("TributarySourceMissing", {"leaf": "north"}), ("TributaryDaemonDown", {"job": "tributary-node"}),
              ("TributarySourceInconsistent", {"source": "east"}), ("TributaryFramesLate", {"site": "lab"}),
              ("TributarySlotsIncomplete", {"site": "lab"})]

    def prepare(self, world):
        port = free_port()
        aggregator(world, "lab", site("lab", ["south", "east", "north", "west"]), port)
        self.link = SlowLink(port)
        world.add(self.link)
        panel_node(world, "south", "lab", port)[1]()
        self.in_place, start = panel_node(world, "east", "lab", port, "east")
        self.moved = panel_node(world, "east", "lab", port, "east", moved_m=0.4)[0]
        self.east = start()
        self.north = panel_node(world, "north", "lab", port, "north")[1]()
        panel_node(world, "west", "lab", self.link.port, "west")[1]()

    def break_it(self):
        self.north.kill()
        self.east.kill()
        self.east.write(self.moved)
        self.east.start()
        self.link.delay_s = 0.2

    def mend(self):
        self.link.delay_s = 0.0
        self.north.start()
        self.east.kill()
        self.east.write(self.in_place)
        self.east.start()


class AwayAggregator(Case):
    """The aggregator of a site goes away; the spool of its node fills and overflows."""

    raises = [("TributaryDaemonDown", {"job": "tributary-aggregator"}), ("TributaryUplinkDown", {}), ("TributarySpoolFills", {}),
              ("TributaryDataLost", {"place": "spool"})]

    def prepare(self, world):
        port = free_port()
        self.aggregator = aggregator(world, "yard", site("yard", ["pole"]), port)
        panel_node(world, "pole", "yard", port, spool=100)[1]()

    def break_it(self):
        self.aggregator.kill()

    def mend(self):
        self.aggregator.start()


class Datagrams(Case):
    """Somebody sends junk to a panel's port."""

    raises = [("TributaryDataLost", {"place": "datagram"})]

    def prepare(self, world):
        self.port = free_port()
        port = free_port()
        aggregator(world, "hall", site("hall", ["front"]), port)
        Daemon(world, "node", "front",
               f'node = "front"\nsite = "hall"\nslot_ms = 20.0\n[uplink]\naggregator = "127.0.0.1:{port}"\n[[panel]]\nname = "front"\n'
               f'model = "{world.root}/models/positioning.safetensors"\n[panel.source]\nkind = "udp"\nport = {self.port}')

    def break_it(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"junk", ("127.0.0.1", self.port))

    def mend(self):
        pass  # the window passes


class FailedRound(Case):
    """One of two nodes halts in a run that needs both."""

    raises = [("TributaryRoundFailed", {"run": "pair"})]

    def prepare(self, world):
        port = free_port()
        daemon = aggregator(world, "pair", f'[federation]\nstore = "{world.scratch}/pair-store"', port)
        learner(world, "first", port)
        self.second = learner(world, "second", port)
        wait_for("the aggregator of the run", daemon.ready)
        run = world.scratch / "pair-run.toml"
        run.write_text('name = "pair"\nrounds = 100000\ndeadline_s = 3\n[client]\nlocal_steps = 1\nbatch = 4\n', encoding="utf-8")
        world.tributary("run", "start", run, "--aggregator", f"127.0.0.1:{port}")

    def break_it(self):
        self.second.halt()

    def mend(self):
        self.second.go_on()


def lonely_run(world, name, port):
    """A run that one node trains."""
    path = world.scratch / f"{name}-run.toml"
    path.write_text(f'name = "{name}"\nrounds = 100000\nmin_nodes = 1\nquorum = 1\ndeadline_s = 3\n[client]\nlocal_steps = 1\nbatch = 4\n',
                    encoding="utf-8")
    world.tributary("run", "start", path, "--aggregator", f"127.0.0.1:{port}")


class FullDisk(Case):
    """The disk of a run's store fills: updates wait at their nodes."""

    raises = [("TributaryUpdatesLost", {"place": "update", "reason": "store"}), ("TributaryStoreDiskFull", {})]

    def prepare(self, world):
        port = free_port()
        self.disk = SmallDisk(world, world.scratch / "small", "32m")
        daemon = aggregator(world, "small-disk", f'[federation]\nstore = "{self.disk.folder}"\nkeep_models = 2', port, launcher=self.disk.launcher)
        learner(world, "third", port)
        wait_for("the aggregator on the small disk", daemon.ready)
        lonely_run(world, "alone", port)

    def break_it(self):
        self.disk.fill()

    def mend(self):
        self.disk.free()


class DamagedStore(Case):
    """Somebody moves the folder of the models away: rounds cannot be committed."""

    raises = [("TributaryStoreUnhealthy", {}), ("TributaryRunFailed", {"run": "astray"})]

    def prepare(self, world):
        self.world, self.port = world, free_port()
        self.models = world.scratch / "astray-store/models"
        daemon = aggregator(world, "astray", f'[federation]\nstore = "{self.models.parent}"\nkeep_models = 2', self.port)
        learner(world, "fourth", self.port)
        wait_for("the aggregator with the store", daemon.ready)
        lonely_run(world, "astray", self.port)

    def break_it(self):
        self.models.rename(f"{self.models}.away")
        self.models.touch()

    def mend(self):
        self.models.unlink()
        pathlib.Path(f"{self.models}.away").rename(self.models)
        self.world.tributary("run", "resume", "astray", "--aggregator", f"127.0.0.1:{self.port}")


def openssl(*arguments):
    subprocess.run(["openssl", "x509", "-copy_extensions", "copyall", *map(str, arguments)], check=True, capture_output=True)


class Certificates(Case):
    """The aggregator's certificate is about to expire, and a board was stolen."""

    raises = [("TributaryCertificateExpires", {"use": "server"}), ("TributaryRevokedCertificateUsed", {})]

    def prepare(self, world):
        self.world, self.folder, port = world, world.scratch / "certs", free_port()
        world.tributary("certs", "--out", self.folder, "--server", "gate", "--name", "door")
        world.tributary("certs", "revoke", "--out", self.folder)
        aggregator(world, "gate", self.table("gate") + f'crl = "{self.folder}/crl.pem"\n' + site("gate", ["door"]), port)
        panel_node(world, "door", "gate", port, tls=self.table("door"))[1]()

    def table(self, name):
        return f'[tls]\ncertificate = "{self.folder}/{name}.pem"\nkey = "{self.folder}/{name}.key"\nca = "{self.folder}/ca.pem"\n'

    def break_it(self):
        self.world.tributary("certs", "revoke", "door", "--out", self.folder)
        # The same certificate, signed again for ten days.
        path, request = self.folder / "gate.pem", self.folder / "gate.csr"
        openssl("-x509toreq", "-in", path, "-signkey", self.folder / "gate.key", "-out", request)
        openssl("-req", "-in", request, "-CA", self.folder / "ca.pem", "-CAkey", self.folder / "ca.key", "-set_serial", "77", "-days", "10",
                "-out", f"{path}.new")
        pathlib.Path(f"{path}.new").replace(path)

    def mend(self):
        (self.folder / "gate.pem").unlink()
        self.world.tributary("certs", "--out", self.folder, "--server", "gate", "--name", "door")


def matches(alert, name, labels):
    return alert["labels"]["alertname"] == name and all(alert["labels"].get(key) == value for key, value in labels.items())


def named(wanted, alerts):
    """Those of the wanted alerts that are among `alerts`."""
    return {f"{name}{labels or ''}" for name, labels in wanted if any(matches(alert, name, labels) for alert in alerts)}


def wait_until_none(what, missing):
    end = time.monotonic() + PATIENCE_S
    while left := missing():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} within {PATIENCE_S} s: {', '.join(left)}")
        time.sleep(0.5)


def run(world, cases):
    for case in cases:
        case.prepare(world)
    for daemon in world.daemons("aggregator") + world.daemons("node"):
        wait_for(daemon.name, daemon.ready)
    prometheus = Prometheus(world)
    wait_for("Prometheus", lambda: prometheus.get("/api/v1/targets?state=active").get("activeTargets"))
    wanted = [each for case in cases for each in case.raises]
    # Starting is a fault, too: sources that have not come yet.
    time.sleep(12)
    wait_until_none("these alerts did not keep silent", lambda: named(wanted, prometheus.firing()))
    print(f"{len(wanted)} alerts are silent", flush=True)
    began = time.monotonic()
    for case in cases:
        case.break_it()
    # Some faults last for a moment: each alert must have fired once.
    seen, unexpanded, every = set(), set(), named(wanted, [{"labels": {"alertname": name, **labels}} for name, labels in wanted])

    def missing():
        firing = prometheus.firing()
        seen.update(named(wanted, firing))
        unexpanded.update(alert["labels"]["alertname"] for alert in firing for text in alert["annotations"].values() if "<error" in text)
        return sorted(every - seen)

    wait_until_none("these alerts did not fire", missing)
    print(f"all have fired {time.monotonic() - began:.0f} s after the faults", flush=True)
    began = time.monotonic()
    for case in cases:
        case.mend()
    wait_until_none("these alerts did not clear", lambda: named(wanted, prometheus.firing()))
    print(f"all are silent again {time.monotonic() - began:.0f} s after the mending", flush=True)
    return [f"{name}: its annotations have an error" for name in sorted(unexpanded)] + prometheus.unhealthy_rules()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("cases", nargs="*", help="names of cases; all by default")
    arguments = parser.parse_args()
    if not shutil.which("prometheus"):
        print("skipped: Debian's package prometheus is not installed")
        return 77
    cases = [case() for case in Case.__subclasses__() if not arguments.cases or case.__name__ in arguments.cases]
    with tempfile.TemporaryDirectory() as scratch:
        world = World(arguments.root.resolve(), arguments.bin.resolve(), pathlib.Path(scratch))
        try:
            faults = run(world, cases)
        except (TimeoutError, RuntimeError, OSError, subprocess.SubprocessError) as error:
            faults = [str(error)]
            for program in world.programs:
                if isinstance(program, Daemon):
                    faults.append(f"{program.name} ({program.instance}): ...{program.log.read_text(errors='replace')[-600:]}")
        finally:
            world.stop()
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
