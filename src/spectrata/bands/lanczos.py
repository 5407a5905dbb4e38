r"""One Lanczos recurrence per column, all columns advancing together over one product with the matrix.

.. math:: \beta_{j+1} q_{j+1} = L q_j - \alpha_j q_j - \beta_j q_{j-1}

Two blocks of vectors are held, whatever the number of steps. Without reorthogonalisation the later vectors lose their
orthogonality, and the recurrence then belongs to a measure whose points are spread over small clusters around the
eigenvalues (Greenbaum 1989): copies of eigenvalues appear, whose weights still add up right. ``quadrature`` widens its
bounds by the size of the clusters.
"""

from typing import Any, NamedTuple

import numpy as np

from spectrata.bands.operators import Operator
from spectrata.kernels.backend import namespace, precision

# A new direction shorter than this share of the largest entry so far is rounding: the column is exhausted.
BREAKDOWN = 1e-12


class Rounding(NamedTuple):
    """Allowances of bounds."""

    widened: float  # how far rounding may spread an eigenvalue, as a share of the largest one
    mass: float  # how much of a column's energy rounding can move in sums of weights


# The theorems give the form of these allowances and not their size, which rests on the runs of benchmarks/bounds.py
# (with --single for blocks in single precision: a hundredth of its allowance was too little there, a tenth enough).
DOUBLE = Rounding(1e-10, 1e-9)
SINGLE = Rounding(1e-5, 1e-5)


class BlockLanczos:
    """The recurrences of a block's columns ``(n, c)``, which are overwritten, advanced on request.

    ``squares (c,)`` are squared norms of the starting columns, the masses of their measures; given where they were
    taken before the columns were stored in single precision. ``steps (c,)`` are those taken, and ``whole (c,)`` the
    columns whose recurrence ended by itself: their measure is known entirely.

    Examples
    --------
    The ring of four has eigenvalues 0, 2, 2, 4; one spike sees three of them.

    >>> from spectrata.bands.operators import RowLaplacian
    >>> ring = RowLaplacian(np.arange(0, 9, 2), np.array([1, 3, 0, 2, 1, 3, 0, 2]))
    >>> run = BlockLanczos(ring, np.eye(4)[:, :1].copy())
    >>> run.advance(10)
    >>> int(run.steps[0]), bool(run.whole[0])
    (3, True)
    """

    def __init__(self, operator: Operator, block: Any, squares: np.ndarray | None = None) -> None:
        xp = namespace(block)
        self.operator, self.rounding = operator, SINGLE if precision(block) == "float32" else DOUBLE
        stored = operator.squares(block)
        self.squares = stored if squares is None else squares
        count = block.shape[1]
        self.steps = np.zeros(count, dtype=np.int64)
        self.whole = self.squares == 0.0
        self._alpha: list[list[float]] = [[] for _ in range(count)]
        self._beta: list[list[float]] = [[] for _ in range(count)]
        self._scale_of = np.zeros(count)  # largest entry of each column's Jacobi matrix
        self._current, self._previous = block, xp.zeros_like(block)
        # Vectors are kept unnormalised with their factors, which saves a pass over memory per step.
        self._factor = np.divide(1.0, np.sqrt(stored), out=np.zeros(count), where=~self.whole)
        self._previous_factor = np.zeros(count)
        self._columns = np.arange(count)  # which column each held vector belongs to
        self.drop(self.whole)

    def advance(self, steps: int) -> None:
        """Take up to so many more steps in every column that is not exhausted or dropped."""
        for _ in range(steps):
            if not len(self._columns):
                return
            self._step()

    def drop(self, columns: np.ndarray) -> None:
        """Stop these columns, a mask ``(c,)``; the others go on without them."""
        keep = ~columns[self._columns]
        if keep.all():
            return
        self._columns, self._factor = self._columns[keep], self._factor[keep]
        self._previous_factor = self._previous_factor[keep]
        where = np.flatnonzero(keep)
        self._current, self._previous = (_take(b, where) for b in (self._current, self._previous))

    def jacobi(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Diagonal ``(m,)`` and off-diagonal ``(m - 1,)`` of a column's matrix after its ``m`` steps."""
        alpha = np.array(self._alpha[column])
        return alpha, np.array(self._beta[column][: max(0, len(alpha) - 1)])

    def _step(self) -> None:
        live = self._columns
        beta = np.array([self._beta[k][-1] if self._beta[k] else 0.0 for k in live])
        dots = self.operator.step(self._current, self._previous, self._factor, beta * self._previous_factor)
        alpha = self._factor * dots
        squares = self.operator.subtract(self._previous, self._current, alpha * self._factor)
        longer = np.sqrt(squares)
        self._current, self._previous = self._previous, self._current
        self._previous_factor = self._factor
        for k, a, b in zip(live, alpha.tolist(), longer.tolist(), strict=True):
            self._alpha[k].append(a)
            self._beta[k].append(b)
        self.steps[live] += 1
        self._scale_of[live] = np.maximum(self._scale_of[live], np.maximum(np.abs(alpha), longer))
        # Not after n steps either: with orthogonality lost, the measure is not known entirely then.
        ended = longer <= BREAKDOWN * self._scale_of[live]
        self._factor = np.divide(1.0, longer, out=np.zeros(len(live)), where=~ended)
        if ended.any():
            self.whole[live[ended]] = True
            self.drop(self.whole)


def _take(block: Any, columns: np.ndarray) -> Any:
    """Some columns of a block as a block of its own, rows contiguous."""
    if isinstance(block, np.ndarray):
        return np.ascontiguousarray(block[:, columns])
    xp = namespace(block)
    return xp.stack([block[:, int(column)] for column in columns], axis=1) if len(columns) else block[:, :0]
