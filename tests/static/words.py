#!/usr/bin/env python3
"""Plain words in comments, pages, help texts and messages.

usage: words.py ROOT
Exit status: 0 all is well, 1 faults (one line each).

A fault is one of these:
  * a sentence that opens with "Of", "Likewise" or "What ..., is" where its subject should stand;
  * a number that only its author can look up, such as a goal or a seed by number;
  * a file of this tree that does not exist;
  * a key in square brackets that docs/references.md does not list.
"""

import ast
import bisect
import io
import pathlib
import re
import sys
import textwrap
import tokenize

TREE = ("aggregator", "bench", "cli", "cmake", "core", "dashboard", "deploy", "docs", "fpga", "models", "node", "proto", "tests")
# Faults that these files plant on purpose.
PLANTED = ("tests/static/words_test.py", "tests/pages/planted_faults_test.py", "tests/layout/include_rules_test.sh")
# What may follow "Of" at the beginning of a sentence: nothing so far.
OF_ALLOWED = ()

C_LIKE = (".cc", ".h", ".sv", ".svh", ".proto", ".ts", ".tsx", ".mjs")
HASH = (".sh", ".cmake", ".toml", ".tcl", ".rules", ".service", ".txt", ".sby", ".ys")

OPENING = re.compile(
    r"(?:^|(?<=[.?!:;]\s)|(?<=[.?!][)\"`]\s))"
    r"(?P<opening>Of|[Ll]ikewise|What\b[^.?!:;|]*, (?:is|are|was|were|has|have|does|can|may|must|will|goes|stays|comes))\b"
    r"(?P<rest>[^.?!]*[.?!]?)"
)
PRIVATE = re.compile(
    r"\b[Ss]eed 00\d\b|\bthe report's\b|\b[Gg]oals? \d+\b(?!\s?(?:×|%|[mµn]?s\b|[kMG]\b))|\bthe later half\b"
    r"|\bdomain(?:'s)? facts\b|\bperformance notes\b"
)
KEY = re.compile(r"\[((?:LIS|DTPU|MOD|BEACON|SSL)|[A-Z][a-z]+\d\d)\]")
PATH = re.compile(r"(?<![\w./<>$}-])(?:" + "|".join(TREE) + r")/[\w.*{},/-]*")
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b(?!\.md)")  # core/FOLDER/FILE.h
LINK = re.compile(r"(\[[^\]\n]*\])\([^)\s]+\)")
C_TOKEN = re.compile(
    r"(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|R\"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)\""
    r"|\"(?P<text>(?:\\.|[^\"\\\n])*)\"|(?<![\w])'(?:\\.|[^'\\\n])+'",
    re.S,
)
HASH_TOKEN = re.compile(r"(?P<line>(?<!\S)#[^\n]*)|'[^'\n]*'|\"(?P<text>(?:\\.|[^\"\\])*)\"", re.S)
SHEBANG = re.compile(r"\A#![^\n]*")
HEREDOC = re.compile(r"<<-?\s*['\"]?(?P<mark>[A-Z]\w*)['\"]?[^\n]*\n(?P<body>.*?)\n\s*(?P=mark)\n", re.S)


class Prose:
    """A piece of text whose lines follow each other in a file."""

    def __init__(self, first_line, lines, may_name_paths=True):
        self.first_line = first_line
        self.may_name_paths = may_name_paths
        self.starts, self.text = [], ""
        for line in lines:
            self.starts.append(len(self.text))
            self.text += line.strip() + " "

    def line(self, position):
        return self.first_line + bisect.bisect_right(self.starts, position) - 1


def joined(comments):
    """Comments on successive lines in the same column are one piece of prose, unless code stands before the later one."""
    pieces = []
    for line, column, text, behind_code in comments:
        last = pieces[-1] if pieces else None
        if last and text and not behind_code and last[0] + len(last[2]) == line and last[1] == column:
            last[2].append(text)
        elif text:
            pieces.append((line, column, [text]))
    return [Prose(line, texts) for line, _, texts in pieces]


def scan(text, token, marker):
    """The comments and the string literals of a language that `token` describes."""
    newlines = [match.start() for match in re.finditer("\n", text)]
    comments, strings = [], []
    for match in token.finditer(text):
        found = match.groupdict()
        line = bisect.bisect_left(newlines, match.start()) + 1
        if found["line"] is not None:
            start = newlines[line - 2] + 1 if line > 1 else 0
            behind_code = bool(text[start : match.start()].strip())
            comments.append((line, match.start() - start, found["line"].lstrip(marker).strip(), behind_code))
        elif found.get("block") is not None:
            strings.append(Prose(line, [part.strip("/* ") for part in found["block"].splitlines()]))
        else:
            literal = found["text"] if found["text"] is not None else found.get("raw")
            # A literal may name a file of a test.
            lines = (literal or "").replace("\\n", "\n").splitlines()
            strings += [Prose(line, [text], may_name_paths=False) for text in lines]
    return joined(comments) + strings


def c_like(text):
    return scan(text, C_TOKEN, "/")


