"""Where every tuple went, from the counts of both sides: a node's summary at its end and the aggregator's metrics after it. No I/O.

  sent = fused + gated + refused + dropped          to the last tuple, for each node
  slots fused = frames taken + slots missed         for each source, where late frames are not fused in

A node drops the oldest frame of a full spool whether or not it is on its way; one that arrives all the same counts on both sides
("twice"). That can only happen to frames that were dropped.
"""

import dataclasses


@dataclasses.dataclass
class Account:
    """Tuples of one node, or of several."""

    sent: int = 0
    fused: int = 0
    gated: int = 0
    dropped: int = 0
    refused: dict = dataclasses.field(default_factory=dict)  # by reason, without gated ones
    missed_frames: int = 0  # that the source could not give in time: no tuple was made

    @property
    def left(self):
        return self.sent - (self.fused + self.gated + self.dropped + sum(self.refused.values()))

    @property
    def uncounted(self):
        return max(0, self.left)

    @property
    def twice(self):
        return max(0, -self.left)

    @property
    def late_share(self):
        return self.refused.get("late", 0) / self.sent if self.sent else 0.0

    def __add__(self, other):
        sums = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in dataclasses.fields(self)
                if field.name != "refused"}
        reasons = self.refused.keys() | other.refused.keys()
        return Account(**sums, refused={each: self.refused.get(each, 0) + other.refused.get(each, 0) for each in sorted(reasons)})

    def faults(self, name, may_count_twice=False):
        found = [f"{name}: {self.uncounted} of {self.sent} tuples are counted nowhere"] if self.uncounted else []
        if self.twice and (not may_count_twice or self.twice > self.dropped):
            found.append(f"{name}: {self.twice} tuples are counted twice; {self.dropped} were dropped")
        if not self.sent:
            found.append(f"{name}: has sent nothing")
        return found


def account(summary, metrics, sources, before=None):
    """`summary`: of a node that has ended. `sources`: what it reported. `metrics`: of the aggregator, scraped after the node's end.

    `before`: of the aggregator, scraped before the node's start, if an earlier node reported the same sources.
    """
    def taken(name):
        return int(sum(metrics.total(name, source=source) - (before.total(name, source=source) if before else 0) for source in sources))

    gated = taken("tributary_source_tuples_gated_total")
    made = summary["fusion"]["tuples"] if "fusion" in summary else summary["tuples"]
    reasons = summary["refused_tuples_by_reason"]
    return Account(sent=made, gated=gated, fused=taken("tributary_source_tuples_accepted_total") - gated, dropped=summary["dropped_tuples"],
                   refused={reason: count for reason, count in reasons.items() if reason != "gated"},
                   missed_frames=summary["missed_frames"])


def unexpected_faults(metrics):
    """Outcomes that no scenario should have: every source has leaves of its own, sends a slot once, and sends what fp32 can hold."""
    names = ("redundant", "replaced", "unusable")
    counts = {name: metrics.total(f"tributary_tuples_{name}_total") for name in names}
    return [f"{count:.0f} tuples are {name}" for name, count in counts.items() if count]


def slot_faults(metrics, sources):
    """Each fused slot has a source's frame or counts it as missed. Needs late = "count", and the counts since the aggregator's start."""
    slots = metrics.total("tributary_slots_fused_total")
    found = []
    for source in sources:
        frames = metrics.total("tributary_source_frames_accepted_total", source=source)
        missed = metrics.total("tributary_leaf_missed_slots_total", leaf=source)
        if slots != frames + missed:
            found.append(f"{source}: {slots:.0f} slots were fused, {frames:.0f} with it, {missed:.0f} without it")
    return found
