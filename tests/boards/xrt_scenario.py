"""Boards with programmable logic: each has a software device of its own, two panels and the fusion kernel."""

import subprocess

from bed import Bed, Site, panel, wait_for
from fusion_scenarios import latency
from impairment import CLEAN, Impairment
from ledger import Account, account
from report import Outcome

BAD = Impairment(loss=0.02, delay_ms=10, jitter_ms=5)
PAIRS = (("south", "east"), ("north", "west"))
RATE_HZ = 2.0  # the devices are simulated clock by clock: a subject takes some 5 ms of a processor's time
SUBJECTS = 2


def board_settings(bed, name, walls, xclbin):
    device = f'accelerator = "xrt"\nxclbin = "{xclbin}"\nrun_timeout_ms = 20000\n'
    panels = "".join(panel(bed.root, wall, f"{name}-{wall}", SUBJECTS, RATE_HZ, device) for wall in walls)
    return f"[fusion]\n{device}deadline_ms = 2000.0\n{panels}"


def xrt(options):
    """Two sites with two boards each: all four devices run at once."""
    outcome = Outcome("xrt", str(BAD), 2 * len(PAIRS))
    device = options.bin.parent / "xrt"
    if not (device / "lib").exists():
        outcome.skipped = "the build has no software device (-DTRIBUTARY_XRT=ON)"
        return outcome
    scratch = options.scratch("xrt")
    xclbin = scratch / "board.xclbin"
    subprocess.run([options.bin / "tributary-xclbin", "--output", xclbin, "--kernel", "positioning_kernel:2", "--kernel", "fusion_kernel"],
                   check=True, capture_output=True)
    bed = Bed(options.root, options.bin, scratch, outcome.boards)
    outcome.link_kind = bed.star.links.kind
    boards = {f"{room}{number}": walls for room in ("lab", "hall") for number, walls in enumerate(PAIRS)}
    sites = [Site(room, [f"{name}-{wall}" for name, walls in boards.items() if name.startswith(room) for wall in walls],
                  slot_ms=500.0, deadline_ms=4000.0) for room in ("lab", "hall")]
    with bed.closing(outcome):
        bed.aggregator("".join(site.table for site in sites))
        nodes = [bed.node(number, name, board_settings(bed, name, walls, xclbin), sites[number // len(PAIRS)],
                          environment=[f"XILINX_XRT={device}"]) for number, (name, walls) in enumerate(boards.items())]

        def fused_by_all():
            return all(bed.hub.metrics().total("tributary_source_frames_accepted_total", source=name) >= 3 for name in boards)

        wait_for("three frames of each board", fused_by_all, 120)
        bed.star.set_all(BAD)
        latency(bed, bed.watch("lab", options.seconds(20, 8)), outcome)
        bed.star.set_all(CLEAN)
        summaries = [node.ended() for node in nodes]
        metrics = bed.hub.metrics()
        outcome.tuples = Account()
        for summary in summaries:
            its = account(summary, metrics, [summary["node"]])
            outcome.faults += its.faults(summary["node"])
            outcome.tuples += its
            runs = summary["fusion"]
            outcome.notes.append(f"{summary['node']}: {runs['slots']} slots of two panels fused on the board, {runs['incomplete_slots']} with one, "
                                 f"{runs['failed_slots']} failed, {runs['dropped_slots']} dropped")
            if not runs["slots"] or runs["incomplete_slots"] == runs["slots"]:
                outcome.faults.append(f"{summary['node']}: no slot had both panels")
    return outcome
