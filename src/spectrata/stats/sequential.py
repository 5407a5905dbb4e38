"""Sequential Monte Carlo p-values (Besag and Clifford 1991), and the random orders of nodes they are made from.

Every cell gets the same first draws. A tail that then has ``ENOUGH`` draws at least as extreme as the observed stops,
with ``p = (g + 1) / (n + 1)``. The others go on until draw ``l`` brings the ``ENOUGH``-th, ``p = ENOUGH / l``, or the
last draw is made, ``p = (g + 1) / (n + 1)``. With exchangeable draws, ``P(p <= a) <= a`` for every ``a``: the event
``p <= a`` says that at most so many of the first so many draws are as extreme as the observed, whichever way it ends.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

ENOUGH = 10  # draws at least as extreme after which a tail stops: the p-value is then known to about a third
BLOCK = 64  # orders made from one generator, so that draw i is the same whichever draws are asked for
TAILS = ("greater", "less")


@dataclass(frozen=True)
class Orders:
    """Random orders of ``n`` nodes, by number: draw ``i`` depends on the seed and ``i`` alone.

    Up to ``limit`` of them. Where all ``n! - 1`` orders but the given one are no more than that, they are these, each
    once, and p-values are exact.

    Examples
    --------
    >>> Orders(3, (0,), 99).total, Orders(30, (0,), 99).total
    (5, 99)
    >>> Orders(3, (0,), 99).take(0, 5).tolist()
    [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    """

    n: int
    seed: tuple[int, ...]
    limit: int

    @property
    def exhaustive(self) -> bool:
        """Whether these are all orders."""
        return self.n <= 12 and math.factorial(self.n) - 1 <= self.limit

    @property
    def total(self) -> int:
        """How many there are."""
        return math.factorial(self.n) - 1 if self.exhaustive else self.limit

    def take(self, start: int, stop: int) -> np.ndarray:
        """Orders ``start`` up to ``stop``: ``(stop - start, n)``."""
        if self.exhaustive:
            found = itertools.islice(itertools.permutations(range(self.n)), start + 1, stop + 1)
            return np.array(list(found), dtype=np.int64).reshape(-1, self.n)
        first, last = start // BLOCK, -(-stop // BLOCK)
        blocks = [self._block(number) for number in range(first, last)]
        return np.concatenate(blocks)[start - first * BLOCK : stop - first * BLOCK]

    def _block(self, number: int) -> np.ndarray:
        rng = np.random.default_rng([*self.seed, number])
        return rng.permuted(np.tile(np.arange(self.n), (BLOCK, 1)), axis=1)


class Sequential:
    """Which cells need more draws, and their p-values; cells are numbered along the flattened arrays.

    Parameters
    ----------
    above, below : ndarray of int
        Draws at least and at most the observed, ties in both, of the first draws.
    used : ndarray of int
        How many draws there were.
    alternative : {"two-sided", "greater", "less"}
        Which tails count. Two-sided p is twice the smaller one.

    Examples
    --------
    Twenty draws, then one at a time: the clear cell goes on, and stops with its tenth draw above.

    >>> cells = Sequential(np.array([12, 9]), np.array([9, 12]), np.array([20, 20]), "greater")
    >>> cells.running.tolist()
    [False, True]
    >>> cells.add(np.array([1]), np.array([[False, False, True, True]]), np.array([[True, True, False, False]]))
    >>> cells.p.round(4).tolist(), cells.used.tolist()
    ([0.619, 0.4348], [20, 23])
    """

    def __init__(self, above: np.ndarray, below: np.ndarray, used: np.ndarray, alternative: str) -> None:
        self.shape, self.alternative = above.shape, alternative
        self.affordable = int(used.max(initial=0))  # draws of a cell that a bound on the work allows
        self._count = np.stack([above.ravel(), below.ravel()])  # (tail, cell)
        self._made = np.array(used.ravel())
        self._at = np.broadcast_to(self._made, self._count.shape).copy()  # draws each tail is judged by
        self._reached = np.zeros(self._count.shape, dtype=bool)  # tails that ended with their last draw needed
        counted = np.array([alternative in ("two-sided", tail) for tail in TAILS])[:, None]
        self._going = (self._count < ENOUGH) & counted & (self._made > 0)

    @property
    def running(self) -> np.ndarray:
        """Cells that need more draws."""
        return self._going.any(axis=0).reshape(self.shape)

    def add(self, cells: np.ndarray, above: np.ndarray, below: np.ndarray) -> None:
        """Count more draws of some cells: booleans ``(cells, draws)``, in the order of the draws."""
        for tail, extreme in enumerate((above, below)):
            going = self._going[tail, cells]
            reached = self._count[tail, cells][:, None] + np.cumsum(extreme, axis=1)  # (cells, draws)
            ends = going & (reached[:, -1] >= ENOUGH)
            last = np.argmax(reached >= ENOUGH, axis=1) + 1
            more = np.where(ends, last, extreme.shape[1])
            self._at[tail, cells] += np.where(going, more, 0)
            self._count[tail, cells] = np.where(going, np.minimum(reached[:, -1], ENOUGH), self._count[tail, cells])
            self._reached[tail, cells] |= ends
            self._going[tail, cells] &= ~ends
        self._made[cells] = self._at[:, cells].max(axis=0)

    def stop(self, cells: np.ndarray) -> None:
        """Draw no more for these cells."""
        self._going[:, cells.ravel()] = False

    @property
    def used(self) -> np.ndarray:
        """Draws made for each cell."""
        return self._made.reshape(self.shape)

    @property
    def p(self) -> np.ndarray:
        """P-values; NaN without draws."""
        with np.errstate(invalid="ignore", divide="ignore"):
            tails = np.where(self._reached, self._count / self._at, (self._count + 1) / (self._at + 1))
        both = dict(zip(TAILS, tails, strict=True)) | {"two-sided": np.minimum(1.0, 2 * tails.min(axis=0))}
        return np.where(self._made > 0, both[self.alternative], np.nan).reshape(self.shape)

    @property
    def floor(self) -> np.ndarray:
        """The smallest p-value that the draws made for each cell can give; NaN without draws."""
        return p_floor(self.used, self.alternative)


def p_floor(used: np.ndarray, alternative: str) -> np.ndarray:
    """The smallest p-value of so many draws; NaN for none.

    Examples
    --------
    >>> p_floor(np.array([99, 0]), "greater").tolist()
    [0.01, nan]
    """
    tails = 2 if alternative == "two-sided" else 1
    return np.where(used > 0, np.minimum(1.0, tails / (used + 1.0)), np.nan)


def draws_needed(cells: float, alternative: str, level: float = 0.05) -> int:
    """Draws with which one cell alone among so many can reach a Benjamini-Hochberg q of the level.

    Examples
    --------
    >>> draws_needed(8, "two-sided")
    319
    """
    tails = 2 if alternative == "two-sided" else 1
    return max(0, math.ceil(round(tails * cells / level, 9)) - 1)
