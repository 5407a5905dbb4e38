"""ADJ-DIFF: adjacent difference based transform (Algorithm 4).

The inner product of the gradient with ``abs(u_i(x) - u_i(y))`` over the edges.
Divided by ``sqrt(lam_i)`` (``scaling="unit"``) each difference vector has length 1,
which is what the published figures show; the text prints a division by ``lam_i``
(``scaling="eigenvalue"``), undefined at zero eigenvalues.
"""

import numpy as np

from spectrata.methods.base import OK, UNDEFINED_AT_ZERO, Hop, Output
from spectrata.methods.options import Options


def adj_diff(hop: Hop, options: Options) -> Output:
    """Magnitudes ``sum_e g(e) abs(u_i(x) - u_i(y))``, scaled."""
    zero, values = hop.basis.is_zero, hop.basis.values
    if options.scaling == "unit":
        # At zero eigenvalues the difference vector is set to all ones, of length sqrt(m).
        flat = hop.gradient.sum(axis=1) / np.sqrt(hop.stratum.n_edges)
        length, status = np.sqrt(values), OK
    else:
        flat = np.full(len(hop.gradient), np.nan)
        length, status = values, UNDEFINED_AT_ZERO
    magnitude = np.repeat(flat[:, None], hop.basis.n, axis=1)
    np.divide(hop.difference_sums[0], length, out=magnitude, where=~zero)
    return Output(magnitude, status)
