"""Task 3's spectra in other bases of the repeated eigenspaces.

Where an eigenvalue is repeated, its eigenvectors are any orthonormal basis of the
eigenspace; ADJ-DIFF and learned LN-VX depend on the one a solver happens to give.
Here bases are drawn at random, LN-VX is learned anew in each, and what the paper
says about single components is judged on values merged per eigenspace (l2).
"""

from collections.abc import Iterator

import numpy as np

from spectrata.analysis.basis import rotate_columns
from spectrata.core.algorithms.base import Hop
from spectrata.core.algorithms.ens import member_weights, unit_norm
from spectrata.core.algorithms.ln_vx_learning import learn
from spectrata.core.algorithms.options import Options
from spectrata.core.bases.solve import EigenBasis, Part, decompose
from spectrata.core.strata import Stratum, line_stratum
from spectrata.experiments.tasks.settings import Settings, generator
from spectrata.experiments.tasks.spectra13 import Spectrometer
from spectrata.experiments.tasks.store import Arrays
from spectrata.inputs.signals import as_signal, potential


def merge(magnitude: np.ndarray, eigenspace: np.ndarray) -> np.ndarray:
    """l2 norm over each eigenspace along the last axis, padded with NaN: ``(..., n) -> (..., n)``.

    Examples
    --------
    >>> merge(np.array([1.0, 3.0, 4.0]), np.array([0, 1, 1])).tolist()
    [1.0, 5.0, nan]
    """
    merged = np.full(magnitude.shape, np.nan)
    for space in range(int(eigenspace.max()) + 1):
        merged[..., space] = np.sqrt(np.sum(magnitude[..., eigenspace == space] ** 2, axis=-1))
    return merged


def rotated(basis: EigenBasis, rng: np.random.Generator) -> np.ndarray:
    """The eigenvectors ``(n, n)`` with every repeated eigenspace in a random orthonormal basis."""
    return rotate_columns(basis.dense(), basis.eigenspace, rng)


def ens_in_basis(
    stratum: Stratum,
    basis: EigenBasis,
    vectors: np.ndarray,
    gradients: np.ndarray,
    settings: Settings,
    seed: int,
) -> np.ndarray:
    """``ens`` of gradients ``(T, m)`` in the given eigenvectors ``(n, n)``, as the released program: ``(T, n)``."""
    n, values, zero = basis.n, basis.values, basis.is_zero
    x, y = stratum.edges.T
    inverse = np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, values))
    differences = vectors[x] - vectors[y]  # (m, n)
    flat = gradients.sum(axis=1, keepdims=True) / np.sqrt(stratum.n_edges)
    members = {
        "adj_diff": np.where(zero, flat, gradients @ np.abs(differences) * np.sqrt(inverse)),
        "apprx_ls": np.abs(gradients @ differences) * inverse,
        "ln_vx": _ln_vx(stratum, values, vectors, gradients, settings, seed),
    }
    total = np.zeros((len(gradients), n))
    for name, weight in member_weights("paper", stratum.hop).items():
        if weight > 0.0:
            total += weight * unit_norm(members[name])
    return total


def _ln_vx(
    stratum: Stratum,
    values: np.ndarray,
    vectors: np.ndarray,
    gradients: np.ndarray,
    settings: Settings,
    seed: int,
) -> np.ndarray:
    n, none = len(values), np.empty(0, dtype=np.int64)
    whole = EigenBasis(values, (Part(np.arange(n), values, vectors, np.arange(n)),), none, none, 0.0)
    line = decompose(line_stratum(stratum))
    still = np.zeros((len(gradients), n, 1))
    work = Hop(stratum, whole, still, gradients, lambda: line, lambda key, make: make(), seed)
    learned = learn(work, Options(trials=settings.few_trials, max_epochs=settings.ln_vx_epochs))
    return np.abs((learned.weights @ np.abs(line.project(gradients.T))).mean(axis=0)).T


def gradients_at(spectrometer: Spectrometer, embeddings: np.ndarray) -> Iterator[tuple[Stratum, np.ndarray]]:
    """Each stratum with the gradients ``(T, m)`` of the embeddings on it."""
    strat = spectrometer.strat
    field = potential(as_signal(embeddings, strat.graph)).values
    for stratum in strat.strata:
        x, y = stratum.edges.T
        yield stratum, np.linalg.norm(field[:, x] - field[:, y], axis=2)


def basis_unit(embeddings: np.ndarray, settings: Settings, first: int, count: int) -> Arrays:
    """Merged ``ens`` of the embeddings in ``count`` random bases: ``(base, T, hop, space)``."""
    spectrometer = Spectrometer(settings)
    seed = int(spectrometer.arguments["seed"])
    per_hop = []
    for stratum, gradients in gradients_at(spectrometer, embeddings):
        basis = spectrometer.strat.basis(stratum.hop)
        draws = []
        for number in range(first, first + count):
            vectors = rotated(basis, generator(settings.seed, 30, stratum.hop, number))
            found = ens_in_basis(stratum, basis, vectors, gradients, settings, seed)
            draws.append(merge(found, basis.eigenspace))
        per_hop.append(np.stack(draws))  # (base, T, space)
    return {"merged": np.stack(per_hop, axis=2)}
