"""The client against the daemons as they are released."""

import importlib.util
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from daemons import BIN, ROOT, Folder, eventually  # noqa: E402

from tributary import Aggregator, Reporter, Slot, Source, TributaryError  # noqa: E402
from tributary.slot import SlotReader, covariance  # noqa: E402
from tributary.v1 import fusion_pb2 as fusion  # noqa: E402

ROOM = '[[site]]\nname = "room"\nsources = ["south", "east", "north", "west"]\ndeadline_ms = 1000.0\n'
BENCH = '[[site]]\nname = "bench"\nsources = ["probe"]\n'
AIR = '[[site]]\nname = "air"\nsources = ["roof"]\nclasses = ["BPSK", "QPSK"]\n'
UNIT = ((1.0, 0.0), (0.0, 1.0))


class ClientTest(unittest.TestCase):
    """A folder of its own for each test."""

    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def connect(self, **options):
        aggregator = Aggregator(self.folder.address, **options)
        self.addCleanup(aggregator.close)
        return aggregator

    def reporter(self, site="bench", source=Source("probe"), **options):
        reporter = Reporter(site, "walker", [source], address=self.folder.address, **options)
        self.addCleanup(reporter.close, 0)
        return reporter


class WatchTest(ClientTest):
    def test_shows_the_simulated_room_with_units_and_shapes(self):
        self.folder.aggregator(ROOM)
        self.folder.room_node("room")
        complete = None
        for slot in self.connect().watch(contributions=1):
            if len(slot.contributors[0]) == 4 and slot.contributions:
                complete = slot
                break
        self.assertEqual(complete.site, "room")
        self.assertEqual(complete.leaves, ("south", "east", "north", "west"))
        self.assertEqual(len(complete.subjects), 2)
        for mean, matrix in zip(complete.means, complete.covariances()):
            self.assertTrue(all(abs(x) <= 5 for x in mean), "the room is 10 m wide")
            self.assertEqual([len(row) for row in matrix], [2, 2])
            self.assertGreater(matrix[0][0] * matrix[1][1], matrix[0][1] * matrix[1][0])
            self.assertLess(matrix[0][0], 1, "m²")
        self.assertLess(abs(complete.time_unix_ns - time.time_ns()), 60e9)
        self.assertEqual({each.source for each in complete.contributions}, set(complete.leaves))
        self.assertTrue(all(each.fate == "fused" for each in complete.contributions))

    def test_goes_on_after_the_aggregator_came_back(self):
        aggregator = self.folder.aggregator(BENCH)
        reporter, stop, x = self.reporter(), threading.Event(), [0.0]

        def keep_sending():
            while not stop.wait(0.02):
                reporter.send([1], means=[(x[0], 0.0)], cholesky=[UNIT])

        sender = threading.Thread(target=keep_sending)
        sender.start()
        self.addCleanup(sender.join)
        self.addCleanup(stop.set)
        slots = self.connect().watch("bench")
        self.assertEqual(next(slots).means[0][0], 0)
        self.folder.stop(aggregator)
        x[0] = 1.0
        self.folder.aggregator(BENCH)
        self.assertTrue(any(slot.means[0][0] == 1 for slot in slots))

    def test_says_what_is_wrong(self):
        with self.assertRaisesRegex(TributaryError, "is the aggregator running") as raised:
            next(self.connect(timeout_s=2).watch("room"))
        self.assertEqual(raised.exception.code, grpc.StatusCode.UNAVAILABLE)
        self.folder.aggregator(ROOM + BENCH)
        with self.assertRaisesRegex(TributaryError, "which has room, bench") as raised:
            next(self.connect().watch("nowhere"))
        self.assertEqual(raised.exception.code, grpc.StatusCode.NOT_FOUND)
        with self.assertRaisesRegex(ValueError, "has 2 sites: name one of room, bench"):
            next(self.connect().watch())
        with self.assertRaisesRegex(TributaryError, r"\[federation\]"):
            self.connect().runs()
        closed = self.connect()
        closed.close()
        with self.assertRaises((TributaryError, ValueError)):
            next(closed.watch("room"))

    def test_lists_nodes_and_sites(self):
        self.folder.aggregator(BENCH)
        reporter = self.reporter()
        reporter.send([1], means=[(0, 0)], cholesky=[UNIT])
        self.assertTrue(reporter.wait())
        aggregator = self.connect()
        self.assertEqual(aggregator.sites(), ["bench"])
        (node,) = aggregator.nodes("bench")
        self.assertEqual((node.name, node.connected, list(node.sources)), ("walker", True, ["probe"]))


    def test_a_node_tells_how_it_is(self):
        self.folder.aggregator(ROOM)
        self.folder.room_node("room")
        aggregator = self.connect()

        def said():
            nodes = aggregator.nodes("room")
            return nodes[0] if nodes and nodes[0].status.offered_frames else None

        node = eventually(said)
        self.assertRegex(node.status.version, r"^\d+\.\d+\.\d+")
        self.assertLess(abs(node.status.started_unix_ns - time.time_ns()), 300e9)
        self.assertEqual(list(node.status.problems), [])
        self.assertGreater(node.status_unix_ns, node.status.started_unix_ns)
        listed = subprocess.run([BIN / "tributary", "status", "--aggregator", self.folder.address], check=True,
                                capture_output=True, text=True).stdout
        self.assertRegex(listed, r"NODE +VERSION +UP +HELD")


