"""Compare two results: correlation with its chance, a cosine beside that with a flat spectrum, shifts of energy."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from spectrata.core.bases.basis import EigenBasis, coefficients_of
from spectrata.core.hop import split_along
from spectrata.core.operators import Laplacian
from spectrata.core.registry import EXACT
from spectrata.core.strata import Stratum
from spectrata.errors import UnknownNameError
from spectrata.inputs.numbers import whole
from spectrata.inputs.signals import Signal, aligned, potential
from spectrata.kernels.scaling import LAST_DIGITS, squarable
from spectrata.results.build import attributes_of
from spectrata.results.schema import ZERO_DROPPED, View, view
from spectrata.stats.describe.align import align
from spectrata.stats.describe.levels import group_reduce, level_coordinates, level_groups, merge_rules, over, rebuild
from spectrata.stats.describe.spectrum import lengths, merge_eigenspaces, off_zero_share, rounding_floor
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import chance_interval
from spectrata.stats.nulls.surrogates import exchange_signs
from spectrata.stats.statistics.shares import FLOOR

# A spectrum that varies by less than this share of its size is flat, and correlates with nothing.
FLAT = 1e-10
# Differences of spectra of unit length below this are rounding, and are nowhere.
SAME = 1e-14
TIE = 1e-9  # two shifts are tied when they differ by less than this share
TESTED = 10  # rows that are all tested; of more, the first and the last
CONFIDENCE = 0.95
NULL = (
    "at every node it is arbitrary, independently of the other nodes, which of the two vectors belongs to which "
    "signal; p is the larger of that for the signals as they are and that for both brought to mean 0 and unit length"
)


class SpreadSpectra(NamedTuple):
    """Spectra spread evenly inside eigenspaces: ``values[..., a]`` stands for ``weights[..., a]`` equal components."""

    values: np.ndarray  # (algorithm, T, hop, a), NaN where there is nothing
    weights: np.ndarray  # (hop, a)
    eigenvalue: np.ndarray  # (hop, a)
    eigenspace: np.ndarray  # (hop, a)


def merged_view(known: View) -> View:
    """Read a result by whole eigenspaces, or by its bands."""
    return known if known.is_bands else view(merge_eigenspaces(known.ds), known.name)


def spread_evenly(spectra: View | xr.Dataset, zero: bool = False) -> SpreadSpectra:
    """Give every component the root mean square of its eigenspace, which no choice of basis changes; sizes are lost."""
    merged = merged_view(spectra if isinstance(spectra, View) else view(spectra))
    rules = np.array(["l2"] if merged.is_bands else merge_rules(merged))
    power = np.where(rules == "sum", 1.0, 0.5)[:, None, None, None]
    values = merged.magnitude / np.maximum(merged.multiplicity, 1) ** power
    used = merged.present if zero else merged.off_zero
    if not zero:  # what rounding leaves of a constant signal off zero is no spectrum
        off, whole = (lengths(np.where(some, merged.magnitude, 0.0)) for some in (used, merged.present))
        values = np.where((off <= rounding_floor(merged) * whole)[..., None], 0.0 * values, values)
    weights = np.where(used, merged.multiplicity, 0)
    return SpreadSpectra(squarable(np.where(used, values, np.nan))[0], weights, merged.eigenvalue, merged.eigenspace)


def compare(
    a: xr.Dataset, b: xr.Dataset, *, zero: bool = False, bands: int = 4, draws: int = 999, seed: int = 0
) -> xr.Dataset:
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

        - ``correlation``, ``chance_low``, ``chance_high``: Pearson correlation of the two spectra over components, and
          2.5 and 97.5 % of it with the eigenspaces of b in random order (NaN without draws);
        - ``cosine``, ``cosine_flat_a``, ``cosine_flat_b``: cosine of the two, and of each with a flat spectrum: a
          cosine that is not larger is not evidence;
        - ``largest_difference``, ``at_eigenvalue``, ``at_eigenspace``: largest change, b less a, of spectra of unit
          length, and where; NaN where the two do not differ;
        - ``wasserstein``: distance between the distributions of energy along the axis of eigenvalues, in their units;
        - ``energy_shift(..., band)``: share of energy off zero in each band, b less a;
        - ``shift_low``, ``shift_high``, ``shift_p`` (..., band), for gft, where both results keep their signals
          (``shift_test`` says why there is none): the interval that holds the shifts of all bands and hops in 95 % of
          random exchanges, and a p corrected over bands and hops, not over snapshots. Of more than ten snapshots the
          first and the last are tested;
        - ``off_zero_a``, ``off_zero_b``: share of GFT energy off zero, where both hold gft.

    Notes
    -----
    The null of ``shift_p``: at every node it is arbitrary which of the two vectors belongs to which signal,
    independently of the other nodes, as for one signal measured twice with independent errors of one distribution.
    That p is exact, and counts an offset or a factor between the two signals as a difference. A second p, of both
    signals scaled to mean 0 and unit length, does not. ``shift_p`` is the larger of the two, with the wider interval.
    Vectors are exchanged as they are: bring embeddings of two models to one coordinate system first. Two independent
    smooth signals are not exchangeable node by node: p answers whether the two are one signal up to errors, not
    whether they come from one population.

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
    flat = np.where(np.isnan(measures["correlation"]), "undefined correlation: a flat spectrum", "ok")
    measures["status"] = np.where(np.isnan(measures["cosine"]), "undefined: a spectrum without energy", flat)
    variables: dict[str, Any] = {name: rows.placed(array, "hop") for name, array in measures.items()}
    groups, count = level_groups(first, "band", bands)
    coords: dict[str, Any] = {"algorithm": list(first.algorithms), "hop": list(first.hops)} | rows.row_coordinates()
    coords |= level_coordinates(first, groups, count, "band")
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


def correlation_chance(x: SpreadSpectra, y: SpreadSpectra, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Compute 2.5 and 97.5 % of the correlation with eigenspaces in random order: ``(algorithm, T, hop)`` each."""
    u, v = np.broadcast_arrays(x.values, y.values)
    low, high = (np.full(u.shape[:-1], np.nan) for _ in range(2))
    for place in np.ndindex(u.shape[:-1]):
        weights = x.weights[place[-1]]
        used = np.flatnonzero(~np.isnan(u[place]) & ~np.isnan(v[place]) & (weights > 0))
        if not draws or len(used) < 2:
            continue
        one, other, mixed = u[place][used], v[place][used], orders(seed, len(used), 0, draws)
        # Each order for both sides in turn, so that exchanging the two results changes nothing.
        pairs = [(one[None], other[mixed]), (one[mixed], other[None])]
        found = np.concatenate([correlation(*pair, weights[used] / weights[used].sum()) for pair in pairs])
        if np.isfinite(found).all():
            low[place], high[place] = chance_interval(found[:, None])[:, 0]
    return {"chance_low": low, "chance_high": high}


