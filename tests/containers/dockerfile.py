"""A Dockerfile as stages of instructions."""

import dataclasses
import json
import re
import shlex


@dataclasses.dataclass
class Instruction:
    line: int
    name: str  # in capitals
    text: str  # the rest, continuation lines joined

    @property
    def words(self):
        """The words of the exec form, or None."""
        if self.name == "HEALTHCHECK":
            text = re.sub(r"^(?:--\S+\s+)*CMD\s+", "", self.text)
        else:
            text = self.text
        try:
            words = json.loads(text)
        except json.JSONDecodeError:
            return None
        return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None

    @property
    def flags(self):
        """--NAME=VALUE before the rest, and the rest."""
        flags, rest = [], self.text
        while match := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
            flags.append((match[1], match[2]))
            rest = rest[match.end():]
        return flags, rest


@dataclasses.dataclass
class Stage:
    name: str
    base: str
    instructions: list

    def last(self, name):
        found = [each for each in self.instructions if each.name == name]
        return found[-1] if found else None


def read(text):
    """Stages in their order; ValueError with the line for what is no Dockerfile."""
    stages = []
    for line, statement in statements(text):
        name, _, rest = statement.partition(" ")
        instruction = Instruction(line, name.upper(), rest.strip())
        if instruction.name == "FROM":
            match = re.fullmatch(r"(?:--platform=\S+ )?(\S+)(?: [Aa][Ss] (\S+))?", instruction.text)
            if not match:
                raise ValueError(f"line {line}: FROM {instruction.text}")
            stages.append(Stage(match[2] or "", match[1], []))
        elif not stages:
            raise ValueError(f"line {line}: {instruction.name} before FROM")
        else:
            stages[-1].instructions.append(instruction)
    return stages


def statements(text):
    begun, parts = 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        begun = begun or number
        parts.append(line.rstrip().removesuffix("\\").strip())
        if not line.rstrip().endswith("\\"):
            yield begun, " ".join(parts)
            begun, parts = 0, []
    if parts:
        raise ValueError(f"line {begun}: the last line is continued")


def chain(stages, name):
    """The stages that make up an image, the first one first."""
    by_name = {stage.name: stage for stage in stages}
    found = []
    while name in by_name:
        found.insert(0, by_name[name])
        name = by_name[name].base
    return found


def environment(stages):
    """What ENV of these stages sets."""
    values = {}
    for stage in stages:
        for each in stage.instructions:
            if each.name == "ENV":
                values |= dict(word.split("=", 1) for word in shlex.split(each.text))
    return values