def hash_like(text):
    """Shell, CMake, TOML, Tcl and units of systemd. Help texts of scripts are here-documents."""
    text = SHEBANG.sub("", text)
    newlines = [match.start() for match in re.finditer("\n", text)]
    pieces = []
    for match in HEREDOC.finditer(text):
        first = bisect.bisect_left(newlines, match.start("body")) + 1
        pieces += [Prose(first + i, [line]) for i, line in enumerate(match["body"].split("\n"))]
    text = HEREDOC.sub(lambda match: "\n" * match[0].count("\n"), text)
    return pieces + scan(text, HASH_TOKEN, "#")


def python(text):
    text = SHEBANG.sub("", text)
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            behind_code = bool(token.line[: token.start[1]].strip())
            comments.append((*token.start, token.string.lstrip("#").strip(), behind_code))
    pieces = joined(comments)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (doc := ast.get_docstring(node)):
            pieces += [Prose(node.body[0].lineno, textwrap.dedent(doc).splitlines())]
    return pieces


def markdown(text):
    """Paragraphs, list items, headings and the cells of tables; code blocks are run by the page test."""
    pieces, lines, first, fenced = [], [], 0, False
    text = LINK.sub(r"\1", text)  # the page test follows links
    for number, line in enumerate([*text.splitlines(), ""], 1):
        starts = re.match(r"\s*(?:[*-] |\d+\. |#|\||```|<!--|$)", line)
        if starts and lines:
            pieces.append(Prose(first, lines))
            lines = []
        if line.strip().startswith("```"):
            fenced = not fenced
        elif fenced:
            pieces.append(Prose(number, [line.partition("#")[2]]))
        elif line.startswith("|"):
            pieces += [Prose(number, [cell]) for cell in line.split("|")]
        elif line.strip():
            if not lines:
                first = number
            lines.append(re.sub(r"^\s*(?:[*-] |\d+\. |#+ )", "", line))
    return pieces


def reader(path):
    """What finds the prose of a file; None if it has none."""
    if path.suffix in C_LIKE:
        return c_like
    if path.suffix == ".md":
        return markdown
    if path.suffix == ".py":
        return python
    return hash_like if path.suffix in HASH or path.parent.name == ".ci" else None


class Tree:
    """Tells which names of files exist."""

    def __init__(self, root):
        self.root = root
        self.known = {}

    def has(self, name):
        if name not in self.known:
            # A name may lack its ending: a header and its source are one file to a reader.
            self.known[name] = any(self.root.glob(name)) or any(self.root.glob(name + ".*"))
        return self.known[name]


def alternatives(name):
    """The names that a brace expression stands for."""
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        name = re.sub(r"[{},].*", "", name).rstrip("./-")
        return [] if PLACEHOLDER.search(name) else [name]
    return [whole for choice in match[1].split(",")
            for whole in alternatives(name[: match.start()] + choice + name[match.end() :])]


def openings(prose):
    for match in OPENING.finditer(prose.text):
        allowed = match["opening"] == "Of" and match["rest"].strip().startswith(OF_ALLOWED)
        if not allowed and not match["rest"].endswith("?"):
            yield match.start(), f'opens with "{match["opening"].split()[0]}": say who does what'


def faults_in(prose, keys, tree):
    found = list(openings(prose))
    found += [(match.start(), f'"{match[0]}" means nothing to a reader') for match in PRIVATE.finditer(prose.text)]
    found += [(match.start(), f"[{match[1]}] is not in docs/references.md")
              for match in KEY.finditer(prose.text) if match[1] not in keys]
    if prose.may_name_paths:
        found += [(match.start(), f"{name} does not exist") for match in PATH.finditer(prose.text)
                  for name in alternatives(match[0]) if not tree.has(name)]
    return [(prose.line(position), text) for position, text in found]


def files(root):
    found = [path for folder in (*TREE, ".ci") for path in (root / folder).rglob("*")]
    found += [path for path in root.iterdir() if path.name != "CHANGELOG.md"]  # names files that are gone
    for path in sorted(path for path in found if path.is_file() and "node_modules" not in path.parts):
        name = str(path.relative_to(root))
        if name not in PLANTED:
            yield name, path


def faults(root):
    keys = set(re.findall(r"^\| \[(\w+)\] \|", (root / "docs/references.md").read_text(encoding="utf-8"), re.M))
    tree, found, read = Tree(root), [], 0
    for name, path in files(root):
        if prose_of := reader(path):
            read += 1
            text = path.read_text(encoding="utf-8", errors="replace")
            lines = sorted({fault for prose in prose_of(text) for fault in faults_in(prose, keys, tree)})
            found += [f"{name}:{line}: {fault}" for line, fault in lines]
    return found, read


def main():
    found, read = faults(pathlib.Path(sys.argv[1]).resolve())
    for fault in found:
        print(fault)
    if found:
        print(f"{len(found)} fault(s)")
        return 1
    print(f"plain words: {read} files read")
    return 0


if __name__ == "__main__":
    sys.exit(main())
