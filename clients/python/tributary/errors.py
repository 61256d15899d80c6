"""The one exception that this package raises for what an aggregator or the network does."""

import contextlib
from typing import Iterator

import grpc

# The aggregator says no: another attempt would be answered the same.
REFUSALS = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.PERMISSION_DENIED,
            grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNIMPLEMENTED,
            grpc.StatusCode.RESOURCE_EXHAUSTED)


class TributaryError(Exception):
    """`code` is the status of gRPC, such as grpc.StatusCode.NOT_FOUND; the text says what to do."""

    def __init__(self, message: str, code: grpc.StatusCode = grpc.StatusCode.UNKNOWN):
        super().__init__(message)
        self.code = code


def explain(error: grpc.RpcError, address: str) -> TributaryError:
    """The exception for a failed call."""
    code, said = error.code(), error.details() or ""
    if code == grpc.StatusCode.UNAVAILABLE and ("connect" in said or "refused" in said):
        said = f"nobody listens there; is the aggregator running? ({said})"
    elif code == grpc.StatusCode.UNIMPLEMENTED:
        said = "the aggregator does not offer this: an older release, or [federation] is missing in its configuration"
    elif code == grpc.StatusCode.DEADLINE_EXCEEDED:
        said = "the aggregator did not answer in time"
    return TributaryError(f"{address}: {said}", code)


@contextlib.contextmanager
def explained(address: str) -> Iterator[None]:
    """Turns errors of gRPC in its body into TributaryError."""
    try:
        yield
    except grpc.RpcError as error:
        raise explain(error, address) from error
