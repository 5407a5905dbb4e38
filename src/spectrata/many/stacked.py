"""Many small graphs at once: strata, eigenbases and algorithms of graphs of one size as stacked arrays.

A graph of thirty nodes is all overhead; stacked, hundreds of them are a few calls. ``StackedHop`` has what the
algorithms use of ``core.hop.Hop``, a graph standing where elsewhere a snapshot does, so that the functions of
``core.algorithms`` run on it as they are. Edges are columns: every pair of nodes has one, with weight 0 where a graph
lacks the edge. Values equal those of ``spectra`` on each graph; inside repeated eigenvalues, where the split over
components is arbitrary, it may be another one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.core.checks import Energy
from spectrata.core.engine import measured
from spectrata.core.hop import HopFormulas, split_at_zero
from spectrata.core.plan import Plan
from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import Potential
from spectrata.kernels import edge_sums, searches
from spectrata.kernels.backend import NUMPY, Backend, to_numpy
from spectrata.many.stacked_bases import StackedBasis, StackedStratum, decompose
from spectrata.results.build import HopResult

MAX_NODES = 512  # from here on a graph is worth a call of its own
STACK_NUMBERS = 2**21  # of one (g, n, n) array: 16 MB
UNREACHED = np.iinfo(np.uint16).max
Hops = int | list[int] | None  # as ``core.strata.asked_hops`` gives them


# ---- distances


def hop_distances(graphs: Sequence[Graph], hops: Hops = None) -> np.ndarray:
    """Hop distances of graphs of one size, as far as ``hops`` asks: ``(g, n, n)``, ``UNREACHED`` beyond."""
    n = graphs[0].n_nodes
    most = UNREACHED - 1 if hops is None else max(hops) if isinstance(hops, list) else hops
    joined = np.zeros((len(graphs), n, n), dtype=bool)
    x, y = np.concatenate([graph.edges for graph in graphs]).T
    own = np.repeat(np.arange(len(graphs)), [graph.n_edges for graph in graphs])
    joined[own, x, y] = joined[own, y, x] = True
    distances = np.where(joined, 1, UNREACHED).astype(np.uint16)
    distances[:, range(n), range(n)] = 0
    steps, frontier, hop = joined.astype(np.float32), joined, 1
    while hop < most and frontier.any():
        hop += 1
        frontier = (frontier.astype(np.float32) @ steps > 0) & (distances == UNREACHED)
        distances[frontier] = hop
    return distances


def pair_weights(graphs: Sequence[Graph], distances: np.ndarray, rule: str) -> np.ndarray:
    """Weights of all pairs of nodes by a rule of ``hop_weights``, 1 in graphs without weights: ``(g, n, n)``."""
    found = np.ones(distances.shape)
    for own, graph, apart in zip(found, graphs, distances, strict=True):
        if graph.weights is None:
            continue
        if rule == "unit":
            x, y = graph.edges.T
            own[x, y] = own[y, x] = graph.weights
        else:
            both = searches.both_directions(graph.indptr, graph.indices, graph.weights)
            own[:] = searches.path_weights(graph.indptr, graph.indices, both, apart, rule == "product")
    return found


# ---- what algorithms are given


@dataclass(frozen=True, eq=False)
class StackedHop(HopFormulas):
    """One hop of stacked graphs with a signal on each: what the algorithms use of ``core.hop.Hop``.

    There every formula is explained; here a graph stands where a snapshot does, so that arrays are ``(g, ...)``.
    """

    stratum: StackedStratum
    basis: StackedBasis
    potential: np.ndarray  # (g, n, d), signals whose plain differences have the length of the gradient
    gradient: np.ndarray  # (g, m), 0 where a graph has no such edge
    seed: int = 0
    graphs: int = 0  # graphs of the whole run, of which these are some
    backend: Backend = NUMPY  # where the sums over pairs of nodes are made; arrays are in main memory
    diagnose = False  # whether extras are wanted

    def project(self, signals: np.ndarray) -> tuple[np.ndarray, Energy]:
        zero, rest = split_at_zero(self.stratum.union, self.basis.operator, signals.reshape(-1, signals.shape[2]))
        rest = self.stratum.per_node(rest)
        found = np.swapaxes(self.basis.vectors, 1, 2) @ rest
        found[self.basis.is_zero] = zero
        at_zero = np.bincount(np.nonzero(self.basis.is_zero)[0], np.sum(zero**2, axis=1), len(self.stratum))
        return found, Energy(np.sum(rest**2, axis=(1, 2)), at_zero)

    def oriented_gradient(self, orientation: str) -> np.ndarray:
        if orientation == "index":
            return self.gradient
        signs = np.zeros_like(self.gradient)
        for own, is_edge in zip(signs, self.stratum.weights > 0, strict=True):
            own[is_edge] = self.random(purpose=1).choice([-1.0, 1.0], size=np.count_nonzero(is_edge))
        return self.gradient * signs

    def project_divergence(self, flow: np.ndarray) -> tuple[np.ndarray, Energy]:
        source = edge_sums.divergence(self.stratum.edges, self._weighted(flow), self.n_nodes)
        source = source if self.basis.root is None else source / self.basis.root
        return (source[:, None] @ self.basis.vectors)[:, 0], Energy(np.sum(source**2, axis=1))

    @cached_property
    def difference_sums(self) -> tuple[np.ndarray, np.ndarray]:
        flow, vectors, root = self._weighted(self.gradient), self.basis.vectors, self.basis.root
        vectors = vectors if root is None else vectors / root[:, :, None]
        if self.backend == NUMPY:
            absolute, squared = edge_sums.stacked_difference_sums(flow, vectors, self.graphs)
        else:
            from spectrata.kernels import fused_rows

            absolute, squared = (to_numpy(sums) for sums in fused_rows.pair_sums(flow, vectors))
        absolute[self.basis.is_zero], squared[self.basis.is_zero] = 0.0, 0.0
        return absolute, squared


# ---- a stack of graphs


def can_stack(plan: Plan) -> bool:
    """Whether the plan's options and algorithms allow stacks; no ensemble has members that it lacks at hop 1."""
    return plan.dtype == "float64" and plan.n_eigs is None and all(row.stacks for row in [*plan.rows, *plan.needed(1)])