def correlation(u: np.ndarray, v: np.ndarray, weights: Any, flat: float = FLAT) -> np.ndarray:
    """Correlate along the last axis, with weights that add up to 1; NaN where a side is flat."""
    off_u, off_v = (side - np.sum(weights * side, axis=-1, keepdims=True) for side in (u, v))
    size_u, size_v, spread_u, spread_v = (np.sqrt(np.sum(weights * one**2, axis=-1)) for one in (u, v, off_u, off_v))
    varies = (spread_u > flat * size_u) & (spread_v > flat * size_v)
    return over(np.sum(weights * off_u * off_v, axis=-1), spread_u * spread_v, varies)


def measure_pairs(x: SpreadSpectra, y: SpreadSpectra) -> dict[str, np.ndarray]:
    """Compute all measures of two spectra per hop, ``(algorithm, T, hop)`` each."""
    u, v = np.broadcast_arrays(x.values, y.values)
    present = ~(np.isnan(u) | np.isnan(v))
    u, v = (np.where(present, array, 0.0) for array in (u, v))
    w = np.where(present, x.weights, 0.0)
    total = np.maximum(w.sum(axis=-1, keepdims=True), 1.0)
    w = w / total
    sizes = (np.sqrt(np.sum(w * one**2, axis=-1, keepdims=True)) for one in (u, v))
    # Of mean square 1; all NaN, and so every measure, where a spectrum has no energy.
    u, v = (one / np.where(size > 0, size, np.nan) for one, size in zip((u, v), sizes, strict=True))
    difference = (v - u) / np.sqrt(total) * (w > 0)
    place = np.argmax(np.abs(difference), axis=-1)[..., None]
    arrays = np.broadcast_arrays(difference, x.eigenvalue, x.eigenspace.astype(float))
    largest, value, space = (np.take_along_axis(one, place, axis=-1)[..., 0] for one in arrays)
    moved = np.abs(largest) > SAME
    apart = np.abs(np.cumsum(w * (u**2 - v**2), axis=-1))[..., :-1]  # of the two distributions of energy
    return {
        "correlation": correlation(u, v, w),
        "cosine": np.sum(w * u * v, axis=-1),
        "cosine_flat_a": np.sum(w * u, axis=-1),
        "cosine_flat_b": np.sum(w * v, axis=-1),
        "largest_difference": largest,
        "at_eigenvalue": np.where(moved, value, np.nan),
        "at_eigenspace": np.where(moved, space, np.nan),
        "wasserstein": np.sum(apart * np.nan_to_num(np.diff(x.eigenvalue)), axis=-1),
    }


