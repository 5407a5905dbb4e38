"""Magnitudes in other bases of repeated eigenspaces.

Where an eigenvalue is repeated, its eigenvectors are any orthonormal basis of the eigenspace; ADJ-DIFF and learned
LN-VX depend on the one a solver happens to give. Here bases are drawn at random, and LN-VX is learned anew in each.
"""

from dataclasses import replace

import numpy as np

from reproduction.store import Arrays
from reproduction.tasks.released import Spectrometer
from reproduction.tasks.settings import Settings, generator
from spectrata.core.bases.basis import Part
from spectrata.core.engine import apply
from spectrata.core.hop import Hop
from spectrata.core.plan import Plan
from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import as_signal, potential
from spectrata.stats.describe.levels import group_reduce
from spectrata.stats.nulls.surrogates import haar


def in_basis(
    strat: Stratification, plan: Plan, values: np.ndarray, hop: int, rng: np.random.Generator | None
) -> dict[str, np.ndarray]:
    """Magnitudes ``(T, n)`` at a hop in a random basis, or the solver's without ``rng``; the line graph's stays."""
    work = strat.work(*strat.prepared(hop, plan), values, plan)
    found = apply(work if rng is None else turned(work, rng), plan)
    return {row.name: found[row.name].magnitude for row in plan.rows}


def turned(work: Hop, rng: np.random.Generator) -> Hop:
    """The same hop in a random basis of every eigenspace, across connected parts: one part of all nodes."""
    basis, everything = work.basis, np.arange(work.basis.n)
    part = Part(everything, basis.values, rotate_columns(basis.dense(), basis.eigenspace, rng), everything)
    basis = replace(basis, parts=(part,), alone=np.empty((2, 0), dtype=np.int64), by_structure=False)
    return replace(work, basis=basis, remember=lambda key, make: make())


def rotate_columns(vectors: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Turn each run of columns with one group by its own rotation, uniform over all; single columns stay."""
    out = vectors.copy()
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    for start, size in zip(starts, np.diff(starts, append=len(groups)), strict=True):
        if size > 1:
            out[:, start : start + size] = (
                vectors[:, start : start + size] @ haar(rng.standard_normal((1, size, size)))[0]
            )
    return out


def basis_unit(embeddings: np.ndarray, settings: Settings, first: int, count: int) -> Arrays:
    """Merged ``ens`` of the embeddings in ``count`` random bases: ``(base, T, hop, space)``."""
    spectrometer = Spectrometer(settings)
    strat, plan = spectrometer.strat, spectrometer.plan("ens")
    values = potential(as_signal(embeddings, strat.graph)).values
    spaces = np.stack([strat.basis(hop).eigenspace for hop in strat.hops])  # (hop, n)
    draws = []
    for number in range(first, first + count):
        rngs = {hop: generator(settings.seed, 30, hop, number) for hop in strat.hops}
        found = [in_basis(strat, plan, values, hop, rng)["ens"] for hop, rng in rngs.items()]
        draws.append(group_reduce(np.stack(found, axis=1), spaces, spaces.shape[1]))  # (T, hop, space)
    return {"merged": np.stack(draws)}
