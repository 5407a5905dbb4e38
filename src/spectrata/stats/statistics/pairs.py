r"""Likeness: the correlation between the two ends of a pair.

.. math:: r_K = \frac{\sum_{ij} W_{ij} \langle t_i - \mu, t_j - \mu\rangle}{\sum_i k_i \|t_i - \mu\|^2},
   \qquad k = W 1, \quad \mu = k^T t / \textstyle\sum k

At K = 1 it is the assortativity coefficient of numbers, and for labels adjusted homophily.
"""

import numpy as np

from spectrata.stats.observation import Ends, Observation, moved

GRAM_WIDTH = 12  # columns from which on inner products of rows are read instead of made again for every order
GRAM_NODES = 6_000


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
        """r under orders; of wide vectors from their inner products."""
        if not obs.separate and obs.width >= GRAM_WIDTH and obs.n <= GRAM_NODES:
            return by_gram(obs, orders)
        return super().permuted(obs, orders)


def by_gram(obs: Observation, orders: np.ndarray) -> np.ndarray:
    """r of wide vectors from their inner products: the cost of an order hardly depends on the width.

    With x the permuted rows, covariates Q and y = x - Q Q^T x, every sum over y is one over x less sums over Q^T x.
    """
    pairs, n = obs.pairs, obs.n
    flat = obs.gram.ravel()
    squares = np.diag(obs.gram)
    x, y = pairs.nodes[pairs.ends.T]
    k = pairs.participation
    basis = np.full((n, 1), 1 / np.sqrt(n)) if obs.given is None else obs.given.basis
    weighted = np.zeros_like(basis)
    weighted[pairs.nodes] = pairs.matrix @ basis[pairs.nodes]
    sums = np.column_stack([k, basis, weighted, k[:, None] * basis])  # (n, 1 + 3 q)
    inside = (basis.T @ weighted, basis.T @ (k[:, None] * basis), basis.T @ k)
    found = np.empty(len(orders))
    step = max(1, 2**20 // max(len(x), sums.size))
    for start in range(0, len(orders), step):
        part = orders[start : start + step]
        products = flat[part[:, x] * n + part[:, y]] @ (2 * pairs.weights)  # tr x^T W x
        back = np.empty_like(part)
        np.put_along_axis(back, part, np.broadcast_to(np.arange(n), part.shape), axis=1)
        q = basis.shape[1]
        made = np.matmul(sums[back].transpose(0, 2, 1), obs.values)  # (B, 1 + 3 q, d)
        ends, left, by_pair, by_k = made[:, 0], made[:, 1 : 1 + q], made[:, 1 + q : 1 + 2 * q], made[:, 1 + 2 * q :]
        if obs.given is None:  # the rows have mean 0 in every order
            left = np.zeros_like(left)
        cross = products - 2 * _inner(left, by_pair) + _inner(left, np.einsum("pq,bqd->bpd", inside[0], left))
        lengths = squares[part] @ k - 2 * _inner(left, by_k) + _inner(left, np.einsum("pq,bqd->bpd", inside[1], left))
        mean = ends - np.einsum("q,bqd->bd", inside[2], left)
        common = np.sum(mean**2, axis=1) / pairs.total
        variation = lengths - common
        variation = np.where(variation > obs.rounding**2 * pairs.total, variation, np.nan)
        found[start : start + step] = (cross - common) / variation
    return found


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("bqd,bqd->b", a, b)


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
