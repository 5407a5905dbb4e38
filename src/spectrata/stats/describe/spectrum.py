"""Read one result: merge eigenspaces, normalise, drop zero components, share of energy off zero."""

from typing import Any

import numpy as np
import xarray as xr

from spectrata.core.registry import EXACT, row_of
from spectrata.kernels.scaling import LAST_DIGITS, squarable
from spectrata.results.build import add_notes, with_long_names
from spectrata.results.schema import FIELDS, MERGED, NORMALIZED, ZERO_DROPPED, View, check, each_graph, view
from spectrata.stats.describe.levels import group_reduce, level_coordinates, level_groups, merge_rules, over
from spectrata.stats.statistics.shares import FLOOR

DROPPED = "zero components dropped"
CUT_SPACE = "an eigenspace is cut: NaN"


def band_energy_shares(ds: xr.Dataset) -> xr.DataArray:
    """Compute shares of the energy off zero, also outside given edges, in bands of ``band_spectra``; NaN of none."""
    whole = ds["energy"].sum("band", skipna=False) + ds["energy_outside"]
    return ds["energy"] / whole.where(whole > 0)


def merge_eigenspaces(ds: xr.Dataset) -> xr.Dataset:
    r"""Give one magnitude per eigenspace, with its multiplicity.

    Inside a repeated eigenvalue the split over components is arbitrary. The l2 norm over the eigenspace is not, for
    gft, apprx_ls and in_agg:

    .. math:: M(a) = \sqrt{\sum_{i \in a} M(i)^2},

    nor is the sum for ln_vx by incidence. adj_diff, learned ln_vx and ens depend on the basis however they are
    merged; they get the l2 norm too, and ``ambiguous`` marks where.

    Parameters
    ----------
    ds : Dataset
        A result, also of many graphs; not bands.

    Returns
    -------
    Dataset
        The same schema, its components now whole eigenspaces in ascending order: ``multiplicity`` is their dimension;
        hops with fewer eigenspaces are padded with NaN, eigenspace -1 and multiplicity 0. An eigenspace of which a
        cut spectrum holds only some components is NaN. ``n_eigenspaces(hop)``, ``merge_rule(algorithm)`` and
        ``ambiguous(algorithm, hop, component)`` are added.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.cycle_graph(4), [3.0, 1.0, 0.0, 1.0], algorithms="gft", hops=1)
    >>> merged = st.merge_eigenspaces(ds)
    >>> merged["multiplicity"].sel(hop=1).values.tolist()
    [1, 2, 1]
    >>> merged["magnitude"].sel(algorithm="gft", hop=1).values.round(4).tolist()
    [2.5, 2.1213, 0.5]
    """
    check(ds)
    if MERGED in ds.attrs:
        return ds
    merged = _merge_each(ds) if "graph" in ds.dims else _merged(view(ds))
    return with_long_names(merged.assign_attrs({MERGED: "eigenspaces"}))


def _merged(spectra: View) -> xr.Dataset:
    spectra.require_components("merging of eigenspaces")
    ds = spectra.ds
    groups, count = level_groups(spectra, "eigenspace")
    labels = level_coordinates(spectra, groups, count, "eigenspace")
    size, rules = labels["multiplicity"][1], merge_rules(spectra)
    here = np.stack([np.bincount(group[group >= 0], minlength=count) for group in groups])
    cut = here < size  # (hop, eigenspace): only some of its components are here
    masked = group_reduce(np.where(np.isnan(spectra.magnitude), 1.0, np.nan), groups, count)
    magnitude = group_reduce(spectra.magnitude, groups, count, rules)
    error = np.full_like(magnitude, np.nan)
    for hop, group in enumerate(groups):  # one value for all components of an eigenspace
        error[..., hop, group[group >= 0]] = spectra.magnitude_error[..., hop, group >= 0]
    status = np.where(cut.any(axis=1), add_notes(spectra.status, CUT_SPACE), spectra.status)
    dependent = np.array([not row_of(name).invariant(spectra.options) for name in spectra.algorithms])
    magnitude, error = np.where(cut | ~np.isnan(masked), np.nan, magnitude), np.where(cut, np.nan, error)
    own = _like(spectra, magnitude=magnitude, magnitude_error=error, status=status.astype(str))
    words = {"long_name": "the value depends on the choice of a basis of the eigenspace"}
    ambiguous = (("algorithm", "hop", "component"), dependent[:, None, None] & (size > 1), words)
    coords: dict[str, Any] = {name: (where, array, ds[name].attrs) for name, (where, array) in labels.items()}
    coords |= {"component": np.arange(count), "complete": ("hop", spectra.complete, ds["complete"].attrs)}
    coords |= {"n_eigenspaces": ("hop", (size > 0).sum(axis=1))}
    coords |= {"merge_rule": ("algorithm", np.array(rules, dtype=str))}
    return ds.drop_dims("component").assign(own | {"ambiguous": ambiguous}).assign_coords(coords)


def _like(spectra: View, **arrays: np.ndarray) -> dict[str, Any]:
    """Lay arrays ``(A, R, ...)`` out as the variables of a result that have their names."""
    own = {name: spectra.placed(array, *FIELDS[name].dims[1:]) for name, array in arrays.items()}
    return {name: (*laid, spectra.ds[name].attrs) for name, laid in own.items()}


