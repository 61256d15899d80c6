#!/usr/bin/python3
"""Clang's thread-safety analysis over every source file that takes part in a lock, tests left out.

A file takes part if it, or a header that it includes directly, names an annotation or the lock. First a planted fault has
to be found. usage: thread_safety.py (from the root of the tree, after deploy/build.sh tidy)
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
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
LEFT_OUT = re.compile(r"_(test|fuzz|bench)\.cc$|^tests/|fixture")
CHECK = ["clang++", "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]
PLANTED = """#include "core/runtime/mutex.h"
struct Counter {
  int Read() { return count; }
  tributary::runtime::Mutex mutex;
  int count GUARDED_BY(mutex) = 0;
};
int main() { return Counter().Read(); }
"""


def takes_part(file: str) -> bool:
    text = pathlib.Path(file).read_text()
    headers = [name for name in INCLUDE.findall(text) if os.path.exists(name)]
    return any(ANNOTATION.search(pathlib.Path(name).read_text()) for name in [file, *headers])


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
    commands = {os.path.relpath(entry["file"]): entry
                for entry in json.load(open("build/tidy/compile_commands.json", encoding="utf-8"))}
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as planted:
        planted.write(PLANTED)
        planted.flush()
        if "requires holding mutex" not in analyse(planted.name, ["-std=c++20", "-I."]):
            print("the analysis does not find a planted fault")
            return 1
    files = [file for file in sorted(commands) if not file.startswith(("build", "..")) and not LEFT_OUT.search(file)]
    files = [file for file in files if takes_part(file)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = list(pool.map(lambda file: analyse(file, flags_of(commands[file])), files))
    for finding in filter(None, findings):
        print(finding)
    faults = sum(map(bool, findings))
    print(f"thread safety: {len(files)} files, {faults} with faults, a planted fault found")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
