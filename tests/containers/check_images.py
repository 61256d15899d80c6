"""docker/Dockerfile and docker/compose.yaml keep the rules that we set for images; the files that they name exist and are sound.

usage: check_images.py --root FOLDER [--bin FOLDER]   with --bin the daemons check their configurations
Exit status: 0 all is well, 1 faults (one line each), 77 python3-yaml is missing.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    print("skipped: Debian's package python3-yaml is not installed")
    sys.exit(77)

import dockerfile

SECRET = re.compile(r"passw|secret|token|credential|private_?key|api_?key", re.IGNORECASE)
MODELS = "/usr/share/tributary/models/"
SHIPPED = ("aggregator", "node", "demo")


def pinned(image):
    """A version behind the colon, or a digest."""
    return "@sha256:" in image or re.search(r":v?\d+\.\d+[\w.-]*$", image) is not None


def run_faults(text):
    faults = []
    if re.search(r"\bapt-get (?:dist-)?upgrade\b", text):
        faults.append("upgrade the base instead of its packages")
    if re.search(r"\bapt (?:install|update)\b", text):
        faults.append("apt is for people: use apt-get")
    if re.search(r"\bsudo\b", text):
        faults.append("sudo has nothing to do in a build")
    if re.search(r"\b(?:curl|wget)\b[^|;&]*\|\s*(?:ba)?sh\b", text):
        faults.append("a script from the network is run unseen")
    if "apt-get install" in text:
        for part, what in (("apt-get update", "update"), ("--no-install-recommends", "--no-install-recommends"),
                           ("rm -rf /var/lib/apt/lists/*", "clean-up of the lists"), (" -y", "-y")):
            if part not in text:
                faults.append(f"apt-get install without {what} in the same RUN")
    elif "apt-get update" in text:
        faults.append("apt-get update without install in the same RUN")
    return faults


def instruction_faults(each, root, known):
    flags, rest = each.flags
    faults = []
    if each.name == "RUN":
        faults += run_faults(each.text)
        if each.words and "/" in each.words[0] and not (root / each.words[0]).exists():
            faults.append(f"{each.words[0]} does not exist")
    if each.name == "ADD":
        faults.append("COPY says what happens, ADD does not")
    if each.name in ("CMD", "ENTRYPOINT", "HEALTHCHECK") and each.words is None:
        faults.append(f"{each.name} needs the exec form: signals must reach the daemon")
    if each.name in ("ENV", "ARG") and SECRET.search(each.text.partition("=")[0]):
        faults.append("a secret in an image is public")
    if each.name == "WORKDIR" and not each.text.startswith("/"):
        faults.append("WORKDIR is absolute")
    for flag, value in flags:
        source = value if flag == "from" else dict(part.split("=", 1) for part in value.split(",") if "=" in part).get("from")
        if flag in ("from", "mount") and source and source not in known:
            faults.append(f"no stage before is called {source}")
    if each.name == "COPY" and not any(flag == "from" for flag, _ in flags):
        faults += [f"{path} does not exist" for path in rest.split()[:-1] if not (root / path).exists()]
    return [f"line {each.line}: {fault}" for fault in faults]


def image_faults(stages, name):
    """What the last word of a whole image is."""
    stages = dockerfile.chain(stages, name)
    if not stages:
        return [f"no stage is called {name}"]
    faults = []
    last = {kind: next((stage.last(kind) for stage in reversed(stages) if stage.last(kind)), None)
            for kind in ("USER", "HEALTHCHECK", "ENTRYPOINT", "LABEL")}
    user = last["USER"].text.partition(":")[0] if last["USER"] else "0"
    if not user.isdigit() or int(user) == 0:
        faults.append("runs as root, or as a name that the system must look up")
    faults += [f"has no {kind}" for kind, found in last.items() if found is None]
    return [f"image {name}: {fault}" for fault in faults]


def dockerfile_faults(text, root):
    try:
        stages = dockerfile.read(text)
    except ValueError as error:
        return [str(error)]
    faults, known = [], set()
    for stage in stages:
        if stage.base not in known and not pinned(stage.base):
            faults.append(f"stage {stage.name or stage.base}: {stage.base} is not pinned to a version")
        for each in stage.instructions:
            faults += instruction_faults(each, root, known)
        known.add(stage.name)
    for name in SHIPPED:
        faults += image_faults(stages, name)
    version = re.search(r"project\([^)]*VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    if f'image.version="{version}"' not in text:
        faults.append(f"the label of the version is not {version}")
    return faults


def service_faults(service, folder):
    faults = []
    if "build" not in service and not pinned(service.get("image", "")):
        faults.append(f"{service.get('image', 'its image')} is not pinned to a version")
    if not service.get("read_only"):
        faults.append("its root file system is not read-only")
    if service.get("cap_drop") != ["ALL"] or service.get("privileged") or service.get("cap_add"):
        faults.append("has capabilities")
    if "no-new-privileges:true" not in service.get("security_opt", []):
        faults.append("may gain privileges")
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if source.startswith(".") and not (folder / source).exists():
            faults.append(f"{source} does not exist")
        if source.startswith(".") and not volume.endswith(":ro"):
            faults.append(f"may write {source}")
    for port in service.get("ports", []):
        if not str(port).startswith("127.0.0.1:"):
            faults.append(f"port {port} is open beyond this machine, and HTTP has no TLS")
    for name in service.get("environment", {}):
        if SECRET.search(name):
            faults.append(f"{name}: a secret belongs into a file of its own")
    return faults


def compose_faults(text, folder):
    services = yaml.safe_load(text)["services"]
    return [f"compose.yaml: {name}: {fault}" for name, service in services.items() for fault in service_faults(service, folder)]


def configuration_faults(root, binaries):
    """The daemons' own check, with the models of this tree."""
    faults = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted((root / "docker").glob("*.toml")):
            copy = pathlib.Path(scratch) / path.name
            text = path.read_text(encoding="utf-8").replace(MODELS, f"{root.resolve()}/models/")
            copy.write_text(text.replace("/var/lib/tributary", scratch), encoding="utf-8")
            kind = "aggregator" if path.name.startswith("aggregator") else "node"
            done = subprocess.run([binaries / f"tributary-{kind}", "--config", copy, "--check"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                faults.append(f"{path.name}: {(done.stdout + done.stderr).strip()}")
    return faults


def prometheus_faults(root):
    """The same jobs and rules as deploy/prometheus has, under the folder that compose.yaml mounts."""
    ours = yaml.safe_load((root / "docker/prometheus.yml").read_text(encoding="utf-8"))
    theirs = yaml.safe_load((root / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8"))
    faults = []
    if ours["rule_files"] != [f"tributary/{path}" for path in theirs["rule_files"]]:
        faults.append("prometheus.yml has other rules than deploy/prometheus")
    if [job["job_name"] for job in ours["scrape_configs"]] != [job["job_name"] for job in theirs["scrape_configs"]]:
        faults.append("prometheus.yml has other jobs than deploy/prometheus")
    if shutil.which("promtool"):
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(root / "docker/prometheus.yml", scratch)
            (pathlib.Path(scratch) / "tributary").symlink_to((root / "deploy/prometheus").resolve())
            done = subprocess.run(["promtool", "check", "config", f"{scratch}/prometheus.yml"], capture_output=True, text=True, check=False)
            faults += [f"prometheus.yml: {done.stdout}{done.stderr}"] if done.returncode != 0 else []
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.root / "docker"
    faults = dockerfile_faults((folder / "Dockerfile").read_text(encoding="utf-8"), arguments.root)
    faults += compose_faults((folder / "compose.yaml").read_text(encoding="utf-8"), folder) + prometheus_faults(arguments.root)
    if arguments.bin:
        faults += configuration_faults(arguments.root, arguments.bin.resolve())
    print("\n".join(faults) if faults else "images, compose.yaml and their configurations keep the rules")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
