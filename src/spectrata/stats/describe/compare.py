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
from spectrata.stats.describe.levels import group_reduce, level_coordinates, level_groups, merge_rules
from spectrata.stats.describe.spectrum import lengths, merge_eigenspaces, off_zero_share, rounding_floor
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


def merged_view(known: View) -> View:
    """Read a result by whole eigenspaces, or by its bands."""
    return known if known.is_bands else view(merge_eigenspaces(known.ds), known.name)


def spread_evenly(spectra: "View | xr.Dataset", zero: bool = False) -> SpreadSpectra:
    """Give every component the root mean square of its eigenspace, which no choice of basis changes."""
    merged = merged_view(spectra if isinstance(spectra, View) else view(spectra))
    rules = np.array(["l2"] if merged.is_bands else merge_rules(merged))
    power = np.where(rules == "sum", 1.0, 0.5)[:, None, None, None]
    values = merged.magnitude / np.maximum(merged.multiplicity, 1) ** power
    used = merged.present if zero else merged.off_zero
    if not zero:  # what rounding leaves of a constant signal off zero is no spectrum
        off, whole = (lengths(np.where(some, merged.magnitude, 0.0)) for some in (used, merged.present))
        values = np.where((off <= rounding_floor(merged) * whole)[..., None], 0.0 * values, values)
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
    aligned = align(a, b)
    for side in aligned:
        side.require_complete("a comparison")
        if zero:
            side.require_zeros("a comparison with zero components")
    first, second = map(merged_view, aligned)
    rows = first if first.row_dims else second
    x, y = spread_evenly(first, zero), spread_evenly(second, zero)
    measures = measure_pairs(x, y) | correlation_chance(x, y, draws, seed)
    variables: dict[str, Any] = {name: rows.placed(array, "hop") for name, array in measures.items()}
    flat = np.where(np.isnan(measures["correlation"]), "undefined correlation: a flat spectrum", "ok")
    status = np.where(np.isnan(measures["cosine"]), "undefined: a spectrum without energy", flat)
    variables["status"] = rows.placed(status, "hop")
    groups, count = level_groups(first, "band", bands)
    coords: dict[str, Any] = {"algorithm": list(first.algorithms), "hop": list(first.hops)} | rows.row_coordinates()
    coords |= level_coordinates(first, groups, count, "band")
    shift = band_shares(y, groups, count) - band_shares(x, groups, count)
    variables["energy_shift"] = rows.placed(shift, "hop", "band")
    attributes = attributes_of(first.ds, "comparison") | {"zero": int(zero), "draws": draws, "seed": seed}
    reason = why_untested(first, second, draws)
    attributes["shift_test"] = f"none: {reason}" if reason else NULL
    for name, array in {} if reason else shift_intervals(first, second, bands, draws, seed).items():
        every = np.full(shift.shape, np.nan)
        every[first.algorithms.index(EXACT)] = array
        variables[name] = rows.placed(every, "hop", "band")
    if EXACT in first.algorithms and not any(ZERO_DROPPED in side.ds.attrs for side in (first, second)):
        for name, side in (("off_zero_a", first), ("off_zero_b", second)):
            variables[name] = side.placed(off_zero_share(side), "hop", algorithm=False)
    return xr.Dataset(variables, coords, attributes)


