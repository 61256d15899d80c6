"""What a link does to packets. No I/O: the same values drive the user-space link and `tc netem`."""

import dataclasses
import random

QUEUE_PACKETS = 10000  # more than any scenario has under way; netem's own limit of 1,000 would drop packets of its own accord


@dataclasses.dataclass(frozen=True)
class Impairment:
    """Holds in each direction by itself, as with `tc netem`: a round trip has twice the delay."""

    delay_ms: float = 0.0
    jitter_ms: float = 0.0  # uniform in delay ± jitter: a packet can overtake another
    loss: float = 0.0  # probability of each packet, independent of the others
    reorder: float = 0.0  # probability that a packet is not delayed and so overtakes those that wait
    rate_kbit_s: float = 0.0  # 0: no limit

    def __post_init__(self):
        if not 0 <= self.jitter_ms <= self.delay_ms:
            raise ValueError(f"jitter {self.jitter_ms} ms must be between 0 and the delay, {self.delay_ms} ms")
        if not (0 <= self.loss <= 1 and 0 <= self.reorder <= 1 and self.rate_kbit_s >= 0):
            raise ValueError(f"{self}: loss and reorder are probabilities, the rate is not negative")
        if self.reorder and not self.delay_ms:
            raise ValueError("reorder needs a delay: a packet overtakes those that wait")

    def __str__(self):
        parts = [f"{self.delay_ms:g} ms" + (f" ± {self.jitter_ms:g} ms" if self.jitter_ms else "")] if self.delay_ms else []
        parts += [f"{100 * self.loss:g} % loss"] if self.loss else []
        parts += [f"{100 * self.reorder:g} % reordered"] if self.reorder else []
        parts += [f"{self.rate_kbit_s:g} kbit/s"] if self.rate_kbit_s else []
        return ", ".join(parts) or "clean"

    def netem(self):
        """The arguments of `tc qdisc replace dev DEVICE root netem`."""
        words = ["limit", str(QUEUE_PACKETS)]
        if self.delay_ms:
            words += ["delay", f"{self.delay_ms:g}ms"] + ([f"{self.jitter_ms:g}ms"] if self.jitter_ms else [])
        words += ["loss", "random", f"{100 * self.loss:g}%"] if self.loss else []
        words += ["reorder", f"{100 * self.reorder:g}%"] if self.reorder else []
        words += ["rate", f"{self.rate_kbit_s:g}kbit"] if self.rate_kbit_s else []
        return words


CLEAN = Impairment()
CUT = Impairment(loss=1.0)


class Direction:
    """One way through a link: decides when each packet leaves it. The same seed gives the same decisions."""

    def __init__(self, seed):
        self.impairment, self.random = CLEAN, random.Random(seed)
        self.free_at_s = 0.0  # when the packet before has left, at a limited rate
        self.passed = self.lost = 0

    def due_s(self, now_s, size_bytes):
        """When the packet leaves the link; None: it is lost."""
        now = self.impairment
        # The draws do not depend on the values, so that a change of one value leaves the fate of the others.
        lost, jumps, jitter = self.random.random() < now.loss, self.random.random() < now.reorder, self.random.uniform(-1, 1)
        if lost:
            self.lost += 1
            return None
        self.passed += 1
        if jumps:
            return now_s
        departure_s = now_s
        if now.rate_kbit_s:
            departure_s = self.free_at_s = max(now_s, self.free_at_s) + size_bytes * 8 / (1000 * now.rate_kbit_s)
        return departure_s + (now.delay_ms + jitter * now.jitter_ms) / 1000
