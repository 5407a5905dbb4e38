"""Compare two results: correlation with its chance, a cosine beside that with a flat spectrum, shifts of energy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.inputs.numbers import whole
from spectrata.kernels.scaling import squarable
from spectrata.results.build import attributes_of
from spectrata.results.schema import ZERO_DROPPED, View, view
from spectrata.stats.describe.align import align
from spectrata.stats.describe.exchange import NULL, shift_intervals, why_untested
from spectrata.stats.describe.levels import group_reduce, level_coordinates, level_groups
from spectrata.stats.describe.spectrum import (
    lengths,
    merge_eigenspaces,
    off_zero_share,
    require_every_magnitude,
    rounding_floor,
)
from spectrata.stats.nulls.orders import orders

if TYPE_CHECKING:
    import xarray as xr

# A spectrum that varies by less than this share of its size is flat, and correlates with nothing.
FLAT = 1e-10
# Differences of spectra of unit length below this are rounding, and are nowhere.
SAME = 1e-14


@dataclass(frozen=True, eq=False)
class SpreadSpectra:
    """Spectra spread evenly inside eigenspaces: ``values[..., a]`` stands for ``weights[..., a]`` equal components."""

    values: np.ndarray  # (algorithm, T, hop, a), NaN where there is nothing
    weights: np.ndarray  # (hop, a)
    eigenvalue: np.ndarray  # (hop, a)
    eigenspace: np.ndarray  # (hop, a)


def spread_evenly(spectra: "View | xr.Dataset", zero: bool = False) -> SpreadSpectra:
    """Give every component the root mean square of its eigenspace, which no choice of basis changes."""
    known = spectra if isinstance(spectra, View) else view(spectra)
    merged = known if known.is_bands else view(merge_eigenspaces(known.ds), known.name)
    rules = merged.ds["merge_rule"].values if "merge_rule" in merged.ds.coords else np.array(["l2"])
    power = np.where(rules == "sum", 1.0, 0.5)[:, None, None, None]
    values = merged.magnitude / np.maximum(merged.multiplicity, 1) ** power
    if not zero:  # what rounding leaves of a constant signal off zero is no spectrum
        off, whole = (lengths(np.where(used, merged.magnitude, 0.0)) for used in (merged.off_zero, merged.present))
        values = np.where((off <= rounding_floor(merged) * whole)[..., None], 0.0 * values, values)
    used = merged.present if zero else merged.off_zero
    weights = np.where(used, merged.multiplicity, 0)
    return SpreadSpectra(np.where(used, values, np.nan), weights, merged.eigenvalue, merged.eigenspace)


def compare(
    a: "xr.Dataset", b: "xr.Dataset", *, zero: bool = False, bands: int = 4, draws: int = 999, seed: int = 0
) -> "xr.Dataset":
    r"""Compare two results on one graph, per algorithm and hop.

    Repeated eigenvalues are merged and their energy spread evenly over their components first, so that nothing
    depends on the choice of a basis; ``zero=True`` includes zero components.

    Parameters
    ----------
    a, b : Dataset
        Results on the same graph, made with the same Laplacian, metric and options. Snapshots, columns, hops and
        algorithms are matched by label; a result without snapshots is compared with all.
    zero : bool
        Whether zero components take part.
    bands : int
        Number of bands for ``energy_shift``.
    draws : int
        Random orders for the chance of ``correlation``, and random exchanges for the interval and the p of
        ``energy_shift``; 0 for none.
    seed : int

    Returns
    -------
    Dataset
        Over ``(algorithm, [snapshot,] hop)``:

        ``correlation``, ``chance_low``, ``chance_high``
            Pearson correlation of the two spectra over components, means taken off, and 2.5 and 97.5 % of it with the
            eigenspaces of b in random order (NaN without draws).
        ``cosine``, ``cosine_flat_a``, ``cosine_flat_b``
            Cosine of the two, and of each with a flat spectrum: a cosine that is not larger is not evidence.
        ``largest_difference``, ``at_eigenvalue``, ``at_eigenspace``
            Largest change, b less a, of spectra of unit length, and where; NaN where the two do not differ.
        ``wasserstein``
            Distance between the distributions of energy along the eigenvalue axis, in units of the eigenvalue.
        ``energy_shift(..., band)``
            Share of energy off zero in each band, b less a.
        ``shift_low``, ``shift_high``, ``shift_p`` (..., band)
            For gft, where both results keep their signals: the interval that holds the shifts of all bands in 95 % of
            random exchanges, and a p corrected over the bands of a hop (the largest shift, in units of its own
            spread). Not corrected over hops, snapshots and algorithms. Of more than ten snapshots the first and the
            last are tested. ``shift_test`` says why there is none.
        ``off_zero_a``, ``off_zero_b``
            Share of GFT energy off zero, where both hold gft.

    Notes
    -----
    Exchanging a and b turns the signs of ``largest_difference``, ``energy_shift`` and the interval, exchanges the
    variables that end in ``_a`` and ``_b``, and changes nothing else.

    The null of ``shift_p``: at every node it is arbitrary which of the two vectors belongs to which signal,
    independently of the other nodes, as for one signal measured twice with independent errors of one distribution.
    That p is exact, and counts an offset or a factor between the two signals as a difference. A second p, of both
    signals scaled to mean 0 and unit length, does not. ``shift_p`` is the larger of the two, with the wider interval.
    Vectors are exchanged as they are: bring embeddings of two models to one coordinate system first. Two
    independent smooth signals are not exchangeable node by node: p answers whether the two are one signal up to errors,
    not whether they come from one population.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(16), hops=1)
    >>> slow, fast = [i / 16 for i in range(16)], [i % 2 for i in range(16)]
    >>> found = st.compare(strat.spectra(slow), strat.spectra(fast))
    >>> float(found["correlation"].sel(algorithm="gft", hop=1)) < 0
    True
    >>> found["energy_shift"].loc["gft", 1].values.round(2).tolist()
    [-0.98, 0.02, 0.05, 0.91]
    >>> found["shift_p"].loc["gft", 1].values.tolist()
    [0.018, 0.923, 0.934, 0.007]
    """
    import xarray as xr

    whole(draws, "draws", 0)
    whole(seed, "seed", 0)
    first, second = align(a, b)
    for side in (first, second):
        side.require_complete("a comparison")
        require_every_magnitude(side, "A comparison")
        if zero:
            side.require_zeros("a comparison with zero components")
    rows = first if first.row_dims else second
    x, y = spread_evenly(first, zero), spread_evenly(second, zero)
    measures = measure_pairs(x, y)
    measures["chance_low"], measures["chance_high"] = correlation_chance(x, y, draws, seed)
    variables: dict[str, Any] = {name: rows.placed(array, "hop") for name, array in measures.items()}
    variables["status"] = rows.placed(_status(measures), "hop")
    coords: dict[str, Any] = {"algorithm": list(first.algorithms), "hop": list(first.hops)} | rows.row_coordinates()
    merged = first if first.is_bands else view(merge_eigenspaces(first.ds))
    groups, count = level_groups(merged, "band", bands)
    coords |= level_coordinates(merged, groups, count, "band")
    shift = band_shares(y, groups, count) - band_shares(x, groups, count)
    variables["energy_shift"] = rows.placed(shift, "hop", "band")
    attributes = attributes_of(first.ds, "comparison") | {"zero": int(zero), "draws": draws, "seed": seed}
    reason = why_untested(first, second, draws)
    attributes["shift_test"] = f"none: {reason}" if reason else NULL
    if not reason:
        for name, array in shift_intervals(first, second, bands, draws, seed).items():
            every = np.full(shift.shape, np.nan)
            every[first.algorithms.index(EXACT)] = array
            variables[name] = rows.placed(every, "hop", "band")
    if EXACT in first.algorithms and not any(ZERO_DROPPED in side.ds.attrs for side in (first, second)):
        for name, side in (("off_zero_a", first), ("off_zero_b", second)):
            variables[name] = side.placed(off_zero_share(side), "hop", algorithm=False)
    return xr.Dataset(variables, coords, attributes)


def correlation_chance(x: SpreadSpectra, y: SpreadSpectra, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute 2.5 and 97.5 % of the correlation with eigenspaces in random order: ``(algorithm, T, hop)`` each."""
    u, v = np.broadcast_arrays(x.values, y.values)
    low, high = (np.full(u.shape[:-1], np.nan) for _ in range(2))
    for place in np.ndindex(u.shape[:-1] if draws else (0,)):
        used = np.flatnonzero(~np.isnan(u[place]) & ~np.isnan(v[place]) & (x.weights[place[-1]] > 0))
        if len(used) < 2:
            continue
        weights = x.weights[place[-1]][used] / x.weights[place[-1]][used].sum()
        one, other = (squarable(side[place][used])[0] for side in (u, v))
        mixed = orders(seed, len(used), 0, draws)
        # Each order for both sides in turn, so that exchanging the two results changes nothing.
        pairs = [(one[None], other[mixed]), (one[mixed], other[None])]
        found = np.concatenate([_correlations(*pair, weights) for pair in pairs])
        if np.isfinite(found).all():
            low[place], high[place] = np.percentile(found, (2.5, 97.5))
    return low, high


