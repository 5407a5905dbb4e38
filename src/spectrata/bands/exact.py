"""Band energies of small graphs from a whole decomposition: cheaper there than a recurrence, and exact."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.bands.edges import NEAR, reach
from spectrata.bands.measure import ROUNDING as ROUNDING_LEFT
from spectrata.bands.operators import ArrayLaplacian, ForeignOperator, Operator, RowLaplacian
from spectrata.bands.settings import Settings
from spectrata.core.algorithms.options import Options
from spectrata.core.bases.accuracy import make_accuracy
from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, off_zero_values, spaces_of, sum_rounding
from spectrata.core.bases.solve import decompose
from spectrata.core.bases.verify import verify_stack
from spectrata.core.checks import errors_of, verify_output
from spectrata.core.hop import Hop
from spectrata.core.registry import row_of
from spectrata.core.strata import Stratum
from spectrata.kernels.backend import to_numpy

# Up to this many nodes a decomposition takes about as long as a recurrence: 0.5 s on one core.
EXACT_NODES = 1500
# Eigenvalues of an operator below this share of its largest one are 0.
ZERO = 1e-10
# What rounding can move of a cumulative share.
ROUNDING = 1e-12
CHUNK_BYTES = 2**27  # gradients of so many bytes at a time when there are many snapshots


@dataclass(frozen=True, eq=False)
class Components:
    """All components of one hop: ``A`` algorithms, ``T`` snapshots, ``n`` components."""

    values: np.ndarray  # (n,) ascending
    is_zero: np.ndarray  # (n,)
    energy: np.ndarray  # (A, T, n)
    error: np.ndarray  # (A, T, n) bounds on the errors of magnitudes of eigenspaces, once for each
    squares: np.ndarray  # (T,) squared gradient norm

    def below(self, edges: np.ndarray) -> np.ndarray:
        """Energy off zero at or below each edge: ``(e,) -> (A, T, e)``."""
        off = np.where(self.is_zero, 0.0, self.energy)
        sums = np.concatenate([np.zeros((*off.shape[:2], 1)), np.cumsum(off, axis=2)], axis=2)
        return sums[..., self._count(edges, 1)]

    @property
    def uncertain(self) -> np.ndarray:
        """How far ``below`` may be off at any edge: rounding, and what eigenspaces took up of others, ``(A, T, 1)``.

        A length ``l`` that is off by ``d`` has a square that is off by at most ``2 l d + d^2``.
        """
        off = np.where(self.is_zero, 0.0, self.energy).sum(axis=2, keepdims=True)
        error = np.sqrt(np.sum(self.error**2, axis=2, keepdims=True))
        return ROUNDING * off + 2 * np.sqrt(off) * error + error**2

    def on(self, edges: np.ndarray) -> np.ndarray:
        """Energy off zero within rounding of each edge: ``(e,) -> (A, T, e)``."""
        off = np.where(self.is_zero, 0.0, self.energy)
        sums = np.concatenate([np.zeros((*off.shape[:2], 1)), np.cumsum(off, axis=2)], axis=2)
        return sums[..., self._count(edges, 1)] - sums[..., self._count(edges, -1)]

    def _count(self, edges: np.ndarray, side: int) -> np.ndarray:
        near = side * NEAR * self.values[-1]
        return np.searchsorted(self.values, reach(edges, near), side="right" if side > 0 else "left")


def counts(values: np.ndarray, is_zero: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Eigenvalues off zero in each band: ``(n,), (n,), (e,) -> (e - 1,)``."""
    off = values[~is_zero]
    return np.diff(np.searchsorted(off, reach(edges, NEAR * values[-1]), side="right"))


def is_small(operator: Operator) -> bool:
    """Whether an operator is small enough to be decomposed, and here."""
    remote = isinstance(operator, ForeignOperator) and hasattr(operator.given, "gradients")
    return operator.n <= EXACT_NODES and not remote


def eigenvalues(operator: Operator) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues, ascending, and which of them are 0: ``(n,)`` twice."""
    values, _, is_zero = _eigenpairs(operator, _matrix(operator))
    return values, is_zero


def _matrix(operator: Operator) -> np.ndarray:
    matrix = to_numpy(operator.times(operator.asarray(np.eye(operator.n))))
    return (matrix + matrix.T) / 2


def _eigenpairs(operator: Operator, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ascending eigenvalues, eigenvectors, and which are 0: by structure where the parts are known, else by size.

    Known null vectors are moved past the top of the spectrum for the solve, as in ``core.bases.solve``.
    """
    if not operator.knows_parts or operator.parts is None:
        values, vectors = np.linalg.eigh(matrix)
        is_zero = values <= ZERO * max(values[-1], 0.0)
        return np.where(is_zero, 0.0, values), vectors, is_zero
    parts, root = operator.parts, np.ones(operator.n) if operator.measure is None else np.sqrt(operator.measure)
    null = np.where(parts[:, None] == np.arange(parts.max() + 1), root[:, None], 0.0)
    null /= np.linalg.norm(null, axis=0)
    zeros, off = null.shape[1], operator.n - null.shape[1]
    past = 1.5 * np.max(np.abs(matrix).sum(axis=1))  # Gershgorin's discs end before
    values, vectors = np.linalg.eigh(matrix + past * (null @ null.T))
    values = off_zero_values(values[:off], np.max(values[:off], initial=0.0))
    every = np.append(np.zeros(zeros), values)
    return every, np.hstack([null, vectors[:, :off]]), np.arange(operator.n) < zeros


