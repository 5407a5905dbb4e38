r"""Agreement of two signals at a hop: the correlation of one at one end of a pair with the other at the other end.

.. math:: r_K(a, b) = \frac{\sum_{ij} W_{ij} \langle a_i - \mu_a, b_j - \mu_b\rangle}
   {\sqrt{\sum_i k_i \|a_i - \mu_a\|^2 \, \sum_i k_i \|b_i - \mu_b\|^2}}

At hop 0 W is the identity and k = 1: the plain correlation of two columns.
"""

import numpy as np

from spectrata.core.strata import Stratum
from spectrata.stats.observation import Pairs


def same_node(n: int) -> Pairs:
    """Hop 0: every node with itself."""
    every = np.arange(n)
    loops = np.column_stack([every, every])
    return Pairs(Stratum(0, n, loops), every, loops, np.full(n, 0.5))  # both ends of a pair add to W


class Agreement:
    """r_K of signals that move, such as surrogates, with C signals that stay, ``fixed (n, d, C)``.

    Differences below ``rounding`` are rounding, in both signals.
    """

    def __init__(self, pairs: Pairs, fixed: np.ndarray, rounding: float = 0.0) -> None:
        self.pairs, self.rounding = pairs, rounding
        centred, self.size = self._centred(fixed)
        self.form = (pairs.matrix @ centred.reshape(len(centred), -1)).reshape(-1, fixed.shape[2])  # (m d, C)

    def of(self, moving: np.ndarray) -> np.ndarray:
        """r of signals ``(n, d, B)`` with every fixed one, shape (B, C); NaN where one has no variance."""
        centred, size = self._centred(moving)
        products = centred.reshape(-1, centred.shape[2]).T @ self.form
        return products / (size[:, None] * self.size[None, :])

    def _centred(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signals ``(n, d, B)`` at the nodes, less their endpoint means, and their norms in k ``(B,)``."""
        some, k, total = values[self.pairs.nodes], self.pairs.k, self.pairs.total
        some = some - (k @ some.reshape(len(some), -1) / total).reshape(some.shape[1:])
        size = np.sqrt(np.einsum("m,mdb,mdb->b", k, some, some, optimize=False))
        return some, np.where(size > self.rounding * np.sqrt(total), size, np.nan)
