"""What a worker does with a chunk of pairs: read, stack the small ones, and give plain arrays back."""

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.errors import SignalTypeError
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.signals import Signal, as_signal
from spectrata.many.stacked import MAX_NODES, PAST_DIAMETER, spectra_batch

if TYPE_CHECKING:
    import xarray as xr

PER_HOP = ("gradient_norm", "n_edges", "n_parts", "n_singletons")
PER_COMPONENT = ("eigenvalue", "eigenspace", "multiplicity")


@dataclass(frozen=True, eq=False)
class Job:
    """A pair and its place among all."""

    index: int
    name: str
    graph: Any
    signal: Any


@dataclass(frozen=True, eq=False)
class Outcome:
    """Arrays of one pair, ``magnitude (M, H, n)`` and those that go with it, or why there are none."""

    index: int
    arrays: dict[str, Any] | None
    error: str = ""


_limits: list[Any] = []  # this process's limit on threads, alive as long as the process


_inside = 0  # blocks of ``one_thread`` under way in this process, in whatever threads
_before: tuple[str | None, Any] = (None, None)
_guard = threading.Lock()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """BLAS, OpenMP and compiled kernels on one thread inside the block; the last to leave puts back what was."""
    global _inside, _before
    import scipy.linalg  # noqa: F401  # its BLAS must be loaded before it can be limited
    from threadpoolctl import threadpool_limits

    with _guard:
        if _inside == 0:
            _before = os.environ.get("SPECTRATA_THREADS"), threadpool_limits(1)
            os.environ["SPECTRATA_THREADS"] = "1"
        _inside += 1
    try:
        yield
    finally:
        with _guard:
            _inside -= 1
            if _inside == 0:
                threads, limits = _before
                limits.restore_original_limits()
                if threads is None:
                    os.environ.pop("SPECTRATA_THREADS", None)
                else:
                    os.environ["SPECTRATA_THREADS"] = threads


def work(chunk: list[Job], arguments: dict[str, Any], caller: int) -> list[Outcome]:
    """Compute a chunk on one thread; a pair that fails says why and harms no other."""
    if os.getpid() != caller and not _limits:
        # For good: threads of a worker that come and go must not lift each other's limit.
        limit = one_thread()
        limit.__enter__()
        _limits.append(limit)
    outcomes: dict[int, Outcome] = {}
    known: list[tuple[Job, Graph, Signal]] = []
    for job in chunk:
        try:
            graph = as_graph(job.graph)
            signal = as_signal(job.signal, graph)
            if signal.snapshots is not None:
                raise SignalTypeError("The signal has snapshots; give each of them as a pair of its own.")
            known.append((job, graph, signal))
        except Exception as problem:
            outcomes[job.index] = _failed(job, problem)
    small = [item for item in known if item[1].n_nodes <= MAX_NODES]
    for d in sorted({item[2].values.shape[2] for item in small}):
        outcomes |= _stacked([item for item in small if item[2].values.shape[2] == d], arguments)
    for job, graph, signal in known:
        if job.index not in outcomes:
            outcomes[job.index] = _alone(job, graph, signal, arguments)
    return [outcomes[job.index] for job in chunk]


def _stacked(items: list[tuple[Job, Graph, Signal]], arguments: dict[str, Any]) -> dict[int, Outcome]:
    """Small graphs in one call; nothing when some of them, or the algorithms, do not go together."""
    try:
        ds = spectra_batch([graph for _, graph, _ in items], [signal for _, _, signal in items], **arguments)
    except Exception:  # each alone then, which says what is wrong and with which
        return {}
    names = (*PER_HOP, *PER_COMPONENT, "magnitude", "status", "hop")
    held = {
        name: ds[name].values for name in names
    }  # once: looking a row up in a Dataset takes as long as solving it
    shared = {"algorithms": _names(ds)}
    return {
        job.index: Outcome(job.index, _row(held, row, graph.n_nodes) | shared | _facts(ds, graph))
        for row, (job, graph, _) in enumerate(items)
    }


def _row(held: dict[str, np.ndarray], row: int, n: int) -> dict[str, Any]:
    """One graph of a stacked result, without the padding."""
    reached = held["n_edges"][row] > 0
    arrays: dict[str, Any] = {name: held[name][row][reached] for name in PER_HOP}
    arrays |= {name: held[name][row][reached][:, :n] for name in PER_COMPONENT}
    arrays["magnitude"] = held["magnitude"][row][:, reached, :n]
    arrays["status"] = held["status"][row][:, reached]
    return arrays | {"hops": held["hop"][reached]}


def _alone(job: Job, graph: Graph, signal: Signal, arguments: dict[str, Any]) -> Outcome:
    try:
        given = dict(arguments)
        hops = given.pop("hops")
        strat = Stratification(graph, None if isinstance(hops, list) else hops, max_basis_bytes=0)
        if isinstance(hops, list):
            within = [hop for hop in hops if hop <= strat.diameter]
            strat = Stratification(graph, within or [1], max_basis_bytes=0)
        ds = strat.spectra(signal, **{"keep": ()} | given)
        arrays: dict[str, Any] = {name: ds[name].values for name in (*PER_HOP, *PER_COMPONENT)}
        arrays |= {"magnitude": ds["magnitude"].values, "status": ds["status"].values}
        arrays |= {"hops": ds["hop"].values, "algorithms": _names(ds)}
        if isinstance(hops, list) and not within:
            arrays = _without_hops(arrays)
        return Outcome(job.index, arrays | _facts(ds, graph))
    except Exception as problem:
        return _failed(job, problem)


def _without_hops(arrays: dict[str, Any]) -> dict[str, Any]:
    """No wanted hop lies within the diameter: everything is past it."""
    axis = {"magnitude": 1, "status": 1}
    return {
        name: np.take(array, [], axis=axis.get(name, 0)) if name != "algorithms" else array
        for name, array in arrays.items()
    }


def _names(ds: "xr.Dataset") -> list[str]:
    return [str(name) for name in ds["algorithm"].values]


def _facts(ds: "xr.Dataset", graph: Graph) -> dict[str, Any]:
    return {"n_nodes": graph.n_nodes, "metric": ds.attrs["metric"], "graph_hash": graph.digest}


def _failed(job: Job, problem: Exception) -> Outcome:
    return Outcome(job.index, None, f"{type(problem).__name__}: {problem}")


__all__ = ["PAST_DIAMETER", "Job", "Outcome", "one_thread", "work"]
