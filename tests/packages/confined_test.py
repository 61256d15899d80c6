"""The daemons work under what their units forbid: an aggregator and a node with four panels, up to fused positions.

usage: confined_test.py SOURCE BIN-FOLDER
Exit status: 0 all is well, 1 faults (one line each), 77 not here: needs root, systemd-analyze and python3-seccomp.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
USER = "nobody"


def confined(unit, *program):
    return ["unshare", "--mount", sys.executable, str(HERE / "confine.py"), str(unit), USER, *map(str, program)]


def holes(unit):
    """What the unit forbids must fail, or the confinement tests nothing."""
    forbidden = {
        "a namespace": [sys.executable, "-c", "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000) == 0)"],
        "a netlink socket": [sys.executable, "-c", "import socket, sys\ntry: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\n"
                            "except PermissionError: sys.exit(0)\nsys.exit(1)"],
        "writable code": [sys.executable, "-c", "import mmap, sys\ntry: mmap.mmap(-1, 4096, prot=7)\n"
                          "except PermissionError: sys.exit(0)\nsys.exit(1)"],
        "a change of the owner": [sys.executable, "-c", "import os, sys\ntry: os.chown('/proc/self', -1, -1)\n"
                                  "except PermissionError: sys.exit(0)\nsys.exit(1)"],
        "/proc/meminfo": [sys.executable, "-c", "import os, sys; sys.exit(os.path.exists('/proc/meminfo'))"],
    }
    return [f"{unit.name} does not forbid {name}" for name, program in forbidden.items()
            if subprocess.run(confined(unit, *program), check=False).returncode != 0]


def fused_positions(source, bin_folder, scratch):
    """How many slots with positions a watcher gets; both daemons' last lines."""
    units, examples = source / "deploy/systemd", source / "deploy/examples"
    node = (examples / "four-panels.toml").read_text().replace("../../models", str(source / "models"))
    (scratch / "node.toml").write_text(node)
    shutil.copy(examples / "aggregator.toml", scratch)
    logs = []
    with open(scratch / "log", "w+", encoding="utf-8") as log:
        daemons = [subprocess.Popen(confined(units / f"tributary-{name}.service", bin_folder / f"tributary-{name}",
                                             "--config", scratch / f"{name}.toml"), stderr=log)
                   for name in ("aggregator", "node")]
        watch = subprocess.run([bin_folder / "tributary", "watch", "lab", "--json", "--seconds", "5"],
                               capture_output=True, text=True, check=False)
        for daemon in reversed(daemons):
            daemon.terminate()
        ended = [daemon.wait(30) for daemon in daemons]
        log.seek(0)
        logs = log.read().splitlines()[-8:]
    slots = sum('"means":[' in line.replace(" ", "") for line in watch.stdout.splitlines())
    return slots, ended, logs


def main():
    source, bin_folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    missing = [name for name in ("systemd-analyze", "unshare", "ip") if not shutil.which(name)]
    try:
        import seccomp  # noqa: F401
    except ImportError:
        missing.append("python3-seccomp")
    if missing or os.geteuid() != 0:
        print(f"skipped: needs root and {', '.join(missing) or 'nothing else'}")
        return SKIPPED
    if "--inside" not in sys.argv:
        # A network of its own: the examples' ports may be taken on this machine.
        return subprocess.run(["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                               sys.executable, *sys.argv, "--inside"], check=False).returncode
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    faults = holes(source / "deploy/systemd/tributary-node.service") + holes(source / "deploy/systemd/tributary-aggregator.service")
    with tempfile.TemporaryDirectory(prefix="tributary-confined-") as name:
        scratch = pathlib.Path(name)
        scratch.chmod(0o755)
        slots, ended, logs = fused_positions(source, bin_folder, scratch)
    print(f"{slots} slots with positions")
    if slots == 0 or ended != [0, 0]:
        faults += [f"{slots} slots with positions; the daemons ended with {ended}", *logs]
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
