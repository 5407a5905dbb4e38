"""Rows of (pass, layer) as one Dataset, as a grid of layers and epochs, and as a table."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.results.build import made_with
from spectrata.results.schema import LONG_NAMES
from spectrata.stats.collapse import MEASURE
from spectrata.stats.watched import NOT_RECORDED, with_recent
from spectrata.torch.buffer import PASSES, KeptSignals
from spectrata.torch.transform import NO_LABEL, TEXT, common_metric, row_label

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


def selected(ds: "xr.Dataset", rows: np.ndarray, kind: str) -> "xr.Dataset":
    """Some rows (positions) in memory, and what snapshots are now; their metric is one where they have one."""
    one = ds.isel(snapshot=rows).load()
    metric = common_metric(one.attrs["metric"], [width for width in one["width"].values.tolist() if width])
    return described(one, {"metric": metric, "snapshot_kind": kind})


def one_pass(ds: "xr.Dataset", step: int | None, mode: str | None) -> "xr.Dataset":
    """The layers of one pass as snapshots, in the order of the model.

    Without a step: the last pass in evaluation mode, or the last where there is none; or the last of a mode. The
    input is recorded when it changes: the latest up to the pass stands first.
    """
    steps, modes = ds["step"].values, ds["mode"].values
    known = sorted(set(steps[modes == mode].tolist() if mode else steps[modes != "control"].tolist()))
    if not known:
        raise OptionError(f"No pass was recorded with mode={mode!r}; recorded were {_listed(np.unique(modes))}.")
    judged = known if mode else sorted(set(steps[modes == "eval"].tolist())) or known
    chosen = judged[-1] if step is None else known[step] if -len(known) <= step < 0 else step
    if chosen not in steps:
        raise OptionError(f"step {step} was not recorded; recorded were {_listed(known)}.")
    rows = np.flatnonzero(steps == chosen)
    inputs = np.flatnonzero((ds["role"].values == "input") & (steps <= chosen))
    if len(inputs) and ds["role"].values[rows[0]] != "input":
        rows = np.append(inputs[np.argmax(steps[inputs])], rows)
    one = selected(ds, rows, "layers")
    this = {name: one[name].values[-1] for name in ("step", "epoch", "mode")}
    one = one.assign_coords(recorded_step=("snapshot", one["step"].values))
    one = one.assign_coords({name: ("snapshot", np.full(len(rows), value)) for name, value in this.items()})
    one = one.assign_coords(snapshot=one["layer"].values)
    facts = {"pass_mode": str(this["mode"]), "pass_step": int(this["step"]), "pass_epoch": int(this["epoch"])}
    one = one.assign_attrs(facts)
    return with_recent(one, as_grid(ds[[MEASURE]])) if MEASURE in ds else one


def one_layer(ds: "xr.Dataset", layer: str, mode: str | None) -> "xr.Dataset":
    """The passes of one layer as snapshots: those in evaluation mode where there are any, or those of a mode."""
    names, modes = ds["layer"].values, ds["mode"].values
    if layer not in names:
        raise OptionError(f"There is no layer {layer!r}; the layers are {_listed(dict.fromkeys(names.tolist()))}.")
    here = names == layer
    if mode is None:
        mode = "eval" if (here & (modes == "eval")).any() else str(modes[here][0])
    if not (here & (modes == mode)).any():
        raise OptionError(f"{layer!r} has no pass of mode={mode!r}; it has {_listed(np.unique(modes[here]))}.")
    one = selected(ds, np.flatnonzero(here & (modes == mode)), "epochs")
    time = time_name(one)
    one = one.assign_coords(recorded_step=("snapshot", one["step"].values))
    return one.assign_coords(snapshot=one[time].values).assign_attrs(pass_mode=mode)


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


def _listed(values: Iterable[Any]) -> str:
    known = list(values)
    return ", ".join(map(str, known[:8])) + (", ..." if len(known) > 8 else "")


def relabel(ds: "xr.Dataset", rows: np.ndarray, epoch: int) -> "xr.Dataset":
    """Give rows (a mask) the label ``epoch``."""
    epochs = np.where(rows, epoch, ds["epoch"].values)
    labels = row_labels(ds["layer"].values, ds["step"].values, epochs, ds["mode"].values)
    return ds.assign_coords(snapshot=np.where(rows, labels, ds["snapshot"].values), epoch=("snapshot", epochs))


def row_labels(layers: np.ndarray, steps: np.ndarray, epochs: np.ndarray, modes: np.ndarray) -> np.ndarray:
    """The labels of rows, in words."""
    columns = layers.tolist(), steps.tolist(), epochs.tolist(), modes.tolist()
    return np.array([row_label(*row) for row in zip(*columns, strict=True)], dtype=TEXT["snapshot"])


def time_name(ds: "xr.Dataset") -> str:
    """``"epoch"`` where every pass of a mode has its own label, else ``"step"``."""
    columns = (ds[name].values.tolist() for name in ("mode", "epoch", "step"))
    passes = set(zip(*columns, strict=True))
    labels = {(mode, epoch) for mode, epoch, _ in passes}
    return "epoch" if NO_LABEL not in {epoch for _, epoch in labels} and len(labels) == len(passes) else "step"


def as_grid(ds: "xr.Dataset") -> "xr.Dataset":
    """The ``snapshot`` dimension spread over ``layer``, ``mode`` where there are several, and ``epoch`` (or ``step``).

    Where passes share a label, or have none, ``step`` is the dimension and ``epoch`` a coordinate along it. Layers
    that a pass did not have are NaN with the status ``"not recorded"``; the input, recorded when it changes, stands at
    every pass.
    """
    import xarray as xr

    time = time_name(ds)
    layers = list(dict.fromkeys(ds["layer"].values.tolist()))
    modes = [mode for mode in PASSES if mode in ds["mode"].values]
    times, first, at = np.unique(ds[time].values, return_index=True, return_inverse=True)
    row = np.full((len(layers), len(modes), len(times)), -1)
    places: Any = (
        [layers.index(name) for name in ds["layer"].values.tolist()],
        [modes.index(mode) for mode in ds["mode"].values.tolist()],
        at,
    )
    row[places] = np.arange(ds.sizes["snapshot"])
    _carry_input(row, ds)
    dims: tuple[str, ...] = ("layer", "mode", time)
    if len(modes) == 1:
        row, dims = row[:, 0], ("layer", time)
    variables = {}
    for name in ds.data_vars:
        variables[name] = _spread(ds[name], row, dims) if "snapshot" in ds[name].dims else ds[name]
    out = xr.Dataset(variables, attrs=ds.attrs)
    out = out.assign_coords({name: ds[name] for name in ds.coords if "snapshot" not in ds[name].dims})
    last = [ds.isel(snapshot=np.flatnonzero(ds["layer"].values == name)[-1]) for name in layers]
    along: dict[str, Any] = {"layer": layers, "width": ("layer", [int(one["width"]) for one in last])}
    along["role"] = ("layer", [str(one["role"].item()) for one in last])
    along[time] = times
    if time == "step":
        along["epoch"] = (time, ds["epoch"].values[first])
    if len(modes) > 1:
        along["mode"] = modes
    else:
        out.attrs["pass_mode"] = modes[0]
    return out.assign_coords(along)


def _carry_input(row: np.ndarray, ds: "xr.Dataset") -> None:
    """Put the latest input at every pass, ``(layer, mode, time)``, in place: it is recorded when it changes."""
    recorded = np.any(row >= 0, axis=0)  # (mode, time)
    roles, seen = ds["role"].values, row.copy()
    for at, cells in enumerate(seen):
        if not (roles[cells[cells >= 0]] == "input").all():
            continue
        latest = -1
        for when in range(cells.shape[1]):
            here = cells[:, when][cells[:, when] >= 0]
            latest = int(here.max()) if len(here) else latest
            row[at, recorded[:, when] & (row[at, :, when] < 0), when] = latest


def _spread(array: "xr.DataArray", row: np.ndarray, names: tuple[str, ...]) -> "xr.Variable":
    import xarray as xr

    axis, count = array.dims.index("snapshot"), row.ndim
    values = np.take(array.values, row, axis=axis)  # rows of -1 are overwritten below
    missing = row < 0
    front, back = tuple(range(axis, axis + count)), tuple(range(count))
    values = np.moveaxis(values, front, back).copy()
    if values.dtype.kind in "ib" and missing.any():
        values = values.astype(float)
    if missing.any():
        values[missing] = NOT_RECORDED if values.dtype.kind == "U" else np.nan
    values = np.moveaxis(values, back, front)
    return xr.Variable((*array.dims[:axis], *names, *array.dims[axis + 1 :]), values, array.attrs)


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
