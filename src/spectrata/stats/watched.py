"""One pass of a watched run out of the grid of its layers and epochs (``w.dataset``), with the passes before it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError, ResultError
from spectrata.inputs.numbers import one_of
from spectrata.stats.collapse import CONTROL, CONTROL_RECENT, MEASURE, RECENT, RECENT_PASSES

if TYPE_CHECKING:
    import xarray as xr

TIMES = ("epoch", "step")
NOT_RECORDED = "not recorded"  # status of a layer at a pass that did not have it


def is_run(ds: Any) -> bool:
    """Whether a result is ``w.dataset`` of a watched model: layers, each with its role, by epochs."""
    dims = getattr(ds, "dims", ())
    return "layer" in dims and any(time in dims for time in TIMES) and "role" in ds.coords


def one_mode(run: "xr.Dataset", mode: str | None = None) -> tuple["xr.Dataset", str]:
    """One mode of a watched run, that of evaluations where there are any, and the dimension of its passes."""
    if not is_run(run):
        raise ResultError("This picture shows layers and epochs; give w.dataset of a watched model.")
    time = next(dim for dim in TIMES if dim in run.dims)
    if "mode" in run.dims:
        modes = [str(name) for name in run["mode"].values]
        if mode is not None:
            one_of(mode, "mode", tuple(modes))
        run = run.sel(mode=mode or ("eval" if "eval" in modes else modes[0]))
    elif mode is not None and mode_of(run) != mode:
        raise OptionError(f"The result has no mode {mode!r}; it has {mode_of(run)}.")
    return run, time


def mode_of(run: "xr.Dataset") -> str:
    """The mode of a run that has one."""
    return str(run["mode"].item()) if "mode" in run.coords else str(run.attrs.get("pass_mode", ""))


def last_pass(run: "xr.Dataset") -> "xr.Dataset":
    """The layers of the last pass as snapshots, in evaluation mode where there is one: ``w.over_layers()``."""
    one, time = one_mode(run)
    there = (one["status"] != NOT_RECORDED).any([dim for dim in one["status"].dims if dim != time])
    one = one.isel({time: int(np.flatnonzero(there.values)[-1]) if there.any() else -1})
    kept = (one["status"] != NOT_RECORDED).any([dim for dim in one["status"].dims if dim != "layer"])
    one = one.isel(layer=np.flatnonzero(kept.values))
    facts = {"pass_mode": mode_of(one), "pass_epoch": -1, "pass_step": -1} | {f"pass_{time}": int(one[time])}
    scores = [name for name in one.data_vars if "score" in one[name].attrs]
    one = one.drop_vars([*scores, *(name for name in ("mode", time) if name in one.coords)])
    one = one.rename_dims(layer="snapshot").rename_vars(layer="snapshot")
    return with_recent(one.assign_attrs(snapshot_kind="layers", **facts), run)


def giving_signal(ds: "xr.Dataset", call: str, of_run: str) -> str:
    """Why a result has no signal, and the call that is given one; of a watched run the call after it kept some.

    Examples
    --------
    >>> import xarray as xr
    >>> giving_signal(xr.Dataset(), "st.diagnose(result, signal=x)", "")
    'the result holds no signal; use st.diagnose(result, signal=x).'
    """
    if "snapshot" in ds.dims and {"layer", "mode", "role", "step"} <= set(ds.coords) and "pass_mode" not in ds.attrs:
        return 'these are all passes of a watched model; "spectrata check LOG" judges the last of them.'
    if "pass_mode" not in ds.attrs:
        return f"the result holds no signal; use {call}."
    part = "w.over_layers()" if ds.attrs.get("snapshot_kind") == "layers" else "w.over_epochs(layer)"
    kept = 'st.torch.watch(model, data, keep=("signal",))'
    return f"the result holds no activations; watch the model by {kept}, then use {of_run.format(part)}."


def with_recent(one: "xr.Dataset", run: "xr.Dataset") -> "xr.Dataset":
    """The layers of a pass with their measure at the last passes of its mode, and without messages beside it.

    The last passes are at most ``RECENT_PASSES`` of the second half of the run up to this pass, itself included.

    Parameters
    ----------
    one : Dataset
        Layers as snapshots, with the attributes ``pass_mode`` and ``pass_epoch`` or ``pass_step``.
    run : Dataset
        ``w.dataset``, or its part with the measure.
    """
    time, mode = next(dim for dim in TIMES if dim in run.dims), str(one.attrs["pass_mode"])
    modes = run["mode"].values.tolist() if "mode" in run.dims else [mode_of(run)]
    if MEASURE not in run or mode not in modes:
        return one
    times, names = run[time].values, run["layer"].values.tolist()
    rows = [names.index(name) for name in one["snapshot"].values.tolist()]
    order = [dim for dim in ("layer", "mode", time) if dim in run[MEASURE].dims]
    values = run[MEASURE].transpose(*order).values.reshape(len(names), len(modes), len(times))[rows]
    seen = np.isfinite(values[:, modes.index(mode)]).any(axis=0) & (times <= one.attrs[f"pass_{time}"])
    late = np.flatnonzero(seen & (2 * times >= times[0] + one.attrs[f"pass_{time}"]))[-RECENT_PASSES:]
    words = f"{MEASURE} at the last passes of this mode"
    one = one.assign_coords(evaluation=("evaluation", times[late], {"long_name": time}))
    one = one.assign({RECENT: (("snapshot", "evaluation"), values[:, modes.index(mode), late], {"long_name": words})})
    if "control" not in modes or mode != "eval":
        return one
    beside = late + (time == "step")  # labelled alike, or the next pass of all
    inside = np.minimum(beside, len(times) - 1)
    control = np.where(beside < len(times), values[:, modes.index("control")][:, inside], np.nan)
    if not np.isfinite(control).any():
        return one
    words = f"{MEASURE} of the same weights with self-loops as the only edges"
    one = one.assign({CONTROL_RECENT: (("snapshot", "evaluation"), control, {"long_name": words})})
    return one.assign({CONTROL: ("snapshot", control[:, -1], {"long_name": words})})
