"""Many units of work over several processes, each stored the moment it is done."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from typing import Any

from spectrata.errors import SpectrataError, missing_extra
from spectrata.experiments.tasks.store import Arrays, Store
from spectrata.many import work
from spectrata.many.pool import Pool

Unit = tuple[str, tuple[Any, ...]]  # name, arguments of the function
Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments
Advance = Callable[[], None]


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
    with Pool(min(jobs, len(calls))) as pool:
        futures = [pool.submit(function, *given) for function, given in calls]
        try:
            return [future.result() for future in futures]
        except BrokenExecutor as problem:
            raise _broken({function.__name__ for function, _ in calls}) from problem


def _spread(
    function: Callable[..., Arrays], units: Sequence[Unit], store: Store, jobs: int, advance: Advance
) -> None:
    with Pool(jobs) as pool:
        names = {pool.submit(_make, function, unit, store): unit[0] for unit in units}
        for done in as_completed(names):
            try:
                done.result()
            except BrokenExecutor as problem:
                lost = [name for future, name in names.items() if store.load(name) is None]
                raise _broken(lost[:jobs]) from problem
            advance()


def _broken(names: Iterable[str]) -> SpectrataError:
    return SpectrataError(
        f"A worker process died, killed from outside or out of memory, at {' or '.join(names)}; what is finished "
        "is kept, so run the same again, with fewer jobs where memory is short."
    )


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """BLAS, OpenMP and compiled kernels on one thread inside the block."""
    try:
        import threadpoolctl  # noqa: F401
    except ImportError as problem:
        raise missing_extra("scikit-learn", "experiments", "Reproducing the paper") from problem
    with work.one_thread():
        yield


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
