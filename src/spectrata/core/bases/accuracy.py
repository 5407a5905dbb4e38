r"""How far magnitudes of eigenspaces can be from those of the exact eigenspaces, from what ``verify`` measured.

With the residual :math:`r_i = A u_i - \lambda_i u_i` and an exact eigenpair :math:`(\mu_j, v_j)`,
:math:`v_j^T u_i = v_j^T r_i / (\mu_j - \lambda_i)`: a computed eigenspace S leans towards another eigenspace by the
residual over the gap (Davis and Kahan 1970). Of a projected signal with the energies :math:`a_j^2` it then takes up at
most

.. math:: \sqrt{\sum_{i \in S} \|r_i\|^2 \sum_{j \notin S} a_j^2 / (\mu_j - \lambda_i)^2}

by Cauchy's inequality. To this come the lack of orthonormality inside S and the rounding of the sums. Terms of second
order in residual over gap are left out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spectrata.core.bases.basis import sum_rounding

WINDOW = 4  # eigenspaces on each side whose energies count at their own gap; those farther off count at the next gap
SMALLEST = 1e-150  # a gap below is none


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Measured errors of the components of a graph, arrays ``(N,)``, or of stacked graphs, ``(g, n)``."""

    values: np.ndarray  # eigenvalues, ascending
    spaces: np.ndarray  # their eigenspaces
    is_zero: np.ndarray
    residual: np.ndarray  # bounds on the norms of residuals
    gram: np.ndarray  # the same of rows of U^T U - I
    rounding: float  # of a sum, relative
    beyond: float = np.inf  # components that are not here lie past it; NaN where that is not known

    def errors(self, magnitude: np.ndarray, off: np.ndarray, whole: np.ndarray, power: float = 0.0) -> np.ndarray:
        """Bounds on the errors of merged magnitudes ``(T, n)``, at each component that of its eigenspace.

        The first axis are snapshots, or the graphs of a stack. Magnitudes times ``lam^power`` are lengths of
        projections; ``off`` and ``whole``, ``(T,)``, are the energies of what was projected, off zero and with it.
        """
        values, n = self.values.ravel(), self.values.shape[-1]
        graph = np.repeat(np.arange(len(values) // n), n)
        opens = np.concatenate([[True], (np.diff(self.spaces.ravel()) != 0) | (np.diff(graph) != 0)])
        starts = np.flatnonzero(opens)  # (E,) first component of each eigenspace, and how many it has
        sizes = np.diff(starts, append=len(values))
        is_zero, graph = self.is_zero.ravel()[starts], graph[starts]
        residual, gram = (np.sqrt(np.add.reduceat(one.ravel() ** 2, starts)) for one in (self.residual, self.gram))
        lengths = magnitude.reshape(-1, len(values)) * values**power
        off, whole = (energy.reshape(len(lengths), -1)[:, graph] for energy in (off, whole))  # (T, E)
        energy = np.add.reduceat(lengths**2, starts, axis=1)
        low, high = values[starts], values[starts + sizes - 1]
        beside = self._beside(np.where(is_zero, 0.0, energy), off, low, high, residual, graph)
        leaning = np.minimum(
            residual * np.sqrt(beside), np.sqrt(np.maximum(energy, off))
        )  # no length exceeds the whole
        error = np.where(is_zero, 0.0, leaning)  # the null vectors are known, and taken off first
        error += gram * np.sqrt(energy) + self.rounding * np.sqrt(whole)
        if power:
            scale = np.where(is_zero, 0.0, 1.0 / np.where(is_zero, 1.0, low))
            shift = power * (residual + high - low) * scale  # of the eigenvalue, relative
            error = (error + np.sqrt(energy) * shift) * scale**power
        return np.repeat(error, sizes, axis=1).reshape(magnitude.shape)

    def _beside(self, energy: np.ndarray, off: np.ndarray, *spaces: np.ndarray) -> np.ndarray:
        """``sum_j a_j^2 / gap_j^2`` over the other eigenspaces of the graph, from above: ``(T, E) -> (T, E)``."""
        low, high, residual, graph = spaces
        sums, far = np.zeros_like(energy), np.minimum(abs(self.beyond - low), abs(self.beyond - high))
        for step in range(1, WINDOW + 2):
            above, below = slice(step, None), slice(None, -step)
            gap = low[above] - high[below] - residual[above] - residual[below]
            gap = np.where(graph[above] == graph[below], np.maximum(gap, SMALLEST), np.inf)
            for here, there in ((above, below), (below, above)):
                if step <= WINDOW:
                    sums[:, here] += energy[:, there] * gap**-2.0
                else:
                    far[here] = np.minimum(far[here], gap)
        return sums + off * np.maximum(far, SMALLEST) ** -2.0


def accuracy_of(basis: Any) -> Accuracy | None:
    """The accuracy of the eigenspaces of one graph, or of stacked graphs; None where nothing was measured."""
    if basis.column_residual is None or basis.column_gram is None:
        return None
    spaces, gram, beyond = basis.eigenspace, basis.column_gram, np.inf
    if not basis.is_whole:  # a part of an eigenspace is not a magnitude of its own
        spaces, beyond = spaces - spaces[0], basis.beyond
        gram = np.where(np.bincount(spaces)[spaces] == basis.multiplicity, gram, np.nan)
    rounding = sum_rounding(basis.n_nodes, basis.dtype)
    return Accuracy(basis.values, spaces, basis.is_zero, basis.column_residual, gram, rounding, beyond)
