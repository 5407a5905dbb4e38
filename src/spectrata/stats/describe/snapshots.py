"""Spectra of many snapshots: against a score, and group against group (the scheme of Tasks 5, 7 and 8)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.spatial.distance import pdist

from spectrata.errors import OptionError, ResultError, shown
from spectrata.inputs.numbers import one_of, whole
from spectrata.kernels.scaling import squarable
from spectrata.results.build import attributes_of
from spectrata.results.schema import NORMALIZED, ZERO_DROPPED, View, view
from spectrata.stats.describe.align import align
from spectrata.stats.describe.compare import correlation
from spectrata.stats.describe.spectrum import lengths, normalize
from spectrata.stats.statistics.shares import FLOOR

OF = ("gradient_norm", "magnitude", "magnitude_norm")
PAIRS = ("AB-AA", "AB-BB", "AA-BB")
KINDS = ("mean", "max")
STILL = 1e-12  # what varies by less than this share of its size is rounding


def correlate(ds: xr.Dataset, score: Any, *, of: str = "gradient_norm", confidence: float = 0.95) -> xr.Dataset:
    r"""Correlate norms or magnitudes of snapshots with a score (Tasks 5 and 8).

    Parameters
    ----------
    ds : Dataset
        A result with four snapshots or more.
    score : array_like, Series, DataArray or mapping, shape (T,)
        One number per snapshot: accuracy, ARI, loss. Labels are matched by name where the score has some.
    of : {"gradient_norm", "magnitude", "magnitude_norm"}
        The gradient's norm per hop, every magnitude, or the l2 norm of an algorithm's magnitudes per hop.
    confidence : float
        Of the intervals.

    Returns
    -------
    Dataset
        ``pearson`` and ``spearman`` with ``_low`` and ``_high`` ends of their intervals, over the dims of ``of``
        without ``snapshot``; and ``n_used``. NaN where either side does not vary.

    Notes
    -----
    Intervals by Fisher's transform with standard error :math:`1/\sqrt{T-3}`, for Spearman
    :math:`\sqrt{(1+\rho^2/2)/(T-3)}` (Bonett and Wright 2000). They hold for one correlation at a time.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> x = np.random.default_rng(0).normal(size=(20, 8, 1)) * np.arange(1, 21)[:, None, None]
    >>> ds = st.spectra(nx.cycle_graph(8), x, hops=1)
    >>> found = st.stats.correlate(ds, np.arange(20))
    >>> bool(found["pearson_low"][0] > 0.5)
    True
    """
    from scipy.stats import norm, rankdata

    one_of(of, "of", OF)
    spectra = view(ds)
    if len(spectra.rows or ()) < 4:
        raise OptionError("Correlations with intervals need at least four snapshots.")
    if not 0 < confidence < 1:
        raise OptionError(f"confidence={confidence!r} must lie between 0 and 1.")
    target = _matched(score, spectra)
    values, dims = _values(spectra, of)  # (T, ...)
    plain = pearson(values, target)
    # Ranks are taken over all snapshots; where some are NaN neither coefficient is given.
    ranked = pearson(rankdata(values, axis=0, nan_policy="omit"), rankdata(target))
    found: dict[str, np.ndarray] = {}
    for name, r in (("pearson", plain), ("spearman", ranked)):
        error = np.sqrt((1 + (r**2 / 2 if name == "spearman" else 0.0)) / (len(target) - 3))
        centre, reach = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15)), norm.ppf(0.5 + confidence / 2) * error
        found |= {name: r, f"{name}_low": np.tanh(centre - reach), f"{name}_high": np.tanh(centre + reach)}
    found["n_used"] = np.isfinite(values).sum(axis=0)
    variables: dict[str, Any] = {name: (dims, array) for name, array in found.items()}
    coords = {name: c for name, c in ds.coords.items() if c.dims and set(c.dims) <= set(dims)}
    attributes = attributes_of(ds, "correlations") | {"of": of, "confidence": confidence, "n_snapshots": len(target)}
    return xr.Dataset(variables, coords, attributes)


def _values(spectra: View, of: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """The values to correlate, rows first, and the dimensions behind them."""
    if of == "gradient_norm":
        return spectra.gradient_norm, ("hop",)
    sizes = np.where(np.isnan(spectra.magnitude).all(axis=-1), np.nan, lengths(spectra.magnitude))
    if of == "magnitude_norm":
        return np.moveaxis(sizes, 1, 0), ("algorithm", "hop")
    # What is rounding beside the rest of its spectrum is 0, and does not vary.
    values = np.where(spectra.magnitude <= FLOOR * sizes[..., None], 0.0, spectra.magnitude)
    return np.moveaxis(values, 1, 0), ("algorithm", "hop", "component")


def _matched(score: Any, spectra: View) -> np.ndarray:
    """Order the score by the result's rows: by label where it has labels that do more than count."""
    labels = spectra.rows or []
    given = pd.Series(score) if isinstance(score, Mapping) else score
    if hasattr(given, "dims") and getattr(given, "coords", {}):
        given = given.to_series()
    if isinstance(given, pd.Series):
        counted = given.index.equals(pd.RangeIndex(len(given))) and not set(given.index) & set(labels)
        lacking = [label for label in labels if label not in given.index]
        if not counted and (lacking or not given.index.is_unique):
            what = f"lacks {shown(lacking[0])}" if lacking else "has a label twice"
            raise OptionError(f"score is labelled and {what}; give one number for each snapshot of the result.")
        given = given if counted else given.loc[labels]
    target = np.asarray(given, dtype=float)
    if target.shape != (len(labels),) or not np.isfinite(target).all():
        raise OptionError(f"score needs one finite number for each of the {len(labels)} snapshots.")
    return target


