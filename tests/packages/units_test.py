"""The units of systemd: how much they leave open, and that a fault which may pass does not end a service for good.

usage: units_test.py FOLDER-OF-UNITS
Exit status: 0 all is well, 1 faults (one line each), 77 systemd-analyze is not installed.
"""

import configparser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# Exposure by `systemd-analyze security`, 0 to 10. A network of its own, and threads that may
# give way (setpriority), are all that the daemons keep.
MOST_OPEN = {"tributary-node": 1.2, "tributary-aggregator": 1.2, "tributary-node with a board": 1.6,
             "tributary-node with a serial line": 1.6}
# The Debian 12 version judges by these; another version may weigh otherwise.
VERSION = "systemd 252"


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)


def exposure(unit):
    said = analyze("security", "--offline=yes", "--no-pager", str(unit))
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said.stdout)
    return float(found.group(1)) if found else f"not told: {said.stderr.strip()}"


def with_drop_in(folder, scratch, kind):
    unit = scratch / kind / "tributary-node.service"
    drop_in = scratch / kind / "tributary-node.service.d"
    drop_in.mkdir(parents=True)
    shutil.copy(folder / "tributary-node.service", unit)
    shutil.copy(folder / f"tributary-node-{kind}.conf", drop_in / f"{kind}.conf")
    return unit


def exposure_faults(units):
    faults = []
    for name, unit in units.items():
        found = exposure(unit)
        print(f"{name}: exposure {found}")
        # Above is a fault; below is a bound that can no longer fail.
        if found != MOST_OPEN[name]:
            faults.append(f"{name}: exposure {found}, not {MOST_OPEN[name]}")
    return faults


def restart_faults(folder):
    faults = []
    for path in sorted(folder.glob("*.service")):
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        unit.read(path)
        if unit["Unit"].get("StartLimitIntervalSec") != "0":
            faults.append(f"{path.name}: five quick failures, as before the network is there, end the service for good")
        if "78" not in unit["Service"].get("RestartPreventExitStatus", "").split():
            faults.append(f"{path.name}: a faulty configuration is tried again and again")
    return faults


def main():
    folder = pathlib.Path(sys.argv[1])
    faults = restart_faults(folder)
    version = analyze("--version").stdout.splitlines()[:1] if shutil.which("systemd-analyze") else ["none"]
    judged = version[0].startswith(VERSION)
    if judged:
        with tempfile.TemporaryDirectory() as scratch:
            faults += exposure_faults({
                "tributary-node": folder / "tributary-node.service",
                "tributary-aggregator": folder / "tributary-aggregator.service",
                "tributary-node with a board": with_drop_in(folder, pathlib.Path(scratch), "board"),
                "tributary-node with a serial line": with_drop_in(folder, pathlib.Path(scratch), "serial"),
            })
    for fault in faults:
        print(f"fault: {fault}")
    if faults:
        return 1
    if not judged:
        print(f"skipped: needs {VERSION}, here is {version[0]}")
    return 0 if judged else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
