"""Models as files in the safetensors format: what a run starts from, and what it gives."""

import json
import struct
from typing import Any, Dict

import numpy as np

Parameters = Dict[str, "np.ndarray[Any, Any]"]


def encode_model(parameters: Parameters) -> bytes:
    """A file of float32 tensors, for `Aggregator.start_run` or `tributary run start`."""
    arrays = {name: np.asarray(value, dtype="<f4") for name, value in sorted(parameters.items())}
    header, end = {}, 0
    for name, value in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [end, end + value.nbytes]}
        end += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for value in arrays.values())


def decode_model(file: bytes) -> Parameters:
    """The float32 tensors of a file, by name. Errors: ValueError for another file or element type."""
    length = struct.unpack("<Q", file[:8])[0] if len(file) >= 8 else len(file)
    if length > len(file) - 8:
        raise ValueError("not a safetensors file")
    parameters = {}
    for name, entry in json.loads(file[8:8 + length]).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            raise ValueError(f"{name}: {entry['dtype']}, expected F32")
        begin, end = entry["data_offsets"]
        parameters[name] = np.frombuffer(file[8 + length:][begin:end], dtype="<f4").reshape(entry["shape"]).copy()
    return parameters
