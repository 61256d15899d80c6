"""Reports tuples of one process, as a node does."""

import collections
import dataclasses
import os
import threading
import time
from typing import Any, Deque, Iterator, Optional, Sequence

import grpc

from tributary.aggregator import backoff_s
from tributary.channel import Address, Path
from tributary.errors import REFUSALS, TributaryError, explain
from tributary.v1 import fusion_pb2 as fusion
from tributary.v1 import fusion_pb2_grpc

FRAMES_PER_MESSAGE = 64


@dataclasses.dataclass(frozen=True)
class Source:
    """What a reporter speaks for: positions of `dimension` 1 to 3, or the probabilities of `classes`."""

    name: str
    dimension: int = 2
    classes: Sequence[str] = ()
    leaves: Sequence[str] = ()       # that its tuples contain; empty: itself

    def message(self) -> "fusion.Source":
        return fusion.Source(name=self.name, dimension=0 if self.classes else self.dimension, classes=self.classes,
                             leaves=self.leaves or [self.name])


class Reporter:
    """Sends tuples from a thread of its own; any thread may call.

    Each frame is acknowledged, or counted in `dropped`. At most `capacity` frames wait: when one more comes, the oldest
    is dropped. After a lost connection it connects again and sends what was not acknowledged.
    """

    def __init__(self, site: str, node: str, sources: Sequence[Source], *, address: Optional[str] = None,
                 certificate: Optional[Path] = None, key: Optional[Path] = None, ca: Optional[Path] = None,
                 slot_ns: int = 500_000, capacity: int = 4096):
        """node: equals the name on the certificate where TLS is on. slot_ns: must be the site's."""
        if not sources or capacity < 1:
            raise ValueError("at least one source and room for one frame are needed")
        self.address = Address.of(address, certificate, key, ca)
        self.sources = tuple(sources)
        self.slot_ns = slot_ns
        self.acknowledged = 0        # frames that the aggregator took or refused
        self.dropped = 0             # frames that it never acknowledged
        self.refused = 0             # frames of which it refused something
        self.last_refusal = ""       # why
        self._hello = fusion.Hello(site=site, node=node, boot_id=os.urandom(16), slot_ns=slot_ns,
                                   sources=[each.message() for each in self.sources])
        self._capacity = capacity
        self._changed = threading.Condition()
        self._held: Deque["fusion.Frame"] = collections.deque()  # not acknowledged, by sequence
        self._sent = 0               # sequence of the latest frame that went out on this stream
        self._sequence = 0
        self._reporting = False
        self._closed = False
        self._error: Optional[TributaryError] = None
        self._call: Any = None
        self._thread = threading.Thread(target=self._run, name="tributary-reporter", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, subjects: Sequence[int], *, means: Sequence[Sequence[float]] = (),
             cholesky: Sequence[Sequence[Sequence[float]]] = (), log_probabilities: Sequence[Sequence[float]] = (),
             source: int = 0, captured_unix_ns: Optional[int] = None) -> int:
        """Takes the tuples of one source in one slot; returns the slot's epoch.

        subjects: [n], distinct. means: [n][d], m. cholesky: [n][d][d], m, lower factor of the covariance.
        log_probabilities: [n][c]. source: index in `sources`. captured_unix_ns: when it was sensed; absent: now.
        The frame of a source in a slot counts once: a later one is refused as a duplicate.
        Errors: ValueError for arrays that do not fit each other; TributaryError once the aggregator has refused this node.
        """
        captured = time.time_ns() if captured_unix_ns is None else captured_unix_ns
        frame = fusion.Frame(epoch=captured // self.slot_ns, captured_unix_ns=captured, source=source, subjects=subjects)
        self._fill(frame, self.sources[source], means, cholesky, log_probabilities)
        with self._changed:
            self._raise()
            if self._closed:
                raise TributaryError("this reporter is closed", grpc.StatusCode.CANCELLED)
            self._sequence += 1
            frame.sequence = self._sequence
            if len(self._held) == self._capacity:
                self._held.popleft()
                self.dropped += 1
            self._held.append(frame)
            self._changed.notify_all()
        return frame.epoch

    def wait(self, timeout_s: float = 10.0) -> bool:
        """Whether all frames are acknowledged within that time. Errors: TributaryError if this node is refused."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._error is not None, timeout_s)
            self._raise()
            return not self._held

    def close(self, drain_s: float = 5.0) -> None:
        """Sends what waits, for at most that time, and counts the rest as dropped."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._error is not None, drain_s)
            self._closed = True
            self._changed.notify_all()
            call = self._call
        if call is not None:
            call.cancel()
        self._thread.join()
        self.dropped += len(self._held)
        self._held.clear()

    @staticmethod
    def _fill(frame: "fusion.Frame", source: Source, means: Sequence[Sequence[float]],
              cholesky: Sequence[Sequence[Sequence[float]]], log_probabilities: Sequence[Sequence[float]]) -> None:
        n, d, c = len(frame.subjects), 0 if source.classes else source.dimension, len(source.classes)
        shapes = (("means", means, d), ("cholesky", cholesky, d), ("log_probabilities", log_probabilities, c))
        for name, rows, width in shapes:
            if len(rows) != (n if width else 0) or any(len(row) != width for row in rows):
                raise ValueError(f"{name}: expected {n if width else 0} rows of {width}, for {n} subjects")
        for row in means:
            frame.means.extend(row)
        for factor in cholesky:
            for i, row in enumerate(factor):
                if len(row) != d or any(row[i + 1:]):
                    raise ValueError("cholesky: expected lower triangles, with zeros above the diagonal")
                frame.cholesky.extend(row[:i + 1])
        for row in log_probabilities:
            frame.log_probabilities.extend(row)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        failures = 0
        while True:
            channel = self.address.open()
            try:
                self._report(channel)
            except grpc.RpcError as error:
                with self._changed:
                    if error.code() in REFUSALS and not self._closed:
                        self._error = explain(error, self.address.target)
                    failures = 0 if self._reporting else failures + 1
            finally:
                channel.close()
            with self._changed:
                self._reporting = False
                self._call = None
                if self._error is None and not self._closed:
                    self._changed.wait_for(lambda: self._closed, backoff_s(failures))
                if self._error is not None or self._closed:
                    self._changed.notify_all()
                    return

    def _report(self, channel: grpc.Channel) -> None:
        """One stream, until it ends or is cancelled."""
        greeted, over = threading.Event(), threading.Event()
        call = fusion_pb2_grpc.FusionServiceStub(channel).Report(self._requests(greeted, over))
        with self._changed:
            if self._closed:
                call.cancel()
            self._call = call
        try:
            self._read(call, greeted)
        finally:
            over.set()

    def _read(self, call: Any, greeted: threading.Event) -> None:
        for response in call:
            with self._changed:
                for refusal in response.refusals:
                    self.refused += 1
                    self.last_refusal = refusal.message
                while self._held and self._held[0].sequence <= response.acknowledged_sequence:
                    self._held.popleft()
                    self.acknowledged += 1
                if not self._reporting:
                    self._reporting = True
                    self._sent = response.acknowledged_sequence
                self._changed.notify_all()
            greeted.set()

    def _requests(self, greeted: threading.Event, over: threading.Event) -> Iterator["fusion.ReportRequest"]:
        """gRPC's thread: the hello, then frames once it is answered. `over`: the stream has ended."""
        yield fusion.ReportRequest(hello=self._hello)
        while not greeted.wait(0.1):
            if self._closed or over.is_set():
                return
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or over.is_set() or self._next() is not None, 0.5)
                if self._closed or over.is_set():
                    return
                first = self._next()
                if first is None:
                    continue
                frames = [self._held[i] for i in range(first, min(first + FRAMES_PER_MESSAGE, len(self._held)))]
                self._sent = frames[-1].sequence
                dropped = self.dropped
            yield fusion.ReportRequest(frames=frames, dropped_frames=dropped)

    def _next(self) -> Optional[int]:
        """The index of the first frame that did not go out on this stream."""
        if not self._held or self._held[-1].sequence <= self._sent:
            return None
        # Sequences have gaps only where frames were dropped, at the beginning.
        return max(0, self._sent + 1 - self._held[0].sequence)
