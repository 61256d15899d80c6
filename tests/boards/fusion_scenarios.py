"""What fusion does while links lose, delay, reorder and are cut, while boards reboot and their clocks jump."""

import struct
import time

from bed import WALLS, Bed, Site, wait_for
from impairment import CLEAN, CUT, Impairment
from ledger import Account, account, slot_faults, unexpected_faults
from report import Outcome

SOURCES = list(WALLS)
MOST_RECOVERY_S = 2.0
DEADLINE_MS = 100.0  # of the scenarios with retransmissions


def closed_account(bed, site, nodes, outcome, may_count_twice=(), since=None):
    """Ends the nodes and holds their accounts against the aggregator's. The links should be clean by now.

    `since`: by the name of a node that was started again, the aggregator's metrics before that.
    """
    summaries = [node.ended() for node in nodes]
    wait_for("the last slots", lambda: bed.hub.metrics().total("tributary_open_slots") == 0)
    metrics = bed.hub.metrics()
    outcome.tuples = Account()
    outcome.faults += unexpected_faults(metrics)
    for summary in summaries:
        name = summary["node"]
        its = account(summary, metrics, [name], (since or {}).get(name))
        outcome.faults += its.faults(name, name in may_count_twice)
        outcome.tuples += its
    if site.late == "count":
        outcome.faults += slot_faults(metrics, site.sources)
    return metrics


def latency(bed, watch, outcome):
    seen = bed.watched(watch)
    outcome.latency_ms = {each: seen["latency_us"][each] / 1000 for each in ("p50", "p99")}
    return seen


def frames_of(bed, source):
    return bed.hub.metrics().total("tributary_source_frames_accepted_total", source=source)


def recovery(bed, sources, outcome, deadline_s=0.25):
    """Measures from now until each source's next frame is taken, and until the ages of its frames are within the deadline."""
    before = {source: frames_of(bed, source) for source in sources}
    began = time.monotonic()
    first, on_time = {}, {}
    while len(on_time) < len(sources) and time.monotonic() < began + 30:
        metrics, now_s = bed.hub.metrics(), time.monotonic() - began
        for source in sources:
            if metrics.total("tributary_source_frames_accepted_total", source=source) > before[source]:
                first.setdefault(source, now_s)
            if source in first and abs(metrics.total("tributary_source_frame_age_seconds", source=source)) < deadline_s:
                on_time.setdefault(source, now_s)
        time.sleep(0.02)
    for source in sources:
        first_s, on_time_s = first.get(source, float("inf")), on_time.get(source, float("inf"))
        outcome.recovery_s = max(outcome.recovery_s or 0, first_s)
        outcome.on_time_s = max(outcome.on_time_s or 0, on_time_s)
        outcome.notes.append(f"{source}: first frame after {first_s:.2f} s, on time after {on_time_s:.2f} s")
        if first_s > MOST_RECOVERY_S:
            outcome.faults.append(f"{source}: recovery took {first_s:.2f} s, more than {MOST_RECOVERY_S} s")


def begun(options, scenario, boards, impairment, **site_keys):
    """A bed whose aggregator waits for one panel of each board."""
    outcome = Outcome(scenario, str(impairment), boards)
    bed = Bed(options.root, options.bin, options.scratch(scenario), boards)
    outcome.link_kind = bed.star.links.kind
    site = Site("lab", SOURCES[:boards], **site_keys)
    bed.aggregator(site.table)
    return bed, site, outcome


def impaired(options, scenario, impairment, seconds):
    """Four boards over links that are impaired all the time. A retransmission takes some two round trips: some come late."""
    bed, site, outcome = begun(options, scenario, 4, impairment, deadline_ms=DEADLINE_MS)
    with bed.closing(outcome):
        nodes = [bed.panel_node(board, site) for board in range(4)]
        bed.wait_for_sources(SOURCES)
        bed.star.set_all(impairment)
        time.sleep(0.5)  # slots from before all sources were there have passed
        latency(bed, bed.watch("lab", seconds), outcome)
        bed.star.set_all(CLEAN)
        closed_account(bed, site, nodes, outcome)
        outcome.seconds = seconds
        if outcome.tuples.fused < outcome.tuples.sent / 2:
            outcome.faults.append(f"only {outcome.tuples.fused} of {outcome.tuples.sent} tuples were fused")
    return outcome


def lossy(options):
    return impaired(options, "lossy", Impairment(loss=0.05, delay_ms=20, jitter_ms=10), options.seconds(20, 5))


def reordering(options):
    return impaired(options, "reordering", Impairment(delay_ms=20, reorder=0.25), options.seconds(10, 3))


def narrow(options):
    """One board's link carries less than its frames need: its small spool overflows."""
    slow = Impairment(rate_kbit_s=100, delay_ms=5)
    bed, site, outcome = begun(options, "narrow", 2, slow)
    with bed.closing(outcome):
        nodes = [bed.panel_node(0, site, uplink="spool_frames = 100"), bed.panel_node(1, site)]
        bed.wait_for_sources(site.sources)
        bed.star.set(0, slow)
        latency(bed, bed.watch("lab", 10), outcome)
        bed.star.set(0, CLEAN)
        closed_account(bed, site, nodes, outcome, may_count_twice=("south",))
        outcome.notes.append(f"{outcome.tuples.twice} tuples arrived although the full spool had dropped them")
        if not outcome.tuples.dropped:
            outcome.faults.append("the spool has not overflown: the scenario tests nothing")
    return outcome


