"""GFT: the exact graph Fourier magnitudes of a vector-valued signal (an addition to the paper).

``M(i) = norm(phi_i^T C t)``, with ``t`` the signal whose plain differences have the length of the gradient. For one
dimension it is the classic transform; for any, ``sum lam M^2 = sum w g^2``, and rotating the vectors changes nothing.
"""

from spectrata.core.algorithms.options import Options
from spectrata.core.hop import Hop, Output
from spectrata.kernels import edge_sums


def gft(hop: Hop, options: Options) -> Output:
    """Magnitudes ``norm(phi_i^T C t)``."""
    coefficients, energy = hop.project(hop.potential)
    return Output(edge_sums.lengths(coefficients), energy=energy)
