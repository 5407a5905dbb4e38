r"""From Jacobi matrices to cumulative distributions with bounds.

After ``m`` steps from a column ``s`` the Jacobi matrix fixes the first ``2 m`` moments of the measure that puts
:math:`(u_i^T s)^2` on :math:`\lambda_i`. Among all measures with these moments, the mass below a point ``x`` is least
and greatest for the Gauss-Radau rule that has ``x`` as a node (Chebyshev, Markov, Stieltjes): the weights left of
``x``, and those with the weight on ``x`` itself.

In double precision, and without reorthogonalisation, the computed matrix belongs to a measure whose mass is spread
over small intervals around the eigenvalues (Paige 1980, Greenbaum 1989), with the moments of the column up to rounding
(Knizhnerman 1996). The mass up to ``x`` then lies between the least mass of that measure up to ``x - widened`` and its
greatest up to ``x + widened``, whatever has become of the vectors' orthogonality. ``lanczos`` has the allowances; they
are larger where the vectors are stored in single precision.
"""

import numpy as np

from spectrata.bands.edges import NEAR
from spectrata.bands.lanczos import BlockLanczos, Rounding
from spectrata.kernels import threads

# Nodes this close to a point, as a share of the largest eigenvalue, are rounding away from it.
TOUCHING = 1e-14


def column_bounds(
    run: BlockLanczos, columns: np.ndarray, edges: np.ndarray, top: float, rounding: Rounding | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on each column's energy at or below each edge: ``(c,), (e,) -> (c, e)`` twice.

    ``top`` is the size of the largest eigenvalue. Eigenvalues within rounding of an edge lie on it. ``rounding`` is by
    default that of the run's vectors.
    """
    allowed = run.rounding if rounding is None else rounding
    at, reach = edges + NEAR * top, allowed.widened * top
    return _between(run, columns, at - reach, at + reach, top, allowed)


def column_masses_near(run: BlockLanczos, columns: np.ndarray, at: np.ndarray, reach: float, top: float) -> np.ndarray:
    """Lower bounds on each column's energy within ``reach`` of each place: ``(c,), (e,) -> (c, e)``."""
    lower, upper = _between(run, columns, at + reach, at - reach, top, run.rounding)
    return np.maximum(lower - upper, 0.0)


def _between(
    run: BlockLanczos, columns: np.ndarray, first: np.ndarray, second: np.ndarray, top: float, rounding: Rounding
) -> tuple[np.ndarray, np.ndarray]:
    """Least mass below the first points and greatest up to the second, with what rounding moves: ``(c, e)`` twice."""
    mass = run.squares[columns][:, None]
    lower, upper = _masses(run, columns, first, top)[0], _masses(run, columns, second, top)[1]
    return np.clip(lower - rounding.mass * mass, 0.0, mass), np.clip(upper + rounding.mass * mass, 0.0, mass)


def _masses(run: BlockLanczos, columns: np.ndarray, points: np.ndarray, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Least mass below and greatest mass up to each point, for the measures of the computed matrices: ``(c, e)``."""
    from spectrata.bands import compiled

    lower, upper = np.zeros((2, len(columns), len(points)))

    def work(index: int) -> None:
        column = int(columns[index])
        if run.squares[column] == 0.0:
            return
        alpha, beta = run.jacobi(column)
        if not len(alpha):
            upper[index] = run.squares[column]
            return
        whole = bool(run.whole[column])
        compiled.measure_bounds(alpha, beta, whole, points, TOUCHING * top, lower[index], upper[index])
        lower[index] *= run.squares[column]
        upper[index] *= run.squares[column]

    threads.spread(work, range(len(columns)))
    return lower, upper


def gauss(alpha: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes, ascending, and weights of the Gauss rule of a Jacobi matrix.

    Examples
    --------
    >>> nodes, weights = gauss(np.array([0.0, 0.0]), np.array([1.0]))
    >>> nodes.round(6).tolist(), weights.round(6).tolist()
    ([-1.0, 1.0], [0.5, 0.5])
    """
    from spectrata.bands import compiled

    nodes, off, first = alpha.astype(float), np.append(beta, 0.0), np.zeros(len(alpha))
    first[0] = 1.0
    compiled.gauss_rule(nodes, off, first)
    order = np.argsort(nodes)
    return nodes[order], first[order] ** 2
