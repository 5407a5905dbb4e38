"""p-values of pair sums: random orders of the nodes, as many as a cell needs, and distributions matched to moments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spectrata.kernels.pair_sums import Rows, Squares, lane_sums

BATCH, MOST = 2**23, 5000  # numbers per batch of permuted signals, and draws, between which a cell may stop
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


class Orders:
    """Pair sums of one signal ``(n, d)`` whose nodes are in random orders; the same orders for the same seed."""

    def __init__(self, rows: Sequence[Rows], t: np.ndarray, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
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

    def batches(self, draws: int) -> Iterator[np.ndarray]:
        """Orders of the nodes ``(c, n)``, in batches that fit."""
        n, fit = len(self.t), max(1, min(MOST, BATCH // self.width))
        for done in range(0, draws, fit):
            count = min(fit, draws - done)
            yield self.rng.permuted(np.broadcast_to(np.arange(n), (count, n)), axis=1)

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
    max_draws: int, seed: int,
) -> Drawn:  # fmt: skip
    r"""Two-sided p of one signal's pair sums ``(H,)``, by random orders of its nodes ``(n, d)``.

    An order is as extreme as the observed one when its sum is at least as far from the exact mean. After ``draws``
    orders :math:`p = (1 + count) / (1 + draws)`. Where that is below .01, orders follow until ``h`` of them were as
    extreme: then :math:`p = h / l`, ``l`` the number of the last one (Besag and Clifford 1991); or until ``max_draws``.
    Such a p is valid: under the null it is at most ``a`` with probability at most ``a``.
    """
    far = np.abs(observed - mean)
    limit = far - TIE * far - FLOOR * mean  # ties count
    count, used = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), draws)
    third = np.zeros(len(rows))
    source = Orders(rows, t, seed)
    for orders in source.batches(draws):
        off = source.sums(orders) - mean
        count += np.sum(np.abs(off) >= limit, axis=0)
        third += np.sum((off / np.where(std > 0, std, 1.0)) ** 3, axis=0)
    p = (1.0 + count) / (1 + draws)
    active = np.flatnonzero((p < CONFIRM) & (std > 0))
    stop = max(EXTREME, int(np.ceil(CONFIRM * (draws + 1))))
    done = draws
    source.choose([rows[h] for h in active.tolist()])
    for orders in source.batches(max_draws - draws if len(active) else 0):
        off = source.sums(orders) - mean[active]
        reached = count[active] + np.cumsum(np.abs(off) >= limit[active], axis=0)  # (c, active)
        over = reached[-1] >= stop
        last = done + 1 + np.argmax(reached >= stop, axis=0)
        done += len(orders)
        count[active] = reached[-1]
        p[active] = np.where(over, stop / last, (1.0 + count[active]) / (1 + done))
        used[active] = np.where(over, last, done)
        if over.any():
            active = active[~over]
            if not len(active):
                break
            source.choose([rows[h] for h in active.tolist()])
    return Drawn(np.where(std > 0, p, 1.0), np.where(std > 0, used, 0), third / draws)


def moments_p(z: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Two-sided p of a Pearson type III distribution (a shifted gamma) with mean 0, variance 1 and this skewness.

    Examples
    --------
    >>> moments_p(np.array([2.0, 2.0, -2.0]), np.array([0.0, 0.5, 0.5])).round(4).tolist()
    [0.0455, 0.0413, 0.0413]
    """
    from scipy.stats import pearson3

    far, bend = np.abs(z), np.clip(np.nan_to_num(skewness), -20.0, 20.0)
    with np.errstate(invalid="ignore"):
        found = pearson3.sf(far, bend) + pearson3.cdf(-far, bend)
    return np.where(np.isnan(z), np.nan, np.clip(found, np.finfo(float).tiny, 1.0))


def agreement(p: np.ndarray, drawn: np.ndarray, draws: np.ndarray) -> float:
    """Share of p-values inside the 99 % interval that the draws give; NaN where there are none."""
    from scipy.stats import beta

    known = ~np.isnan(p) & ~np.isnan(drawn) & (draws > 0)
    p, drawn, draws = p[known], drawn[known], draws[known]
    count = np.round(drawn * (draws + 1) - 1)
    lower = np.where(count > 0, beta.ppf(0.005, count, draws - count + 1), 0.0)
    upper = np.where(count < draws, beta.ppf(0.995, count + 1, np.maximum(draws - count, 1)), 1.0)
    return float(np.mean((p >= lower) & (p <= upper))) if len(p) else np.nan