def band_shares(x: SpreadSpectra, groups: np.ndarray, count: int) -> np.ndarray:
    """Share of energy in each band: ``(algorithm, T, hop, band)``."""
    energy = group_reduce(x.values * np.sqrt(x.weights), groups, count) ** 2
    return over(energy, np.broadcast_to(np.nansum(energy, axis=-1, keepdims=True), energy.shape))


def why_untested(a: View, b: View, draws: int) -> str:
    """Say why the shifts of two results cannot be tested; "" where they can."""
    if draws == 0:
        return "no draws"
    if a.is_bands:
        return "results of band_spectra keep no signal"
    if EXACT not in a.algorithms:
        return f"only {EXACT} has one"
    if a.signal is None or b.signal is None or "edges" not in a.ds:
        return "the signals were not kept; compute both with keep=['signal']"
    if "bins" in a.ds.attrs:
        return "results of bins of distances do not keep their pairs of nodes"
    if a.signal.shape[2] != b.signal.shape[2]:
        widths = f"{a.signal.shape[2]} and {b.signal.shape[2]}"
        return f"the signals have {widths} columns, and vectors of different lengths cannot be exchanged"
    try:
        aligned(b.signal, b.column_names, a.column_names)
    except UnknownNameError as error:
        return str(error)
    return ""


