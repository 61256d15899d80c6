"""Works by others are cited by a key of docs/references.md, in pages and in comments."""

import re

KEY = re.compile(r"\[((?:LIS|DTPU|MOD|BEACON|SSL)|[A-Z][a-z]+\d\d)\]")
# How they were cited before; a reader cannot look these up.
STALE = re.compile(r"\b[Ss]eed 00\d\b|\bthe report's\b")
FOLDERS = ("aggregator", "bench", "cli", "core", "docs", "fpga", "node", "proto", "tests")
ENDINGS = (".h", ".cc", ".sv", ".md", ".proto", ".txt", ".toml")


def faults(root):
    listed = set(re.findall(r"^\| \[(\w+)\] \|", (root / "docs/references.md").read_text(encoding="utf-8"), re.M))
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in ENDINGS or not path.is_file():
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                place = f"{path.relative_to(root)}:{number}"
                unknown = [key for key in KEY.findall(line) if key not in listed]
                found += [f"{place}: [{key}] is not in docs/references.md" for key in unknown]
                found += [f"{place}: \"{stale}\" is no key of docs/references.md" for stale in STALE.findall(line)]
    return found
