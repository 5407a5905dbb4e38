"""One process pool for all work: units that are stored the moment they are done, and calls whose results are kept."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Any

from reproduction.store import Arrays, Store
from spectrata.errors import SpectrataError
from spectrata.many.work import one_thread

Unit = tuple[str, tuple[Any, ...]]  # name, arguments of the function
Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments
Say = Callable[[str], None]

_executors: list[Executor] = []  # where units run instead of processes of this machine


def run_units(function: Callable[..., Arrays], units: Sequence[Unit], store: Store, jobs: int = 1) -> list[Arrays]:
    """Compute ``function(*arguments)`` for every unit that is not stored yet; give all, in order.

    Every unit runs on one thread of its process, so that its bits do not depend on ``jobs``.
    """
    store_units(function, units, store, jobs)
    # A file may be lost in between.
    return [store.load(name) or function(*arguments) for name, arguments in units]


def store_units(
    function: Callable[..., Arrays],
    units: Sequence[Unit],
    store: Store,
    jobs: int = 1,
    deadline: float = math.inf,
    say: Say | None = None,
) -> None:
    """Compute and store every unit that is not stored yet.

    None is begun after the deadline (seconds since the epoch). A unit that fails ends the run; with ``say`` it is told
    and the others go on.
    """
    missing = {name: arguments for name, arguments in units if store.load(name) is None}
    for name, result in _results(function, missing, jobs, deadline):
        try:
            arrays = result()
        except BrokenExecutor as problem:
            raise _broken([name for name in missing if store.load(name) is None][:jobs]) from problem
        except Exception as problem:
            if say is None:
                raise
            say(f"{name}: {type(problem).__name__}: {problem}")
            continue
        if arrays is not None:
            store.save(name, arrays)


def _results(
    function: Callable[..., Arrays], units: Mapping[str, tuple[Any, ...]], jobs: int, deadline: float
) -> Iterator[tuple[str, Callable[[], Arrays | None]]]:
    """Give the name of each unit and a call that gives its arrays, or raises what it raised."""
    if not _executors and (jobs <= 1 or len(units) <= 1):
        for name, arguments in units.items():
            yield name, partial(_work, function, arguments, deadline)
        return
    pool = contextlib.nullcontext(_executors[-1]) if _executors else processes(min(jobs, len(units)))
    with pool as executor:
        names = {executor.submit(_work, function, given, deadline): name for name, given in units.items()}
        try:
            for done in as_completed(names):
                yield names[done], done.result
        finally:
            for future in names:
                future.cancel()


def processes(jobs: int) -> ProcessPoolExecutor:
    """Give a pool of fresh processes; forking a process that already has threads can hang, and CUDA allows no fork."""
    return ProcessPoolExecutor(jobs, get_context("spawn"))


@contextlib.contextmanager
def units_on(executor: Executor) -> Iterator[None]:
    """Run units on an executor inside the block, such as a cluster's; this process stores what they give."""
    _executors.append(executor)
    try:
        yield
    finally:
        _executors.pop()


def _work(function: Callable[..., Any], arguments: tuple[Any, ...], deadline: float = math.inf) -> Any:
    if time.time() > deadline:
        return None
    with one_thread():
        return function(*arguments)


def run_calls(calls: Sequence[Call], jobs: int = 1) -> list[Any]:
    """Give what every call gives, in order; nothing is stored."""
    if jobs <= 1 or len(calls) <= 1:
        return [_work(*call) for call in calls]
    with processes(min(jobs, len(calls))) as pool:
        try:
            return list(pool.map(_work, *zip(*calls, strict=True)))
        except BrokenExecutor as problem:
            raise _broken(sorted({function.__name__ for function, _ in calls})) from problem


def _broken(names: Sequence[str]) -> SpectrataError:
    return SpectrataError(
        f"A worker process died, killed from outside or out of memory, at {' or '.join(names)}; what is finished "
        "is kept, so run the same again, with fewer jobs where memory is short."
    )
