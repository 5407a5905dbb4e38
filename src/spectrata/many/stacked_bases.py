"""Strata and eigenbases of many small graphs of one size, as stacked arrays."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, off_zero_values, spaces_of, unresolved_values
from spectrata.core.bases.verify import verify_stack
from spectrata.core.operators import Laplacian
from spectrata.core.strata import Stratum
from spectrata.errors import SolverError
from spectrata.kernels.backend import NUMPY, Backend
from spectrata.results.build import Axis

# A GPU rotates the matrices of a stack by Jacobi's algorithm, one block of threads each: 5,000 of 48 nodes took 0.013 s
# on an H200, and 3 s one after the other. Few or larger ones are faster on the processor.
LEAST_STACK, BATCHED_NODES = 8, 64
# Cubes of sizes added up from which on threads are worth their start: about 10 ms of work against 0.2 ms.
THREADED = 2**23


@dataclass(frozen=True, eq=False)
class StackedStratum:
    """One hop of ``g`` graphs of ``n`` nodes, each with an edge at least; numbers of each graph have shape (g,)."""

    hop: int
    n_nodes: int
    edges: np.ndarray  # (m, 2), all pairs x < y in lexicographic order: those that a graph may have
    weights: np.ndarray  # (g, m), 0 where a graph has no such edge

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def union(self) -> Stratum:
        """All of them as one graph on ``g n`` nodes, one after the other."""
        graph, pair = np.nonzero(self.weights)
        edges = self.edges[pair] + (graph * self.n_nodes)[:, None]
        return Stratum(self.hop, len(self) * self.n_nodes, edges, self.weights[graph, pair])

    def per_node(self, values: np.ndarray) -> np.ndarray:
        """Values on the nodes of the union, ``(g n, ...) -> (g, n, ...)``."""
        return values.reshape(len(self), self.n_nodes, *values.shape[1:])

    @cached_property
    def n_edges(self) -> np.ndarray:
        return np.count_nonzero(self.weights, axis=1)

    @cached_property
    def n_parts(self) -> np.ndarray:
        ends = self.per_node(self.union.parts).max(axis=1)  # the union numbers parts by first appearance
        return np.diff(ends, prepend=-1)

    @property
    def n_singletons(self) -> np.ndarray:
        return np.sum(self.degrees == 0, axis=1)

    @cached_property
    def degrees(self) -> np.ndarray:
        return self.per_node(self.union.degrees)

    @property
    def total_weight(self) -> np.ndarray:
        return self.weights.sum(axis=1)


# ---- eigenbases


@dataclass(frozen=True, eq=False)
class StackedBasis:
    """All eigencomponents of stacked strata; zero component ``k`` of a graph is the null vector of its part ``k``."""

    values: np.ndarray  # (g, n) eigenvalues, ascending
    vectors: np.ndarray  # (g, n, n) orthonormal columns u_i
    is_zero: np.ndarray  # (g, n), which components have eigenvalue 0, by structure
    operator: Laplacian
    root: np.ndarray | None  # (g, n) square roots of the node measure; None where it is 1
    column_residual: np.ndarray  # (g, n), as of ``core.bases.basis.EigenBasis``
    column_gram: np.ndarray
    dtype, is_whole = "float64", True

    @property
    def n_nodes(self) -> int:
        return self.values.shape[1]

    @cached_property
    def eigenspace(self) -> np.ndarray:
        """Index of each component's eigenspace in its graph, shape (g, n)."""
        return spaces_of(self.values, self.is_zero, EIGENSPACE_TOLERANCE[self.dtype] * self.values[:, -1:])

    @cached_property
    def unresolved(self) -> np.ndarray:
        """As of ``core.bases.basis.EigenBasis``, shape (g, n)."""
        return unresolved_values(self.values, self.column_residual, self.is_zero, self.eigenspace)

    @property
    def axis(self) -> Axis:
        """The components as a result labels them, with the graphs in front."""
        count, n = self.values.shape
        apart = self.eigenspace + n * np.arange(count)[:, None]
        sizes = np.bincount(apart.ravel())[apart]
        return Axis(np.arange(n), self.values, self.eigenspace, sizes, self.is_zero, np.ones(count, bool))


def decompose(stratum: StackedStratum, operator: Laplacian, threads: int = 1, backend: Backend = NUMPY) -> StackedBasis:
    """Solve ``C^-1/2 L C^-1/2 = U diag(lam) U^T`` of every graph of a stack.

    As in ``core.bases.solve``, the null vectors are known by structure and moved past the spectrum before the solve,
    and the residual of every graph must be small. A stack that a GPU's solver leaves with a larger one is solved again
    on the processor.
    """
    n, parts, (x, y) = stratum.n_nodes, stratum.per_node(stratum.union.parts), stratum.edges.T
    measure = operator.measure(stratum.union)
    root = stratum.per_node(np.sqrt(measure))
    laplacians = np.zeros((len(stratum), n, n))
    laplacians[:, x, y] = laplacians[:, y, x] = -stratum.weights
    laplacians[:, range(n), range(n)] = stratum.degrees
    if operator.has_measure:
        laplacians /= root[:, :, None] * root[:, None, :]
    sizes = np.bincount(stratum.union.parts, measure)
    null = root / np.sqrt(sizes)[parts]  # at each node, the unit null vector of its part
    inside = np.where(parts[:, :, None] == parts[:, None, :], null[:, :, None] * null[:, None, :], 0.0)
    shift = 3.0 * np.max(np.diagonal(laplacians, axis1=1, axis2=2), axis=1)
    values, vectors = _eigh(laplacians + shift[:, None, None] * inside, threads, backend)
    zeros = stratum.n_parts[:, None]
    order = (np.arange(n) - zeros) % n  # the null vectors come to the front
    values = np.take_along_axis(values, order, axis=1)
    vectors = np.take_along_axis(vectors, order[:, None, :], axis=2)
    is_zero = np.arange(n) < zeros
    graph, column = np.nonzero(is_zero)  # one for each part, in the order of the parts
    values = np.where(is_zero, 0.0, off_zero_values(values, values[:, -1:]))
    vectors[graph, :, column] = np.where(parts[graph] == np.arange(len(graph))[:, None], null[graph], 0.0)
    try:
        measured = verify_stack(stratum.hop, laplacians, values, vectors)
    except SolverError:
        if backend == NUMPY:
            raise
        return decompose(stratum, operator, threads)
    return StackedBasis(values, vectors, is_zero, operator, root if operator.has_measure else None, *measured)


def _eigh(stack: np.ndarray, threads: int, backend: Backend) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of a stack: on a GPU all at once, on the processor each thread with a run of it."""
    if backend != NUMPY and len(stack) >= LEAST_STACK and stack.shape[1] <= BATCHED_NODES:
        import cupy

        values, vectors = cupy.linalg.eigh(cupy.asarray(stack))
        return cupy.asnumpy(values), cupy.asnumpy(vectors)
    if threads == 1 or len(stack) == 1 or len(stack) * stack.shape[1] ** 3 < THREADED:
        return np.linalg.eigh(stack)
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(np.linalg.eigh, np.array_split(stack, min(len(stack), threads))))
    return np.concatenate([values for values, _ in found]), np.concatenate([vectors for _, vectors in found])
