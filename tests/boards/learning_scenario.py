"""Five nodes learn over bad links: the run must end with the same bits as over clean ones."""

import json
import time

from bed import Bed, wait_for
from impairment import CLEAN, CUT, Impairment
from report import Outcome

NODES = 5
BAD = Impairment(loss=0.05, delay_ms=20, jitter_ms=10)
RUN = """name = "letters"
rounds = {rounds}
min_nodes = 5
quorum = 5
deadline_s = 120.0
[encoder]
channels = [8, 16]
grid = 1
[client]
local_steps = 2
batch = 8
encoding = "int8"
"""


def digest_of_run(bed, rounds, impairment, cut_s):
    """The SHA-256 of the parameters after the last round. With `cut_s`, a node is cut off for that long in the middle."""
    bed.aggregator(f'[federation]\nstore = "{bed.scratch}/store"\n')
    nodes = [bed.node(number, f"learner-{number}", f'[federation]\nimages = "glyphs"\nglyphs = 120\nshards = {NODES}\nshard_index = {number}\n')
             for number in range(NODES)]
    bed.star.set_all(impairment)
    run = bed.scratch / "run.toml"
    run.write_text(RUN.format(rounds=rounds), encoding="utf-8")
    bed.tributary("start", "run", "start", run).finish()

    def shown():
        return json.loads(bed.hub.get("/api/v1/runs/letters") or "{}").get("run", {})

    def committed(count):
        return lambda: shown().get("committed_rounds", 0) >= count

    if cut_s:
        wait_for("half of the rounds", committed(rounds // 2), 120)
        bed.star.set(0, CUT)
        time.sleep(cut_s)
        bed.star.set(0, impairment)
    wait_for("all rounds", committed(rounds), 120)
    bed.star.set_all(CLEAN)
    failed = shown().get("failed_rounds", 0)
    summaries = [node.ended() for node in nodes]
    return shown()["model_sha256"], failed, sum(summary["learner"]["repeated_submissions"] for summary in summaries)


def learning(options):
    cut_s = options.seconds(30, 6)
    outcome = Outcome("learning", f"{BAD}; one node cut for {cut_s} s", NODES)
    rounds = int(options.seconds(20, 6))
    digests = {}
    for name, impairment in (("clean", CLEAN), ("bad", BAD)):
        bed = Bed(options.root, options.bin, options.scratch(f"learning-{name}"), NODES)
        outcome.link_kind = bed.star.links.kind
        with bed.closing(outcome):
            began = time.monotonic()
            digests[name], failed, repeated = digest_of_run(bed, rounds, impairment, cut_s if name == "bad" else 0)
            outcome.notes.append(f"{name}: {rounds} rounds in {time.monotonic() - began:.1f} s, {failed} failed rounds, "
                                 f"{repeated} updates sent again, model {digests[name][:16]}")
    if not outcome.faults and digests["clean"] != digests["bad"]:
        outcome.faults.append("the model after the last round is not that of the run over clean links")
    return outcome
