"""Draws small faults from SystemVerilog text.

A site is an expression that the hardware computes: the right side of an assignment, a condition, or what an instance's
port is connected to. A mutant changes one operator or constant of one site, fixes a condition, or drops a register's
assignment. Sites are found by the layout that the sources keep: two spaces a level, one statement a line.
"""

import dataclasses
import re

SWAPS = {
    "+": "-", "-": "+", "*": "+", "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||",
    "||": "&&", "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<", ">>>": ">>",
}
TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<cast>\w+'(?=\())|(?P<literal>\d+'s?[bdh][0-9a-fA-F_]+|'[01])|(?P<word>[A-Za-z_$][\w$]*(?:::\w+)?)"
    r"|(?P<number>\d+)|(?P<operator>>>>|<<<|==|!=|<=|>=|&&|\|\||<<|>>|\+:|-:|[-+*/%<>&|^~!?:])|(?P<other>.)", re.DOTALL)
LITERAL = re.compile(r"(\d+)'(s?)([bdh])([0-9a-fA-F_]+)")
BASE = {"b": 2, "d": 10, "h": 16}
TARGET = r"(?P<target>[A-Za-z_]\w*(?:\[[^\]]*\])*)"


@dataclasses.dataclass(frozen=True)
class Site:
    begin: int  # of the expression in the text
    end: int
    target: str = ""  # the register that a nonblocking assignment sets
    condition: bool = False


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    site: Site
    original: str
    mutated: str

    def key(self):
        """The same as long as the statement is: what a list of equivalent mutants names."""
        flat = [" ".join(text.split()) for text in (self.original, self.mutated)]
        target = f"{self.site.target} <= " if self.site.target else ""
        return f"{self.file}: {target}{flat[0]} => {flat[1]}"


def without_comments(text):
    """Blanks instead of comments, so that offsets stay."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)


def closing(text, at):
    """Where the parenthesis at `at` closes."""
    depth = 0
    for position in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise ValueError(f"no closing parenthesis for position {at}")


def statement_end(text, at):
    return text.index(";", at)


def always_blocks(code):
    """(begin, end) of each always block: it ends where a line is as little indented as its beginning."""
    for found in re.finditer(r"^( +)always_(?:ff|comb)\b[^\n]*\n", code, re.MULTILINE):
        end = re.compile(rf"^ {{0,{len(found[1])}}}(?!end\b)\S", re.MULTILINE).search(code, found.end())
        yield found.start(), end.start() if end else len(code)


def sites_of(text):
    code = without_comments(text)
    ports_end = code.find(");", code.find("module "))
    found = []
    # The clock edge of the block is no site, and neither is the frame of a loop.
    for begin, end in always_blocks(code):
        block = code[begin:end]
        loops = [(loop.start(), closing(block, loop.end() - 1)) for loop in re.finditer(r"\bfor \(", block)]
        for condition in re.finditer(r"\bif \(", block):
            at = condition.end() - 1
            found.append(Site(begin + at + 1, begin + closing(block, at), condition=True))
        for assignment in re.finditer(rf"(?:(?<=[;):])|(?<=begin)|(?<=else)|(?<=end))\s+{TARGET}\s*(?P<kind><=|=)\s", block):
            if any(low <= assignment.start() <= high for low, high in loops):
                continue
            target = assignment["target"] if assignment["kind"] == "<=" else ""
            found.append(Site(begin + assignment.end(), begin + statement_end(block, assignment.end()), target))
    for wire in re.finditer(r"^ +(?:assign\s+[^=;]+?|wire\b[^=;]*?)=\s", code, re.MULTILINE):
        if wire.start() > ports_end and "unused" not in wire[0]:
            found.append(Site(wire.end(), statement_end(code, wire.end())))
    for port in re.finditer(r"\.\w+_i\(", code):
        end = closing(code, port.end() - 1)
        if re.search(r"[-+*<>&|^~!?=]|\d'", code[port.end():end]):
            found.append(Site(port.end(), end))
    return sorted(found, key=lambda site: site.begin)


def changed_literal(literal):
    if literal in ("'0", "'1"):
        return "'1" if literal == "'0" else "'0"
    width, sign, base, digits = LITERAL.fullmatch(literal).groups()
    value = (int(digits.replace("_", ""), BASE[base]) + 1) % (1 << int(width))
    return f"{width}'{sign}{base}{value:{ {'b': 'b', 'd': 'd', 'h': 'x'}[base] }}"


def variants(expression):
    """The expression with one operator or constant changed, for each that can be. Indices stay: they name wires."""
    depth, operand, result = 0, False, []
    for token in TOKEN.finditer(expression):
        kind, text = token.lastgroup, token[0]
        if kind == "space":
            continue
        depth += {"[": 1, "]": -1}.get(text, 0)
        replacement = None
        if depth == 0 and kind == "literal":
            replacement = changed_literal(text)
        elif depth == 0 and kind == "operator":
            if operand:
                replacement = SWAPS.get(text)
            elif text in "!~":
                replacement = ""
            elif text in "&|":
                replacement = SWAPS[text]
        if replacement is not None:
            result.append(expression[:token.start()] + replacement + expression[token.end():])
        operand = kind in ("literal", "word", "number") or text in ")]}"
    return result


def mutants_of(file, text):
    code = without_comments(text)
    result = []
    for site in sites_of(text):
        original = code[site.begin:site.end]
        mutated = variants(original)
        if site.condition:
            mutated += ["1'b0", "1'b1"]
        elif site.target and original.strip() != site.target:
            mutated.append(site.target)
        line = text.count("\n", 0, site.begin) + 1
        result += [Mutant(file, line, site, original, other) for other in dict.fromkeys(mutated) if other != original]
    return result


def selectable(text, numbered, active):
    """The text in which the expression `active` chooses one of the mutants, given as (number, mutant)."""
    by_site = {}
    for number, mutant in numbered:
        by_site.setdefault(mutant.site, []).append((number, mutant.mutated))
    for site, chosen in sorted(by_site.items(), key=lambda item: -item[0].begin):
        expression = without_comments(text[site.begin:site.end])
        for number, mutated in chosen:
            expression = f"({active} == {number}) ? ({mutated}) : ({expression})"
        text = text[:site.begin] + expression + text[site.end:]
    return text
