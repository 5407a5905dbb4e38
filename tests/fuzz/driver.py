"""Tries damaged inputs on a target in a child process, with bounds on processor time and memory."""

import faulthandler
import multiprocessing
import os
import resource
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from .targets import SOURCE, Target

SECONDS = 5.0  # of the processor that one input may take; then it counts as a hang
STILL = 60  # looks in a row, a second apart, at which a child slept and had not worked since the look before
STUBBORN = 4 * SECONDS  # of the processor since a child's last message, after which no signal seems to reach it
MEMORY = 2 * 2**30  # bytes one input may ask for, beyond what the libraries hold
LONGEST_MESSAGE = 1500
LARGEST = 1 << 22


class Hang(BaseException):
    """Out of time; not an ``Exception``, so that nothing swallows it."""


def fuzz(target: Target, inputs: int, seed: int = 0) -> Counter[str]:
    """How often each outcome came: ``accepted``, the kind of a documented error, or ``crash: ...`` with its input."""
    return _apart(target, lambda seeds: (_damaged(target, seeds, f"{seed}:{index}") for index in range(inputs)))


def unharmed(target: Target) -> Counter[str]:
    """The outcomes of the valid inputs."""
    return _apart(target, lambda seeds: seeds)


def outcome_of(target: Target, data: bytes) -> str:
    """The outcome of one input."""
    return next(iter(_apart(target, lambda seeds: [data])))


def _damaged(target: Target, seeds: list[bytes], words: str) -> bytes:
    random = Random(f"{target.name}:{words}")
    return target.mutate(random.choice(seeds), random, seeds)[:LARGEST]


def _apart(target: Target, inputs: Callable) -> Counter[str]:
    """Try inputs in a child: what kills or stops it is a crash, too, and ends the run."""
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as place:
        child = multiprocessing.get_context("fork").Process(target=_work, args=(target, inputs, Path(place), there))
        child.start()
        there.close()
        outcomes, last = _listen(child, here)
        child.join()
    if child.exitcode != 0:
        words = "hang that no signal reaches" if child.exitcode == -signal.SIGKILL else f"exit code {child.exitcode}"
        outcomes[f"crash: {words} | {last!r:.400}"] += 1
    return outcomes


def _listen(child: Any, pipe: Any) -> tuple[Counter[str], bytes | None]:
    """Outcomes until the child ends, and the input it had last begun; a child that hangs is killed."""
    outcomes: Counter[str] = Counter()
    last, watch = None, Watch(child.pid)
    while True:
        if not pipe.poll(1.0):
            if watch.hangs():
                child.kill()
            continue
        try:
            kind, value = pipe.recv()
        except EOFError:
            return outcomes, last
        watch = Watch(child.pid)
        if kind == "begun":
            last = value
        else:
            crash = value.startswith("crash")
            outcomes[f"{value} | {last!r:.400}" if crash else value] += 1


def _work(target: Target, inputs: Callable, place: Path, pipe: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # native libraries complain to nobody
    faulthandler.disable()
    signal.signal(signal.SIGPROF, _alarm)
    seeds = target.seeds()
    for data in seeds:  # libraries load before the bound is measured
        try_input(target, place, data)
    with open("/proc/self/statm", encoding="ascii") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for data in inputs(seeds):
        pipe.send(("begun", data))
        pipe.send(("ended", try_input(target, place, data)))


def _alarm(number: int, frame: Any) -> None:
    raise Hang(f"more than {SECONDS:.0f} s")


class Watch:
    """Tells a child that hangs from one that waits for a busy processor: the clock takes no part."""

    def __init__(self, process: int) -> None:
        self.process, self.still = process, 0
        self.began = self.last = self._look()[1]

    def _look(self) -> tuple[str, float]:
        """The state of the child, and the seconds of the processor that it has had."""
        try:
            fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended, or this system has no such files: then every look counts as still
            return "S", 0.0
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def hangs(self) -> bool:
        """Look once more; to be called about once a second."""
        state, used = self._look()
        self.still = self.still + 1 if state in "SDZT" and used == self.last else 0
        self.last = used
        return self.still >= STILL or used - self.began > STUBBORN


def try_input(target: Target, place: Path, data: bytes) -> str:
    """``accepted``, the kind of a documented error, or ``crash: ...`` for anything else."""
    from spectrata.errors import FileFormatError, SpectrataError, SpectrataWarning

    path = place / target.file
    target.write(path, data)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            target.read(path)
            outcome = "accepted"
        except SpectrataError as error:
            message = str(error)
            plain = message and "\n" not in message and len(message) <= LONGEST_MESSAGE
            plain = plain and (target.file in message or not (target.named and isinstance(error, FileFormatError)))
            outcome = type(error).__name__ if plain else f"crash: message of {len(message)} characters {_place(error)}"
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # hangs, and panics of a Rust library, among them
            outcome = f"crash: {type(error).__name__} {_place(error)}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    stray = [one for one in said if not issubclass(one.category, (SpectrataWarning, ResourceWarning))]
    if stray and not outcome.startswith("crash"):
        return f"crash: warning {stray[0].category.__name__} at {Path(stray[0].filename).name}:{stray[0].lineno}"
    return outcome


def _place(error: BaseException) -> str:
    """Where in the package it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if SOURCE in frame.filename] or frames
    return f"at {Path(own[-1].filename).name}:{own[-1].lineno}: {str(error)[:120]}" if own else str(error)[:120]