def _merge_each(ds: xr.Dataset) -> xr.Dataset:
    """Merge every graph by itself, padded to the most eigenspaces of any; graphs without a result stay empty."""
    merged = {name: _merged(view(one)) for name, one in each_graph(ds)}
    names = [*(name for name, field in FIELDS.items() if "component" in field.dims), "status"]
    empty = {name: FIELDS[name].empty for name in names} | {"ambiguous": False}
    rules = next(iter(merged.values()))["merge_rule"]
    known = [one.reset_coords()[[*empty]].assign_coords(graph=name) for name, one in merged.items()]
    joined = xr.concat(known, dim="graph", join="outer", fill_value=empty)
    joined = joined.reindex(graph=ds["graph"], hop=ds["hop"], fill_value=empty)
    joined["status"] = xr.where(joined["status"] == "", ds["status"], joined["status"])
    out = ds.drop_dims("component").assign(joined).assign_coords(merge_rule=rules.variable)
    return out.set_coords([name for name in names if FIELDS[name].coordinate])


def normalize(ds: xr.Dataset) -> xr.Dataset:
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
    >>> st.stats.normalize(ds)["magnitude"].sel(algorithm="gft", hop=1).values.round(3).tolist()
    [0.949, 0.0, 0.0, 0.316]
    """
    spectra = view(ds)
    length = lengths(spectra.magnitude)
    size = np.where(length > 0, length, 1.0)[..., None]
    unit, share = spectra.magnitude / size, spectra.magnitude_error / size
    error = share + unit * lengths(share)[..., None]  # of the magnitude, and of the length it is divided by
    norm = np.where(np.isnan(spectra.magnitude).all(axis=-1), np.nan, length)
    if NORMALIZED in ds.attrs:  # the norms before the first time are those of the signal
        norm = norm * spectra.stacked("magnitude_norm", "algorithm", "hop")
    words = {"long_name": "l2 norm of the magnitudes before they were normalised"}
    out = ds.assign(_like(spectra, magnitude=unit, magnitude_error=error))
    return out.assign(magnitude_norm=(*spectra.placed(norm, "hop"), words)).assign_attrs({NORMALIZED: "l2"})


def lengths(values: np.ndarray) -> np.ndarray:
    """Compute l2 norms over the last axis, NaN left out; sizes of 1e±300 keep their digits."""
    even, scale = squarable(values)
    return np.sqrt(np.nansum(even**2, axis=-1)) * scale[..., 0]


def rounding_floor(spectra: View) -> float:
    """Give the share of a spectrum's length at or below which what lies off zero is rounding.

    Where constants lie at zero and are taken off, differences of the given numbers are left, rounded to half a unit in
    the last place. Directions and signals divided by roots of degrees are rounded by the computation itself.
    """
    constants = spectra.ds.attrs.get("laplacian") != "normalized"
    return LAST_DIGITS if spectra.metric == "euclidean" and constants and not spectra.is_bands else FLOOR


def drop_zero(ds: xr.Dataset) -> xr.Dataset:
    """Mask the components with eigenvalue zero, where the values of the paper's algorithms are conventions.

    Parameters
    ----------
    ds : Dataset
        A result, merged or not.

    Returns
    -------
    Dataset
        The same with NaN at zero components, and a note in ``status``.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(3), [0.0, 1.0, 3.0], algorithms="gft", hops=1)
    >>> st.stats.drop_zero(ds)["magnitude"].sel(algorithm="gft", hop=1).values.round(3).tolist()
    [nan, 2.121, 0.408]
    """
    spectra = view(ds)
    if ZERO_DROPPED in ds.attrs:
        return ds
    kept, error = (np.where(spectra.is_zero, np.nan, one) for one in (spectra.magnitude, spectra.magnitude_error))
    status = add_notes(spectra.status, DROPPED).astype(str)
    out = ds.assign(_like(spectra, magnitude=kept, magnitude_error=error, status=status))
    return out.assign_attrs({ZERO_DROPPED: 1})


def off_zero(ds: xr.Dataset) -> xr.DataArray:
    """Compute the share of GFT energy off the zero components, per hop.

    Parameters
    ----------
    ds : Dataset
        A result with ``gft``, of all components.

    Returns
    -------
    DataArray
        ``([snapshot,] hop)``, between 0 (constant on every part of the stratum) and 1; NaN for a zero signal. Adding
        a constant to the signal changes it.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(3), [1.0, 1.0, 4.0], algorithms="gft", hops=1)
    >>> round(float(st.off_zero(ds)[0]), 3)
    0.333
    """
    check(ds)
    if "graph" in ds.dims:
        found = [off_zero(one).assign_coords(graph=name) for name, one in each_graph(ds)]
        return xr.concat(found, dim="graph", coords="minimal", compat="override", join="outer")
    spectra = view(ds)
    dims, values = spectra.placed(off_zero_share(spectra), "hop", algorithm=False)
    coords = spectra.row_coordinates() | {"hop": list(spectra.hops)}
    words = {"long_name": "share of GFT energy off zero components"}
    return xr.DataArray(values, coords, dims, "off_zero", words)


def off_zero_share(spectra: View) -> np.ndarray:
    """Compute the share of exact energy off zero, ``(R, H)``; NaN without energy."""
    spectra.require_complete("the share of energy off zero")
    spectra.require_zeros("the share of energy off zero")
    # Over a power of two per spectrum: extreme magnitudes keep their digits.
    energy = squarable(spectra.magnitude[spectra.row_of(EXACT)])[0] ** 2  # (R, H, N)
    off = np.where(spectra.off_zero, energy, 0.0)
    return over(np.nansum(off, axis=-1), np.nansum(energy, axis=-1))
