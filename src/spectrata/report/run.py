"""A watched run on a page: measures over layers and epochs, and each layer against the levels of collapse."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.plot.maps import states
from spectrata.plot.run import WORDS
from spectrata.plot.style import log_limits
from spectrata.report.encode import numbers
from spectrata.stats.findings.collapse import CONTROL, LEVELS, MEASURE, is_layers, places, when
from spectrata.stats.findings.watched import is_run, mode_of, one_mode

if TYPE_CHECKING:
    import xarray as xr

MEASURES = (MEASURE, "r", "effective_rank", "dead_rows", "mean_row_norm")  # the first is shown first
MODES = {"eval": "evaluation", "train": "training", "control": "without messages"}  # the first is shown first


def run_map(run: "xr.Dataset | None") -> dict[str, Any] | None:
    """Measures of a run by mode; passes without a number are left out."""
    if run is None or not is_run(run):
        return None
    modes = [mode for mode in MODES if mode in (run["mode"].values if "mode" in run.dims else [mode_of(run)])]
    shown = [one for one in (_one_mode(*one_mode(run, mode), mode) for mode in modes) if one is not None]
    if not shown:
        return None
    time = one_mode(run)[1]
    scores = {str(name): run[name].values for name in run.data_vars if "score" in run[name].attrs}
    known = {name: one for name, one in scores.items() if one.dtype.kind in "fiu" and one.shape == run[time].shape}
    lines = [{"name": name, "values": numbers(values)} for name, values in known.items()]
    return {"time": time, "at": run[time].values.tolist(), "modes": shown, "scores": lines}


def _one_mode(one: "xr.Dataset", time: str, mode: str) -> dict[str, Any] | None:
    """The measures of the passes of one mode, ``(layer, pass)`` each; layers without a number are left out."""
    known = [name for name in MEASURES if name in one and set(one[name].dims) == {"layer", time}]
    if not known:
        return None
    values = {name: one[name].transpose("layer", time).values.astype(float) for name in known}
    there = np.isfinite(values[known[0]])
    names = [str(name) for name in one["layer"].values]
    shown = np.isin(names, states(one, names))
    rows, passes = np.flatnonzero(there.any(axis=1) & shown), np.flatnonzero(there.any(axis=0))
    if not len(passes):
        return None
    return {
        "name": MODES[mode],
        "at": one[time].values[passes].tolist(),
        "layers": [names[row] for row in rows],
        "measures": [_measure(one[name], array[np.ix_(rows, passes)]) for name, array in values.items()],
    }


def _measure(known: "xr.DataArray", values: np.ndarray) -> dict[str, Any]:
    words = str(known.attrs.get("long_name", ""))
    title = WORDS.get(str(known.name), str(known.name).replace("_", " "))
    return {"title": title, "text": words, "values": numbers(values), "log": log_limits(values)}


def collapse_levels(layers: "xr.Dataset") -> dict[str, Any] | None:
    """Each layer of the judged pass, its control, and the levels of the study at the places that are judged."""
    if not is_layers(layers):
        return None
    names = [str(name) for name in layers["snapshot"].values]
    rows = np.flatnonzero(np.isin(names, states(layers, names))).tolist()
    judged = {rows.index(row): place for place, row in places(layers).items() if row in rows}
    return {
        "names": [names[row] for row in rows],
        "when": when(layers),
        "values": numbers(layers[MEASURE].values[rows]),
        "control": numbers(layers[CONTROL].values[rows]) if CONTROL in layers else None,
        "levels": [{"at": row, "level": LEVELS[place].level, "name": place} for row, place in judged.items()],
    }
