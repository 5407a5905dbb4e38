"""ADJ-DIFF: adjacent difference based transform (Algorithm 4).

The inner product of the gradient with ``abs(phi_i(x) - phi_i(y))`` over the edges. Divided by ``sqrt(lam_i)``
(``scaling="unit"``) each difference vector has length 1, which is what the published figures show;
``scaling="program"`` divides by ``sqrt(n)`` too, as the released program does. The text prints a division by
``lam_i`` (``scaling="eigenvalue"``), undefined at zero eigenvalues.
"""

import math

import numpy as np

from spectrata.core.algorithms.options import Options
from spectrata.core.hop import UNDEFINED_AT_ZERO, Hop, Output


def adj_diff(hop: Hop, options: Options) -> Output:
    """Magnitudes ``sum_e w g(e) abs(phi_i(x) - phi_i(y))``, scaled."""
    sums = hop.difference_sums[0]
    if options.scaling == "eigenvalue":
        return Output(hop.over_eigenvalues(sums, at_zero=np.nan), UNDEFINED_AT_ZERO, power=1.0)
    # At zero eigenvalues the difference vector is set to all ones, of length sqrt(sum w).
    flat = hop.edge_sum(hop.gradient) / hop.total_weight**0.5
    unit = hop.over_eigenvalues(sums, power=0.5) + hop.at_zero(flat)
    return Output(unit / math.sqrt(hop.n_nodes) if options.scaling == "program" else unit, power=0.5)
