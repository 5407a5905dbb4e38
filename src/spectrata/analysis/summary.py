"""A result as one short table."""

from typing import TYPE_CHECKING

import numpy as np

from spectrata.analysis.compare import band_shares, even_out
from spectrata.analysis.layout import coordinates, level_groups, magnitudes, snapshot_names
from spectrata.analysis.merge import merge_eigenspaces
from spectrata.analysis.normalize import off_zero
from spectrata.kernels.scaling import squarable
from spectrata.results.files import check

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def summary(ds: "xr.Dataset", *, bands: int = 4) -> "pd.DataFrame":
    """Sum up a result: one row per algorithm, snapshot and hop.

    Parameters
    ----------
    ds : Dataset
        A result.
    bands : int
        Bands off zero of equal counts of components, for ``lowest`` and ``highest``.

    Returns
    -------
    DataFrame
        ``norm`` of the magnitudes; ``off_zero`` (gft only); ``lowest`` and ``highest``: share of energy off
        zero in the first and last band (for a random
        signal about 1 / bands); ``centroid``: mean eigenvalue weighted by energy off zero; ``peak``:
        eigenvalue of the strongest
        eigenspace per component; ``cosine_flat``: cosine with a flat spectrum; ``eigenspaces`` and
        ``ambiguous``: distinct
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

    check(ds)
    merged = merge_eigenspaces(ds)
    eigenvalue, eigenspace, multiplicity = coordinates(merged)
    groups, count = level_groups(eigenspace, multiplicity, "band", bands)
    spread = even_out(merged)
    shares = np.nan_to_num(band_shares(spread, groups, count), nan=0.0)
    even = squarable(np.nan_to_num(spread.values))[0]  # shares and cosines: the size does not matter
    energy = even**2 * spread.weights
    total = energy.sum(axis=-1)
    size = np.where(total > 0, total, np.nan)
    centroid = (energy * np.nan_to_num(spread.eigenvalue)).sum(axis=-1) / size
    filled = np.where(np.isnan(spread.values), -1.0, spread.values)
    peak = np.take_along_axis(
        np.broadcast_to(eigenvalue, filled.shape), filled.argmax(axis=-1)[..., None], -1
    )[..., 0]
    flat = (even * spread.weights).sum(axis=-1) / np.sqrt(size * spread.weights.sum(axis=-1))
    values, scale = squarable(magnitudes(merged))
    norm = np.sqrt(np.nansum(values**2, axis=-1)) * scale[..., 0]
    snapshots = snapshot_names(ds)
    off = off_zero(ds).values.reshape(-1, len(eigenvalue)) if "gft" in ds["algorithm"].values else None
    order = ("algorithm", "snapshot", "hop") if snapshots is not None else ("algorithm", "hop")
    status = ds["status"].transpose(*order).values.reshape(norm.shape)
    repeated = np.where(multiplicity > 1, multiplicity, 0).sum(axis=1)
    rows = []
    for m, t, k in np.ndindex(norm.shape):
        name = str(ds["algorithm"].values[m])
        row = {"algorithm": name} | ({"snapshot": snapshots[t]} if snapshots is not None else {})
        row |= {"hop": int(ds["hop"].values[k]), "norm": norm[m, t, k]}
        row["off_zero"] = off[t, k] if name == "gft" and off is not None else np.nan
        row |= {"lowest": shares[m, t, k, 0], "highest": shares[m, t, k, -1], "centroid": centroid[m, t, k]}
        row |= {"peak": peak[m, t, k] if total[m, t, k] > 0 else np.nan, "cosine_flat": flat[m, t, k]}
        row |= {
            "eigenspaces": int(eigenspace[k].max()) + 1,
            "ambiguous": int(repeated[k]),
            "status": status[m, t, k],
        }
        rows.append(row)
    return pd.DataFrame(rows)
