"""Starts what a unit file starts, as the user that it names, where there is no systemd."""

import configparser
import os
import pathlib
import shlex
import shutil
import subprocess

from session import Fault

UNITS = pathlib.Path("/etc/systemd/system")


def read(name):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    path = UNITS / f"{name}.service"
    if not unit.read(path):
        raise Fault(f"{path} does not exist")
    return unit["Service"]


def verify(name):
    """What systemd itself says against the unit; nothing where systemd-analyze is not installed."""
    if not shutil.which("systemd-analyze"):
        return "systemd-analyze is not installed"
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(UNITS / f"{name}.service")],
        capture_output=True, text=True, check=False,
    )
    ours = [line for line in (done.stdout + done.stderr).splitlines() if name in line]
    if ours:
        raise Fault("systemd-analyze verify: " + "; ".join(ours))
    return "systemd-analyze verify finds nothing"


def start(session, name):
    """Runs ExecStart until it is ready and leaves it running."""
    service = read(name)
    user = service["User"]
    groups = [user, *service.get("SupplementaryGroups", "").split()]
    state = pathlib.Path("/var/lib") / service["StateDirectory"]
    state.mkdir(exist_ok=True)
    shutil.chown(state, user, user)
    said = verify(name)
    program = shlex.split(service["ExecStart"])
    session.start_daemon(
        shlex.join(["setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={','.join(groups)}",
                    "--no-new-privs", "--inh-caps=-all", *program]),
        wait=True,
    )
    os.stat(program[0])
    return f"{' '.join(program)} is ready as {user}; {said}"
