"""What a page shows of a watched run: measures over layers and epochs, and each layer against its control."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.plot.collapse import FLOOR
from spectrata.plot.layers import states
from spectrata.plot.style import log_limits
from spectrata.report.payload import packed
from spectrata.stats.verdict import CONTROL, LEVELS, MEASURE, RECENT, is_layers, places, when
from spectrata.stats.watched import is_run, mode_of, one_mode

if TYPE_CHECKING:
    import xarray as xr

MEASURES = (MEASURE, "r", "effective_rank", "dead_rows", "mean_row_norm")  # the first is shown first
MODES = {"eval": "evaluation", "train": "training", "control": "without messages"}  # the first is shown first


def run_map(run: "xr.Dataset | None") -> dict[str, Any] | None:
    """What the page draws of a run, by mode; passes without a number are left out."""
    if run is None or not is_run(run):
        return None
    modes = [mode for mode in MODES if mode in (run["mode"].values if "mode" in run.dims else [mode_of(run)])]
    shown = [_one_mode(*one_mode(run, mode), mode) for mode in modes]
    shown = [one for one in shown if one is not None]
    if not shown:
        return None
    time = one_mode(run)[1]
    scores = {str(name): run[name].values for name in run.data_vars if "score" in run[name].attrs}
    return {
        "time": time,
        "at": run[time].values.tolist(),
        "modes": shown,
        "scores": [
            {"name": name, "values": packed(values)}
            for name, values in scores.items()
            if values.dtype.kind in "fiu" and values.shape == run[time].shape
        ],
    }


def _one_mode(one: "xr.Dataset", time: str, mode: str) -> dict[str, Any] | None:
    """The measures of the passes of one mode, ``(layer, pass)`` each; layers without a number are left out."""
    known = [name for name in MEASURES if name in one and set(one[name].dims) == {"layer", time}]
    if not known:
        return None
    values = {name: one[name].transpose("layer", time).values.astype(float) for name in known}
    there = np.isfinite(values[known[0]])
    rows, passes = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
    if not len(passes):
        return None
    return {
        "name": MODES[mode],
        "at": one[time].values[passes].tolist(),
        "layers": [str(name) for name in one["layer"].values[rows]],
        "measures": [_measure(one[name], array[np.ix_(rows, passes)]) for name, array in values.items()],
    }


def _measure(known: "xr.DataArray", values: np.ndarray) -> dict[str, Any]:
    words = str(known.attrs.get("long_name", ""))
    return {"name": str(known.name), "text": words, "values": packed(values), "log": log_limits(values)}


def against_control(layers: "xr.Dataset") -> dict[str, Any] | None:
    """Each layer of the judged pass, its control, its range at the last evaluations, and the levels of the study."""
    if not is_layers(layers):
        return None
    labels = layers["snapshot"].values.tolist()
    shown = states(layers, labels)
    rows = [labels.index(name) for name in shown]
    recent = layers[RECENT].transpose("snapshot", "evaluation").values[rows] if RECENT in layers else np.empty((0, 0))
    several = recent.shape[1] > 1 and np.isfinite(recent).any(axis=1).all()
    return {
        "names": [str(name) for name in shown],
        "when": when(layers),
        "floor": FLOOR,
        "values": packed(layers[MEASURE].values[rows]),
        "control": packed(layers[CONTROL].values[rows]) if CONTROL in layers else None,
        "low": packed(np.nanmin(recent, axis=1)) if several else None,
        "high": packed(np.nanmax(recent, axis=1)) if several else None,
        "evaluations": recent.shape[1],
        "levels": [
            {"at": rows.index(row), "level": LEVELS[place].level, "name": place}
            for place, row in places(layers).items()
            if row in rows
        ],
    }
