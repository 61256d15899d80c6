"""The library shows the functions of its header and nothing else, and needs no gRPC, logging or XRT.

usage: symbols_test.py LIBRARY HEADER
"""

import re
import subprocess
import sys

# Libraries that a user of the delegate must not be made to install.
UNWANTED = ("grpc", "spdlog", "xrt", "prometheus", "systemd", "sqlite", "boost")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def main():
    library, header = sys.argv[1:]
    with open(header, encoding="utf-8") as file:
        code = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    declared = set(re.findall(r"\b(tributary_delegate_\w+)\s*\(", code))
    symbols = [line.split() for line in output("nm", "--dynamic", "--defined-only", library).splitlines()]
    # The version's own symbol is absolute.
    shown = {name.split("@")[0] for *_, kind, name in symbols if kind != "A"}
    dynamic = output("readelf", "--dynamic", "--wide", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    faults = [f"not shown: {name}" for name in sorted(declared - shown)]
    faults += [f"shown, and not in the header: {name}" for name in sorted(shown - declared)]
    faults += [f"needs {name}" for name in needed if any(word in name for word in UNWANTED)]
    if "[libtributary_delegate.so.0]" not in dynamic:
        faults.append("the soname is not libtributary_delegate.so.0")
    if len(declared) < 10 or not any("onnx" in name for name in needed):
        faults.append("this test does not see what it is to check")
    for fault in faults:
        print(f"fault: {fault}")
    print(f"{len(shown)} functions; needs {', '.join(needed)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
