"""APPRX-LS: linear approximation based transform (Algorithm 2).

The least-squares solution of ``B f = g`` is ``f = L^+ B^T g``, so that its
transform needs no SVD: ``u_i^T f = u_i^T div / lam_i`` with ``div = B^T g``, and 0
at zero eigenvalues. It depends on the orientation of every edge. The text draws
orientations uniformly at random; with independent signs the mean of the squared
magnitude is ``sum_e g(e)^2 (u_i(x) - u_i(y))^2 / lam_i^2``, which is the default.
"""

import numpy as np

from spectrata.kernels import fast
from spectrata.methods.base import Hop, Output
from spectrata.methods.options import Options


def apprx_ls(hop: Hop, options: Options) -> Output:
    """Magnitudes ``abs(U^T f)`` of the least-squares signal, and how badly it fits."""
    if options.orientation == "rms":
        return _mean_over_orientations(hop)
    flow = hop.gradient
    if options.orientation == "random":
        flow = flow * hop.random(purpose=1).choice([-1.0, 1.0], size=flow.shape[1])
    return _one_orientation(hop, flow)


def _mean_over_orientations(hop: Hop) -> Output:
    energy = hop.difference_sums[1]
    magnitude = np.divide(np.sqrt(energy), hop.basis.values, out=np.zeros_like(energy), where=~hop.basis.is_zero)
    # The fitted flow and the residual are orthogonal, and norm(B f)^2 = sum lam (u^T f)^2.
    total = np.sum(hop.gradient**2, axis=1)
    fitted = magnitude**2 @ hop.basis.values
    return _with_residual(magnitude, np.sqrt(np.maximum(total - fitted, 0.0)), np.sqrt(total))


def _one_orientation(hop: Hop, flow: np.ndarray) -> Output:
    edges, values = hop.stratum.edges, hop.basis.values[:, None]
    source = hop.basis.project(fast.divergence(edges, flow, hop.basis.n).T)  # (T, n) -> (n, T)
    coefficients = np.divide(source, values, out=np.zeros_like(source), where=~hop.basis.is_zero[:, None])
    f = hop.basis.rebuild(coefficients).T
    misfit = f[:, edges[:, 0]] - f[:, edges[:, 1]] - flow
    return _with_residual(
        np.abs(coefficients).T, np.linalg.norm(misfit, axis=1), np.linalg.norm(hop.gradient, axis=1)
    )


def _with_residual(magnitude: np.ndarray, residual: np.ndarray, total: np.ndarray) -> Output:
    """Attach ``norm(B f - g) / norm(g)``: 0 when the system of Fact 1 has a solution, at most 1."""
    relative = np.divide(residual, total, out=np.zeros_like(residual), where=total > 0.0)
    return Output(magnitude, extras={"ls_residual": (("snapshot",), relative)})
