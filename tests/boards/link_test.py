"""The test bed's links do what is asked of them: loss, delay, jitter, reordering, rate and partition, measured in both directions.

usage: link_test.py
Takes some 20 s. Exit status: 0 all is well, 1 faults (one line each), 77 not here, with the reason.
"""

import sys

import probe
from namespace import in_own_namespaces
from impairment import CLEAN, CUT, Impairment
from links import NotHere, Star, board_address, hub_address

ASKED = [
    Impairment(loss=0.05, delay_ms=20, jitter_ms=10),
    Impairment(delay_ms=20, reorder=0.25),
    Impairment(rate_kbit_s=1000),
    CUT,
]


def measure(star, upwards, asked):
    ends = (star.boards[0], star.hub, hub_address(0)) if upwards else (star.hub, star.boards[0], board_address(0))
    if asked.rate_kbit_s:
        # At once more than the link carries in a second: the arrivals show its rate.
        return probe.measure(*ends, packets=200, interval_s=0, size_bytes=1000)
    return probe.measure(*ends, packets=200 if asked == CUT else 1500)


def measured_faults(star):
    found = []
    star.set(0, CLEAN)
    idle = measure(star, True, CLEAN)
    print(f"no impairment: {100 * idle.loss:.1f} % lost, delay {idle.quartiles_ms()[1]:.2f} ms", flush=True)
    found += [f"no impairment: {fault}" for fault in probe.faults(idle, CLEAN, idle)]
    # A measurement that finds every link good would prove nothing: this one is clean, and must fail for what it is not.
    for wrong in ASKED:
        if not probe.faults(idle, wrong, idle):
            found.append(f"a clean link passes for one with {wrong}")
    for asked in ASKED:
        star.set(0, asked)
        for upwards in (True, False):
            got = measure(star, upwards, asked)
            low, middle, high = got.quartiles_ms()
            print(f"{asked}, {'up' if upwards else 'down'}: {100 * got.loss:.1f} % lost, delay {middle:.2f} ms, middle half {high - low:.2f} ms, "
                  f"{got.overtaken} overtaken, {got.arrived_bit_s / 1000:.0f} kbit/s", flush=True)
            found += [f"{asked}, {'up' if upwards else 'down'}: {fault}" for fault in probe.faults(got, asked, idle)]
    star.set(0, CLEAN)
    if measure(star, True, CLEAN).loss:
        found.append("a link that was cut and is whole again still loses packets")
    return found


def main():
    try:
        star = Star(1)
    except NotHere as reason:
        print(f"skipped: {reason}")
        return 77
    print(star.links.kind)
    try:
        found = measured_faults(star)
    finally:
        star.stop()
    for fault in found:
        print(f"fault: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(in_own_namespaces(__file__, main))
