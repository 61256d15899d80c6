#!/usr/bin/python3
"""Clang's thread-safety analysis over every source that takes part in a lock, in the batches in which sources are compiled.

A batch takes part if a file of it, or a header that such a file includes directly, names an annotation or the lock. First a
planted fault has to be found. usage: thread_safety.py (from the root of the tree, after deploy/build.sh tidy)
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ANNOTATION = re.compile(r"\b(GUARDED_BY|REQUIRES|EXCLUDES|MutexLock)\b")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)  # of a batch: its files, by their absolute paths
CHECK = ["clang++", "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]
PLANTED = """#include "core/runtime/mutex.h"
struct Counter {
  int Read() { return count; }
  tributary::runtime::Mutex mutex;
  int count GUARDED_BY(mutex) = 0;
};
int main() { return Counter().Read(); }
"""


def included(file: str) -> list[str]:
    return [name for name in INCLUDE.findall(pathlib.Path(file).read_text()) if os.path.exists(name)]


def files_of(batch: str) -> list[str]:
    """The sources of a batch; of a source that is compiled alone, itself."""
    return [name for name in included(batch) if name.endswith(".cc")] or [batch]


def takes_part(file: str) -> bool:
    return any(ANNOTATION.search(pathlib.Path(name).read_text()) for name in [file, *included(file)])


def flags_of(entry: dict) -> list[str]:
    """Include paths, definitions and the standard: what the analysis needs of a compile command."""
    words = shlex.split(entry["command"])
    flags = []
    for i, word in enumerate(words):
        if word.startswith(("-I", "-D", "-std")):
            flags.append(word)
        elif word == "-isystem":
            flags += [word, words[i + 1]]
    return flags


def analyse(file: str, flags: list[str]) -> str:
    """What the analysis says against the file; empty if nothing."""
    result = subprocess.run([*CHECK, *flags, file], capture_output=True, text=True)
    return "" if result.returncode == 0 else result.stderr


def main() -> int:
    commands = {entry["file"]: entry for entry in json.load(open("build/tidy/compile_commands.json", encoding="utf-8"))
                if os.path.exists(entry["file"]) and "/build/tidy/proto/" not in entry["file"]}
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as planted:
        planted.write(PLANTED)
        planted.flush()
        if "requires holding mutex" not in analyse(planted.name, ["-std=c++20", "-I."]):
            print("the analysis does not find a planted fault")
            return 1
    parts = {batch: list(filter(takes_part, files_of(batch))) for batch in sorted(commands)}
    batches = [batch for batch, files in parts.items() if files]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = list(pool.map(lambda batch: analyse(batch, flags_of(commands[batch])), batches))
    for finding in filter(None, findings):
        print(finding)
    faults = sum(map(bool, findings))
    files = sum(map(len, parts.values()))
    print(f"thread safety: {files} files in {len(batches)} batches, {faults} with faults, a planted fault found")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
