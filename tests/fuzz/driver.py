"""Runs a target: inputs are made, tried in a child process under bounds, and counted by their outcome."""

import faulthandler
import mmap
import multiprocessing
import os
import resource
import shutil
import signal
import struct
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from .branches import Branches, Lines
from .targets import SOURCE, Target

SECONDS = 5.0  # of the processor that one input may take; then it counts as a hang
STILL = 60  # looks in a row, a second apart, at which a child slept and had not worked since the look before
STUBBORN = 4 * SECONDS  # of the processor since a child's last message, after which no signal seems to reach it
MEMORY = 2 * 2**30  # bytes one input may ask for, beyond what the libraries hold
LONGEST_MESSAGE = 1500
TRACED, SLOW_TRACED = 3, 12  # every third input is followed line by line, every twelfth of slow readers
KEPT = 3000  # inputs kept to start from, at most
LARGEST = 1 << 22


class Hang(BaseException):
    """Out of time; not an ``Exception``, so that nothing swallows it."""


@dataclass
class Outcome:
    """What came of one target."""

    inputs: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    crashes: dict[str, bytes] = field(default_factory=dict)
    crash_count: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    reached: int = 0
    branches: int = 0


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
    from spectrata.errors import SpectrataError, SpectrataWarning

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
            outcome = type(error).__name__ if plain else f"crash: message of {len(message)} characters {_place(error)}"
        except (Hang, Exception) as error:
            outcome = f"crash: {type(error).__name__} {_place(error)}"
        except BaseException as error:  # a panic of a Rust library
            if isinstance(error, KeyboardInterrupt):
                raise
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


def source_files(target: Target) -> list[str]:
    """Absolute names of the package's files that a target counts."""
    import spectrata

    root = Path(spectrata.__file__).parent
    return [str(root / name) for name in target.sources]


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder, in memory where that is possible."""
    place = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


# ---- the child


def _bound_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, held + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _alarm(number: int, frame: Any) -> None:
    raise Hang(f"more than {SECONDS:.0f} s")


class Child:
    """The loop that runs in the child process."""

    def __init__(
        self, target: Target, seed: int, corpus: list[bytes], shared: mmap.mmap, pipe: Any, place: Path
    ) -> None:
        self.target, self.seed, self.corpus, self.shared, self.pipe = target, seed, corpus, shared, pipe
        self.lines = Lines(source_files(target))
        self.place = place
        self.known: set[str] = set()

    def run(self, start: int, stop: int) -> None:
        """Inputs ``start`` to ``stop``; a report now and then."""
        signal.signal(signal.SIGPROF, _alarm)
        outcomes: Counter[str] = Counter()
        first = self.corpus[0]
        try_input(self.target, self.place, first)  # libraries load before the bound is measured
        _bound_memory()
        for data in self.corpus:
            self.lines.new(lambda data=data: try_input(self.target, self.place, data))
        slowest, reported = 0.0, time.monotonic()
        for index in range(start, stop):
            data = self._make(index)
            self.shared[:12] = struct.pack("<qI", index, len(data))
            self.shared[12 : 12 + len(data)] = data
            began = time.process_time()
            outcome = self._one(index, data)
            slowest = max(slowest, time.process_time() - began)
            outcomes[outcome] += 1
            if outcome.startswith("crash"):
                self.pipe.send(("crash", outcome, data))
            if index % 100 == 99 or time.monotonic() - reported > 1:
                self.pipe.send(("so far", index + 1, outcomes, slowest))
                outcomes, reported = Counter(), time.monotonic()
        self.pipe.send(("so far", stop, outcomes, slowest))

    def _make(self, index: int) -> bytes:
        random = Random(f"{self.seed}:{self.target.name}:{index}")
        base = self.corpus[random.randrange(len(self.corpus))]
        return self.target.mutate(base, random, self.corpus)[:LARGEST]

    def _one(self, index: int, data: bytes) -> str:
        if index % (SLOW_TRACED if self.target.slow else TRACED):
            return try_input(self.target, self.place, data)
        outcomes = []
        new = self.lines.new(lambda: outcomes.append(try_input(self.target, self.place, data)))
        if new and len(self.corpus) < KEPT and not outcomes[0].startswith("crash"):
            self.corpus.append(data)
            self.pipe.send(("keep", data))
        return outcomes[0]


def _quiet() -> None:
    """Let native libraries complain to nobody."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    faulthandler.disable()


def _run_child(child: Child, start: int, stop: int) -> None:
    _quiet()
    try:
        child.run(start, stop)
    except BaseException:
        child.pipe.send(("broken", traceback.format_exc()))
        raise


# ---- the parent


