r"""Functions of a Laplacian applied to columns without eigenvectors, with bounds on the error.

A polynomial :math:`p` of the Laplacian needs one product with it per degree. The error of a column :math:`s` is

.. math:: \| h(L) s - p(L) s \|^2 = \int (h - p)^2 \, d\mu, \qquad \mu = \sum_i (u_i^T s)^2 \, \delta_{\lambda_i}.

For the step at an edge, :math:`p` is a Chebyshev series with Jackson's factors, whose error is known everywhere, and
Lanczos bounds how much of :math:`\mu` lies where the error is large (Chebyshev, Markov, Stieltjes). For a smooth
function the largest error on a fine grid bounds it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spectrata.bands.lanczos import BlockLanczos
from spectrata.bands.operators import Operator, RowLaplacian
from spectrata.bands.quadrature import gauss
from spectrata.core.hop import OK

FIRST_DEGREE, MAX_DEGREE = 64, 2048  # doubled in between: the last try costs as much as all before
SAMPLES = 64  # of a polynomial per degree: between two of them it moves by less than 1 / (8 * 20^2)
SLACK = 1.0 / (8 * (SAMPLES / np.pi) ** 2)
CELLS = 256  # pieces of the axis on which the error is taken at its largest
# What rounding in the recurrence can move of a column's measure, and of the product itself.
ROUNDING = 1e-9
Rule = tuple[np.ndarray, np.ndarray]  # nodes, ascending, and weights of a Gauss rule


@dataclass(frozen=True, eq=False)
class Filtered:
    """Columns after each of several filters, and how far they can be from the exact ones."""

    values: np.ndarray  # (filters, n, c)
    error: np.ndarray  # (filters, c) bounds on the norm of the error
    degree: int
    status: str = OK


def largest_eigenvalue(operator: Operator) -> float:
    """A bound on the largest eigenvalue: 2, or the largest sum of the degrees of two neighbours (Anderson, Morley)."""
    if operator.laplacian.has_measure:
        return 2.0
    assert isinstance(operator, RowLaplacian)
    tails = np.repeat(operator.degrees, np.diff(operator.indptr))
    return float(np.max(tails + operator.degrees[operator.indices], initial=0.0)) or 1.0


def filter_bands(
    operator: Operator, block: np.ndarray, edges: np.ndarray, tol: float = 0.05, degree: int | None = None
) -> Filtered:
    """Parts of columns in each band between edges, and below the first and above the last: ``(n, c) -> (e + 1, n, c)``.

    ``block`` has no components at eigenvalue 0. ``tol`` is the largest error of a band as a share of the column's norm;
    without a ``degree`` of the polynomials it grows until every error is within ``tol``.

    Examples
    --------
    The ring of four has eigenvalues 0, 2, 2, 4.

    >>> ring = RowLaplacian(np.arange(0, 9, 2), np.array([1, 3, 0, 2, 1, 3, 0, 2]))
    >>> found = filter_bands(ring, np.array([[2.0], [-1.0], [0.0], [-1.0]]), np.array([3.0]))
    >>> found.values[1, :, 0].round(2).tolist(), bool(found.error.max() < 0.2)
    ([1.0, -1.0, 1.0, -1.0], True)
    """
    top = max(largest_eigenvalue(operator), float(np.max(edges, initial=0.0)))
    norms = np.sqrt(np.sum(block**2, axis=0))
    error, used = _bounded_error(operator, block, edges, top, tol, degree)
    steps = _apply(operator, block, _steps(edges, top, used), top)  # (e, n, c): at or below each edge
    values = np.concatenate([steps, block[None]])
    values[1:] -= steps
    return Filtered(values, error, used, _status(error, norms, tol, used))


def filter_response(
    operator: Operator,
    block: np.ndarray,
    response: Callable[[np.ndarray], np.ndarray],
    tol: float = 0.05,
    degree: int | None = None,
) -> Filtered:
    """Columns after one filter with any frequency response: ``(n, c) -> (1, n, c)``.

    The degree grows until the polynomial is within ``tol`` of the response, relative to its largest value, on a grid
    of 64 places per degree; smooth responses are met to rounding.
    """
    top = largest_eigenvalue(operator)
    used = FIRST_DEGREE if degree is None else degree
    while True:
        series = _interpolated(response, top, used)
        angles = np.linspace(0.0, np.pi, SAMPLES * used + 1)
        wanted = response(_places(angles, top))
        apart = float(np.max(np.abs(_on_grid(series, SAMPLES * used) - wanted)))
        size = float(np.max(np.abs(wanted)))
        if degree is not None or apart <= min(tol, 1e-12) * size or used >= MAX_DEGREE:
            break
        used *= 2
    norms = np.sqrt(np.sum(block**2, axis=0))
    error = (apart + ROUNDING * size) * norms[None]
    status = OK if apart <= tol * size else _status(error, size * norms, tol, used)
    return Filtered(_apply(operator, block, series[None], top), error, used, status)


def _status(error: np.ndarray, norms: np.ndarray, tol: float, degree: int) -> str:
    if np.all(error <= tol * norms):
        return OK
    share = float(np.max(np.divide(error, norms, out=np.zeros_like(error), where=norms > 0)))
    return f"not settled to {tol:g} at degree {degree}: errors up to {share:.3f}"


# ---- polynomials on the angle: lam = top / 2 (1 + cos(angle))


def _places(angles: np.ndarray, top: float) -> np.ndarray:
    return top / 2 * (1 + np.cos(angles))


def _angles(places: np.ndarray, top: float) -> np.ndarray:
    return np.arccos(np.clip(2 * places / top - 1, -1.0, 1.0))


def _steps(edges: np.ndarray, top: float, degree: int) -> np.ndarray:
    """Chebyshev series of 1 at or below each edge and 0 above, with Jackson's factors: ``(e, degree + 1)``."""
    orders = np.arange(degree + 1)
    turn = np.pi / (degree + 2)
    jackson = (degree + 2 - orders) * np.cos(turn * orders) + np.sin(turn * orders) / np.tan(turn)
    angle = _angles(np.asarray(edges, dtype=float), top)[:, None]
    with np.errstate(invalid="ignore"):
        series = -2.0 * np.sin(angle * orders) / (np.pi * np.maximum(orders, 1))
    series[:, 0] = 1.0 - angle[:, 0] / np.pi
    return series * jackson / (degree + 2)


