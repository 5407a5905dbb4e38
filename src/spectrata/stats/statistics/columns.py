"""r_K of many columns at once: one order moves every column, and no column is copied."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from spectrata.kernels.pair_sums import Rows, lane_sums
from spectrata.stats.nulls.columns import run_columns
from spectrata.stats.nulls.given import EXPLAINED, Covariates, Given
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import Chance
from spectrata.stats.observation import Pairs

BLOCK = 2**24  # numbers of a block of columns
FIELDS = tuple(Chance.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class ColumnTests:
    """Both tests of C columns at H hops, arrays (C, H)."""

    value: np.ndarray
    chance: Chance
    value_given: np.ndarray
    given: Chance
    participation: np.ndarray
    moran: np.ndarray
    explained: np.ndarray


class Hop:
    """The pairs of one hop, and values (n, c) whose r is asked for under orders."""

    def __init__(self, pairs: Pairs, values: np.ndarray, rounding: np.ndarray, given: Given | None) -> None:
        x, y = pairs.nodes[pairs.ends.T]
        tails, starts = np.unique(x, return_index=True)  # pairs are sorted by their first node
        weights = None if pairs.stratum.weights is None else pairs.weights
        self.rows = Rows(tails, starts, np.append(starts[1:], len(x)), y, weights)
        self.k, self.total, self.values = pairs.participation, pairs.total, values
        self.least = rounding**2 * pairs.total
        self.given = given is not None
        if given is not None:
            basis = given.basis[:, 1:]  # residuals have mean 0 in every order
            paired = np.zeros_like(basis)
            paired[pairs.nodes] = pairs.matrix @ basis[pairs.nodes]
            by_k = self.k[:, None] * basis
            self.sums = np.column_stack([self.k, basis, by_k - paired, by_k])  # (n, 1 + 3 q)
            self.inside = basis.T @ (by_k - paired), basis.T @ by_k, basis.T @ self.k

    def r(self, order: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """r of some columns under one order, shape (c,)."""
        values = self.values if len(columns) == self.values.shape[1] else self.values[:, columns]
        rows = self.rows._replace(tails=order[self.rows.tails], indices=order[self.rows.indices])
        apart = lane_sums([rows], values)[0]  # sum w (t(x) - t(y))^2
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        lengths = self.k[back] @ values**2
        if self.given:
            made = self.sums[back].T @ values  # (1 + 3 q, c)
            q = len(self.inside[2])
            left = made[1 : 1 + q]
            apart = apart + np.sum(left * (self.inside[0] @ left - 2 * made[1 + q : 1 + 2 * q]), axis=0)
            lengths = lengths + np.sum(left * (self.inside[1] @ left - 2 * made[1 + 2 * q :]), axis=0)
            ends = made[0] - self.inside[2] @ left
        else:
            ends = self.k[back] @ values
        variation = lengths - ends**2 / self.total
        return 1 - apart / np.where(variation > self.least[columns], variation, np.nan)


def run_column_tests(
    values: np.ndarray,
    rounding: float,
    pairs: Sequence[Pairs],
    covariates: Covariates | None,
    at: tuple[int, ...],
    seed: int,
) -> ColumnTests:
    """Test r of every column at some hops; snapshots of a column are one family with its hops.

    Parameters
    ----------
    values : ndarray, shape (T, n, C)
    rounding : float
        Relative rounding error of the values.
    pairs : sequence of Pairs
        One for each hop.
    covariates : Covariates, optional
    at : tuple of int
        From ``nulls.stopping.looks``.
    seed : int

    Returns
    -------
    ColumnTests
        Arrays (C, T * H).
    """
    step = max(64, BLOCK // values[..., 0].size)
    starts = range(0, values.shape[2], step)
    made = [_block(values[..., one : one + step], rounding, pairs, covariates, at, seed) for one in starts]

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(one, name) for one in made])

    def nulls(null: str) -> Chance:
        return Chance(*(np.concatenate([getattr(getattr(one, null), name) for one in made]) for name in FIELDS))

    rest = [joined(name) for name in ("participation", "moran", "explained")]
    return ColumnTests(joined("value"), nulls("chance"), joined("value_given"), nulls("given"), *rest)


def _block(
    values: np.ndarray,
    rounding: float,
    pairs: Sequence[Pairs],
    covariates: Covariates | None,
    at: tuple[int, ...],
    seed: int,
) -> ColumnTests:
    free, beyond, explained, facts = [], [], [], []
    known = [] if covariates is None else [covariates.at(one.participation) for one in pairs]
    for snapshot in values:
        centred, error = _centred(snapshot, rounding)
        for h, one in enumerate(pairs):
            free.append(Hop(one, centred, error, None))
            facts.append(_plain_statistics(free[-1]))
            if known:
                left = known[h].residual(centred)
                small = np.maximum(error, EXPLAINED * np.sqrt(np.mean(centred**2, axis=0)))
                beyond.append(Hop(one, left, small, known[h]))
                explained.append(np.sqrt(np.mean(left**2, axis=0)) <= small)
    value, chance = _against(free, None, at, seed)
    participation, moran = (np.column_stack(some) for some in zip(*facts, strict=True))
    if covariates is None:
        nothing, no = np.full(value.shape, np.nan), np.zeros(value.shape, dtype=bool)
        given = run_columns(nothing, partial(_draw, free, None, seed), ())
        return ColumnTests(value, chance, nothing, given, participation, moran, no)
    lost = np.column_stack(explained)
    value_given, given = _against(beyond, covariates.blocks, at, seed, lost)
    return ColumnTests(value, chance, value_given, given, participation, moran, lost)


def _centred(values: np.ndarray, rounding: float) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, c) less their means, largest entry 1, and their rounding; constant columns become 0."""
    centred = values - values.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    error = 8 * rounding * np.abs(values).max(axis=0)
    flat = largest <= error
    unit = np.where(flat, 1.0, largest)
    return np.where(flat, 0.0, centred / unit), np.where(flat, 1.0, error / unit)


