"""The work on one chunk of pairs: read them, stack the small ones, and give plain arrays back."""

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from spectrata.core.engine import all_hops
from spectrata.core.plan import Plan
from spectrata.core.stratification import Stratification
from spectrata.errors import SignalTypeError, SpectrataError
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.signals import Potential, Signal, as_signal, potential
from spectrata.kernels.backend import NUMPY, Backend, backend_of
from spectrata.kernels.threads import blas_limit, share
from spectrata.many import stacked
from spectrata.many.layout import UNKNOWN, Outcome, arrays_of, in_bands

DEVICE_THREADS = 8  # that prepare stacks for a GPU


@dataclass(frozen=True, eq=False)
class Job:
    """A pair and its place among all."""

    index: int
    name: str
    graph: Any
    signal: Any
    known: str = ""  # digest of the pair whose result the store holds


@dataclass(frozen=True, eq=False)
class Request:
    """The computation that every pair gets."""

    plan: Plan
    hops: stacked.Hops  # as ``core.strata.asked_hops`` gives them
    metric: str
    zero_vectors: str
    device: str | None
    read_as: Mapping[str, Any]  # weights, hop_weights and undirected, as ``Stratification`` takes them
    weighted: bool  # whether weights are used
    bands: tuple[float, ...] | None  # common edges of bands, where spectra are summed into them
    graphs: int  # pairs of the whole run
    threads: int = 1  # for the solves of a stack
    asked: str = ""  # everything that was asked, for the digests of pairs; empty where nothing is stored

    def digest(self, graph: Graph, values: np.ndarray) -> str:
        """Hash of a pair, its signal ``(n, d)`` as given, and of everything that is asked of it."""
        if not self.asked:
            return UNKNOWN
        state = hashlib.sha256(f"{self.asked} {graph.digest} {values.shape}".encode())
        state.update(np.ascontiguousarray(values, dtype="<f8").data)
        return state.hexdigest()

    def potential(self, pairs: "list[Pair]") -> Potential:
        """Potentials of signals of one shape, a pair for each snapshot."""
        values = np.concatenate([pair.signal.values for pair in pairs])
        names = pairs[0].graph.names if len(pairs) == 1 else None
        return potential(Signal(values, None), self.metric, self.zero_vectors, names)

    def outcome(self, pairs: "list[Pair]", metric: str, results: Any, hops: int, width: int) -> Outcome:
        """The arrays of pairs of one size from their results at each hop, by component or by band."""
        if self.bands is not None:
            width, results = len(self.bands), ((rows, in_bands(found, self.bands)) for rows, found in results)
        arrays = arrays_of(
            results, len(pairs), {"algorithm": len(self.plan.algorithms), "hop": hops, "component": width}
        )
        facts = [(pair.graph.n_nodes, metric, pair.graph.digest, pair.digest) for pair in pairs]
        names = ("n_nodes", "metric", "graph_hash", "digest")
        arrays |= dict(zip(names, np.array(facts, dtype=object).T, strict=True))
        return Outcome(np.array([pair.index for pair in pairs]), arrays)