def _interpolated(response: Callable[[np.ndarray], np.ndarray], top: float, degree: int) -> np.ndarray:
    """Chebyshev series of the polynomial that meets a response at Chebyshev's points: ``(degree + 1,)``."""
    from scipy.fft import dct

    points = np.pi * np.arange(degree + 1) / degree
    series = dct(np.asarray(response(_places(points, top)), dtype=float), type=1) / degree
    series[[0, -1]] /= 2
    return series


def _on_grid(series: np.ndarray, count: int) -> np.ndarray:
    """Values of a series at ``count + 1`` even angles from 0 to pi."""
    from scipy.fft import dct

    padded = np.zeros(count + 1)
    padded[: len(series)] = series / 2
    padded[0] *= 2
    return dct(padded, type=1)


def _apply(operator: Operator, block: np.ndarray, series: np.ndarray, top: float) -> np.ndarray:
    """Polynomials of the operator times a block by the three-term recurrence: ``(e, degree + 1) -> (e, n, c)``."""
    found = series[:, 0, None, None] * block
    if series.shape[1] == 1:
        return found
    before, now = block, (2.0 / top) * operator.times(block) - block
    for order in range(1, series.shape[1]):
        for one, factor in zip(found, series[:, order], strict=True):
            one += factor * now
        if order + 1 < series.shape[1]:
            before, now = now, (4.0 / top) * operator.times(now) - 2.0 * now - before
    return found


