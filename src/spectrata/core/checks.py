"""Sums that must come out whatever the solver, and bounds on errors: the status "ok" requires both.

They cost a pass over the magnitudes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.core.bases.basis import sum_rounding
from spectrata.errors import SolverError
from spectrata.kernels.backend import Array, like, namespace, to_numpy

if TYPE_CHECKING:
    from spectrata.core.hop import Output

# Of the energy, what a basis may lose or add: far above the rounding of an orthonormal one.
ENERGY_TOLERANCE = {"float64": 1e-11, "float32": 1e-4}
# Of a hop's largest magnitude: a larger bound on an error is not "ok". Bounds are 20 to 300 times the errors.
PRECISE = {"float64": 1e-6, "float32": 1e-2}

IMPRECISE = "unconfirmed: some magnitudes may be off by more than {:.0e} of the largest"
UNRESOLVED = "undefined at eigenvalues within rounding error of 0"


class Energy(NamedTuple):
    """Energies of what is projected, off zero and at zero, ``(T,)`` each."""

    off: Array
    at_zero: Array | float = 0.0


def verify_sums(hop: int, basis: Any, magnitude: np.ndarray, sums: Mapping[int, np.ndarray]) -> None:
    """Refuse magnitudes of ``gft``, ``(T, N)``, whose ``sum_i lam_i^k M_i^2`` is not as known: ``k`` to ``(T,)``.

    Known without eigenvectors are ``norm(C^1/2 t)^2`` for 0, ``sum_e w g^2`` for 1, ``norm(C^-1/2 L t)^2`` for 2; for
    the normalised Laplacian N, ``norm(t)^2``, ``tr(t^T N t)`` and ``norm(N t)^2``.
    """
    squares, values = magnitude**2, basis.values
    off, whole = np.sum(np.where(basis.is_zero, 0.0, squares), axis=1), squares.sum(axis=1)
    rounding = sum_rounding(values.shape[-1], basis.dtype)
    # By how much norm(t)^2 = off moves when t moves by the rounding of a signal of energy ``whole``.
    rounded = 2 * rounding * np.sqrt(off) * np.sqrt(whole) + rounding**2 * whole
    for power, known in sums.items():
        found, size = np.sum(values**power * squares, axis=1), np.max(values, axis=-1) ** power
        allowed = size * (ENERGY_TOLERANCE[basis.dtype] * (off if power else whole) + rounded)
        wrong = ~((np.abs(found - known) <= allowed) & np.isfinite(found)) & np.isfinite(known)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise SolverError(
                f"The spectrum at hop {hop} has sum lam^{power} M^2 = {found[at]:.9g}, and the signal {known[at]:.9g}. "
                "Compute it again."
            )


def error_of(work: Any, output: "Output", as_given: bool = False) -> np.ndarray:
    """Bounds on the errors of an output's merged magnitudes, ``(T, components)``; NaN where none is known."""
    magnitude = plain(output.magnitude)
    if work.accuracy is None or output.energy is None:
        return np.full(magnitude.shape, np.nan)
    off, at_zero = plain(output.energy.off), plain(output.energy.at_zero)
    # Numbers that are projected ``as_given`` are exact, also if most of their energy lies at zero; others are rounded.
    return work.accuracy.errors(magnitude, off, off if as_given else off + at_zero, output.power)


def doubts_of(work: Any, output: "Output", error: np.ndarray) -> np.ndarray:
    """Why an output with these bounds on its errors, ``(T, N)``, is not "ok": ``(T,)``, "" where it is."""
    basis, magnitude, share = work.basis, plain(output.magnitude), PRECISE[work.basis.dtype]
    undefined = basis.unresolved & (output.power > 0.0)  # (N,), or (g, N) of a stack
    if output.power and output.energy is None and basis.column_residual is not None:
        # No bound: what the errors of the eigenvalues do to quotients is known.
        shift = np.divide(basis.column_residual, basis.values, out=np.zeros_like(basis.values), where=basis.values > 0)
        error = output.power * shift * magnitude
    off, largest = (np.fmax.reduce(np.where(undefined, np.nan, one), axis=-1) for one in (error, magnitude))
    words = np.where(off > share * largest, IMPRECISE.format(share), "")
    return np.where(undefined.any(axis=-1), UNRESOLVED, words).astype(object)


def without_unresolved(work: Any, output: "Output") -> "Output":
    """The output with NaN where it was divided by eigenvalues that cannot be told from 0."""
    if not (output.power and work.basis.unresolved.any()):
        return output
    xp = namespace(output.magnitude)
    undefined = like(work.basis.unresolved, output.magnitude)
    return replace(output, magnitude=xp.where(undefined, xp.nan, output.magnitude))


def plain(array: Array | float) -> np.ndarray:
    """Numbers in main memory, in double precision."""
    return to_numpy(array).astype(np.float64) if hasattr(array, "shape") else np.asarray(array)
