"""Heat maps: frequency by hop, and frequency by layer or epoch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError
from spectrata.inputs.numbers import one_of
from spectrata.plot.chance import beyond, own_chance
from spectrata.plot.steps import BINNED, BINS
from spectrata.plot.style import (
    COMPONENT_AXIS,
    MAP,
    MAX_PANELS,
    as_result,
    chosen,
    few,
    fit_ticks,
    graph_views,
    hop_sizes,
    hop_title,
    left_out,
    name_axes,
    new_axes,
    one_algorithm,
    one_sequence,
    panels_for,
    plain,
    row_names,
    write_in,
)
from spectrata.results.schema import View, is_bands, view
from spectrata.stats.describe.compare import spread_evenly
from spectrata.stats.describe.spectrum import lengths, merge_eigenspaces

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

TOP = 0.99  # colours reach their end at this quantile: single tall components would darken all the rest
QUANTITY = "magnitude / l2 norm off zero"


@dataclass(frozen=True, eq=False)
class Strip:
    """Spectra of one algorithm at one hop, as cells along the frequency axis."""

    hop: int
    values: np.ndarray  # (R, a), unit length off zero, evened inside eigenspaces
    eigenvalue: np.ndarray  # (a,)
    bounds: np.ndarray  # (a + 1,): where cells begin and end
    zero: float  # where the zero components end; where they begin, when there are none
    status: np.ndarray  # (R,)
    binned: bool = False

    def word(self, row: int) -> str:
        """What stands in the place of a spectrum that has nothing to show."""
        values = self.values[row]
        if np.nanmax(values, initial=0.0) > 0:
            return ""
        return "all zero" if self.status[row] == "ok" else plain(self.status[row])


def strips(result: View, algorithm: str, x: str) -> list[Strip]:
    """Magnitudes off zero of unit length, the same for all components of an eigenspace; one strip per hop."""
    one = view(result.ds.sel({"algorithm": [algorithm]}), result.name)
    merged = one if one.is_bands else view(merge_eigenspaces(one.ds), one.name)
    size = lengths(np.where(one.off_zero, one.magnitude, 0.0))[0]  # (R, H)
    values = spread_evenly(merged).values[0] / np.where(size > 0, size, 1.0)[..., None]
    found = []
    for at, hop in enumerate(one.hops):
        here = merged.present[at]
        bounds = _ranks(one, merged, at) if x == "rank" else _edges(merged, at)
        zero = bounds[np.count_nonzero(merged.is_zero[at])]
        eigenvalue = merged.eigenvalue[at][here]
        strip = Strip(hop, values[:, at, here], eigenvalue, bounds, float(zero), one.status[0, :, at])
        found.append(
            strip if one.is_bands else _in_bins(strip, merged.multiplicity[at][here], merged.is_zero[at][here])
        )
    return found


def _in_bins(strip: Strip, sizes: np.ndarray, zero: np.ndarray) -> Strip:
    """Beyond 300 components: the root mean square in bins of about equally many, eigenspaces whole."""
    total = sizes[~zero].sum()
    if total <= BINNED:
        return strip
    rank = np.cumsum(sizes * ~zero) - sizes / 2  # of the middle component
    number = np.where(zero, -1, np.minimum(rank / total * BINS, BINS - 1).astype(int))
    first = np.flatnonzero(np.append(True, np.diff(number) != 0))  # (cells,)
    weight = np.add.reduceat(sizes, first)
    energy = np.add.reduceat(sizes * strip.values**2, first, axis=1)  # (R, cells)
    bounds = np.append(strip.bounds[first], strip.bounds[-1])
    values = np.sqrt(energy / weight)
    return replace(strip, values=values, eigenvalue=strip.eigenvalue[first], bounds=bounds, binned=True)


def quantity(found: Iterable[Strip]) -> str:
    """What the cells hold."""
    return QUANTITY + (f", rms of {BINS} bins" if any(strip.binned for strip in found) else "")


def _ranks(one: View, merged: View, at: int) -> np.ndarray:
    """Bounds of cells as wide as their eigenspaces, a cut spectrum's where they stand in the whole one."""
    here = merged.present[at]
    if merged.is_bands:
        return np.arange(here.sum() + 1.0)
    widths = merged.multiplicity[at][here]
    first = one.eigenspace[at] == merged.eigenspace[at][here][0]
    start = 0 if one.is_merged else one.component[first][-1] + 1 - widths[0]
    return start + np.append(0.0, np.cumsum(widths))


