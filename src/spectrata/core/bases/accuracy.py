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
from functools import cached_property

import numpy as np

from spectrata.core.bases.basis import EigenBasis, sum_rounding

WINDOW = 4  # eigenspaces on each side whose energies count at their own gap; those farther off count at the next gap
SMALLEST = 1e-150  # a gap below is none


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Eigenspaces one after the other, those of several graphs graph by graph, and what was measured of each.

    Attributes
    ----------
    values : ndarray, shape (N,)
        Eigenvalues of the components.
    starts, sizes : ndarray, shape (E,)
        First component of each eigenspace, and how many it has.
    is_zero, graph : ndarray, shape (E,)
        Whether it has eigenvalue 0, and to which graph it belongs.
    residual, gram : ndarray, shape (E,)
        Bounds on the norm of its residuals and of its rows of ``U^T U - I``.
    rounding : float
        Relative rounding error of a sum.
    beyond : float
        Components that are not here lie past this eigenvalue; infinite where all are here, NaN where it is not known.
    """

    values: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray
    is_zero: np.ndarray
    graph: np.ndarray
    residual: np.ndarray
    gram: np.ndarray
    rounding: float
    beyond: float = np.inf

    def errors(self, magnitude: np.ndarray, off: np.ndarray, whole: np.ndarray, power: np.ndarray) -> np.ndarray:
        """Bounds on the errors of merged magnitudes ``(A, T, n)``, at each component that of its eigenspace.

        The second axis are snapshots, or the graphs of a stack. Magnitudes times ``lam^power``, ``(A,)``, are lengths
        of projections; ``off`` and ``whole``, ``(A, T)``, are the energies of what was projected, off zero and with it.
        """
        shape = magnitude.shape
        magnitude = magnitude.reshape(-1, len(self.values))
        off, whole = (energy.reshape(len(magnitude), -1) for energy in (off, whole))
        power = np.repeat(power, len(magnitude) // len(power))[:, None]
        lengths = magnitude * self.values**power
        energy = np.add.reduceat(lengths**2, self.starts, axis=1)  # (T, E)
        leaning = self.residual * np.sqrt(self._beside(np.where(self.is_zero, 0.0, energy), off))
        leaning = np.minimum(leaning, np.sqrt(np.maximum(energy, off[:, self.graph])))  # no length exceeds the whole
        error = np.where(self.is_zero, 0.0, leaning)  # the null vectors are known, and taken off first
        error += self.gram * np.sqrt(energy) + self.rounding * np.sqrt(whole[:, self.graph])
        if power.any():
            low, high = self._ends
            scale = np.where(self.is_zero, 0.0, 1.0 / np.where(self.is_zero, 1.0, low))
            shift = power * (self.residual + high - low) * scale  # of the eigenvalue, relative
            error = (error + np.sqrt(energy) * shift) * scale**power
        return np.repeat(error, self.sizes, axis=1).reshape(shape)

    def _beside(self, energy: np.ndarray, off: np.ndarray) -> np.ndarray:
        """``sum_j a_j^2 / gap_j^2`` over the other eigenspaces of the graph, from above: ``(T, E) -> (T, E)``."""
        sums, seen = np.zeros_like(energy), energy.copy()
        for step, (weight, alike) in enumerate(self._near, start=1):
            above, below = slice(step, None), slice(None, -step)
            for here, there in ((above, below), (below, above)):
                sums[:, here] += energy[:, there] * weight
                seen[:, here] += energy[:, there] * alike
        return sums + np.maximum(off[:, self.graph] - seen, 0.0) * self._far

    @cached_property
    def _near(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For 1, 2, ... eigenspaces up: ``1 / gap^2``, 0 from one graph to the next, and which are of one graph."""
        return [(np.where(gap < np.inf, gap**-2.0, 0.0), gap < np.inf) for gap in map(self._gap, range(1, WINDOW + 1))]

    @cached_property
    def _far(self) -> np.ndarray:
        """``1 / gap^2`` to what lies farther off, or is not here: ``(E,)``."""
        low, high = self._ends
        far = np.minimum(abs(self.beyond - low), abs(self.beyond - high))
        gap, step = self._gap(WINDOW + 1), WINDOW + 1
        far[step:], far[:-step] = np.minimum(far[step:], gap), np.minimum(far[:-step], gap)
        return np.maximum(far, SMALLEST) ** -2.0

    def _gap(self, step: int) -> np.ndarray:
        """Between each eigenspace and the one ``step`` below it, residuals taken off; infinite between two graphs."""
        low, high = self._ends
        gap = low[step:] - high[:-step] - self.residual[step:] - self.residual[:-step]
        return np.where(self.graph[step:] == self.graph[:-step], np.maximum(gap, SMALLEST), np.inf)

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest eigenvalue of each eigenspace, ``(E,)``."""
        return self.values[self.starts], self.values[self.starts + self.sizes - 1]


def accuracy_of(basis: EigenBasis) -> Accuracy | None:
    """The accuracy of the eigenspaces of one graph; None where nothing was measured."""
    if basis.column_residual is None or basis.column_gram is None:
        return None
    beyond = np.inf if basis.cut is None or basis.n == basis.n_nodes else basis.cut.beyond
    spaces = basis.eigenspace - basis.eigenspace[0]
    whole = np.bincount(spaces)[spaces] == basis.multiplicity
    gram = np.where(whole, basis.column_gram, np.nan)  # a part of an eigenspace is not a magnitude of its own
    rounding = sum_rounding(basis.n_nodes, basis.dtype)
    return make_accuracy(basis.values, spaces, basis.is_zero, basis.column_residual, gram, rounding, beyond)


def make_accuracy(
    values: np.ndarray,
    spaces: np.ndarray,
    is_zero: np.ndarray,
    residual: np.ndarray,
    gram: np.ndarray,
    rounding: float,
    beyond: float = np.inf,
) -> Accuracy:
    """From arrays over components, ``(N,)``, or ``(g, n)`` of stacked graphs."""
    n = values.shape[-1]
    graph = np.repeat(np.arange(values.size // n), n)
    values, spaces, is_zero, residual, gram = (array.ravel() for array in (values, spaces, is_zero, residual, gram))
    opens = np.concatenate([[True], (np.diff(spaces) != 0) | (np.diff(graph) != 0)])
    starts = np.flatnonzero(opens)
    return Accuracy(
        values=values,
        starts=starts,
        sizes=np.diff(starts, append=len(values)),
        is_zero=is_zero[starts],
        graph=graph[starts],
        residual=np.sqrt(np.add.reduceat(residual**2, starts)),
        gram=np.sqrt(np.add.reduceat(gram**2, starts)),
        rounding=rounding,
        beyond=beyond,
    )