def two_cut_off(options, scenario, impairment, uplink, may_count_twice=()):
    """Two of four boards are cut off; late frames are fused in afterwards. The outcome, and the frames on their disks as the links heal.

    `uplink(bed, board)`: further keys of that table.
    """
    cut_s = options.seconds(30, 6)
    bed, site, outcome = begun(options, scenario, 4, impairment, late="revise")
    on_disk = []
    with bed.closing(outcome):
        nodes = [bed.panel_node(board, site, uplink=uplink(bed, board)) for board in range(4)]
        bed.wait_for_sources(SOURCES)
        bed.star.set_all(impairment)
        watch = bed.watch("lab", cut_s + 10)
        time.sleep(2)
        for board in (0, 1):
            bed.star.set(board, CUT)
        time.sleep(cut_s)
        on_disk = [node.metrics().total("tributary_uplink_disk_frames") for node in nodes[:2]]
        for board in (0, 1):
            bed.star.set(board, impairment)
        recovery(bed, SOURCES[:2], outcome)
        latency(bed, watch, outcome)
        closed_account(bed, site, nodes, outcome, may_count_twice)
        outcome.seconds = cut_s
    return outcome, on_disk


def partition(options):
    """One of the two boards has too small a spool for the outage."""
    outcome, _ = two_cut_off(options, "partition", Impairment(delay_ms=20, jitter_ms=10),
                             lambda bed, board: "spool_frames = 300" if board == 1 else "", may_count_twice=(SOURCES[1],))
    if outcome.tuples and not outcome.tuples.dropped:
        outcome.faults.append("the small spool has dropped nothing: the scenario tests nothing")
    return outcome


def spooled(options):
    """Both boards have the small spool, and a folder; their links are lossy besides. Nothing may be lost."""
    def folder(bed, board):
        return f'spool_frames = 300\nspool_dir = "{bed.scratch}/spool-{board}"\nresend_hz = 1000.0' if board < 2 else ""

    outcome, on_disk = two_cut_off(options, "spooled", Impairment(loss=0.05, delay_ms=20, jitter_ms=10), folder)
    if not outcome.tuples:
        return outcome
    outcome.notes.append(f"frames on the disks when the links healed: {on_disk[0]:.0f} and {on_disk[1]:.0f}")
    if outcome.tuples.dropped or outcome.tuples.refused:
        outcome.faults.append(f"{outcome.tuples.dropped} tuples were dropped and {outcome.tuples.refused} refused, although the disks had room")
    if min(on_disk) < 100 * (outcome.seconds - 4):
        outcome.faults.append("fewer frames on the disks than the outage made: the scenario tests nothing")
    return outcome


def reboot(options):
    """A board loses its power: its link and its node end at once, without a farewell. It comes back after three seconds."""
    delayed = Impairment(delay_ms=20, jitter_ms=10)
    bed, site, outcome = begun(options, "reboot", 4, delayed)
    with bed.closing(outcome):
        nodes = [bed.panel_node(board, site) for board in range(4)]
        bed.wait_for_sources(SOURCES)
        bed.star.set_all(delayed)
        time.sleep(2)
        bed.star.set(0, CUT)
        nodes[0].kill()
        time.sleep(3)
        # What arrived before the cut; the rest went with the node's memory, and slots without it count as missed.
        before = bed.hub.metrics()
        bed.star.set(0, delayed)
        nodes[0].start()
        recovery(bed, SOURCES[:1], outcome)
        time.sleep(2)
        bed.star.set_all(CLEAN)
        metrics = closed_account(bed, site, nodes, outcome, since={SOURCES[0]: before})
        missed = metrics.total("tributary_leaf_missed_slots_total", leaf=SOURCES[0])
        outcome.notes.append(f"{SOURCES[0]}: {missed:.0f} slots counted as missed")
        if missed < 3 * 100:
            outcome.faults.append("three seconds at 100 slots/s without a board, and fewer slots counted as missed")
    return outcome


class ShiftedClock:
    """The wall clock of one board's node: a library that is loaded before the system's adds the shift in this file."""

    def __init__(self, options, folder):
        self.file = folder / "clock-shift"
        self.environment = [f"LD_PRELOAD={options.clock_shift}", f"TRIBUTARY_CLOCK_SHIFT={self.file}"]
        self.shift(0)

    def shift(self, seconds):
        """In place: the node has the file mapped."""
        with self.file.open("r+b" if self.file.exists() else "w+b") as file:
            file.write(struct.pack("q", int(seconds * 1e9)))


def clock(options):
    """A board's clock jumps five seconds ahead, comes back, falls behind by more than the site's max_age_s, and comes back."""
    bed, site, outcome = begun(options, "clock", 2, CLEAN, max_age_s=10.0)
    with bed.closing(outcome):
        shifted = ShiftedClock(options, bed.scratch)
        nodes = [bed.panel_node(0, site, environment=shifted.environment), bed.panel_node(1, site)]
        bed.wait_for_sources(site.sources)
        time.sleep(1)
        for jump_s in (5, -60):
            shifted.shift(jump_s)
            time.sleep(2)
            shifted.shift(0)
            recovery(bed, SOURCES[:1], outcome)
            time.sleep(1)
        closed_account(bed, site, nodes, outcome)
        for reason in ("epoch_future", "epoch_past"):
            if not outcome.tuples.refused.get(reason):
                outcome.faults.append(f"no tuple was refused as {reason}: the clock has not jumped")
    return outcome
