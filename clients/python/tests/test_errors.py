"""What the client says when a connection fails."""

import pathlib
import subprocess
import sys
import unittest
import unittest.mock

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from daemons import BIN, Folder  # noqa: E402

from tributary import Aggregator, TributaryError  # noqa: E402
from tributary.errors import explain  # noqa: E402

SITE = '[[site]]\nname = "bench"\nsources = ["probe"]\n'


def certificates(folder):
    """An authority with a certificate for an aggregator and one for the viewer wall."""
    subprocess.run([BIN / "tributary", "certs", "--out", folder, "--server", "aggregator=127.0.0.1", "--name", "wall"],
                   check=True, stdout=subprocess.DEVNULL)
    return folder


class HandshakeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.close)

    def said(self, **files):
        with self.assertRaises(TributaryError) as raised, Aggregator(self.folder.address, timeout_s=5, **files) as aggregator:
            aggregator.sites()
        return str(raised.exception)

    def test_tells_a_failed_handshake_from_an_aggregator_that_is_away(self):
        ours, foreign = (certificates(self.folder.path / name) for name in ("ours", "foreign"))

        def by(certificate, ca):
            return self.said(certificate=certificate / "wall.pem", key=certificate / "wall.key", ca=ca / "ca.pem")

        self.assertIn("nobody listens there", by(ours, ours))
        plain = self.folder.aggregator(SITE)
        self.assertIn("no TLS at that address", by(ours, ours))
        self.folder.stop(plain)
        self.folder.aggregator(SITE, f'[tls]\ncertificate = "{ours}/aggregator.pem"\nkey = "{ours}/aggregator.key"\n'
                                     f'ca = "{ours}/ca.pem"\n')
        self.assertIn("not signed by the CA in the ca file", by(ours, foreign))
        self.assertIn("does not trust the certificate", by(foreign, ours))
        self.assertIn("if it wants mutual TLS", self.said())

    def test_says_that_a_certificate_is_out_of_its_time(self):
        error = unittest.mock.Mock()
        error.code.return_value = grpc.StatusCode.UNAVAILABLE
        error.details.return_value = ("failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:7400: Ssl "
                                      "handshake failed: SSL_ERROR_SSL: certificate verify failed: certificate has expired")
        said = str(explain(error, "10.0.0.1:7400"))
        self.assertTrue(said.startswith("10.0.0.1:7400: the peer's certificate is out of its time"), said)


if __name__ == "__main__":
    unittest.main()
