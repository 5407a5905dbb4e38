"""APPRX-LS: linear approximation based transform (Algorithm 2).

The least-squares solution of ``B f = g`` in the weights ``w`` has the transform ``phi_i^T B^T diag(w) g / lam_i``,
and 0 at zero eigenvalues: no SVD is needed. It depends on the orientation of every edge. The text draws orientations
uniformly at random; with independent signs the mean of the squared magnitude is ``sum_e w^2 g(e)^2 (phi_i(x) -
phi_i(y))^2 / lam_i^2``, the default.
"""

from dataclasses import replace

import numpy as np

from spectrata.core.algorithms.options import Options
from spectrata.core.hop import Extra, Hop, Output
from spectrata.kernels import edge_sums
from spectrata.kernels.backend import Array, to_numpy


def apprx_ls(hop: Hop, options: Options) -> Output:
    """Magnitudes of the least-squares signal, and how badly it fits."""
    if options.orientation == "rms":
        magnitude = hop.over_eigenvalues(edge_sums.root(hop.difference_sums[1]))
        found = Output(magnitude, energy=hop.difference_energy, power=1.0)
        if not (hop.diagnose and hop.is_whole):  # the fit takes all components
            return found
        # The fitted flow and the residual are orthogonal, and norm(B f)^2 = sum lam (phi^T C f)^2.
        total = hop.edge_norm(hop.gradient)
        missing = total**2 - hop.energy_on_edges(found.magnitude)
        missing = hop.xp.where(missing > 0, missing, hop.xp.zeros_like(missing))
        return _with_residual(found, edge_sums.root(missing), total)
    flow = hop.oriented_gradient(options.orientation)
    sums, energy = hop.project_divergence(flow)
    coefficients = hop.over_eigenvalues(sums)
    found = Output(hop.xp.abs(coefficients), energy=energy, power=1.0)
    if not (hop.diagnose and hop.is_whole):
        return found
    return _with_residual(found, hop.edge_norm(hop.misfit(coefficients, flow)), hop.edge_norm(flow))


def _with_residual(found: Output, residual: Array, total: Array) -> Output:
    """Attach ``norm(B f - g) / norm(g)``: 0 when the system of Fact 1 has a solution, at most 1."""
    residual, total = to_numpy(residual), to_numpy(total)
    relative = np.divide(residual, total, out=np.zeros_like(residual), where=total > 0.0)
    return replace(found, extras={"ls_residual": Extra(("snapshot",), relative)})
