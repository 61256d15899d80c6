"""Everything that a reader or an operator asks of an aggregator."""

import random
import time
from typing import Any, Callable, Iterator, List, Optional, Sequence

import grpc

from tributary.channel import Address, Path
from tributary.errors import REFUSALS, TributaryError, explain, explained
from tributary.slot import Slot, SlotReader
from tributary.v1 import fleet_pb2 as fleet
from tributary.v1 import fleet_pb2_grpc, fusion_pb2_grpc, run_pb2_grpc
from tributary.v1 import fusion_pb2 as fusion
from tributary.v1 import run_pb2 as run

CHUNK_BYTES = 1 << 20
LONGEST_WAIT_S = 10.0


def backoff_s(attempt: int) -> float:
    """How long to wait before an attempt: 0.1 s and doubling, at most 10 s, with jitter."""
    return min(0.1 * 2 ** min(attempt, 10), LONGEST_WAIT_S) * random.uniform(0.5, 1.0)


class Aggregator:
    """A connection. Any thread may call; close it, or use it in `with`."""

    def __init__(self, address: Optional[str] = None, *, certificate: Optional[Path] = None, key: Optional[Path] = None,
                 ca: Optional[Path] = None, timeout_s: float = 10.0):
        """See `tributary.channel.Address`. `timeout_s`: of each call that is no stream."""
        self.address = Address.of(address, certificate, key, ca)
        self.timeout_s = timeout_s
        self._channel = self.address.open()
        self._fusion = fusion_pb2_grpc.FusionServiceStub(self._channel)
        self._fleet = fleet_pb2_grpc.FleetServiceStub(self._channel)
        self._runs = run_pb2_grpc.RunServiceStub(self._channel)
        self._models = run_pb2_grpc.ModelServiceStub(self._channel)

    def __enter__(self) -> "Aggregator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every stream."""
        self._channel.close()

    def watch(self, site: str = "", *, rate_hz: float = 0, subjects: Sequence[int] = (),
              contributions: Optional[int] = None, reconnect: bool = True) -> Iterator[Slot]:
        """Yields the fused slots of a site, as they come.

        site: may be left out if the aggregator has one. rate_hz: at most this many slots a second; 0: every slot.
        subjects: only these, at most 64. contributions: also what each source says of this subject. A reader that is
        slower than the slots gets the latest ones, and `Slot.skipped_slots` counts the others: nothing piles up here.
        reconnect: tries again when the aggregator goes away; slots in between are not seen.
        Errors: TributaryError, also if nobody answers the first attempt; ValueError for a malformed slot.
        """
        request = fusion.WatchRequest(site=site or self.only_site(), max_rate_hz=rate_hz, subjects=subjects)
        if contributions is not None:
            request.contributions = contributions

        def attempt() -> Iterator[Slot]:
            reader = SlotReader()
            for response in self._fusion.Watch(request):
                slot = reader.read(response)
                if slot is not None:
                    yield slot

        return self._stream(attempt, reconnect)

    def sites(self) -> List[str]:
        """The names of all sites. Errors: TributaryError."""
        return list(self._node_page(fleet.ListNodesRequest()).sites)

    def only_site(self) -> str:
        """The site of an aggregator that has one. Errors: ValueError if it has none or several."""
        sites = self.sites()
        if len(sites) != 1:
            raise ValueError(f"{self.address.target} has {len(sites)} sites: name one of {', '.join(sites) or 'none'}")
        return sites[0]

    def nodes(self, site: str = "") -> List["fleet.Node"]:
        """The nodes that report to a site, or to any, and those that learn; fleet.proto explains the fields.

        Errors: TributaryError, NOT_FOUND for an unknown site.
        """
        request = fleet.ListNodesRequest(site=site)
        nodes: List["fleet.Node"] = []
        while True:
            page = self._node_page(request)
            nodes.extend(page.nodes)
            if not page.more or not page.nodes:
                return nodes
            request.after_site, request.after_node = page.nodes[-1].site, page.nodes[-1].name

    def runs(self) -> List["run.Run"]:
        """The runs of federated learning, in the order of their starts. Errors: TributaryError."""
        return list(self._call(self._runs.ListRuns, run.ListRunsRequest()).runs)

    def start_run(self, config: str, model: bytes) -> "run.Run":
        """Starts a run: `config` is the text of a run file, `model` a safetensors file to start from.

        `read_model` gives one, and `tributary run start` draws a fresh one. The same run again changes nothing.
        Errors: TributaryError; INVALID_ARGUMENT has one line per fault.
        """
        def requests() -> Iterator["run.StartRunRequest"]:
            yield run.StartRunRequest(config=config)
            for begin in range(0, len(model), CHUNK_BYTES):
                yield run.StartRunRequest(chunk=model[begin:begin + CHUNK_BYTES])

        with explained(self.address.target):
            return self._runs.StartRun(requests(), timeout=300).run

    def watch_run(self, name: str, *, after_round: int = 0, reconnect: bool = True) -> Iterator["run.WatchRunResponse"]:
        """Yields a run and its new rounds whenever they change, until the run has ended. Errors: TributaryError."""
        last = after_round

        def attempt() -> Iterator["run.WatchRunResponse"]:
            nonlocal last
            for response in self._runs.WatchRun(run.WatchRunRequest(run=name, after_round=last)):
                last = max([last, *(each.round for each in response.rounds)])
                yield response

        return self._stream(attempt, reconnect)

    def stop_run(self, name: str) -> "run.Run":
        """Ends a run for good. Errors: TributaryError."""
        return self._call(self._runs.StopRun, run.StopRunRequest(run=name)).run

    def read_model(self, name: str, round: Optional[int] = None) -> bytes:
        """A run's model as a safetensors file: its present one, or that of a round. Errors: TributaryError."""
        request = run.ReadModelRequest(run=name, round=round or 0, current=round is None)
        with explained(self.address.target):
            return b"".join(response.bytes for response in self._models.ReadModel(request, timeout=300))

    def _node_page(self, request: "fleet.ListNodesRequest") -> "fleet.ListNodesResponse":
        return self._call(self._fleet.ListNodes, request)

    def _call(self, method: Callable[..., Any], request: Any) -> Any:
        with explained(self.address.target):
            return method(request, timeout=self.timeout_s)

    def _stream(self, attempt: Callable[[], Iterator[Any]], reconnect: bool) -> Iterator[Any]:
        """What the attempts yield, one after the other. An attempt that ends without an error is the last."""
        answered, failures = False, 0
        while True:
            try:
                for item in attempt():
                    answered, failures = True, 0
                    yield item
                return
            except grpc.RpcError as error:
                if not (reconnect and answered) or error.code() in REFUSALS:
                    raise explain(error, self.address.target) from error
            except ValueError as error:
                if "closed channel" in str(error):  # how grpcio says that close() was called
                    raise TributaryError("this connection is closed", grpc.StatusCode.CANCELLED) from error
                raise
            time.sleep(backoff_s(failures))
            failures += 1