def _plain_statistics(hop: Hop) -> tuple[np.ndarray, np.ndarray]:
    """Participation ratio and Moran's I of every column."""
    values, k, total = hop.values, hop.k, hop.total
    n, everyone = len(values), np.arange(values.shape[1])
    spread = np.sum(values**2, axis=0)
    spread = np.where(spread > 0, spread, np.nan)
    lengths, ends = k @ values**2, k @ values
    variation = lengths - ends**2 / total
    products = hop.r(np.arange(n), everyone) * variation + ends**2 / total
    return variation / total / spread * max(n - 1, 1), products / total / spread * n


def _against(
    hops: Sequence[Hop], blocks: np.ndarray | None, at: tuple[int, ...], seed: int, lost: np.ndarray | None = None
) -> tuple[np.ndarray, Chance]:
    n, width = hops[0].values.shape
    value = np.column_stack([hop.r(np.arange(n), np.arange(width)) for hop in hops])
    if lost is not None:
        value = np.where(lost, np.nan, value)
    return value, run_columns(value, partial(_draw, hops, blocks, seed), at)


def _draw(
    hops: Sequence[Hop], blocks: np.ndarray | None, seed: int, start: int, stop: int, columns: np.ndarray
) -> np.ndarray:
    """r under orders ``start`` to ``stop - 1``: ``(B, c, H)``."""
    n = len(hops[0].values)
    found = np.empty((stop - start, len(columns), len(hops)))
    own = [hop if len(columns) == hop.values.shape[1] else _some(hop, columns) for hop in hops]
    everyone = np.arange(len(columns))
    step = max(1, 2**22 // n)
    for first in range(start, stop, step):
        made = orders(seed, n, first, min(stop, first + step), blocks)
        for row, order in enumerate(made):
            for h, hop in enumerate(own):
                found[first - start + row, :, h] = hop.r(order, everyone)
    return found


def _some(hop: Hop, columns: np.ndarray) -> Hop:
    """The same hop with some of its columns, copied once for many orders."""
    made = object.__new__(Hop)
    made.__dict__.update(hop.__dict__, values=np.ascontiguousarray(hop.values[:, columns]), least=hop.least[columns])
    return made
