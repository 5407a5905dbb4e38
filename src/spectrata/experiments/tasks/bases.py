"""Task 3's spectra in other bases of the repeated eigenspaces.

Where an eigenvalue is repeated, its eigenvectors are any orthonormal basis of the
eigenspace; ADJ-DIFF and learned LN-VX depend on the one a solver happens to give.
Here bases are drawn at random, LN-VX is learned anew in each, and what the paper
says about single components is judged on values merged per eigenspace (l2).
"""

from dataclasses import replace

import numpy as np

from spectrata.analysis.basis import rotate_columns
from spectrata.analysis.levels import group_reduce
from spectrata.core.bases.basis import EigenBasis, Part
from spectrata.core.engine import apply
from spectrata.experiments.tasks.released import Spectrometer
from spectrata.experiments.tasks.settings import Settings, generator
from spectrata.experiments.tasks.store import Arrays
from spectrata.inputs.signals import as_signal, potential


def rotated(basis: EigenBasis, rng: np.random.Generator) -> EigenBasis:
    """The basis with every repeated eigenspace in a random orthonormal basis of it."""
    every, none = np.arange(basis.n), np.empty(0, dtype=np.int64)
    vectors = rotate_columns(basis.dense(), basis.eigenspace, rng)
    whole = Part(every, basis.values, vectors, every)
    return replace(basis, parts=(whole,), singletons=none, singleton_columns=none, by_structure=False)


def ens_in_basis(
    spectrometer: Spectrometer, embeddings: np.ndarray, hop: int, basis: EigenBasis
) -> np.ndarray:
    """``ens`` of embeddings ``(T, n, d)`` at a hop in the given basis, LN-VX learned in it: ``(T, n)``."""
    strat, plan = spectrometer.strat, spectrometer.plan("ens")
    values = potential(as_signal(embeddings, strat.graph)).values
    work = strat.work(strat.strata.at(hop), basis, values, plan)
    # What was learned in the solver's basis is of no use in this one.
    return apply(replace(work, remember=lambda key, make: make()), plan)["ens"].magnitude


def basis_unit(embeddings: np.ndarray, settings: Settings, first: int, count: int) -> Arrays:
    """Merged ``ens`` of the embeddings in ``count`` random bases: ``(base, T, hop, space)``."""
    spectrometer = Spectrometer(settings)
    hops = spectrometer.strat.hops
    bases = [spectrometer.strat.basis(hop) for hop in hops]
    spaces = np.stack([basis.eigenspace for basis in bases])  # (hop, n)
    draws = []
    for number in range(first, first + count):
        found = []
        for hop, basis in zip(hops, bases, strict=True):
            turned = rotated(basis, generator(settings.seed, 30, hop, number))
            found.append(ens_in_basis(spectrometer, embeddings, hop, turned))
        draws.append(group_reduce(np.stack(found, axis=1), spaces, spaces.shape[1]))  # (T, hop, space)
    return {"merged": np.stack(draws)}
