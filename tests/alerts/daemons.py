"""Daemons, a small disk and a slow link for the alerts' test. Everything ends with its owner."""

import asyncio
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.2)
    raise TimeoutError(f"{what}: not within {seconds} s")


def http_text(port, path):
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.read().decode()
    return ""


class Program:
    """A process that can be killed, halted and started again; its output goes to a file."""

    def __init__(self, scratch, name, command):
        self.name, self.command, self.log = name, [str(part) for part in command], scratch / f"{name}.log"
        self.start()

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def halt(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        if self.process.poll() is None:
            self.go_on()
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


class Daemon(Program):
    """tributary-aggregator or tributary-node, with HTTP on a port of its own."""

    def __init__(self, world, kind, name, settings, launcher=()):
        self.kind, self.http = kind, free_port()
        self.config = world.scratch / f"{name}.toml"
        self.write(settings)
        super().__init__(world.scratch, name, [*launcher, world.bin / f"tributary-{kind}", "--config", self.config])
        world.add(self)

    def write(self, settings):
        self.config.write_text(f'{settings}\n[http]\nlisten = "127.0.0.1:{self.http}"\n', encoding="utf-8")

    def ready(self):
        return "process_start_time_seconds" in http_text(self.http, "/metrics")

    @property
    def instance(self):
        return f"127.0.0.1:{self.http}"


class SmallDisk:
    """A file system of a few megabytes, in a mount namespace of its own."""

    def __init__(self, world, folder, size):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        mount = f"mount -t tmpfs -o size={size} none '{folder}' && echo mounted && exec sleep 3600"
        self.holder = Program(world.scratch, "disk", ["unshare", "--map-root-user", "--mount", "sh", "-c", mount])
        world.add(self.holder)
        wait_for("a small disk", lambda: "mounted" in self.holder.log.read_text() or self.holder.process.poll() is not None)
        self.mounted = self.holder.process.poll() is None

    @property
    def launcher(self):
        return ["nsenter", "--target", str(self.holder.process.pid), "--user", "--mount", "--preserve-credentials"]

    @property
    def filler(self):
        return pathlib.Path(f"/proc/{self.holder.process.pid}/root{self.folder}/filler")

    def fill(self):
        with contextlib.suppress(OSError), self.filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 512)

    def free(self):
        self.filler.unlink()


class SlowLink:
    """Forwards a port of the loopback; `delay_s` holds back what the client sends."""

    def __init__(self, port):
        self.target, self.port, self.delay_s = port, free_port(), 0.0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", self.port))
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.forward(reader, far_writer, lambda: self.delay_s), self.forward(far_reader, writer, lambda: 0.0))

    async def forward(self, reader, writer, delay):
        due = 0.0
        with contextlib.suppress(OSError):
            while chunk := await reader.read(65536):
                due = max(due, self.loop.time() + delay())  # a shorter delay lets nothing overtake
                self.loop.call_at(due, writer.write, chunk)
        writer.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)


class World:
    """The folder and the processes of one test."""

    def __init__(self, root, binaries, scratch):
        self.root, self.bin, self.scratch = root, binaries, scratch
        self.programs = []

    def add(self, program):
        self.programs.append(program)

    def daemons(self, kind):
        return [program for program in self.programs if isinstance(program, Daemon) and program.kind == kind]

    def tributary(self, *arguments):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TRIBUTARY_")}
        done = subprocess.run([self.bin / "tributary", *map(str, arguments)], capture_output=True, text=True, env=environment,
                              timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tributary {' '.join(map(str, arguments))}: {done.stderr or done.stdout}")
        return done.stdout

    def stop(self):
        for program in reversed(self.programs):
            program.stop()
