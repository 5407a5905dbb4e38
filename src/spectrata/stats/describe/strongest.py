"""The strongest frequencies of a result, by eigenspaces: the split inside a repeated eigenvalue is arbitrary."""

from typing import Any

import numpy as np
import xarray as xr

from spectrata.results.schema import view
from spectrata.stats.describe.spectrum import merge_eigenspaces

NOISE = 1e-12  # what is weaker than the strongest by this factor is rounding, not a component
TOP = 3  # eigenspaces of a row


def strongest_rows(ds: xr.Dataset) -> list[dict[str, Any]]:
    """The strongest eigenspaces of every hop, snapshot or column, and algorithm; NaN and rounding are left out.

    Zero components of several parts count as one eigenspace.
    """
    one = view(merge_eigenspaces(ds))
    found = []
    for at, row, index in np.ndindex(len(one.hops), len(one.gradient_norm), len(one.algorithms)):
        values = one.magnitude[index, row, at]
        order = [i for i in np.argsort(-values, kind="stable")[:TOP].tolist() if not np.isnan(values[i])]
        order = [i for i in order if i == order[0] or values[i] > NOISE * values[order[0]]]
        arrays = {"eigenvalue": one.eigenvalue[at], "multiplicity": one.multiplicity[at], "zero": one.is_zero[at]}
        spaces = [{name: array[i].item() for name, array in (arrays | {"magnitude": values}).items()} for i in order]
        facts = {"hop": one.hops[at], "row": None if one.rows is None else one.rows[row]}
        facts |= {"algorithm": one.algorithms[index], "gradient_norm": one.gradient_norm[row, at].item()}
        found.append(facts | {"status": str(one.status[index, row, at]), "strongest": spaces})
    return found
