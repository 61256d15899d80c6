"""Programs that train, behind the released node and aggregator."""

import json
import os
import pathlib
import random
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from daemons import ROOT, Folder, eventually, free_port  # noqa: E402

import numpy as np  # noqa: E402
from tributary import Aggregator  # noqa: E402
from tributary.model_file import decode_model, encode_model  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TRUTH = np.array([[1.0], [-2.0], [3.0]])
RUN = """name = "linear"
rounds = {rounds}
min_nodes = {nodes}
quorum = {quorum}
deadline_s = {deadline_s}
max_element = 64
[client]
workload = "external"
trainer = "linear"
local_steps = 5
learning_rate = 0.3
encoding = "{encoding}"
[privacy]
secure_aggregation = {secure}
"""


class TrainerTest(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)
        self.programs = {}
        self.ports = {}
        self.addCleanup(lambda: [self.end(part) for part in list(self.programs)])

    def end(self, part):
        program = self.programs.pop(part)
        program.kill()
        program.wait()

    def program(self, part, misdeed="", script=HERE / "linear_program.py", arguments=None, **environment):
        log = open(self.folder.path / f"program{part}.log", "a")
        self.addCleanup(log.close)
        arguments = [str(part), misdeed] if arguments is None else arguments
        self.programs[part] = subprocess.Popen([sys.executable, script, self.folder.path / f"{part}.sock", *arguments],
                                               env={**os.environ, **environment}, stdout=log, stderr=log)

    def node(self, part, silence_s=30):
        self.ports[part] = free_port()
        process = self.folder.start("tributary-node", f"n{part}", f"""node = "n{part}"
[http]
listen = "127.0.0.1:{self.ports[part]}"
[federation]
aggregator = "{self.folder.address}"
state = "{self.folder.path}/n{part}.state"
[federation.trainer]
socket = "{self.folder.path}/{part}.sock"
silence_s = {silence_s}
""")
        return self.folder.wait_until_served(process, f"n{part}", self.ports[part])

    def failures(self, part):
        """What the node counted, by reason."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[part]}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        name = "tributary_learner_trainer_failures_total{reason="
        return {line.split('"')[1]: int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith(name)}

    def aggregator(self):
        self.folder.aggregator("", f'[federation]\nstore = "{self.folder.path}/store"\n')
        connection = Aggregator(self.folder.address)
        self.addCleanup(connection.close)
        return connection

    def start(self, connection, rounds=12, nodes=5, quorum=3, deadline_s=20, encoding="float32", secure="false", model=None):
        model = model or {"weight": np.zeros((3, 1)), "bias": np.zeros(1)}
        connection.start_run(RUN.format(rounds=rounds, nodes=nodes, quorum=quorum, deadline_s=deadline_s, encoding=encoding,
                                        secure=secure), encode_model(model))

    def finished(self, connection):
        """The run at its end, and its rounds."""
        rounds = []
        for said in connection.watch_run("linear"):
            rounds += said.rounds
        return said.run, rounds

    def unable(self):
        """Why nodes cannot train."""
        participants = json.loads(self.folder.get("/api/v1/runs/linear"))["participants"]
        return [each["cannot_train"] for each in participants if each["cannot_train"]]


class LinearTest(TrainerTest):
    def learns(self, **settings):
        connection = self.aggregator()
        for part in range(5):
            self.program(part)
            self.node(part)
        self.start(connection, **settings)
        run, rounds = self.finished(connection)
        self.assertEqual(run.committed_rounds, 12, run.message)
        model = decode_model(connection.read_model("linear"))
        self.assertLess(np.abs(model["weight"] - TRUTH).max(), 0.05)
        self.assertLess(abs(model["bias"][0] - 0.5), 0.05)
        self.assertEqual(rounds[0].held_out_accuracy, 1)
        self.assertFalse(rounds[0].HasField("spread"), "there are no features")
        self.assertEqual(rounds[0].sample_count, sum(100 + part for part in range(5)))

    def test_five_programs_learn_together_with_masked_updates(self):
        self.learns(secure="true")

    def test_five_programs_learn_together_with_updates_of_int8(self):
        self.learns(encoding="int8")

    def test_programs_that_are_killed_at_random_cost_rounds_but_not_the_run(self):
        connection = self.aggregator()
        for part in range(5):
            self.program(part, STEP_S="0.02")
            self.node(part)
        self.start(connection, rounds=20, quorum=2, deadline_s=5)
        chance = random.Random(1)
        end = time.monotonic() + 100
        kills = 0
        while time.monotonic() < end and connection.runs()[0].committed_rounds < 20:
            part = chance.randrange(5)
            self.end(part)
            kills += 1
            time.sleep(chance.uniform(0, 0.3))
            self.program(part, STEP_S="0.02")
            time.sleep(chance.uniform(0, 0.5))
        run = connection.runs()[0]
        self.assertEqual(run.committed_rounds, 20, run.message)
        self.assertGreater(kills, 3)
        self.assertGreater(sum(sum(self.failures(part).values()) for part in range(5)), 0)
        self.assertLess(np.abs(decode_model(connection.read_model("linear"))["weight"] - TRUTH).max(), 0.05)


class MisdeedTest(TrainerTest):
    def spoils(self, misdeed, reason, says, silence_s=30):
        connection = self.aggregator()
        for part in range(3):
            self.program(part, misdeed if part == 0 else "")
            self.node(part, silence_s)
        self.start(connection, rounds=2, nodes=3, quorum=2)
        run, rounds = self.finished(connection)
        self.assertEqual(run.committed_rounds, 2, run.message)
        self.assertGreaterEqual(self.failures(0)[reason], 1, self.folder.log("n0"))
        declines = rounds[0].declines
        self.assertEqual([each.node for each in declines], ["n0"], self.folder.log("n0"))
        self.assertIn(says, declines[0].message)
        self.assertEqual(rounds[0].accepted, 2)

    def test_one_that_hangs(self):
        self.spoils("hang", "silent", "said nothing for 1 s", silence_s=1)

    def test_one_that_dies(self):
        self.spoils("die", "gone", "it ended")

    def test_one_that_answers_with_what_is_no_number(self):
        self.spoils("nan", "not_finite", "not a finite number")

    def test_one_that_answers_with_another_shape(self):
        self.spoils("shape", "failed", "weight: shape (4, 1), expected (3, 1)")

    def test_one_that_leaves_a_tensor_out(self):
        self.spoils("gone", "failed", "bias")

    def test_one_that_raises(self):
        self.spoils("raise", "failed", "no more samples")

    def test_one_that_answers_with_more_than_the_model_has(self):
        self.spoils("more", "malformed", "the model has 4")

    def test_another_program_than_the_run_wants(self):
        connection = self.aggregator()
        for part in range(3):
            self.program(part)
            self.node(part)
        model = encode_model({"weight": np.zeros((3, 1)), "bias": np.zeros(1)})
        connection.start_run(RUN.format(rounds=2, nodes=3, quorum=2, deadline_s=20, encoding="float32", secure="false")
                             .replace('trainer = "linear"', 'trainer = "quadratic"'), model)
        self.assertTrue(eventually(self.unable))
        self.assertIn("quadratic", self.unable()[0])

    def test_a_node_waits_for_its_program_and_then_takes_part(self):
        connection = self.aggregator()
        self.node(0)
        self.start(connection, rounds=1, nodes=1, quorum=1)
        self.assertTrue(eventually(lambda: "waits for the program" in self.folder.log("n0")))
        self.assertEqual(connection.runs()[0].connected_nodes, 0)
        self.program(0)
        self.assertEqual(self.finished(connection)[0].committed_rounds, 1)


class DigitsTest(TrainerTest):
    """The example of the README."""

    def test_five_nodes_learn_digits_by_pytorch_with_masked_updates(self):
        self.learns("true", "float32")

    def test_five_nodes_learn_digits_by_pytorch_with_updates_of_int8(self):
        self.learns("false", "int8")

    def learns(self, secure, encoding):
        try:
            import torch
        except ImportError:
            self.skipTest("apt install python3-torch")
        folder = os.environ.get("TRIBUTARY_DATA_DIR", "")
        if not os.path.isdir(f"{folder}/mnist"):
            self.skipTest("TRIBUTARY_DATA_DIR does not name a folder with mnist")
        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
        model = {name: value.numpy() for name, value in network.state_dict().items()}
        connection = self.aggregator()
        for part in range(5):
            self.program(part, script=ROOT / "clients/python/examples/train_digits.py",
                         arguments=[f"{folder}/mnist", str(part), "5"], OMP_NUM_THREADS="1")
            self.node(part)
        config = RUN.format(rounds=10, nodes=5, quorum=5, deadline_s=60, encoding=encoding, secure=secure)
        for now, wanted in (('trainer = "linear"', 'trainer = "digits"'), ("local_steps = 5", "local_steps = 40"),
                            ("learning_rate = 0.3", "learning_rate = 0.1\nbatch = 32")):
            config = config.replace(now, wanted)
        connection.start_run(config, encode_model(model))
        run, rounds = self.finished(connection)
        self.assertEqual(run.committed_rounds, 10, run.message)
        accuracies = [each.held_out_accuracy for each in rounds]
        print(f"secure {secure}, {encoding}: held-out accuracy by round", [round(each, 3) for each in accuracies])
        self.assertLess(accuracies[0], 0.3, "untrained")
        self.assertGreater(accuracies[-1], 0.85)


if __name__ == "__main__":
    unittest.main(verbosity=2)
