"""Signals drawn under a null, as potentials: the same draw at every hop, whichever rows are asked for."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from spectrata.inputs.signals import Potential, Signal, potential
from spectrata.stats.nulls.surrogates import rotate_signal
from spectrata.stats.sequential import BLOCK, Orders

BATCH = 2**22  # numbers per batch of drawn signals, and of their magnitudes
LARGE_MEAN = 1e3  # means that exceed the spread so often lose digits when a signal is rotated
OWN = (1, 1)  # ends the seeds of orders that belong to one row, which blocks of common orders do not have
RANK = 1e-13  # singular values below this share of the largest are rounding


@dataclass(frozen=True, eq=False)
class Permuted:
    """The nodes' vectors in random order.

    Every row has an order of its own in front of the common ones: its draws are then independent of those of the other
    rows, for the price of one.

    Attributes
    ----------
    field : Potential
        Of the signal: a metric does not depend on the order of nodes.
    orders : Orders
    """

    field: Potential
    orders: Orders

    @property
    def total(self) -> int:
        """Draws there are at most."""
        return self.orders.total

    @property
    def width(self) -> int:
        """Columns of a drawn signal."""
        return self.field.values.shape[2]

    def draw(self, rows: np.ndarray, start: int, stop: int) -> Potential:
        """Draws ``start`` up to ``stop`` of these rows, one row after the other."""
        return self.arranged(rows, self.orders.take(start, stop))

    def arranged(self, rows: np.ndarray, orders: np.ndarray) -> Potential:
        """These rows in the orders ``(c, n)``: ``(S c, n, d)``."""
        values = np.stack([self.field.values[row][self._own(int(row))] for row in rows])  # (S, n, d)
        values = values[:, orders].reshape(-1, *self.field.values.shape[1:])
        return _repeated(self.field, rows, values, len(orders))

    def _own(self, row: int) -> np.ndarray:
        if self.orders.exhaustive:
            return np.arange(self.orders.n)
        return np.random.default_rng([*self.orders.seed, row, *OWN]).permutation(self.orders.n)


@dataclass(frozen=True, eq=False)
class Rotated:
    """Random signals with the same mean and covariance of columns (``nulls.rotate_signal``)."""

    values: np.ndarray  # (T, n, d)
    metric: str
    seed: tuple[int, ...]
    total: int

    @property
    def width(self) -> int:
        """Columns of a drawn signal."""
        return self.values.shape[2]

    def draw(self, rows: np.ndarray, start: int, stop: int) -> Potential:
        """As of :class:`Permuted`; a generator for each row and block of draws."""
        first, last = start // BLOCK, -(-stop // BLOCK)
        cut = slice(start - first * BLOCK, stop - first * BLOCK)
        drawn = [np.concatenate([self._block(int(row), number) for number in range(first, last)])[cut] for row in rows]
        return potential(Signal(np.concatenate(drawn), None), self.metric, "zero")

    def _block(self, row: int, number: int) -> np.ndarray:
        return rotate_signal(self.values[[row]], BLOCK, np.random.default_rng([*self.seed, row, number]))[0]


@dataclass(frozen=True, eq=False)
class Given:
    """Signals to compare with, such as those of untrained models: the same for every snapshot."""

    field: Potential  # (draws, n, d), or (draws C, n, 1) for C columns that are signals of their own
    columns: int = 1

    @property
    def total(self) -> int:
        """Draws there are."""
        return len(self.field) // self.columns

    @property
    def width(self) -> int:
        """Columns of a drawn signal."""
        return self.field.values.shape[2]

    def draw(self, rows: np.ndarray, start: int, stop: int) -> Potential:
        """As of :class:`Permuted`; a row is compared with its own column."""
        where = (np.arange(start, stop) * self.columns + (rows % self.columns)[:, None]).ravel()
        return take(self.field, where)


Source = Permuted | Rotated | Given


def batches(rows: int, draws: int, width: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """Rows and runs of draws whose arrays of ``width`` numbers per draw fit in a batch."""
    fit = max(1, BATCH // width)
    step = max(1, fit // max(1, draws))
    for first in range(0, rows, step):
        for start in range(0, draws, fit):
            yield np.arange(first, min(first + step, rows)), start, min(start + fit, draws)


def take(field: Potential, rows: np.ndarray | slice) -> Potential:
    """Some rows of a potential."""
    values = np.ascontiguousarray(field.values[rows])
    return Potential(values, field.metric, field.scale[rows], field.undefined[rows])


def compressed(field: Potential) -> Potential:
    """The same distances and energies with no more columns than the signal's rank; unchanged where digits would go.

    Examples
    --------
    >>> wide = np.outer([1.0, 2.0, 4.0], np.ones(4))[None]
    >>> compressed(Potential(wide, "euclidean", np.ones(1), np.zeros(1, bool))).values.shape
    (1, 3, 1)
    """
    t = field.values
    n, d = t.shape[1:]
    if d == 1:
        return field
    mean = t.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.mean((t - mean) ** 2, axis=(1, 2)))
    if (np.abs(mean).max(axis=(1, 2)) > LARGE_MEAN * spread).any():
        return field
    found, width = [], 1
    for s in t:
        _, singular, right = np.linalg.svd(s, full_matrices=False)
        rank = max(1, int(np.count_nonzero(singular > RANK * singular[0])))
        if rank == d:
            return field
        found.append(s @ right[:rank].T)
        width = max(width, rank)
    padded = np.zeros((len(t), n, width))
    for row, s in enumerate(found):
        padded[row, :, : s.shape[1]] = s
    return replace(field, values=padded)


def _repeated(field: Potential, rows: np.ndarray, values: np.ndarray, count: int) -> Potential:
    scale, undefined = (np.repeat(one[rows], count) for one in (field.scale, field.undefined))
    return Potential(values, field.metric, scale, undefined)
