"""Writes the manual's page of a program and of each of its commands from what --help says.

usage: man_pages.py --section N --changelog FILE --out FOLDER -- [LAUNCHER...] PROGRAM
The version and the date are those of Debian's changelog. A page of an earlier build that has no command any more is removed.
"""

import argparse
import email.utils
import pathlib
import re
import subprocess

# Paragraphs below the examples that are a section of their own.
NAMED = re.compile(r"^(Exit status|Signals): ")
HEADINGS = {"Positionals": "ARGUMENTS", "Options": "OPTIONS", "Subcommands": "COMMANDS"}
FILES = {
    "tributary-node": "/etc/tributary/node.toml\n/var/lib/tributary\n/usr/share/doc/tributary-node/examples",
    "tributary-aggregator": "/etc/tributary/aggregator.toml\n/var/lib/tributary\n"
                            "/usr/share/doc/tributary-aggregator/examples",
}


class Help:
    """What `PROGRAM COMMAND... --help` prints, taken apart."""

    def __init__(self, text):
        head, _, rest = text.partition("Usage:")
        self.description = " ".join(head.split())
        self.usage, _, rest = rest.partition("\n")
        self.usage = self.usage.strip()
        self.entries = {}  # heading of the help: [(name, text)]
        self.footer = []  # paragraphs
        entries = None
        for block in re.split(r"\n\s*\n", rest.strip("\n")):
            heading, _, body = block.partition("\n")
            if heading.rstrip(":") in HEADINGS and heading.endswith(":"):
                entries = self.entries.setdefault(heading.rstrip(":"), [])
                self.read_entries(body, entries)
            else:
                self.footer.append(block)

    @staticmethod
    def read_entries(body, entries):
        for line in body.splitlines():
            name, _, text = re.sub(r"^  (\S.*?)(?:\s{2,}|$)", r"\1\n", line, count=1).partition("\n")
            if line.startswith("   "):
                entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}".strip())
            else:
                entries.append((name, text.strip()))

    def commands(self):
        return [name for name, _ in self.entries.get("Subcommands", [])]


def ask(program, words):
    done = subprocess.run([*program, *words, "--help"], capture_output=True, text=True, check=True)
    return Help(done.stdout)


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def verbatim(text):
    return f".nf\n{escape(text)}\n.fi"


def footer_sections(paragraphs):
    """(heading or "" for running text, roff) for each paragraph below the options."""
    sections = []
    for paragraph in paragraphs:
        first, _, rest = paragraph.partition("\n")
        if re.match(r"^Examples?:$", first):
            sections.append(("EXAMPLES", verbatim(rest)))
            continue
        # A line that begins a section ends what stands above it.
        for part in re.split(r"\n(?=Exit status: |Signals: )", paragraph):
            if named := NAMED.match(part):
                sections.append((named.group(1).upper(), escape(" ".join(part[named.end():].split()))))
            elif any(line.startswith("  ") for line in part.splitlines()):
                sections.append(("NOTES", verbatim(part)))
            else:
                sections.append(("NOTES", escape(" ".join(part.split()))))
    return sections


def page(name, section, release, told, see_also):
    version, date = release
    lines = [f'.TH {name.upper()} {section} "{date}" "tributary {version}" "Tributary"']

    def add(heading, body):
        if f".SH {heading}" not in lines:
            lines.append(f".SH {heading}")
        else:
            lines.append(".PP")
        lines.append(body)

    summary = told.description.rstrip(".")
    add("NAME", f"{escape(name)} \\- {escape(summary[:1].lower() + summary[1:])}")
    add("SYNOPSIS", escape(told.usage))
    add("DESCRIPTION", escape(told.description.rstrip(".") + "."))
    for heading, entries in told.entries.items():
        add(HEADINGS[heading], "\n".join(f".TP\n.B {escape(entry)}\n{escape(text)}" for entry, text in entries))
    sections = footer_sections(told.footer)
    for wanted in ("NOTES", "EXAMPLES", "EXIT STATUS", "SIGNALS"):
        for heading, body in sections:
            if heading == wanted:
                add(heading, body)
    if name in FILES:
        add("FILES", verbatim(FILES[name]))
    if see_also:
        add("SEE ALSO", ",\n".join(f".BR {escape(other)} ({number})" for other, number in see_also))
    return "\n".join(lines) + "\n"


def read_release(changelog):
    text = changelog.read_text(encoding="utf-8")
    version = re.match(r"\S+ \(([^)]+)\)", text).group(1)
    date = email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", text, re.M).group(1))
    return version, date.strftime("%Y-%m-%d")


def write_pages(program, section, release, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    name = pathlib.Path(program[-1]).name
    pending = [()]
    while pending:
        words = pending.pop()
        told = ask(program, words)
        below = [(*words, command) for command in told.commands()]
        pending += below
        near = ([words[:-1]] if words else []) + below
        see_also = [("-".join((name, *other)), section) for other in near]
        if not words and name != "tributary":
            see_also.append(("tributary", 1))
        full = "-".join((name, *words))
        (folder / f"{full}.{section}").write_text(page(full, section, release, told, see_also), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--section", type=int, required=True)
    parser.add_argument("--changelog", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("program", nargs="+")
    arguments = parser.parse_args()
    write_pages(arguments.program, arguments.section, read_release(arguments.changelog), arguments.out)


if __name__ == "__main__":
    main()
