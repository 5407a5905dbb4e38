"""How many eigenvalues of a symmetric matrix lie below a number, by Sylvester's law of inertia.

``A - shift I = K D K^T`` has as many negative eigenvalues as ``D``. The factors are multiplied out again on random
vectors: what they miss must be smaller than the distance from ``shift`` to the next eigenvalue, or the count is void.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from spectrata.core.bases.verify import PROBES, SAFETY

DENSE = 1500  # up to here a dense factorisation is quick
FLOPS = 2e10  # of a sparse factorisation, bounded by the bandwidth: some ten seconds
Times = Callable[[np.ndarray], np.ndarray]


def count_below(matrix: Any, shift: float, margin: float) -> int | None:
    """Eigenvalues of a sparse symmetric matrix below ``shift``, from which the nearest is ``margin`` away.

    None where a factorisation would be too large, or is not accurate enough to tell.

    Examples
    --------
    >>> from scipy.sparse import diags_array
    >>> count_below(diags_array([0.0, 1.0, 3.0]), 2.0, 1.0)
    2
    """
    from scipy.sparse import csc_array, eye_array

    n = matrix.shape[0]
    moved = csc_array(matrix - shift * eye_array(n))
    factored = _dense(moved.toarray()) if n <= DENSE else _sparse(moved)
    if factored is None:
        return None
    times, negative = factored
    z = np.random.default_rng(0).standard_normal((n, PROBES))
    missed = np.sqrt(np.mean(np.sum((times(z) - moved @ z) ** 2, axis=0)))
    return negative if SAFETY * missed < margin else None


def _dense(matrix: np.ndarray) -> tuple[Times, int]:
    from scipy.linalg import ldl

    lower, middle, _ = ldl(matrix, check_finite=False)
    diagonal, beside = np.diag(middle), np.append(np.diag(middle, 1), 0.0)
    pair = beside != 0  # first rows of blocks of two, whose eigenvalues have the signs of determinant and trace
    alone = ~(pair | np.roll(pair, 1))
    first, second = diagonal[pair], diagonal[np.roll(pair, 1)]
    product = first * second - beside[pair] ** 2
    negative = np.sum(diagonal[alone] < 0) + np.sum(product < 0) + 2 * np.sum((product > 0) & (first < 0))
    return lambda z: lower @ (middle @ (lower.T @ z)), int(negative)


def _sparse(matrix: Any) -> tuple[Times, int] | None:
    """Without pivoting, which keeps the factors symmetric; how much accuracy that costs is measured afterwards."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee
    from scipy.sparse.linalg import splu

    place = np.argsort(reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True))
    rows, columns = matrix.nonzero()
    bandwidth = int(np.abs(place[rows] - place[columns]).max())
    if matrix.shape[0] * float(bandwidth) ** 2 > FLOPS:
        return None
    try:
        factors = splu(matrix, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # a pivot is exactly 0
        return None
    order = factors.perm_r
    if not np.array_equal(order, factors.perm_c):
        return None
    lower, middle = factors.L, factors.U.diagonal()[:, None]

    def times(z: np.ndarray) -> np.ndarray:
        return (lower @ (middle * (lower.T @ z[np.argsort(order)])))[order]

    return times, int(np.sum(middle < 0))
