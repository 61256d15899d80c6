"""Carries packets between pairs of TUN devices, with loss, delay, jitter, reordering and a limited rate.

A process of its own, so that its pace does not depend on the test. Commands come as lines of JSON on standard input, each answered by one line:
  {"pairs": [[NAMESPACE, DEVICE, NAMESPACE, DEVICE], ...], "seed": N}   first; makes the devices
  {"pair": N, "impairment": {...}}                                      from now on, in both directions
  {"counters": true}                                                    packets passed and lost, of each pair, both ways
"""

import contextlib
import fcntl
import heapq
import json
import os
import select
import struct
import sys
import time

from impairment import Direction, Impairment
from namespace import enter

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
MTU_BYTES = 1500
BURST = 64  # packets of one device before another's turn


def open_tun(namespace, name):
    """The device belongs to the namespace in which it is made; its file can be used from any."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    enter(there)
    try:
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    finally:
        enter(home)
        os.close(home)
        os.close(there)
    return device


class Relay:
    def __init__(self, pairs, seed):
        self.ways = {}  # by the file that a packet is read from: the file that it goes to, and its direction
        self.pairs = []
        for number, (namespace, name, far_namespace, far_name) in enumerate(pairs):
            near, far = open_tun(namespace, name), open_tun(far_namespace, far_name)
            up, down = Direction(f"{seed} {number} up"), Direction(f"{seed} {number} down")
            self.ways[near], self.ways[far] = (far, up), (near, down)
            self.pairs.append((up, down))
        self.waiting = []  # a heap of (due, number, file, packet)
        self.number = 0

    def take(self, file):
        target, direction = self.ways[file]
        for _ in range(BURST):
            try:
                packet = os.read(file, MTU_BYTES + 100)
            except BlockingIOError:
                return
            due_s = direction.due_s(time.monotonic(), len(packet))
            if due_s is not None:
                self.number += 1
                heapq.heappush(self.waiting, (due_s, self.number, target, packet))

    def send_due(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _, _, file, packet = heapq.heappop(self.waiting)
            with contextlib.suppress(OSError):  # the device is not up yet, or no longer
                os.write(file, packet)

    def command(self, line):
        if "impairment" in line:
            for direction in self.pairs[line["pair"]]:
                direction.impairment = Impairment(**line["impairment"])
        return [{"passed": [way.passed for way in pair], "lost": [way.lost for way in pair]} for pair in self.pairs]

    def run(self):
        control = sys.stdin.fileno()
        files = [control, *self.ways]
        rest = b""
        while True:
            timeout_s = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else None
            for file in select.select(files, [], [], timeout_s)[0]:
                if file != control:
                    self.take(file)
                    continue
                read = os.read(control, 65536)
                if not read:
                    return
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    print(json.dumps(self.command(json.loads(line))), flush=True)
            self.send_due()


def main():
    try:
        os.nice(-10)  # its own delays would add to those that were asked for
    except PermissionError:
        pass
    first = json.loads(sys.stdin.buffer.raw.readline())
    try:
        relay = Relay(first["pairs"], first["seed"])
    except OSError as error:
        print(json.dumps({"error": f"/dev/net/tun: {error.strerror}"}), flush=True)
        return
    print(json.dumps({}), flush=True)
    relay.run()


if __name__ == "__main__":
    main()
