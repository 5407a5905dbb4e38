"""Laplacians as operators on blocks of columns: of one stratum in main memory, on an accelerator, or the caller's own.

Every operator gives ``C^-1/2 L C^-1/2 x`` for a block ``(n, c)``, with ``C`` the node measure of its Laplacian, and
the two halves of a Lanczos step; those of graphs also know the stratum's connected parts and the gradients of a
signal over its edges.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.core.hop import split_along
from spectrata.core.operators import COMBINATORIAL, Laplacian
from spectrata.errors import OptionError
from spectrata.kernels import searches, threads
from spectrata.kernels.backend import Backend, like, namespace, to_numpy

# Rows of one piece of work: sums over pieces are added in order, so their bits do not depend on threads.
PIECE = 2**13
# Below this many numbers read, a thread costs more than it saves.
THREADED_WORK = 2**17
# Blocks of this many nodes or more are stored in single precision, where bounds of this width or more are asked for:
# half as much memory is read. Sums are in double precision.
SINGLE_NODES = 2**17
SINGLE_TOL = 1e-3
Gradients = tuple[Any, Any, float]  # mean per node (n,), divergence per orientation (n, k), sum of w g^2


def storage(n: int, tol: float) -> str:
    """The precision in which the vectors of a recurrence on ``n`` nodes are stored, for bounds within ``tol``."""
    return "float32" if n >= SINGLE_NODES and tol >= SINGLE_TOL else "float64"


class Operator(ABC):
    """A symmetric positive semidefinite matrix known by its products with blocks, in plain array code."""

    n: int
    n_edges: int = -1  # -1 where not known
    laplacian: Laplacian = COMBINATORIAL
    measure: np.ndarray | None = None  # (n,) of every node; None where it is 1
    knows_parts: bool = True  # whether ``parts`` are all there is at eigenvalue 0

    @abstractmethod
    def times(self, x: Any) -> Any:
        """``C^-1/2 L C^-1/2 x`` for a block: ``(n, c) -> (n, c)``."""

    def asarray(self, x: Any) -> Any:
        """An array moved to where this operator works, rows contiguous."""
        return np.ascontiguousarray(x)

    def stored(self, block: Any, tol: float) -> Any:
        """A block in the precision that its recurrence needs for bounds within ``tol``."""
        return block

    def squares(self, block: Any) -> np.ndarray:
        """Squared norms of columns in double precision: ``(n, c) -> (c,)``."""
        return self.dots(block, block)

    @property
    def parts(self) -> np.ndarray | None:
        """Label of each node's connected part, ascending from 0, or None where that is not known."""
        return None

    def dots(self, x: Any, y: Any) -> np.ndarray:
        """``sum x y`` per column: ``(n, c), (n, c) -> (c,)``."""
        return to_numpy(namespace(x).sum(x * y, axis=0))

    @cached_property
    def part_sizes(self) -> np.ndarray:
        """Nodes of each connected part."""
        return np.bincount(self.parts) if self.parts is not None else np.zeros(0, dtype=np.int64)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Edges, connected parts and nodes without an edge; -1 where not known."""
        if not self.knows_parts:
            return self.n_edges, -1, -1
        return self.n_edges, len(self.part_sizes), int(np.count_nonzero(self.part_sizes == 1))

    def split(self, columns: Any, weighs: bool) -> tuple[Any, Any]:
        """Zero components of columns, one per connected part, and the rest: see ``core.hop.split_along``."""
        assert self.parts is not None
        return split_along(columns, self.parts, self.measure, weighs)

    def gradients(self, t: Any, keys: np.ndarray) -> Gradients:
        """Weighted mean gradient per node, ``B^T diag(w) g`` for each orientation of the edges, and ``sum w g^2``."""
        raise OptionError("An operator without edges supports only gft; pass algorithms='gft', or give the graph.")

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal, shape (n,)."""
        raise OptionError("apprx_ls needs the graph; an operator is not enough.")

    def step(self, x: Any, previous: Any, scale: np.ndarray, back: np.ndarray) -> np.ndarray:
        """``previous = scale times(x) - back previous`` in place; gives ``sum x previous`` per column."""
        previous *= like(-back, previous)
        previous += self.times(x) * like(scale, previous)
        return self.dots(x, previous)

    def subtract(self, x: Any, y: Any, factor: np.ndarray) -> np.ndarray:
        """``x -= factor y`` in place; gives ``sum x^2`` per column."""
        x -= y * like(factor, x)
        return self.dots(x, x)


