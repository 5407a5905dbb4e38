r"""How far magnitudes of eigenspaces can be from those of the exact eigenspaces, from what ``verify`` measured.

With the residual :math:`r_i = A u_i - \lambda_i u_i` and an exact eigenpair :math:`(\mu_j, v_j)`,
:math:`v_j^T u_i = v_j^T r_i / (\mu_j - \lambda_i)`: a computed eigenspace S leans towards another eigenspace by the
residual over the gap (Davis and Kahan 1970). Of a projected signal with the energies :math:`a_j^2` it then takes up at
most

.. math:: \sqrt{\sum_{i \in S} \|r_i\|^2 \sum_{j \notin S} a_j^2 / (\mu_j - \lambda_i)^2}

by Cauchy's inequality. To this come the lack of orthonormality inside S and the rounding of the sums. Terms of second
order in residual over gap are left out.
"""

import numpy as np

from spectrata.core.bases.basis import EigenBasis, sum_rounding

WINDOW = 4  # eigenspaces on each side whose energies count at their own gap; those farther off count at the next gap
SMALLEST = 1e-150  # a gap below is none


class Accuracy:
    """Eigenspaces one after the other, those of several graphs graph by graph, and what was measured of each.

    Made from arrays over components, ``(N,)``, or ``(g, n)`` of stacked graphs: eigenvalues, eigenspaces, which are 0,
    bounds on residuals and on rows of ``U^T U - I``; ``rounding`` is that of a sum, relative. Components that are not
    here lie past ``beyond``: infinite where all are here, NaN where it is not known.
    """

    def __init__(
        self,
        values: np.ndarray,
        spaces: np.ndarray,
        is_zero: np.ndarray,
        residual: np.ndarray,
        gram: np.ndarray,
        rounding: float,
        beyond: float = np.inf,
    ) -> None:
        n = values.shape[-1]
        graph = np.repeat(np.arange(values.size // n), n)
        opens = np.concatenate([[True], (np.diff(spaces.ravel()) != 0) | (np.diff(graph) != 0)])
        self.starts = np.flatnonzero(opens)  # (E,) first component of each eigenspace, and how many it has
        self.sizes = np.diff(self.starts, append=values.size)
        self.values, self.is_zero, self.graph = values.ravel(), is_zero.ravel()[self.starts], graph[self.starts]
        of_space = (np.sqrt(np.add.reduceat(one.ravel() ** 2, self.starts)) for one in (residual, gram))
        self.residual, self.gram = of_space  # (E,)
        self.rounding, self.beyond = rounding, beyond

    def errors(self, magnitude: np.ndarray, off: np.ndarray, whole: np.ndarray, power: float = 0.0) -> np.ndarray:
        """Bounds on the errors of merged magnitudes ``(T, n)``, at each component that of its eigenspace.

        The first axis are snapshots, or the graphs of a stack. Magnitudes times ``lam^power`` are lengths of
        projections; ``off`` and ``whole``, ``(T,)``, are the energies of what was projected, off zero and with it.
        """
        lengths = magnitude.reshape(-1, len(self.values)) * self.values**power
        off, whole = (energy.reshape(len(lengths), -1)[:, self.graph] for energy in (off, whole))  # (T, E)
        energy = np.add.reduceat(lengths**2, self.starts, axis=1)
        low, high = self.values[self.starts], self.values[self.starts + self.sizes - 1]
        leaning = self.residual * np.sqrt(self._beside(np.where(self.is_zero, 0.0, energy), off, low, high))
        leaning = np.minimum(leaning, np.sqrt(np.maximum(energy, off)))  # no length exceeds the whole
        error = np.where(self.is_zero, 0.0, leaning)  # the null vectors are known, and taken off first
        error += self.gram * np.sqrt(energy) + self.rounding * np.sqrt(whole)
        if power:
            scale = np.where(self.is_zero, 0.0, 1.0 / np.where(self.is_zero, 1.0, low))
            shift = power * (self.residual + high - low) * scale  # of the eigenvalue, relative
            error = (error + np.sqrt(energy) * shift) * scale**power
        return np.repeat(error, self.sizes, axis=1).reshape(magnitude.shape)

    def _beside(self, energy: np.ndarray, off: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """``sum_j a_j^2 / gap_j^2`` over the other eigenspaces of the graph, from above: ``(T, E) -> (T, E)``."""
        sums, far = np.zeros_like(energy), np.minimum(abs(self.beyond - low), abs(self.beyond - high))
        for step in range(1, WINDOW + 2):
            above, below = slice(step, None), slice(None, -step)
            gap = low[above] - high[below] - self.residual[above] - self.residual[below]
            gap = np.where(self.graph[above] == self.graph[below], np.maximum(gap, SMALLEST), np.inf)
            for here, there in ((above, below), (below, above)):
                if step <= WINDOW:
                    sums[:, here] += energy[:, there] * gap**-2.0
                else:
                    far[here] = np.minimum(far[here], gap)
        return sums + off * np.maximum(far, SMALLEST) ** -2.0


def accuracy_of(basis: EigenBasis) -> Accuracy | None:
    """The accuracy of the eigenspaces of one graph; None where nothing was measured."""
    if basis.column_residual is None or basis.column_gram is None:
        return None
    beyond = np.inf if basis.is_whole else basis.beyond
    spaces = basis.eigenspace - basis.eigenspace[0]
    whole = np.bincount(spaces)[spaces] == basis.multiplicity
    gram = np.where(whole, basis.column_gram, np.nan)  # a part of an eigenspace is not a magnitude of its own
    rounding = sum_rounding(basis.n_nodes, basis.dtype)
    return Accuracy(basis.values, spaces, basis.is_zero, basis.column_residual, gram, rounding, beyond)
