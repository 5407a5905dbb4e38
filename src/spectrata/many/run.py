"""Many graphs at once, on one machine or many: any executor, one store, each pair exactly once.

Pairs are cut into chunks by their position, always the same way, so that the bits of a result depend neither on the
executor nor on what was done before. The calling process alone writes to the store.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import ExitStack, closing, suppress
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata._version import __version__
from spectrata.bands.settings import given_bands
from spectrata.core.plan import Computing, make_plan
from spectrata.core.registry import ALGORITHMS, require, resolve_algorithms
from spectrata.core.strata import HOP_WEIGHTS, asked_hops
from spectrata.errors import OptionError, ResultError, SpectrataError, argument
from spectrata.inputs.graphs import Graph
from spectrata.inputs.numbers import flag, one_of, whole
from spectrata.kernels import threads
from spectrata.many.layout import READ_AS, Outcome
from spectrata.many.pool import WorkerDied
from spectrata.many.store import ResultStore, in_memory, open_many
from spectrata.many.work import Job, Request, work
from spectrata.results.schema import ARGUMENTS, BANDS

if TYPE_CHECKING:
    import xarray as xr

AHEAD, FEW = 2, 8  # tasks waiting per worker, so that none is idle and few are in memory; workers where none says
ON_DEVICE = 2**16  # pairs of one task on a GPU
SMALL = 64  # rows of a signal up to which its graph is all overhead outside a stack
AS_USUAL = {"weights": None, "hop_weights": "bottleneck", "undirected": False}  # how graphs are read
READING = tuple(AS_USUAL)
COMPUTING = ("laplacian", "self_loops", "n_eigs", "which", "dtype", "device")
Progress = Callable[[str, float], None]
Chunk = list[Job]


def spectra_many(
    pairs: Iterable[Sequence[Any]],
    executor: Executor | None = None,
    store: "str | os.PathLike | None" = None,
    *,
    algorithms: str | Iterable[str] | None = None,
    hops: int | Iterable[int] | None = None,
    weights: str | bool | None = None,
    stratification: Mapping[str, Any] | None = None,
    bands: Iterable[float] | None = None,
    metric: str = "auto",
    seed: int = 0,
    chunk: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> "xr.Dataset":
    """Compute the stratified spectra of many graphs, each with its own signal.

    Small graphs are computed in stacks. Results are written as they finish, in any order. A pair that fails is
    recorded with its error, and the others continue. A run that was killed continues when called again with the same
    store: results of pairs that are still the same, graph, signal and options, are kept, all others computed.

    Parameters
    ----------
    pairs : iterable of (graph, signal) or (name, graph, signal)
        Anything :func:`spectrata.spectra` takes; paths are read by the workers. A generator may use its graphs and
        arrays again: what is not in a list is copied.
    executor : concurrent.futures.Executor, optional
        Processes, threads, MPI, or Dask's ``client.get_executor()``; this process without one.
    store : path, optional
        Folder of one Zarr store; in memory without one.
    algorithms, hops, metric, seed, **options
        As for :func:`spectrata.spectra`, also ``preset``, ``zero_vectors``, ``laplacian`` and ``self_loops``. Hops past
        a graph's own diameter are NaN there, with a status.
    weights : str or bool, optional
        Edge weights of every graph: the name of an edge attribute; True for those of a weighted matrix or edge list.
        By default weights are ignored with a warning, with False silently.
    stratification : mapping, optional
        How every graph is read and computed, as :class:`spectrata.Stratification` takes it: ``hop_weights``,
        ``undirected``, ``n_eigs``, ``which``, ``dtype``, ``device``.
    bands : sequence of float, optional
        Edges of bands of eigenvalues, ascending from 0, that all graphs share: for graphs that are snapshots
        (attention heads, temporal graphs) or differ in size. The energies of ``gft``, ``apprx_ls`` and ``in_agg``
        are summed over the eigenvalues in each ``(lower, upper]``; the last band takes all that lies above.
    chunk : int, optional
        Pairs of one task; by default a 32nd of all, from 16 to 256 (of small graphs from 256 to 4,096), and on a GPU
        up to 65,536.
    progress : callable, optional
        Called as ``progress(message, fraction)``.

    Returns
    -------
    xarray.Dataset
        As :func:`spectrata.spectra`, with the dimension ``graph`` in front and padded to the largest graph;
        ``state(graph)`` is "done" or "failed", ``error(graph)`` says why. With ``bands``, as
        :func:`spectrata.band_spectra`: ``energy(graph, algorithm, hop, band)`` and ``zero_energy``.

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

    Graphs as snapshots, on one axis:

    >>> pairs = [(f"{n} nodes", nx.path_graph(n), range(n)) for n in (4, 8)]
    >>> ds = st.spectra_many(pairs, algorithms="gft", hops=1, bands=[0, 1, 2, 4])
    >>> ds["energy"].sel(algorithm="gft", hop=1).values.round(2).tolist()
    [[4.97, 0.0, 0.03], [41.5, 0.45, 0.04]]
    """
    jobs, report = _jobs(pairs), progress or (lambda message, fraction: None)
    asked = {"algorithms": algorithms, "hops": hops, "metric": metric, "bands": bands, "seed": seed}
    request = _request(jobs, asked, {"weights": weights} | dict(stratification or {}), options)
    size = _chunk_size(jobs, request.device) if chunk is None else whole(chunk, "chunk")
    names, facts = [job.name for job in jobs], _facts(request)
    found: list[Outcome] = []
    write: Callable[[list[Outcome]], None] = found.extend
    with ExitStack() as stack:
        if store is not None:
            kept = stack.enter_context(closing(ResultStore(store, names, size, facts)))
            jobs = [replace(job, known=digest) for job, digest in zip(jobs, kept.digests, strict=True)]
            request, write = replace(request, asked=json.dumps(facts)), kept.write
        chunks = [jobs[first : first + size] for first in range(0, len(jobs), size)]
        done = 0
        report("graphs", 0.0)
        for count, outcomes in _run(executor, chunks, request):
            write(outcomes)
            done += count
            report(f"graph {done} of {len(jobs)}", done / len(jobs))
        ds = in_memory(names, facts, found) if store is None else open_many(store)
    if not (ds["state"] == "done").any():
        raise ResultError(f"All {len(jobs)} pairs failed, the first with: {ds['error'].values[0]}")
    return ds


def _jobs(pairs: Iterable[Sequence[Any]]) -> list[Job]:
    jobs = []
    for index, pair in enumerate(pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) not in (2, 3):
            raise OptionError(f"Pair {index} is not (graph, signal) or (name, graph, signal).")
        name = str(pair[0]) if len(pair) == 3 else str(index)
        jobs.append(Job(index, name, *(pair[-2:] if isinstance(pairs, Sequence) else map(_copied, pair[-2:]))))
    if not jobs:
        raise OptionError("There is no pair; give at least one graph with its signal.")
    name, count = Counter(job.name for job in jobs).most_common(1)[0]
    if count > 1:
        raise OptionError(f"The name {name!r} stands twice; give every pair its own.")
    return jobs


def _copied(given: Any) -> Any:
    """A copy of what a generator may change before it is read, where it can be copied and is not mapped from a file."""
    how = [name for name in ("copy", "clone") if hasattr(given, name) and not isinstance(given, dict | list)]
    with suppress(TypeError, AttributeError, RuntimeError):
        return given if isinstance(given, np.memmap) else getattr(given, how[0])() if how else deepcopy(given)
    return given


def _chunk_size(jobs: list[Job], device: str | None) -> int:
    """Pairs of one task: few enough to share out, of small graphs enough for stacks, on a GPU enough to fill it."""
    if device not in (None, "cpu"):
        return min(len(jobs), ON_DEVICE)
    small = all(isinstance(job.signal, Sized) and not isinstance(job.signal, str) for job in jobs)
    small = small and max(len(job.signal) for job in jobs) <= SMALL
    least, most = (256, 4096) if small else (16, 256)
    return max(least, min(most, len(jobs) // 32))


def _request(jobs: list[Job], asked: Mapping[str, Any], how: dict[str, Any], options: dict[str, Any]) -> Request:
    """Everything that is computed of every pair, checked before any pair is read."""
    how |= {name: options.pop(name) for name in ("laplacian", "self_loops") if name in options}
    computing = Computing(**{name: how.pop(name) for name in COMPUTING if name in how})
    for name in how:
        if name not in READING:
            words = f"stratification={{{name!r}: ...}} is not understood; for many graphs it takes"
            raise OptionError(f"{words} {', '.join(READING + COMPUTING)}.")
    preset, zero_vectors = options.pop("preset", None), options.pop("zero_vectors", "error")
    algorithms, edges, device = asked["algorithms"], None, computing.device
    if asked["bands"] is not None:
        if computing.n_eigs is not None or preset is not None:
            raise OptionError("bands= needs all components and one energy each; leave out n_eigs and preset.")
        common = given_bands(asked["bands"])
        if isinstance(common, int) or common[0] != 0.0:
            words = f"{argument('bands', asked['bands'])} does not serve many graphs; give the edges that all share"
            raise OptionError(f"{words}, from 0, such as bands=[0, 0.5, 1, 1.5, 2].")
        edges = tuple(common.tolist())
        every = [row.name for row in ALGORITHMS.values() if row.in_bands and computing.laplacian in row.laplacians]
        algorithms = resolve_algorithms(every if algorithms is None else algorithms)
        require(algorithms, lambda row: bool(row.in_bands), "no energy per band; bands have")
    more = {"preset": preset, "seed": asked["seed"], "keep": (), "diagnose": False} | computing.components
    plan = make_plan(algorithms, options | computing.operator().arguments, len(jobs), **more)
    one_of(asked["metric"], "metric", ("auto", "angular", "euclidean"))
    one_of(zero_vectors, "zero_vectors", ("error", "nan", "zero"))
    if callable(plan.options.ens_weights) or not (device is None or isinstance(device, str)):
        words = "The options of spectra_many are plain values, since they travel to workers"
        raise OptionError(f"{words}; give the weights of ens by name or as a mapping, and device as text.")
    reading = AS_USUAL | how
    weighted = _check_reading(jobs, reading)
    plan.check([1], weighted)  # no ensemble has members that it lacks at hop 1
    hops, metric = asked_hops(asked["hops"]), asked["metric"]
    return Request(plan, hops, metric, zero_vectors, device, reading, weighted, edges, len(jobs))


def _check_reading(jobs: list[Job], reading: dict[str, Any]) -> bool:
    """Whether weights are used: as asked, or, unasked, where a ``Graph`` was read with them."""
    weights = reading["weights"]
    if not (weights is None or isinstance(weights, (str, bool))):
        words = "weights= of spectra_many is for all graphs"
        raise OptionError(f"{words}: give True, False or the name of an edge attribute, not an array.")
    one_of(reading["hop_weights"], "hop_weights", HOP_WEIGHTS)
    flag(reading["undirected"], "undirected")
    if weights is not None:
        return bool(weights)
    return any(isinstance(job.graph, Graph) and job.graph.weighted for job in jobs)


def _facts(request: Request) -> dict[str, Any]:
    """Attributes of the result, and everything that was asked."""
    plan, options, reading = request.plan, request.plan.options, request.read_as
    asked = json.loads(plan.to_json((), request.zero_vectors))
    asked |= {"hops": request.hops, "metric": request.metric} | ({} if reading == AS_USUAL else {READ_AS: reading})
    asked |= {} if request.bands is None else {"bands": list(request.bands)}
    return ({} if request.bands is None else {"kind": BANDS}) | {
        "laplacian": options.laplacian,
        "self_loops": int(options.self_loops),
        "weights": reading["hop_weights"] if request.weighted else "",
        "dtype": plan.dtype,
        "seed": plan.seed,
        "spectrata_version": __version__,
        ARGUMENTS: json.dumps(asked, sort_keys=True),
    }


# ---- executors


def _run(executor: Executor | None, chunks: list[Chunk], request: Request) -> Iterator[tuple[int, list[Outcome]]]:
    """Results of all chunks as they come, with the number of their pairs.

    A few tasks per worker are under way. A task that fails as a whole is tried once more (a connection may have been
    lost), then pair by pair.
    """
    if executor is None:
        threaded = replace(request, threads=threads.threads())  # which share out whole matrices and change no bits
        yield from ((len(chunk), work(chunk, threaded)) for chunk in chunks)
        return
    client = getattr(executor, "_client", None)  # of Dask
    workers = getattr(executor, "_max_workers", None) if client is None else sum(client.nthreads().values())
    limit = AHEAD * (workers or FEW) + 1
    queue = chunks[::-1]
    under_way: dict[Future, Chunk] = {}
    tried: set[int] = set()
    try:
        while queue or under_way:
            while queue and len(under_way) < limit:
                chunk = queue.pop()
                try:
                    future = executor.submit(work, chunk, request)
                except BrokenExecutor as broken:  # since the last task was given
                    future = Future()
                    future.set_exception(broken)
                under_way[future] = chunk
                del future
            ready = list(wait(under_way, return_when=FIRST_COMPLETED).done)
            ready.sort(key=lambda future: future.exception() is None)  # what is finished is stored before any error
            while ready:
                future = ready.pop()
                chunk, problem = under_way.pop(future), future.exception()
                outcomes = [] if problem else future.result()
                del future  # a cluster does again what is still asked for when the worker that holds it dies
                if problem is None:
                    yield len(chunk), outcomes
                elif isinstance(problem, BrokenExecutor | OSError) and not isinstance(problem, WorkerDied):
                    raise SpectrataError(
                        f"The executor broke ({problem}), between {chunk[0].name!r} and {chunk[-1].name!r} or in work "
                        "under way beside it; what is finished is stored, call again to go on."
                    ) from problem
                elif chunk[0].index not in tried:
                    tried.add(chunk[0].index)
                    queue.append(chunk)
                elif len(chunk) > 1:
                    queue.extend([job] for job in reversed(chunk))
                else:
                    yield 1, [Outcome.failed(chunk[0].index, problem)]
    finally:
        for future in under_way:
            future.cancel()
