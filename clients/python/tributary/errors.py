"""The one exception that this package raises for what an aggregator or the network does."""

import contextlib
from typing import Iterator

import grpc

# The aggregator says no: another attempt would be answered the same.
REFUSALS = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.PERMISSION_DENIED,
            grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNIMPLEMENTED,
            grpc.StatusCode.RESOURCE_EXHAUSTED)

# How to mend a connection whose message has one of these words: as core/wire/peer.cc says it.
ADVICE = (
    (("Trying to connect an http1.x server",),
     "HTTP is served there, not gRPC: give the aggregator's `listen`, not that of [http]"),
    (("C-ares status", "DNS resolution failed"), "no such host: check the name, or give an address"),
    (("wrong version number", "packet length too long", "WRONG_VERSION_NUMBER"),
     "no TLS at that address: leave out certificate, key and ca, or fill [tls] there"),
    (("is not in peer certificate",),
     "the peer's certificate does not hold this address: use the name on the certificate, or make one that holds the "
     "address: tributary certs --server NAME=ADDRESS"),
    (("certificate has expired", "certificate is not yet valid"),
     "the peer's certificate is out of its time: check both clocks, or make a new one there"),
    (("EVP lib", "certificate verify failed", "CERTIFICATE_VERIFY_FAILED"),
     "the peer's certificate is not signed by the CA in the ca file: give the ca.pem that was made together with it"),
    (("Ssl handshake failed",), "the TLS handshake failed: check certificate, key and ca on both sides"),
    # While it connects; a stream that breaks says "Socket closed" alone.
    ((": Socket closed",),
     "the aggregator closed the connection: if it wants mutual TLS, give certificate, key and ca; if they are given, it "
     "does not trust the certificate or that has expired; or it refuses this address for now: its log says why"),
)


def nobody_listens(said: str) -> bool:
    """Whether gRPC's message tells that no process listens; at a unix socket the file may be absent."""
    return ("failed to connect to all addresses" in said
            and said.endswith((": Connection refused", ": No such file or directory")))


class TributaryError(Exception):
    """`code` is the status of gRPC, such as grpc.StatusCode.NOT_FOUND; the text says what to do."""

    def __init__(self, message: str, code: grpc.StatusCode = grpc.StatusCode.UNKNOWN):
        super().__init__(message)
        self.code = code


def explain(error: grpc.RpcError, address: str) -> TributaryError:
    """The exception for a failed call."""
    code, said = error.code(), error.details() or ""
    if code == grpc.StatusCode.UNAVAILABLE:
        if nobody_listens(said):
            said = f"nobody listens there; is the aggregator running? ({said})"
        else:
            advice = next((advice for words, advice in ADVICE if any(each in said for each in words)), "")
            said = f"{advice} ({said})" if advice else said
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