class ReporterTest(ClientTest):
    def test_tuples_arrive_as_they_were_sent(self):
        self.folder.aggregator(BENCH + AIR)
        reporter = self.reporter()
        roof = self.reporter("air", Source("roof", classes=("BPSK", "QPSK")))
        reporter.send([7], means=[(1.5, -2.0)], cholesky=[((0.5, 0.0), (0.25, 2.0))])
        roof.send([3], log_probabilities=[(-0.6931472, -0.6931472)])
        self.assertTrue(reporter.wait() and roof.wait())
        self.assertEqual((reporter.acknowledged, reporter.refused, reporter.dropped), (1, 0, 0))
        slot = eventually(lambda: self.folder.get("/api/v1/sites/bench"))
        self.assertIn('"means":[1.5,-2]', slot)
        self.assertIn('"cholesky":[0.5,0.25,2]', slot)
        self.assertIn('"subjects":[3]', eventually(lambda: self.folder.get("/api/v1/sites/air")))

    def test_a_refusal_is_told(self):
        self.folder.aggregator(BENCH)
        reporter = self.reporter()
        for _ in range(2):
            reporter.send([1], means=[(0, 0)], cholesky=[UNIT], captured_unix_ns=5)
        self.assertTrue(reporter.wait())
        self.assertEqual(reporter.refused, 2)
        self.assertIn("epoch", reporter.last_refusal)

    def test_a_node_that_the_aggregator_refuses_is_an_error(self):
        self.folder.aggregator(BENCH)
        reporter = self.reporter("bench", Source("stranger"))
        reporter.send([1], means=[(0, 0)], cholesky=[UNIT])
        with self.assertRaisesRegex(TributaryError, "stranger"):
            reporter.wait()
        with self.assertRaises(TributaryError):
            reporter.send([1], means=[(0, 0)], cholesky=[UNIT])

    def test_keeps_the_newest_frames_while_nobody_listens_and_sends_them_later(self):
        reporter = self.reporter(capacity=3)
        for x in range(5):
            reporter.send([1], means=[(x, 0)], cholesky=[UNIT], captured_unix_ns=time.time_ns() + x * 1_000_000)
        self.assertEqual(reporter.dropped, 2)
        self.folder.aggregator(BENCH + "max_age_s = 0\nmax_lead_s = 0\n")
        self.assertTrue(reporter.wait(30))
        self.assertEqual((reporter.acknowledged, reporter.dropped), (3, 2))
        self.assertIn('"accepted_frames":"3"', self.folder.get("/api/v1/sites"))

    def test_counts_what_it_could_not_send(self):
        reporter = Reporter("bench", "walker", [Source("probe")], address=self.folder.address)
        reporter.send([1], means=[(0, 0)], cholesky=[UNIT])
        reporter.close(drain_s=0.1)
        self.assertEqual((reporter.acknowledged, reporter.dropped), (0, 1))
        with self.assertRaisesRegex(TributaryError, "closed"):
            reporter.send([1], means=[(0, 0)], cholesky=[UNIT])

    def test_refuses_arrays_that_do_not_fit(self):
        reporter = self.reporter()
        for means, cholesky in (((), [UNIT]), ([(0, 0, 0)], [UNIT]), ([(0, 0)], []), ([(0, 0)], [((1, 1), (0, 1))]),
                                ([(0, 0)], [((1, 0),)]), ([(0, 0), (0, 0)], [UNIT, UNIT])):
            with self.assertRaises(ValueError, msg=f"{means} {cholesky}"):
                reporter.send([1], means=means, cholesky=cholesky)
        with self.assertRaises(ValueError):
            reporter.send([1], log_probabilities=[(0, 0)])