def components(hop: int, operator: Operator, values: np.ndarray, settings: Settings) -> Components:
    """The components of a signal's potential ``(T, n, d)`` on the operator of one hop."""
    if isinstance(operator, RowLaplacian):
        return _of_rows(hop, operator, values, settings)
    if set(settings.signals) != {"potential"}:
        operator.gradients(values[0], settings.keys(hop))  # raises: an operator has no edges
    matrix = _matrix(operator)
    found, vectors, is_zero = _eigenpairs(operator, matrix)
    residual, gram = verify_stack(hop, matrix[None], found[None], vectors[None])
    projected = np.einsum("ni,tnd->tid", vectors, values, optimize=True)
    energy = np.einsum("tid,tid->ti", projected, projected)
    spaces = spaces_of(found, is_zero, EIGENSPACE_TOLERANCE["float64"] * found[-1])
    accuracy = make_accuracy(found, spaces, is_zero, residual, gram, sum_rounding(operator.n))
    off = np.where(is_zero, 0.0, energy).sum(axis=1)
    error = accuracy.errors(np.sqrt(energy)[None], off[None], energy.sum(axis=1)[None], np.zeros(1))[0]
    every, errors = (np.repeat(one[None], len(settings.algorithms), axis=0) for one in (energy, error))
    return _cleared(found, is_zero, every, errors * _opens(spaces), np.maximum(energy @ found, 0.0))


def _opens(spaces: np.ndarray) -> np.ndarray:
    """Which components are the first of their eigenspaces, ``(n,)``."""
    return np.diff(spaces, prepend=-1) != 0


def _cleared(
    values: np.ndarray, is_zero: np.ndarray, energy: np.ndarray, error: np.ndarray, squares: np.ndarray
) -> Components:
    """Components without the rounding that is left of a signal with nothing off zero."""
    off = np.where(is_zero, 0.0, energy).sum(axis=2, keepdims=True)
    gone = (off <= ROUNDING_LEFT**2 * energy.sum(axis=2, keepdims=True)) & ~is_zero
    error = np.where(is_zero | gone, 0.0, error)
    return Components(values, is_zero, np.where(gone, 0.0, energy), error, squares)


def _of_rows(hop: int, operator: RowLaplacian, values: np.ndarray, settings: Settings) -> Components:
    stratum = stratum_of(hop, operator)
    if isinstance(operator, ArrayLaplacian):
        stratum = stratum.on(operator.backend)
    basis = decompose(stratum, operator.laplacian)
    kind = operator.laplacian
    options = Options(orientation=settings.orientation, laplacian=kind.laplacian, self_loops=kind.self_loops)
    energy, error = np.zeros((2, len(settings.algorithms), len(values), operator.n))
    squares = np.zeros(len(values))
    step = max(1, CHUNK_BYTES // (8 * max(1, stratum.n_edges)))
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        work = Hop(stratum, basis, operator.asarray(values[rows]), _no_line, _make, settings.seed, diagnose=False)
        for index, name in enumerate(settings.algorithms):
            function = row_of(name).function
            assert function is not None
            output = verify_output(work, function(work, options))
            energy[index, rows] = to_numpy(output.magnitude) ** 2
            error[index, rows] = errors_of(work, [output], [False])[0]
        squares[rows] = to_numpy(work.edge_norm(work.gradient)) ** 2
    return _cleared(basis.values, basis.is_zero, energy, error * _opens(basis.eigenspace), squares)


def stratum_of(hop: int, operator: RowLaplacian) -> Stratum:
    """The stratum whose rows an operator holds."""
    tails, heads = np.repeat(np.arange(operator.n), np.diff(operator.indptr)), operator.indices.astype(np.int64)
    once = tails < heads
    edges = np.column_stack([tails[once], heads[once]])
    return Stratum(hop, operator.n, edges, None if operator.weights is None else operator.weights[once])


def _no_line() -> Any:
    raise AssertionError("no algorithm of bands reads the line graph")


def _make(key: tuple, make: Any) -> Any:
    return make()
