"""Ctrl-C and SIGTERM: stop within a second, also while compiled code runs.

Python runs a signal's handler between two of its own instructions, so a decomposition of a large matrix would delay it
by seconds. A thread therefore listens for the signal itself. Where the main thread does not get to its handler, or
waits for threads that cannot, the listener ends the process. Files are written whole or not at all, so this is safe.
"""

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

from spectrata.cli.terminal import Invocation, say

GRACE = 0.3  # seconds that the main thread has to reach its handler
STEP = 0.1
PATIENCE = 2.0  # seconds that killed worker processes have to give back their semaphores
TRACKER = "multiprocessing.resource_tracker"  # imported where there are worker processes
WAITING = ("threading.py", os.path.join("futures", "thread.py"))


def stop_on_signals() -> None:
    """Let Ctrl-C and SIGTERM stop the work, so that nothing half written stays."""
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    handled = threading.Event()

    def stop(number: int, frame: Any) -> None:
        for one in numbers:
            signal.signal(one, signal.SIG_IGN)  # once is enough: cleaning up is not interrupted
        Invocation.stopped_by = number
        handled.set()
        raise KeyboardInterrupt

    Invocation.listens = bool(numbers)
    for number in numbers:
        signal.signal(number, stop)
    listening, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    # A worker process must not wake its parent's listener.
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    arguments = (listening, set(numbers), handled, threading.get_ident())
    threading.Thread(target=_listen, args=arguments, name="spectrata-stop", daemon=True).start()


def end_now(code: int) -> None:
    """End the process of a command that was stopped, where signals are listened for; the work has been unwound."""
    if Invocation.listens and TRACKER not in sys.modules:  # pools clean up at the end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _listen(pipe: int, numbers: set[int], handled: threading.Event, main: int) -> None:
    number = 0
    while number not in numbers:
        number = os.read(pipe, 1)[0]
    handled.wait(GRACE)
    patience = PATIENCE if TRACKER in sys.modules else 0.0
    while handled.is_set() and patience >= 0.0:
        patience -= STEP * _waits_for_threads(sys._current_frames().get(main))
        time.sleep(STEP)
    if not Invocation.stopped:
        say("stopped")
    os._exit(128 + number)


def _waits_for_threads(frame: FrameType | None) -> bool:
    """Whether a thread is joining a pool of threads."""
    return frame is not None and frame.f_code.co_filename.endswith(WAITING)