def _correlations(u: np.ndarray, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Correlate rows ``(draws or 1, a)`` with weights that add up to 1; NaN for flat ones."""
    u, v = (side - (side @ weights)[:, None] for side in (u, v))
    spread = np.sqrt((u**2 @ weights) * (v**2 @ weights))
    return np.divide((u * v) @ weights, spread, out=np.full(spread.shape, np.nan), where=spread > FLAT**2)


def measure_pairs(x: SpreadSpectra, y: SpreadSpectra) -> dict[str, np.ndarray]:
    """Compute all measures of two spectra per hop, ``(algorithm, T, hop)`` each."""
    u, v = np.broadcast_arrays(x.values, y.values)
    present = ~(np.isnan(u) | np.isnan(v))
    w = np.where(present, x.weights, 0.0)
    # No measure depends on the spectra's sizes, and their squares must keep their digits.
    u, v = (squarable(np.where(present, array, 0.0))[0] for array in (u, v))
    total = w.sum(axis=-1)
    nothing = total == 0
    total = np.where(nothing, 1.0, total)

    def mean(array: np.ndarray) -> np.ndarray:
        return np.sum(w * array, axis=-1) / total

    size_u, size_v = np.sqrt(mean(u * u)), np.sqrt(mean(v * v))
    off_u, off_v = u - mean(u)[..., None], v - mean(v)[..., None]
    spread_u, spread_v = np.sqrt(mean(off_u**2)), np.sqrt(mean(off_v**2))
    varies = (spread_u > FLAT * size_u) & (spread_v > FLAT * size_v)
    exists = (size_u > 0) & (size_v > 0) & ~nothing
    unit_u, unit_v = u / _safe(size_u, total), v / _safe(size_v, total)
    difference = np.where(w > 0, unit_v - unit_u, 0.0)
    where = np.argmax(np.abs(difference), axis=-1)[..., None]
    at = np.broadcast_to(x.eigenvalue, difference.shape), np.broadcast_to(x.eigenspace, difference.shape)

    def take(array: np.ndarray) -> np.ndarray:
        return np.where(exists, np.take_along_axis(array, where, axis=-1)[..., 0], np.nan)

    largest = take(difference)
    return {
        "correlation": np.divide(
            mean(off_u * off_v), spread_u * spread_v, out=np.full(total.shape, np.nan), where=varies
        ),
        "cosine": np.divide(mean(u * v), size_u * size_v, out=np.full(total.shape, np.nan), where=exists),
        "cosine_flat_a": np.divide(mean(u), size_u, out=np.full(total.shape, np.nan), where=size_u > 0),
        "cosine_flat_b": np.divide(mean(v), size_v, out=np.full(total.shape, np.nan), where=size_v > 0),
        "largest_difference": largest,
        "at_eigenvalue": np.where(np.abs(largest) > SAME, take(at[0]), np.nan),
        "at_eigenspace": np.where(np.abs(largest) > SAME, take(at[1].astype(float)), np.nan),
        "wasserstein": np.where(exists, _wasserstein(w * u**2, w * v**2, x.eigenvalue), np.nan),
    }


def _safe(size: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Length of a spectrum over all its components; 1 for a spectrum of zeros, which stays zeros."""
    return np.where(size > 0, size * np.sqrt(total), 1.0)[..., None]


def _wasserstein(a: np.ndarray, b: np.ndarray, eigenvalue: np.ndarray) -> np.ndarray:
    """``integral abs(F_a - F_b)`` of energies along the eigenvalue axis: ``(..., hop, a) -> (..., hop)``."""
    gaps = np.nan_to_num(np.diff(eigenvalue, axis=-1))
    share_a, share_b = (e / np.where(e.sum(axis=-1) > 0, e.sum(axis=-1), 1.0)[..., None] for e in (a, b))
    return np.sum(np.abs(np.cumsum(share_a - share_b, axis=-1))[..., :-1] * gaps, axis=-1)


def band_shares(x: SpreadSpectra, groups: np.ndarray, count: int) -> np.ndarray:
    """Share of energy in each band: ``(algorithm, T, hop, band)``."""
    energy = squarable(group_reduce(x.values * np.sqrt(x.weights), groups, count))[0] ** 2
    total = np.nansum(energy, axis=-1, keepdims=True)
    return np.divide(energy, total, out=np.full(energy.shape, np.nan), where=total > 0)


def _status(measures: dict[str, np.ndarray]) -> np.ndarray:
    empty, flat = np.isnan(measures["cosine"]), np.isnan(measures["correlation"])
    return np.where(
        empty, "undefined: a spectrum without energy", np.where(flat, "undefined correlation: a flat spectrum", "ok")
    )
