"""The least-squares signal of APPRX-LS by conjugate gradients, one system per column.

``L f = B^T diag(w) g`` is solved as ``C^-1/2 L C^-1/2 y = C^-1/2 B^T diag(w) g`` for ``y = C^1/2 f``, whose energies
are the algorithm's.

Jacobi's preconditioner does for graphs without long distances; when it is slow (grids, roads) and ``pyamg`` is
installed, algebraic multigrid takes over from where it got to.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from spectrata.bands.measure import remove_zero
from spectrata.bands.operators import Operator, RowLaplacian
from spectrata.errors import OptionError, SolverError, missing_extra
from spectrata.kernels.backend import like, namespace

SOLVERS = ("auto", "cg", "amg")
RESIDUAL = 1e-10  # of the right-hand side's norm; what it leaves widens the bounds
PATIENCE = 250  # steps with Jacobi's preconditioner before multigrid is tried
MAX_STEPS = 20_000  # a system that takes more needs multigrid
Precondition = Callable[[Any], Any]


def solve_laplacian(
    operator: Operator, right: Any, solver: str = "auto", residual: float = RESIDUAL
) -> tuple[Any, int, np.ndarray]:
    """The shortest ``y (n, c)`` with ``operator y = right``, the steps taken, and ``norm(operator y - right) (c,)``.

    ``right`` is orthogonal to the zero eigenvectors, as ``C^-1/2`` times divergences are; ``residual`` is the norm of
    what is left at the end, as a share of ``norm(right)``.
    """
    rows = operator if isinstance(operator, RowLaplacian) and isinstance(right, np.ndarray) else None
    if solver == "amg" and rows is None:
        raise OptionError("solver='amg' works on graphs in main memory; use solver='cg'.")
    x = namespace(right).zeros_like(right)
    steps = 0
    if solver != "amg":
        multigrid = solver == "auto" and rows is not None and find_spec("pyamg") is not None
        patience = PATIENCE if multigrid else MAX_STEPS
        inverse = 1.0 / _filled(operator.diagonal)
        if rows is not None:
            steps, left = _compiled(rows, x, right, residual, patience, inverse)
        else:
            column = like(inverse, x)[:, None]
            steps, left = _general(operator, x, right, residual, patience, lambda r: r * column)
    if solver == "amg" or (left > residual and steps < MAX_STEPS):
        assert rows is not None
        more, left = _general(rows, x, right, residual, MAX_STEPS, _multigrid(rows))
        steps += more
    if left > residual:
        raise SolverError(
            f"The Laplacian solve of apprx_ls stopped at a residual of {left:.1e} after {steps} steps; "
            "install pyamg (pip install 'spectrata[large]'), or leave apprx_ls out."
        )
    y = remove_zero(operator, x)[0]
    off = right - operator.times(y)
    return y, steps, np.sqrt(operator.squares(off))


def _filled(diagonal: np.ndarray) -> np.ndarray:
    """The diagonal with 1 for nodes without an edge, whose rows are zero."""
    return np.where(diagonal > 0, diagonal, 1.0)


def _general(
    operator: Operator, x: Any, right: Any, residual: float, patience: int, precondition: Precondition
) -> tuple[int, float]:
    """Preconditioned conjugate gradients in plain array code; ``x`` is improved in place."""
    dot = operator.dots
    wanted = residual * np.sqrt(dot(right, right))
    r = right - operator.times(x)
    z = precondition(r)
    p, rho = z, dot(r, z)
    for step in range(patience):
        size = np.sqrt(dot(r, r))
        if np.all(size <= wanted):
            return step, _share(size, wanted, residual)
        moved = operator.times(p)
        rate = _ratio(rho, dot(p, moved))
        x += p * like(rate, x)
        r = r - moved * like(rate, x)
        z = precondition(r)
        rho, before = dot(r, z), rho
        p = z + p * like(_ratio(rho, before), x)
    return patience, _share(np.sqrt(dot(r, r)), wanted, residual)


def _compiled(
    operator: RowLaplacian, x: np.ndarray, right: np.ndarray, residual: float, patience: int, inverse: np.ndarray
) -> tuple[int, float]:
    """The same with Jacobi's preconditioner in three passes over memory per step, on a few threads."""
    from spectrata.bands import compiled

    pieces, width = len(operator.pieces), x.shape[1]
    r = right - operator.times(x)
    p = r * inverse[:, None]
    moved, rate, share = np.empty_like(p), np.empty(width), np.empty(width)
    dots, sums = np.empty((pieces, width)), np.empty((pieces, 2, width))
    rho, squares = np.sum(r * p, axis=0), np.sum(r * r, axis=0)
    wanted = residual * np.sqrt(np.sum(right * right, axis=0))

    def multiply(i: int, a: int, b: int) -> None:
        compiled.step(*operator.rows, a, b, p, moved, None, None, dots[i])

    def descend(i: int, a: int, b: int) -> None:
        compiled.descend(a, b, x, r, p, moved, rate, inverse, sums[i])

    def turn(i: int, a: int, b: int) -> None:
        compiled.turn(a, b, p, r, inverse, share)

    for step in range(patience):
        if np.all(np.sqrt(squares) <= wanted):
            return step, _share(np.sqrt(squares), wanted, residual)
        dots[:], sums[:] = 0.0, 0.0
        operator.spread(x, multiply)
        rate[:] = _ratio(rho, dots.sum(axis=0))
        operator.spread(x, descend)
        following, squares = sums.sum(axis=0)
        share[:] = _ratio(following, rho)
        operator.spread(x, turn)
        rho = following
    return patience, _share(np.sqrt(squares), wanted, residual)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """A quotient per column, 0 for columns that are done."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0.0)


def _share(size: np.ndarray, wanted: np.ndarray, residual: float) -> float:
    """The largest residual as a share of its right-hand side."""
    return residual * float(np.max(_ratio(size, wanted), initial=0.0))


def _multigrid(operator: RowLaplacian) -> Precondition:
    try:
        from pyamg import smoothed_aggregation_solver
    except ImportError as problem:
        raise missing_extra("pyamg", "large", "solver='amg'") from problem
    from scipy.sparse import csr_matrix, diags

    n = operator.n
    indices, indptr = operator.indices.astype(np.int32), operator.indptr.astype(np.int32)
    off_diagonal = csr_matrix((operator.off_diagonal, indices, indptr), shape=(n, n))
    matrix = csr_matrix(diags(_filled(operator.diagonal)) - off_diagonal)
    null = np.ones(n) if operator.measure is None else np.sqrt(operator.measure)
    levels = smoothed_aggregation_solver(matrix, B=null[:, None], coarse_solver="pinv", max_coarse=500)
    cycle = levels.aspreconditioner()
    return lambda r: np.stack([cycle @ np.ascontiguousarray(r[:, k]) for k in range(r.shape[1])], axis=1)
