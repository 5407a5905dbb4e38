"""What chance gives each eigenspace of a picture."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.errors import ResultError, SpectrataError, SpectrataWarning
from spectrata.plot.steps import BINS
from spectrata.plot.style import MANY, Series, chosen, hop_sizes
from spectrata.results.schema import View, view
from spectrata.stats.verbs.calibrate import calibrate_result

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

TESTED = 1000  # nodes up to which a picture asks for the range of chance unasked
DRAWS = 199
RANGE = ("chance_low", "chance", "chance_high")
DOTS: dict[str, Any] = {"color": "#777777", "linewidth": 0.9, "linestyle": (0, (2, 2))}
SHADE: dict[str, Any] = {"color": "#999999", "alpha": 0.45, "zorder": 1}


@dataclass(frozen=True, eq=False)
class Judged:
    """A calibration of eigenspaces, and the series it belongs to."""

    view: View
    series: Series
    row: int
    WORDS = "chance: 95 % of permutations"

    def handle(self) -> Any:
        """What stands for it in a legend."""
        return _patch()

    def shade(self, ax: "Axes", hop: int, places: np.ndarray, size: float) -> np.ndarray:
        """A bar behind each stem; a repeated eigenvalue's energy is spread evenly over components drawn one by one."""
        one, known = self.series, self.view
        if one.algorithm not in known.algorithms or hop not in known.hops:
            return np.empty(0)
        at, here = known.hops.index(hop), one.view.hops.index(hop)
        where = (known.algorithms.index(one.algorithm), self.row, at)
        present = one.view.present[here]
        space = np.searchsorted(known.eigenspace[at][known.present[at]], one.view.eigenspace[here][present])
        energy = known.stacked("energy", "algorithm", "hop")[where]
        share = 1.0 if one.view.is_merged else np.sqrt(one.view.multiplicity[here][present])
        low, mean, high = (
            np.sqrt(known.stacked(name, "algorithm", "hop", "component")[where][space] * energy) / share / size
            for name in RANGE
        )
        off = ~one.view.is_zero[here][present]  # no permutation moves the constant part
        width = 4.5 if np.count_nonzero(off) <= MANY else 1.6
        ax.vlines(places[off], low[off], high[off], linewidth=width, gid="chance", **SHADE)
        ax.plot(places[off], mean[off], linestyle="none", marker="_", color="#777777", markersize=width + 1, gid="null")
        return high[off]


@dataclass(frozen=True, eq=False)
class JudgedBins:
    """A calibration of as many bands as a picture has bins, and the series it belongs to."""

    ds: "xr.Dataset"
    series: Series
    WORDS = Judged.WORDS

    def handle(self) -> Any:
        """What stands for it in a legend."""
        return _patch()

    def shade(self, ax: "Axes", hop: int, edges: np.ndarray, size: float) -> np.ndarray:
        """A band behind steps: energies per component of each bin."""
        at = self.ds.sel(algorithm=self.series.algorithm, hop=hop)
        count = at["band_size"].values
        used = count > 0
        sides = (np.sqrt(at[name].values[used] * at["energy"].item() / count[used]) for name in RANGE)
        low, mean, high = (np.append(side, side[-1]) / size for side in sides)
        ax.fill_between(edges, low, high, step="post", linewidth=0, gid="chance", **SHADE)
        ax.plot(edges, mean, drawstyle="steps-post", gid="null", **DOTS)
        return high


@dataclass(frozen=True, eq=False)
class ChanceMean:
    """The mean of gft under permutations on a connected graph, which follows from the magnitudes alone.

    Every component off zero of the combinatorial Laplacian has the same permutation mean, and their energies add up to
    that of the signal without its mean, which no permutation changes.
    """

    series: Series
    WORDS = "chance: mean"

    def handle(self) -> Any:
        """What stands for it in a legend."""
        from matplotlib.lines import Line2D

        return Line2D([], [], **DOTS)

    def shade(self, ax: "Axes", hop: int, edges: np.ndarray, size: float) -> np.ndarray:
        """A line across the bins; nothing where the stratum has several parts."""
        one = self.series.view
        at = one.hops.index(hop)
        if hop_sizes(one)[1, at] != 1:
            return np.empty(0)
        off = one.off_zero[at]
        magnitude = one.magnitude[one.algorithms.index(self.series.algorithm), self.series.row, at][off]
        mean = float(np.sqrt(np.sum(magnitude**2) / one.multiplicity[at][off].sum())) / size
        ax.plot(edges[[0, -1]], [mean, mean], gid="null", **DOTS)
        return np.array([mean])


