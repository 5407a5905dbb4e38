"""Split a signal by frequency at the nodes of one stratum: by eigenvectors, or by products with the Laplacian.

Both work on columns ``C^1/2 s`` (``s`` for "combinatorial" and "normalized") without their components at eigenvalue
0, which sums over connected parts give exactly.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from spectrata.bands.edges import Spectrum
from spectrata.bands.filters import Filtered, filter_bands, filter_response
from spectrata.bands.measure import ROUNDING, Probes
from spectrata.bands.one_hop import MAX_COLUMNS
from spectrata.bands.operators import Operator
from spectrata.bands.spectra import hop_operators
from spectrata.core.bases.basis import EigenBasis, spaces_of, sum_rounding
from spectrata.core.hop import OK, split_along
from spectrata.core.operators import Laplacian
from spectrata.core.resources import gib, require_memory, solve_bytes
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError
from spectrata.inputs.numbers import flag, positive, whole
from spectrata.kernels.backend import NUMPY
from spectrata.stats.verbs.reading import stratify

DENSE_NODES = 2000  # up to which eigenvectors are computed unasked: a solve of that size takes seconds
Response = Callable[[np.ndarray], np.ndarray]
Precision = tuple[float, int | None]  # largest error as a share of the norm, and the degree of polynomials


class _AtNodes:
    """One stratum on which signals are split by frequency; ``spectrum`` has its eigenvalues off zero."""

    def __init__(self, operator: Laplacian, parts: np.ndarray, measure: np.ndarray | None) -> None:
        self.operator, self.parts, self.measure = operator, parts, measure
        self.root = np.ones(1) if measure is None else np.sqrt(measure)[:, None]  # (1,) or (n, 1)

    def split(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split columns into their zero components at the nodes and the rest, both as ``C^1/2 s``: ``(n, p)`` twice."""
        along, rest = split_along(columns, self.parts, self.measure, self.operator.weighs_signals)
        zero = (along / np.sqrt(np.bincount(self.parts, self.measure))[:, None])[self.parts]
        energy, left = np.sum(along**2, axis=0), np.sum(rest**2, axis=0)
        rest = np.where(left <= ROUNDING**2 * (energy + left), 0.0, rest)
        return zero * self.root, rest


class ByEigenvectors(_AtNodes):
    """By the whole eigenbasis; eigenvalues that their error bounds do not tell apart stay together."""

    def __init__(self, strat: Stratification, hop: int, operator: Laplacian, tol: float) -> None:
        stratum, self.tol = strat.strata.at(hop), tol
        super().__init__(operator, stratum.parts, operator.measure(stratum) if operator.has_measure else None)
        basis: EigenBasis = strat.basis(hop)
        measured = basis.column_residual
        if measured is None:
            measured = np.where(basis.is_zero, 0.0, sum_rounding(basis.n) * basis.norm)
        # Bounds on the error of each eigenvalue, by the norm of its residual; which cannot be told apart; their means.
        self.basis, self.rounding = basis, measured + np.finfo(float).eps * np.abs(basis.values)  # (n,), as below
        self.spaces = spaces_of(basis.values, basis.is_zero, self.rounding[1:] + self.rounding[:-1])
        self.values = (np.bincount(self.spaces, basis.values) / np.bincount(self.spaces))[self.spaces]

    @property
    def spectrum(self) -> Spectrum:
        return Spectrum.of(self.basis.values[~self.basis.is_zero])

    def in_bands(self, rest: np.ndarray, edges: np.ndarray) -> Filtered:
        """Parts at or below the first edge, between edges, and above the last: ``(n, p) -> (e + 1, n, p)``."""
        near = np.zeros(int(self.spaces[-1]) + 1)
        np.maximum.at(near, self.spaces, self.rounding)
        # An eigenvalue within its own error of an edge lies on it, except at 0, where structure decides.
        above = self.values[:, None] > edges + np.where(edges > 0.0, near[self.spaces][:, None], 0.0)
        return self._gained(rest, above.sum(axis=1) == np.arange(len(edges) + 1)[:, None])

    def responded(self, rest: np.ndarray, response: Response) -> Filtered:
        """Columns after a filter: ``(n, p) -> (1, n, p)``."""
        low, gain, high = (response(np.maximum(self.values + k * self.rounding, 0.0)) for k in (-1, 0, 1))
        off = ~self.basis.is_zero
        return self._gained(rest, gain[None], float(np.max(np.abs(high - low)[off], initial=0.0)))

    def _gained(self, rest: np.ndarray, gains: np.ndarray, moved: float = 0.0) -> Filtered:
        """Columns with each component multiplied by its gain; gains may be wrong by ``moved`` each."""
        found = self.basis.project(rest)
        kept = np.where(self.basis.is_zero, 0.0, gains)
        values = np.stack([self.basis.rebuild(found * gain[:, None]) for gain in kept])
        share = self._error_share(gains.astype(float)) + moved
        over = share > self.tol * np.maximum(np.max(np.abs(gains), axis=1), moved)
        status = f"eigenvalues too close to tell apart: errors up to {share.max():.3f}" if over.any() else OK
        return Filtered(values, share[:, None] * np.sqrt(np.sum(rest**2, axis=0)), 0, status)

    def _error_share(self, gains: np.ndarray) -> np.ndarray:
        r"""Bound :math:`\|f(\hat L) - f(L)\|` for the gains ``f`` of each filter, ``(f, n) -> (f,)``.

        The computed eigenpairs are those of a matrix within :math:`\|R\|_F` of the Laplacian, with the residuals
        :math:`R`. Entries of the difference are divided differences of f times those of the matrices, so that the
        largest slope of f between neighbouring eigenvalues bounds it. No filter is off by more than its range.
        """
        basis = self.basis
        off = ~basis.is_zero
        values, error, gains = self.values[off], self.rounding[off], gains[:, off]
        if not off.any():
            return np.zeros(len(gains))
        gap, step = np.diff(values) - error[1:] - error[:-1], np.abs(np.diff(gains, axis=1))
        slopes = np.divide(step, gap, out=np.where(step > 0, np.inf, 0.0), where=gap > 0)
        turned = slopes.max(axis=1, initial=0.0) * np.linalg.norm(error)
        gram = sum_rounding(basis.n) + (0.0 if basis.column_gram is None else float(np.linalg.norm(basis.column_gram)))
        return np.minimum(turned, np.ptp(gains, axis=1)) + gram * np.max(np.abs(gains), axis=1)


