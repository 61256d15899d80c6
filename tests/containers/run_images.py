"""Makes the images of docker/Dockerfile without a container engine, in chroots, and runs them as compose.yaml does.

usage: run_images.py --root FOLDER --packages FOLDER
FOLDER has the packages of deploy/package.sh; their stage is not run. Needs root, debootstrap and Debian's archive.
RUN lines run as written. Each image then runs as its USER with a read-only root and no capabilities: aggregator and one
node together until a position is fused and both health checks pass; then the demo. They have a network of their own.
Not tested here: the engine itself, layers, the registry's base image (debootstrap makes one), Grafana.
Exit status: 0 all is well, 1 a fault, 77 root or debootstrap is missing.
"""

import argparse
import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dockerfile

SKIPPED = 77


class Fault(Exception):
    """What does not hold, for the operator."""


def check(command, what):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Fault(f"{what}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


class Image:
    """A root file system that the stages of an image were applied to."""

    def __init__(self, folder, stages, base):
        self.folder, self.stages = folder, stages
        check(["cp", "-a", base, folder], "copy of the base")
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"} | dockerfile.environment(stages)
        self.workdir = "/"

    def build(self, root, packages):
        (self.folder / "packages").mkdir()
        for archive in packages.glob("*.deb"):
            shutil.copy(archive, self.folder / "packages")
        for stage in self.stages:
            for each in stage.instructions:
                if each.name == "RUN":
                    check(self.chroot(["/bin/sh", "-c", each.flags[1]]), f"line {each.line}")
                elif each.name == "WORKDIR":
                    self.workdir = each.text
                    (self.folder / each.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
                elif each.name == "COPY":
                    *sources, target = each.text.split()
                    for source in sources:
                        place = self.folder / self.workdir.lstrip("/") / target
                        place.parent.mkdir(parents=True, exist_ok=True)
                        check(["cp", "-r", root / source, place], f"line {each.line}")
        shutil.rmtree(self.folder / "packages")

    def last(self, name):
        return next((stage.last(name) for stage in reversed(self.stages) if stage.last(name)), None)

    def chroot(self, words, user=""):
        variables = [f"{key}={value}" for key, value in self.environment.items()]
        return ["chroot", *([f"--userspec={user}"] if user else []), str(self.folder), "env", "-C", self.workdir, "-i", *variables, *words]

    def as_user(self, words):
        return self.chroot(["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", *words], self.last("USER").text)

    def close_root(self):
        """Read-only but for the volumes and /tmp, as `read_only: true` makes it."""
        check(["mount", "--bind", self.folder, self.folder], "bind")
        check(["mount", "-o", "remount,ro,bind", self.folder], "read-only root")
        check(["mount", "-t", "proc", "proc", self.folder / "proc"], "proc")
        for place in ("tmp", "var/lib/tributary"):
            check(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", self.folder / place], place)


@contextlib.contextmanager
def running(image, log):
    """The image's program, until the block ends; it must end well by its STOPSIGNAL."""
    words = image.last("ENTRYPOINT").words + image.last("CMD").words
    with log.open("wb") as output:
        process = subprocess.Popen(image.as_user(words), stdout=output, stderr=output)
    try:
        yield process
    except Fault as fault:
        process.kill()
        raise Fault(f"{fault}\n{log.read_text(errors='replace')[-1500:]}") from None
    process.send_signal(signal.SIGTERM)
    if process.wait(15) != 0:
        raise Fault(f"{words[0]} ended with {process.returncode}: {log.read_text(errors='replace')[-1500:]}")


def healthy(image):
    command = image.as_user(image.last("HEALTHCHECK").words)
    for _ in range(50):
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.2)
    raise Fault(f"not healthy within 10 s: {shlex.join(image.last('HEALTHCHECK').words)}")


def run_site(aggregator, node, scratch):
    with running(aggregator, scratch / "aggregator.log"):
        healthy(aggregator)
        with running(node, scratch / "node.log"):
            healthy(node)
            watch = aggregator.as_user(["timeout", "10", "tributary", "watch", "lab", "--json", "--seconds", "3"])
            slots = check(watch, "tributary watch")
            if '"means"' not in slots:
                raise Fault(f"no position was fused: {slots[:500]}")
    print(f"aggregator and node: healthy, {len(slots.splitlines())} slots in 3 s, ended by SIGTERM", flush=True)


def run_demo(demo):
    words = demo.last("ENTRYPOINT").words + ["5"]
    said = check(demo.as_user(words), "demo")
    if "tuples lost" not in said:
        raise Fault(f"the demo says no result: {said[-1500:]}")
    print(next(line for line in said.splitlines() if "tuples lost" in line), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: needs root and debootstrap")
        return SKIPPED
    if not list(arguments.packages.glob("tributary-node_*.deb")):
        print(f"skipped: no packages in {arguments.packages}; make them with deploy/package.sh")
        return SKIPPED
    if "TRIBUTARY_UNSHARED" not in os.environ:  # mounts of its own, gone with this process
        command = ["unshare", "--mount", sys.executable, *sys.argv]
        return subprocess.run(command, env={**os.environ, "TRIBUTARY_UNSHARED": "1"}, check=False).returncode
    stages = dockerfile.read((arguments.root / "docker/Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        scratch = pathlib.Path(folder)
        scratch.chmod(0o755)
        try:
            make_and_run(arguments, stages, scratch)
        except Fault as fault:
            print(fault)
            return 1
        finally:
            for mount in reversed([line.split()[1] for line in pathlib.Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]):
                if mount.startswith(f"{scratch}/"):
                    subprocess.run(["umount", mount], check=False)
    return 0


def make_and_run(arguments, stages, scratch):
    base = scratch / "base"
    check(["debootstrap", "--variant=minbase", "bookworm", base], "debootstrap")
    shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
    images = {}
    for name in ("aggregator", "node", "demo"):
        images[name] = Image(scratch / name, dockerfile.chain(stages, name), base)
        images[name].build(arguments.root, arguments.packages)
        (images[name].folder / "etc/tributary").mkdir(exist_ok=True)
        (images[name].folder / "etc/hosts").write_text("127.0.0.1 localhost aggregator\n", encoding="utf-8")
        print(f"image {name}: {int(check(['du', '-sm', images[name].folder], 'du').split()[0])} MB", flush=True)
    shutil.copy(arguments.root / "docker/aggregator.toml", images["aggregator"].folder / "etc/tributary/aggregator.toml")
    shutil.copy(arguments.root / "docker/node-south.toml", images["node"].folder / "etc/tributary/node.toml")
    os.unshare(os.CLONE_NEWNET) if hasattr(os, "unshare") else unshare_network()
    check(["ip", "link", "set", "lo", "up"], "loopback")
    for image in images.values():
        image.close_root()
    run_site(images["aggregator"], images["node"], scratch)
    run_demo(images["demo"])


def unshare_network():
    """os.unshare came with Python 3.12; Debian 12 has 3.11."""
    import ctypes  # only here

    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) != 0:
        raise Fault(os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    sys.exit(main())
