"""Split a signal by frequency at the nodes of one stratum: by eigenvectors, or by products with the Laplacian.

Both work on columns ``C^1/2 s`` (``s`` for "combinatorial" and "normalized") without their components at eigenvalue
0, which sums over connected parts give exactly.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from spectrata.bands.edges import Spectrum
from spectrata.bands.filters import Filtered, filter_bands, filter_response
from spectrata.bands.measure import ROUNDING, Probes
from spectrata.bands.one_hop import MAX_COLUMNS
from spectrata.bands.operators import Operator as RowOperator
from spectrata.bands.spectra import hop_operators
from spectrata.core.bases.basis import EigenBasis, spaces_of, sum_rounding
from spectrata.core.hop import OK, split_along
from spectrata.core.operators import COMBINATORIAL, Operator
from spectrata.core.resources import gib, require_memory, solve_bytes
from spectrata.core.strata import HOP_WEIGHTS
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.numbers import flag, positive, whole
from spectrata.kernels.backend import NUMPY
from spectrata.stats.verbs.hops import at_hops

DENSE_NODES = 2000  # up to which eigenvectors are computed unasked: a solve of that size takes seconds
Response = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Precision:
    """How exact products with the Laplacian must be."""

    tol: float = 0.1
    degree: int | None = None

    @classmethod
    def given(cls, tol: Any, steps: Any) -> "Precision":
        """Check the arguments ``tol`` and ``steps``."""
        if positive(tol, "tol") >= 1.0:
            raise OptionError(f"tol={tol!r} is a share of the signal's norm, between 0 and 1.")
        return cls(float(tol), None if steps == "auto" else whole(steps, "steps"))


class HopFrequencies(ABC):
    """One stratum on which signals are split by frequency."""

    hop: int
    operator: Operator
    parts: np.ndarray
    measure: np.ndarray | None

    @cached_property
    def root(self) -> np.ndarray | None:
        """Square roots of the node measure, ``(n, 1)``; None where it is 1."""
        return None if self.measure is None else np.sqrt(self.measure)[:, None]

    def split(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split columns into their zero components at the nodes and the rest, both as ``C^1/2 s``: ``(n, p)`` twice."""
        along, rest = split_along(columns, self.parts, self.measure, self.operator.weighs_signals)
        size = np.bincount(self.parts, self.measure)[:, None]
        zero = (along / np.sqrt(size))[self.parts]
        zero = zero if self.root is None else zero * self.root
        energy, left = np.sum(along**2, axis=0), np.sum(rest**2, axis=0)
        return zero, np.where(left <= ROUNDING**2 * (energy + left), 0.0, rest)

    def signal(self, columns: np.ndarray) -> np.ndarray:
        """Turn columns ``C^1/2 s`` into signals ``s``."""
        return columns / self.root if self.root is not None and self.operator.weighs_signals else columns

    @property
    @abstractmethod
    def spectrum(self) -> Spectrum:
        """The eigenvalues off zero, or an estimate of them."""

    @abstractmethod
    def in_bands(self, rest: np.ndarray, edges: np.ndarray) -> Filtered:
        """Parts at or below the first edge, between edges, and above the last: ``(n, p) -> (e + 1, n, p)``."""

    @abstractmethod
    def responded(self, rest: np.ndarray, response: Response) -> Filtered:
        """Columns after a filter: ``(n, p) -> (1, n, p)``."""