def _edges(merged: View, at: int) -> np.ndarray:
    """Bounds of cells half way between eigenvalues, or at the edges of bands."""
    if merged.is_bands:
        edges = np.append(merged.ds["band_lower"].values[at], merged.ds["band_upper"].values[at, -1])
        return np.append(edges[0] - (edges[1] - edges[0]) / 2, edges)
    values = merged.eigenvalue[at][merged.present[at]]
    middle = (values[1:] + values[:-1]) / 2
    half = values[-1] - middle[-1] if len(middle) else 1.0
    begin = 0.0 if values[0] <= 0 or not len(middle) else values[0] - (middle[0] - values[0])
    return np.concatenate([[begin], middle, [values[-1] + half]])


def hops(
    ds: "xr.Dataset",
    ax: "Axes | None" = None,
    *,
    algorithm: str | None = None,
    snapshot: Any = None,
    x: str = "rank",
    calibrated: "xr.Dataset | bool | None" = None,
    colorbar: bool = True,
) -> "Axes":
    """Draw a map of hop by frequency, with what lies beyond chance.

    Colour is the magnitude of each component, divided by the l2 norm over the components off zero of its hop; inside
    a repeated eigenvalue the energy is spread evenly. Zero components are left grey. Beyond 300 components a cell is
    the root mean square of a bin, one of 30 of about equally many components. Triangles mark the cells whose energy
    lies more than two standard deviations above (pointing up) or below its permutation mean.

    Parameters
    ----------
    ds : xarray.Dataset
        A result; of many graphs, each has a row per hop.
    ax : Axes, optional
    algorithm : str, optional
        gft by default, or the first.
    snapshot : optional
        The last by default.
    x : {"rank", "eigenvalue"}
        Hops have different eigenvalues; ranks are the same for all.
    calibrated : xarray.Dataset or bool, optional
        What :func:`spectrata.calibrate` gave for the same signal. By default it is computed for gft where the result
        kept its signal and has up to 1,000 nodes; False leaves it out. A calibration as ``ds`` has its own.
    colorbar : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(5), [0.0, 1.0, 0.0, 2.0, 1.0])
    >>> st.plot.hops(ds).get_title()
    'gft: magnitude / l2 norm off zero'
    """
    one_of(x, "x", ("rank", "eigenvalue"))
    views = graph_views(ds)
    name = one_algorithm(views[0][1], algorithm)
    rows: list[tuple[str, Strip, int]] = []
    signs: list[np.ndarray] = []
    title = name
    for graph, one in views:
        row = -1 if snapshot is None or one.rows is None else _row(one, snapshot)
        if one.rows is not None and not graph:
            title = f"{name}, {plain(row_names(one)[row])}"
        label = f"{plain(graph)}, " if graph else ""
        rows += [(f"{label}{strip.hop}", strip, row) for strip in strips(one, name, x)]
        known = _chance(views, one, name, row, calibrated, any(strip.binned for _, strip, _ in rows))
        signs += [_beyond(known, one, name, row, strip) for _, strip, _ in rows[len(signs) :]]
    if ax is None:
        ax = new_axes(1, height=max(1.6, 0.34 * len(rows)), least=7.0)[0]
    top = _top([strip.values[row] for _, strip, row in rows])
    drawn = None
    for place, (_, strip, row) in enumerate(rows):
        cells, extent = strip.values[None, row], (place, place + 1)
        drawn = ax.pcolormesh(strip.bounds, extent, cells, cmap=MAP, vmin=0.0, vmax=top, rasterized=True)
        _zero_strip(ax, strip, place)
        _mark(ax, strip, signs[place], place)
        middle = (strip.bounds[0] + strip.bounds[-1]) / 2
        ax.text(middle, place + 0.5, strip.word(row), ha="center", va="center", fontsize=7)
    ax.set_yticks(np.arange(len(rows)) + 0.5, [label for label, _, _ in rows], fontsize=8)
    ax.set_ylim(len(rows), 0)
    ax.set_ylabel("hop distance K", fontsize=9)
    marks = "\ntriangles: energy beyond chance, mean ± 2 standard deviations" if any(len(one) for one in signs) else ""
    ax.set_xlabel(f"{_axis(x)} (grey: zero components){marks}", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.set_title(f"{title}: {quantity(strip for _, strip, _ in rows)}", fontsize=9)
    if colorbar and drawn is not None:
        ax.figure.colorbar(drawn, ax=ax, fraction=0.04, pad=0.02).ax.tick_params(labelsize=8)
    return ax


def _chance(
    views: Sequence[tuple[str, View]],
    one: View,
    algorithm: str,
    row: int,
    given: "xr.Dataset | bool | None",
    bins: bool,
) -> "xr.Dataset | None":
    """The calibration of one graph: that given, its own, or a test of the result; None where there is none."""
    if given is False or len(views) > 1:
        return None
    if given is None or given is True:
        return one.ds if "chance_low" in one.ds else own_chance([one], algorithm, row, bins)
    return given


def _beyond(known: "xr.Dataset | None", one: View, algorithm: str, row: int, strip: Strip) -> np.ndarray:
    """What each cell off zero is beside chance; nothing where no chance is known."""
    if known is None or algorithm not in known["algorithm"].values or strip.hop not in known["hop"].values:
        return np.empty(0)
    signs = beyond(known, algorithm, None if one.rows is None else one.rows[row], strip.hop)
    if len(signs) != np.count_nonzero(strip.bounds[:-1] >= strip.zero):
        raise ResultError(
            "calibrated has other eigenspaces or bands than the picture; give calibrate(...) of the same signal."
        )
    return signs


def _mark(ax: "Axes", strip: Strip, signs: np.ndarray, place: int) -> None:
    """Triangles on the cells beyond chance."""
    cells = strip.bounds[:-1] >= strip.zero
    middles = (strip.bounds[:-1] + strip.bounds[1:])[cells] / 2
    for sign, marker, gid in ((1, "^", "above"), (-1, "v", "below")):
        at = middles[: len(signs)][signs == sign]
        style: dict[str, Any] = {"markersize": 4, "markerfacecolor": "white", "markeredgecolor": "black"}
        if len(at):
            ax.plot(at, np.full(len(at), place + 0.5), marker, markeredgewidth=0.6, gid=gid, **style)


def _row(one: View, wanted: Any) -> int:
    assert one.rows is not None
    return one.rows.index(chosen(one.rows, ", ".join(one.row_dims), wanted)[0])


def spectrogram(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    algorithm: str | None = None,
    hops: Iterable[int] | None = None,
    y: str = "rank",
    max_panels: int = MAX_PANELS,
) -> np.ndarray:
    """Draw frequency against layer or epoch, one panel per hop.

    Beyond 300 components a cell is the root mean square of a bin, one of 30 of about equally many components.

    Parameters
    ----------
    ds : xarray.Dataset
        A result of one graph with snapshots; one without is drawn as a single column. Of many graphs with common
        bands (``spectra_many(..., bands=EDGES)``) every graph is a column, in the order of the pairs.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn.
    algorithm : str, optional
        gft by default, or the first.
    hops : optional
        All by default.
    y : {"rank", "eigenvalue"}
    max_panels : int

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(4, 5, 2))
    >>> axes = st.plot.spectrogram(st.spectra(nx.path_graph(5), values, hops=2))
    >>> [panel.get_title() for panel in axes]
    ['K = 1: 4 edges, 1 part', 'K = 2: 3 edges, 2 parts']
    """
    one_of(y, "y", ("rank", "eigenvalue"))
    known = as_result(ds)
    many = "graph" in known["magnitude"].dims and is_bands(known)
    views = graph_views(known) if many else [("", view(known))]
    result = max((one for _, one in views), key=lambda one: len(one.hops))
    sequence = "graph" if many else one_sequence(result, "a spectrogram")
    wanted = chosen(result.hops, "hop", hops)
    axes, shown = panels_for(ax, wanted, max_panels)
    name = one_algorithm(result, algorithm)
    each = [{strip.hop: strip for strip in strips(one, name, y)} for _, one in views]
    found = {hop: _side_by_side([one.get(hop) for one in each]) for hop in shown}
    moments = [graph for graph, _ in views] if many else row_names(result)
    top = _top([found[hop].values for hop in shown])
    sizes = hop_sizes(result)
    drawn = None
    for panel, hop in zip(axes, shown, strict=True):
        strip = found[hop]
        times = np.arange(len(moments) + 1) - 0.5
        drawn = panel.pcolormesh(times, strip.bounds, strip.values.T, cmap=MAP, vmin=0.0, vmax=top, rasterized=True)
        panel.axhspan(strip.bounds[0], strip.zero, color="#bdbdbd", linewidth=0)
        title = f"K = {hop}" if many else hop_title(hop, sizes[:, result.hops.index(hop)])
        panel.set_title(title, fontsize=9)
        ticks = few(len(moments))
        fit_ticks(panel, ticks, [moments[t] for t in ticks])
        panel.tick_params(labelsize=8)
        if all(strip.word(row) for row in range(len(moments))):
            write_in(panel, strip.word(0))
    name_axes(axes, ax is None, sequence or "snapshot", _axis(y))
    if ax is None:
        figure, note = axes[0].figure, left_out(wanted, shown)
        title = f"{name}: {quantity(found.values())} (grey: zero components)" + (f"; {note}" if note else "")
        figure.suptitle(title, fontsize=9)
        figure.colorbar(drawn, ax=list(axes), fraction=0.03, pad=0.02).ax.tick_params(labelsize=8)
    return axes


def _side_by_side(pieces: "Sequence[Strip | None]") -> Strip:
    """Strips of several graphs on one axis as the rows of one; a graph that does not reach the hop has none."""
    there = [piece for piece in pieces if piece is not None]
    if len(pieces) == 1:
        return there[0]
    empty = np.full_like(there[0].values, np.nan), np.full_like(there[0].status, "past the diameter")
    rows = [empty if piece is None else (piece.values, piece.status) for piece in pieces]
    values, status = (np.concatenate([row[part] for row in rows]) for part in (0, 1))
    return replace(there[0], values=values, status=status)


def _zero_strip(ax: "Axes", strip: Strip, place: int) -> None:
    from matplotlib.patches import Rectangle

    start, width = strip.bounds[0], strip.zero - strip.bounds[0]
    ax.add_patch(Rectangle((start, place), width, 1.0, facecolor="#bdbdbd", edgecolor="none", gid="zero"))


def _top(pieces: Sequence[np.ndarray]) -> float:
    values = np.concatenate([piece.ravel() for piece in pieces])
    there = values[np.isfinite(values)]
    top = float(np.quantile(there, TOP)) if len(there) else 0.0
    return top if top > 0 else 1.0


def _axis(kind: str) -> str:
    return COMPONENT_AXIS if kind == "rank" else "eigenvalue"
