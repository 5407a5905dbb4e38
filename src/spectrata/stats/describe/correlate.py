"""Magnitudes or gradient norms against a score, with confidence intervals."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from spectrata.errors import OptionError, shown
from spectrata.inputs.numbers import one_of
from spectrata.kernels.scaling import squarable
from spectrata.results.build import attributes_of
from spectrata.results.schema import View, view
from spectrata.stats.describe.spectrum import FLOOR, lengths

OF = ("gradient_norm", "magnitude", "magnitude_norm")


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
    used = np.isfinite(values).sum(axis=0)
    plain = pearson(values, target)
    # Ranks are taken over all snapshots; where some are NaN neither coefficient is given.
    ranked = pearson(rankdata(values, axis=0, nan_policy="omit"), rankdata(target))
    reach = norm.ppf(0.5 + confidence / 2)
    variables: dict[str, Any] = {}
    for name, r in (("pearson", plain), ("spearman", ranked)):
        error = np.sqrt((1 + (r**2 / 2 if name == "spearman" else 0.0)) / max(len(target) - 3, 1))
        centre = np.arctanh(np.clip(r, -1 + 1e-15, 1 - 1e-15))
        variables[name] = (dims, r)
        variables[f"{name}_low"] = (dims, np.tanh(centre - reach * error))
        variables[f"{name}_high"] = (dims, np.tanh(centre + reach * error))
    variables["n_used"] = (dims, used)
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
    import pandas as pd

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
    x = values - values.mean(axis=0)
    y = (target - target.mean()).reshape(-1, *[1] * (values.ndim - 1))
    size_x, size_y = np.sqrt(np.sum(x * x, axis=0)), np.sqrt(np.sum(y * y))
    varies = (size_x > 1e-12 * np.sqrt(np.sum(values**2, axis=0))) & (size_y > 1e-12 * np.linalg.norm(target))
    r = np.divide(np.sum(x * y, axis=0), size_x * size_y, out=np.full(x.shape[1:], np.nan), where=varies)
    return np.clip(r, -1, 1)