def transform(
    distances: np.ndarray,
    batch: Potential,
    hops: Sequence[int],
    plan: Plan,
    weights: np.ndarray | None = None,
    threads: int = 1,
    graphs: int = 0,
    backend: Backend = NUMPY,
) -> Iterator[tuple[np.ndarray, HopResult]]:
    """For every hop, which graphs of a stack reach it, and their results with a graph for each snapshot.

    ``weights`` are those of all pairs of nodes, ``(g, n, n)``; without them all edges have weight 1. ``backend`` is
    where eigenbases and sums over pairs of nodes are computed.
    """
    n = distances.shape[1]
    x, y = np.triu_indices(n, 1)
    edges = np.column_stack([x, y])
    lengths, apart = edge_sums.edge_lengths(batch.values, edges), distances[:, x, y]
    every = np.ones_like(lengths) if weights is None else weights[:, x, y]
    for hop in hops:
        rows = np.flatnonzero((apart == hop).any(axis=1))
        is_edge = apart[rows] == hop
        stratum = StackedStratum(hop, n, edges, np.where(is_edge, every[rows], 0.0))
        basis = decompose(stratum, plan.options.operator, threads, backend)
        own = Potential(batch.values[rows], batch.metric, batch.scale[rows], batch.undefined[rows])
        gradient = np.where(is_edge, lengths[rows], 0.0)
        # The engine uses of a hop what both kinds have.
        work: Any = StackedHop(stratum, basis, own.values, gradient, plan.seed, graphs, backend)
        yield rows, measured(work, own, plan)
