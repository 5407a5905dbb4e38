"""Many graphs at once, on one machine or many: any executor, one store, each pair exactly once.

Pairs are cut into chunks by their position, always the same way, so that the bits of a result depend
neither on the executor nor on what was done before. The calling process alone writes to the store.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from spectrata.errors import OptionError, SpectrataError
from spectrata.many.pool import DIED
from spectrata.many.store import FleetStore
from spectrata.many.work import Job, Outcome, one_thread, work

if TYPE_CHECKING:
    import xarray as xr

CHUNK = 16  # pairs of one task: small graphs of a chunk are stacked, and a lost worker loses few
AHEAD = 2  # tasks waiting per worker, so that none is idle and few are in memory
Progress = Callable[[str, float], None]
Chunk = list[Job]


def spectra_many(
    pairs: Iterable[Sequence[Any]],
    executor: Executor | None = None,
    store: "str | os.PathLike | None" = None,
    *,
    algorithms: str | Iterable[str] | None = None,
    hops: int | Iterable[int] | None = None,
    chunk: int = CHUNK,
    retry_failed: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> "xr.Dataset":
    """Compute the stratified spectra of many graphs, each with its own signal.

    Results are written as they finish, in any order. A pair that fails is recorded with its error, and
    the rest goes on. A run that was killed goes on where it was when called again with the same store.

    Parameters
    ----------
    pairs : iterable of (graph, signal) or (name, graph, signal)
        Anything :func:`spectrata.spectra` takes; paths are read by the workers.
    executor : concurrent.futures.Executor, optional
        Processes, threads, MPI, or Dask's ``client.get_executor()``; this process without one.
    store : path, optional
        Folder of one Zarr store; in memory without one.
    algorithms, hops, **options
        As for :func:`spectrata.spectra`. Hops past a graph's own diameter are NaN there, with a status.
    chunk : int
        Pairs of one task.
    retry_failed : bool
        Whether pairs that failed in an earlier run are tried again.
    progress : callable, optional
        Called as ``progress(message, fraction)``.

    Returns
    -------
    xarray.Dataset
        ``magnitude(graph, algorithm, hop, component)``, padded with NaN to the largest graph, and what goes with it as
        in :func:`spectrata.spectra_batch`; ``state(graph)`` is "done" or "failed", ``error(graph)`` says why.

    Notes
    -----
    Every pair runs on one thread of its process, so that the same bits come from every executor. Signals with
    snapshots are one pair per snapshot.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> pairs = [("path", nx.path_graph(4), range(4)), ("bad", nx.path_graph(4), range(3))]
    >>> ds = st.spectra_many(pairs)
    >>> ds["state"].values.tolist(), ds["graph"].values.tolist()
    (['done', 'failed'], ['path', 'bad'])
    """
    jobs = _jobs(pairs)
    if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
        raise OptionError(f"chunk={chunk!r} must be a whole number of at least 1.")
    arguments = options | {"algorithms": _listed(algorithms), "hops": _listed(hops)}
    report = progress or (lambda message, fraction: None)
    kept = FleetStore.open(store, [job.name for job in jobs], chunk, arguments)
    try:
        missing = kept.missing(retry_failed)
        chunks = [jobs[first : first + chunk] for first in range(0, len(jobs), chunk)]
        # A chunk is done again whole, so that what is stacked with what does not depend on the past.
        waiting = [piece for piece in chunks if any(job.index in missing for job in piece)]
        done = len(jobs) - len(missing)
        report("graphs", done / len(jobs))
        for outcomes in _run(executor, waiting, arguments):
            fresh = [outcome for outcome in outcomes if outcome.index in missing]
            kept.write(fresh)
            missing.difference_update(outcome.index for outcome in fresh)
            done += len(fresh)
            report(f"graph {done} of {len(jobs)}", done / len(jobs))
        return kept.finish()
    finally:
        kept.close()


def open_many(store: "str | os.PathLike") -> "xr.Dataset":
    """Open what :func:`spectra_many` wrote, finished or not; arrays are read when used."""
    return FleetStore.read(store)


def _jobs(pairs: Iterable[Sequence[Any]]) -> list[Job]:
    jobs = []
    for index, pair in enumerate(pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) not in (2, 3):
            raise OptionError(f"Pair {index} is not (graph, signal) or (name, graph, signal).")
        name = str(pair[0]) if len(pair) == 3 else str(index)
        jobs.append(Job(index, name, pair[-2], pair[-1]))
    if not jobs:
        raise OptionError("There is no pair; give at least one graph with its signal.")
    names = [job.name for job in jobs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionError(f"The name {twice!r} stands twice; give every pair its own.")
    return jobs


def _listed(value: Any) -> Any:
    """Algorithms and hops as plain lists, which can be compared and sent."""
    if value is None or isinstance(value, str | int):
        return value
    return list(value)


def _run(
    executor: Executor | None, chunks: list[Chunk], arguments: dict[str, Any]
) -> Iterator[list[Outcome]]:
    if executor is None:
        with one_thread():
            for chunk in chunks:
                yield work(chunk, arguments, os.getpid())
        return
    # Threads of this process share its limits; other processes set their own, once.
    same = type(executor).__name__ == "ThreadPoolExecutor"
    with one_thread() if same else nullcontext():
        yield from _spread(executor, chunks, arguments)


def _spread(executor: Executor, chunks: list[Chunk], arguments: dict[str, Any]) -> Iterator[list[Outcome]]:
    """Keep a few tasks per worker under way, and give results as they come."""
    limit = AHEAD * _workers(executor) + 1
    queue = list(reversed(chunks))
    alone: list[Chunk] = []  # suspected of having ended a worker: each with nothing else under way
    suspect: Chunk | None = None
    under_way: dict[Future, Chunk] = {}
    tried: set[int] = set()
    try:
        while queue or alone or under_way:
            if alone and not under_way:
                suspect = alone.pop()
                under_way[_submitted(executor, suspect, arguments)] = suspect
            while queue and not alone and suspect is None and len(under_way) < limit:
                chunk = queue.pop()
                under_way[_submitted(executor, chunk, arguments)] = chunk
            finished, _ = wait(under_way, return_when=FIRST_COMPLETED)
            # What is finished is kept before what broke is told.
            broken: list[Chunk] = []
            ready = sorted(finished, key=lambda future: future.exception() is None)
            del finished
            while ready:
                future = ready.pop()
                chunk, problem = under_way.pop(future), future.exception()
                outcomes = future.result() if problem is None else None
                del future  # a cluster does again what is still asked for when the worker that holds it dies
                if outcomes is not None:
                    yield outcomes
                elif isinstance(problem, BrokenExecutor) and hasattr(executor, "renew"):
                    broken.append(chunk)
                elif isinstance(problem, BrokenExecutor | OSError):
                    raise SpectrataError(
                        f"The executor broke ({problem}), between {chunk[0].name!r} and {chunk[-1].name!r} or in work "
                        "under way beside it; what is finished is stored, call again to go on."
                    ) from problem
                elif chunk[0].index not in tried:  # once more, whole: a lost connection is no one's fault
                    tried.add(chunk[0].index)
                    queue.append(chunk)
                elif len(chunk) > 1:  # find out which of them it was
                    queue.extend([job] for job in reversed(chunk))
                else:
                    yield [Outcome(chunk[0].index, None, f"{type(problem).__name__}: {problem}")]
            if broken:
                executor.renew()  # type: ignore[attr-defined]
                broken += [chunk for future, chunk in under_way.items() if not _is_done(future)]
                under_way = {future: chunk for future, chunk in under_way.items() if _is_done(future)}
                if suspect is None:
                    alone.extend(reversed(broken))
                elif len(suspect) > 1:
                    alone.extend([job] for job in reversed(suspect))
                else:
                    yield [Outcome(suspect[0].index, None, f"BrokenExecutor: {DIED}")]
            if not under_way:
                suspect = None
    finally:
        for future in under_way:
            future.cancel()


def _submitted(executor: Executor, chunk: Chunk, arguments: dict[str, Any]) -> Future:
    """A task under way; one that an executor broken in the meantime does not take has failed with that."""
    try:
        return executor.submit(work, chunk, arguments, os.getpid())
    except BrokenExecutor as problem:
        failed: Future = Future()
        failed.set_exception(problem)
        return failed


def _is_done(future: Future) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _workers(executor: Executor) -> int:
    client = getattr(executor, "_client", None)
    if client is not None:
        return max(1, sum(client.nthreads().values()))
    return int(getattr(executor, "_max_workers", None) or 8)
