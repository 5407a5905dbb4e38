"""A result as one short table, and its strongest frequencies."""

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from spectrata.core.checks import PRECISE
from spectrata.core.registry import row_of
from spectrata.results.schema import ZERO_DROPPED, View, check, each_graph, view
from spectrata.stats.describe.compare import band_shares, merged_view, spread_evenly
from spectrata.stats.describe.levels import level_groups, over
from spectrata.stats.describe.spectrum import lengths, merge_eigenspaces, off_zero_share

DIRECTION = "compared by direction (metric='angular')"
TESTS = ("correlogram", "homophily", "agree", "local", "decoupling", "calibration")  # whose cells are ranked
FRONT = ("algorithm", "snapshot", "column", "node", "hop", "band", "component", "eigenvalue", "multiplicity")
COLUMNS = ("norm", "off_zero", "lowest", "highest", "centroid", "peak", "cosine_flat")
NOISE = 1e-12  # what is weaker than the strongest by this factor is rounding, not a component
TOP = 3  # eigenspaces of a row


class NotedTable(pd.DataFrame):
    """A DataFrame that prints ``attrs["note"]`` above itself; what is selected from it is a plain DataFrame."""

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self.attrs.get("note"), super().__repr__()]))

    def _repr_html_(self) -> str | None:
        table, note = super()._repr_html_(), self.attrs.get("note")
        return f"<p>{escape(note)}</p>\n{table}" if note and table else table


def summary(ds: xr.Dataset, *, bands: int = 4) -> pd.DataFrame:
    """Summarise a result: one row per algorithm, snapshot, column and hop.

    Parameters
    ----------
    ds : Dataset
        A result of spectra or bands; or of a test, such as :func:`spectrata.correlogram`,
        :func:`spectrata.calibrate` or :func:`spectrata.decoupling`, whose cells are then ranked, the smallest p first.
    bands : int
        Bands off zero of equal counts of components, for ``lowest`` and ``highest``.

    Returns
    -------
    DataFrame
        The first printed lines state when several columns are compared by direction, and when the error of a
        magnitude may exceed 1e-6 of the largest. ``norm`` of the magnitudes; ``off_zero`` (gft only); ``lowest`` and
        ``highest``: share of energy off zero in the first and last band (for a random signal about 1 / bands; NaN for
        a band without components); ``centroid``: mean eigenvalue weighted by energy off zero; ``peak``: eigenvalue of
        the strongest eigenspace per component; ``cosine_flat``: cosine with a flat spectrum; ``eigenspaces`` and
        ``ambiguous``: distinct eigenvalues, and components inside repeated ones; ``status``. Of a test:
        verdict, statistic, interval of chance, ``p`` and ``q`` of every cell, as far as there are such.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(8), range(8), algorithms="gft", hops=1)
    >>> table = st.summary(ds)
    >>> table.loc[0, ["off_zero", "lowest", "ambiguous"]].round(3).tolist()
    [0.3, 0.988, 0.0]

    Columns ranked by how alike neighbours are:

    >>> import numpy as np
    >>> values = np.column_stack([np.arange(30) * 7 % 11, np.arange(30)])
    >>> found = st.correlogram(nx.path_graph(30), values, hops=1, columns="separate")
    >>> st.summary(found)["column"].tolist()
    [1, 0]
    """
    known = getattr(ds, "attrs", {})
    metric = ds["metric"].values if "metric" in getattr(ds, "coords", ()) else known.get("metric", "")
    notes = [DIRECTION] if "angular" in np.ravel(metric).tolist() else []
    if known.get("kind") in TESTS:
        found = NotedTable(_ranked_cells(ds))
    else:
        check(ds)
        tables = []
        for name, one in each_graph(ds):
            table = _table(view(one), bands)
            notes += precision_notes(view(one), "" if name is None else f"graph {name}: ")
            if name is not None:
                table.insert(0, "graph", name)
            tables.append(table)
        if "graph" in ds.dims:
            every = zip(*(ds[name].values.tolist() for name in ("graph", "state", "error")), strict=True)
            done = {table["graph"].iloc[0] for table in tables}  # the others failed or are missing
            lost = {one: f"{state}: {why}" if why else state for one, state, why in every if one not in done}
            tables.append(pd.DataFrame({"graph": list(lost), "status": list(lost.values())}))
        found = NotedTable(pd.concat([table for table in tables if len(table)], ignore_index=True))
    found.attrs["note"] = "\n".join(notes)
    return found


def precision_notes(spectra: View, front: str = "") -> list[str]:
    """One line per algorithm whose bounds on errors exceed 1e-6 of the largest magnitude, with the largest bound."""
    if spectra.is_bands:
        return []  # their bounds are in the result and decide its status
    largest, error = (np.nan_to_num(one).max(axis=-1) for one in (spectra.magnitude, spectra.magnitude_error))
    share = np.nan_to_num(over(error, largest))  # (A, R, H)
    found = []
    for name, shares in zip(spectra.algorithms, share, strict=True):
        coarse = (shares > PRECISE["float64"]).any(axis=0)
        hops = [str(hop) for hop, is_coarse in zip(spectra.hops, coarse, strict=True) if is_coarse]
        if hops:
            named = ", ".join(hops[:8]) + (f" and {len(hops) - 8} more" if len(hops) > 8 else "")
            words = f"magnitudes may be off by {shares.max():.1e} of the largest (see magnitude_error)"
            found.append(f"{front}{name} at hop {named}: {words}")
    return found


