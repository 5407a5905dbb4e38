"""ADJ-DIFF: adjacent difference based transform (Algorithm 4).

The inner product of the gradient with ``abs(u_i(x) - u_i(y))`` over the edges.
Divided by ``sqrt(lam_i)`` (``scaling="unit"``) each difference vector has length 1,
which is what the published figures show; the text prints a division by ``lam_i``
(``scaling="eigenvalue"``), undefined at zero eigenvalues.
"""

import math

import numpy as np

from spectrata.core.algorithms.base import UNDEFINED_AT_ZERO, Hop, Output
from spectrata.core.algorithms.options import Options


def adj_diff(hop: Hop, options: Options) -> Output:
    """Magnitudes ``sum_e g(e) abs(u_i(x) - u_i(y))``, scaled."""
    sums = hop.difference_sums[0]
    if options.scaling == "eigenvalue":
        return Output(hop.over_eigenvalues(sums, at_zero=np.nan), UNDEFINED_AT_ZERO)
    # At zero eigenvalues the difference vector is set to all ones, of length sqrt(m).
    flat = hop.xp.sum(hop.gradient, axis=1) / math.sqrt(hop.stratum.n_edges)
    return Output(hop.over_eigenvalues(sums, power=0.5) + flat[:, None] * hop.is_zero)
