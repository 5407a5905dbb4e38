"""Many units of work over several processes, each stored the moment it is done."""

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from typing import Any

from spectrata.errors import missing_extra
from spectrata.experiments.store import Arrays, Store

Unit = tuple[str, tuple[Any, ...]]  # name, arguments of the function
Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments
Advance = Callable[[], None]


def default_jobs() -> int:
    """As many processes as this one may use cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_units(
    function: Callable[..., Arrays],
    units: Sequence[Unit],
    store: Store,
    jobs: int = 1,
    title: str = "",
) -> list[Arrays]:
    """Compute ``function(*arguments)`` for every unit that is not stored yet; give all, in order.

    Every unit runs on one thread of its process, so that its bits do not depend on ``jobs``.
    """
    missing = [unit for unit in units if store.load(unit[0]) is None]
    with progress_bar(title, len(units), len(units) - len(missing)) as advance:
        if _executors and missing:
            _send(function, missing, store, _executors[-1], advance)
        elif jobs <= 1 or len(missing) <= 1:
            with one_thread():
                for unit in missing:
                    _make(function, unit, store)
                    advance()
        else:
            _spread(function, missing, store, min(jobs, len(missing)), advance)
    found = []
    for name, arguments in units:
        arrays = store.load(name)
        if arrays is None:  # a file that was lost in between
            arrays = function(*arguments)
        found.append(arrays)
    return found


_executors: list[Executor] = []  # where units run instead of processes of this machine


@contextlib.contextmanager
def units_on(executor: Executor) -> Iterator[None]:
    """Run units on an executor inside the block, such as a cluster's; this process stores what they give."""
    _executors.append(executor)
    try:
        yield
    finally:
        _executors.pop()


def _send(
    function: Callable[..., Arrays], units: Sequence[Unit], store: Store, executor: Executor, advance: Advance
) -> None:
    names = {executor.submit(_on_one_thread, function, unit[1]): unit[0] for unit in units}
    try:
        for done in as_completed(names):
            store.save(names[done], done.result())
            advance()
    finally:
        for future in names:
            future.cancel()


def _on_one_thread(function: Callable[..., Arrays], arguments: tuple[Any, ...]) -> Arrays:
    with one_thread():
        return function(*arguments)


def _make(function: Callable[..., Arrays], unit: Unit, store: Store) -> None:
    name, arguments = unit
    if store.load(name) is None:  # another run on the same folder may have made it by now
        store.save(name, function(*arguments))


def run_calls(calls: Sequence[Call], jobs: int = 1) -> list[Any]:
    """What every call gives, in order; nothing is stored."""
    if jobs <= 1 or len(calls) <= 1:
        with one_thread():
            return [function(*arguments) for function, arguments in calls]
    with _pool(min(jobs, len(calls))) as pool:
        return [future.result() for future in [pool.submit(function, *given) for function, given in calls]]


def _spread(
    function: Callable[..., Arrays], units: Sequence[Unit], store: Store, jobs: int, advance: Advance
) -> None:
    with _pool(jobs) as pool:
        for done in as_completed([pool.submit(_make, function, unit, store) for unit in units]):
            done.result()
            advance()


@contextlib.contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes; when the block fails or is stopped, work not begun is dropped."""
    context = multiprocessing.get_context("spawn")  # forking a process that already has BLAS threads can hang
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_limits: list[Any] = []  # a worker's limit on threads, alive as long as the worker


def _start_worker() -> None:
    """One thread per worker, and no worker outlives the process that started it."""
    limit = one_thread()
    limit.__enter__()
    _limits.append(limit)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_die_with, args=(parent.sentinel,), daemon=True).start()


def _die_with(sentinel: int) -> None:
    from multiprocessing.connection import wait

    wait([sentinel])
    os._exit(1)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """BLAS, OpenMP and compiled kernels on one thread inside the block."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError as problem:
        raise missing_extra("scikit-learn", "experiments", "Reproducing the paper") from problem
    import scipy.linalg  # noqa: F401  # its BLAS must be loaded before it can be limited

    before = os.environ.get("SPECTRATA_THREADS")
    os.environ["SPECTRATA_THREADS"] = "1"
    try:
        with threadpool_limits(1):
            yield
    finally:
        if before is None:
            del os.environ["SPECTRATA_THREADS"]
        else:
            os.environ["SPECTRATA_THREADS"] = before


@contextlib.contextmanager
def progress_bar(title: str, total: int, done: int = 0) -> Iterator[Advance]:
    """A bar on the terminal, nothing elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal or not title:
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda: bar.advance(task)
