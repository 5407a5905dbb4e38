r"""Likeness of every node with its neighbours: the parts of r_K by node.

.. math:: r_i = \frac{\langle t_i - \mu, \sum_j W_{ij} (t_j - \mu)\rangle}{\sum_i k_i \|t_i - \mu\|^2}, \qquad
   \sum_i r_i = r_K

Under the null the node keeps its value and the others change places; the mean and the denominator stay as observed.
"""

import numpy as np

from spectrata.stats.nulls.orders import order_batches
from spectrata.stats.observation import Observation


class LocalLikeness:
    """r_i of the nodes that have a pair, and their values under orders of the other nodes, within ``blocks (n,)``.

    ``residual (n, d)`` is what covariates leave of the values; then only the residuals of neighbours change places.
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
