#!/usr/bin/python3
"""Writes the files of a folder as a C++ source that defines tributary::publish::PageFiles().

usage: embed.py FOLDER OUT.cc
"""

import gzip
import hashlib
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
UNBUILT = b'content="development"'  # of <meta name="tributary-page">: the page's own build


def literal(data):
    """The bytes as adjacent string literals; octal escapes have three digits and end by themselves."""
    lines = []
    for start in range(0, len(data), 64):
        text = "".join(f"\\{byte:03o}" if not 32 <= byte < 127 or byte in b'"\\?' else chr(byte)
                       for byte in data[start : start + 64])
        lines.append(f'    "{text}"')
    return "\n".join(lines) or '    ""'


def view(name, data):
    return f"constexpr char {name}[] =\n{literal(data)};\n"


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not (folder / "index.html").is_file():
        sys.exit(f"{folder}: there is no index.html")
    arrays, rows = [], []
    for number, path in enumerate(files):
        if path.suffix not in TYPES:
            sys.exit(f"{path}: no content type is known for it; see TYPES in {sys.argv[0]}")
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()[:32]
        # The names of the other files have digests of their own, so that this one names the whole build.
        if path.name == "index.html":
            data = data.replace(UNBUILT, f'content="{digest}"'.encode())
        packed = gzip.compress(data, 9, mtime=0)
        if len(packed) >= len(data):
            packed = b""
        name = path.relative_to(folder).as_posix()
        arrays += [view(f"kPlain{number}", data), view(f"kGzip{number}", packed)]
        rows.append(f'    {{"/{"" if name == "index.html" else name}", "{TYPES[path.suffix]}",\n'
                    f'     "{digest}",\n'
                    f"     {{kPlain{number}, sizeof(kPlain{number}) - 1}}, {{kGzip{number}, sizeof(kGzip{number}) - 1}}}},")
    text = "\n".join([
        "// Written by embed.py.", '#include "aggregator/publish/page.h"', "", "namespace tributary::publish {", "namespace {", "",
        *arrays, f"constexpr PageFile kFiles[] = {{", *rows, "};", "", "}  // namespace", "",
        "std::span<const PageFile> PageFiles() { return kFiles; }", "", "}  // namespace tributary::publish", ""])
    out.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
