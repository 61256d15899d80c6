"""README.md and docs/**/*.md are true: links lead somewhere, command lines exist, blocks run as they are written.

usage: check_pages.py --root FOLDER --bin FOLDER static|run
Exit status: 0 all is well, 1 faults (one line each), 77 this machine gives the test no namespace.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

import commands
import links
import markdown
import namespace
import resources
import service
import session

SKIPPED = 77
COMMAND = re.compile(r"^(?:tributary(?:-node|-aggregator|-xclbin|-rom)?|\./demo\.sh|\./test\.sh|cmake)(?: |$)")
# Everything that cannot run here: a further block needs a line here too.
NOT_RUN = {
    ("docs/install.md", "needs a board"): 3,
    ("docs/boards.md", "the test suite runs it"): 1,
    ("docs/boards.md", "takes minutes to an hour"): 1,
    ("docs/install.md", "needs Debian packages"): 3,
    ("docs/running.md", "needs systemd as PID 1"): 2,
    ("docs/running.md", "needs a board"): 1,
    ("docs/running.md", "needs a container engine"): 1,
    ("docs/running.md", "needs an aggregator with an authority under the name hub, and systemd"): 1,
    ("docs/running.md", "needs an aggregator's store in /var/lib/tributary"): 2,
    ("docs/running.md", "needs the node's files in /var/lib/tributary"): 2,
    ("docs/boards.md", "takes ten minutes"): 1,
    ("docs/federated-runs.md", "takes minutes"): 1,
    ("docs/federated-runs.md", "needs a run whose nodes form clusters"): 1,
    ("docs/federated-runs.md", "needs a run of beacons"): 1,
    ("docs/security.md", "needs a TLS aggregator under the name hub"): 1,
    ("docs/delegate.md", "needs a model of yours"): 1,
    ("docs/graphs.md", "needs a model and images of yours"): 2,
    ("docs/ranges.md", "needs a node"): 1,
    ("docs/serial-line.md", "needs a serial line"): 1,
    ("docs/serial-line.md", "its name of a terminal is found by looking"): 1,
    ("fpga/syn/vivado/README.md", "needs Vivado and Vitis"): 3,
}


def block_text_fault(block):
    """JSON and TOML are what they say; shell is something that bash understands."""
    try:
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
            if "file" not in block.directives:
                return "a TOML block needs a directive that names its file, so that its program checks it"
        elif block.language == "sh":
            if not session.complete(block.text):
                return "bash does not understand it"
        elif COMMAND.match(block.text.lstrip()):
            return "commands stand in a block of the language sh"
    except ValueError as error:
        return str(error)
    return None


def command_fault(root, known, line):
    """What is wrong with a command line in the running text, where capitals stand for what the reader has."""
    if line.startswith("./demo.sh"):
        done = subprocess.run(["bash", "-c", f"{line} --help"], cwd=root, capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else done.stderr.splitlines()[0]
    if line.startswith("cmake"):
        presets = json.loads((root / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
        names = {preset["name"] for preset in presets} | {"NAME"}
        unknown = set(re.findall(r"--preset (\S+)", line)) - names
        return f"no preset is called {unknown}" if unknown else None
    return known.fault(line) if known.exists(line.split()[0]) else None


def static_faults(root, bin_folder):
    pages = markdown.read(root)
    faults = [fault for page in pages.values() for fault in page.faults] + links.faults(root, pages)
    known = commands.Commands(bin_folder)
    not_run = collections.Counter()
    for page in pages.values():
        for block in page.blocks:
            fault = block_text_fault(block)
            faults += [f"{block.place}: {fault}"] if fault else []
            if "not run" in block.directives:
                not_run[(page.name, block.directives["not run"])] += 1
        for span in page.spans:
            if COMMAND.match(span.text) and (fault := command_fault(root, known, span.text)):
                faults.append(f"{span.place}: `{span.text}`: {fault}")
    blocks = [block for page in pages.values() for block in page.blocks]
    builds = [(block.place, block.text) for block in blocks if "build_xclbin" in block.text]
    faults += resources.faults((root / "docs/fpga-resources.md").read_text(encoding="utf-8"), builds)
    for (page, reason), count in sorted(not_run.items()):
        print(f"not run: {count} of {page}: {reason}")
    if not_run != NOT_RUN:
        faults.append(f"what is not run has changed: {dict(not_run)}; check_pages.py lists it in NOT_RUN")
    return faults


def check_configuration(reader, name):
    """The program that a file is written for takes it."""
    if "aggregator" in name:
        return reader.run_command(f"tributary-aggregator --config {name} --check")
    if "run" in pathlib.Path(name).stem:
        return reader.run_command(f"tributary run start {name} --check")
    return reader.run_command(f"tributary-node --config {name} --check")


class Runner:
    """Runs the blocks of one page in their order, as one reader in one terminal."""

    def __init__(self, root, bin_folder, scratch):
        self.root, self.bin, self.scratch = root, bin_folder, scratch
        self.faults, self.ran, self.skipped = [], 0, []
        self.overlaid = False

    def run_page(self, page):
        folder = self.scratch / page.name.replace("/", "-")
        folder.mkdir()
        tree = session.make_tree(self.root, self.bin, folder)
        reader = session.Session(tree, self.bin, folder, "session")
        try:
            for block in page.blocks:
                self.run_block(reader, tree, block)
        finally:
            self.faults += [f"{page.name}: {fault}" for fault in reader.close()]

    def run_block(self, reader, tree, block):
        if "not run" in block.directives:
            return
        if reason := self.reason_to_skip(reader, block):
            self.skipped.append(f"{block.place}: {reason}")
            return
        for unit in filter(None, block.directives.get("setup", "").split(" ;; ")):
            self.attempt(block, f"(setup) {unit}", lambda unit=unit: reader.run(unit))
        if block.language == "toml":
            self.write(reader, tree, block)
        if block.language == "sh":
            self.run_shell(reader, block)

    def write(self, reader, tree, block):
        name = block.directives["file"]
        (tree / name).write_text(block.text)
        self.attempt(block, f"--check of {name}", lambda: check_configuration(reader, name))

    def reason_to_skip(self, reader, block):
        if "private root" in block.directives:
            if not namespace.may_change_system():
                return "changes /etc and /usr: only root can try that"
            if not self.overlaid:
                self.faults += reader.close()  # another machine, where nothing runs yet
                namespace.overlay(self.scratch, "/etc", "/usr")
                self.overlaid = True
        if "TRIBUTARY_DATA_DIR" in block.text and "TRIBUTARY_DATA_DIR" not in reader.environment:
            return "needs TRIBUTARY_DATA_DIR"
        if "tributary-xclbin" in block.text and not (self.bin / "tributary-xclbin").exists():
            return "needs a build with TRIBUTARY_RTL"
        return None

    def run_shell(self, reader, block):
        units = session.units(block.text)
        for unit in units:
            expect = block.directives.get("expect") if unit is units[-1] else None
            started = self.attempt(
                block, unit, lambda: reader.run_command(unit, expect) if expect else reader.run(unit))
            if not started:
                return  # later blocks use it
            for name in re.findall(r"/etc/systemd/system\S* deploy/systemd/(\S+)\.service", unit):
                reader.installed = [*getattr(reader, "installed", []), name]
        if "private root" in block.directives:
            for name in getattr(reader, "installed", []):
                self.attempt(block, f"{name}.service", lambda name=name: print(service.start(reader, name)))
            reader.installed = []

    def attempt(self, block, what, action):
        try:
            action()
            self.ran += 1
            return True
        except session.Fault as fault:
            self.faults.append(f"{block.place}: `{what.strip()}` {fault}")
            return False


def run_pages(root, bin_folder, only):
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="tributary-pages-"))
    scratch.chmod(0o755)
    namespace.prepare(scratch)
    runner = Runner(root, bin_folder, scratch)
    for page in markdown.read(root).values():
        if any(block.language in ("sh", "toml") for block in page.blocks) and re.search(only, page.name):
            runner.run_page(page)
    for line in runner.skipped:
        print(f"skipped: {line}")
    print(f"{runner.ran} command lines and files ran as written")
    if not runner.faults:
        shutil.rmtree(scratch, ignore_errors=True)
    return runner.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="run: pages whose name matches this expression")
    parser.add_argument("part", choices=["static", "run"])
    arguments = parser.parse_args()
    root, bin_folder = arguments.root.resolve(), arguments.bin.resolve()
    if arguments.part == "static":
        faults = static_faults(root, bin_folder)
    else:
        if reason := namespace.reason_against():
            print(f"skipped: this machine gives no network and mount namespace: {reason}")
            return SKIPPED
        namespace.enter()
        faults = run_pages(root, bin_folder, arguments.only)
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
