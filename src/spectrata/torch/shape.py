"""Rows of (pass, layer) as one Dataset, as a grid of layers and epochs, and as a table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.results.build import made_with
from spectrata.results.schema import LONG_NAMES
from spectrata.stats.watched import row_label
from spectrata.torch.buffer import KeptSignals
from spectrata.torch.transform import TEXT

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


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


def with_signal(ds: "xr.Dataset", kept: KeptSignals) -> "xr.Dataset":
    """A selection with its activations; narrow ones have columns of zeros, which change no distance."""
    rows = zip(ds["recorded_step"].values.tolist(), ds["layer"].values.tolist(), strict=True)
    found = [kept.get(int(step), str(name)) for step, name in rows]
    widest = max((array.shape[1] for array in found if array is not None), default=0)
    if not widest:
        return ds
    signal = np.zeros((len(found), int(ds.attrs["n_nodes"]), widest), dtype=np.float64)
    for row, array in enumerate(found):
        signal[row, :, : widest if array is None else array.shape[1]] = np.nan if array is None else array
    words = {"long_name": f"{LONG_NAMES['signal']}; columns of zeros beyond its width"}
    return ds.assign(signal=(("snapshot", "node", "dimension"), signal, words)).assign_attrs(n_dimensions=widest)


def relabel(ds: "xr.Dataset", rows: np.ndarray, epoch: int) -> "xr.Dataset":
    """Give rows (a mask) the label ``epoch``."""
    epochs = np.where(rows, epoch, ds["epoch"].values)
    labels = row_labels(ds["layer"].values, ds["step"].values, epochs, ds["mode"].values)
    return ds.assign_coords(snapshot=np.where(rows, labels, ds["snapshot"].values), epoch=("snapshot", epochs))


def row_labels(layers: np.ndarray, steps: np.ndarray, epochs: np.ndarray, modes: np.ndarray) -> np.ndarray:
    """The labels of rows, in words."""
    columns = layers.tolist(), steps.tolist(), epochs.tolist(), modes.tolist()
    return np.array([row_label(*row) for row in zip(*columns, strict=True)], dtype=TEXT["snapshot"])


def table(ds: "xr.Dataset") -> "pd.DataFrame":
    """One row per layer, pass and hop.

    Columns: ``layer``, ``role``, ``step``, ``epoch``, ``mode``, ``hop``, ``off_zero``, ``gradient_norm``, a share
    of energy per algorithm and band, the smoothness measures (on rows of the first hop, where they are taken),
    ``status``.
    """
    import pandas as pd

    hops, rows = ds["hop"].values, ds.sizes["snapshot"]

    def spread(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, len(hops))

    keys = ("layer", "role", "step", "epoch", "mode")
    columns: dict[str, np.ndarray] = {name: spread(ds[name].values) for name in keys}
    columns["hop"] = np.tile(hops, rows)
    for name in ("off_zero", "gradient_norm", "n_graphs"):
        if name in ds:
            columns[name] = ds[name].transpose("snapshot", "hop").values.ravel()
    shares = ds["band_share"].transpose("algorithm", ..., "snapshot", "hop").values
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
