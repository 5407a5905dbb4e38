"""How much a magnitude depends on the choice of a basis inside repeated eigenvalues."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.bases.basis import EigenBasis, Part
from spectrata.core.engine import hop_result, measured
from spectrata.core.hop import Hop
from spectrata.core.plan import Plan, make_plan
from spectrata.core.spectra import as_stratification
from spectrata.inputs.numbers import one_of, whole
from spectrata.inputs.signals import as_signal, potential
from spectrata.kernels.backend import NUMPY
from spectrata.kernels.scaling import squarable
from spectrata.results.schema import view
from spectrata.stats.describe.levels import group_reduce, level_groups
from spectrata.stats.describe.spectrum import merge_eigenspaces

if TYPE_CHECKING:
    import xarray as xr


def basis_spread(
    strat: Any,
    signal: Any,
    algorithms: str | Iterable[str] = "adj_diff",
    draws: int = 100,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    level: str = "component",
    metric: str = "auto",
    zero_vectors: str = "error",
    seed: int = 0,
    **options: Any,
) -> "xr.Dataset":
    """Spread of magnitudes over random rotations inside repeated eigenspaces.

    Every repeated eigenspace of the stratum, and for learned ln_vx of its line graph too, is turned by a Haar-random
    rotation; simple eigenvectors and their signs stay. The reported magnitude is one such choice.

    Parameters
    ----------
    strat : Stratification, or a graph in any form
    signal : array, mapping, DataFrame, DataArray, tensor or path
        As for :func:`spectrata.spectra`.
    algorithms : str or list of str
        adj_diff by default. Learned ln_vx is learned again in every draw, so ask for few draws.
    draws : int
        Rotations, at least 2.
    hops, weights, hop_weights, undirected
        How the graph is read, as for :func:`spectrata.spectra`; not with a Stratification.
    level : {"component", "eigenspace"}
        Spread of single components, or of the values :func:`spectrata.merge_eigenspaces` gives.
    metric, zero_vectors, seed, **options
        As for :func:`spectrata.spectra`; the seed decides the rotations too.

    Returns
    -------
    Dataset
        ``magnitude`` as reported, and ``basis_mean``, ``basis_std``, ``basis_low``, ``basis_high`` (smallest and
        largest).

    Notes
    -----
    adj_diff, gft, apprx_ls, in_agg: the spread is exactly 0 where the eigenvalue is simple, and for adj_diff also at
    zero eigenvalues, where the value is a convention and not read from an eigenvector. Learned ln_vx ties all
    components together: one repeated eigenvalue anywhere, or in the line graph, moves them all.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.cycle_graph(4), hops=1)
    >>> spread = st.stats.basis_spread(strat, [3.0, 1.0, 0.0, 2.0], draws=50)
    >>> spread["multiplicity"].sel(hop=1).values.tolist()
    [1, 2, 2, 1]
    >>> (spread["basis_std"].sel(algorithm="adj_diff", hop=1).values > 0).tolist()
    [False, True, True, False]
    """
    one_of(level, "level", ("component", "eigenspace"))
    whole(draws, "draws", 2)
    strat = as_stratification(strat, hops, weights=weights, hop_weights=hop_weights, undirected=undirected)
    plan = make_plan(algorithms, options, strat.graph.n_nodes, seed=seed, keep=())
    known = as_signal(signal, strat.graph)
    field = potential(known, metric, zero_vectors, strat.graph.names)
    strat.announce(plan, NUMPY)
    rng = np.random.default_rng([seed, 0xBA515])
    results, tables = [], []
    for hop in strat.hops:
        work = strat.work(*strat.prepared(hop, plan), field.values, plan, scratch={})
        reported = measured(work, field, plan)
        results.append(hop_result(reported, plan))
        stack = np.stack([measured(turned(work, plan, rng), field, plan).magnitude for _ in range(draws)])
        if level == "eigenspace":
            stack = _merged(stack, plan, *level_groups(work.basis.axis, level))
        tables.append(_spread(stack))  # name -> (A, T, group)
    ds = strat.labelled(known, field, results, plan, zero_vectors)
    ds = merge_eigenspaces(ds) if level == "eigenspace" else ds
    spectra = view(ds)
    for name in tables[0]:
        rows = [_padded(table[name], spectra.eigenspace.shape[1]) for table in tables]
        ds[name] = spectra.placed(np.stack(rows, axis=2), "hop", "component")
    return ds.assign_attrs(basis_draws=int(draws))


def _padded(array: np.ndarray, width: int) -> np.ndarray:
    return np.pad(array, ((0, 0), (0, 0), (0, width - array.shape[-1])), constant_values=np.nan)


def _spread(stack: np.ndarray) -> dict[str, np.ndarray]:
    """Mean, deviation and range over the first axis; exactly no deviation where all draws agree."""
    low, high = stack.min(axis=0), stack.max(axis=0)
    even, scale = squarable(stack, (0, -1))
    std = np.where(low == high, 0.0, even.std(axis=0, ddof=1) * scale[0])
    mean = np.where(low == high, low, stack.mean(axis=0))
    return {"basis_mean": mean, "basis_std": np.where(np.isnan(low), np.nan, std), "basis_low": low, "basis_high": high}


def _merged(stack: np.ndarray, plan: Plan, groups: np.ndarray, count: int) -> np.ndarray:
    """Values of whole eigenspaces: ``(draws, A, T, N) -> (draws, A, T, count)``."""
    options = asdict(plan.options)
    merged = [
        group_reduce(stack[:, index, :, None], groups, count, row.merge_rule(options))[:, :, 0]
        for index, row in enumerate(plan.rows)
    ]
    return np.stack(merged, axis=1)


def haar(size: int, rng: np.random.Generator) -> np.ndarray:
    """A random orthogonal matrix, uniform over all of them.

    Examples
    --------
    >>> turn = haar(3, np.random.default_rng(0))
    >>> bool(np.allclose(turn @ turn.T, np.eye(3)))
    True
    """
    frame, triangle = np.linalg.qr(rng.standard_normal((size, size)))
    return frame * np.sign(np.diag(triangle))


def rotate_columns(vectors: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Turn each run of columns with one group by its own random rotation; single columns stay."""
    out = vectors.copy()
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    for start, size in zip(starts, np.diff(starts, append=len(groups)), strict=True):
        if size > 1:
            out[:, start : start + size] = vectors[:, start : start + size] @ haar(size, rng)
    return out


