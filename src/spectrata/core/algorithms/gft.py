"""GFT: the exact graph Fourier magnitudes of a vector-valued signal (an addition to the paper).

``M(i) = norm(u_i^T t)``, with ``t`` the signal whose plain differences have the
length of the gradient. For one dimension it is the classic transform; for any,
``sum lam M^2 = sum g^2``, and rotating the vectors changes nothing.
"""

from spectrata.core.algorithms.base import Hop, Output
from spectrata.core.algorithms.options import Options
from spectrata.kernels.backend import namespace
from spectrata.kernels.scaling import lengths


def gft(hop: Hop, options: Options) -> Output:
    """Magnitudes ``norm(u_i^T t)``."""
    xp = namespace(hop.potential)
    snapshots, n, dims = hop.potential.shape
    columns = xp.reshape(
        xp.permute_dims(hop.potential, (1, 0, 2)), (n, snapshots * dims)
    )  # (T, n, d) -> (n, T d)
    coefficients = xp.reshape(hop.basis.project(columns), (hop.basis.n, snapshots, dims))
    return Output(lengths(coefficients).T)
