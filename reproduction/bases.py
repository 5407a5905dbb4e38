"""Magnitudes in other bases of repeated eigenspaces.

Where an eigenvalue is repeated, its eigenvectors are any orthonormal basis of the eigenspace; ADJ-DIFF and learned
LN-VX depend on the one a solver happens to give. Here bases are drawn at random, and LN-VX is learned anew in each.
"""

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import xarray as xr

from reproduction.store import Arrays
from reproduction.tasks.released import Spectrometer
from reproduction.tasks.settings import Settings, generator
from spectrata.core.bases.basis import EigenBasis, Part
from spectrata.core.engine import apply
from spectrata.core.hop import Hop
from spectrata.core.plan import Plan, make_plan
from spectrata.core.stratification import Stratification
from spectrata.inputs.signals import as_signal, potential
from spectrata.stats.describe.levels import group_reduce


def basis_spread(
    strat: Stratification,
    signal: Any,
    algorithms: str | Iterable[str] = "adj_diff",
    draws: int = 100,
    *,
    merged: bool = False,
    seed: int = 0,
    **options: Any,
) -> xr.Dataset:
    """Smallest and largest magnitudes over random rotations inside repeated eigenspaces: ``low`` and ``high``.

    Arguments are those of :func:`spectrata.spectra`. ``merged`` takes the components of an eigenspace together (l2).
    Learned ln_vx is learned again in every draw, so ask for few draws.

    Examples
    --------
    >>> import networkx as nx
    >>> spread = basis_spread(Stratification(nx.cycle_graph(4), hops=1), [3.0, 1.0, 0.0, 2.0], draws=50)
    >>> (spread["high"] > spread["low"]).values.ravel().tolist()
    [False, True, True, False]
    """
    n = strat.graph.n_nodes
    plan = make_plan(algorithms, options, n, seed=seed, keep=())
    values = potential(as_signal(signal, strat.graph)).values
    rng = np.random.default_rng([seed, 0xBA515])
    low, high = [], []
    for hop in strat.hops:
        drawn = [in_basis(strat, plan, values, hop, rng) for _ in range(draws)]
        stack = np.stack([np.stack(list(found.values())) for found in drawn])  # (draw, algorithm, T, n)
        if merged:
            stack = group_reduce(stack[..., None, :], strat.basis(hop).eigenspace[None], n)[..., 0, :]
        low.append(stack.min(axis=0))
        high.append(stack.max(axis=0))
    dims = ("algorithm", "snapshot", "hop", "component")
    bases = [strat.basis(hop) for hop in strat.hops]
    found: dict[str, Any] = {"low": (dims, np.stack(low, axis=2)), "high": (dims, np.stack(high, axis=2))}
    found["multiplicity"] = dims[2:], np.stack([basis.multiplicity for basis in bases])
    found["eigenvalue"] = dims[2:], np.stack([basis.values for basis in bases])
    return xr.Dataset(found, {"algorithm": [row.name for row in plan.rows], "hop": list(strat.hops)})


def in_basis(
    strat: Stratification, plan: Plan, values: np.ndarray, hop: int, rng: np.random.Generator | None, lines: bool = True
) -> dict[str, np.ndarray]:
    """Magnitudes ``(T, n)`` of a plan's algorithms at a hop, in a random basis or, without ``rng``, the solver's.

    In a random basis LN-VX is learned anew; ``lines`` says whether the basis of the line graph is drawn, too.
    """
    work = strat.work(*strat.prepared(hop, plan), values, plan)
    if rng is not None:
        other = turned(work, plan, rng)
        work = other if lines else replace(other, line=work.line)
    found = apply(work, plan)
    return {row.name: found[row.name].magnitude for row in plan.rows}


def turned(work: Hop, plan: Plan, rng: np.random.Generator) -> Hop:
    """Give the same hop in a random basis of every eigenspace, of the line graph too where its basis matters."""
    basis, line = _turned(work.basis, rng), work.line
    lines = [row for row in plan.needed(work.stratum.hop) if row.line_graph]
    if not all(row.invariant(asdict(plan.options)) for row in lines):
        own = _turned(work.line(), rng)
        line = lambda: own  # noqa: E731
    return replace(work, basis=basis, line=line, remember=lambda key, make: make())


def _turned(basis: EigenBasis, rng: np.random.Generator) -> EigenBasis:
    """Rotations of whole eigenspaces, across connected parts: one part of all nodes."""
    everything = np.arange(basis.n)
    part = Part(everything, basis.values, rotate_columns(basis.dense(), basis.eigenspace, rng), everything)
    return replace(basis, parts=(part,), alone=np.empty((2, 0), dtype=np.int64), by_structure=False)


def rotate_columns(vectors: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Turn each run of columns with one group by its own rotation, uniform over all; single columns stay."""
    out = vectors.copy()
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    for start, size in zip(starts, np.diff(starts, append=len(groups)), strict=True):
        if size > 1:
            frame, triangle = np.linalg.qr(rng.standard_normal((size, size)))
            out[:, start : start + size] = vectors[:, start : start + size] @ (frame * np.sign(np.diag(triangle)))
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
        found = [in_basis(strat, plan, values, hop, rng, lines=False)["ens"] for hop, rng in rngs.items()]
        draws.append(group_reduce(np.stack(found, axis=1), spaces, spaces.shape[1]))  # (T, hop, space)
    return {"merged": np.stack(draws)}
