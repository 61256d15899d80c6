"""A fused slot as Python sees it."""

import dataclasses
import math
from typing import Optional, Sequence, Tuple

from tributary.v1 import fusion_pb2 as fusion

Vector = Tuple[float, ...]
Matrix = Tuple[Vector, ...]

DEFAULT_SLOT_NS = 500_000


def _rows(values: Sequence[float], count: int) -> Tuple[Vector, ...]:
    """`count` rows of equal length."""
    width = len(values) // count if count else 0
    return tuple(tuple(values[i * width:(i + 1) * width]) for i in range(count))


def _lower(packed: Sequence[float], dimension: int) -> Matrix:
    """The lower triangle from its rows: l11, l21, l22, l31, l32, l33."""
    rows, begin = [], 0
    for length in range(1, dimension + 1):
        rows.append(tuple(packed[begin:begin + length]) + (0.0,) * (dimension - length))
        begin += length
    return tuple(rows)


def covariance(cholesky: Matrix) -> Matrix:
    """L·Lᵀ of a lower triangle [d][d], m²."""
    return tuple(tuple(math.fsum(a * b for a, b in zip(row, other)) for other in cholesky) for row in cholesky)


@dataclasses.dataclass(frozen=True)
class Contribution:
    """What one source says of a subject, and what became of it."""

    source: str
    fate: str                        # "fused", "redundant" or "gated"
    innovation: float                # distance from the fusion of the others; 0: there is no other
    captured_unix_ns: int
    mean: Vector                     # [d], m
    cholesky: Matrix                 # [d][d], m: lower factor of the covariance
    log_probabilities: Vector        # [c]


@dataclasses.dataclass(frozen=True)
class Slot:
    """The estimates of n subjects, of d dimensions or of c classes."""

    site: str
    epoch: int                       # the slot begins at epoch · slot_ns
    slot_ns: int
    captured_unix_ns: int            # when the samples of the earliest contribution were taken
    fused_unix_ns: int
    revision: int                    # 0 first; higher after a late tuple changed the slot
    skipped_slots: int               # slots that were not sent since the one before
    dimension: int                   # d: 1, 2 or 3; 0: the site has classes
    classes: Tuple[str, ...]         # [c]
    leaves: Tuple[str, ...]          # the site's leaf sources
    subjects: Tuple[int, ...]        # [n]
    means: Tuple[Vector, ...]        # [n][d], m
    cholesky: Tuple[Matrix, ...]     # [n][d][d], m: lower factor of the covariance
    log_probabilities: Tuple[Vector, ...]  # [n][c], natural logarithms
    contributors: Tuple[Tuple[str, ...], ...]  # [n]: names of the leaves in the estimate
    consistency: Vector              # [n]: about 1 for consistent sources; 0: only one contributed
    velocities: Tuple[Vector, ...]   # [n][d], m/s; empty unless the site tracks its subjects
    contributions: Tuple[Contribution, ...]  # of the subject that was asked for

    @property
    def time_unix_ns(self) -> int:
        """When the slot began."""
        return self.epoch * self.slot_ns

    def row(self, subject: int) -> Optional[int]:
        """The index of a subject in the arrays; None if the slot does not have it."""
        return self.subjects.index(subject) if subject in self.subjects else None

    def covariances(self) -> Tuple[Matrix, ...]:
        """[n][d][d], m²."""
        return tuple(covariance(factor) for factor in self.cholesky)

    def probabilities(self) -> Tuple[Vector, ...]:
        """[n][c]."""
        return tuple(tuple(map(math.exp, row)) for row in self.log_probabilities)


_FATES = {fusion.CONTRIBUTION_FATE_FUSED: "fused", fusion.CONTRIBUTION_FATE_REDUNDANT: "redundant",
          fusion.CONTRIBUTION_FATE_GATED: "gated"}


def _contribution(said: "fusion.Contribution") -> Contribution:
    return Contribution(source=said.source, fate=_FATES.get(said.fate, "unknown"), innovation=said.innovation,
                        captured_unix_ns=said.captured_unix_ns, mean=tuple(said.mean),
                        cholesky=_lower(said.cholesky, len(said.mean)), log_probabilities=tuple(said.log_probabilities))


class SlotReader:
    """Turns the responses of one stream into slots: the site is described in the first one and when it changes."""

    def __init__(self) -> None:
        self._description = fusion.WatchResponse()

    def read(self, response: "fusion.WatchResponse") -> Optional[Slot]:
        """None if the response has no slot. Errors: ValueError for arrays that do not fit each other."""
        if response.leaves:
            self._description = response
        if not response.HasField("slot"):
            return None
        slot, site = response.slot, self._description
        n, d, c = len(slot.subjects), slot.dimension, len(site.classes)
        words = (len(site.leaves) + 63) // 64
        for name, each in (("means", d), ("cholesky", d * (d + 1) // 2), ("log_probabilities", c),
                           ("contributors", words), ("consistency", 1)):
            if len(getattr(slot, name)) != n * each:
                raise ValueError(f"{name}: {len(getattr(slot, name))} values for {n} subjects of {each} each")
        return Slot(
            site=site.site, epoch=slot.epoch, slot_ns=site.slot_ns or DEFAULT_SLOT_NS,
            captured_unix_ns=slot.captured_unix_ns, fused_unix_ns=slot.fused_unix_ns, revision=slot.revision,
            skipped_slots=response.skipped_slots, dimension=d, classes=tuple(site.classes), leaves=tuple(site.leaves),
            subjects=tuple(slot.subjects), means=_rows(slot.means, n),
            cholesky=tuple(_lower(row, d) for row in _rows(slot.cholesky, n)),
            log_probabilities=_rows(slot.log_probabilities, n) if c else (),
            contributors=tuple(
                tuple(leaf for i, leaf in enumerate(site.leaves) if bits[i // 64] >> (i % 64) & 1)
                for bits in _rows(slot.contributors, n)),
            consistency=tuple(slot.consistency), velocities=_rows(slot.velocities, n) if slot.velocities else (),
            contributions=tuple(map(_contribution, response.contributions.contributions)))
