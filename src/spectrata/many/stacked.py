"""Many small graphs at once: strata, eigenbases and algorithms of graphs of one size as stacked arrays.

A graph of thirty nodes is all overhead; stacked, hundreds of them are a few calls. ``StackedHop`` has what the
algorithms use of ``core.hop.Hop``, a graph standing where elsewhere a snapshot does, so that the functions of
``core.algorithms`` run on it as they are. Edges are columns: every pair of nodes has one, with weight 0 where a graph
lacks the edge. Values equal those of ``spectra`` on each graph; inside repeated eigenvalues, where the split over
components is arbitrary, it may be another one.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import cast

import numpy as np

from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, off_zero_values, spaces_of
from spectrata.core.bases.solve import RESIDUAL_TOLERANCE
from spectrata.core.engine import hop_result, measured
from spectrata.core.hop import Hop, split_at_zero
from spectrata.core.operators import Operator
from spectrata.core.plan import Plan
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError
from spectrata.inputs.graphs import Graph
from spectrata.inputs.signals import Potential
from spectrata.kernels import fast
from spectrata.results.build import Axis, HopResult

MAX_NODES = 512  # from here on a graph is worth a call of its own
STACK_NUMBERS = 2**21  # of one (g, n, n) array: 16 MB
UNREACHED = np.iinfo(np.uint16).max
PROBES = 4  # random combinations of eigenvectors that estimate a residual
Hops = int | list[int] | None  # as ``core.strata.asked_hops`` gives them


# ---- strata


def hop_distances(graphs: Sequence[Graph], hops: Hops = None) -> np.ndarray:
    """Hop distances of graphs of one size, as far as ``hops`` asks: ``(g, n, n)``, ``UNREACHED`` beyond."""
    n = graphs[0].n_nodes
    most = UNREACHED - 1 if hops is None else max(hops) if isinstance(hops, list) else hops
    joined = np.zeros((len(graphs), n, n), dtype=bool)
    for own, graph in zip(joined, graphs, strict=True):
        x, y = graph.edges.T
        own[x, y] = own[y, x] = True
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
            both = fast.both_directions(graph.indptr, graph.indices, graph.weights)
            own[:] = fast.path_weights(graph.indptr, graph.indices, both, apart, rule == "product")
    return found


def reached_hops(distances: np.ndarray, hops: Hops) -> list[int]:
    """The hops asked for that at least one graph reaches, ascending."""
    largest = int(np.max(distances, where=distances < UNREACHED, initial=0))
    return [hop for hop in hops if hop <= largest] if isinstance(hops, list) else list(range(1, largest + 1))


@dataclass(frozen=True, eq=False)
class StackedStratum:
    """One hop of ``g`` graphs of ``n`` nodes, each with an edge at least.

    Attributes
    ----------
    hop, n_nodes : int
    pairs : ndarray of int64, shape (m, 2)
        All pairs ``x < y`` in lexicographic order: the edges that a graph may have.
    weights : ndarray of float64, shape (g, m)
        One weight per edge; 0 where a graph has no such edge.
    """

    hop: int
    n_nodes: int
    pairs: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def union(self) -> Stratum:
        """All of them as one graph on ``g n`` nodes, one after the other."""
        graph, pair = np.nonzero(self.weights)
        edges = self.pairs[pair] + (graph * self.n_nodes)[:, None]
        return Stratum(self.hop, len(self) * self.n_nodes, edges, self.weights[graph, pair])

    def per_node(self, values: np.ndarray) -> np.ndarray:
        """Values on the nodes of the union, ``(g n, ...) -> (g, n, ...)``."""
        return values.reshape(len(self), self.n_nodes, *values.shape[1:])

    @cached_property
    def n_edges(self) -> np.ndarray:
        """Edges of each graph, shape (g,)."""
        return np.count_nonzero(self.weights, axis=1)

    @cached_property
    def n_parts(self) -> np.ndarray:
        """Connected parts of each graph, singletons included, shape (g,)."""
        ends = self.per_node(self.union.parts).max(axis=1)  # the union numbers parts by first appearance
        return np.diff(ends, prepend=-1)

    @property
    def n_singletons(self) -> np.ndarray:
        """Nodes of each graph without an edge, shape (g,)."""
        return np.sum(self.per_node(self.union.counts) == 0, axis=1)


# ---- eigenbases


@dataclass(frozen=True, eq=False)
class StackedBasis:
    """All eigencomponents of stacked strata; zero component ``k`` of a graph is the null vector of its part ``k``.

    Attributes
    ----------
    values : ndarray, shape (g, n)
        Eigenvalues, ascending.
    vectors : ndarray, shape (g, n, n)
        Orthonormal columns ``u_i``.
    is_zero : ndarray of bool, shape (g, n)
        Which components have eigenvalue 0, by structure.
    operator : Operator
    root : ndarray, shape (g, n), optional
        Square roots of the node measure; None where it is 1.
    """

    values: np.ndarray
    vectors: np.ndarray
    is_zero: np.ndarray
    operator: Operator
    root: np.ndarray | None

    @property
    def axis(self) -> Axis:
        """The components as a result labels them, with the graphs in front."""
        count, n = self.values.shape
        gap = EIGENSPACE_TOLERANCE["float64"] * self.values[:, -1:]
        spaces = spaces_of(self.values, self.is_zero, gap)
        apart = spaces + n * np.arange(count)[:, None]
        sizes = np.bincount(apart.ravel())[apart]
        return Axis(np.arange(n), self.values, spaces, sizes, self.is_zero, cast(bool, np.ones(count, bool)))


def decompose(stratum: StackedStratum, operator: Operator, threads: int = 1) -> StackedBasis:
    """Solve ``C^-1/2 L C^-1/2 = U diag(lam) U^T`` of every graph of a stack.

    As in ``core.bases.solve``, the null vectors are known by structure and moved past the spectrum before the solve,
    and the residual of every graph must be small.
    """
    n, parts = stratum.n_nodes, stratum.per_node(stratum.union.parts)
    measure = operator.measure(stratum.union)
    root = stratum.per_node(np.sqrt(measure))
    laplacians = _laplacians(stratum, root if operator.has_measure else None)
    sizes = np.bincount(stratum.union.parts, measure)
    null = root / np.sqrt(sizes)[parts]  # at each node, the unit null vector of its part
    inside = np.where(parts[:, :, None] == parts[:, None, :], null[:, :, None] * null[:, None, :], 0.0)
    shift = 3.0 * np.max(np.diagonal(laplacians, axis1=1, axis2=2), axis=1)
    values, vectors = _eigh(laplacians + shift[:, None, None] * inside, threads)
    zeros = stratum.n_parts[:, None]
    order = (np.arange(n) - zeros) % n  # the null vectors come to the front
    values = np.take_along_axis(values, order, axis=1)
    vectors = np.take_along_axis(vectors, order[:, None, :], axis=2)
    is_zero = np.arange(n) < zeros
    graph, column = np.nonzero(is_zero)  # one for each part, in the order of the parts
    values = np.where(is_zero, 0.0, off_zero_values(values, values[:, -1:]))
    vectors[graph, :, column] = np.where(parts[graph] == np.arange(len(graph))[:, None], null[graph], 0.0)
    _verify_residuals(stratum.hop, laplacians, values, vectors)
    return StackedBasis(values, vectors, is_zero, operator, root if operator.has_measure else None)


def _laplacians(stratum: StackedStratum, root: np.ndarray | None) -> np.ndarray:
    """``C^-1/2 L C^-1/2`` of every graph: ``(g, n, n)``."""
    n, (x, y) = stratum.n_nodes, stratum.pairs.T
    stack = np.zeros((len(stratum), n, n))
    stack[:, x, y] = stack[:, y, x] = -stratum.weights
    stack[:, range(n), range(n)] = stratum.per_node(stratum.union.degrees)
    return stack if root is None else stack / (root[:, :, None] * root[:, None, :])


def _eigh(stack: np.ndarray, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of a stack, each thread with a run of it."""
    if threads == 1 or len(stack) == 1:
        return np.linalg.eigh(stack)
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(np.linalg.eigh, np.array_split(stack, min(len(stack), threads))))
    return np.concatenate([values for values, _ in found]), np.concatenate([vectors for _, vectors in found])


