"""Links and file names on the pages lead somewhere."""

import os
import re

# Folders whose files pages name in code spans.
TREE = ("aggregator", "bench", "cli", "cmake", "core", "deploy", "docs", "fpga", "models", "node", "proto", "tests")
PATH = re.compile(r"^(?:" + "|".join(TREE) + r")/[\w.*{},/-]*$")


def alternatives(text):
    """The names that a brace expression stands for."""
    match = re.search(r"\{([^{}]*)\}", text)
    if not match:
        return [text]
    return [
        name
        for choice in match[1].split(",")
        for name in alternatives(text[: match.start()] + choice + text[match.end() :])
    ]


def link_fault(root, pages, link):
    if re.match(r"^[a-z]+:", link.text):
        return None
    target, _, fragment = link.text.partition("#")
    name = os.path.normpath(os.path.join(os.path.dirname(link.page), target)) if target else link.page
    if not (root / name).exists():
        return f"{link.place}: {link.text}: {name} does not exist"
    if fragment and (name not in pages or fragment not in pages[name].anchors):
        return f"{link.place}: {link.text}: {name} has no heading with this anchor"
    return None


def path_fault(root, span):
    """Names of sources may lack their ending: a header and its source are one file to a reader."""
    if not PATH.match(span.text):
        return None
    for name in alternatives(span.text):
        if not any(root.glob(name.rstrip("/"))) and not any(root.glob(name.rstrip("/") + ".*")):
            return f"{span.place}: {name} does not exist"
    return None


def faults(root, pages):
    found = []
    for page in pages.values():
        found += [link_fault(root, pages, link) for link in page.links]
        found += [path_fault(root, span) for span in page.spans]
    return [fault for fault in found if fault]
