#!/usr/bin/env python3
"""Writes the Python messages of proto/tributary/v1 into FOLDER/tributary/v1.

usage: generate.py FOLDER [--copy]      --copy: also the package itself, so that FOLDER can be in PYTHONPATH

Needs protoc and grpc_python_plugin (Debian: protobuf-compiler, protobuf-compiler-grpc), or the package grpcio-tools.
"""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"
FILES = ("fleet", "fusion", "run", "site", "trainer")


def compiler():
    """The command that compiles .proto files to Python."""
    protoc, plugin = shutil.which("protoc"), shutil.which("grpc_python_plugin")
    if protoc and plugin:
        return [protoc, f"--plugin=protoc-gen-grpc_python={plugin}"]
    try:
        import grpc_tools  # noqa: F401
    except ImportError:
        sys.exit("generate.py: needs protoc and grpc_python_plugin (apt install protobuf-compiler protobuf-compiler-grpc), "
                 "or the Python package grpcio-tools")
    return [sys.executable, "-m", "grpc_tools.protoc"]


def write_messages(folder):
    """Errors: SystemExit without a compiler; CalledProcessError with what it said."""
    out = pathlib.Path(folder)
    (out / "tributary/v1").mkdir(parents=True, exist_ok=True)
    subprocess.run([*compiler(), "-I", PROTO, f"--python_out={out}", f"--pyi_out={out}", f"--grpc_python_out={out}",
                    *(f"tributary/v1/{name}.proto" for name in FILES)], check=True, cwd=PROTO)
    (out / "tributary/v1/__init__.py").write_text('"""Messages and services of the protocol; written by generate.py."""\n')


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--copy"]):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    if sys.argv[2:]:
        shutil.copytree(HERE / "tributary", folder / "tributary", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("v1", "__pycache__"))
    write_messages(folder)


if __name__ == "__main__":
    main()
