"""The bed's accounts, judgements and models find what is planted, and find nothing in what is sound. No daemon, no network."""

import random
import sys
import unittest

import growth
import probe
from exposition import Metrics
from impairment import CUT, Direction, Impairment
from ledger import Account, account, slot_faults, unexpected_faults


def summary(tuples=1000, dropped=0, **refused):
    return {"node": "south", "tuples": tuples, "dropped_tuples": dropped, "missed_frames": 0, "refused_tuples_by_reason": refused}


def metrics(accepted, gated=0, slots=0, frames=0, missed=0):
    return Metrics(f'''# HELP tributary_source_tuples_accepted_total Tuples.
tributary_source_tuples_accepted_total{{site="lab",source="south"}} {accepted}
tributary_source_tuples_accepted_total{{site="lab",source="north"}} 77777
tributary_source_tuples_gated_total{{site="lab",source="south"}} {gated}
tributary_slots_fused_total{{end="complete",site="lab"}} {slots - 1}
tributary_slots_fused_total{{end="deadline",site="lab"}} 1
tributary_source_frames_accepted_total{{site="lab",source="south"}} {frames}
tributary_leaf_missed_slots_total{{leaf="south",site="lab"}} {missed}
''')


class LedgerTest(unittest.TestCase):
    def test_closes_over_every_outcome(self):
        its = account(summary(1000, dropped=100, late=40, gated=7), metrics(860, gated=10), ["south"])
        self.assertEqual((its.fused, its.gated, its.refused, its.left), (850, 10, {"late": 40}, 0))
        self.assertEqual(its.faults("south"), [])
        self.assertAlmostEqual(its.late_share, 0.04)

    def test_finds_one_tuple_that_is_counted_nowhere(self):
        self.assertEqual(account(summary(1000), metrics(999), ["south"]).uncounted, 1)
        self.assertTrue(account(summary(1000), metrics(999), ["south"]).faults("south"))

    def test_finds_one_tuple_that_is_counted_twice(self):
        its = account(summary(1000), metrics(1001), ["south"])
        self.assertEqual(its.twice, 1)
        self.assertTrue(its.faults("south"))
        self.assertTrue(its.faults("south", may_count_twice=True), "nothing was dropped: it cannot have arrived all the same")

    def test_a_dropped_frame_may_have_arrived_where_the_scenario_says_so(self):
        its = account(summary(1000, dropped=50), metrics(960), ["south"])
        self.assertTrue(its.faults("south"))
        self.assertEqual(its.faults("south", may_count_twice=True), [])

    def test_a_node_that_sent_nothing_proves_nothing(self):
        self.assertTrue(Account().faults("south"))

    def test_counts_since_a_reboot(self):
        self.assertEqual(account(summary(100), metrics(1100), ["south"], before=metrics(1000)).left, 0)

    def test_finds_outcomes_that_no_scenario_should_have(self):
        self.assertEqual(unexpected_faults(Metrics('tributary_tuples_redundant_total{site="lab"} 0\n')), [])
        self.assertTrue(unexpected_faults(Metrics('tributary_tuples_redundant_total{site="lab"} 1\n')))

    def test_each_slot_has_the_source_or_counts_it_as_missed(self):
        self.assertEqual(slot_faults(metrics(0, slots=50, frames=40, missed=10), ["south"]), [])
        self.assertTrue(slot_faults(metrics(0, slots=50, frames=40, missed=9), ["south"]))

    def test_the_sum_of_nodes_keeps_reasons(self):
        both = Account(sent=3, refused={"late": 1}) + Account(sent=4, refused={"late": 2, "shape": 1})
        self.assertEqual((both.sent, both.refused), (7, {"late": 3, "shape": 1}))