def shift_intervals(a: View, b: View, bands: int, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Compute interval and corrected p of the shifts of band shares, b less a: ``(R, H, bands)``, NaN if untested."""
    operator = Laplacian(a.options["laplacian"], a.options["self_loops"])
    strat = rebuild(a).using(**operator.arguments)
    sides = np.asarray(a.signal), aligned(np.asarray(b.signal), b.column_names, a.column_names)
    first, second = (potential(Signal(side, None), a.metric, "zero") for side in sides)
    count = max(len(first), len(second))
    parts = Stratum(1, a.n_nodes, strat.graph.edges).parts if operator.has_constants else None
    ready = {}
    for row in range(count) if count <= TESTED else (0, count - 1):
        i, j = row % len(first), row % len(second)
        common = max(first.scale[i], second.scale[j])  # a power of two of both
        pair = first.values[i] * (first.scale[i] / common), second.values[j] * (second.scale[j] / common)
        if pairs := comparable(*pair, parts, a.metric):
            ready[row] = pairs
    reach, p = np.full((2, count, len(a.hops), bands), np.nan)
    signs = exchange_signs(seed, a.n_nodes, draws)
    shifts = {row: np.empty((2, 1 + draws, len(a.hops), bands)) for row in ready}
    for place, hop in enumerate(a.hops if ready else ()):
        forms = band_forms(strat.basis(hop), bands)
        for row, pairs in ready.items():
            shifts[row][:, :, place] = [exchanged_shifts(*pair, forms, signs) for pair in pairs]
    for row, both in shifts.items():
        found = np.max([max_shift_test(one.reshape(1 + draws, -1)) for one in both], axis=0)
        reach[row], p[row] = found.reshape(2, len(a.hops), bands)
    return {"shift_low": -reach, "shift_high": reach, "shift_p": p}


def band_forms(basis: EigenBasis, bands: int) -> np.ndarray:
    """Build the matrices P of every band with the energy ``tr(t^T P t)`` of a signal, ``(bands, n, n)``."""
    groups, count = level_groups(basis.axis, "band", bands)
    vectors = coefficients_of(basis)
    inside = (vectors[:, groups[0] == band] for band in range(count))
    return np.stack([columns @ columns.T for columns in inside])


def exchanged_shifts(a: np.ndarray, b: np.ndarray, forms: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Compute shares of b less those of a per band, exchanged where a sign is -1: ``(draws, n) -> (draws, bands)``.

    The two sides are m - s h and m + s h, with the mean m of both signals and half their difference h. The energies
    are quadratic in the signs s, so that no draw costs more than n^2 operations, however many columns there are.
    """
    mean, half = (a + b) / 2, (b - a) / 2
    sides = np.empty((2, len(signs), len(forms)))
    for band, form in enumerate(forms):
        linear = 2 * signs @ np.einsum("nd,nd->n", form @ mean, half)
        square = np.einsum("bn,bn->b", signs @ (form * (half @ half.T)), signs)
        fixed = np.sum(mean * (form @ mean))
        sides[:, :, band] = np.maximum(np.stack([fixed - linear + square, fixed + linear + square]), 0.0)
    total = sides.sum(axis=2, keepdims=True)
    # A side without energy off zero has no shares, whichever order of the exchanges made it.
    some = np.broadcast_to(total > FLOOR**2 * total.max(initial=0.0), sides.shape)
    shares = np.divide(sides, total, out=np.zeros_like(sides), where=some)
    return shares[1] - shares[0]


def comparable(
    a: np.ndarray, b: np.ndarray, parts: np.ndarray | None, metric: str
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Centre and scale the two signals together, and each by itself; nothing where one has no differences.

    The common ones do not change when nodes are exchanged, so that the first test is exact. It takes an offset or a
    factor between the two signals for a difference; the second does not, since no share depends on these. Means are
    taken off on every connected part of the graph, given by each node's ``parts``, or not at all.
    """
    off_a, off_b = (side if parts is None else split_along(side, parts, None, False)[1] for side in (a, b))
    size_a, size_b = np.linalg.norm(off_a), np.linalg.norm(off_b)
    floor = LAST_DIGITS if metric == "euclidean" and parts is not None else FLOOR
    if size_a <= floor * np.linalg.norm(a) or size_b <= floor * np.linalg.norm(b):
        return []
    mean = (a - off_a + b - off_b) / 2
    common = np.sqrt((np.sum((a - mean) ** 2) + np.sum((b - mean) ** 2)) / 2)
    return [((a - mean) / common, (b - mean) / common), (off_a / size_a, off_b / size_b)]


def max_shift_test(shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the reach of the null and p of the first of ``(1 + draws, tests)`` shifts, corrected over tests.

    Exchanging every node turns the sign, so that the null is symmetric about 0; the statistic is the largest absolute
    shift over bands and hops, each in units of its root mean square.
    """
    size = np.sqrt(np.mean(shifts**2, axis=0))
    moves = size > TIE
    largest = np.max(np.abs(shifts[:, moves]) / size[moves], axis=1) if moves.any() else np.zeros(len(shifts))
    own = np.divide(np.abs(shifts[0]), size, out=np.zeros(len(size)), where=moves)
    p = np.mean(largest[:, None] >= own * (1 - TIE), axis=0)
    reached = np.sort(largest)[int(np.ceil(CONFIDENCE * (len(largest) - 1)))]
    return np.where(moves, size * reached, 0.0), p