def _ranked_cells(ds: xr.Dataset) -> pd.DataFrame:
    """Rank the cells of a test, the smallest p first, of equal ones the largest effect."""
    known = ("verdict", "r", "decoupling", "share", "ratio", "chance_low", "chance_high", "p", "q", "n_pairs", "status")
    names = [name for name in known if name in ds]
    effect = next(name for name in ("r", "decoupling", "ratio") if name in ds)
    table = ds[[name for name in names if name in ds.data_vars]].to_dataframe().reset_index()
    if "name" in table:  # of the nodes
        table["node"] = table["name"]
    front = [name for name in FRONT if name in table]
    order = np.lexsort([-table[effect].abs().fillna(0.0), table["p"].fillna(2.0)])
    return table.iloc[order].dropna(subset=[effect])[[*front, *names]].reset_index(drop=True)


def _table(spectra: View, bands: int) -> pd.DataFrame:
    """Tabulate a result; what a cut spectrum cannot answer is NaN, with the reason."""
    merged, status = merged_view(spectra), spectra.status  # (A, R, H)
    columns: dict[str, Any] = dict.fromkeys(COLUMNS, np.nan)
    if spectra.complete.all():
        columns = _whole_columns(spectra, merged, bands)
    else:
        here = spectra.present.sum(axis=1).tolist()
        status = status + [f"; {count} of {spectra.n_nodes} components, so no shares" for count in here]
    columns["eigenspaces"] = merged.present.sum(axis=1)
    columns["ambiguous"] = np.where(merged.multiplicity > 1, merged.multiplicity, 0).sum(axis=1)
    columns["status"] = status
    axes = {"algorithm": spectra.algorithms, **{dim: spectra.labels(dim) for dim in spectra.row_dims}}
    index = pd.MultiIndex.from_product([*axes.values(), spectra.hops], names=[*axes, "hop"])
    cells = {name: np.broadcast_to(array, status.shape).ravel() for name, array in columns.items()}
    return pd.DataFrame(cells, index).reset_index()


def _whole_columns(spectra: View, merged: View, bands: int) -> dict[str, np.ndarray]:
    """Compute the columns that need all components, each ``(A, R, H)``."""
    spread = spread_evenly(merged)
    shares = band_shares(spread, *level_groups(merged, "band", bands))  # NaN in a band without components
    even = np.nan_to_num(spread.values)
    energy = even**2 * spread.weights
    total = energy.sum(axis=-1)
    where = np.nan_to_num(spread.values, nan=-1.0).argmax(axis=-1)[..., None]
    peak = np.take_along_axis(np.broadcast_to(merged.eigenvalue, energy.shape), where, -1)[..., 0]
    off = np.full(total.shape, np.nan)
    for index, name in enumerate(spectra.algorithms):
        if row_of(name).exact and ZERO_DROPPED not in spectra.ds.attrs:
            off[index] = off_zero_share(spectra)
    return {
        "norm": lengths(merged.magnitude),
        "off_zero": off,
        "lowest": shares[..., 0],
        "highest": shares[..., -1],
        "centroid": over((energy * np.nan_to_num(spread.eigenvalue)).sum(axis=-1), total),
        "peak": np.where(total > 0, peak, np.nan),
        "cosine_flat": over((even * spread.weights).sum(axis=-1), np.sqrt(total * spread.weights.sum(axis=-1))),
    }


def strongest_rows(ds: xr.Dataset) -> list[dict[str, Any]]:
    """The strongest eigenspaces of every hop, snapshot or column, and algorithm; NaN and rounding are left out.

    Zero components of several parts count as one eigenspace.
    """
    one = view(merge_eigenspaces(ds))
    found = []
    for at, row, index in np.ndindex(len(one.hops), len(one.gradient_norm), len(one.algorithms)):
        values = one.magnitude[index, row, at]
        order = [i for i in np.argsort(-values, kind="stable")[:TOP].tolist() if not np.isnan(values[i])]
        order = [i for i in order if i == order[0] or values[i] > NOISE * values[order[0]]]
        arrays = {"eigenvalue": one.eigenvalue[at], "multiplicity": one.multiplicity[at], "zero": one.is_zero[at]}
        spaces = [{name: array[i].item() for name, array in (arrays | {"magnitude": values}).items()} for i in order]
        facts = {"hop": one.hops[at], "row": None if one.rows is None else one.rows[row]}
        facts |= {"algorithm": one.algorithms[index], "gradient_norm": one.gradient_norm[row, at].item()}
        found.append(facts | {"status": str(one.status[index, row, at]), "strongest": spaces})
    return found
