"""Serves a program that trains to a node, which takes part in federated runs with it.

    def train(parameters, task):
        for step in range(task.local_steps):
            ...                      # change the arrays in place
            yield loss

    serve_trainer("/run/tributary-trainer/socket", "digits", len(images), train)

The node does the rest: rounds, privacy, encodings, durability.
"""

import os
import signal
import socket as sockets
import stat
import threading
from concurrent import futures
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import grpc
import numpy as np

from tributary.v1 import trainer_pb2 as wire
from tributary.v1 import trainer_pb2_grpc

CHUNK_BYTES = 1 << 20

Parameters = Dict[str, "np.ndarray[Any, Any]"]
# Gets the round's model as float32 arrays by name, and the task: its run, round, seed and settings, as trainer.proto lists
# them. Changes the arrays in place and yields the loss of each step. A step that takes longer than the node's `silence_s`
# costs the round.
Train = Callable[[Parameters, "wire.TrainerTask"], Iterator[float]]
# The accuracy of the round's model before training on samples that `train` does not see, 0 to 1.
HeldOut = Callable[[Parameters], float]


def _split(shapes: Dict[str, Tuple[int, ...]], flat: "np.ndarray[Any, Any]") -> Parameters:
    """The tensors that make up the vector, as arrays of their own."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    if not len(ends) or ends[-1] != flat.size:
        raise ValueError(f"{flat.size} parameters do not make up the task's tensors")
    return {name: part.reshape(shape).copy()
            for (name, shape), part in zip(shapes.items(), np.split(flat, ends[:-1]))}


def _join(shapes: Dict[str, Tuple[int, ...]], parameters: Parameters) -> bytes:
    """The vector. Errors: ValueError naming a tensor that is gone or has another shape."""
    for name, shape in shapes.items():
        if name not in parameters or np.shape(parameters[name]) != shape:
            raise ValueError(f"{name}: shape {np.shape(parameters.get(name))}, expected {shape}")
    return b"".join(np.asarray(parameters[name], dtype="<f4").tobytes() for name in shapes)


class _Servicer(trainer_pb2_grpc.TrainerServiceServicer):
    def __init__(self, name: str, sample_count: int, train: Train, held_out: Optional[HeldOut]):
        self._said = wire.DescribeTrainerResponse(name=name, sample_count=sample_count)
        self._train, self._held_out = train, held_out

    def Describe(self, request: Any, context: grpc.ServicerContext) -> Any:
        return self._said

    def Train(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from self._round(requests, context)
        except Exception as error:  # the node logs it and declines the round
            context.abort(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")

    def _round(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        task = next(requests).task
        shapes = {each.name: tuple(each.shape) for each in task.tensors}
        parameters = _split(shapes, np.frombuffer(b"".join(each.chunk.values for each in requests), dtype="<f4"))
        accuracy = self._held_out(parameters) if self._held_out else None
        losses: List[float] = []
        for loss in self._train(parameters, task):
            if not context.is_active():  # the round is no longer wanted
                return
            losses.append(float(loss))
            yield wire.TrainResponse(progress=wire.TrainerProgress(step=len(losses), loss=losses[-1]))
        values = _join(shapes, parameters)
        for at in range(0, len(values), CHUNK_BYTES):
            yield wire.TrainResponse(chunk=wire.ParameterChunk(offset=at // 4, values=values[at:at + CHUNK_BYTES]))
        yield wire.TrainResponse(done=wire.TrainerDone(loss=float(np.mean(losses or [0.0])), held_out_accuracy=accuracy))


def start_trainer(path: str, name: str, sample_count: int, train: Train, held_out: Optional[HeldOut] = None) -> grpc.Server:
    """Serves on the Unix socket `path`, in place of a socket that an earlier process left there.

    name: what the run's `client.trainer` says. sample_count: the weight of this node's updates.
    Errors: FileExistsError if `path` is something else than a socket; RuntimeError if it cannot be served.
    """
    if os.path.lexists(path):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(f"{path} is no socket")
        with sockets.socket(sockets.AF_UNIX) as probe:
            if probe.connect_ex(path) == 0:
                raise RuntimeError(f"{path}: another program serves there")
        os.unlink(path)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    trainer_pb2_grpc.add_TrainerServiceServicer_to_server(_Servicer(name, sample_count, train, held_out), server)
    if not server.add_insecure_port(f"unix:{path}"):
        raise RuntimeError(f"{path}: cannot be served")
    server.start()
    return server


def serve_trainer(path: str, name: str, sample_count: int, train: Train, held_out: Optional[HeldOut] = None) -> None:
    """As start_trainer, and returns on SIGTERM or SIGINT. Call it from the main thread."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    server = start_trainer(path, name, sample_count, train, held_out)
    stopped.wait()
    server.stop(grace=1).wait()
