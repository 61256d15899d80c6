"""The examples for real boards fit their boards, by the counts that docs/fpga-resources.md records."""

import re

KINDS = ("LUT", "FF", "DSP", "BRAM36")
SHARE = 0.9  # of a board; the rest is for the platform, which could not be measured here
BOARDS = {"zcu102": "ZCU102 (ZU9EG)", "kv260": "KV260 (K26)"}


def table(text, heading):
    """The rows of a section's table: the first column, and the counts by kind."""
    section = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = {}
    for line in section.splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if len(cells) > len(KINDS) and re.match(r"^[\d,.]+$", cells[1]):
            rows[cells[0]] = {kind: float(cells[i + 1].replace(",", "")) for i, kind in enumerate(KINDS)}
    return rows


def examples(block):
    """Each build of a block: its board, and its kernels with their parameters and numbers of instances."""
    packaged = dict(re.findall(r"-tclargs (\w+) \S+ \S+((?: \w+=\w+)*)", block))
    for board, kernels in re.findall(r"build_xclbin\.sh (\w+) \S+ (.*)", block):
        yield board, [
            (name + packaged.get(name, ""), int(count))
            for name, count in (kernel.split(":") for kernel in kernels.split())
        ]


def faults(text, blocks):
    """text: docs/fpga-resources.md. blocks: (place, text) of the shell blocks with builds."""
    kernels, boards = table(text, "Kernels"), table(text, "Boards")
    found, builds = [], 0
    for place, block in blocks:
        for board, instances in examples(block):
            builds += 1
            unknown = [name for name, _ in instances if name not in kernels]
            if unknown or board not in BOARDS:
                found.append(f"{place}: docs/fpga-resources.md has no counts of {board} {unknown}")
                continue
            for kind in KINDS:
                needed = sum(kernels[name][kind] * count for name, count in instances)
                there = boards[BOARDS[board]][kind]
                if needed > SHARE * there:
                    found.append(f"{place}: the example for {board} needs {needed:g} {kind} of {there:g}")
    return found if builds else ["no example for a board was found"]
