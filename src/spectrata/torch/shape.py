"""Rows of (pass, layer) as one Dataset, as a grid of layers and epochs, and as a table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.results.build import made_with
from spectrata.torch.transform import common_metric

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

NOT_RECORDED = "not recorded"


def join(pieces: "list[xr.Dataset]") -> "xr.Dataset":
    """Pieces of one run, one after the other."""
    import xarray as xr

    if len(pieces) == 1:
        return pieces[0]
    moving = [name for name in pieces[0].variables if "snapshot" in pieces[0][name].dims]
    joined = xr.concat(
        [piece[[name for name in moving if name in piece.data_vars]] for piece in pieces],
        dim="snapshot",
        data_vars="all",
        coords="minimal",
        compat="override",
        join="override",
        combine_attrs="override",
    )
    fixed = pieces[0].drop_dims("snapshot")
    ds = joined.assign({name: fixed[name] for name in fixed.data_vars})
    ds = ds.assign_coords({name: fixed[name] for name in fixed.coords if name not in ds.coords})
    attributes = pieces[0].attrs
    for piece in pieces[1:]:
        attributes = joined_attributes(attributes, piece.attrs)
    return described(ds, attributes)


def joined_attributes(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of rows of two pieces: the wider, the less precise, and ``"auto"`` for two metrics."""
    found = dict(one)
    if "n_dimensions" in one:
        found["n_dimensions"] = max(int(one["n_dimensions"]), int(other["n_dimensions"]))
    found["dtype"] = min(one["dtype"], other["dtype"])  # "float32" comes before "float64"
    found["metric"] = one["metric"] if one["metric"] == other["metric"] else "auto"
    return found


def described(ds: "xr.Dataset", attributes: Mapping[str, Any]) -> "xr.Dataset":
    """The Dataset with these attributes, and what it was made with in words."""
    ds = ds.assign_attrs(attributes)
    return ds.assign_coords(made_with=made_with(ds.attrs)) if "made_with" in ds.coords else ds


def selected(ds: "xr.Dataset", rows: np.ndarray, kind: str) -> "xr.Dataset":
    """Some rows (a mask) in memory, and what snapshots are now; their metric is one where they have one."""
    one = ds.isel(snapshot=np.flatnonzero(rows)).load()
    metric = common_metric(one.attrs["metric"], [width for width in one["width"].values.tolist() if width])
    return described(one, {"metric": metric, "snapshot_kind": kind})


def relabel(ds: "xr.Dataset", rows: np.ndarray, epoch: int) -> "xr.Dataset":
    """Give rows (a mask) the label ``epoch``."""
    labels = ds["snapshot"].values.copy()
    labels[rows] = [f"{name}, epoch {epoch}" for name in ds["layer"].values[rows]]
    epochs = np.where(rows, epoch, ds["epoch"].values)
    return ds.assign_coords(snapshot=labels, epoch=("snapshot", epochs))


def time_name(ds: "xr.Dataset") -> str:
    """``"epoch"`` where every pass has its own label, else ``"step"``."""
    pairs = set(zip(ds["step"].values.tolist(), ds["epoch"].values.tolist(), strict=True))
    epochs = [epoch for _, epoch in pairs]
    return "epoch" if min(epochs) >= 0 and len(set(epochs)) == len(epochs) else "step"


def as_grid(ds: "xr.Dataset") -> "xr.Dataset":
    """The ``snapshot`` dimension spread over ``layer`` and ``epoch`` (or ``step``).

    Where passes share a label, or have none, ``step`` is the dimension and ``epoch`` a coordinate along it. Layers
    that a pass did not have are NaN with the status ``"not recorded"``.
    """
    import xarray as xr

    time = time_name(ds)
    layers = list(dict.fromkeys(ds["layer"].values.tolist()))
    steps = np.unique(ds["step"].values)
    row = np.full((len(layers), len(steps)), -1)
    place = {name: index for index, name in enumerate(layers)}
    columns = np.searchsorted(steps, ds["step"].values)
    row[[place[name] for name in ds["layer"].values.tolist()], columns] = np.arange(ds.sizes["snapshot"])
    variables = {}
    for name in ds.data_vars:
        variables[name] = _spread(ds[name], row, time) if "snapshot" in ds[name].dims else ds[name]
    out = xr.Dataset(variables, attrs=ds.attrs)
    out = out.assign_coords({name: ds[name] for name in ds.coords if "snapshot" not in ds[name].dims})
    first = np.array([columns.tolist().index(index) for index in range(len(steps))])
    width = [int(ds["width"].values[row[i][row[i] >= 0]].max()) for i in range(len(layers))]
    found = {name: ds[name].values[first] for name in ("step", "epoch", "training")}
    return out.assign_coords(
        {
            "layer": layers,
            time: found[time],
            **{name: (time, values) for name, values in found.items() if name != time},
            "width": ("layer", width),
        }
    )


def _spread(array: "xr.DataArray", row: np.ndarray, time: str) -> "xr.Variable":
    import xarray as xr

    axis = array.dims.index("snapshot")
    values = np.take(array.values, row, axis=axis)  # rows of -1 are overwritten below
    missing = row < 0
    values = np.moveaxis(values, (axis, axis + 1), (0, 1)).copy()
    if values.dtype.kind == "i" and missing.any():
        values = values.astype(float)
    if missing.any():
        values[missing] = NOT_RECORDED if values.dtype.kind == "U" else np.nan
    values = np.moveaxis(values, (0, 1), (axis, axis + 1))
    dims = (*array.dims[:axis], "layer", time, *array.dims[axis + 1 :])
    return xr.Variable(dims, values, array.attrs)


def table(ds: "xr.Dataset") -> "pd.DataFrame":
    """One row per layer, pass and hop.

    Columns: ``layer``, ``step``, ``epoch``, ``training``, ``hop``, ``off_zero``, ``gradient_norm``, a share of energy
    per algorithm and band, the smoothness measures (on rows of the first hop, where they are taken), ``status``.
    """
    import pandas as pd

    hops, rows = ds["hop"].values, ds.sizes["snapshot"]

    def spread(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, len(hops))

    columns: dict[str, np.ndarray] = {name: spread(ds[name].values) for name in ("layer", "step", "epoch", "training")}
    columns["hop"] = np.tile(hops, rows)
    for name in ("off_zero", "gradient_norm", "n_graphs"):
        if name in ds:
            columns[name] = ds[name].transpose("snapshot", "hop").values.ravel()
    shares = ds["band_share"].transpose("algorithm", "band", "snapshot", "hop").values
    for algorithm, name in enumerate(ds["algorithm"].values):
        for band in range(shares.shape[1]):
            columns[f"{name}_band_{band + 1}"] = shares[algorithm, band].ravel()
    first = columns["hop"] == hops[0]
    for measure in ds.data_vars:
        if ds[measure].dims == ("snapshot",):
            columns[str(measure)] = np.where(first, spread(ds[measure].values.astype(float)), np.nan)
    words = ds["status"].transpose("snapshot", "hop", "algorithm").values.astype(object)
    bad = np.where(words != "ok", words, "")
    columns["status"] = np.array([[max(cell, key=len) or "ok" for cell in line] for line in bad]).ravel()
    return pd.DataFrame(columns)
