"""The whole service at full rate for an hour: memory and descriptors stay flat, and every tuple is counted.

usage: soak.py --root FOLDER --bin FOLDER [--minutes N] [--rate-hz N] [--json FILE]
Four nodes with one panel each, two watchers, a reader of server-sent events as the page is one, and a run of federated learning
with two more nodes, each on a machine of its own. MINUTES in the environment is another way to say --minutes.
Exit status: 0 all is well, 1 faults (one line each), 77 not here, with the reason.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

import growth
from bed import HTTP_PORT, WALLS, Bed, Remote, Site, panel, wait_for
from fusion_scenarios import closed_account
from links import PlainLinks
from namespace import in_own_namespaces
from report import Outcome, table

SAMPLE_S = 5
SUBJECTS = 16
LEARNERS = 2
# A leak of three bytes a slot at 2,000 slots/s is 20 MiB/h.
MOST_MIB_PER_HOUR = 8
MOST_MORE_DESCRIPTORS = 3
RUN = 'name = "soak"\nrounds = 1000000\ndeadline_s = 120.0\n[client]\nlocal_steps = 20\nbatch = 32\n'


def usage(program):
    """Resident bytes and open descriptors of a process that runs."""
    folder = pathlib.Path(f"/proc/{program.process.pid}")
    pages = int((folder / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(list((folder / "fd").iterdir()))


def cpu_seconds(program):
    fields = pathlib.Path(f"/proc/{program.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Samples:
    def __init__(self, programs):
        self.programs = programs
        self.bytes, self.descriptors = ({program.name: [] for program in programs} for _ in range(2))

    def take(self, now_s):
        for program in self.programs:
            if program.process.poll() is not None:
                raise RuntimeError(f"{program.name} has ended with {program.process.returncode} after {now_s:.0f} s")
            used, descriptors = usage(program)
            self.bytes[program.name].append((now_s, used))
            self.descriptors[program.name].append((now_s, descriptors))

    def faults(self):
        found = []
        for name, samples in self.bytes.items():
            found += growth.memory_faults(name, samples, MOST_MIB_PER_HOUR)
            found += growth.descriptor_faults(name, self.descriptors[name], MOST_MORE_DESCRIPTORS)
        return found

    def notes(self):
        return [f"{name}: {samples[len(samples) // 3][1] / 2**20:.1f} MiB after a third of the time, {samples[-1][1] / 2**20:.1f} at the end, "
                f"{growth.slope(growth.settled(samples)) * 3600 / 2**20:+.1f} MiB/h, {self.descriptors[name][-1][1]} descriptors"
                for name, samples in self.bytes.items()]


def start_all(bed, site, rate_hz):
    bed.aggregator(f'[federation]\nstore = "{bed.scratch}/store"\nkeep_models = 2\n{site.table}')
    nodes = [bed.node(board, wall, panel(bed.root, wall, "", SUBJECTS, rate_hz), site) for board, wall in enumerate(WALLS)]
    learners = [bed.node(len(WALLS) + number, f"learner-{number}",
                         f'[federation]\nimages = "glyphs"\nglyphs = 500\nshards = {LEARNERS}\nshard_index = {number}\n')
                for number in range(LEARNERS)]
    for learner in learners:
        os.setpriority(os.PRIO_PROCESS, learner.process.pid, 15)  # training takes all that the panels leave
    run = bed.scratch / "run.toml"
    run.write_text(RUN, encoding="utf-8")
    bed.tributary("start", "run", "start", run).finish()
    bed.wait_for_sources(site.sources)
    return nodes, learners


def soak(arguments, folder):
    outcome = Outcome("soak", "clean", len(WALLS) + LEARNERS, seconds=60 * arguments.minutes)
    bed = Bed(arguments.root.resolve(), arguments.bin.resolve(), folder, outcome.boards, links=PlainLinks)
    outcome.link_kind = bed.star.links.kind
    site = Site("lab", WALLS, slot_ms=1000 / arguments.rate_hz, deadline_ms=100.0, max_age_s=2.0, further=f"max_subjects = {SUBJECTS}\n")
    with bed.closing(outcome):
        nodes, learners = start_all(bed, site, arguments.rate_hz)
        watches = [bed.watch("lab", outcome.seconds, f"watch-{number}") for number in range(2)]
        events = f"http://127.0.0.1:{HTTP_PORT['aggregator']}/api/v1/events?site=lab&rate_hz=20"
        page = Remote(bed, bed.star.hub, "page", ["curl", "--silent", "--no-buffer", "--output", "/dev/null",
                                                  "--write-out", "%{size_download}", "--max-time", f"{outcome.seconds:.0f}", events])
        samples = Samples([bed.hub, *nodes, *learners, *watches])
        began, next_s = time.monotonic(), 0.0
        # The watchers end with the time: a sample in their last seconds could find them gone.
        while (now_s := time.monotonic() - began) < outcome.seconds - 2 * SAMPLE_S:
            samples.take(now_s)
            next_s += SAMPLE_S
            time.sleep(max(0.0, began + next_s - time.monotonic()))
        outcome.notes.append(f"CPU, cores: aggregator {cpu_seconds(bed.hub) / now_s:.2f}, nodes "
                             f"{sum(map(cpu_seconds, nodes)) / now_s:.2f}, load average {os.getloadavg()[2]:.1f}")
        wait_for("the readers' end", lambda: all(reader.process.poll() is not None for reader in (*watches, page)), 60)
        seen = [json.loads((bed.scratch / f"{watch.name}.json").read_text()) for watch in watches]
        outcome.latency_ms = {each: seen[0]["latency_us"][each] / 1000 for each in ("p50", "p99")}
        outcome.notes += [f"{watch.name}: {one['fused_per_s']:.0f} tuples/s, {one['skipped_slots']} slots skipped, "
                          f"{one['incomplete_slots']} incomplete" for watch, one in zip(watches, seen)]
        outcome.notes.append(f"page: {page.log.read_text().strip()} bytes of events")
        rounds = json.loads(bed.hub.get("/api/v1/runs/soak"))["run"]
        outcome.notes.append(f"run: {rounds.get('committed_rounds', 0)} rounds committed, {rounds.get('failed_rounds', 0)} failed")
        if not rounds.get("committed_rounds"):
            outcome.faults.append("the run has not committed a round")
        for learner in learners:
            learner.ended()
        closed_account(bed, site, nodes, outcome)
        outcome.notes.append(f"{outcome.tuples.missed_frames} frames that the sources could not give in time")
        outcome.notes += samples.notes()
        outcome.faults += samples.faults()
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("MINUTES", "60")))
    parser.add_argument("--rate-hz", type=float, default=2000.0)
    parser.add_argument("--json", type=pathlib.Path, help="writes the outcome to this file")
    arguments = parser.parse_args()
    if arguments.minutes < 5:
        parser.error("--minutes: at least 5, or memory has not settled")
    with tempfile.TemporaryDirectory(prefix="tributary-soak-") as folder:
        outcome = soak(arguments, pathlib.Path(folder))
    print(f"links: {outcome.link_kind}; {arguments.minutes:g} minutes at {arguments.rate_hz:g} slots/s")
    print(table([outcome]))
    if arguments.json:
        arguments.json.write_text(json.dumps(outcome.json(), indent=1) + "\n", encoding="utf-8")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(in_own_namespaces(__file__, main))
