"""A program that trains a linear model for a node, well or in a way that is wrong.

usage: linear_program.py SOCKET PART MISDEED        MISDEED: "", hang, die, nan, shape, gone, raise, more
"""

import os
import sys
import time

import numpy as np
from tributary.trainer import _Servicer, serve_trainer
from tributary.v1 import trainer_pb2 as wire

socket, part, misdeed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
chance = np.random.default_rng(part)
inputs = chance.normal(size=(100 + part, 3)).astype(np.float32)
targets = inputs @ np.array([[1.0], [-2.0], [3.0]], np.float32) + 0.5


def train(parameters, task):
    for step in range(task.local_steps):
        error = inputs @ parameters["weight"] + parameters["bias"] - targets
        parameters["weight"] -= task.learning_rate * inputs.T @ error / len(inputs)
        parameters["bias"] -= task.learning_rate * error.mean(axis=0)
        if step == task.local_steps - 1:
            spoil(parameters)
        time.sleep(float(os.environ.get("STEP_S", "0")))
        yield float((error ** 2).mean())


def spoil(parameters):
    if misdeed == "hang":
        time.sleep(3600)
    elif misdeed == "die":
        os._exit(9)
    elif misdeed == "nan":
        parameters["bias"][0] = np.nan
    elif misdeed == "shape":
        parameters["weight"] = np.zeros((4, 1), np.float32)
    elif misdeed == "gone":
        del parameters["bias"]
    elif misdeed == "raise":
        raise RuntimeError("no more samples\x1b[2J")


class Flood(_Servicer):
    """Sends chunks for ever, whatever the model's size."""

    def Train(self, requests, context):
        list(requests)
        at = 0
        while context.is_active():
            yield wire.TrainResponse(chunk=wire.ParameterChunk(offset=at, values=bytes(1 << 20)))
            at += 1 << 18


if misdeed == "more":
    sys.modules["tributary.trainer"]._Servicer = Flood
serve_trainer(socket, "linear", len(inputs), train, lambda parameters: float(np.abs(parameters["bias"]).max() < 1e6))
