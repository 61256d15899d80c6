"""What a page holds that can be wrong: fenced blocks with their directives, code spans, links and headings.

A directive is an HTML comment directly above a fenced block, invisible to the reader:

    <!-- not run: REASON -->      the block cannot run here; the test lists it
    <!-- setup: SHELL -->         runs before the block: what the reader has on another machine
    <!-- file: PATH -->           the reader writes the block to this file; PATH is relative to the tree
    <!-- expect: REGEX -->        the last command's output must match
    <!-- private root -->         the block changes /etc and /usr
"""

import dataclasses
import pathlib
import re

DIRECTIVE = re.compile(r"^<!-- (not run|setup|file|expect|private root)(?:: (.*))? -->$")
FENCE = re.compile(r"^```(\S*)\s*$")
GENERATED = re.compile(r"^<!-- (begin|end) [\w -]+ -->$")  # what lies between is written by a program, and tested there
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?)\s*$")


@dataclasses.dataclass
class Block:
    page: str
    line: int  # of the first line inside the fence
    language: str
    text: str
    directives: dict

    @property
    def place(self):
        return f"{self.page}:{self.line}"


@dataclasses.dataclass
class Span:
    page: str
    line: int
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"


@dataclasses.dataclass
class Page:
    name: str
    blocks: list
    spans: list
    links: list
    anchors: set
    faults: list


def anchor(heading):
    """The fragment that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def parse(name, text):
    page = Page(name, [], [], [], set(), [])
    directives, block, previous = {}, None, ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line.strip())
        if block is not None:
            if fence:
                page.blocks.append(block)
                block = None
            else:
                block.text += line + "\n"
            continue
        if fence:
            block = Block(name, number + 1, fence[1], "", directives)
            directives = {}
            continue
        directive = DIRECTIVE.match(line.strip())
        if directive:
            directives[directive[1]] = directive[2] or ""
            continue
        if line.strip() and directives:
            page.faults.append(f"{name}:{number}: a directive stands above something that is no block")
            directives = {}
        if line.startswith("<!--") and not directive and not GENERATED.match(line):
            page.faults.append(f"{name}:{number}: this comment is no directive of the page test: {line}")
        if line.startswith("    ") and not previous.strip():
            page.faults.append(f"{name}:{number}: indented code; commands stand in a fenced block")
        heading = HEADING.match(line)
        if heading:
            page.anchors.add(anchor(heading[1]))
        page.spans += [Span(name, number, text) for text in SPAN.findall(line)]
        page.links += [Span(name, number, target) for target in LINK.findall(SPAN.sub("``", line))]
        previous = line
    if block is not None:
        page.faults.append(f"{block.place}: the block is not closed")
    return page


def names(root):
    """The pages of a tree, relative to it."""
    found = [path for pattern in ("*.md", "docs/**/*.md", "fpga/syn/vivado/*.md") for path in root.glob(pattern)]
    return sorted(str(path.relative_to(root)) for path in found)


def read(root):
    root = pathlib.Path(root)
    return {name: parse(name, (root / name).read_text(encoding="utf-8")) for name in names(root)}
