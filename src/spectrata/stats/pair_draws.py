"""p-values of pair sums: random orders of the nodes, as many as a cell needs, and distributions matched to moments."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.kernels.pair_sums import Rows, Squares, lane_sums
from spectrata.stats import sequential
from spectrata.stats.tails import SKEWED

BATCH, MOST = 2**23, 5000  # numbers per batch of permuted signals, and draws, between which a cell may stop
CHUNK = 256  # orders made at once, where so many fit
# Cells below this p get more draws, as far as max_draws, until so many were as extreme as what was observed.
CONFIRM, EXTREME = 0.01, 20
# Two deviations are tied when they differ by less than this share of themselves, or of the mean.
TIE, FLOOR = 1e-9, 1e-12
# Draws of vectors with more dimensions than this read all squared distances, which is then faster, up to so many
# nodes and hops.
GRAM_RANK, GRAM_NODES, GRAM_HOPS = 4, 6000, 255


@dataclass(frozen=True, eq=False)
class Drawn:
    """What the draws of one signal gave, arrays ``(H,)``."""

    p: np.ndarray
    draws: np.ndarray
    skewness: np.ndarray  # of the first draws


class Stream:
    """Random orders of ``n`` nodes; the first ones are made once, for as many signals as follow.

    Examples
    --------
    >>> stream = Stream(4, 0)
    >>> bool((next(stream.chunks()) == next(stream.chunks())).all())
    True
    """

    def __init__(self, n: int, seed: int) -> None:
        self.n, self.rng = n, np.random.default_rng(seed)
        self.size = max(1, min(CHUNK, BATCH // n))
        self.kept: list[np.ndarray] = []

    def chunks(self) -> Iterator[np.ndarray]:
        """Orders from the first one on, ``(c, n)`` each time."""
        for index in range(BATCH // (self.size * self.n)):
            if index == len(self.kept):
                self.kept.append(self._made(self.rng))
            yield self.kept[index]
        rng = copy.deepcopy(self.rng)
        while True:
            yield self._made(rng)

    def _made(self, rng: np.random.Generator) -> np.ndarray:
        return rng.permuted(np.broadcast_to(np.arange(self.n), (self.size, self.n)), axis=1)


class Orders:
    """Pair sums of one signal ``(n, d)`` whose nodes are in random orders; the same orders for the same seed."""

    def __init__(self, rows: Sequence[Rows], t: np.ndarray, seed: int | Stream) -> None:
        stream = seed if isinstance(seed, Stream) else Stream(len(t), seed)
        self.chunks, self.left = stream.chunks(), np.empty((0, len(t)), dtype=np.int64)
        self.t = rotated(t)
        n, rank = self.t.shape
        dense = rank > GRAM_RANK and n <= GRAM_NODES and len(rows) <= GRAM_HOPS
        dense = dense and not any(one.twice for one in rows)
        self.squares = squared_distances(self.t) if dense else None
        self.width = n if dense else self.t.size
        self.choose(rows)

    def choose(self, rows: Sequence[Rows]) -> None:
        """Read these hops from now on."""
        self.rows = rows
        self.known = None if self.squares is None else Squares(rows, self.squares)

    def batches(self, draws: int, every: sequential.Orders | None = None) -> Iterator[np.ndarray]:
        """Random orders of the nodes ``(c, n)``, or every order there is, in batches that fit."""
        fit = max(1, min(MOST, BATCH // self.width))
        for done in range(0, draws, fit):
            stop = min(draws, done + fit)
            yield self._taken(stop - done) if every is None else every.take(done, stop)

    def _taken(self, count: int) -> np.ndarray:
        pieces = [self.left]
        while sum(map(len, pieces)) < count:
            pieces.append(next(self.chunks))
        made = np.concatenate(pieces)
        self.left = made[count:]
        return made[:count]

    def sums(self, orders: np.ndarray) -> np.ndarray:
        """Pair sums of each order, ``(c, H)``."""
        if self.known is not None:
            return self.known.sums(orders)
        drawn = self.t[orders.T]  # (n, c, r)
        sums = lane_sums(self.rows, drawn.reshape(len(self.t), -1))
        return sums.reshape(len(self.rows), len(orders), -1).sum(axis=2).T


def squared_distances(t: np.ndarray) -> np.ndarray:
    """Squared distances between all rows of a centred signal: ``(n, d) -> (n, n)``."""
    size = np.einsum("nd,nd->n", t, t)
    squares = np.maximum(size[:, None] + size - 2 * (t @ t.T), 0.0)
    np.fill_diagonal(squares, 0.0)
    return squares


def rotated(t: np.ndarray) -> np.ndarray:
    """A centred signal with the same distances in as few columns as it has dimensions: ``(n, d) -> (n, rank)``."""
    if t.shape[1] <= 1:
        return t
    left, size, _ = np.linalg.svd(t, full_matrices=False)
    rank = max(1, int(np.count_nonzero(size > 1e-14 * size[0] * max(t.shape))))
    return left[:, :rank] * size[:rank]


def drawn_p(
    rows: Sequence[Rows], t: np.ndarray, observed: np.ndarray, mean: np.ndarray, std: np.ndarray, draws: int,
    most: np.ndarray, seed: int | Stream, matched: bool = False,
) -> Drawn:  # fmt: skip
    r"""Two-sided p of one signal's pair sums ``(H,)``, by random orders of its nodes ``(n, d)``.

    p is twice that of the smaller tail: sums of squares have a long upper tail and a short lower one. After ``draws``
    orders the p of a tail is :math:`(1 + count) / (1 + draws)`, ties counted. Where p is below .01, orders follow until
    ``h`` of them were as extreme: then the tail has :math:`h / l`, ``l`` the number of the last one (Besag and Clifford
    1991); or until the hop had ``most (H,)``. Such a p is valid: under the null it is at most ``a`` with probability at
    most ``a``. With ``matched``, only skewed cells get more orders: the others have a p from their moments. Where all
    orders of the nodes are no more than ``most``, each counts once and p is exact.
    """
    every = sequential.Orders(len(t), (), max(draws, int(most.max())))
    if every.exhaustive:
        draws, most = every.total, np.full(len(rows), every.total)
    tie = TIE * np.abs(observed - mean) + FLOOR * mean
    tails = np.zeros((2, len(rows)), dtype=np.int64)  # sums at most, and at least, the observed one
    used, third = np.full(len(rows), draws), np.zeros(len(rows))
    source = Orders(rows, t, seed)
    for orders in source.batches(draws, every if every.exhaustive else None):
        off = source.sums(orders) - observed
        tails += [np.sum(off <= tie, axis=0), np.sum(off >= -tie, axis=0)]
        third += np.sum(((off + observed - mean) / np.where(std > 0, std, 1.0)) ** 3, axis=0)
    side, count = np.where(tails[0] <= tails[1], 1.0, -1.0), tails.min(axis=0)
    p = 2 * (1.0 + count) / (1 + draws)
    skewness = third / draws
    active = np.flatnonzero((p < CONFIRM) & (std > 0) & ~(matched & (np.abs(skewness) <= SKEWED)))
    stop = max(EXTREME, int(np.ceil(CONFIRM / 2 * (draws + 1))))
    done = draws
    for limit in np.unique(most[active]).tolist():
        active = active[most[active] > done]
        source.choose([rows[h] for h in active.tolist()])
        for orders in source.batches(limit - done if len(active) else 0):
            off = side[active] * (source.sums(orders) - observed[active])
            reached = count[active] + np.cumsum(off <= tie[active], axis=0)  # (c, active)
            over = reached[-1] >= stop
            last = done + 1 + np.argmax(reached >= stop, axis=0)
            done += len(orders)
            count[active] = reached[-1]
            p[active] = 2 * np.where(over, stop / last, (1.0 + count[active]) / (1 + done))
            used[active] = np.where(over, last, done)
            if over.any():
                active = active[~over]
                if not len(active):
                    break
                source.choose([rows[h] for h in active.tolist()])
    return Drawn(np.where(std > 0, np.minimum(p, 1.0), 1.0), np.where(std > 0, used, 0), skewness)


def block_p(
    rows: Sequence[Rows], t: np.ndarray, observed: np.ndarray, mean: np.ndarray, draws: int, seed: Any
) -> np.ndarray:
    """Two-sided p of many scalar signals ``(n, c)``, all in the same random orders; ``observed (c, H) -> (c, H)``."""
    rng = np.random.default_rng(seed)
    tie = TIE * np.abs(observed - mean) + FLOOR * mean
    tails = np.zeros((2, *observed.shape), dtype=np.int64)
    n, columns = t.shape
    fit = max(1, BATCH // t.size)
    for done in range(0, draws, fit):
        orders = rng.permuted(np.broadcast_to(np.arange(n), (min(fit, draws - done), n)), axis=1)
        sums = lane_sums(rows, t[orders.T].reshape(n, -1))  # (n, orders, c) -> (H, orders * c)
        off = sums.reshape(len(rows), len(orders), columns).transpose(1, 2, 0) - observed
        tails += [np.sum(off <= tie, axis=0), np.sum(off >= -tie, axis=0)]
    return np.minimum(1.0, 2 * (1.0 + tails.min(axis=0)) / (1 + draws))


def moments_p(z: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Twice the smaller tail of a Pearson type III distribution with mean 0, variance 1 and this skewness.

    Examples
    --------
    >>> moments_p(np.array([2.0, 2.0, -2.0]), np.array([0.0, 0.5, 0.5])).round(4).tolist()
    [0.0455, 0.0688, 0.0165]
    """
    from scipy.stats import pearson3

    bend = np.clip(np.nan_to_num(skewness), -20.0, 20.0)
    with np.errstate(invalid="ignore"):
        found = 2 * np.minimum(pearson3.sf(z, bend), pearson3.cdf(z, bend))
    return np.where(np.isnan(z), np.nan, np.clip(found, np.finfo(float).tiny, 1.0))


def agreement(p: np.ndarray, drawn: np.ndarray, draws: np.ndarray) -> float:
    """Share of two-sided p-values inside the 99 % interval that the draws give; NaN where there are none."""
    from scipy.stats import beta

    known = ~np.isnan(p) & ~np.isnan(drawn) & (draws > 0)
    p, drawn, draws = p[known] / 2, drawn[known] / 2, draws[known]
    count = np.round(drawn * (draws + 1) - 1)
    lower = np.where(count > 0, beta.ppf(0.005, count, draws - count + 1), 0.0)
    upper = np.where(count < draws, beta.ppf(0.995, count + 1, np.maximum(draws - count, 1)), 1.0)
    return float(np.mean((p >= lower) & (p <= upper))) if len(p) else np.nan
