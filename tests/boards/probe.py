"""Measures a link by datagrams that carry their number. The kernel stamps each arrival, so that a busy test process adds nothing."""

import dataclasses
import math
import select
import socket
import statistics
import struct
import time

SO_TIMESTAMPNS = 35
PORT = 7499
HEADER_BYTES = 28  # IP and UDP


@dataclasses.dataclass
class Measured:
    """One direction of a link."""

    sent: int
    delays_ms: list  # of those that arrived, in the order of sending
    overtaken: int  # that arrived after one that was sent later
    arrived_bit_s: float  # from the first to the last arrival

    @property
    def loss(self):
        return 1 - len(self.delays_ms) / self.sent

    def quartiles_ms(self):
        return statistics.quantiles(self.delays_ms, n=4) if len(self.delays_ms) > 3 else [math.nan] * 3

    def below_share(self, delay_ms):
        return sum(each < delay_ms for each in self.delays_ms) / max(1, len(self.delays_ms))


def measure(sender_namespace, receiver_namespace, address, packets=1500, interval_s=0.001, size_bytes=64):
    with receiver_namespace.entered():
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender_namespace.entered():
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    arrivals, sent_ns = [], []

    def receive(wait_s):
        while select.select([receiver], [], [], wait_s)[0]:
            packet, ancillary, _, _ = receiver.recvmsg(2048, 128)
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            arrivals.append((struct.unpack("I", packet[:4])[0], seconds * 1_000_000_000 + nanoseconds))
            wait_s = 0

    with receiver, sender:
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        receiver.bind((address, PORT))
        began = time.monotonic()
        for number in range(packets):
            receive(max(0.0, began + number * interval_s - time.monotonic()))
            sent_ns.append(time.time_ns())
            sender.sendto(struct.pack("I", number) + bytes(size_bytes - 4), (address, PORT))
        last = 0
        while len(arrivals) != last or time.monotonic() < began + packets * interval_s + 0.5:
            last = len(arrivals)
            receive(0.5)
    latest, overtaken = -1, 0
    for number, _ in arrivals:
        overtaken += number < latest
        latest = max(latest, number)
    span_s = (arrivals[-1][1] - arrivals[0][1]) / 1e9 if len(arrivals) > 1 else math.inf
    return Measured(packets, [(stamp - sent_ns[number]) / 1e6 for number, stamp in sorted(arrivals)], overtaken,
                    (len(arrivals) - 1) * (size_bytes + HEADER_BYTES) * 8 / span_s)


def faults(measured, asked, idle):
    """What differs from what was asked. `idle`: the same link without any impairment, measured just before; its delays are taken off.

    The bounds are four standard errors of the estimate, plus a quarter of a millisecond for the clock's and the scheduler's grain.
    """
    found = []
    passed = len(measured.delays_ms)

    def hold(what, value, wanted, margin, unit):
        if not abs(value - wanted) <= margin:
            found.append(f"{what} {value:.4g} {unit} instead of {wanted:g} ± {margin:.2g} {unit}")

    hold("loss", measured.loss, asked.loss, 4 * math.sqrt(asked.loss * (1 - asked.loss) / measured.sent), "of the packets")
    if asked.loss == 1:
        return found
    low, middle, high = measured.quartiles_ms()
    idle_low, idle_middle, idle_high = idle.quartiles_ms()
    grain_ms = 0.25 + (idle_high - idle_low)
    # The density of a uniform distribution over 2 × jitter gives the standard errors of its median and of its quartiles' distance.
    error_ms = 4 * 2 * asked.jitter_ms * 0.5 / math.sqrt(max(1, passed))
    if not asked.rate_kbit_s:
        hold("delay", middle - idle_middle, asked.delay_ms, error_ms + grain_ms, "ms")
        if not asked.reorder:
            hold("spread of the middle half", high - low, asked.jitter_ms, error_ms + grain_ms, "ms")
    if asked.reorder:
        hold("undelayed share", measured.below_share(asked.delay_ms / 2 + idle_middle), asked.reorder,
             4 * math.sqrt(asked.reorder * (1 - asked.reorder) / max(1, passed)), "of the packets")
    if (asked.reorder or asked.jitter_ms) != 0 and measured.overtaken == 0:
        found.append("no packet has overtaken another")
    if not asked.reorder and not asked.jitter_ms and measured.overtaken:
        found.append(f"{measured.overtaken} packets were overtaken")
    if asked.rate_kbit_s:
        hold("rate", measured.arrived_bit_s / 1000, asked.rate_kbit_s, 0.05 * asked.rate_kbit_s, "kbit/s")
    return found
