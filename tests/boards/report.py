"""The outcome of a scenario, and the table of all."""

import dataclasses

from ledger import Account


@dataclasses.dataclass
class Outcome:
    scenario: str
    link: str = ""
    boards: int = 0
    link_kind: str = ""
    seconds: float = 0
    tuples: Account = None
    latency_ms: dict = dataclasses.field(default_factory=dict)  # from the sample to a reader on the hub: p50, p99
    recovery_s: float = None  # from the mended fault to the first frame that is taken
    on_time_s: float = None  # from the mended fault until the source's frames come within the deadline again
    notes: list = dataclasses.field(default_factory=list)
    faults: list = dataclasses.field(default_factory=list)
    skipped: str = ""

    def json(self):
        content = dataclasses.asdict(self)
        if self.tuples:
            content["tuples"] |= {"uncounted": self.tuples.uncounted, "twice": self.tuples.twice, "late_share": self.tuples.late_share}
        return content


COLUMNS = ("scenario", "boards", "sent", "fused", "gated", "refused", "dropped", "uncounted", "late %", "p50 ms", "p99 ms", "recovery s", "result")


def cells(outcome):
    result = f"skipped: {outcome.skipped}" if outcome.skipped else "FAULT" if outcome.faults else "ok"
    numbers = [""] * 7
    if outcome.tuples:
        of = outcome.tuples
        numbers = [of.sent, of.fused, of.gated, sum(of.refused.values()), of.dropped, of.uncounted, f"{100 * of.late_share:.2f}"]
    latency = [f"{outcome.latency_ms[each]:.1f}" if each in outcome.latency_ms else "" for each in ("p50", "p99")]
    recovery = "" if outcome.recovery_s is None else f"{outcome.recovery_s:.2f}"
    return [str(each) for each in (outcome.scenario, outcome.boards or "", *numbers, *latency, recovery, result)]


def table(outcomes):
    rows = [COLUMNS, *map(cells, outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(width) if column in (0, len(COLUMNS) - 1) else cell.rjust(width)
                       for column, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
    for outcome in outcomes:
        lines += [f"{outcome.scenario}: {note}" for note in ([f"link {outcome.link}"] if outcome.link else []) + outcome.notes]
        lines += [f"fault: {outcome.scenario}: {fault}" for fault in outcome.faults]
    return "\n".join(lines)