def pearson(values: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Correlation along the first axis; NaN where a side does not vary beyond rounding."""
    values, target = squarable(values, 0)[0], squarable(target, 0)[0]  # the size of either does not matter
    return np.clip(correlation(np.moveaxis(values, 0, -1), target, 1 / len(target), STILL), -1, 1)


def distinguish(
    group_a: xr.Dataset, group_b: xr.Dataset, *, normalized: bool = True, draws: int = 199, seed: int = 0
) -> xr.Dataset:
    r"""Tell two groups of signals apart by their spectra, with permutation p-values.

    For every two snapshots the mean and the maximum over components of :math:`|M - M'|`; then the Wasserstein
    distances between the distributions of these numbers over pairs across the groups (AB) and within them (AA, BB):
    low where the groups cannot be told apart.

    Parameters
    ----------
    group_a, group_b : Dataset
        Results on one graph with snapshots, two or more each. Merge eigenspaces or drop zeros before, if wanted.
    normalized : bool
        Compare spectra of unit length (Tasks 5 and 7), or as they are (Task 8).
    draws : int
        Random divisions of all snapshots into groups of the same sizes, for the p-values.
    seed : int

    Returns
    -------
    Dataset
        ``wasserstein`` and ``p(algorithm, hop, pair, kind)``; ``largest_mean_difference(algorithm, hop)`` of the
        groups' mean spectra with its ``largest_p`` and ``at_component``. ``p = (1 + count) / (draws + 1)``, large
        distances being extreme.

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> strat = st.Stratification(nx.cycle_graph(12), hops=2)
    >>> x = np.random.default_rng(0).normal(size=(16, 12, 2))
    >>> same = st.stats.distinguish(strat.spectra(x[:8], "gft"), strat.spectra(x[8:], "gft"), draws=99)
    >>> dict(same.sizes)
    {'algorithm': 1, 'hop': 2, 'pair': 3, 'kind': 2}
    """
    whole(draws, "draws", 0)
    if normalized:
        group_a, group_b = normalize(group_a), normalize(group_b)
    first, second = align(group_a, group_b, ("group_a", "group_b"), rows=False)
    if not normalized and (NORMALIZED in group_a.attrs) != (NORMALIZED in group_b.attrs):
        raise ResultError("One group has spectra of unit length and the other has not; pass normalized=True.")
    if (ZERO_DROPPED in group_a.attrs) != (ZERO_DROPPED in group_b.attrs):
        raise ResultError("One group has its zero components dropped and the other has not; drop them in both.")
    for group in (first, second):
        if len(group.rows or ()) < 2:
            raise OptionError(f"{group.name} needs at least two snapshots, shape (T, n, d).")
    values = np.concatenate([first.magnitude, second.magnitude], axis=1)  # (algorithm, N, hop, n)
    in_a = np.arange(values.shape[1]) < len(first.rows or ())
    rng = np.random.default_rng([seed, 0xD15])
    labels = np.stack([in_a, *(rng.permutation(in_a) for _ in range(draws))])  # (1 + draws, N)
    shape, dims = (values.shape[0], values.shape[2]), ("algorithm", "hop", "pair", "kind")
    found = {name: np.full((*shape, len(PAIRS), len(KINDS)), np.nan) for name in ("wasserstein", "p")}
    found |= {name: np.full(shape, np.nan) for name in ("largest_mean_difference", "largest_p", "at_component")}
    for index in np.ndindex(shape):
        spectra = values[index[0], :, index[1]]  # (N, n)
        known = np.flatnonzero(~np.isnan(spectra).any(axis=0))
        spectra = spectra[:, known]
        if not len(known):
            continue
        for kind, table in enumerate(pairwise(spectra)):
            apart = distances(table, labels)  # (1 + draws, pair)
            found["wasserstein"][index][:, kind], found["p"][index][:, kind] = apart[0], _p_value(apart)
        a, b = (side / side.sum(axis=1, keepdims=True) for side in (labels, ~labels))
        gaps = np.abs((a - b) @ spectra)  # of the mean spectra, (1 + draws, n)
        found["largest_mean_difference"][index] = gaps[0].max()
        found["largest_p"][index] = _p_value(gaps.max(axis=1))
        found["at_component"][index] = first.component[known[gaps[0].argmax()]]
    variables: dict[str, Any] = {name: (dims[: array.ndim], array) for name, array in found.items()}
    coords = {"algorithm": list(first.algorithms), "hop": list(first.hops), "pair": list(PAIRS), "kind": list(KINDS)}
    sizes = {"n_a": int(in_a.sum()), "n_b": int((~in_a).sum()), "draws": int(draws), "normalized": int(normalized)}
    return xr.Dataset(variables, coords, attributes_of(first.ds, "groups") | sizes)


def pairwise(spectra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and maximum of ``abs(M - M')`` over components for every two rows, the pairs as in ``triu_indices``."""
    return pdist(spectra, "cityblock") / spectra.shape[1], pdist(spectra, "chebyshev")


def distances(table: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Wasserstein distances AB-AA, AB-BB, AA-BB of all pairs' numbers for every labelling ``(L, N)``: ``(L, 3)``."""
    order = np.argsort(table)
    i, j = (ends[order] for ends in np.triu_indices(labels.shape[1], 1))
    gaps = np.diff(table[order])
    out = np.empty((len(labels), 3))
    for row, in_a in enumerate(labels):
        both = in_a[i].astype(np.int8) + in_a[j]
        aa, ab, bb = (np.cumsum(both == k) / np.count_nonzero(both == k) for k in (2, 1, 0))
        out[row] = [np.abs(x - y)[:-1] @ gaps for x, y in ((ab, aa), (ab, bb), (aa, bb))]
    return out


def _p_value(found: np.ndarray) -> Any:
    """``(1 + count) / (draws + 1)`` for the first row, the observed, among all; ties count."""
    tie = 1e-9 * np.abs(found[0])
    return (1 + np.sum(found[1:] >= found[0] - tie, axis=0)) / len(found)
