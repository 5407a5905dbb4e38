"""One process pool for all work: units that are stored the moment they are done, and calls whose results are kept."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from functools import partial
from math import inf
from typing import Any

from reproduction.store import Arrays, Store
from spectrata.errors import SpectrataError
from spectrata.many.pool import Pool
from spectrata.many.work import one_thread

Unit = tuple[str, tuple[Any, ...]]  # name, arguments of the function
Work = Callable[..., Arrays]
Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments
Say = Callable[[str], None]

_executors: list[Executor] = []  # where units run instead of processes of this machine


def run_units(function: Work, units: Sequence[Unit], store: Store, jobs: int = 1) -> list[Arrays]:
    """Compute ``function(*arguments)`` for every unit that is not stored yet; give all, in order.

    Every unit runs on one thread of its process, so that its bits do not depend on ``jobs``.
    """
    store_units(function, units, store, jobs)
    # A file may be lost in between.
    return [store.load(name) or function(*arguments) for name, arguments in units]


def store_units(
    function: Work, units: Sequence[Unit], store: Store, jobs: int = 1, deadline: float = inf, say: Say | None = None
) -> None:
    """Compute and store every unit that is not stored yet.

    None is begun after the deadline (seconds since the epoch). A unit that fails ends the run; with ``say`` it is told
    and the others go on.
    """
    missing = {name: (function, arguments) for name, arguments in units if store.load(name) is None}
    for name, result in _completed(missing, jobs, deadline, *_executors[-1:]):
        try:
            arrays = result()
        except Exception as problem:
            if say is None:
                raise
            say(f"{name}: {type(problem).__name__}: {problem}")
            continue
        if arrays is not None:
            store.save(name, arrays)


def run_calls(calls: Sequence[Call], jobs: int = 1) -> list[Any]:
    """Give what every call gives, in order; nothing is stored."""
    named = {f"{call[0].__name__} {index}": call for index, call in enumerate(calls)}
    found = {name: result() for name, result in _completed(named, jobs)}
    return [found[name] for name in named]


def _completed(
    calls: Mapping[str, Call], jobs: int, deadline: float = inf, executor: Executor | None = None
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of each call once it is done, and what gives its result or raises what it raised."""
    if executor is None and (jobs <= 1 or len(calls) <= 1):
        for name, call in calls.items():
            yield name, partial(_work, *call, deadline)
        return
    with contextlib.nullcontext(executor) if executor else Pool(min(jobs, len(calls))) as pool:
        names = {pool.submit(_work, *call, deadline): name for name, call in calls.items()}
        try:
            for done in as_completed(names):
                if isinstance(done.exception(), BrokenExecutor):
                    raise SpectrataError(
                        f"A worker process died, killed from outside or out of memory, at {names[done]}; "
                        "what is finished is kept, so run the same again, with fewer jobs where memory is short."
                    )
                yield names[done], done.result
        finally:
            for future in names:
                future.cancel()


@contextlib.contextmanager
def units_on(executor: Executor) -> Iterator[None]:
    """Run units on an executor inside the block, such as a cluster's; this process stores what they give."""
    _executors.append(executor)
    try:
        yield
    finally:
        _executors.pop()


def _work(function: Callable[..., Any], arguments: tuple[Any, ...], deadline: float = inf) -> Any:
    if time.time() > deadline:
        return None
    with one_thread():
        return function(*arguments)
