"""Runs a program under what a unit of systemd forbids, as far as that needs no systemd: system calls, address families,
memory that is writable and executable, /proc, privileges.

usage: confine.py UNIT USER PROGRAM ARGUMENT...; as root, in a mount namespace of its own
"""

import ctypes
import os
import pwd
import socket
import subprocess
import sys

import seccomp

PR_SET_NO_NEW_PRIVS = 38
PROT_WRITE, PROT_EXEC = 2, 4


class Unit(dict):
    """[Service] of a unit file: the values of each key, in their order."""

    def __init__(self, path):
        super().__init__()
        section = ""
        for line in map(str.strip, open(path, encoding="utf-8")):
            section = line if line.startswith("[") else section
            if section == "[Service]" and "=" in line and not line.startswith("#"):
                key, _, value = line.partition("=")
                self.setdefault(key, []).append(value)

    def words(self, key):
        return " ".join(self.get(key, [])).split()

    def says_yes(self, key):
        return self.get(key, ["no"])[-1] == "yes"


def calls_of(group):
    """The system calls of one of systemd's groups, such as @system-service."""
    if not group.startswith("@"):
        return {group}
    said = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    lines = [line.strip() for line in said.stdout.splitlines()[1:]]
    return set().union(*(calls_of(line) for line in lines if line and not line.startswith("#")))


def allowed_calls(unit):
    allowed = set()
    for value in unit["SystemCallFilter"]:
        groups = value.lstrip("~").split()
        calls = set().union(*map(calls_of, groups))
        allowed = allowed - calls if value.startswith("~") else allowed | calls
    # Before the program begins: systemd, too, changes the user and starts the program below its own filter.
    return allowed | {"execve", "exit_group"}


def system_call_filter(unit):
    rules = seccomp.SyscallFilter(seccomp.ERRNO(1))  # EPERM, as SystemCallErrorNumber says
    for call in sorted(allowed_calls(unit)):
        if call == "socket" and unit.words("RestrictAddressFamilies"):
            for family in unit.words("RestrictAddressFamilies"):
                rules.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, getattr(socket, family)))
            continue
        if call in ("mmap", "mprotect", "pkey_mprotect") and unit.says_yes("MemoryDenyWriteExecute"):
            # The loader maps code that is not writable: only both, or code made of data, is refused.
            if call == "mmap":
                rules.add_rule(seccomp.ALLOW, call, seccomp.Arg(2, seccomp.MASKED_EQ, PROT_WRITE | PROT_EXEC, 0))
                rules.add_rule(seccomp.ALLOW, call, seccomp.Arg(2, seccomp.MASKED_EQ, PROT_WRITE | PROT_EXEC, PROT_WRITE))
                rules.add_rule(seccomp.ALLOW, call, seccomp.Arg(2, seccomp.MASKED_EQ, PROT_WRITE | PROT_EXEC, PROT_EXEC))
            else:
                rules.add_rule(seccomp.ALLOW, call, seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC, 0))
            continue
        if call in ("clone3", "unshare", "setns") and unit.says_yes("RestrictNamespaces"):
            # A filter does not see the flags of clone3; at ENOSYS, glibc takes clone.
            if call == "clone3":
                rules.add_rule(seccomp.ERRNO(38), call)
            continue
        try:
            rules.add_rule(seccomp.ALLOW, call)
        except (RuntimeError, ValueError):
            pass  # not a call of this architecture
    return rules


def main():
    unit, user, program = Unit(sys.argv[1]), pwd.getpwnam(sys.argv[2]), sys.argv[3:]
    rules = system_call_filter(unit)
    if unit.get("ProcSubset") == ["pid"]:
        subprocess.run(["mount", "-t", "proc", "-o", "subset=pid,hidepid=invisible", "proc", "/proc"], check=True)
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    rules.load()
    os.execvp(program[0], program)


if __name__ == "__main__":
    main()
