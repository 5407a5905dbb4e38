"""Spectra of many components in bins."""

import numpy as np

from spectrata.core.registry import row_of
from spectrata.plot.style import Series
from spectrata.stats.describe.levels import band_groups, group_reduce

BINNED = 300  # components beyond which a spectrum is drawn in bins
BINS = 30


def binned(one: Series, at: int, x: str) -> tuple[np.ndarray, np.ndarray]:
    """Edges and heights of the bins of one hop: per component, the root mean square (or mean) of the magnitudes.

    Bins hold about equally many components off zero, eigenspaces whole; those without one are left out.
    """
    result = one.view
    axis = [array[at : at + 1] for array in (result.is_zero, result.eigenspace, result.multiplicity)]
    groups = band_groups(axis[0] | ~result.present[at], axis[1], axis[2], BINS)
    rule = row_of(one.algorithm).merge_rule(result.options)
    magnitude = result.magnitude[result.algorithms.index(one.algorithm), one.row, at]
    total = group_reduce(magnitude[None], groups, BINS, rule)[0]
    inside = groups[0] >= 0
    size = np.bincount(groups[0][inside], axis[2][0][inside], BINS)
    used = size > 0
    heights = (total / np.where(used, size, 1.0) ** (1.0 if rule == "sum" else 0.5))[used]
    if x == "rank":
        return np.append(0.0, np.cumsum(size[used])) / size.sum(), heights
    values = result.eigenvalue[at]
    starts = [values[groups[0] == band].min() for band in np.flatnonzero(used)]
    return np.append(starts, values[inside].max()), heights
