"""Consoles, messages of one line, and a progress bar that shows itself only when it helps."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from spectrata.cli.flags import Flag, as_flags
from spectrata.errors import InputError, SpectrataError, SpectrataWarning

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 1.0  # seconds of work before a progress bar appears


class Debug:
    """Whether tracebacks are wanted; one flag for the process, set by ``--debug`` or SPECTRATA_DEBUG."""

    asked = False

    @classmethod
    def on(cls) -> bool:
        return cls.asked or os.environ.get("SPECTRATA_DEBUG", "") not in ("", "0")


class Invocation:
    """The words this process was called with, after the program's name, and the flags of its command."""

    words: tuple[str, ...] = ()
    flags: Mapping[str, Flag] = MappingProxyType({})  # those of the command under way, by argument
    stopped_by = int(signal.SIGINT)
    stopped = False  # whether the user has read so
    listens = False  # whether this process is a command line of its own that listens for signals


def console() -> "Console":
    """The console for results; names from files are never read as markup."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False)


def one_line(text: object) -> str:
    """Text without line breaks and control characters, whatever a file or a name put into it."""
    joined = " ".join(str(text).split())
    return "".join(character if character.isprintable() else "?" for character in joined)


def say(text: str) -> None:
    """One line to stderr."""
    print(one_line(text), file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def notes() -> Iterator[None]:
    """Show warnings meant for the user as notes, each once; Python's own only when debugging."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        text = as_flags(one_line(message), Invocation.flags)
        if (issubclass(category, SpectrataWarning) or Debug.on()) and text not in said:
            said.add(text)
            say(f"note: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", SpectrataWarning)
        warnings.showwarning = show
        yield


def report_failure(problem: BaseException) -> int:
    """Say in one line what went wrong; give the exit code: 2 for bad input, 130 for Ctrl-C, 143 for SIGTERM, else 1."""
    if isinstance(problem, KeyboardInterrupt) or type(problem).__name__ == "Abort":
        Invocation.stopped = True
        say("stopped")
        return 128 + Invocation.stopped_by
    if Debug.on():
        import traceback

        traceback.print_exception(problem, file=sys.stderr)
    if hasattr(problem, "format_message"):  # the parser's complaints about flags
        say(f"error: {problem.format_message()} (see --help)")
        return 2
    if isinstance(problem, SpectrataError):
        say(f"error: {as_flags(str(problem), Invocation.flags)}")
        return 2 if isinstance(problem, InputError) else 1
    hint = "" if Debug.on() else "; --debug shows where"
    if isinstance(problem, OSError) and problem.errno and problem.filename:
        say(f"error: {problem.filename}: {problem.strerror}{hint}")
    elif isinstance(problem, MemoryError):
        say(f"error: there is not enough memory for this{hint}")
    else:
        say(f"error: unexpected {type(problem).__name__}: {problem}{hint}")
    return 1


class Meter:
    """A progress bar on stderr, after a second of work and on a terminal only.

    Use as a context manager; calling it as ``meter(message, fraction)`` moves the bar.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.last = ("starting", 0.0)
        self._bar: Any = None
        self._task: Any = None
        self._over = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Callable[[str, float], None]:
        if sys.stderr.isatty():
            self._timer = threading.Timer(self.patience, self._appear)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()

    def __call__(self, message: str, fraction: float) -> None:
        with self._lock:
            self.last = (message, fraction)
            if self._bar is not None:
                self._bar.update(self._task, description=message, completed=fraction)

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._over:
                return
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            message, fraction = self.last
            self._task = self._bar.add_task(message, total=1.0, completed=fraction)
            self._bar.start()