def _verify_residuals(hop: int, laplacians: np.ndarray, values: np.ndarray, vectors: np.ndarray) -> None:
    """Refuse a stack with a graph whose ``norm(L U - U lam) / (n norm(L))`` is not small; see ``core.bases.solve``."""
    n, limit = values.shape[1], RESIDUAL_TOLERANCE["float64"]
    z = np.random.default_rng(0).standard_normal((n, PROBES))
    missed = laplacians @ (vectors @ z) - vectors @ (values[:, :, None] * z)
    residual = np.sqrt(np.mean(np.sum(missed**2, axis=1), axis=1)) / (n * values[:, -1])
    if not (residual <= limit).all():
        worst = np.max(np.where(np.isnan(residual), np.inf, residual))
        raise SolverError(
            f"The eigenbasis at hop {hop} has residual {worst:.1e} (relative, at most {limit:.0e} is accepted); "
            "please report this graph."
        )


# ---- what algorithms are given


@dataclass(frozen=True, eq=False)
class StackedHop:
    """One hop of stacked graphs with a signal on each: what the algorithms use of ``core.hop.Hop``.

    Attributes
    ----------
    stratum, basis
        The graphs at this hop and their eigencomponents.
    potential : ndarray, shape (g, n, d)
        The signals whose plain differences have the length of the gradient.
    lengths : ndarray, shape (g, m)
        Lengths of the differences over all pairs of nodes.
    seed : int
    diagnose : bool
        Whether extras are wanted.
    graphs : int
        Graphs of the whole run, of which these are some.
    """

    stratum: StackedStratum
    basis: StackedBasis
    potential: np.ndarray
    lengths: np.ndarray
    seed: int = 0
    diagnose: bool = False
    graphs: int = 0
    is_whole = True

    @property
    def xp(self) -> ModuleType:
        """The namespace of the arrays."""
        return np

    @property
    def n_nodes(self) -> int:
        """Nodes of each graph."""
        return self.stratum.n_nodes

    @cached_property
    def gradient(self) -> np.ndarray:
        """Definition 2, one number per pair, 0 where there is no edge: ``(g, m)``."""
        return np.where(self.stratum.weights > 0, self.lengths, 0.0)

    @cached_property
    def total_weight(self) -> np.ndarray:
        """``sum_e w`` of each graph, shape (g,)."""
        return self.stratum.weights.sum(axis=1)

    def project(self, signals: np.ndarray) -> np.ndarray:
        """``phi_i^T C s`` (``u_i^T s`` for the normalised Laplacian): ``(g, n, d) -> (g, components, d)``."""
        columns = signals.reshape(-1, signals.shape[2])
        zero, rest = split_at_zero(self.stratum.union, self.basis.operator, columns)
        found = np.swapaxes(self.basis.vectors, 1, 2) @ self.stratum.per_node(rest)
        found[self.basis.is_zero] = zero
        return found

    def node_means(self) -> np.ndarray:
        """The weighted mean gradient over each node's edges, 0 without an edge: ``(g, n)``."""
        degrees = self.stratum.per_node(self.stratum.union.degrees)
        sums = fast.node_sums(self.stratum.pairs, self._flow, self.n_nodes)
        return sums / np.where(degrees > 0, degrees, 1.0)

    def oriented_gradient(self, orientation: str) -> np.ndarray:
        """Gradients with a sign for the direction of each edge, the signs that ``Hop`` draws for each graph."""
        if orientation == "index":
            return self.gradient
        drawn = [
            np.random.default_rng([self.seed, self.stratum.hop, 1]).choice([-1.0, 1.0], size=edges)
            for edges in self.stratum.n_edges
        ]
        signs = np.zeros_like(self.gradient)
        signs[self.stratum.weights > 0] = np.concatenate(drawn)
        return self.gradient * signs

    def project_divergence(self, flow: np.ndarray) -> np.ndarray:
        """``phi_i^T B^T diag(w) flow``: ``(g, m) -> (g, components)``."""
        source = fast.divergence(self.stratum.pairs, self.stratum.weights * flow, self.n_nodes)
        return (self._over_root(source)[:, None] @ self.basis.vectors)[:, 0]

    def misfit(self, coefficients: np.ndarray, flow: np.ndarray) -> np.ndarray:
        """``B f - flow`` on the edges for ``f = sum_i coefficients_i phi_i``: ``(g, n), (g, m) -> (g, m)``."""
        f = self._over_root((self.basis.vectors @ coefficients[:, :, None])[:, :, 0])
        x, y = self.stratum.pairs.T
        return np.where(self.stratum.weights > 0, f[:, x] - f[:, y] - flow, 0.0)

    def edge_sum(self, values: np.ndarray) -> np.ndarray:
        """``sum_e w values``: ``(g, m) -> (g,)``."""
        return np.sum(self.stratum.weights * values, axis=1)

    def edge_norm(self, values: np.ndarray) -> np.ndarray:
        """``sqrt(sum_e w values^2)``: ``(g, m) -> (g,)``."""
        return np.sqrt(self.edge_sum(values * values))

    def over_eigenvalues(self, sums: np.ndarray, power: float = 1.0, at_zero: float = 0.0) -> np.ndarray:
        """``sums / lam^power``, and ``at_zero`` at zero components: ``(g, components)`` to the same."""
        scale = np.full(self.basis.values.shape, at_zero)
        np.divide(1.0, self.basis.values**power, out=scale, where=~self.basis.is_zero)
        return sums * scale

    def at_zero(self, values: np.ndarray) -> np.ndarray:
        """One value per graph at every zero component, 0 elsewhere: ``(g,) -> (g, components)``."""
        return values[:, None] * self.basis.is_zero

    def energy_on_edges(self, magnitude: np.ndarray) -> np.ndarray:
        """``sum_i lam_i magnitude_i^2``: ``(g, components) -> (g,)``."""
        return np.sum(magnitude**2 * self.basis.values, axis=1)

    @cached_property
    def difference_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """``sum_e w g abs(phi_i(x) - phi_i(y))`` and ``sum_e (w g)^2 (phi_i(x) - phi_i(y))^2``, in one pass.

        Each ``(g, components)``, 0 at zero components.
        """
        root = self.basis.root
        vectors = self.basis.vectors if root is None else self.basis.vectors / root[:, :, None]
        absolute, squared = fast.stacked_difference_sums(self._flow, vectors, self.graphs)
        absolute[self.basis.is_zero], squared[self.basis.is_zero] = 0.0, 0.0
        return absolute, squared

    @cached_property
    def _flow(self) -> np.ndarray:
        return self.stratum.weights * self.gradient

    def _over_root(self, values: np.ndarray) -> np.ndarray:
        return values if self.basis.root is None else values / self.basis.root


