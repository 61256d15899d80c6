"""The delegate from Python, by ctypes alone.

usage: delegate_test.py LIBRARY FOLDER, which delegate_models has filled
"""

import ctypes
import pathlib
import sys

OK, INVALID_ARGUMENT, EXHAUSTED = 0, 3, 8
FLOAT32 = 1


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("accelerator", ctypes.c_char_p), ("memory_bytes", ctypes.c_uint64),
                ("lanes", ctypes.c_uint32), ("strict", ctypes.c_int32), ("arithmetic", ctypes.c_int32),
                ("reserved", ctypes.c_uint32), ("dimensions", ctypes.c_void_p), ("dimension_count", ctypes.c_size_t)]


class Port(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("rank", ctypes.c_size_t), ("bytes", ctypes.c_size_t), ("type", ctypes.c_int32), ("reserved", ctypes.c_uint32)]


class Node(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [(name, ctypes.c_char_p) for name in (
        "name", "operation", "result", "runs_on", "arithmetic", "layer", "why_not")] + [
        ("multiply_accumulates", ctypes.c_int64), ("cycles", ctypes.c_uint64), ("on_accelerator", ctypes.c_int32),
        ("reserved", ctypes.c_uint32)]


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("type", ctypes.c_int32)]


class Delegate:
    """One opened model."""

    def __init__(self, library, model, **options):
        self.library, self.handle = library, ctypes.c_void_p()
        given = Options(struct_size=ctypes.sizeof(Options), **options)
        self.check(library.tributary_delegate_open_memory(model, ctypes.c_size_t(len(model)), ctypes.byref(given),
                                                          ctypes.byref(self.handle)))

    def check(self, status):
        if status != OK:
            raise ValueError(status, self.library.tributary_delegate_last_error().decode("ascii"))

    def nodes(self):
        for index in range(self.library.tributary_delegate_node_count(self.handle)):
            node = Node(struct_size=ctypes.sizeof(Node))
            self.check(self.library.tributary_delegate_node_at(self.handle, ctypes.c_size_t(index), ctypes.byref(node)))
            yield node

    def run(self, values, results):
        inputs, outputs = (ctypes.c_float * len(values))(*values), (ctypes.c_float * results)()
        given = Array(ctypes.cast(inputs, ctypes.c_void_p), ctypes.sizeof(inputs), FLOAT32)
        taken = Array(ctypes.cast(outputs, ctypes.c_void_p), ctypes.sizeof(outputs), FLOAT32)
        self.check(self.library.tributary_delegate_run(self.handle, ctypes.byref(given), ctypes.c_size_t(1),
                                                       ctypes.byref(taken), ctypes.c_size_t(1)))
        return list(outputs)

    def close(self):
        self.library.tributary_delegate_close(self.handle)


def expect(condition, what):
    if not condition:
        sys.exit(f"fault: {what}")


def refused(status, text, act):
    try:
        act()
    except ValueError as fault:
        expect(fault.args[0] == status and text in fault.args[1], f"expected {status} and \"{text}\": {fault}")
    else:
        sys.exit(f"fault: not refused: {text}")


def load(path):
    library = ctypes.CDLL(path)
    for name in ("last_error", "version_text"):
        getattr(library, f"tributary_delegate_{name}").restype = ctypes.c_char_p
    for name in ("input_count", "output_count", "node_count"):
        getattr(library, f"tributary_delegate_{name}").restype = ctypes.c_size_t
    return library


def main():
    library, folder = load(sys.argv[1]), pathlib.Path(sys.argv[2])
    affine, layers = ((folder / name).read_bytes() for name in ("affine.onnx", "layers.onnx"))
    delegate = Delegate(library, affine)
    expect(delegate.run([1, 1], 3) == [5.5, 7, 8.5], "x · w + b")
    refused(INVALID_ARGUMENT, "12 bytes; 8 are expected", lambda: delegate.run([1, 1, 1], 3))
    expect(delegate.run([2, -1], 3) == [-1.5, -1, -0.5], "x · w + b after a refused run")
    delegate.close()

    delegate = Delegate(library, layers, accelerator=b"tensor-model", lanes=8)
    where = {node.operation: node.runs_on for node in delegate.nodes()}
    expect(where[b"Conv"] == b"tensor unit (model)" and where[b"Softmax"] == b"processor", f"where nodes run: {where}")
    delegate.close()

    refused(INVALID_ARGUMENT, "", lambda: Delegate(library, affine[:-20]))
    refused(EXHAUSTED, "allowed", lambda: Delegate(library, layers, memory_bytes=1000))
    print(f"libtributary_delegate {library.tributary_delegate_version_text().decode()}")
    # Its messages of ONNX live beside those of Python's onnx in one process.
    try:
        import onnx
    except ImportError:
        return 0
    expect(len(onnx.load_from_string(affine).graph.node) == 2, "onnx reads the model")
    delegate = Delegate(library, onnx.load_from_string(affine).SerializeToString())
    expect(delegate.run([1, 1], 3) == [5.5, 7, 8.5], "x · w + b beside onnx")
    delegate.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
