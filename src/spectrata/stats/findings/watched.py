"""Runs of a watched model: rows of (pass, layer), the grid of layers and epochs, and one pass or one layer of it.

A row is one layer at one pass. ``layer``, ``role``, ``step``, ``epoch``, ``mode`` and ``width`` are coordinates along
``snapshot``. Logs, ``w.snapshots`` and saved runs have this form; ``w.dataset`` spreads it over layers and epochs.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError, ResultError
from spectrata.inputs.numbers import one_of
from spectrata.inputs.signals import resolve_metric
from spectrata.results.build import made_with
from spectrata.stats.findings.collapse import CONTROL, CONTROL_RECENT, MEASURE, RECENT, RECENT_PASSES, is_layers

if TYPE_CHECKING:
    import xarray as xr

TIMES = ("epoch", "step")
MODES = ("train", "eval", "control")
NO_LABEL = -1  # epoch of a pass that was not labelled
NOT_RECORDED = "not recorded"  # status of a layer at a pass that did not have it
SCORE = "score"  # attribute of a variable that is a score


def is_rows(ds: Any) -> bool:
    """Whether a result has one row per pass and layer: a log, ``w.snapshots`` or a saved one."""
    known = {"layer", "mode", "role", "step", "epoch"} <= set(ds.coords)
    return "snapshot" in ds.dims and known and "pass_mode" not in ds.attrs


def layers_of(ds: "xr.Dataset") -> "xr.Dataset":
    """The layers of the last pass of a watched model: of a log or ``w.snapshots``, of ``w.dataset``, or as they are."""
    return one_pass(ds) if is_rows(ds) else last_pass(ds) if is_run(ds) else ds


def is_run(ds: Any) -> bool:
    """Whether a result is ``w.dataset`` of a watched model: layers, each with its role, by epochs."""
    dims = getattr(ds, "dims", ())
    return "layer" in dims and any(time in dims for time in TIMES) and "role" in ds.coords


def one_mode(run: "xr.Dataset", mode: str | None = None) -> tuple["xr.Dataset", str]:
    """One mode of a watched run, that of evaluations where there are any, and the dimension of its passes."""
    if not is_run(run):
        raise ResultError("This picture shows layers and epochs; give w.dataset of a watched model.")
    time = _time_of(run)
    if "mode" in run.dims:
        modes = [str(name) for name in run["mode"].values]
        if mode is not None:
            one_of(mode, "mode", tuple(modes))
        run = run.sel(mode=mode or ("eval" if "eval" in modes else modes[0]))
    elif mode is not None and mode_of(run) != mode:
        raise OptionError(f"The result has no mode {mode!r}; it has {mode_of(run)}.")
    return run, time


def _time_of(run: "xr.Dataset") -> str:
    return next(dim for dim in TIMES if dim in run.dims)


def mode_of(run: "xr.Dataset") -> str:
    return str(run["mode"].item()) if "mode" in run.coords else str(run.attrs.get("pass_mode", ""))


def giving_signal(ds: "xr.Dataset", call: str, of_run: str) -> str:
    """Why a result has no signal, and the call that is given one; of a watched run the call after it kept some."""
    if is_rows(ds):
        return 'these are all passes of a watched model; "spectrata check LOG" judges the last of them.'
    if "pass_mode" not in ds.attrs:
        return f"the result holds no signal; use {call}."
    part = "w.over_layers()" if ds.attrs.get("snapshot_kind") == "layers" else "w.over_epochs(layer)"
    kept = 'st.torch.watch(model, data, keep=("signal",))'
    return f"the result holds no activations; watch the model by {kept}, then use {of_run.format(part)}."


def one_pass(ds: "xr.Dataset", step: int | None = None, mode: str | None = None) -> "xr.Dataset":
    """The layers of one pass as snapshots, in the order of the model.

    Without a step: the last pass in evaluation mode, or the last where there is none; or the last of a mode. The
    input is recorded when it changes: the latest up to the pass stands first.
    """
    steps, modes = ds["step"].values, ds["mode"].values
    known = np.unique(steps[modes == mode if mode else modes != "control"]).tolist()
    if not known:
        raise OptionError(f"No pass was recorded with mode={mode!r}; recorded were {_listed(np.unique(modes))}.")
    judged = known if mode else np.unique(steps[modes == "eval"]).tolist() or known
    chosen = judged[-1] if step is None else known[step] if -len(known) <= step < 0 else step
    if chosen not in steps:
        raise OptionError(f"step {step} was not recorded; recorded were {_listed(known)}.")
    rows = np.flatnonzero(steps == chosen)
    inputs = np.flatnonzero((ds["role"].values == "input") & (steps <= chosen))
    if len(inputs) and ds["role"].values[rows[0]] != "input":
        rows = np.append(inputs[np.argmax(steps[inputs])], rows)
    one = _selected(ds, rows, "layers")
    this = {name: one[name].values[-1].item() for name in ("step", "epoch", "mode")}
    one = one.assign_coords({name: ("snapshot", [value] * len(rows)) for name, value in this.items()})
    one = one.assign_coords(snapshot=one["layer"].values)
    one = one.assign_attrs({f"pass_{name}": this[name] for name in ("mode", "step", "epoch")})
    return with_recent(one, as_grid(ds[[name for name in (MEASURE, "r") if name in ds]])) if MEASURE in ds else one


def one_layer(ds: "xr.Dataset", layer: str, mode: str | None = None) -> "xr.Dataset":
    """The passes of one layer as snapshots: those in evaluation mode where there are any, or those of a mode."""
    names, modes = ds["layer"].values, ds["mode"].values
    if layer not in names:
        raise OptionError(f"There is no layer {layer!r}; the layers are {_listed(dict.fromkeys(names.tolist()))}.")
    here = names == layer
    if mode is None:
        mode = "eval" if (here & (modes == "eval")).any() else str(modes[here][0])
    if not (here & (modes == mode)).any():
        raise OptionError(f"{layer!r} has no pass of mode={mode!r}; it has {_listed(np.unique(modes[here]))}.")
    one = _selected(ds, np.flatnonzero(here & (modes == mode)), "epochs")
    return one.assign_coords(snapshot=one[time_name(one)].values).assign_attrs(pass_mode=mode)


def _selected(ds: "xr.Dataset", rows: np.ndarray, kind: str) -> "xr.Dataset":
    """Some rows (positions) in memory, and what snapshots are now; their metric is one where they have one."""
    one = ds.isel(snapshot=rows).load()
    one = one.assign_coords(recorded_step=("snapshot", one["step"].values)).assign_attrs(snapshot_kind=kind)
    if "metric" not in one.attrs:
        return one
    found = {resolve_metric(one.attrs["metric"], width) for width in one["width"].values.tolist() if width}
    one = one.assign_attrs(metric=found.pop() if len(found) == 1 else one.attrs["metric"])
    return one.assign_coords(made_with=made_with(one.attrs)) if "made_with" in one.coords else one


def _listed(values: Iterable[Any]) -> str:
    known = list(values)
    return ", ".join(map(str, known[:8])) + (", ..." if len(known) > 8 else "")


def last_pass(run: "xr.Dataset") -> "xr.Dataset":
    """The layers of the last pass as snapshots, in evaluation mode where there is one: ``w.over_layers()``."""
    one, time = one_mode(run)
    there = (one["status"] != NOT_RECORDED).any([dim for dim in one["status"].dims if dim != time])
    one = one.isel({time: int(np.flatnonzero(there.values)[-1]) if there.any() else -1})
    kept = (one["status"] != NOT_RECORDED).any([dim for dim in one["status"].dims if dim != "layer"])
    one = one.isel(layer=np.flatnonzero(kept.values))
    facts = {"pass_mode": mode_of(one), "pass_epoch": NO_LABEL, "pass_step": -1} | {f"pass_{time}": int(one[time])}
    scores = [name for name in one.data_vars if SCORE in one[name].attrs]
    one = one.drop_vars([*scores, *(name for name in ("mode", time) if name in one.coords)])
    one = one.rename_dims(layer="snapshot").rename_vars(layer="snapshot")
    return with_recent(one.assign_attrs(snapshot_kind="layers", **facts), run)


def with_recent(one: "xr.Dataset", run: "xr.Dataset") -> "xr.Dataset":
    """The layers of a pass with their measure at the last passes of its mode, and without messages beside it.

    The last passes are at most ``RECENT_PASSES`` of the second half of the run up to this pass, itself included.
    ``one`` has layers as snapshots, ``run`` is ``w.dataset`` or its part with the measures.
    """
    time, mode = _time_of(run), str(one.attrs["pass_mode"])
    cells = run if "mode" in run.dims else run.expand_dims(mode=[mode_of(run)])
    if MEASURE not in run or mode not in (modes := cells["mode"].values.tolist()):
        return one
    cells, times = cells.sel(layer=one["snapshot"].values).transpose("layer", ..., time), run[time].values
    own, now = cells[MEASURE].sel(mode=mode).values, one.attrs[f"pass_{time}"]
    seen = np.isfinite(own).any(axis=0) & (times <= now)
    first = run.attrs.get("first_time", times[0])  # of the run that this pass belongs to
    first = first if first <= now else times[0]
    late = np.flatnonzero(seen & (times >= first) & (2 * times >= first + now))[-RECENT_PASSES:]
    words, dims = f"{MEASURE} at the last passes of this mode", ("snapshot", "evaluation")
    one = one.assign_coords(evaluation=("evaluation", times[late], {"long_name": time}))
    one = one.assign({RECENT: (dims, own[:, late], {"long_name": words})})
    if "control" not in modes or mode != "eval" or not len(late):
        return one
    beside = late + (time == "step")  # labelled alike, or the next pass of all
    without = cells.sel(mode="control").isel({time: np.minimum(beside, len(times) - 1)})
    control = np.where(beside < len(times), without[MEASURE].values, np.nan)
    if not np.isfinite(control).any():
        return one
    words = "of the same weights with self-loops as the only edges"
    measured = {"long_name": f"{MEASURE} {words}"}
    one = one.assign({CONTROL_RECENT: (dims, control, measured), CONTROL: ("snapshot", control[:, -1], measured)})
    if "r" in run:
        one = one.assign(r_control=("snapshot", without["r"].values[:, -1], {"long_name": f"r {words}"}))
    return one


def row_label(layer: str, step: int, epoch: int, mode: str) -> str:
    """A row in words, with its mode where that is not training: ``"conv1, step 8, eval"``."""
    when = f"step {step}" if epoch == NO_LABEL else f"epoch {epoch}"
    return f"{layer}, {when}" + ("" if mode == "train" else f", {mode}")


def time_name(ds: "xr.Dataset") -> str:
    """``"epoch"`` where every pass of a mode has its own label, else ``"step"``."""
    columns = (ds[name].values.tolist() for name in ("mode", "epoch", "step"))
    passes = set(zip(*columns, strict=True))
    labels = {(mode, epoch) for mode, epoch, _ in passes}
    return "epoch" if NO_LABEL not in {epoch for _, epoch in labels} and len(labels) == len(passes) else "step"


def with_scores(ds: "xr.Dataset") -> "xr.Dataset":
    """A result with one variable per score, along the dimension of its epochs."""
    scores = json.loads(ds.attrs.get("scores", "{}"))
    epochs = scores.pop("epoch", ())
    for name, values in scores.items():
        by_epoch = dict(zip(epochs, values, strict=True))
        column = [by_epoch.get(epoch, np.nan) for epoch in ds["epoch"].values.ravel().tolist()]
        words = {"long_name": f"{name}, as given to step()", SCORE: 1}
        ds = ds.assign({name: (ds["epoch"].dims, np.array(column, float).reshape(ds["epoch"].shape), words)})
    return ds


def last_scores(run: "xr.Dataset") -> dict[str, float]:
    scores = {str(name): run[name].values.ravel() for name in run.data_vars if SCORE in run[name].attrs}
    known = {name: one[np.isfinite(one)] for name, one in scores.items() if one.dtype.kind in "fiu"}
    return {name: float(one[-1]) for name, one in known.items() if len(one)}


def as_grid(ds: "xr.Dataset") -> "xr.Dataset":
    """The ``snapshot`` dimension spread over ``layer``, ``mode`` where there are several, and ``epoch`` (or ``step``).

    Where passes share a label, or have none, ``step`` is the dimension and ``epoch`` a coordinate along it. Layers
    that a pass did not have are NaN with the status ``"not recorded"``; the input, recorded when it changes, stands at
    every pass.
    """
    import xarray as xr

    time = time_name(ds)
    names = ds["layer"].values.tolist()
    last = {name: row for row, name in enumerate(names)}  # in the order of the first rows
    layers, modes = [*last], [mode for mode in MODES if mode in ds["mode"].values]
    times, first, at = np.unique(ds[time].values, return_index=True, return_inverse=True)
    along: dict[str, Any] = {"layer": layers, time: times}
    along |= {name: ("layer", ds[name].values[[*last.values()]]) for name in ("width", "role")}
    if time == "step":
        along["epoch"] = (time, ds["epoch"].values[first])
    row = np.full((len(last), len(modes), len(times)), -1)
    layer, mode = [layers.index(name) for name in names], [modes.index(name) for name in ds["mode"].values]
    row[layer, mode, at] = np.arange(ds.sizes["snapshot"])
    recorded = np.any(row >= 0, axis=0)  # (mode, time)
    for place in np.flatnonzero(along["role"][1] == "input"):  # recorded when it changes
        latest = np.maximum.accumulate(row[place].max(axis=0))
        row[place] = np.where(recorded & (row[place] < 0), latest, row[place])
    rows = xr.DataArray(row, dims=("layer", "mode", time))
    if len(modes) > 1:
        along["mode"] = modes
    else:
        rows, ds = rows.isel(mode=0), ds.assign_attrs(pass_mode=modes[0])
    if "first_step" in ds.attrs and (own := ds["step"].values >= ds.attrs["first_step"]).any():
        ds = ds.assign_attrs(first_time=int(ds[time].values[own].min()))  # an earlier run has the passes before
    spread = [name for name in ds.data_vars if "snapshot" in ds[name].dims]
    out = ds.drop_vars([name for name in ds.coords if "snapshot" in ds[name].dims]).isel(snapshot=rows)
    if (rows < 0).any():
        empty = {name: NOT_RECORDED if ds[name].dtype.kind == "U" else np.nan for name in spread}
        out = out.assign({name: out[name].where(rows >= 0, empty[name]) for name in spread})
    return out.assign_coords(along)


def judged_pass(ds: Any, path: str) -> Any:
    """Layers of the pass that is judged, of a log, a saved run or saved layers."""
    layers = layers_of(ds)
    if not is_rows(ds) and not is_layers(layers):
        words = f"{path} is not a recorded run; give the .zarr that watch(..., log=) wrote"
        raise ResultError(f"{words}, or a saved w.over_layers().")
    return layers


def unfinished_passes(path: str) -> list[str]:
    """Whether a killed run left passes beside its log."""
    journal = Path(f"{path}.journal")
    if not journal.is_file() or not journal.stat().st_size:
        return []
    return [f"{journal} holds passes that are not in the log; spectrata.torch.recover({path!r}) adds them."]