class DirectionTest(unittest.TestCase):
    def dues(self, impairment, packets=4000, size=1000):
        direction = Direction(1)
        direction.impairment = impairment
        return [direction.due_s(0.001 * number, size) for number in range(packets)]

    def test_loses_its_share(self):
        lost = sum(due is None for due in self.dues(Impairment(loss=0.05)))
        self.assertAlmostEqual(lost / 4000, 0.05, delta=0.014)  # four standard errors
        self.assertTrue(all(due is None for due in self.dues(CUT)))

    def test_delays_within_the_jitter(self):
        delays = [1000 * due - number for number, due in enumerate(self.dues(Impairment(delay_ms=20, jitter_ms=10)))]
        self.assertTrue(10 <= min(delays) < 11 and 29 < max(delays) <= 30)

    def test_a_limited_rate_spaces_packets(self):
        dues = self.dues(Impairment(rate_kbit_s=1000), packets=100)
        self.assertTrue(all(abs(later - earlier - 0.008) < 1e-9 for earlier, later in zip(dues, dues[1:])))

    def test_the_same_seed_gives_the_same_decisions(self):
        self.assertEqual(self.dues(Impairment(loss=0.3, delay_ms=5)), self.dues(Impairment(loss=0.3, delay_ms=5)))

    def test_refuses_what_cannot_be(self):
        for wrong in ({"delay_ms": 5, "jitter_ms": 6}, {"loss": 1.5}, {"reorder": 0.1}, {"rate_kbit_s": -1}):
            with self.assertRaises(ValueError, msg=str(wrong)):
                Impairment(**wrong)

    def test_netem_gets_the_same_values(self):
        words = " ".join(Impairment(delay_ms=20, jitter_ms=10, loss=0.05, rate_kbit_s=500).netem())
        self.assertEqual(words, "limit 10000 delay 20ms 10ms loss random 5% rate 500kbit")


class JudgementTest(unittest.TestCase):
    """A link that was measured is judged by what was asked."""

    IDLE = probe.Measured(1500, [0.05] * 1500, 0, 1e9)

    def measured(self, delay_ms, jitter_ms, loss):
        chance = random.Random(1)
        delays = [0.05 + delay_ms + chance.uniform(-jitter_ms, jitter_ms) for _ in range(1500) if chance.random() >= loss]
        return probe.Measured(1500, delays, 300, 1e6)

    def test_takes_what_was_asked(self):
        self.assertEqual(probe.faults(self.measured(20, 10, 0.05), Impairment(20, 10, 0.05), self.IDLE), [])

    def test_finds_each_value_that_differs(self):
        asked = Impairment(20, 10, 0.05)
        for name, wrong in {"delay": (22, 10, 0.05), "spread": (20, 5, 0.05), "loss": (20, 10, 0.01)}.items():
            found = probe.faults(self.measured(*wrong), asked, self.IDLE)
            self.assertTrue(len(found) == 1 and found[0].startswith(name), found)


class GrowthTest(unittest.TestCase):
    def samples(self, mib_per_hour):
        chance = random.Random(1)
        return [(second, 2**20 * (30 + second * mib_per_hour / 3600 + chance.gauss(0, 0.05))) for second in range(0, 900, 5)]

    def test_finds_a_leak_of_two_bytes_a_slot(self):
        # 2,000 slots/s × 2 bytes × 3,600 s.
        self.assertTrue(growth.memory_faults("aggregator", self.samples(13.7), 8))

    def test_takes_flat_memory_and_one_that_fills_at_the_beginning(self):
        flat = self.samples(0)
        self.assertEqual(growth.memory_faults("aggregator", flat, 8), [])
        filling = [(second, value - max(0, 250 - second) * 2**16) for second, value in flat]
        self.assertEqual(growth.memory_faults("aggregator", filling, 8), [])

    def test_finds_descriptors_that_stay_open(self):
        self.assertTrue(growth.descriptor_faults("node", [(second, 20 + second // 60) for second in range(0, 900, 5)], 2))
        self.assertEqual(growth.descriptor_faults("node", [(second, 20 + second % 3) for second in range(0, 900, 5)], 2), [])


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False).result.wasSuccessful() else 1)
