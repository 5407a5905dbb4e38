"""Many units of work over several processes, each stored the moment it is done."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, as_completed
from typing import Any

from reproduction.tasks.store import Arrays, Store
from spectrata.errors import SpectrataError, missing_extra
from spectrata.many import work
from spectrata.many.pool import Pool

Unit = tuple[str, tuple[Any, ...]]  # name, arguments of the function
Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments
Advance = Callable[[], None]


def run_units(
    function: Callable[..., Arrays], units: Sequence[Unit], store: Store, jobs: int = 1, title: str = ""
) -> list[Arrays]:
    """Compute ``function(*arguments)`` for every unit that is not stored yet; give all, in order.

    Every unit runs on one thread of its process, so that its bits do not depend on ``jobs``.
    """
    missing = {name: arguments for name, arguments in units if store.load(name) is None}
    with progress_bar(title, len(units), len(units) - len(missing)) as advance:
        if not _executors and (jobs <= 1 or len(missing) <= 1):
            for name, arguments in missing.items():
                store.save(name, _on_one_thread(function, arguments))
                advance()
        else:
            pool = contextlib.nullcontext(_executors[-1]) if _executors else Pool(min(jobs, len(missing)))
            try:
                with pool as executor:
                    _send(function, missing, store, executor, advance)
            except BrokenExecutor as problem:
                lost = [name for name in missing if store.load(name) is None]
                raise _broken(lost[:jobs]) from problem
    # A file may be lost in between.
    return [store.load(name) or function(*arguments) for name, arguments in units]


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
    function: Callable[..., Arrays],
    units: Mapping[str, tuple[Any, ...]],
    store: Store,
    executor: Executor,
    advance: Advance,
) -> None:
    names = {executor.submit(_on_one_thread, function, given): name for name, given in units.items()}
    try:
        for done in as_completed(names):
            store.save(names[done], done.result())
            advance()
    finally:
        for future in names:
            future.cancel()


def _on_one_thread(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    with one_thread():
        return function(*arguments)


def run_calls(calls: Sequence[Call], jobs: int = 1) -> list[Any]:
    """What every call gives, in order; nothing is stored."""
    if jobs <= 1 or len(calls) <= 1:
        return [_on_one_thread(*call) for call in calls]
    with Pool(min(jobs, len(calls))) as pool:
        futures = [pool.submit(function, *given) for function, given in calls]
        try:
            return [future.result() for future in futures]
        except BrokenExecutor as problem:
            raise _broken({function.__name__ for function, _ in calls}) from problem


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
        raise missing_extra("scikit-learn", "probe", "Reproducing the paper") from problem
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
