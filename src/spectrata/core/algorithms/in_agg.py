"""IN-AGG: incidence aggregation based transform (Algorithm 3).

Each node takes the mean gradient of its edges, nodes without an edge take 0, and
the magnitudes are those of this real-valued signal.
"""

import numpy as np

from spectrata.core.algorithms.base import Hop, Output
from spectrata.core.algorithms.options import Options
from spectrata.kernels import fast
from spectrata.kernels.backend import like


def in_agg(hop: Hop, options: Options) -> Output:
    """Magnitudes ``abs(U^T f)``, ``f(v)`` the mean gradient over the edges of ``v``."""
    sums = fast.node_sums(hop.stratum.edges, hop.gradient, hop.stratum.n_nodes)  # (T, m) -> (T, n)
    means = sums / like(np.maximum(hop.stratum.degrees, 1), sums)
    return Output(hop.xp.abs(hop.basis.project(means.T)).T)
