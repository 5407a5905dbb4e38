r"""Likeness: the correlation between the two ends of a pair.

.. math:: r_K = \frac{\sum_{ij} W_{ij} \langle t_i - \mu, t_j - \mu\rangle}{\sum_i k_i \|t_i - \mu\|^2},
   \qquad k = W 1, \quad \mu = k^T t / \textstyle\sum k

At K = 1 it is the assortativity coefficient of numbers, and for labels adjusted homophily. Its parts by node,
:math:`r_i = \langle t_i - \mu, \sum_j W_{ij} (t_j - \mu)\rangle / \sum_i k_i \|t_i - \mu\|^2`, add up to it.
"""

import numpy as np

from spectrata.kernels import threads
from spectrata.kernels.edge_sums import pair_products, permuted_rows
from spectrata.stats.nulls.orders import order_batches
from spectrata.stats.observation import LARGE_PAIRS, Ends, Observation, moved

GRAM_WIDTH = 12  # columns from which on inner products of rows are read instead of made again for every order
GRAM_NODES = 6_000
COLUMNS_SHARE = 10  # separate columns are at least 20
BY_SUMS = 2**20  # numbers of a batch of orders
LANES, MOST_LANES = 8, 2**23  # orders of one column side by side: a pair reads two cache lines for all; their numbers
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
        return np.concatenate([self.of(obs, moved(obs, orders[part])) for part in obs.batches(orders)])


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
    """r from sums over permuted rows x, not over what is left of them less a mean; NaN where too many digits cancel.

    With covariates Q and y = x - Q Q^T x, every sum over y is one over x less sums over Q^T x. Inner products of wide
    vectors are read, so that the cost of an order hardly depends on the width. Of separate columns the pairs and the
    covariates change places instead, once for all columns.
    """
    pairs, n, wide = obs.pairs, obs.n, is_wide(obs)
    k, edges = pairs.participation, pairs.stratum.edges
    basis = np.empty((n, 0)) if obs.given is None else obs.given.basis[:, 1:]  # x has mean 0 in every order
    weighted = np.zeros_like(basis)
    weighted[pairs.nodes] = pairs.matrix @ basis[pairs.nodes]
    sums = np.ascontiguousarray(np.column_stack([k, basis, weighted, k[:, None] * basis]).T)  # (1 + 3 q, n)
    within, within_k, ends_of = basis.T @ weighted, basis.T @ (k[:, None] * basis), basis.T @ k
    places = [1, 1 + basis.shape[1], 1 + 2 * basis.shape[1]]
    squares = np.diag(obs.gram) if wide else obs.values**2
    total = (lambda each: each) if obs.separate else (lambda each: each.sum(axis=1))
    found = np.empty((len(orders), obs.width) if obs.separate else len(orders))
    size = sums.size + len(edges) if wide else sums.size if obs.separate else n
    lanes = 1 if wide or obs.separate else min(LANES, MOST_LANES // obs.values.size)
    step = max(1, lanes, BY_SUMS // size)

    def run(start: int) -> None:
        part = orders[start : start + step]
        if wide or obs.separate:
            back = np.empty_like(part)
            np.put_along_axis(back, part, np.broadcast_to(np.arange(n), part.shape), axis=1)
            moved_sums = sums.take(back.ravel(), axis=1).reshape(-1, n)  # (B + 3 q B, n): one product for all orders
            made = moved_sums @ obs.values
        if wide:
            x, y = part[:, edges[:, 0]], part[:, edges[:, 1]]
            products = 2 * (obs.gram.ravel()[x * n + y] @ pairs.weights)[:, None]  # (B, 1): tr x^T W x
            lengths = (squares[part] @ k)[:, None]
        elif obs.separate:
            products = 2 * pair_products(edges, pairs.weights, part, obs.values)
            lengths = moved_sums[: len(part)] @ squares
        else:
            x = permuted_rows(obs.values, part)  # (n, B d)
            made = sums @ x
            products = 2 * pair_products(edges, pairs.weights, np.arange(n)[None], x).reshape(len(part), -1)
            lengths = np.einsum("n,nf,nf->f", k, x, x, optimize=False).reshape(len(part), -1)
        made = made.reshape(-1, len(part), obs.width).transpose(1, 0, 2)  # (B, 1 + 3 q, d)
        ends, left, by_pair, by_k = np.split(made, places, axis=1)
        common = (ends[:, 0] - np.einsum("q,bqd->bd", ends_of, left)) ** 2 / pairs.total
        cross = total(products) - total(2 * _inner(left, by_pair) - _inner(left, within @ left) + common)
        variation = total(lengths) - total(2 * _inner(left, by_k) - _inner(left, within_k @ left) + common)
        clear = variation > np.maximum(obs.rounding**2 * pairs.total, CANCELLED * total(lengths))
        found[start : start + step] = cross / np.where(clear, variation, np.nan)

    with threads.blas_limit(1):
        threads.spread(run, range(0, len(orders), step))
    return found


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("bqd,bqd->bd", a, b)


def largest_pair(obs: Observation) -> np.ndarray:
    """The most that one pair adds to r of each of separate columns in any order: its two largest values together."""
    second, first = np.partition(np.abs(obs.values), -2, axis=0)[-2:]
    return 2 * obs.pairs.weights.max(initial=0.0) * first * second / moved(obs).variation[0]


def participation_ratio(obs: Observation) -> np.ndarray:
    """Endpoint variance over the variance of all n rows, divisor n - 1: Geary's ratio is this times 1 - r."""
    spread = np.where(obs.squares > 0, obs.squares, np.nan) / max(obs.n - 1, 1)
    return moved(obs).variation[0] / obs.pairs.total / spread


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
        centred = obs.values - self.k @ obs.values[self.nodes] / pairs.total
        self.own = centred[self.nodes]  # (m, d)
        self.variation = float(self.k @ np.sum(self.own**2, axis=1))
        self.moving = centred if residual is None else residual
        self.staying = None if residual is None else (centred - residual)[self.nodes]
        self.is_defined = bool(self.variation > obs.rounding**2 * pairs.total)
        variation = self.variation if self.is_defined else np.nan
        self.value = np.sum(self.own * (self.matrix @ self.own), axis=1) / variation  # r_i, (m,)
        length, spread = np.linalg.norm(self.own, axis=1), np.sqrt(variation / self.k.sum())
        # A size of r_i for each node, so that ties are told at the same scale; NaN for a node at the mean.
        known = length > np.maximum(obs.rounding, 1e-13)
        self.unit = np.where(known, length * self.k * spread / variation, np.nan)

    def permuted(self, start: int, stop: int, some: np.ndarray, seed: int) -> np.ndarray:
        """r_i over its unit for some nodes, by position, under orders ``start`` to ``stop - 1``: ``(B, s)``."""
        n, d = self.moving.shape
        found = np.empty((stop - start, len(some)))
        rows, nodes, place = self.matrix, self.nodes[some], np.full(n, -1)
        rows = rows if len(some) == len(self.nodes) else rows[some]
        place[self.nodes] = np.arange(len(self.nodes))
        for part, drawn in order_batches(seed, n, start, stop, self.blocks, d):
            moved = self.moving[drawn[:, self.nodes].T]  # (m, B, d)
            if self.staying is not None:
                moved = moved + self.staying[:, None]
            sums = (rows @ moved.reshape(len(moved), -1)).reshape(len(some), *moved.shape[1:])
            # A node keeps its own value: the neighbour that got it gets the value that the node got.
            back = np.empty_like(drawn)
            np.put_along_axis(back, drawn, np.broadcast_to(np.arange(n), drawn.shape), axis=1)
            holder = place[back[:, nodes]].T  # (s, B): which node with a pair holds the value of each
            weight = self.matrix[np.broadcast_to(some[:, None], holder.shape), np.maximum(holder, 0)]
            weight = np.where(holder >= 0, weight if isinstance(weight, np.ndarray) else weight.toarray(), 0.0)
            sums += weight[:, :, None] * (self.moving[drawn[:, nodes].T] - self.moving[nodes][:, None])  # (s, B, d)
            found[part] = np.einsum("sd,sbd->bs", self.own[some], sums)
        return found / (self.unit[some] * self.variation)
