"""How a command ends: one list of exit codes, one line for an error, and Ctrl-C within a second."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from spectrata.cli.render import note, one_line
from spectrata.errors import InputError, SpectrataError, SpectrataWarning

GRACE = 0.7  # seconds that a command has to end by itself after a signal


class Code(IntEnum):
    """Exit codes, kept by every command."""

    OK = 0, "success"
    FAILED = 1, "any other failure; for --many also if a pair failed"
    BAD_INPUT = 2, "bad input or flags; no file is written"
    FOUND = 3, "check found what it looks for"
    INTERRUPTED = 130, "stopped by Ctrl-C"
    TERMINATED = 143, "stopped by SIGTERM"

    meaning: str

    def __new__(cls, value: int, meaning: str) -> "Code":
        code = int.__new__(cls, value)
        code._value_, code.meaning = value, meaning
        return code


CALLED_WITH: list[str] = []  # the words after the name of the program
NOTED: dict[str, None] = {}  # what was shown as a note, which a report repeats
TERMINATED = threading.Event()  # set by SIGTERM
ENDED = threading.Event()  # set when a stopped command has been unwound


def debugging() -> bool:
    """Whether tracebacks are wanted."""
    return "--debug" in CALLED_WITH or os.environ.get("SPECTRATA_DEBUG", "") not in ("", "0")


@contextmanager
def notes() -> Iterator[None]:
    """Show warnings meant for the user as notes, each once; Python's own only when debugging."""
    NOTED.clear()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        text = one_line(message)
        if (issubclass(category, SpectrataWarning) or debugging()) and text not in NOTED:
            NOTED[text] = None
            note(f"note: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", SpectrataWarning)
        warnings.showwarning = show
        yield


def report_failure(problem: BaseException) -> Code:
    """Print what went wrong, and give the exit code."""
    if isinstance(problem, KeyboardInterrupt):
        note("stopped")
        ENDED.set()
        return Code.TERMINATED if TERMINATED.is_set() else Code.INTERRUPTED
    if debugging():
        import traceback

        traceback.print_exception(problem, file=sys.stderr)
    if hasattr(problem, "format_message"):  # the parser's complaints about flags
        note(f"error: {problem.format_message()}")
        return Code.BAD_INPUT
    if isinstance(problem, SpectrataError):
        note(f"error: {problem}")
        return Code.BAD_INPUT if isinstance(problem, InputError) else Code.FAILED
    if isinstance(problem, OSError) and problem.errno and problem.filename:
        text = f"{problem.filename}: {problem.strerror}"
    elif isinstance(problem, MemoryError):
        text = "there is not enough memory for this"
    else:
        text = f"unexpected {type(problem).__name__}: {problem}"
    note(f"error: {text}" + ("" if debugging() else "; --debug shows where"))
    return Code.FAILED


def stop_on_signals() -> None:
    """Let Ctrl-C and SIGTERM end the program within a second, also while compiled code runs.

    Python calls the handler of a signal between two of its own instructions, which a long decomposition delays. A
    thread therefore waits for the signal too, and ends the process if the command has not ended by itself. Files are
    written beside their places and renamed, so that nothing is left half written.
    """
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    if sys.platform == "win32" or not numbers:
        return

    def stop(number: int, frame: Any) -> None:
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)  # once is enough: cleaning up is not interrupted
        if number == signal.SIGTERM:
            TERMINATED.set()
        raise KeyboardInterrupt

    for number in numbers:
        signal.signal(number, stop)
    listening, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # a worker must not wake this listener
    threading.Thread(target=_end_after, args=(listening, numbers), name="spectrata-stop", daemon=True).start()


def _end_after(pipe: int, numbers: list[signal.Signals]) -> None:
    number = 0
    while number not in numbers:
        number = os.read(pipe, 1)[0]
    ENDED.wait(GRACE)
    if not ENDED.is_set():
        note("stopped")
    os._exit(128 + number)