Chance = Judged | JudgedBins | ChanceMean


def _patch() -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=SHADE["color"], alpha=SHADE["alpha"])


def chance_mean(given: Sequence[View], series: Sequence[Series]) -> ChanceMean | None:
    """The mean of chance of a large graph, where it is the same for all components."""
    one = series[-1] if series[-1].view.row_dims else series[0]
    flat = (
        len(given) == 1
        and one.algorithm == EXACT
        and given[0].ds.attrs.get("laplacian", "combinatorial") == "combinatorial"
    )
    return ChanceMean(one) if flat and not given[0].is_bands else None


def judged_by(calibrated: "xr.Dataset", series: Sequence[Series], steps: bool) -> Judged | JudgedBins | None:
    """The calibration of the first algorithm and, of several snapshots, the last that is drawn."""
    one = series[-1] if series[-1].view.row_dims else series[0]
    if steps:  # the range of a bin does not follow from those of its eigenspaces
        return JudgedBins(calibrated, one) if calibrated.sizes.get("band") == BINS else None
    found = view(calibrated, "calibrated")
    if "chance_low" not in calibrated or not found.is_merged:
        raise ResultError("calibrated must come from calibrate(..., level='eigenspace'), its default.")
    made = [str(np.ravel(side.ds["made_with"].values)[0]) for side in (one.view, found)]
    if made[0] != made[1]:
        raise ResultError(
            f"{one.view.name} was made with {made[0]}, and calibrated with {made[1]}, which cannot be compared."
        )
    row = 0
    if found.rows is not None and one.view.rows is not None:
        row = found.rows.index(chosen(found.rows, found.row_dims[0], [one.view.rows[one.row]])[0])
    return Judged(found, one, row)


def beyond(calibrated: "xr.Dataset", algorithm: str, label: Any, hop: int) -> np.ndarray:
    """Mark each eigenspace or band off zero at a hop: 1 above the interval of chance, -1 below, 0 within.

    ``label`` is the snapshot, where the calibration has several.
    """
    one = calibrated.sel(algorithm=algorithm, hop=hop)
    one = one.sel(snapshot=label) if "snapshot" in one.dims else one
    used = (
        one["band_size"].values > 0 if "band" in one.dims else (one["multiplicity"] > 0).values & ~one["is_zero"].values
    )
    share, low, high = (one[name].values[used] for name in ("share", "chance_low", "chance_high"))
    return np.where(share > high, 1, np.where(share < low, -1, 0))


def auto_calibrated(given: Sequence[View], series: Sequence[Series], steps: bool) -> "xr.Dataset | None":
    """Test gft of the series that :func:`judged_by` takes, where the result can be tested; else None."""
    one = series[-1] if series[-1].view.row_dims else series[0]
    return own_chance(given, one.algorithm, one.row, steps)


def own_chance(given: Sequence[View], algorithm: str, row: int, steps: bool) -> "xr.Dataset | None":
    """Test gft of one result, where it is of one graph, kept its signal and is small; else None."""
    result = given[0]
    signal = None if len(given) > 1 or result.is_bands or result.is_merged else result.signal
    plain = result.row_dims in ((), ("snapshot",)) and result.ds["complete"].values.all()
    if signal is None or algorithm != EXACT or not plain or result.n_nodes > TESTED:
        return None
    asked: dict[str, Any] = {"level": "band", "bands": BINS} if steps else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpectrataWarning)  # its rows are in the order of the result's own nodes
            return calibrate_result(result.ds, signal[row], EXACT, draws=DRAWS, **asked)
    except SpectrataError:  # a picture without the range of chance is better than none
        return None
