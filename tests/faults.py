"""Faults on purpose: a process that dies, or is refused, at a chosen operation on the file system.

``run(case, folder, Fault(...))`` runs a function of ``fault_cases`` in a process of its own. Two injectors
reach every point of a write path, without special rights and in C libraries too:

- the N-th operation on a file below the folder (open for writing, rename, link, unlink, make or remove a
  folder) is the one at which the process is killed or sent a signal, or that fails with an error, before it happens;
- no file may grow beyond so many bytes: the kernel cuts the write there, and kills the process or fails the write.
"""

import atexit
import dataclasses
import errno
import functools
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import pytest

import power
from spectrata.errors import InputError, SpectrataError

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
ASKED = os.environ.get("SPECTRATA_FAULTS", "")  # by hand: a number of points per case, or all; else a small sample
EXHAUSTIVE = bool(ASKED)

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not sys.platform.startswith("linux"),
    reason="mounting a small or read-only file system needs root on Linux",
)


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and where: at the ``at``-th operation, or when a file reaches ``size`` bytes."""

    kind: str = "kill"  # or the name of an error, as ENOSPC, of a signal, as SIGINT, "clock", or "power" (power.py)
    at: int = 0
    size: int | None = None
    lasting: bool = True  # whether an error repeats at every later operation, as on a full disk


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, what it said, and how many operations it began."""

    code: int
    said: list
    operations: int
    out: str

    @property
    def killed(self) -> bool:
        return self.code in (-signal.SIGKILL, -signal.SIGXFSZ)


class Injector:
    """Counts operations below a folder, and brings the fault."""

    def __init__(self, folder, fault, told):
        self.folder, self.fault, self.told, self.count = str(folder), fault, told, 0

    def install(self):
        if self.fault.size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.fault.size, resource.RLIM_INFINITY))
            deadly = self.fault.kind == "kill"
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if deadly else signal.SIG_IGN)
        if self.fault.kind == "clock":
            jump()
        sys.addaudithook(self)

    def __call__(self, event, arguments):
        if not self.matters(event, arguments):
            return
        self.count += 1
        os.pwrite(self.told, self.count.to_bytes(8, "little"), 0)
        here = self.count == self.fault.at or (self.fault.lasting and 0 < self.fault.at <= self.count)
        if here and self.fault.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.count == self.fault.at and self.fault.kind.startswith("SIG"):
            os.killpg(0, getattr(signal, self.fault.kind))  # workers hear it too, as they do at a terminal
        elif here and not event.startswith(("os.remove", "os.rmdir")):  # a full disk can be cleaned
            number = getattr(errno, self.fault.kind)
            raise OSError(number, os.strerror(number), str(arguments[0]))

    def matters(self, event, arguments):
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            return bool(writes) and self._below(path, -1)
        if event not in CHANGES:
            return False
        directory = arguments[-1] if isinstance(arguments[-1], int) and event != "os.mkdir" else -1
        return self._below(arguments[0], directory)

    def _below(self, path, directory):
        if isinstance(path, int):
            return False
        if directory >= 0 and not os.path.isabs(path):
            path = os.path.join(os.readlink(f"/proc/self/fd/{directory}"), os.fsdecode(path))
        return os.path.abspath(os.fsdecode(path)).startswith(self.folder)


def jump():
    """The time of day leaps by days at every look, back before 1980 too; other clocks leap forward alone."""
    true, steady, days = time.time, time.monotonic, itertools.count(1)
    time.time = lambda: true() + 86400 * (-20_000, 3, -40, 20_000)[next(days) % 4]
    time.monotonic = lambda: steady() + 86400 * next(days)


def _child(case, folder, fault, notes):
    """Runs in a forked process, and never returns."""
    import fault_cases

    os.setsid()
    said = os.open(f"{notes}.said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    told = os.open(f"{notes}.count", os.O_RDWR | os.O_CREAT)
    out = os.open(f"{notes}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out if fault.size is None else os.open(os.devnull, os.O_WRONLY), 1)  # it is a file, and may not grow
    os.dup2(out, 2)
    code, record = 70, None
    try:
        injector = Injector(folder, fault, told)
        if fault.kind == "power":
            record = power.Recorder(folder, injector.matters, f"{notes}.said")
        (record or injector).install()
        code = fault_cases.CASES[case](Path(folder), lambda word: os.write(said, f"{word}\n".encode()))
    except SpectrataError as problem:
        code = 2 if isinstance(problem, InputError) else 1
        print(f"error: {problem}", file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        if record is not None:
            record.look()
            record.record.write(f"{notes}.power")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(code or 0))


def serve():
    """Fork a process for each line of the input, from one that has imported everything; answer with its end."""
    import fault_cases

    fault_cases.warm_up()
    for line in sys.stdin:
        case, folder, fault, notes = json.loads(line)
        child = os.fork()
        if not child:
            _child(case, folder, Fault(**fault), notes)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


@functools.cache
def server():
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=here,
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )


@atexit.register
def _stop():
    if server.cache_info().currsize:
        process = server()
        process.stdin.close()
        process.wait()
        process.stdout.close()


def run(case, folder, fault=None):
    """Run a case to its end, or to its fault; gives how it ended."""
    notes = Path(f"{folder}.notes")
    for kind in ("said", "count", "out"):
        Path(f"{notes}.{kind}").unlink(missing_ok=True)
    request = (case, str(folder), dataclasses.asdict(fault or Fault()), str(notes))
    server().stdin.write(json.dumps(request) + "\n")
    server().stdin.flush()
    code = int(server().stdout.readline())
    count = Path(f"{notes}.count").read_bytes()[:8]
    said = Path(f"{notes}.said").read_text(encoding="utf-8").split()
    out = Path(f"{notes}.out").read_text(encoding="utf-8")
    return Ended(code, said, int.from_bytes(count, "little"), out)


def points(total, few):
    """All operations from 1 on, or an even sample of them with the last."""
    few = total if ASKED == "all" else int(ASKED or few)
    return sorted({max(1, total * i // few) for i in range(1, few + 1)})


def sizes(largest, few):
    """Bytes at which a file is cut: on a grid, or a few of them."""
    count = 40 if ASKED == "all" else int(ASKED or few)
    return sorted({largest * (2 * i + 1) // (2 * count) for i in range(count)})


def leftovers(folder):
    """Names below a folder that look like unfinished work."""
    return sorted(
        str(path.relative_to(folder))
        for path in Path(folder).rglob("*")
        if path.name.endswith((".part", ".partial")) or (path.name.startswith(".") and not path.name.startswith(".z"))
    )


if __name__ == "__main__":
    serve()