def turned(work: Hop, plan: Plan, rng: np.random.Generator) -> Hop:
    """The same hop in a random basis of every eigenspace, of the line graph too where its basis matters."""
    by_part = plan.options.by_part
    basis = _turned_parts(work.basis, rng) if by_part else _turned_whole(work.basis, rng)
    lines = [row for row in plan.needed(work.stratum.hop) if row.line_graph]
    line = work.line
    if not all(row.invariant(asdict(plan.options)) for row in lines):
        own = _turned_parts(work.line(), rng) if by_part else _turned_whole(work.line(), rng)
        line = lambda: own  # noqa: E731
    return replace(work, basis=basis, line=line, remember=lambda key, make: make())


def _turned_whole(basis: EigenBasis, rng: np.random.Generator) -> EigenBasis:
    """Rotations of whole eigenspaces, across connected parts: one part of all nodes."""
    vectors = rotate_columns(basis.dense(), basis.eigenspace, rng)
    everything = np.arange(basis.n)
    part = Part(everything, basis.values, vectors, everything)
    none = np.empty(0, dtype=np.int64)
    return replace(basis, parts=(part,), singletons=none, singleton_columns=none, by_structure=False)


def _turned_parts(basis: EigenBasis, rng: np.random.Generator) -> EigenBasis:
    """Rotations that stay inside each connected part."""
    parts = tuple(
        replace(part, vectors=rotate_columns(part.vectors, basis.eigenspace[part.columns], rng)) for part in basis.parts
    )
    return replace(basis, parts=parts)
