"""A result as one short table."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.compare import band_shares, even_out
from spectrata.analysis.levels import level_groups
from spectrata.analysis.spectrum import lengths, merge_eigenspaces, off_zero_share
from spectrata.core.registry import row_of
from spectrata.kernels.scaling import squarable
from spectrata.results.schema import ZERO_DROPPED, View, check, each_graph, view

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

DIRECTION = "compared by direction (metric='angular')"
COLUMNS = ("norm", "off_zero", "lowest", "highest", "centroid", "peak", "cosine_flat")


def summary(ds: "xr.Dataset", *, bands: int = 4) -> "pd.DataFrame":
    """Summarise a result: one row per algorithm, snapshot, column and hop.

    Parameters
    ----------
    ds : Dataset
        A result.
    bands : int
        Bands off zero of equal counts of components, for ``lowest`` and ``highest``.

    Returns
    -------
    DataFrame
        The first printed line states when several columns are compared by direction. ``norm`` of the magnitudes;
        ``off_zero`` (gft only); ``lowest`` and ``highest``: share of energy off zero in the first and last band (for
        a random signal about 1 / bands; NaN for a band without components); ``centroid``: mean eigenvalue weighted by
        energy off zero; ``peak``: eigenvalue of the strongest eigenspace
        per component; ``cosine_flat``: cosine with a flat spectrum; ``eigenspaces`` and ``ambiguous``: distinct
        eigenvalues, and components inside repeated ones; ``status``.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(8), range(8), algorithms="gft", hops=1)
    >>> table = st.summary(ds)
    >>> table.loc[0, ["off_zero", "lowest", "ambiguous"]].round(3).tolist()
    [0.3, 0.988, 0.0]
    """
    import pandas as pd

    from spectrata.analysis.noted import NotedTable

    check(ds)
    tables = []
    for name, one in each_graph(ds):
        table = pd.DataFrame(_rows(view(one), bands))
        if name is not None:
            table.insert(0, "graph", name)
        tables.append(table)
    if "graph" in ds.dims:
        tables.append(_without_result(ds, {table["graph"].iloc[0] for table in tables}))
    found = NotedTable(pd.concat([table for table in tables if len(table)], ignore_index=True))
    found.attrs["note"] = direction_note(ds)
    return found


def direction_note(ds: "xr.Dataset") -> str:
    """One line where several columns are read as one vector per node, compared by direction; else nothing."""
    metric = ds["metric"].values if "metric" in ds.coords else ds.attrs.get("metric", "")
    return DIRECTION if "angular" in np.ravel(metric).tolist() else ""


def _without_result(ds: "xr.Dataset", known: set[Any]) -> "pd.DataFrame":
    """A row for each graph that failed or is missing, with the reason as its status."""
    import pandas as pd

    found = zip(*(ds[name].values.tolist() for name in ("graph", "state", "error")), strict=True)
    rows = [{"graph": name, "status": f"{state}: {error}" if error else state} for name, state, error in found]
    return pd.DataFrame([row for row in rows if row["graph"] not in known])


def _rows(spectra: View, bands: int) -> list[dict[str, Any]]:
    """One row per algorithm, row of the result and hop; what a cut spectrum cannot answer is NaN, with the reason."""
    merged = spectra if spectra.is_bands else view(merge_eigenspaces(spectra.ds))
    columns = _whole_columns(spectra, merged, bands) if spectra.complete.all() else {}
    multiplicity = merged.multiplicity
    repeated = np.where(multiplicity > 1, multiplicity, 0).sum(axis=1)
    found = []
    for m, t, k in np.ndindex(spectra.status.shape):
        row: dict[str, Any] = {"algorithm": spectra.algorithms[m]}
        if spectra.rows is not None:
            labels = spectra.rows[t] if len(spectra.row_dims) > 1 else (spectra.rows[t],)
            row |= dict(zip(spectra.row_dims, labels, strict=True))
        row["hop"] = spectra.hops[k]
        row |= {name: columns[name][m, t, k] if columns else np.nan for name in COLUMNS}
        row |= {"eigenspaces": int(merged.present[k].sum()), "ambiguous": int(repeated[k])}
        row["status"] = spectra.status[m, t, k]
        if not columns:
            count = int(spectra.present[k].sum())
            row["status"] += f"; {count} of {spectra.n_nodes} components, so no shares"
        found.append(row)
    return found


def _whole_columns(spectra: View, merged: View, bands: int) -> dict[str, np.ndarray]:
    """The columns that need all components, each ``(A, R, H)``."""
    groups, count = level_groups(merged, "band", bands)
    spread = even_out(merged)
    shares = band_shares(spread, groups, count)  # NaN in a band without components
    even = squarable(np.nan_to_num(spread.values))[0]  # shares and cosines: the size does not matter
    energy = even**2 * spread.weights
    total = energy.sum(axis=-1)
    size = np.where(total > 0, total, np.nan)
    filled = np.where(np.isnan(spread.values), -1.0, spread.values)
    where = filled.argmax(axis=-1)[..., None]
    peak = np.take_along_axis(np.broadcast_to(merged.eigenvalue, filled.shape), where, -1)[..., 0]
    off = np.full(total.shape, np.nan)
    for index, name in enumerate(spectra.algorithms):
        if row_of(name).exact and ZERO_DROPPED not in spectra.ds.attrs:
            off[index] = off_zero_share(spectra)
    return {
        "norm": lengths(merged.magnitude),
        "off_zero": off,
        "lowest": shares[..., 0],
        "highest": shares[..., -1],
        "centroid": (energy * np.nan_to_num(spread.eigenvalue)).sum(axis=-1) / size,
        "peak": np.where(total > 0, peak, np.nan),
        "cosine_flat": (even * spread.weights).sum(axis=-1) / np.sqrt(size * spread.weights.sum(axis=-1)),
    }
