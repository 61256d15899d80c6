"""What the programs say of themselves: their commands, options and examples, from --help."""

import functools
import re
import shlex
import subprocess

PROGRAMS = ("tributary", "tributary-node", "tributary-aggregator", "tributary-xclbin", "tributary-rom")
OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)")


class Commands:
    def __init__(self, bin_folder):
        self.bin = bin_folder

    def exists(self, program):
        return (self.bin / program).exists()

    @functools.lru_cache(maxsize=None)
    def help(self, words):
        done = subprocess.run(
            [self.bin / words[0], *words[1:], "--help"], capture_output=True, text=True, timeout=30, check=False
        )
        return done.stdout + done.stderr if done.returncode == 0 else None

    @functools.lru_cache(maxsize=None)
    def subcommands(self, words):
        text = (self.help(words) or "").split("\nSubcommands:", 1)
        if len(text) < 2:
            return ()
        return tuple(re.findall(r"^  ([a-z_-]+)(?: .*)?$", text[1].split("\n\n", 1)[0], re.M))

    @functools.lru_cache(maxsize=None)
    def options(self, words):
        return frozenset(OPTION.findall(re.split(r"\nExamples?:", self.help(words) or "")[0]))

    def all(self):
        """Every command of every program that is built, as tuples of words."""
        found = [(program,) for program in PROGRAMS if self.exists(program)]
        for words in found:
            found += [words + (name,) for name in self.subcommands(words)]
        return found

    def examples(self, words):
        """The command lines under "Examples:", without the explanations behind them."""
        parts = re.split(r"^Examples?:", self.help(words) or "", maxsplit=1, flags=re.M)
        if len(parts) < 2:
            return []
        lines = parts[1].split("\n\n", 1)[0].replace("\\\n", "").splitlines()
        return [re.split(r" {2,}", line.strip())[0] for line in lines if line.strip().startswith("tributary")]

    def fault(self, line):
        """What is wrong with one command line, or None; placeholders such as FILE stand for themselves."""
        try:
            words = shlex.split(re.sub(r"[\[\]|…]", " ", line))
        except ValueError as error:
            return str(error)
        path, rest = (words[0],), words[1:]
        while rest and rest[0] in self.subcommands(path):
            path, rest = path + (rest[0],), rest[1:]
        if self.subcommands(path) and rest and not rest[0].startswith("-") and not rest[0].isupper():
            return f"`{' '.join(path)}` has no command {rest[0]}"
        known = self.options(path) | {"--help"}
        for word in rest:
            if word.startswith("-") and OPTION.match(word) and word.split("=")[0] not in known:
                return f"`{' '.join(path)}` has no option {word}"
        return None
