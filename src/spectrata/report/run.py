"""The map of a watched run: measures over layers and epochs, with the scores."""

from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.analysis.smoothness import LONG_NAMES
from spectrata.analysis.watched import one_mode
from spectrata.plot.training import mode_words
from spectrata.report.payload import packed

if TYPE_CHECKING:
    import xarray as xr

MEASURES = ("off_zero_live", "effective_rank", "dead_rows", "mad", "mean_row_norm")  # the first is shown first


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
