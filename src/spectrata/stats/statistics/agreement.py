r"""Agreement of two signals at a hop: the correlation of one at one end of a pair with the other at the other end.

.. math:: r_K(a, b) = \frac{\sum_{ij} W_{ij} \langle a_i - \mu_a, b_j - \mu_b\rangle}
   {\sqrt{\sum_i k_i \|a_i - \mu_a\|^2 \, \sum_i k_i \|b_i - \mu_b\|^2}}

At hop 0 W is the identity and k = 1: the plain correlation of two columns.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.stats.observation import Pairs


@dataclass(frozen=True, eq=False)
class Ends:
    """Which nodes meet at a hop: W and its row sums k on the nodes that have a pair."""

    hop: Any
    nodes: np.ndarray
    matrix: Any  # None for the identity
    k: np.ndarray
    n_pairs: int

    @classmethod
    def same_node(cls, n: int) -> "Ends":
        """Hop 0: every node with itself."""
        return cls(0, np.arange(n), None, np.ones(n), n)

    @classmethod
    def of(cls, pairs: Pairs) -> "Ends":
        """The pairs of a hop."""
        return cls(pairs.hop, pairs.nodes, pairs.matrix, pairs.k, len(pairs.ends))

    def centred(self, values: np.ndarray, rounding: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Signals ``(n, d, B)`` at the nodes, less their endpoint means, and their norms in k ``(B,)``.

        A norm is NaN where the values differ by no more than ``rounding``.
        """
        some = values[self.nodes]
        m, d, count = some.shape
        total = self.k.sum()
        some = some - (self.k @ some.reshape(m, -1) / total).reshape(d, count)
        size = np.sqrt(np.einsum("m,mdb,mdb->b", self.k, some, some, optimize=False))
        return some, np.where(size > rounding * np.sqrt(total), size, np.nan)

    def weighted(self, centred: np.ndarray) -> np.ndarray:
        """W times centred signals ``(m, d, B)``."""
        if self.matrix is None:
            return centred
        return (self.matrix @ centred.reshape(len(centred), -1)).reshape(centred.shape)


class Agreement:
    """r_K of signals that move, such as surrogates, with C signals that stay.

    Parameters
    ----------
    ends : Ends
    fixed : ndarray, shape (n, d, C)
    rounding : float
        Differences below it are rounding, in both signals.
    """

    def __init__(self, ends: Ends, fixed: np.ndarray, rounding: float = 0.0) -> None:
        self.ends, self.rounding = ends, rounding
        centred, self.size = ends.centred(fixed, rounding)
        weighted = ends.weighted(centred)
        self.form = weighted.reshape(-1, weighted.shape[2])  # (m d, C)

    def of(self, moving: np.ndarray) -> np.ndarray:
        """r of signals ``(n, d, B)`` with every fixed one, shape (B, C); NaN where one has no variance."""
        centred, size = self.ends.centred(moving, self.rounding)
        products = centred.reshape(-1, centred.shape[2]).T @ self.form
        return products / (size[:, None] * self.size[None, :])
