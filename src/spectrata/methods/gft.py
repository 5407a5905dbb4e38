"""GFT: the exact graph Fourier magnitudes of a vector-valued signal (an addition to the paper).

``M(i) = norm(u_i^T t)``, with ``t`` the signal whose plain differences have the
length of the gradient. For one dimension it is the classic transform; for any,
``sum lam M^2 = sum g^2``, and rotating the vectors changes nothing.
"""

import numpy as np

from spectrata.methods.base import Hop, Output
from spectrata.methods.options import Options


def gft(hop: Hop, options: Options) -> Output:
    """Magnitudes ``norm(u_i^T t)``."""
    snapshots, n, dims = hop.potential.shape
    columns = hop.potential.transpose(1, 0, 2).reshape(n, snapshots * dims)  # (T, n, d) -> (n, T d)
    coefficients = hop.basis.project(columns).reshape(n, snapshots, dims)
    return Output(np.linalg.norm(coefficients, axis=2).T)