class ByEigenvectors(HopFrequencies):
    """By the whole eigenbasis; eigenvalues that their error bounds do not tell apart stay together."""

    def __init__(self, strat: Stratification, hop: int, operator: Operator, tol: float = 0.1) -> None:
        stratum = strat.strata.at(hop)
        self.hop, self.operator, self.parts, self.tol = hop, operator, stratum.parts, tol
        self.measure = operator.measure(stratum) if operator.has_measure else None
        self.basis: EigenBasis = strat.basis(hop, operator.laplacian, self_loops=operator.self_loops)

    @cached_property
    def rounding(self) -> np.ndarray:
        """Bounds on the error of each eigenvalue: the norm of its residual, ``(n,)``."""
        basis = self.basis
        measured = basis.column_residual
        if measured is None:
            measured = np.where(basis.is_zero, 0.0, sum_rounding(basis.n) * basis.norm)
        return measured + np.finfo(float).eps * np.abs(basis.values)

    @cached_property
    def spaces(self) -> np.ndarray:
        """Index of the eigenvalues that cannot be told apart, ``(n,)``."""
        return spaces_of(self.basis.values, self.basis.is_zero, self.rounding[1:] + self.rounding[:-1])

    @cached_property
    def values(self) -> np.ndarray:
        """The mean of the eigenvalues that cannot be told apart, ``(n,)``."""
        return (np.bincount(self.spaces, self.basis.values) / np.bincount(self.spaces))[self.spaces]

    @property
    def spectrum(self) -> Spectrum:
        return Spectrum.of(self.basis.values[~self.basis.is_zero])

    def in_bands(self, rest: np.ndarray, edges: np.ndarray) -> Filtered:
        near = np.zeros(int(self.spaces[-1]) + 1)
        np.maximum.at(near, self.spaces, self.rounding)
        # An eigenvalue within its own error of an edge lies on it, except at 0, where structure decides.
        above = self.values[:, None] > edges + np.where(edges > 0.0, near[self.spaces][:, None], 0.0)
        return self._gained(rest, above.sum(axis=1) == np.arange(len(edges) + 1)[:, None])

    def responded(self, rest: np.ndarray, response: Response) -> Filtered:
        low, gain, high = (response(np.maximum(self.values + k * self.rounding, 0.0)) for k in (-1, 0, 1))
        off = ~self.basis.is_zero
        return self._gained(rest, gain[None], float(np.max(np.abs(high - low)[off], initial=0.0)))

    def _gained(self, rest: np.ndarray, gains: np.ndarray, moved: float = 0.0) -> Filtered:
        """Columns with each component multiplied by its gain; gains may be wrong by ``moved`` each."""
        found = self.basis.project(rest)
        energy = np.sum(rest**2, axis=0)
        kept = np.where(self.basis.is_zero, 0.0, gains)
        values = np.stack([self.basis.rebuild(found * gain[:, None]) for gain in kept])
        size = np.sqrt(energy)
        share = self._error_share(gains.astype(float)) + moved
        over = share > self.tol * np.maximum(np.max(np.abs(gains), axis=1), moved)
        status = f"eigenvalues too close to tell apart: errors up to {share.max():.3f}" if over.any() else OK
        return Filtered(values, share[:, None] * size, 0, status)

    def _error_share(self, gains: np.ndarray) -> np.ndarray:
        r"""Bound :math:`\|f(\hat L) - f(L)\|` for the gains ``f`` of each filter, ``(f, n) -> (f,)``.

        The computed eigenpairs are those of a matrix within :math:`\|R\|_F` of the Laplacian, with the residuals
        :math:`R`. Entries of the difference are divided differences of f times those of the matrices, so that the
        largest slope of f between neighbouring eigenvalues bounds it. No filter is off by more than its range.
        """
        basis = self.basis
        off = ~basis.is_zero
        values, error, gains = self.values[off], self.rounding[off], gains[:, off]
        if gains.shape[1] == 0:
            return np.zeros(len(gains))
        gap = np.diff(values) - error[1:] - error[:-1]
        step = np.abs(np.diff(gains, axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(step > 0, np.where(gap > 0, step / gap, np.inf), 0.0).max(axis=1, initial=0.0)
            turned = np.where(slope > 0, slope * np.linalg.norm(error), 0.0)
        gram = sum_rounding(basis.n) + (0.0 if basis.column_gram is None else float(np.linalg.norm(basis.column_gram)))
        return np.minimum(turned, np.ptp(gains, axis=1)) + gram * np.max(np.abs(gains), axis=1)


class ByProducts(HopFrequencies):
    """By polynomials of the Laplacian, for graphs too large to decompose."""

    def __init__(self, hop: int, rows: RowOperator, precision: Precision, seed: int) -> None:
        assert rows.parts is not None
        self.hop, self.operator, self.rows = hop, rows.laplacian, rows
        self.parts, self.measure = rows.parts, rows.measure
        self.precision, self.seed = precision, seed

    @cached_property
    def spectrum(self) -> Spectrum:
        return Probes(self.rows, self.seed).spectrum()

    def in_bands(self, rest: np.ndarray, edges: np.ndarray) -> Filtered:
        tol, degree = self.precision.tol, self.precision.degree
        return _in_pieces(rest, lambda piece: filter_bands(self.rows, piece, edges, tol, degree))

    def responded(self, rest: np.ndarray, response: Response) -> Filtered:
        tol, degree = self.precision.tol, self.precision.degree
        return _in_pieces(rest, lambda piece: filter_response(self.rows, piece, response, tol, degree))


def _in_pieces(rest: np.ndarray, work: Callable[[np.ndarray], Filtered]) -> Filtered:
    """Filter a few columns at a time, so that memory does not grow with their number twice."""
    starts = range(0, rest.shape[1], MAX_COLUMNS)
    pieces = [work(np.ascontiguousarray(rest[:, a : a + MAX_COLUMNS])) for a in starts]
    bad = [piece for piece in pieces if piece.status != pieces[0].status]
    return Filtered(
        np.concatenate([piece.values for piece in pieces], axis=2),
        np.concatenate([piece.error for piece in pieces], axis=1),
        max(piece.degree for piece in pieces),
        bad[0].status if bad and pieces[0].status == "ok" else pieces[0].status,
    )


@dataclass(frozen=True, eq=False)
class Source:
    """A graph as it was given, and how its strata are taken apart."""

    graph: Graph
    weights: str  # the rule for pairs more than one hop apart; nothing where all weights are 1
    exact: bool
    strat: Stratification | None  # None for a graph that is not decomposed
    hop_weights: str
    hops: Any
    operator: Operator  # of the Stratification, combinatorial for a graph

    def each(self, operator: Operator, precision: Precision, seed: int = 0) -> Iterator[HopFrequencies]:
        """Yield every hop in turn."""
        if self.strat is not None and self.exact:
            for hop in self.strat.hops:
                yield ByEigenvectors(self.strat, hop, operator, precision.tol)
            return
        for hop, rows in hop_operators(self.graph, self.hops, self.hop_weights, operator, NUMPY):
            yield ByProducts(hop, rows, precision, seed)


def source(given: Any, hops: int | Iterable[int] | None, exact: bool | None, weights: Any = None) -> Source:
    """Read a graph in any form, or a stratification, and decide whether it is decomposed."""
    strat: Stratification | None = None
    rule, operator, wanted = HOP_WEIGHTS[0], COMBINATORIAL, hops
    if isinstance(given, Stratification):
        strat = at_hops(given, hops, weights)
        graph, rule, operator, wanted = strat.graph, strat.strata.hop_weights, strat.computing.operator(), strat.hops
    else:
        graph = as_graph(given, weights=weights)
    exact = graph.n_nodes <= DENSE_NODES if exact is None else flag(exact, "exact")
    if exact:
        n = graph.n_nodes
        words = "use exact=False, which needs no decomposition"
        require_memory(solve_bytes(n), f"A full decomposition of {n:,} nodes", words)
        strat = strat or Stratification(graph, hops, hop_weights=rule, max_basis_bytes=0)
    return Source(graph, rule if graph.weights is not None else "", exact, strat, rule, wanted, operator)


def require_room(graph: Graph, columns: int, filters: int) -> None:
    """Refuse blocks of columns that do not fit in memory."""
    width = min(columns, MAX_COLUMNS)
    needed = 8 * graph.n_nodes * ((filters + 5) * width + filters * columns)
    require_memory(needed, f"Filters on {graph.n_nodes:,} nodes ({gib(needed)})", "use a signal with fewer columns")
