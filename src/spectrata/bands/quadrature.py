r"""From Jacobi matrices to cumulative distributions with bounds.

After ``m`` steps from a column ``s`` the Jacobi matrix fixes the first ``2 m`` moments of the measure that puts
:math:`(u_i^T s)^2` on :math:`\lambda_i`. Among all measures with these moments, the mass below a point ``x`` is least
and greatest for the Gauss-Radau rule that has ``x`` as a node (Chebyshev, Markov, Stieltjes): the weights left of
``x``, and those with the weight on ``x`` itself.
"""

import numpy as np

from spectrata.bands.lanczos import BlockLanczos
from spectrata.kernels import fast

# Nodes closer to an edge than this share of the spectrum's width count as lying on it ...
NEAR = 1e-10
# ... and bounds are wider than computed by this share of the mass: what rounding can move.
ROUNDING = 1e-9


def column_bounds(run: BlockLanczos, columns: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on each column's energy at or below each edge: ``(c,), (e,) -> (c, e)`` twice."""
    from spectrata.bands import compiled

    lower, upper = np.zeros((2, len(columns), len(edges)))
    near = NEAR * float(np.max(np.abs(edges), initial=0.0))

    def work(index: int) -> None:
        column = int(columns[index])
        if run.squares[column] == 0.0:
            return
        alpha, beta = run.jacobi(column)
        if not len(alpha):
            upper[index] = run.squares[column]
            return
        whole = bool(run.whole[column])
        compiled.measure_bounds(alpha, beta, whole, edges, near, lower[index], upper[index])
        lower[index] *= run.squares[column]
        upper[index] *= run.squares[column]

    fast._spread(work, range(len(columns)))
    mass = run.squares[columns][:, None]
    return np.clip(lower - ROUNDING * mass, 0.0, mass), np.clip(upper + ROUNDING * mass, 0.0, mass)


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