class ByProducts(_AtNodes):
    """By polynomials of the Laplacian, for graphs too large to decompose; as :class:`ByEigenvectors`."""

    def __init__(self, rows: Operator, precision: Precision, seed: int) -> None:
        assert rows.parts is not None
        super().__init__(rows.laplacian, rows.parts, rows.measure)
        self.rows, self.precision, self.seed = rows, precision, seed

    @property
    def spectrum(self) -> Spectrum:
        return Probes(self.rows, self.seed).spectrum()

    def in_bands(self, rest: np.ndarray, edges: np.ndarray) -> Filtered:
        return _in_pieces(rest, lambda piece: filter_bands(self.rows, piece, edges, *self.precision))

    def responded(self, rest: np.ndarray, response: Response) -> Filtered:
        return _in_pieces(rest, lambda piece: filter_response(self.rows, piece, response, *self.precision))


HopFrequencies = ByEigenvectors | ByProducts


def _in_pieces(rest: np.ndarray, work: Callable[[np.ndarray], Filtered]) -> Filtered:
    """Filter a few columns at a time, so that memory does not grow with their number twice."""
    starts = range(0, rest.shape[1], MAX_COLUMNS)
    pieces = [work(np.ascontiguousarray(rest[:, a : a + MAX_COLUMNS])) for a in starts]
    values = np.concatenate([piece.values for piece in pieces], axis=2)
    error = np.concatenate([piece.error for piece in pieces], axis=1)
    status = next((piece.status for piece in pieces if piece.status != OK), OK)
    return Filtered(values, error, max(piece.degree for piece in pieces), status)


def stratified(
    graph: Any, hops: Any, weights: Any, exact: bool | None, tol: Any, steps: Any, seed: int = 0
) -> tuple[Stratification, bool, Iterator[HopFrequencies]]:
    """Read a graph in any form, decide whether it is decomposed, and make its hops ready to split signals, in turn."""
    if positive(tol, "tol") >= 1.0:
        raise OptionError(f"tol={tol!r} is a share of the signal's norm, between 0 and 1.")
    precision = float(tol), None if steps == "auto" else whole(steps, "steps")  # None: the error decides the degree
    if isinstance(graph, Stratification):
        strat = stratify(graph, hops, weights)
    else:
        strat = Stratification(graph, hops, weights=weights, max_basis_bytes=0)
    n, operator = strat.graph.n_nodes, strat.computing.operator()
    exact = n <= DENSE_NODES if exact is None else flag(exact, "exact")
    if exact:
        words = "use exact=False, which needs no decomposition"
        require_memory(solve_bytes(n), f"A full decomposition of {n:,} nodes", words)

    def at(hop: int) -> HopFrequencies:
        if exact:
            return ByEigenvectors(strat, hop, operator, precision[0])
        (_, rows), *_ = hop_operators(strat.graph, [hop], strat.strata.hop_weights, operator, NUMPY)
        return ByProducts(rows, precision, seed)

    return strat, exact, map(at, strat.hops)


def require_room(n: int, columns: int, filters: int) -> None:
    """Refuse blocks of columns that do not fit in memory."""
    needed = 8 * n * ((filters + 5) * min(columns, MAX_COLUMNS) + filters * columns)
    require_memory(needed, f"Filters on {n:,} nodes ({gib(needed)})", "use a signal with fewer columns")
