"""The map of a watched run: measures over layers and epochs, with the scores."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.smoothness import LONG_NAMES
from spectrata.plot.training import TIMES, mode_words, one_mode
from spectrata.report.payload import packed

if TYPE_CHECKING:
    import xarray as xr

MEASURES = ("off_zero_live", "effective_rank", "dead_rows", "mad", "mean_row_norm")  # the first is shown first


def is_run(ds: Any) -> bool:
    """Whether a result is ``w.dataset`` of a watched model: measures of layers by epochs."""
    dims = getattr(ds, "dims", ())
    return "layer" in dims and any(time in dims for time in TIMES) and any(name in ds for name in MEASURES)


def last_pass(run: "xr.Dataset") -> "xr.Dataset":
    """The layers of the last pass as snapshots: in evaluation mode where there is one."""
    one, time = one_mode(run, None)
    there = one["gradient_norm"].notnull().any([dim for dim in one["gradient_norm"].dims if dim != time])
    one = one.isel({time: int(np.flatnonzero(there.values)[-1])}) if there.any() else one.isel({time: -1})
    mode = str(one["mode"].item()) if "mode" in one.coords else str(one.attrs.get("pass_mode", ""))
    facts = {"pass_mode": mode, "pass_epoch": -1, "pass_step": -1} | {f"pass_{time}": int(one[time])}
    scores = [name for name in one.data_vars if "score" in one[name].attrs]
    one = one.drop_vars([*scores, *(name for name in ("mode", time) if name in one.coords)])
    return one.rename_dims(layer="snapshot").rename_vars(layer="snapshot").assign_attrs(snapshot_kind="layers", **facts)


def run_map(run: "xr.Dataset | None") -> dict[str, Any] | None:
    """What the page draws of a run; passes without a number are left out."""
    if run is None:
        return None
    one, time = one_mode(run, None)
    known = [name for name in MEASURES if name in one and set(one[name].dims) == {"layer", time}]
    measures = {name: one[name].transpose("layer", time).values.astype(float) for name in known}
    if not measures:
        return None
    there = np.isfinite(next(iter(measures.values()))).any(axis=0)
    scores = {str(name): one[name].values for name in one.data_vars if "score" in one[name].attrs}
    return {
        "time": time,
        "mode": mode_words(one),
        "at": one[time].values[there].tolist(),
        "layers": [str(name) for name in one["layer"].values],
        "measures": [
            {"name": name, "text": LONG_NAMES.get(name, ""), "values": packed(values[:, there])}
            for name, values in measures.items()
        ],
        "scores": [
            {"name": name, "values": packed(values[there])}
            for name, values in scores.items()
            if values.dtype.kind in "fiu" and values.shape == there.shape
        ],
    }
