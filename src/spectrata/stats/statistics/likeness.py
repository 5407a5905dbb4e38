"""Likeness r, the correlation between the two ends of a pair, of one signal, by node, and of two signals.

The formulas stand at :func:`spectrata.correlogram`, :func:`spectrata.local` and :func:`spectrata.agree`.
"""

import numpy as np

from spectrata.core.strata import Stratum
from spectrata.kernels import arrays, threads
from spectrata.kernels.backend import NUMPY, to_numpy
from spectrata.kernels.edge_sums import pair_products
from spectrata.stats.nulls.orders import inverse, order_batches
from spectrata.stats.observation import LARGE_PAIRS, Ends, Observation, Pairs, moved

GRAM_WIDTH = 12  # columns from which on inner products of rows are read instead of made again for every order
GRAM_NODES = 6_000  # up to which they are kept: 288 MB
COLUMNS_SHARE = 10  # separate columns are at least 20
BY_SUMS = 2**20  # numbers of a batch of orders
LANES, MOST_LANES = 8, 2**23  # orders of one column side by side: a pair reads two cache lines for all; their numbers
AT_MEAN = 1e-13  # of the largest value: a node no farther from the mean is at it, up to rounding
CANCELLED = 1e-4  # share of the squares below which their sum less that of the mean has lost digits


class Statistic:
    """A number computed from a signal at the ends of pairs."""

    name: str

    def of(self, obs: Observation, ends: Ends) -> np.ndarray:
        """The statistic of B orders, shape (B,); of separate columns (B, d)."""
        raise NotImplementedError

    def value(self, obs: Observation) -> np.ndarray:
        """The statistic as observed, one number or one for each of separate columns."""
        return np.where(obs.is_explained, np.nan, self.of(obs, moved(obs))[0])

    def permuted(self, obs: Observation, orders: np.ndarray) -> np.ndarray:
        parts = threads.slices(len(orders), obs.values.size)
        return np.concatenate([self.of(obs, moved(obs, orders[part])) for part in parts])


class Likeness(Statistic):
    """r_K, for numbers, vectors and labels alike."""

    name = "r"

    def of(self, obs: Observation, ends: Ends) -> np.ndarray:
        flat = ends.values.reshape(len(ends.values), -1)
        products = np.einsum("mf,mf->f", flat, obs.pairs.matrix @ flat).reshape(ends.values.shape[1:])
        return (products if obs.separate else products.sum(axis=1)) / ends.variation

    def permuted(self, obs: Observation, orders: np.ndarray) -> np.ndarray:
        """r under orders; of wide vectors and on many pairs by sums over the values as they are."""
        # Compiled code is worth it for many pairs; many columns share what an order costs.
        size = (obs.n + len(obs.pairs.ends)) * (COLUMNS_SHARE if obs.separate else 1)
        if not is_wide(obs) and size < LARGE_PAIRS:
            return super().permuted(obs, orders)
        found = by_sums(obs, orders)
        again = np.flatnonzero(np.isnan(found).reshape(len(orders), -1).any(axis=1))
        found[again] = super().permuted(obs, orders[again]) if len(again) else found[again]
        return found


def is_wide(obs: Observation) -> bool:
    """Whether inner products of rows are read instead of made again for every order."""
    return not obs.separate and obs.width >= GRAM_WIDTH and obs.n <= GRAM_NODES