# ---- a stack of graphs


def can_stack(plan: Plan, hops: Sequence[int]) -> bool:
    """Whether the plan's algorithms at these hops, and its options, allow stacks."""
    rows = [*plan.rows, *(row for hop in hops for row in plan.needed(hop))]
    return plan.dtype == "float64" and plan.n_eigs is None and all(row.stacks for row in rows)


def transform(
    distances: np.ndarray,
    batch: Potential,
    hops: Sequence[int],
    plan: Plan,
    *,
    weights: np.ndarray | None = None,
    threads: int = 1,
    graphs: int = 0,
) -> Iterator[tuple[np.ndarray, HopResult]]:
    """For every hop, which graphs of a stack reach it, and their results with a graph for each snapshot.

    ``weights`` are those of all pairs of nodes, ``(g, n, n)``; without them all edges have weight 1.
    """
    plan.check(hops)
    n = distances.shape[1]
    pairs = np.column_stack(np.triu_indices(n, 1))
    lengths = fast.edge_lengths(batch.values, pairs)
    apart = distances[:, pairs[:, 0], pairs[:, 1]]
    every = np.ones((1, 1)) if weights is None else weights[:, pairs[:, 0], pairs[:, 1]]
    every = np.broadcast_to(every, apart.shape)
    for hop in hops:
        rows = np.flatnonzero((apart == hop).any(axis=1))
        stratum = StackedStratum(hop, n, pairs, np.where(apart[rows] == hop, every[rows], 0.0))
        basis = decompose(stratum, plan.options.operator, threads)
        own = Potential(batch.values[rows], batch.metric, batch.scale[rows], batch.undefined[rows])
        work = StackedHop(stratum, basis, own.values, lengths[rows], plan.seed, plan.diagnose, graphs)
        # The engine uses of a hop what both kinds have.
        yield rows, hop_result(measured(cast(Hop, work), own, plan), plan)
