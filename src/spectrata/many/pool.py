"""Worker processes of which each may die alone.

Every process has a thread here that waits for it. A process that dies takes its own task with it and no other, and
a new one takes its place. No worker outlives the process that started it, and Ctrl-C is the caller's to hear.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

SIGNALS = {signal.SIGINT, signal.SIGTERM}
LOOK = 0.02  # seconds between looks at workers that are killed


class WorkerDied(BrokenExecutor):
    """The process that worked on a task ended in the middle of it."""


class Pool(ThreadPoolExecutor):
    """A pool of ``jobs`` processes, each started when the first task comes to it.

    Examples
    --------
    >>> with Pool(1) as pool:
    ...     pool.submit(max, 3, 7).result()
    7
    """

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, initializer=_block_signals)  # what is started there is not disturbed by them
        self._own = threading.local()
        self._workers: list[ProcessPoolExecutor] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future:
        """Have a worker call a function; a worker that dies meanwhile gives ``WorkerDied``."""
        return super().submit(self._in_process, function, arguments, named)

    def _in_process(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if getattr(self._own, "worker", None) is None:
            # Forking a process that already has threads can hang.
            self._own.worker = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)
            self._workers.append(self._own.worker)
        try:
            return self._own.worker.submit(function, *arguments, **named).result()
        except BrokenExecutor:
            self._own.worker = None
            raise WorkerDied("its worker process died: killed from outside, or out of memory") from None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.shutdown(wait)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:  # stop the workers in the middle of what they do
            super().shutdown(wait=False, cancel_futures=True)
            # Until no thread waits for a worker: a thread may be starting its own meanwhile.
            while any(thread.is_alive() for thread in self._threads):
                for process in [one for worker in list(self._workers) for one in (worker._processes or {}).values()]:
                    process.kill()
                time.sleep(LOOK)
        self.shutdown()


def _block_signals() -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


# ---- in a worker


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _die_with(sentinel: int) -> None:
    from multiprocessing.connection import wait

    wait([sentinel])
    os._exit(1)
