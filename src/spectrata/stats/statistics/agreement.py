"""The correlation of two signals at the two ends of pairs, and at the same node."""

import numpy as np

from spectrata.core.strata import Stratum
from spectrata.stats.nulls.given import CovariateBasis
from spectrata.stats.observation import Pairs


def same_node(n: int) -> Pairs:
    """Hop 0: every node with itself."""
    every = np.arange(n)
    loops = np.column_stack([every, every])
    return Pairs(Stratum(0, n, loops), every, loops, np.full(n, 0.5))  # both ends of a pair add to W


class Agreement:
    """r_K of signals that move, such as surrogates, with C signals that stay, ``fixed (n, d, C)``.

    Differences below ``rounding`` are rounding, in both signals. Given covariates, ``fixed`` holds residuals, and
    signals that move are multiplied by I - H again.
    """

    def __init__(
        self, pairs: Pairs, fixed: np.ndarray, rounding: float = 0.0, given: CovariateBasis | None = None
    ) -> None:
        self.pairs, self.rounding, self.given = pairs, rounding, given
        centred, self.size = self._centred(fixed)
        self.form = (pairs.matrix @ centred.reshape(len(centred), -1)).reshape(-1, fixed.shape[2])  # (m d, C)

    def of(self, moving: np.ndarray) -> np.ndarray:
        """r of signals ``(n, d, B)`` with every fixed one, shape (B, C); NaN where one has no variance."""
        if self.given is not None:
            whole = moving.reshape(len(moving), -1)
            moving = (whole - self.given.basis @ (self.given.basis.T @ whole)).reshape(moving.shape)
        centred, size = self._centred(moving)
        products = centred.reshape(-1, centred.shape[2]).T @ self.form
        return products / (size[:, None] * self.size[None, :])

    def _centred(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Signals ``(n, d, B)`` at the nodes, less their endpoint means, and their norms in k ``(B,)``."""
        some, k, total = values[self.pairs.nodes], self.pairs.k, self.pairs.total
        some = some - (k @ some.reshape(len(some), -1) / total).reshape(some.shape[1:])
        size = np.sqrt(np.einsum("m,mdb,mdb->b", k, some, some, optimize=False))
        return some, np.where(size > self.rounding * np.sqrt(total), size, np.nan)
