"""The links between the boards and the hub: by `tc netem` where the kernel has it, else by TUN devices and tun_link.py."""

import dataclasses
import json
import pathlib
import subprocess
import sys

from impairment import CLEAN
from namespace import Namespace, ip, works

HERE = pathlib.Path(__file__).resolve().parent


class NotHere(RuntimeError):
    """This machine allows neither kind of link."""


def hub_address(board):
    return f"10.7.{board}.1"


def board_address(board):
    return f"10.7.{board}.2"


class PlainLinks:
    """A veth pair for each board, and nothing that impairs it."""

    kind = "veth"

    def __init__(self, hub, boards, _seed):
        self.ends = []
        for number, board in enumerate(boards):
            near, far = (board.name, "up0"), (hub.name, f"to{number}")
            ip("-n", board.name, "link", "add", "up0", "type", "veth", "peer", "name", f"to{number}", "netns", hub.name)
            self.ends.append((near, far))

    def joined(self):
        # A cut link must not cost time for ARP once it is whole again.
        for near, far in self.ends:
            for (namespace, device), (other, other_device) in ((near, far), (far, near)):
                shown = json.loads(subprocess.run(["ip", "-n", other, "-j", "address", "show", other_device], check=True,
                                                  capture_output=True, text=True).stdout)[0]
                ip("-n", namespace, "neigh", "replace", shown["addr_info"][0]["local"], "lladdr", shown["address"], "dev", device,
                   "nud", "permanent")

    def set(self, board, impairment):
        if impairment != CLEAN:
            raise NotHere("a plain link cannot be impaired")

    def stop(self):
        pass


class NetemLinks(PlainLinks):
    """The kernel delays and drops what leaves either end."""

    kind = "veth with tc netem"

    def set(self, board, impairment):
        for namespace, device in self.ends[board]:
            subprocess.run(["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "netem", *impairment.netem()], check=True,
                           capture_output=True)


class TunLinks:
    """A pair of TUN devices for each board, and a process that carries the packets."""

    kind = "user-space link over TUN (the kernel has no netem)"

    def __init__(self, hub, boards, seed):
        self.process = subprocess.Popen([sys.executable, HERE / "tun_link.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answer = self.ask({"pairs": [[board.name, "up0", hub.name, f"to{number}"] for number, board in enumerate(boards)], "seed": seed})
        if "error" in answer:
            raise NotHere(answer["error"])

    def ask(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def joined(self):
        pass

    def set(self, board, impairment):
        self.ask({"pair": board, "impairment": dataclasses.asdict(impairment)})

    def stop(self):
        self.process.stdin.close()
        self.process.wait(10)


def kernel_has_netem():
    """In a namespace of its own, which ends with the question."""
    return works("unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")


class Star:
    """The hub and its boards, each a namespace, and a link from each board to the hub."""

    def __init__(self, boards, seed=1, links=None):
        """`links`: the class; None: the one that can impair links on this machine."""
        self.hub = Namespace("hub")
        self.boards = [Namespace(f"board{number}") for number in range(boards)]
        self.links = (links or (NetemLinks if kernel_has_netem() else TunLinks))(self.hub, self.boards, seed)
        for number, board in enumerate(self.boards):
            board.ip("address", "add", f"{board_address(number)}/24", "dev", "up0")
            self.hub.ip("address", "add", f"{hub_address(number)}/24", "dev", f"to{number}")
            for namespace, device in ((board, "up0"), (self.hub, f"to{number}")):
                namespace.ip("link", "set", device, "addrgenmode", "none", "up")
        self.links.joined()
        self.set_all(CLEAN)

    def set(self, board, impairment):
        self.links.set(board, impairment)

    def set_all(self, impairment):
        for number in range(len(self.boards)):
            self.set(number, impairment)

    def stop(self):
        self.links.stop()
        for namespace in (self.hub, *self.boards):
            namespace.remove()
