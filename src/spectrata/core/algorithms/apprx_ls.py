"""APPRX-LS: linear approximation based transform (Algorithm 2).

The least-squares solution of ``B f = g`` is ``f = L^+ B^T g``, so that its
transform needs no SVD: ``u_i^T f = u_i^T div / lam_i`` with ``div = B^T g``, and 0
at zero eigenvalues. It depends on the orientation of every edge. The text draws
orientations uniformly at random; with independent signs the mean of the squared
magnitude is ``sum_e g(e)^2 (u_i(x) - u_i(y))^2 / lam_i^2``, which is the default.
"""

from typing import Any

import numpy as np

from spectrata.core.algorithms.base import Hop, Output
from spectrata.core.algorithms.options import Options
from spectrata.kernels import fast
from spectrata.kernels.backend import like, to_numpy


def apprx_ls(hop: Hop, options: Options) -> Output:
    """Magnitudes ``abs(U^T f)`` of the least-squares signal, and how badly it fits."""
    if options.orientation == "rms":
        return _mean_over_orientations(hop)
    flow = hop.gradient
    if options.orientation == "random":
        flow = flow * like(hop.random(purpose=1).choice([-1.0, 1.0], size=flow.shape[1]), flow)
    return _one_orientation(hop, flow)


def _mean_over_orientations(hop: Hop) -> Output:
    magnitude = hop.over_eigenvalues(hop.xp.sqrt(hop.difference_sums[1]))
    if hop.basis.cut is not None:
        return Output(magnitude)  # the fit takes all components
    # The fitted flow and the residual are orthogonal, and norm(B f)^2 = sum lam (u^T f)^2.
    total = hop.xp.sum(hop.gradient**2, axis=1)
    missing = total - magnitude**2 @ hop.eigenvalues
    return _with_residual(magnitude, hop.xp.sqrt(hop.xp.where(missing > 0, missing, 0 * missing)), total**0.5)


def _one_orientation(hop: Hop, flow: Any) -> Output:
    x, y = hop.stratum.edges[:, 0], hop.stratum.edges[:, 1]
    source = hop.basis.project(
        fast.divergence(hop.stratum.edges, flow, hop.stratum.n_nodes).T
    )  # (T, n) -> (n, T)
    coefficients = hop.over_eigenvalues(source.T)
    if hop.basis.cut is not None:
        return Output(hop.xp.abs(coefficients))
    f = hop.basis.rebuild(coefficients.T).T
    misfit = f[:, x] - f[:, y] - flow
    norms = [hop.xp.sqrt(hop.xp.sum(array**2, axis=1)) for array in (misfit, flow)]
    return _with_residual(hop.xp.abs(coefficients), *norms)


def _with_residual(magnitude: Any, residual: Any, total: Any) -> Output:
    """Attach ``norm(B f - g) / norm(g)``: 0 when the system of Fact 1 has a solution, at most 1."""
    residual, total = to_numpy(residual), to_numpy(total)
    relative = np.divide(residual, total, out=np.zeros_like(residual), where=total > 0.0)
    return Output(magnitude, extras={"ls_residual": (("snapshot",), relative)})
