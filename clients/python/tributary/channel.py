"""How to reach an aggregator."""

import dataclasses
import os
import pathlib
from typing import Optional, Union

import grpc

Path = Union[str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True)
class Address:
    """An aggregator: "host:port" or "unix:path"; certificate, key and ca are PEM files, all or none.

    What is not given comes from the environment: TRIBUTARY_AGGREGATOR, TRIBUTARY_CERTIFICATE, TRIBUTARY_KEY and
    TRIBUTARY_CA, as for the `tributary` command.
    """

    target: str
    certificate: Optional[Path] = None
    key: Optional[Path] = None
    ca: Optional[Path] = None

    @staticmethod
    def of(target: Optional[str], certificate: Optional[Path], key: Optional[Path], ca: Optional[Path]) -> "Address":
        """Errors: ValueError unless certificate, key and ca are all given, or none."""
        said = Address(target or os.environ.get("TRIBUTARY_AGGREGATOR", "127.0.0.1:7400"),
                       certificate or os.environ.get("TRIBUTARY_CERTIFICATE") or None,
                       key or os.environ.get("TRIBUTARY_KEY") or None,
                       ca or os.environ.get("TRIBUTARY_CA") or None)
        given = [each is not None for each in (said.certificate, said.key, said.ca)]
        if any(given) and not all(given):
            raise ValueError("TLS needs certificate, key and ca: give all three, or none")
        return said

    def open(self) -> grpc.Channel:
        """A channel that connects when it is used. Errors: OSError for a file that cannot be read."""
        # Detects a lost connection in about 15 s, as the node does.
        options = [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 5_000),
                   ("grpc.max_receive_message_length", 16 << 20)]
        if self.certificate is None or self.key is None or self.ca is None:
            return grpc.insecure_channel(self.target, options)
        credentials = grpc.ssl_channel_credentials(root_certificates=pathlib.Path(self.ca).read_bytes(),
                                                   private_key=pathlib.Path(self.key).read_bytes(),
                                                   certificate_chain=pathlib.Path(self.certificate).read_bytes())
        return grpc.secure_channel(self.target, credentials, options)
