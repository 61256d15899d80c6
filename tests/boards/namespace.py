"""Network namespaces: each stands for a machine. They live in a mount namespace of their own and end with the process."""

import contextlib
import ctypes
import os
import subprocess
import sys

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
INSIDE = "--in-own-namespaces"


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


def works(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def reason_not_here():
    """Why no bed can be made on this machine; empty: it can."""
    if not works("ip", "-V"):
        return "the command ip (Debian's package iproute2) is not installed"
    if not works("unshare", "--net", "--mount", "ip", "link", "set", "lo", "up"):
        return "this process may not make network namespaces (it needs root or CAP_SYS_ADMIN)"
    return ""


def run_inside(script, arguments):
    """Runs the script again in network, mount and process namespaces of its own; returns its exit status."""
    inside = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, script, *arguments, INSIDE]
    return subprocess.run(inside, check=False).returncode


def enter(file):
    if LIBC.setns(file, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Namespace:
    """One machine's network. Make it inside in_own_namespaces."""

    def __init__(self, name):
        self.name = name
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        self.file = os.open(f"/run/netns/{name}", os.O_RDONLY)

    @contextlib.contextmanager
    def entered(self):
        """Sockets that are opened and processes that are started meanwhile belong to this machine."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        enter(self.file)
        try:
            yield
        finally:
            enter(home)
            os.close(home)

    def remove(self):
        """Its devices end with it, once its last process has ended."""
        os.close(self.file)
        ip("netns", "delete", self.name)

    def ip(self, *words):
        ip("-n", self.name, *words)


def own_folder():
    """Names of namespaces lie in /run/netns: a /run of its own keeps them from those of the machine."""
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)


def in_own_namespaces(script, main):
    """The exit status of main(), which runs where it may make namespaces; 77 with the reason where none can be made."""
    if INSIDE in sys.argv:
        sys.argv.remove(INSIDE)
        own_folder()
        return main()
    if reason := reason_not_here():
        print(f"skipped: {reason}")
        return 77
    return run_inside(script, sys.argv[1:])