class RowLaplacian(Operator):
    """The Laplacian of compressed rows in main memory, by compiled loops on a few threads.

    Rows have both directions of every edge, with ``weights`` beside ``indices``, all 1 without them.
    """

    def __init__(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        weights: np.ndarray | None = None,
        laplacian: Laplacian = COMBINATORIAL,
    ) -> None:
        self.n = len(indptr) - 1
        self.n_edges = len(indices) // 2
        self.weights, self.laplacian = weights, laplacian
        small = max(self.n, 1) < 2**31
        self.indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        self.indices = np.ascontiguousarray(indices, dtype=np.int32 if small else np.int64)
        self.pieces = [(a, min(a + PIECE, self.n)) for a in range(0, self.n, PIECE)]
        self._inverse_root = None
        if laplacian.has_measure:
            self.measure = laplacian.node_measure(self.degrees, np.diff(self.indptr))
            self._inverse_root = 1.0 / np.sqrt(self.measure)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Sum of the weights of each node's edges, shape (n,)."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        return self.matrix(self.weights) @ np.ones(self.n)

    @property
    def diagonal(self) -> np.ndarray:
        return self.degrees if self.measure is None else self.degrees / self.measure

    @property
    def off_diagonal(self) -> np.ndarray:
        """Entries ``w / sqrt(c(x) c(y))`` beside ``indices``: what is subtracted from the diagonal."""
        entries = np.ones(len(self.indices)) if self.weights is None else self.weights
        if self._inverse_root is None:
            return entries
        rows = np.repeat(self._inverse_root, np.diff(self.indptr))
        return entries * rows * self._inverse_root[self.indices]

    @cached_property
    def parts(self) -> np.ndarray:
        return searches.part_labels(self.indptr, self.indices)

    def stored(self, block: np.ndarray, tol: float) -> np.ndarray:
        return np.ascontiguousarray(block, dtype=storage(self.n, tol))

    def squares(self, block: np.ndarray) -> np.ndarray:
        return np.sum(np.square(block, dtype=np.float64), axis=0)

    def matrix(self, entries: np.ndarray) -> Any:
        """A scipy matrix of entries beside ``indices``."""
        from scipy.sparse import csr_array

        return csr_array((entries, self.indices, self.indptr), shape=(self.n, self.n))

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
        """The arrays by which the compiled loops know a matrix."""
        return self.indptr, self.indices, self.weights, self._inverse_root

    def times(self, x: np.ndarray) -> np.ndarray:
        from spectrata.bands import compiled

        out, dots = np.empty_like(x), np.zeros((len(self.pieces), x.shape[1]))
        self.spread(x, lambda i, a, b: compiled.step(*self.rows, a, b, x, out, None, None, dots[i]))
        return out

    def step(self, x: np.ndarray, previous: np.ndarray, scale: np.ndarray, back: np.ndarray) -> np.ndarray:
        from spectrata.bands import compiled

        dots = np.zeros((len(self.pieces), x.shape[1]))
        self.spread(x, lambda i, a, b: compiled.step(*self.rows, a, b, x, previous, scale, back, dots[i]))
        return dots.sum(axis=0)

    def subtract(self, x: np.ndarray, y: np.ndarray, factor: np.ndarray) -> np.ndarray:
        from spectrata.bands import compiled

        squares = np.zeros((len(self.pieces), x.shape[1]))
        self.spread(x, lambda i, a, b: compiled.subtract(a, b, x, y, factor, squares[i]))
        return squares.sum(axis=0)

    def gradients(self, t: np.ndarray, keys: np.ndarray) -> Gradients:
        from spectrata.bands import compiled

        mean, divergence = np.zeros(self.n), np.zeros((self.n, len(keys)))
        squares = np.zeros(len(self.pieces))
        names = np.arange(self.n)

        def work(i: int, a: int, b: int) -> None:
            squares[i] = compiled.gradients(*self.rows[:3], a, b, names, t, keys, mean, divergence)

        self.spread(t, work)
        return mean, divergence, float(squares.sum()) / 2

    def spread(self, x: np.ndarray, work: Callable[[int, int, int], object]) -> None:
        """Do a piece of rows at a time, on threads when there is enough of it."""
        if len(self.pieces) == 1 or (len(self.indices) + self.n) * x.shape[1] < THREADED_WORK:
            for i, (a, b) in enumerate(self.pieces):
                work(i, a, b)
        else:
            threads.spread(lambda i: work(i, *self.pieces[i]), range(len(self.pieces)))


