"""Magnitudes under a null, in bounded batches of drawn signals."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.layout import (
    coordinates,
    group_reduce,
    level_groups,
    magnitudes,
    merge_rule,
    parameters,
)
from spectrata.analysis.nulls import permute_nodes, rewire, rotate_signal
from spectrata.analysis.tally import FLOOR
from spectrata.core.stratification import Stratification
from spectrata.inputs.graphs import as_pairs

if TYPE_CHECKING:
    import xarray as xr

BATCH = 2**22  # numbers per batch of drawn signals, and of their magnitudes


@dataclass(frozen=True)
class Reduction:
    """From magnitudes per component to those of a level, as they are or relative to all off zero."""

    level: str
    bands: int
    relative: bool

    def of(self, ds: "xr.Dataset") -> Callable[[np.ndarray], np.ndarray]:
        """The function for results like this one: ``(algorithm, T, hop, component) -> (algorithm, T, hop, group)``."""
        _, eigenspace, multiplicity = coordinates(ds)
        groups, count = level_groups(eigenspace, multiplicity, self.level, self.bands)
        rules = [merge_rule(str(name), parameters(ds)) for name in ds["algorithm"].values]

        def reduce(values: np.ndarray) -> np.ndarray:
            pieces = zip(values, rules, strict=True)
            found = np.stack([group_reduce(piece, groups, count, rule) for piece, rule in pieces])
            if not self.relative:
                return found
            off = np.where(eigenspace > 0, np.nan_to_num(values), 0.0)
            norm, whole = (np.sqrt(np.nansum(a**2, axis=-1, keepdims=True)) for a in (off, values))
            # What rounding leaves off zero is nothing to be relative to.
            return np.divide(found, norm, out=np.full(found.shape, np.nan), where=norm > FLOOR * whole)

        return reduce


Batch = tuple[slice, np.ndarray]  # snapshots, magnitudes (algorithm, S, draws, hop, group)


def draw(
    strat: Stratification,
    values: np.ndarray,
    null: str,
    draws: int,
    names: list[str],
    arguments: dict[str, Any],
    reduce: Callable[[np.ndarray], np.ndarray],
    how: Reduction,
    shape: tuple[int, ...],
) -> Iterator[Batch]:
    """Magnitudes under the null, a bounded batch of snapshots and draws at a time."""
    rng = np.random.default_rng([arguments["seed"], 0x5EC])
    snapshots, n, dims = values.shape
    if null == "rewire":
        for _ in range(draws):
            yield slice(None), _rewired(strat, values, names, arguments, how, shape, rng)
        return
    sample = permute_nodes if null == "permute" else rotate_signal
    fit = max(1, BATCH // max(n * dims, len(names) * len(strat.hops) * n))
    per_call = min(draws, fit)
    together = max(1, fit // max(1, draws))
    for first in range(0, snapshots if draws else 0, together):
        rows = slice(first, min(first + together, snapshots))
        for done in range(0, draws, per_call):
            batch = sample(values[rows], min(per_call, draws - done), rng)  # (S, c, n, d)
            flat = strat.spectra(batch.reshape(-1, n, dims), names, **arguments)
            found = reduce(magnitudes(flat))
            yield rows, found.reshape(len(names), *batch.shape[:2], *found.shape[2:])


def _rewired(
    strat: Stratification,
    values: np.ndarray,
    names: list[str],
    arguments: dict[str, Any],
    how: Reduction,
    shape: tuple[int, ...],
    rng: np.random.Generator,
) -> np.ndarray:
    """Magnitudes of the signal on one rewired graph; NaN at hops that it lacks."""
    edges = as_pairs(rewire(strat.graph, rng))
    other = Stratification(edges=edges, n_nodes=strat.graph.n_nodes, hops=max(strat.hops), max_basis_bytes=0)
    ds = other.spectra(values, names, **arguments)
    found = how.of(ds)(magnitudes(ds))  # (algorithm, T, hop, group)
    out = np.full((shape[0], shape[1], 1, *shape[2:]), np.nan)
    for row, hop in enumerate(strat.hops):
        if hop in other.hops:
            out[:, :, 0, row] = found[:, :, other.hops.index(hop)]
    return out
