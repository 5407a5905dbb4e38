"""Random surrogates of a signal: permuted, rotated or given signals, and exchanged pairs of signals.

Draw ``b`` of a row depends on the seed, the row and ``b`` alone, whichever draws are asked for with it.
"""

from dataclasses import dataclass

import numpy as np

from spectrata.inputs.signals import Potential, Signal, potential
from spectrata.stats.nulls.orders import orders

BLOCK = 64  # rotated signals made by one random generator


def exchange_signs(seed: int, n: int, draws: int) -> np.ndarray:
    """Draw for every node whether two signals are exchanged there (-1): ``(1 + draws, n)``, the first row without.

    Examples
    --------
    >>> exchange_signs(0, 3, 2)[0].tolist()
    [1.0, 1.0, 1.0]
    """
    signs = np.ones((1 + draws, n))
    signs[1:] = np.random.default_rng([seed, 0x5A4B]).choice([-1.0, 1.0], size=(draws, n))
    return signs


@dataclass(frozen=True, eq=False)
class PermutedSignals:
    """The nodes' vectors in random order, or in ``orders``; a metric does not depend on the order of nodes."""

    field: Potential
    seed: int
    orders: np.ndarray | None = None

    def draw(self, rows: np.ndarray, start: int, stop: int) -> Potential:
        """Draws ``start`` to ``stop - 1`` of some rows, one row after the other: ``(rows draws, n, d)``."""
        n = self.field.values.shape[1]
        mixed = orders(self.seed, n, start, stop) if self.orders is None else self.orders[start:stop]
        values = self.field.values[rows][:, mixed].reshape(-1, *self.field.values.shape[1:])
        scale, undefined = (np.repeat(one[rows], len(mixed)) for one in (self.field.scale, self.field.undefined))
        return Potential(values, self.field.metric, scale, undefined)


@dataclass(frozen=True, eq=False)
class RotatedSignals:
    """Random signals with the same mean and covariance of columns, and no preferred direction among nodes."""

    values: np.ndarray  # (T, n, d)
    metric: str
    seed: int

    def draw(self, rows: np.ndarray, start: int, stop: int) -> Potential:
        """As of :class:`PermutedSignals`."""
        first, last = start // BLOCK, -(-stop // BLOCK)
        cut = slice(start - first * BLOCK, stop - first * BLOCK)
        drawn = [np.concatenate([self._block(row, number) for number in range(first, last)])[cut] for row in rows]
        return potential(Signal(np.concatenate(drawn), None), self.metric, "zero")

    def _block(self, row: int, number: int) -> np.ndarray:
        return rotate_signal(self.values[[row]], BLOCK, np.random.default_rng([self.seed, 0x5EC, row, number]))[0]


@dataclass(frozen=True, eq=False)
class GivenSignals:
    """Signals to compare with, such as those of untrained models: the same for every snapshot."""

    field: Potential  # (draws, n, d), or (draws C, n, 1) for C columns that are signals of their own
    columns: int = 1

    @property
    def total(self) -> int:
        """Number of draws."""
        return len(self.field) // self.columns

    def draw(self, rows: np.ndarray, start: int, stop: int) -> Potential:
        """As of :class:`PermutedSignals`; a row is compared with its own column."""
        where = (np.arange(start, stop) * self.columns + (rows % self.columns)[:, None]).ravel()
        one = self.field
        return Potential(np.ascontiguousarray(one.values[where]), one.metric, one.scale[where], one.undefined[where])


Surrogates = PermutedSignals | RotatedSignals | GivenSignals


def rotate_signal(values: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw signals with the same mean and covariance of columns: ``(S, n, d) -> (S, draws, n, d)``.

    The centred signal is turned by a Haar-random rotation of the space orthogonal to the constants: no direction
    there, and so no eigencomponent, is preferred.
    """
    mean = values.mean(axis=1, keepdims=True)
    out = np.empty((len(values), draws, *values.shape[1:]))
    for s, centred in enumerate(values - mean):
        _, singular, right = np.linalg.svd(centred, full_matrices=False)
        rank = min(len(singular), len(centred) - 1)
        gauss = rng.standard_normal((draws, len(centred), rank))
        gauss -= gauss.mean(axis=1, keepdims=True)
        frame, triangle = np.linalg.qr(gauss)
        frame *= np.sign(np.einsum("dkk->dk", triangle))[:, None, :]  # makes the frame Haar distributed
        out[s] = mean[s] + (frame * singular[:rank]) @ right[:rank]
    return out
