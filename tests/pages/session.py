"""One reader at a terminal: runs the lines of a page's blocks one after the other, as they are written."""

import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import time

DAEMON = re.compile(r"^(?:\S*/)?(tributary-node|tributary-aggregator)\b(?!.*--(?:check|help|version)\b)")
# Commands that run until they are stopped, or for minutes: SIGINT after their first output.
ENDLESS = re.compile(r"\btributary (?:watch\b(?!.*--seconds)|run watch\b|train (?:positioning|self_supervised)\b)")
SCRIPT = re.compile(r"^\./(demo|test)\.sh\b(.*)$")
LIMIT_S = 120
READY_S = 30


class Fault(Exception):
    pass


def make_tree(root, bin_folder, scratch):
    """A tree that looks like the repository after a build and may be written to."""
    tree = scratch / "tree"
    tree.mkdir()
    for entry in root.iterdir():
        if entry.name in (".git", "build"):
            continue
        if entry.name == "deploy":
            shutil.copytree(entry, tree / "deploy")
        else:
            (tree / entry.name).symlink_to(entry)
    (tree / "build" / "release").mkdir(parents=True)
    for name in ("bin", "xrt", "fpga"):
        if (bin_folder.parent / name).exists():
            (tree / "build" / "release" / name).symlink_to(bin_folder.parent / name)
    return tree


def complete(text):
    """Whether bash would not ask for another line."""
    if text.endswith("\\\n"):
        return False
    done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "here-document" not in done.stderr


def units(text):
    """The commands of a block: lines, joined where one goes on."""
    found, unit = [], ""
    for line in text.splitlines(keepends=True):
        unit += line
        if complete(unit):
            if unit.strip() and not unit.strip().startswith("#"):
                found.append(unit.rstrip("\n"))
            unit = ""
    return found + ([unit] if unit.strip() else [])


class Session:
    def __init__(self, tree, bin_folder, scratch, name):
        self.tree, self.bin = tree, bin_folder
        self.folder = scratch / name
        self.folder.mkdir()
        self.daemons = []  # (line, process, log)
        self.started = 0
        home = self.folder / "home"
        home.mkdir()
        kept = {key: os.environ[key] for key in ("TRIBUTARY_DATA_DIR", "XILINX_XRT") if key in os.environ}
        self.environment = {
            "PATH": f"{bin_folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home), "LANG": "C.UTF-8", "SHELL": "/bin/bash", "TMPDIR": str(self.folder), **kept,
        }
        (self.folder / "environment").write_text(f"cd {shlex.quote(str(tree))}\n")

    def script(self, unit):
        """Exports and the folder go on from line to line, as in a terminal.

        The shell gets the SIGINT of an endless command too, perhaps while it writes them down: it then finishes that.
        """
        state = shlex.quote(str(self.folder / "environment"))
        return (
            f"set -o pipefail\n. {state}\n{unit}\nstatus=$?\ntrap '' INT\n"
            f'{{ export -p; printf "cd %q\\n" "$PWD"; }} >{state}.next && mv {state}.next {state}\nexit $status\n'
        )

    def start(self, script, log, **more):
        return subprocess.Popen(
            ["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            start_new_session=True, env={**self.environment, **more.pop("environment", {})}, **more,
        )

    def run(self, unit):
        """Runs one command and gives its output; Fault says what is wrong with it."""
        script = SCRIPT.match(unit.split("#")[0].strip())
        background = unit.rstrip().endswith("&") and not unit.rstrip().endswith("&&")
        if script:
            return self.check_script(script[1], script[2])
        if DAEMON.match(unit.strip()):
            return self.start_daemon(unit.rstrip().rstrip("&") if background else unit, wait=not background)
        return self.run_command(unit)

    def check_script(self, name, arguments):
        """The whole demo and the whole test take minutes and are run elsewhere: here, their options exist."""
        words = shlex.split(arguments)
        if name == "test":
            return self.run_command("./test.sh --help") if not words else self.list_tests(words)
        return self.run_command(shlex.join(["./demo.sh", *words, "--help"]))

    def list_tests(self, words):
        """What ctest would run with these arguments: something."""
        output = self.run_command(shlex.join(["ctest", "--test-dir", str(self.bin.parent), "-N", *words]))
        if not re.search(r"Total Tests: [1-9]", output):
            raise Fault(f"selects no test: {output}")
        return output

    def start_daemon(self, line, wait):
        path = self.folder / f"daemon{self.started}"
        self.started += 1
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, open(path, "wb") as log:
            ready.bind(str(path) + ".notify")
            os.chmod(str(path) + ".notify", 0o777)
            process = self.start(
                f". {shlex.quote(str(self.folder / 'environment'))}\nexec {line}", log,
                environment={"NOTIFY_SOCKET": str(path) + ".notify"},
            )
            self.daemons.append((line, process, path))
            if not wait:
                return ""
            ready.settimeout(0.1)
            end = time.monotonic() + READY_S
            while time.monotonic() < end:
                if process.poll() is not None:
                    raise Fault(f"ended with {process.returncode}: {self.tail(path)}")
                try:
                    if b"READY=1" in ready.recv(4096):
                        return path.read_text(errors="replace")
                except socket.timeout:
                    pass
        raise Fault(f"is not ready after {READY_S} s: {self.tail(path)}")

    def run_command(self, unit, expect=None):
        path = self.folder / "output"
        endless = ENDLESS.search(unit)
        with open(path, "wb") as log:
            process = self.start(self.script(unit), log)
        interrupted = self.wait(process, path, expect) if endless else self.wait(process, path, None, end_it=False)
        output = path.read_text(errors="replace")
        fine = (0, 130, -signal.SIGINT) if interrupted else (0,)
        if process.returncode not in fine:
            raise Fault(f"ended with {process.returncode}: {self.tail(path)}")
        if expect and not re.search(expect, output):
            raise Fault(f"its output has no {expect!r}: {self.tail(path)}")
        return output

    def wait(self, process, path, expect, end_it=True):
        """Waits for the end, or (end_it) interrupts it at its first output, or at the first that matches."""
        end = time.monotonic() + LIMIT_S
        handle = os.pidfd_open(process.pid)
        try:
            while time.monotonic() < end:
                if select.select([handle], [], [], 0.05)[0]:
                    process.wait()
                    return False
                text = path.read_text(errors="replace") if end_it else ""
                if text and (not expect or re.search(expect, text)):
                    return self.interrupt(process, path)
        finally:
            os.close(handle)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise Fault(f"has neither ended nor said what it should within {LIMIT_S} s: {self.tail(path)}")

    def interrupt(self, process, path):
        # A shell without a terminal starts its children with SIGINT as it is; the group gets it as from Ctrl-C.
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Fault(f"goes on for 20 s after SIGINT: {self.tail(path)}") from None
        return True

    @staticmethod
    def tail(path):
        text = path.read_text(errors="replace").strip().splitlines()
        return "\n    ".join(text[-6:]) or "it said nothing"

    def close(self):
        """Ends the daemons as an operator would; gives the faults of those that did not end well."""
        faults = []
        for line, process, _ in self.daemons:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            elif process.returncode != 0:
                faults.append(f"`{line.strip()}` ended with {process.returncode} before the page did")
        for line, process, path in self.daemons:
            try:
                status = process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                status = process.wait()
            if status != 0 and not any(line.strip() in fault for fault in faults):
                faults.append(f"`{line.strip()}` ended with {status} at SIGTERM: {self.tail(path)}")
        self.daemons = []
        return faults