def correlation_chance(x: SpreadSpectra, y: SpreadSpectra, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Compute 2.5 and 97.5 % of the correlation with eigenspaces in random order: ``(algorithm, T, hop)`` each."""
    u, v = np.broadcast_arrays(x.values, y.values)
    low, high = (np.full(u.shape[:-1], np.nan) for _ in range(2))
    for place in np.ndindex(u.shape[:-1] if draws else (0,)):
        weights = x.weights[place[-1]]
        used = np.flatnonzero(~np.isnan(u[place]) & ~np.isnan(v[place]) & (weights > 0))
        if len(used) < 2:
            continue
        one, other = (squarable(side[place][used])[0] for side in (u, v))
        mixed = orders(seed, len(used), 0, draws)
        # Each order for both sides in turn, so that exchanging the two results changes nothing.
        pairs = [(one[None], other[mixed]), (one[mixed], other[None])]
        found = np.concatenate([_correlation(*pair, weights[used] / weights[used].sum()) for pair in pairs])
        if np.isfinite(found).all():
            low[place], high[place] = np.percentile(found, (2.5, 97.5))
    return {"chance_low": low, "chance_high": high}


def _correlation(u: np.ndarray, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Correlate along the last axis, with weights that add up to 1; NaN where a side is flat."""
    off_u, off_v = (side - np.sum(weights * side, axis=-1, keepdims=True) for side in (u, v))
    (size_u, size_v), (spread_u, spread_v) = (
        [np.sqrt(np.sum(weights * one**2, axis=-1)) for one in sides] for sides in ((u, v), (off_u, off_v))
    )
    varies = (spread_u > FLAT * size_u) & (spread_v > FLAT * size_v)
    return _over(np.sum(weights * off_u * off_v, axis=-1), spread_u * spread_v, varies)


def _over(a: np.ndarray, b: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Divide where that is defined; NaN elsewhere."""
    return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=some)


def measure_pairs(x: SpreadSpectra, y: SpreadSpectra) -> dict[str, np.ndarray]:
    """Compute all measures of two spectra per hop, ``(algorithm, T, hop)`` each."""
    u, v = np.broadcast_arrays(x.values, y.values)
    present = ~(np.isnan(u) | np.isnan(v))
    # No measure depends on the spectra's sizes, and their squares must keep their digits.
    u, v = (squarable(np.where(present, array, 0.0))[0] for array in (u, v))
    w = np.where(present, x.weights, 0.0)
    total = np.maximum(w.sum(axis=-1), 1.0)
    w, root = w / total[..., None], np.sqrt(total)
    size_u, size_v = (np.sqrt(np.sum(w * one**2, axis=-1)) for one in (u, v))
    exists = (size_u > 0) & (size_v > 0)
    length_u, length_v = (np.where(size > 0, size * root, 1.0)[..., None] for size in (size_u, size_v))
    unit_u, unit_v = u / length_u, v / length_v  # a spectrum of zeros stays zeros
    difference = np.where(w > 0, unit_v - unit_u, 0.0)
    where = np.argmax(np.abs(difference), axis=-1)[..., None]

    def at_largest(array: np.ndarray) -> np.ndarray:
        found = np.take_along_axis(np.broadcast_to(array, difference.shape), where, axis=-1)[..., 0]
        return np.where(exists, found, np.nan)

    largest = at_largest(difference)
    return {
        "correlation": _correlation(u, v, w),
        "cosine": _over(np.sum(w * u * v, axis=-1), size_u * size_v, exists),
        "cosine_flat_a": _over(np.sum(w * u, axis=-1), size_u, size_u > 0),
        "cosine_flat_b": _over(np.sum(w * v, axis=-1), size_v, size_v > 0),
        "largest_difference": largest,
        "at_eigenvalue": np.where(np.abs(largest) > SAME, at_largest(x.eigenvalue), np.nan),
        "at_eigenspace": np.where(np.abs(largest) > SAME, at_largest(x.eigenspace.astype(float)), np.nan),
        "wasserstein": np.where(exists, _wasserstein(w * u**2, w * v**2, x.eigenvalue), np.nan),
    }


def _wasserstein(a: np.ndarray, b: np.ndarray, eigenvalue: np.ndarray) -> np.ndarray:
    """``integral abs(F_a - F_b)`` of energies along the eigenvalue axis: ``(..., hop, a) -> (..., hop)``."""
    gaps = np.nan_to_num(np.diff(eigenvalue, axis=-1))
    share_a, share_b = (e / np.where(e.sum(axis=-1) > 0, e.sum(axis=-1), 1.0)[..., None] for e in (a, b))
    return np.sum(np.abs(np.cumsum(share_a - share_b, axis=-1))[..., :-1] * gaps, axis=-1)


def band_shares(x: SpreadSpectra, groups: np.ndarray, count: int) -> np.ndarray:
    """Share of energy in each band: ``(algorithm, T, hop, band)``."""
    energy = squarable(group_reduce(x.values * np.sqrt(x.weights), groups, count))[0] ** 2
    total = np.broadcast_to(np.nansum(energy, axis=-1, keepdims=True), energy.shape)
    return _over(energy, total, total > 0)