class TlsTest(ClientTest):
    def test_speaks_mutual_tls(self):
        certs = self.folder.path / "certs"
        subprocess.run([BIN / "tributary", "certs", "--out", certs, "--server", "aggregator=127.0.0.1", "--name", "desk"],
                       check=True, capture_output=True)
        files = "".join(f'{key} = "{certs}/{name}"\n' for key, name in
                        (("certificate", "aggregator.pem"), ("key", "aggregator.key"), ("ca", "ca.pem")))
        self.folder.aggregator(BENCH, f'[tls]\n{files}[access]\nviewers = ["desk"]\n')
        tls = {"certificate": certs / "desk.pem", "key": certs / "desk.key", "ca": certs / "ca.pem"}
        self.assertEqual(self.connect(**tls).sites(), ["bench"])
        with self.assertRaises(TributaryError):
            self.connect(timeout_s=2).sites()
        with self.assertRaisesRegex(ValueError, "all three, or none"):
            Aggregator(self.folder.address, ca=certs / "ca.pem")


class HttpTest(ClientTest):
    """What a page in a browser asks for."""

    PLAN = ROOM + """truth = "room:seed=1,snapshots=50"
[site.room]
bounds = [-5.0, -5.0, 5.0, 5.0]
[site.room.origin]
latitude_deg = 55.7
longitude_deg = 13.2
"""

    def event(self, query, last=""):
        """The id and the data of the first event."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.folder.http}/api/v1/events?site=room&{query}",
                                         headers={"Last-Event-ID": last} if last else {})
        with urllib.request.urlopen(request, timeout=30) as stream:
            lines = {}
            while "data" not in lines:
                key, _, value = stream.readline().decode().strip().partition(": ")
                lines[key] = value
        return lines["id"], json.loads(lines["data"])

    def test_shows_plan_map_truth_contributions_and_flow(self):
        self.folder.aggregator(self.PLAN)
        self.folder.room_node("room")
        self.assertEqual(json.loads(self.folder.get("/api/v1/sites/room/room"))["max_x_m"], 5)
        def complete():
            _, event = self.event("truth=true&contributions=1&subjects=1")
            return event if event.get("contributions") and event["slot"]["contributors"] == ["15"] else None

        event = eventually(complete)
        self.assertEqual(event["slot"]["subjects"], [1])
        error = math.dist(event["slot"]["means"], event["truth"]["positions"])
        self.assertLess(error, 1, "the model knows this room to some centimetres")
        self.assertEqual(len(event["contributions"]["contributions"]), 4)
        points = json.loads(self.folder.get("/api/v1/sites/room/subjects.geojson"))["features"]
        self.assertEqual(len(points), 2)
        self.assertAlmostEqual(points[0]["geometry"]["coordinates"][1], 55.7, places=3)
        for account in ("frames", "tuples"):
            flow = json.loads(self.folder.get("/api/v1/sites/room/flow"))[account]
            self.assertEqual(int(flow["total"]), sum(int(entry["count"]) for entry in flow["entries"]))
            self.assertGreater(int(flow["total"]), 0)

    def test_a_reader_that_comes_back_is_told_what_it_missed(self):
        self.folder.aggregator(self.PLAN)
        self.folder.room_node("room")
        last, _ = self.event("rate_hz=50")
        time.sleep(0.5)
        again, event = self.event("rate_hz=50", last)
        missed = int(again.split("-")[1]) - int(last.split("-")[1]) - 1
        self.assertGreater(missed, 0)
        self.assertEqual(int(event["skipped_slots"]), missed)

    def test_a_reload_takes_another_plan(self):
        aggregator = self.folder.aggregator(ROOM)
        self.assertEqual(self.folder.get("/api/v1/sites/room/room"), "", "404")
        config = self.folder.path / "aggregator.toml"
        config.write_text(config.read_text() + self.PLAN[len(ROOM):])
        aggregator.send_signal(signal.SIGHUP)
        self.assertIn('"max_x_m":5', eventually(lambda: self.folder.get("/api/v1/sites/room/room")))


class FlowTest(ClientTest):
    """The account of losses against what both sides counted for themselves, after losses that were planted."""

    def flow(self, site):
        said = json.loads(self.folder.get(f"/api/v1/sites/{site}/flow"))
        for account in ("frames", "tuples"):
            self.assertEqual(int(said[account]["total"]), sum(int(entry["count"]) for entry in said[account]["entries"]))
        return said

    def of(self, account, place):
        return sum(int(entry["count"]) for entry in account["entries"] if entry["place"] == place)

    def test_every_frame_of_a_reporter_is_where_it_was_planted(self):
        reporter = self.reporter(capacity=3)
        now = time.time_ns()
        for x in range(5):  # nobody listens: the first two are dropped
            reporter.send([1, 2], means=[(x, 0)] * 2, cholesky=[UNIT] * 2, captured_unix_ns=now + x * 1_000_000)
        self.folder.aggregator(BENCH)
        self.assertTrue(reporter.wait(30))
        sent = 5
        for captured in (now + 4_000_000, now + 4_000_000, now + 3600 * 10**9, now - 3600 * 10**9):
            reporter.send([1, 2], means=[(0, 0)] * 2, cholesky=[UNIT] * 2, captured_unix_ns=captured)
            sent += 1
            self.assertTrue(reporter.wait(30), "or the next frame drops one")
        flow = self.flow("bench")
        self.assertEqual(int(flow["frames"]["total"]), sent)
        self.assertEqual(self.of(flow["frames"], "dropped by nodes"), 2)
        self.assertEqual(self.of(flow["frames"], "refused"), 4, flow)
        self.assertEqual(self.of(flow["frames"], "taken"), 3)
        self.assertEqual(self.of(flow["frames"], "taken") + self.of(flow["frames"], "refused"), reporter.acknowledged)
        reasons = {entry["reason"] for entry in flow["frames"]["entries"] if entry["reason"]}
        self.assertEqual(reasons, {"duplicate", "epoch_future", "epoch_past"})

    def test_each_row_is_the_metric_that_it_names_and_the_node_agrees(self):
        aggregator = self.folder.aggregator(ROOM)
        summary = self.folder.path / "summary.json"
        node = self.folder.room_node("room", "spool_frames = 64\n", "--summary", summary)
        self.assertTrue(eventually(lambda: self.folder.metrics().get('tributary_frames_accepted_total{site="room"}', 0) > 100))
        aggregator.send_signal(signal.SIGSTOP)  # 200 frames a second against a spool of 64
        time.sleep(1.5)
        aggregator.send_signal(signal.SIGCONT)
        before = self.folder.metrics()['tributary_frames_accepted_total{site="room"}']
        self.assertTrue(eventually(lambda: self.folder.metrics()['tributary_frames_accepted_total{site="room"}'] > before + 200))
        self.folder.stop(node)
        own = json.loads(summary.read_text())
        flow, metrics = self.flow("room"), self.folder.metrics()
        for entry in flow["frames"]["entries"] + flow["tuples"]["entries"]:
            name, _, reason = entry["metric"].partition("{reason=")
            if name in ("", "tributary_uplink_dropped_frames_total", "tributary_uplink_spool_frames"):
                continue  # the node's own, below; or no metric
            labels = f'{{reason={reason.rstrip("}")},site="room"}}' if reason else '{site="room"}'
            self.assertEqual(int(entry["count"]), metrics[name + labels], entry)
        self.assertGreater(own["dropped_frames"], 0, "the loss was planted")
        self.assertEqual(self.of(flow["frames"], "dropped by nodes"), own["dropped_frames"])
        self.assertEqual(self.of(flow["frames"], "under way"), 0)
        # A dropped frame may have been in the socket, and arrived all the same: it is then in two rows.
        arrived = self.of(flow["frames"], "taken") + self.of(flow["frames"], "refused")
        self.assertGreaterEqual(arrived, own["acknowledged_frames"])
        twice = int(flow["frames"]["total"]) - own["sent_frames"]
        self.assertEqual(twice, arrived - own["acknowledged_frames"], own)
        self.assertEqual(own["sent_frames"], own["acknowledged_frames"] + own["dropped_frames"])


class SlotTest(unittest.TestCase):
    def test_arrays_that_do_not_fit_are_refused(self):
        response = fusion.WatchResponse(leaves=["a"], site="s")
        response.slot.CopyFrom(fusion.FusedSlot(dimension=2, subjects=[1], means=[1.0]))
        with self.assertRaisesRegex(ValueError, "means: 1 values for 1 subjects of 2 each"):
            SlotReader().read(response)

    def test_a_factor_gives_its_covariance(self):
        self.assertEqual(covariance(((2.0, 0.0), (1.0, 3.0))), ((4.0, 2.0), (2.0, 10.0)))

    def test_has_no_row_of_a_subject_that_is_not_there(self):
        response = fusion.WatchResponse(leaves=["a"], site="s")
        response.slot.CopyFrom(fusion.FusedSlot(dimension=1, subjects=[4], means=[1.0], cholesky=[1.0],
                                                contributors=[1], consistency=[0.0]))
        slot = SlotReader().read(response)
        self.assertIsInstance(slot, Slot)
        self.assertEqual((slot.row(4), slot.row(5)), (0, None))
        self.assertEqual(slot.contributors, (("a",),))


class ExamplesTest(ClientTest):
    def run_example(self, name, *arguments):
        environment = os.environ | {"TRIBUTARY_AGGREGATOR": self.folder.address}
        return subprocess.Popen([sys.executable, "-u", ROOT / "clients/python/examples" / name, *arguments],
                                cwd=self.folder.path, env=environment, stdout=subprocess.PIPE, text=True)

    def test_are_short(self):
        for example in (ROOT / "clients/python/examples").glob("*.py"):
            limit = 40 if example.name == "train_digits.py" else 20 + 2
            self.assertLessEqual(len(example.read_text().splitlines()), limit, example.name)

    def test_watch_prints_subjects(self):
        self.folder.aggregator(ROOM)
        self.folder.room_node("room")
        with self.run_example("watch.py") as example:
            self.assertRegex(example.stdout.readline(), r"\d+ \['-?\d\.\d\d m', '-?\d\.\d\d m'\] from")
            example.kill()

    def test_report_is_acknowledged(self):
        self.folder.aggregator('[[site]]\nname = "lab"\nsources = ["south"]\n')
        out, _ = self.run_example("report.py", "lab").communicate(timeout=60)
        self.assertIn("acknowledged 100 dropped 0", out)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is missing (python3-matplotlib)")
    def test_plot_draws_the_tracks_of_the_room(self):
        self.folder.aggregator(ROOM)
        self.folder.room_node("room")
        example = self.run_example("plot.py", "room")
        said, _ = example.communicate(timeout=120)
        self.assertEqual(example.returncode, 0, said)
        self.assertRegex(said, r"^tracks\.png: 2 subjects, 40 slots\n$")
        from matplotlib import image
        picture = image.imread(self.folder.path / "tracks.png")[:, :, :3]
        self.assertGreaterEqual(picture.shape[0] * picture.shape[1], 640 * 480)
        # matplotlib's first two colours: a line for each subject, within the axes.
        for colour in ((0x1F, 0x77, 0xB4), (0xFF, 0x7F, 0x0E)):
            near = (abs(picture * 255 - colour) < 2).all(axis=2).sum()
            self.assertGreater(near, 50, f"{near} points of {colour}")


if __name__ == "__main__":
    unittest.main()
