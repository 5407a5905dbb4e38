"""Identities that hold for every solver; the status "ok" requires them.

They cost a pass over the magnitudes. Each fails where an eigenbasis is wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.core.bases.basis import sum_rounding
from spectrata.errors import SolverError
from spectrata.kernels.backend import Array, like, namespace, to_numpy

if TYPE_CHECKING:
    from spectrata.core.hop import Output

# Of the energy off zero, what a basis may lose or add: far above the rounding of an orthonormal one.
ENERGY_TOLERANCE = {"float64": 1e-11, "float32": 1e-4}


# Of a hop's largest magnitude: a larger bound on an error is not "ok". Bounds are 20 to 300 times the errors.
PRECISE = {"float64": 1e-6, "float32": 1e-2}

IMPRECISE = "unconfirmed: some magnitudes may be off by more than {:.0e} of the largest"
UNRESOLVED = "undefined at eigenvalues within rounding error of 0"


class Energy(NamedTuple):
    """Energies of what is projected, off zero and at zero, ``(T,)`` each."""

    off: Array
    at_zero: Array | float = 0.0


def verify_output(work: Any, output: "Output") -> "Output":
    """The output, whose squares must add up to the energy of what was projected."""
    if output.energy is not None:
        with np.errstate(all="ignore"):  # what a wrong basis gives may overflow, and is refused
            lengths = to_numpy(output.magnitude) * work.basis.values**output.power
            found = np.sum(np.where(work.basis.is_zero, 0.0, lengths**2), axis=1)
        verify_energy(work, found, output.energy)
    return output


def verify_energy(work: Any, found: Array, energy: Energy) -> None:
    """Refuse what a hop found off zero, ``(T,)``, where that is not the energy of what was projected."""
    found, off, at_zero = (_plain_energy(part, len(found)) for part in (found, *energy))
    require_energy(work.stratum.hop, work.basis, found, off, off + at_zero, work.is_whole, work.name_of)


def require_energy(
    hop: int,
    basis: Any,
    found: np.ndarray,
    off: np.ndarray,
    whole: np.ndarray,
    is_whole: bool = True,
    name_of: Callable[[int], str] = lambda row: "",
) -> None:
    """Refuse a basis that does not keep the energies off zero, ``(T,)``; some of the components may keep less.

    ``whole`` are the energies with those at zero, whose rounding may be left off zero.
    """
    n, kind = basis.values.shape[-1], basis.dtype
    allowed = ENERGY_TOLERANCE[kind] * off + rounded_energy(off, whole, sum_rounding(n, kind))
    missing = off - found
    wrong = ~((np.abs(missing) if is_whole else -missing) <= allowed) & np.isfinite(off)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise SolverError(
            f"The eigenbasis at hop {hop} does not keep the energy of the signal: {found[at]:.9g} instead of "
            f"{off[at]:.9g} off zero{name_of(at)}. Compute it again."
        )


def rounded_energy(off: np.ndarray, whole: np.ndarray, rounding: float) -> np.ndarray:
    """By how much ``norm(t)^2 = off`` moves when ``t`` moves by the rounding of a signal of energy ``whole``."""
    return 2 * rounding * np.sqrt(off) * np.sqrt(whole) + rounding**2 * whole


def verify_sums(hop: int, basis: Any, magnitude: np.ndarray, sums: Mapping[int, np.ndarray]) -> None:
    """Refuse magnitudes of ``gft``, ``(T, N)``, whose ``sum_i lam_i^k M_i^2`` is not as known: ``k`` to ``(T,)``.

    Known without eigenvectors are ``norm(C^1/2 t)^2`` for 0, ``sum_e w g^2`` for 1, ``norm(C^-1/2 L t)^2`` for 2; for
    the normalised Laplacian N, ``norm(t)^2``, ``tr(t^T N t)`` and ``norm(N t)^2``.
    """
    squares, values = magnitude**2, basis.values
    off = np.sum(np.where(basis.is_zero, 0.0, squares), axis=1)
    for power, known in sums.items():
        found, size = np.sum(values**power * squares, axis=1), np.max(values, axis=-1) ** power
        kept = squares.sum(axis=1) if power == 0 else off
        rounding = sum_rounding(values.shape[-1], basis.dtype)
        allowed = size * (ENERGY_TOLERANCE[basis.dtype] * kept + rounded_energy(off, squares.sum(axis=1), rounding))
        wrong = ~(np.abs(found - known) <= allowed) & np.isfinite(known)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise SolverError(
                f"The spectrum at hop {hop} has sum lam^{power} M^2 = {found[at]:.9g}, and the signal {known[at]:.9g}. "
                "Compute it again."
            )


def errors_of(work: Any, outputs: Sequence["Output"], as_given: Sequence[bool]) -> np.ndarray:
    """Bounds on the errors of the merged magnitudes of outputs, ``(A, T, components)``; NaN where none is known.

    ``as_given`` where exact numbers are projected, also if most of their energy lies at zero; others are rounded.
    """
    magnitude = np.stack([to_numpy(output.magnitude) for output in outputs]).astype(np.float64)
    found = np.full(magnitude.shape, np.nan)
    known = [index for index, output in enumerate(outputs) if output.energy is not None]
    if work.accuracy is None or not known:
        return found
    energies = [[_plain_energy(part, len(magnitude[0])) for part in outputs[index].energy or ()] for index in known]
    off = np.stack([off for off, _ in energies])
    whole = np.stack([own if as_given[k] else own + at for k, (own, at) in zip(known, energies, strict=True)])
    found[known] = work.accuracy.errors(magnitude[known], off, whole, np.array([outputs[k].power for k in known]))
    return found


def without_unresolved(work: Any, output: "Output") -> "Output":
    """The output with NaN where it was divided by eigenvalues that cannot be told from 0."""
    if not (output.power and work.basis.unresolved.any()):
        return output
    xp = namespace(output.magnitude)
    undefined = like(work.basis.unresolved, output.magnitude)
    return replace(output, magnitude=xp.where(undefined, xp.nan, output.magnitude))


def doubts_of(work: Any, outputs: Sequence["Output"], errors: np.ndarray) -> np.ndarray:
    """Why magnitudes with these bounds on their errors, ``(A, T, N)``, are not "ok": ``(A, T)``, "" where they are.

    ``outputs`` are as they were computed, before ``without_unresolved``.
    """
    basis, power = work.basis, np.array([output.power for output in outputs])
    magnitude = np.stack([to_numpy(output.magnitude) for output in outputs])
    undefined = basis.unresolved & (power > 0.0)[:, None, None]  # (A, 1, N), or (A, g, N) of a stack
    if undefined.any():
        magnitude, errors = (np.where(undefined, np.nan, one) for one in (magnitude, errors))
    off, largest = (np.fmax.reduce(one, axis=-1) for one in (errors, magnitude))
    for k, output in enumerate(outputs):
        if output.power and output.energy is None and basis.column_residual is not None:
            # No bound: what the errors of the eigenvalues do to quotients is known.
            shift = np.divide(
                basis.column_residual, basis.values, out=np.zeros_like(basis.values), where=basis.values > 0
            )
            off[k] = output.power * np.fmax.reduce(shift * magnitude[k], axis=-1)
    share = PRECISE[basis.dtype]
    words = np.full(off.shape, "", dtype=object)
    words[off > share * largest] = IMPRECISE.format(share)
    words[np.broadcast_to(undefined.any(axis=-1), words.shape)] = UNRESOLVED
    return words


def _plain_energy(energy: Array | float, count: int) -> np.ndarray:
    return to_numpy(energy).astype(np.float64) if hasattr(energy, "shape") else np.full(count, energy)