class ArrayLaplacian(RowLaplacian):
    """The same on an accelerator, by torch's sparse product; gradients are taken in main memory."""

    def __init__(self, *rows: Any, backend: Backend) -> None:
        super().__init__(*rows)
        self.backend = backend
        self._diagonal = backend.asarray(self.diagonal)[:, None]
        self._off_diagonal = backend.sparse_rows(self.indptr, self.indices, self.off_diagonal, self.n)

    def asarray(self, x: np.ndarray) -> Any:
        return self.backend.asarray(np.ascontiguousarray(x))

    def times(self, x: Any) -> Any:
        return self._diagonal * x - self._off_diagonal @ x

    def gradients(self, t: Any, keys: np.ndarray) -> Gradients:
        mean, divergence, squares = super().gradients(to_numpy(t), keys)
        return self.asarray(mean), self.asarray(divergence), squares

    stored = Operator.stored
    squares = Operator.squares
    step = Operator.step
    subtract = Operator.subtract


class ForeignOperator(Operator):
    """A ``scipy.sparse.linalg.LinearOperator`` of the caller's, in main memory.

    What a graph's operator knows besides (``parts``, ``gradients``, ``degrees``) is taken from it where it has it.
    """

    def __init__(self, given: Any) -> None:
        if given.shape[0] != given.shape[1]:
            raise OptionError(f"The operator has shape {given.shape}; a Laplacian is square.")
        self.given, self.n = given, given.shape[0]
        self.n_edges = getattr(given, "n_edges", -1)
        self.knows_parts = hasattr(given, "parts")

    def times(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.given.matmat(x), dtype=np.float64)

    @cached_property
    def parts(self) -> np.ndarray | None:
        if hasattr(self.given, "parts"):
            return np.asarray(self.given.parts)
        # A connected Laplacian sends constants to 0; of more parts the operator says nothing.
        ones = np.ones((self.n, 1))
        size = np.abs(self.times(np.random.default_rng(0).standard_normal((self.n, 1)))).max()
        return np.zeros(self.n, dtype=np.int64) if np.abs(self.times(ones)).max() <= 1e-12 * size else None

    def gradients(self, t: np.ndarray, keys: np.ndarray) -> Gradients:
        if not hasattr(self.given, "gradients"):
            return super().gradients(t, keys)
        return self.given.gradients(t, keys)

    @property
    def diagonal(self) -> np.ndarray:
        return np.asarray(self.given.degrees, float) if hasattr(self.given, "degrees") else super().diagonal


def is_operator(given: Any) -> bool:
    """Whether this is a linear operator rather than a graph."""
    from scipy.sparse.linalg import LinearOperator

    return isinstance(given, LinearOperator | Operator)