@dataclass(frozen=True, eq=False)
class Pair:
    index: int
    graph: Graph
    signal: Signal
    backend: Backend
    digest: str

    @property
    def shape(self) -> tuple[int, int, str]:
        """Nodes, dimensions and device, which graphs of one stack share."""
        return *self.signal.values.shape[1:], self.backend.device

    @property
    def is_small(self) -> bool:
        """Whether it can be in a stack: small, and in main memory or on a GPU with the kernels for stacks."""
        return self.graph.n_nodes <= stacked.MAX_NODES and (self.backend == NUMPY or self.backend.has_cupy)


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS, OpenMP and compiled kernels on one thread while this thread is inside the block."""
    from threadpoolctl import threadpool_limits

    with share(1), blas_limit(1), threadpool_limits(1, "openmp"):
        yield


def work(chunk: list[Job], request: Request) -> list[Outcome]:
    """Compute what the store does not hold of a chunk, on one thread; a pair that fails says why and harms no other.

    A chunk is computed whole unless the store holds all of it, so that what is stacked with what, and with it the last
    bits, does not depend on the past.
    """
    outcomes: list[Outcome] = []
    pairs: list[Pair] = []
    changed: set[int] = set()
    with one_thread():
        for job in chunk:
            try:
                pairs.append(_read(job, request))
                digest = pairs[-1].digest
            except Exception as problem:  # whatever a reader or an object of the caller raises
                outcomes.append(Outcome.failed(job.index, problem))
                digest = outcomes[-1].arrays["digest"][0]
            if digest != job.known or digest == UNKNOWN:
                changed.add(job.index)
        if changed:
            outcomes += _computed(pairs, request)
    kept = (outcome.only(changed) for outcome in outcomes)
    return [outcome for outcome in kept if len(outcome.rows)]


def _read(job: Job, request: Request) -> Pair:
    graph = as_graph(job.graph, weights=request.read_as["weights"], undirected=request.read_as["undirected"])
    signal = as_signal(job.signal, graph)
    if signal.snapshots is not None:
        raise SignalTypeError("The signal has snapshots; give each of them as a pair of its own.")
    backend = NUMPY if request.plan.n_eigs is not None else backend_of(job.signal, request.device)
    return Pair(job.index, graph, signal, backend, request.digest(graph, signal.values[0]))


def _computed(pairs: list[Pair], request: Request) -> list[Outcome]:
    """Results of pairs that were read, the small ones in stacks of one shape; on a GPU, threads prepare stacks."""
    together = stacked.can_stack(request.plan)
    small = sorted((pair for pair in pairs if together and pair.is_small), key=attrgetter("shape"))
    stacks: list[list[Pair]] = []
    for (n, *_), group in groupby(small, attrgetter("shape")):
        own, step = list(group), max(1, stacked.STACK_NUMBERS // n**2)
        stacks += [own[first : first + step] for first in range(0, len(own), step)]

    def solve(own: list[Pair]) -> list[Outcome]:
        with own[0].backend.active(), share(1):
            return _stack(own, request)

    with ThreadPoolExecutor(min(request.threads, DEVICE_THREADS)) as pool:
        each = map if all(pair.backend == NUMPY for pair in small) else pool.map
        found = [outcome for outcomes in each(solve, stacks) for outcome in outcomes]
    return found + [_alone(pair, request) for pair in pairs if not (together and pair.is_small)]


def _stack(pairs: list[Pair], request: Request) -> list[Outcome]:
    """Graphs of one size in one go."""
    graphs, hops, n = [pair.graph for pair in pairs], request.hops, pairs[0].graph.n_nodes
    try:
        batch = request.potential(pairs)
        distances = stacked.hop_distances(graphs, hops)
        largest = int(np.max(distances, where=distances < stacked.UNREACHED, initial=0))
        hops = [hop for hop in (hops if isinstance(hops, list) else range(1, largest + 1)) if hop <= largest]
        weights = stacked.pair_weights(graphs, distances, request.read_as["hop_weights"]) if request.weighted else None
        how = weights, request.threads, request.graphs, pairs[0].backend
        results = stacked.transform(distances, batch, hops, request.plan, *how)
        return [request.outcome(pairs, batch.metric, results, len(hops), n)]
    except SpectrataError as problem:
        if len(pairs) == 1:
            return [Outcome.failed(pairs[0].index, problem, pairs[0].digest)]
        # One by one, so that the graph which is refused is named, and no other fails with it.
        return [outcome for pair in pairs for outcome in _stack([pair], request)]


def _alone(pair: Pair, request: Request) -> Outcome:
    try:
        field, hops, plan, found = request.potential([pair]), request.hops, request.plan, []
        how: Any = {"hop_weights": request.read_as["hop_weights"], "max_basis_bytes": 0}
        strat = Stratification(pair.graph, max(hops) if isinstance(hops, list) else hops, **how)
        if isinstance(hops, list):
            strat = strat.only(*(hop for hop in hops if hop in strat.hops))
        if strat.hops:  # the graph reaches some of those asked for
            strat.announce(plan, pair.backend)
            found = all_hops(strat, field, plan, pair.backend)
        width = int(found[0].axis.component[-1]) + 1 if found else 0
        return request.outcome([pair], field.metric, [(slice(None), one) for one in found], len(found), width)
    except Exception as problem:  # recorded with its type and words
        return Outcome.failed(pair.index, problem, pair.digest)
