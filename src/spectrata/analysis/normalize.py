"""Spectra made comparable: unit length, zero components set aside, energy off zero."""

from typing import TYPE_CHECKING

import numpy as np

from spectrata.analysis.layout import coordinates, require_algorithms
from spectrata.kernels.scaling import squarable
from spectrata.results.files import check

if TYPE_CHECKING:
    import xarray as xr

ZERO_DROPPED = "zero components dropped"


def normalize(ds: "xr.Dataset") -> "xr.Dataset":
    """Divide magnitudes by their l2 norm over components: ``M_1`` of the paper.

    NaN drop out of the norm; a spectrum of zeros stays zeros. The norms are kept as ``magnitude_norm``.

    Parameters
    ----------
    ds : Dataset
        A result.

    Returns
    -------
    Dataset
        The same with ``magnitude`` of unit length and ``magnitude_norm(algorithm, [snapshot,] hop)``.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.cycle_graph(4), [2.0, 1.0, 2.0, 1.0], algorithms="gft", hops=1)
    >>> st.normalize(ds)["magnitude"].loc["gft", 1].values.round(3).tolist()
    [0.949, 0.0, 0.0, 0.316]
    """
    check(ds)
    magnitude = ds["magnitude"]
    even, scale = _squarable(magnitude)
    norm = (even**2).sum("component") ** 0.5
    empty = magnitude.isnull().all("component")
    unit = even / norm.where(norm > 0, 1.0)
    norm = norm * scale
    unit.attrs = dict(magnitude.attrs, normalized="l2")
    norm = norm.where(~empty).assign_attrs(long_name="l2 norm of the magnitudes before they were normalised")
    return ds.assign(magnitude=unit.transpose(*magnitude.dims), magnitude_norm=norm)


def _squarable(magnitude: "xr.DataArray") -> "tuple[xr.DataArray, xr.DataArray]":
    """Magnitudes over powers of two per spectrum, so that squares keep their digits, and these powers."""
    axis = magnitude.get_axis_num("component")
    even, scale = squarable(magnitude.values, axis)
    return magnitude.copy(data=even), magnitude.isel(component=0, drop=True).copy(data=scale.squeeze(axis))


def drop_zero(ds: "xr.Dataset") -> "xr.Dataset":
    """Mask the components with eigenvalue zero, where the five algorithms carry little or nothing true.

    Parameters
    ----------
    ds : Dataset
        A result, merged or not.

    Returns
    -------
    Dataset
        The same with NaN at zero components, and ``status`` saying so.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], algorithms="gft", hops=1)
    >>> st.drop_zero(ds)["magnitude"].loc["gft", 1].values.round(3).tolist()
    [nan, 2.121, 0.408]
    """
    check(ds)
    coordinates(ds)
    magnitude = ds["magnitude"]
    kept = magnitude.where(ds["eigenspace"] != 0).transpose(*magnitude.dims).assign_attrs(magnitude.attrs)
    status = ds["status"]
    old = status.values.astype(object)
    words = np.where(old == "ok", ZERO_DROPPED, old + f"; {ZERO_DROPPED}").astype(str)
    return ds.assign(magnitude=kept, status=status.copy(data=words))


def off_zero(ds: "xr.Dataset") -> "xr.DataArray":
    """Share of GFT energy off the zero components, per hop: what over-smoothing takes away.

    Parameters
    ----------
    ds : Dataset
        A result with ``gft``.

    Returns
    -------
    DataArray
        ``([snapshot,] hop)``, between 0 (constant on every part of the stratum) and 1; NaN for a zero signal.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(3), [1.0, 1.0, 4.0], algorithms="gft", hops=1)
    >>> round(float(st.off_zero(ds)[0]), 3)
    0.333
    """
    require_algorithms(ds, ["gft"])
    energy = _squarable(ds["magnitude"].loc["gft"])[0] ** 2
    total = energy.sum("component", skipna=True)
    off = energy.where(ds["eigenspace"] > 0).sum("component", skipna=True)
    missing = energy.isnull().all("component") | (total == 0)
    share = (off / total.where(total > 0)).where(~missing).drop_vars("algorithm")
    order = [dim for dim in ("snapshot", "hop") if dim in share.dims]
    return (
        share.transpose(*order)
        .rename("off_zero")
        .assign_attrs(long_name="share of GFT energy off zero components")
    )
