"""A network, /etc/hosts and /var/lib of the test's own: examples may use the ports and addresses that they name."""

import gzip
import os
import pathlib
import struct
import subprocess
import sys
import zlib

# Addresses and names of machines on the pages.
ADDRESSES = ("10.0.0.1",)
NAMES = ("hub", "aggregator", "building", "plant")
INSIDE = "TRIBUTARY_PAGES_INSIDE"


def candidates():
    root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *root, "--net", "--uts", "--mount", "--propagation", "private"]


def reason_against():
    """Why this machine does not give the test a namespace; None if it does."""
    done = subprocess.run(
        [*candidates(), "sh", "-c", "ip link set lo up && mount -t tmpfs none /var/lib"],
        capture_output=True, text=True, check=False,
    )
    return None if done.returncode == 0 else done.stderr.strip() or f"unshare ended with {done.returncode}"


def enter():
    """Starts this program again inside; returns only there."""
    if os.environ.get(INSIDE):
        return
    os.environ[INSIDE] = "root" if os.geteuid() == 0 else "user"
    os.execvp("unshare", [*candidates(), sys.executable, *sys.argv])


def may_change_system():
    """Whether files of other users can be made: only root may."""
    return os.environ.get(INSIDE) == "root"


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


def images(path, count):
    """An idx file of 28 × 28 images: a few bright rectangles, enough to train on."""
    pixels = bytearray()
    for image in range(count):
        top, left = image * 7 % 17, image * 5 % 17
        for row in range(28):
            for column in range(28):
                bright = top <= row < top + 8 and left <= column < left + 9
                pixels.append(200 + image % 50 if bright else row * column % 16)
    path.write_bytes(gzip.compress(struct.pack(">4I", 0x803, count, 28, 28) + bytes(pixels)))


def pictures(folder, count):
    """PNG files of 40 × 30 pixels in colour, two classes of them."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    for i in range(count):
        rows = b"".join(b"\0" + b"".join(bytes((3 * x + i, 5 * y, 40 * (i % 2))) for x in range(40)) for y in range(30))
        file = folder / f"class{i % 2}" / f"{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 40, 30, 8, 2, 0, 0, 0))
                         + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def labels(path, count):
    path.write_bytes(gzip.compress(struct.pack(">2I", 0x801, count) + bytes(i % 10 for i in range(count))))


def prepare(scratch):
    """What every machine of the pages has: its addresses and names, /var/lib/tributary with the operator's images."""
    run("ip", "link", "set", "lo", "up")
    run("hostname", NAMES[0])
    for address in ADDRESSES:
        run("ip", "addr", "add", address + "/32", "dev", "lo")
    hosts = scratch / "hosts"
    hosts.write_text("127.0.0.1 localhost " + " ".join(NAMES) + "\n")
    run("mount", "--bind", str(hosts), "/etc/hosts")
    run("mount", "-t", "tmpfs", "none", "/var/lib")
    state = pathlib.Path("/var/lib/tributary")
    state.mkdir()
    images(state / "images-idx3-ubyte.gz", 300)
    labels(state / "labels-idx1-ubyte.gz", 300)


def overlay(scratch, *folders):
    """From here on what is written below the folders goes to a memory of this namespace."""
    store = scratch / "overlay"
    store.mkdir()
    run("mount", "-t", "tmpfs", "none", str(store))
    for folder in folders:
        upper, work = store / f"upper{folder.replace('/', '-')}", store / f"work{folder.replace('/', '-')}"
        upper.mkdir()
        work.mkdir()
        run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={folder},upperdir={upper},workdir={work}", folder)
    run("mount", "--bind", str(scratch / "hosts"), "/etc/hosts")
