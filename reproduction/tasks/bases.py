"""Task 3's spectra in other bases of the repeated eigenspaces.

Where an eigenvalue is repeated, its eigenvectors are any orthonormal basis of the eigenspace; ADJ-DIFF and learned
LN-VX depend on the one a solver happens to give. Here bases are drawn at random, LN-VX is learned anew in each, and
what the paper says about single components is judged on values merged per eigenspace (l2).
"""

from dataclasses import replace

import numpy as np

from reproduction.store import Arrays
from reproduction.tasks.released import Spectrometer
from reproduction.tasks.settings import Settings, generator
from spectrata.core.engine import apply
from spectrata.inputs.signals import as_signal, potential
from spectrata.stats.bases import turned
from spectrata.stats.describe.levels import group_reduce


def ens_in_basis(
    spectrometer: Spectrometer, embeddings: np.ndarray, hop: int, rng: np.random.Generator | None = None
) -> np.ndarray:
    """``ens`` of embeddings ``(T, n, d)`` at a hop in a random basis, or in the solver's: ``(T, n)``.

    In a random basis LN-VX is learned anew; the line graph keeps the solver's basis.
    """
    strat, plan = spectrometer.strat, spectrometer.plan("ens")
    values = potential(as_signal(embeddings, strat.graph)).values
    work = strat.work(*strat.prepared(hop, plan), values, plan)
    if rng is not None:
        work = replace(turned(work, plan, rng), line=work.line)
    return apply(work, plan)["ens"].magnitude


def basis_unit(embeddings: np.ndarray, settings: Settings, first: int, count: int) -> Arrays:
    """Merged ``ens`` of the embeddings in ``count`` random bases: ``(base, T, hop, space)``."""
    spectrometer = Spectrometer(settings)
    hops = spectrometer.strat.hops
    spaces = np.stack([spectrometer.strat.basis(hop).eigenspace for hop in hops])  # (hop, n)
    draws = []
    for number in range(first, first + count):
        found = [ens_in_basis(spectrometer, embeddings, hop, generator(settings.seed, 30, hop, number)) for hop in hops]
        draws.append(group_reduce(np.stack(found, axis=1), spaces, spaces.shape[1]))  # (T, hop, space)
    return {"merged": np.stack(draws)}
