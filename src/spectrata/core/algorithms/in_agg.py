"""IN-AGG: incidence aggregation based transform (Algorithm 3).

Each node takes the weighted mean gradient of its edges, nodes without an edge take 0, and the magnitudes are those of
this real-valued signal.
"""

from spectrata.core.algorithms.options import Options
from spectrata.core.hop import Hop, Output
from spectrata.kernels import edge_sums


def in_agg(hop: Hop, options: Options) -> Output:
    """Magnitudes ``abs(phi_i^T C f)``, ``f(v)`` the mean gradient over the edges of ``v``."""
    coefficients, energy = hop.project(hop.node_means()[:, :, None])
    return Output(edge_sums.lengths(coefficients), energy=energy)
