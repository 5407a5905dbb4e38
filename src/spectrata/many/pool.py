"""Worker processes that stop on request and are replaced when one of them dies.

Each works on one thread and never outlives the process that started it. Ctrl-C reaches a worker only while it works:
it drops what it does, cleans up behind itself and says nothing.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

from spectrata.many.work import one_thread

GRACE = 0.7  # seconds for all workers to drop their work, before they are ended
DIED = "its worker process died: killed from outside, or out of memory"


class Pool(Executor):
    """A pool of processes, started when the first task comes.

    Parameters
    ----------
    jobs : int
        Processes.

    Examples
    --------
    >>> with Pool(1) as pool:
    ...     pool.submit(max, 3, 7).result()
    7
    """

    def __init__(self, jobs: int) -> None:
        self._max_workers = jobs
        self._inner: ProcessPoolExecutor | None = None

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future:
        """Have a worker call a function."""
        if self._inner is None:
            # Forking a process that already has threads can hang.
            context = multiprocessing.get_context("spawn")
            self._inner = ProcessPoolExecutor(self._max_workers, context, _begin)
        with _undisturbed():
            return self._inner.submit(_work, function, *arguments, **named)

    def renew(self) -> None:
        """Forget workers of which one died; the next task begins new ones."""
        self.interrupt()

    def interrupt(self) -> None:
        """Stop the workers in the middle of what they do, and wait until they are gone."""
        inner, self._inner = self._inner, None
        if inner is None:
            return
        processes = list((inner._processes or {}).values())
        inner.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            if process.pid is not None:
                with contextlib.suppress(OSError):
                    os.kill(process.pid, signal.SIGINT)
        end = time.monotonic() + GRACE
        for process in processes:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after their work."""
        if self._inner is not None:
            self._inner.shutdown(wait, cancel_futures=cancel_futures)
            self._inner = None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            self.interrupt()
        self.shutdown()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits inside the block; a process that is started there does not hear it before it is ready."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# ---- in a worker

_at_work, _stopped = threading.Event(), threading.Event()
_limits: list[Any] = []  # the limit on threads, alive as long as the worker


def _begin() -> None:
    signal.signal(signal.SIGINT, _stop_working)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    limit = one_thread()
    limit.__enter__()
    _limits.append(limit)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _stop_working(number: int, frame: Any) -> None:
    _stopped.set()
    if _at_work.is_set():
        _at_work.clear()
        raise KeyboardInterrupt


def _work(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    if _stopped.is_set():  # a task that was already handed over when the workers were stopped
        raise KeyboardInterrupt
    _at_work.set()
    try:
        return function(*arguments, **named)
    finally:
        _at_work.clear()


def _die_with(sentinel: int) -> None:
    from multiprocessing.connection import wait

    wait([sentinel])
    os._exit(1)
