#!/usr/bin/env python3
"""Opens fresh Watch streams one after the other, as a Python client does, and says how long each waited.

usage: watch_streams.py ADDRESS SITE STREAMS AT_ONCE SECONDS
Each stream has a connection of its own and is read for SECONDS. Prints one JSON object:
  first_slot_s    per stream, from the call to its first slot (s)
  longest_gap_s   per stream, between two slots (s)
Needs python3-grpcio, python3-protobuf and protoc; exit status 77 says which is missing.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

try:
    import google.protobuf  # noqa: F401
    import grpc
except ImportError as error:
    print(f"missing: {error.name} (Debian: python3-grpcio, python3-protobuf)", file=sys.stderr)
    sys.exit(77)


def load_messages(folder):
    """The messages of fusion.proto as a Python module, generated in `folder`."""
    subprocess.run(["protoc", f"-I{ROOT}/proto", f"--python_out={folder}", "tributary/v1/fusion.proto"], check=True)
    sys.path.insert(0, folder)
    from tributary.v1 import fusion_pb2

    return fusion_pb2


def watch(messages, address, site, seconds):
    """Seconds to the first slot (None: none came) and the longest gap between two."""
    with grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = channel.unary_stream(
            "/tributary.v1.FusionService/Watch",
            request_serializer=messages.WatchRequest.SerializeToString,
            response_deserializer=messages.WatchResponse.FromString,
        )
        opened = time.monotonic()
        stream = call(messages.WatchRequest(site=site), timeout=seconds + 30)
        last = first = None
        gap = 0.0
        for response in stream:
            now = time.monotonic()
            if not response.HasField("slot"):
                continue
            if first is None:
                first = now - opened
            else:
                gap = max(gap, now - last)
            last = now
            if now - opened >= seconds:
                break
        stream.cancel()
        return first, gap


def main():
    address, site, streams, at_once, seconds = sys.argv[1:6]
    with tempfile.TemporaryDirectory() as folder:
        messages = load_messages(folder)
    with concurrent.futures.ThreadPoolExecutor(int(at_once)) as pool:
        results = list(pool.map(lambda _: watch(messages, address, site, float(seconds)), range(int(streams))))
    print(json.dumps({"first_slot_s": [r[0] for r in results], "longest_gap_s": [r[1] for r in results]}))


if __name__ == "__main__":
    main()