def by_sums(obs: Observation, orders: np.ndarray) -> np.ndarray:
    """r from sums over permuted rows x, without subtracting their mean first; NaN where too many digits cancel.

    With covariates Q and y = x - Q Q^T x, every sum over y is one over x less sums over Q^T x.
    """
    pairs, sums, wide, away = obs.pairs, obs.sums, is_wide(obs), obs.pairs.backend != NUMPY
    q = len(sums) // 3
    k, basis, weighted, weighted_k = np.split(sums, [1, 1 + q, 1 + 2 * q])
    within, within_k, basis_ends = basis @ weighted.T, basis @ weighted_k.T, basis @ k[0]
    total = (lambda each: each) if obs.separate else (lambda each: each.sum(axis=1))
    found = np.empty((len(orders), obs.width) if obs.separate else len(orders))
    if away:
        add, step = _on_device, arrays.BLOCK // obs.values.size
    elif wide:
        add, step = _of_wide, BY_SUMS // (sums.size + len(pairs.ends))
    elif obs.separate:
        add, step = _of_columns, BY_SUMS // sums.size
    else:
        add, step = _of_signal, max(BY_SUMS // obs.n, min(LANES, MOST_LANES // obs.values.size))
    step = max(1, step)

    def run(start: int) -> None:
        part = orders[start : start + step]
        made, products, lengths = add(obs, part)
        made = made.reshape(-1, len(part), obs.width).transpose(1, 0, 2)  # (B, 1 + 3 q, d)
        ends, left, by_pair, by_k = np.split(made, [1, 1 + q, 1 + 2 * q], axis=1)
        common = (ends[:, 0] - np.einsum("q,bqd->bd", basis_ends, left)) ** 2 / pairs.total
        cross = total(2 * products) - total(2 * _inner(left, by_pair) - _inner(left, within @ left) + common)
        variation = total(lengths) - total(2 * _inner(left, by_k) - _inner(left, within_k @ left) + common)
        clear = variation > np.maximum(obs.rounding**2 * pairs.total, CANCELLED * total(lengths))
        found[start : start + step] = cross / np.where(clear, variation, np.nan)

    starts = range(0, len(orders), step)
    with threads.share(1) if away else threads.blas_limit(1):  # one thread feeds a device
        threads.spread(run, starts)
    return found


# Under B orders of x: ``obs.sums @ x``, the sum of w x(i) x(j) over pairs, and the sum of k x^2.
OrderSums = tuple[np.ndarray, np.ndarray, np.ndarray]


def _of_signal(obs: Observation, part: np.ndarray) -> OrderSums:
    """Orders side by side."""
    edges, rows = obs.pairs.stratum.edges, obs.sums
    x = obs.values.take(part.T, axis=0).reshape(obs.n, -1)  # (n, B d)
    products = pair_products(edges, obs.pairs.weights, np.arange(obs.n)[None], x).reshape(len(part), -1)
    return rows @ x, products, np.einsum("n,nf,nf->f", rows[0], x, x, optimize=False).reshape(len(part), -1)


def _of_columns(obs: Observation, part: np.ndarray) -> OrderSums:
    """Pairs and covariates change places instead of the values, once for all columns."""
    rows = _moved_back(obs, part)
    products = pair_products(obs.pairs.stratum.edges, obs.pairs.weights, part, obs.values)
    return rows @ obs.values, products, rows[: len(part)] @ obs.values**2


def _of_wide(obs: Observation, part: np.ndarray) -> OrderSums:
    """Inner products of wide vectors are read, so that the cost of an order hardly depends on the width."""
    x, y = (part[:, end] for end in obs.pairs.stratum.edges.T)
    products = (obs.gram.ravel()[x * obs.n + y] @ obs.pairs.weights)[:, None]  # (B, 1): tr x^T W x / 2
    return _moved_back(obs, part) @ obs.values, products, (np.diag(obs.gram)[part] @ obs.sums[0])[:, None]


def _moved_back(obs: Observation, part: np.ndarray) -> np.ndarray:
    """The rows of ``obs.sums`` under the inverse orders, all of the first row first: ``((1 + 3 q) B, n)``."""
    return obs.sums.take(inverse(part).ravel(), axis=1).reshape(-1, obs.n)


def _on_device(obs: Observation, part: np.ndarray) -> OrderSums:
    edges, weights, sums, values = obs.on_device
    found = arrays.permuted_sums(edges, weights, sums, values, obs.pairs.backend.asarray(part))
    made, products, lengths = map(to_numpy, found)
    return made, products.reshape(len(part), -1), lengths.reshape(len(part), -1)


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("bqd,bqd->bd", a, b)


def largest_pair(obs: Observation) -> np.ndarray:
    """The most that one pair adds to r of each of separate columns in any order: its two largest values together."""
    second, first = np.partition(np.abs(obs.values), -2, axis=0)[-2:]
    return 2 * obs.pairs.weights.max(initial=0.0) * first * second / moved(obs).variation[0]


def participation_ratio(obs: Observation) -> np.ndarray:
    """Endpoint variance over the variance of all n rows, divisor n - 1: Geary's ratio is this times 1 - r."""
    return moved(obs).variation[0] / obs.pairs.total / (obs.squares / (obs.n - 1))


def moran(obs: Observation) -> np.ndarray:
    """Moran's I of single numbers: the same products about the plain mean of all rows, over the plain variance."""
    values = obs.values[obs.pairs.nodes]
    products = np.sum(values * (obs.pairs.matrix @ values), axis=0 if obs.separate else None)
    return products / obs.pairs.total / (np.where(obs.squares > 0, obs.squares, np.nan) / obs.n)


class LocalLikeness:
    """r_i of the nodes that have a pair, and their values under orders of the other nodes, within ``blocks (n,)``.

    A node keeps its value and the others change places; the mean and the denominator stay as observed. ``residual
    (n, d)`` is what covariates leave of the values; then only the residuals of neighbours change places.
    """

    def __init__(self, obs: Observation, residual: np.ndarray | None = None, blocks: np.ndarray | None = None) -> None:
        pairs, self.blocks = obs.pairs, blocks
        self.nodes, self.matrix, self.k = pairs.nodes, pairs.matrix, pairs.k
        ends = moved(obs)
        self.own, self.variation = ends.values[:, 0], float(ends.variation[0])  # (m, d)
        centred = obs.values - self.k @ obs.values[self.nodes] / pairs.total
        self.moving = centred if residual is None else residual
        self.staying = 0.0 if residual is None else (centred - residual)[self.nodes, None]  # (m, 1, d)
        self.value = np.sum(self.own * (self.matrix @ self.own), axis=1) / self.variation  # r_i, (m,)
        length, spread = np.linalg.norm(self.own, axis=1), np.sqrt(self.variation / pairs.total)
        # A size of r_i for each node, so that ties are told at the same scale; NaN for a node at the mean.
        known = length > np.maximum(obs.rounding, AT_MEAN)
        self.unit = np.where(known, length * self.k * spread / self.variation, np.nan)

    def permuted(self, start: int, stop: int, some: np.ndarray, seed: int) -> np.ndarray:
        """r_i over its unit for some nodes, by position, under orders ``start`` to ``stop - 1``: ``(B, s)``."""
        n, d = self.moving.shape
        found = np.empty((stop - start, len(some)))
        rows, nodes, place = self.matrix, self.nodes[some], np.full(n, -1)
        rows = rows if len(some) == len(self.nodes) else rows[some]
        place[self.nodes] = np.arange(len(self.nodes))
        for part, drawn in order_batches(seed, n, start, stop, self.blocks, d):
            ends = self.moving[drawn[:, self.nodes].T]  # (m, B, d)
            ends += self.staying
            sums = (rows @ ends.reshape(len(ends), -1)).reshape(len(some), *ends.shape[1:])
            # A node keeps its own value: the neighbour that got it gets the value that the node got.
            holder = place[inverse(drawn)[:, nodes]].T  # (s, B): which node with a pair holds the value of each
            weight = self.matrix[np.broadcast_to(some[:, None], holder.shape), np.maximum(holder, 0)]
            weight = np.where(holder >= 0, weight if isinstance(weight, np.ndarray) else weight.toarray(), 0.0)
            sums += weight[:, :, None] * (self.moving[drawn[:, nodes].T] - self.moving[nodes][:, None])  # (s, B, d)
            found[part] = np.einsum("sd,sbd->bs", self.own[some], sums)
        return found / (self.unit[some] * self.variation)


def same_node(n: int) -> Pairs:
    """Hop 0: every node with itself; both ends of a pair add to W."""
    return Pairs(Stratum(0, n, np.repeat(np.arange(n), 2).reshape(n, 2), np.full(n, 0.5)))


class Agreement:
    """r_K of signals that move, such as surrogates, with C signals that stay, ``fixed (n, d, C)``.

    Differences below ``rounding`` are rounding, in both signals. Given covariates, ``fixed`` holds residuals, and
    signals that move are multiplied by I - H again.
    """

    def __init__(self, pairs: Pairs, fixed: np.ndarray, rounding: float = 0.0, given: np.ndarray | None = None) -> None:
        self.pairs, self.rounding, self.given = pairs, rounding, given
        centred, self.size = self._centred(fixed)
        self.form = (pairs.matrix @ centred.reshape(len(centred), -1)).reshape(-1, fixed.shape[2])  # (m d, C)

    def of(self, moving: np.ndarray) -> np.ndarray:
        """r of signals ``(n, d, B)`` with every fixed one, shape (B, C); NaN where one has no variance."""
        if self.given is not None:
            whole = moving.reshape(len(moving), -1)
            moving = (whole - self.given @ (self.given.T @ whole)).reshape(moving.shape)
        centred, size = self._centred(moving)
        products = centred.reshape(-1, centred.shape[2]).T @ self.form
        return products / (size[:, None] * self.size[None, :])

    def _centred(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signals ``(n, d, B)`` at the nodes, less their endpoint means, and their norms in k ``(B,)``."""
        some, k, total = values[self.pairs.nodes], self.pairs.k, self.pairs.total
        some = some - (k @ some.reshape(len(some), -1) / total).reshape(some.shape[1:])
        size = np.sqrt(np.einsum("m,mdb,mdb->b", k, some, some, optimize=False))
        return some, np.where(size > self.rounding * np.sqrt(total), size, np.nan)