# ---- how much of a column's energy lies where the polynomials err


def _bounded_error(
    operator: Operator, block: np.ndarray, edges: np.ndarray, top: float, tol: float, degree: int | None
) -> tuple[np.ndarray, int]:
    """Bounds on the error of each band, ``(e + 1, c)``, and the degree they hold for."""
    norms = np.sqrt(np.sum(block**2, axis=0))
    run = BlockLanczos(operator, block.copy())
    used, taken = FIRST_DEGREE if degree is None else degree, 0
    while True:
        run.advance(used - taken)
        taken = used
        at_edges = np.zeros((len(edges) + 2, block.shape[1]))
        cells = [_error_on_cells(float(edge), top, used) for edge in edges]
        for column in np.flatnonzero(run.squares):
            rule = gauss(*run.jacobi(int(column)))
            at_edges[1:-1, column] = norms[column] * _step_errors(rule, bool(run.whole[column]), cells)
        error = at_edges[:-1] + at_edges[1:] + ROUNDING * norms
        if degree is not None or np.all(error <= tol * norms) or used >= MAX_DEGREE:
            return error, used
        used *= 2


def _step_errors(rule: Rule, whole: bool, cells: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Bounds on the norm of a column's error for the step at each edge, as a share of the column's norm."""
    found = np.zeros(len(cells))
    for row, (cuts, largest) in enumerate(cells):
        lower, upper = _cumulative(rule, whole, cuts[1:-1])
        # The integral of a step function is linear in the masses below its cuts: each at its worse bound.
        fall = largest[:-1] ** 2 - largest[1:] ** 2
        worst = np.sum(np.where(fall > 0, fall * upper, fall * lower)) + largest[-1] ** 2
        found[row] = np.sqrt(max(worst, 0.0))
    return found


def _error_on_cells(edge: float, top: float, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts of the axis, ascending ``(g + 1,)``, and the largest error of the step's polynomial between them."""
    count = SAMPLES * degree
    angles = np.linspace(0.0, np.pi, count + 1)
    at = float(_angles(np.array([edge]), top)[0])
    value = _on_grid(_steps(np.array([edge]), top, degree)[0], count)
    error = np.abs((angles >= at) - value)
    # Cuts crowd around the edge, where the error changes within a few parts of pi / degree.
    reach = np.geomspace(0.25 / degree, np.pi, CELLS // 2)
    cuts = np.unique(np.clip(np.concatenate([[0.0, at, np.pi], at - reach, at + reach]), 0.0, np.pi))
    starts = np.clip(np.floor(cuts[:-1] / np.pi * count).astype(int), 0, count)
    ends = np.clip(np.ceil(cuts[1:] / np.pi * count).astype(int), 0, count) + 1
    largest = np.array([error[a:b].max() for a, b in zip(starts, ends, strict=True)]) + SLACK
    # Just on the far side of the edge the step has its other value.
    near = np.flatnonzero((cuts[:-1] <= at) & (cuts[1:] >= at))
    largest[near] = np.maximum(largest[near], 0.5 + np.abs(np.interp(at, angles, value) - 0.5) + SLACK)
    return _places(cuts[::-1], top), largest[::-1]


def _cumulative(rule: Rule, whole: bool, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the share of a column's energy at or below each place.

    The sums of a Gauss rule's weights separate the measure at its nodes: the weights up to a node exceed what lies
    below that node, and are less than what lies below the next.
    """
    nodes, weights = rule
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    below = np.searchsorted(nodes, places, side="right")  # nodes at or below each place
    if whole:
        return sums[below] - ROUNDING, sums[below] + ROUNDING
    least = sums[np.maximum(below - 1, 0)]
    most = np.where(below < len(nodes), sums[np.minimum(below + 1, len(nodes))], 1.0)
    return np.clip(least - ROUNDING, 0.0, 1.0), np.clip(most + ROUNDING, 0.0, 1.0)
