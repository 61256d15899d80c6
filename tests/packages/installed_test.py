"""What `cmake --install` installs: programs, manual, completions, units and configurations that belong together.

usage: installed_test.py SOURCE BUILD
Exit status: 0 all is well, 1 faults (one line each), 77 the build has no tributary_installed yet.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "pages"))
import commands  # noqa: E402 (its folder must be known first)

SKIPPED = 77
COMPONENTS = ("tributary", "tributary-node", "tributary-aggregator", "tributary-models", "tributary-doc",
              "libtributary-delegate0", "libtributary-delegate-dev")


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def install(build, usr):
    for component in COMPONENTS:
        done = run("cmake", "--install", build, "--prefix", usr, "--component", component)
        if done.returncode != 0:
            sys.exit(f"fault: cmake --install of {component}: {done.stderr}")


def manual_faults(usr):
    pages = {path.stem: path for path in sorted((usr / "share/man").glob("man*/*"))}
    faults = []
    for words in commands.Commands(usr / "bin").all():
        if "-".join(words) not in pages and (usr / "bin" / words[0]).exists():
            faults.append(f"no page of the manual for {' '.join(words)}")
    for path in pages.values():
        if shutil.which("mandoc"):
            said = run("mandoc", "-T", "lint", "-W", "warning", path)
            faults += [f"{path.name}: {line}" for line in said.stdout.splitlines()]
        if not re.search(r"^\.SH NAME\n\S+ \\- \S", path.read_text(encoding="utf-8"), re.M):
            faults.append(f"{path.name}: no line under NAME")
    return faults


def configuration_faults(usr):
    """Those that need no file of the user's pass --check as they are installed."""
    faults = []
    doc = usr / "share/doc"
    files = {"tributary-node": [usr / "etc/tributary/node.toml"], "tributary-aggregator": [usr / "etc/tributary/aggregator.toml"]}
    for program, configurations in files.items():
        # Two need a model of their user's.
        configurations += [path for path in sorted((doc / program / "examples").glob("*.toml"))
                           if path.stem not in ("node-network", "node-ranges")]
        for path in configurations:
            # tmpfiles.d makes this folder; a machine that only builds has none.
            copy = path.with_suffix(".checked.toml")
            copy.write_text(path.read_text(encoding="utf-8").replace("/var/lib/tributary", str(usr)), encoding="utf-8")
            said = run(usr / "bin" / program, "--config", copy, "--check")
            copy.unlink()
            if said.returncode != 0:
                faults.append(f"{path.name}: {said.stderr.strip()}")
    return faults


def unit_faults(usr):
    faults = []
    for path in sorted((usr / "lib/systemd/system").glob("*.service")):
        program, _, configuration = re.search(r"^ExecStart=(\S+) (--config) (\S+)$", path.read_text(), re.M).groups()
        faults += [f"{path.name} names {name}, which is not installed" for name in (program, configuration)
                   if not pathlib.Path(name).exists()]
    return faults


def completion_faults(usr):
    installed = {"bash": "bash-completion/completions/tributary", "zsh": "zsh/vendor-completions/_tributary",
                 "fish": "fish/vendor_completions.d/tributary.fish"}
    return [f"{shell}: the installed completion is not what `tributary completion {shell}` prints"
            for shell, path in installed.items()
            if (usr / "share" / path).read_text() != run(usr / "bin/tributary", "completion", shell).stdout]


def delegate_faults(source, usr):
    """The example of the page compiles with what is installed, runs, and says what is wrong."""
    page = (source / "docs/delegate.md").read_text(encoding="utf-8")
    example = re.search(r"^```c\n(.*?)^```$", page, re.M | re.S).group(1)
    faults = [] if len(example.splitlines()) <= 30 else ["docs/delegate.md: the example has more than 30 lines"]
    if not (shutil.which("cc") and shutil.which("pkg-config")):
        return faults
    folder = next(usr.glob("lib/*/pkgconfig"))
    flags = run("env", f"PKG_CONFIG_PATH={folder}", "pkg-config", "--cflags", "--libs", "tributary-delegate").stdout.split()
    (usr / "classify.c").write_text(example, encoding="utf-8")
    said = run("cc", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", usr / "classify.c", *flags, "-o", usr / "classify")
    if said.returncode != 0:
        return faults + [f"docs/delegate.md: the example does not compile: {said.stderr}"]
    said = run("env", f"LD_LIBRARY_PATH={folder.parent}", usr / "classify", usr / "none.onnx")
    if said.returncode != 1 or "none.onnx" not in said.stderr:
        faults.append(f"docs/delegate.md: the example ends with {said.returncode}: {said.stderr}")
    return faults


def link_faults(usr):
    """What an installed page links to is installed."""
    root = usr / "share/doc/tributary"
    faults = []
    for page in sorted(root.rglob("*.md")):
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                faults.append(f"{page.relative_to(root)} links to {target}, which is not installed")
    return faults if (root / "README.md").exists() else ["tributary-doc has no README.md"]


def second_install_faults(build, usr):
    """An operator's configuration survives an installation over it."""
    path = usr / "etc/tributary/node.toml"
    path.write_text(changed := path.read_text() + "# Changed by the operator.\n")
    install(build, usr)
    return [] if path.read_text() == changed else ["a second installation replaced a changed node.toml"]


def version_faults(source):
    ours = re.search(r"^project\(tributary VERSION (\S+)", (source / "CMakeLists.txt").read_text(), re.M).group(1)
    theirs = re.match(r"tributary \(([^)]+)\)", (source / "deploy/debian/changelog").read_text()).group(1)
    return [] if ours == theirs else [f"CMakeLists.txt has version {ours}, deploy/debian/changelog {theirs}"]


def main():
    source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    if not (build / "deploy/tributary.man/tributary.1").exists():
        print("skipped: build the target tributary_installed first")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="tributary-installed-") as scratch:
        usr = pathlib.Path(scratch) / "usr"
        install(build, usr)
        faults = (manual_faults(usr) + configuration_faults(usr) + unit_faults(usr) + completion_faults(usr) + link_faults(usr)
                  + delegate_faults(source, usr) + second_install_faults(build, usr) + version_faults(source))
        print(f"{sum(path.is_file() for path in usr.rglob('*'))} files installed")
    for fault in faults:
        print(f"fault: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