def run(target: Target, inputs: int, seed: int = 0, show: Any = None) -> Outcome:
    """Try ``inputs`` inputs; a child that dies is recorded with what killed it, and the rest goes on."""
    outcome, corpus, began = Outcome(), _apart(target.seeds), time.monotonic()
    shared = mmap.mmap(-1, LARGEST + 16)
    context = multiprocessing.get_context("fork")
    start = 0
    while start < inputs:
        here, there = context.Pipe(duplex=False)
        with workplace() as place:
            child = Child(target, seed, list(corpus), shared, there, place)
            process = context.Process(target=_run_child, args=(child, start, inputs))
            process.start()
            there.close()
            start = _listen(process, here, shared, corpus, outcome, inputs, show)
    outcome.seconds = time.monotonic() - began
    _count_branches(target, corpus, outcome)
    return outcome


def _listen(
    child: Any, pipe: Any, shared: mmap.mmap, corpus: list[bytes], outcome: Outcome, inputs: int, show: Any
) -> int:
    """Take what a child sends until it ends; give the input to go on with."""
    watch, counted = Watch(child.pid), outcome.inputs
    while True:
        if not pipe.poll(1.0):
            if watch.hangs():
                child.kill()
                child.join()
                return _died(shared, outcome, "hang that no signal reaches", counted)
            continue
        try:
            message = pipe.recv()
        except EOFError:
            child.join()
            if child.exitcode == 0 and outcome.inputs >= inputs:
                return inputs
            return _died(shared, outcome, f"killed by signal {-child.exitcode}", counted)
        watch = Watch(child.pid)
        if message[0] == "keep":
            corpus.append(message[1])
        elif message[0] == "crash":
            outcome.crash_count += 1
            if signature(message[1]) not in {signature(words) for words in outcome.crashes}:
                outcome.crashes[message[1]] = message[2]
        elif message[0] == "broken":
            raise RuntimeError(f"the fuzzer itself failed:\n{message[1]}")
        else:
            counted = outcome.inputs = message[1]
            for name, count in message[2].items():
                if name == "accepted":
                    outcome.accepted += count
                elif not name.startswith("crash"):
                    outcome.refused[name] += count
            outcome.slowest = max(outcome.slowest, message[3])
            if show is not None:
                show(outcome)


def _died(shared: mmap.mmap, outcome: Outcome, why: str, counted: int) -> int:
    index, size = struct.unpack("<qI", shared[:12])
    outcome.crash_count += 1
    outcome.crashes.setdefault(f"crash: {why}", bytes(shared[12 : 12 + size]))
    # What the child did since its last report is not counted; the input that killed it is.
    outcome.inputs = counted + 1
    return index + 1


def _count_branches(target: Target, corpus: list[bytes], outcome: Outcome) -> None:
    """Both ways of conditional jumps, over the inputs that were kept."""

    def count() -> tuple[int, int]:
        _quiet()
        signal.signal(signal.SIGPROF, _alarm)
        seen = Branches(source_files(target))
        with workplace() as place:
            for data in corpus:
                seen.watch(lambda data=data: try_input(target, place, data))
        return seen.reached, seen.total

    outcome.reached, outcome.branches = _apart(count)


def _apart(work: Callable[[], Any]) -> Any:
    """Do work in a child: threads that libraries start would not live on in children of this process."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=lambda: there.send(work()))
    child.start()
    there.close()
    result = here.recv()
    child.join()
    return result


# ---- making a crash small


def minimise(target: Target, data: bytes, outcome: str, seconds: float = 5.0) -> bytes:
    """The shortest input found that crashes in the same place."""
    end = time.monotonic() + seconds
    size = max(1, len(data) // 2)
    while size and time.monotonic() < end:
        place = 0
        while place < len(data) and time.monotonic() < end:
            shorter = data[:place] + data[place + size :]
            if signature(outcome_of(target, shorter)) == signature(outcome):
                data = shorter
            else:
                place += size
        size //= 2
    return data


def outcome_of(target: Target, data: bytes) -> str:
    """The outcome of one input, tried in a child of its own."""

    def once(place: Path) -> None:
        _quiet()
        signal.signal(signal.SIGPROF, _alarm)
        _bound_memory()
        there.send(try_input(target, place, data))

    here, there = multiprocessing.Pipe(duplex=False)
    with workplace() as place:
        child = multiprocessing.get_context("fork").Process(target=once, args=(place,))
        child.start()
        there.close()
        return _heard(child, here)


def _heard(child: Any, pipe: Any) -> str:
    watch = Watch(child.pid)
    try:
        while not pipe.poll(1.0) and not watch.hangs():
            pass
        result = pipe.recv() if pipe.poll() else "crash: hang that no signal reaches"
    except EOFError:
        child.join()
        result = f"crash: killed by signal {-(child.exitcode or 0)}"
    if child.is_alive():
        child.kill()
    child.join()
    return result


def signature(outcome: str) -> str:
    """Kind and place of a crash, without what varies."""
    return outcome.partition(": ")[2].partition(": ")[0]
