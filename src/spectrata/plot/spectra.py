"""Magnitudes over eigenvalues: one panel per hop, algorithms, snapshots or graphs over each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import ResultError
from spectrata.inputs.numbers import one_of
from spectrata.kernels.scaling import squarable
from spectrata.plot.columns import columns
from spectrata.plot.style import (
    COMPONENT_AXIS,
    GREY,
    MANY,
    MAX_PANELS,
    PALETTE,
    chosen,
    count,
    few,
    graph_views,
    hop_sizes,
    hop_title,
    left_out,
    look,
    name_axes,
    panels_for,
    plain,
    row_names,
    tidy,
    write_in,
)
from spectrata.results.schema import View, view

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["MANY", "PALETTE", "spectra"]
LEAST = 0.01  # share of the smallest values that a log axis may leave below it
LOG_SPAN = 1e-5  # a log axis reaches so far below the largest value


@dataclass(frozen=True, eq=False)
class Series:
    """One curve of every panel: an algorithm at a row (a snapshot, layer, column) of a graph's result."""

    label: str
    view: View
    algorithm: str
    row: int
    color: Any
    dashes: Any
    in_legend: bool = True


def spectra(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    algorithms: str | Iterable[str] | None = None,
    snapshots: Iterable[Any] | None = None,
    hops: Iterable[int] | None = None,
    x: str = "eigenvalue",
    y: str = "auto",
    normalize: bool = False,
    calibrated: "xr.Dataset | None" = None,
    max_panels: int = MAX_PANELS,
) -> np.ndarray:
    """Draw magnitudes over eigenvalues, one panel per hop.

    Components that share an eigenvalue are hollow (the split between them is arbitrary), zero components are squares,
    and a panel says where values are zero or undefined.

    Parameters
    ----------
    ds : xarray.Dataset, or a mapping of names to them
        A result of :func:`spectrata.spectra`, as it is or from :func:`spectrata.merge_eigenspaces`, which leaves
        nothing arbitrary to mark; of bands; of many graphs, each a curve; several signals on one graph by name. More
        than 7 columns (``columns="separate"``) are ranked in a heat map per hop, as :func:`spectrata.plot.columns`
        does; name some as ``snapshots``, or select them, for curves.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn; a new figure without it.
    algorithms, snapshots, hops : optional
        What to draw, by name; all of it by default. A result with several snapshots or graphs shows them for its
        first algorithm, unless algorithms are named.
    x : {"eigenvalue", "rank"}
        Place components by eigenvalue, or by rank where eigenvalues crowd; ticks then give both.
    y : {"auto", "linear", "log"}
        Scale of magnitudes; "auto" is "log" beyond 60 components, where zero components would dwarf the rest. What
        lies below a log axis is counted in the panel.
    normalize : bool
        Divide each curve by its l2 norm over components, to compare shapes.
    calibrated : xarray.Dataset, optional
        What :func:`spectrata.calibrate` gave for the same signal: chance is shaded, mean and two standard deviations
        of the energy to either side, per component where an eigenvalue is repeated. For the first algorithm and, of
        several snapshots, the last that is drawn.
    max_panels : int
        Hops beyond so many are left out, and the figure says how many.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(5), [0.0, 1.0, 0.0, 2.0, 1.0], hops=2)
    >>> axes = st.plot.spectra(ds, normalize=True)
    >>> [panel.get_title() for panel in axes]
    ['K = 1: 4 edges, 1 part', 'K = 2: 3 edges, 2 parts']
    """
    one_of(x, "x", ("eigenvalue", "rank"))
    one_of(y, "y", ("auto", "linear", "log"))
    if snapshots is None and "column" in getattr(ds, "dims", ()) and ds.sizes["column"] > len(PALETTE):
        return columns(ds, ax, hops=hops, algorithm=None if algorithms is None else _first(algorithms))
    views = graph_views(ds)
    log = y == "log" or (y == "auto" and max(_widest(one) for _, one in views) > MANY)
    wanted = chosen(sorted({hop for _, one in views for hop in one.hops}), "hop", hops)
    axes, shown = panels_for(ax, wanted, max_panels)
    series, note = _series(views, algorithms, snapshots)
    judged = None if calibrated is None else _judged(calibrated, series)
    for panel, hop in zip(axes, shown, strict=True):
        _panel(panel, hop, series, x, log, normalize, judged)
        tidy(panel)
    up = "magnitude / l2 norm" if normalize else "magnitude"
    name_axes(axes, ax is None, "eigenvalue" if x == "eigenvalue" else COMPONENT_AXIS, up)
    notes = [word for word in (note, left_out(wanted, shown)) if word]
    _legend(axes, shown, series, notes, ax is None, calibrated is not None)
    return axes


# ---- what is drawn


def _first(algorithms: str | Iterable[str]) -> str:
    return algorithms if isinstance(algorithms, str) else next(iter(algorithms))


def _widest(one: View) -> int:
    return int(one.present.sum(axis=1).max())


def _series(views: Sequence[tuple[str, View]], algorithms: Any, snapshots: Any) -> tuple[list[Series], str]:
    """The curves of every panel, and a word on what they leave out or have in common."""
    first = views[0][1]
    names = chosen(first.algorithms, "algorithm", algorithms)
    moments = [(graph, one, row) for graph, one in views for row in _rows(one, snapshots)]
    note = ""
    if len(moments) > 1 and len(names) > 1 and algorithms is None:
        note = f"{names[0]} drawn; {len(names) - 1} more algorithms in the result"
        names = names[:1]
    elif len(names) == 1 and (len(moments) > 1 or first.row_dims):
        note = names[0]
    elif len(moments) == 1 and first.row_dims:
        note = f"{first.row_dims[0]} {plain(row_names(first)[moments[0][2]])}"
    series: list[Series] = []
    for name in names:
        for graph, one, row in moments:
            place = ", ".join(word for word in (graph, row_names(one)[row]) if word)
            label = plain(place) if len(names) == 1 and place else name
            label = f"{name}, {plain(place)}" if len(names) > 1 and len(moments) > 1 else label
            seen = look(len(series), len(names) * len(moments))
            series.append(Series(label, one, name, row, *seen))
    return series, note


def _rows(one: View, wanted: Any) -> list[int]:
    """Positions of the rows to draw."""
    if one.rows is None:
        return [0]
    return [one.rows.index(label) for label in chosen(one.rows, ", ".join(one.row_dims), wanted)]


@dataclass(frozen=True, eq=False)
class Judged:
    """A calibration, and the curve it belongs to."""

    view: View
    series: Series
    row: int

    def shade(self, ax: "Axes", hop: int, places: np.ndarray, size: float) -> None:
        """A band behind the curve; a repeated eigenvalue's energy is spread evenly over its components."""
        one, known = self.series, self.view
        if one.algorithm not in known.algorithms or hop not in known.hops:
            return
        at, here = known.hops.index(hop), one.view.hops.index(hop)
        present = one.view.present[here]
        space = np.searchsorted(known.eigenspace[at][known.present[at]], one.view.eigenspace[here][present])
        where = (known.algorithms.index(one.algorithm), self.row, at)
        energy, std = (
            known.stacked(name, "algorithm", "hop", "component")[where][space] for name in ("null_energy", "null_std")
        )
        share = 1.0 if one.view.is_merged else np.sqrt(one.view.multiplicity[here][present])
        low, high = np.sqrt(np.maximum(energy - 2 * std, 0.0)), np.sqrt(energy + 2 * std)
        low, mean, high = (side / share / size for side in (low, np.sqrt(energy), high))
        off = ~one.view.is_zero[here][present]  # no permutation moves the constant part
        ax.fill_between(places, low, high, where=off, color="#999999", alpha=0.28, linewidth=0, zorder=1, gid="chance")
        dots = (0, (2, 2))
        ax.plot(places[off], mean[off], color="#777777", linewidth=0.9, linestyle=dots, zorder=1.5, gid="null")


def _judged(calibrated: "xr.Dataset", series: Sequence[Series]) -> Judged:
    """The calibration of the first algorithm and, of several snapshots, the last that is drawn."""
    found = view(calibrated, "calibrated")
    if "null_energy" not in calibrated or not found.is_merged:
        raise ResultError("calibrated must come from calibrate(..., level='eigenspace'), its default.")
    one = series[-1] if series[-1].view.row_dims else series[0]
    made = [str(np.ravel(side.ds["made_with"].values)[0]) for side in (one.view, found)]
    if made[0] != made[1]:
        raise ResultError(
            f"{one.view.name} was made with {made[0]}, and calibrated with {made[1]}, which cannot be compared."
        )
    row = 0
    if found.rows is not None and one.view.rows is not None:
        row = found.rows.index(chosen(found.rows, found.row_dims[0], [one.view.rows[one.row]])[0])
    return Judged(found, one, row)


# ---- one panel


def _panel(
    ax: "Axes", hop: int, series: Sequence[Series], x: str, log: bool, normalize: bool, judged: Judged | None
) -> None:
    empty, drawn = [], []
    for order, one in enumerate(series):
        if hop not in one.view.hops:
            empty.append((one.label, "past the diameter"))
            continue
        at = one.view.hops.index(hop)
        here = one.view.present[at]
        where = (one.view.algorithms.index(one.algorithm), one.row, at)
        values = one.view.magnitude[where][here]
        places = (one.view.eigenvalue[at] if x == "eigenvalue" else one.view.component)[here]
        if np.isnan(values).all():
            empty.append((one.label, str(one.view.status[where])))
            continue
        if not np.nanmax(np.abs(values)) > 0.0:
            empty.append((one.label, "all zero"))
        even, scale = squarable(values)  # squares of tiny and of huge magnitudes have no digits
        size = np.sqrt(np.nansum(even**2)) * scale[0] if normalize and np.nansum(even**2) > 0 else 1.0
        values = values / size
        if judged is not None and one is judged.series:
            judged.shade(ax, hop, places, size)
        repeated = (one.view.multiplicity[at][here] > 1) & (not one.view.is_merged)
        _curve(ax, places, values, one, one.view.is_zero[at][here], repeated, 3 + order * 0.1)
        drawn.append(values)
    ax.set_title(_title(hop, series), fontsize=9)
    ax.margins(x=0.03)
    if x == "rank":
        _rank_ticks(ax, hop, series)
    below = _scale(ax, np.concatenate(drawn) if drawn else np.empty(0), log)
    _say(ax, empty, len(series), below)


def _title(hop: int, series: Sequence[Series]) -> str:
    views = {id(one.view): one.view for one in series}
    if len(views) > 1:
        return f"K = {hop}: {count(sum(hop in one.hops for one in views.values()), 'graph')}"
    one = series[0].view
    return hop_title(hop, hop_sizes(one)[:, one.hops.index(hop)])


def _scale(ax: "Axes", values: np.ndarray, log: bool) -> int:
    """Set the limits of the magnitudes; give how many lie below them."""
    positive = values[values > 0.0]
    if not len(positive):
        ax.set_ylim(0.0, 1.0)
        return 0
    if not log:
        ax.set_ylim(-0.03 * positive.max(), 1.06 * positive.max())  # markers at 0 stay whole
        return 0
    ax.set_yscale("log")
    # Components that are zero but for rounding would take most of the axis; the panel counts them.
    bottom = max(float(np.quantile(positive, LEAST)) / 2, positive.max() * LOG_SPAN)
    ax.set_ylim(bottom, 1.8 * positive.max())
    return int(np.count_nonzero(values < bottom))


def _rank_ticks(ax: "Axes", hop: int, series: Sequence[Series]) -> None:
    """Ranks with their eigenvalues, which several graphs do not share."""
    one = series[0].view
    if any(other.view is not one for other in series):
        return
    at = one.hops.index(hop)
    ranks, values = one.component[one.present[at]], one.eigenvalue[at][one.present[at]]
    ticks = few(len(ranks))
    ax.set_xticks(ranks[ticks], [f"{ranks[tick]:,}\nλ = {values[tick]:.3g}" for tick in ticks])


def _curve(
    ax: "Axes",
    places: np.ndarray,
    values: np.ndarray,
    one: Series,
    zero: np.ndarray,
    repeated: np.ndarray,
    order: float,
) -> None:
    """One line through all components, then markers by kind: the line's data are the magnitudes."""
    many = len(places) > MANY
    size, edge = (2.2, 0.5) if many else (4.2, 1.0)
    ax.plot(
        places,
        values,
        color=one.color,
        linestyle="none" if many else one.dashes,
        linewidth=1.0,
        alpha=0.75,
        label=one.label,
        zorder=order,
        gid="curve",
    )
    alpha = 0.45 if many else 1.0
    for kind, which, marker, face in (
        ("simple", ~zero & ~repeated, "o", one.color),
        ("repeated", ~zero & repeated, "o", "white"),
        ("zero", zero, "s", "white" if np.count_nonzero(zero) > 1 else one.color),
    ):
        if which.any():
            ax.plot(
                places[which],
                values[which],
                linestyle="none",
                marker=marker,
                markersize=size * (1.6 if many and kind == "zero" and np.count_nonzero(zero) <= 3 else 1.0),
                markerfacecolor=face,
                markeredgecolor=one.color,
                markeredgewidth=edge,
                alpha=1.0 if kind == "zero" else alpha,
                zorder=order + 0.05,
                gid=kind,
                rasterized=len(places) > 2000,  # a vector file of many thousand markers is slow to open
            )


def _say(ax: "Axes", empty: Sequence[tuple[str, str]], curves: int, below: int) -> None:
    """Write into the panel which curves are zero or undefined, and what the axis leaves out."""
    reasons = dict.fromkeys(reason for _, reason in empty)
    if len(empty) == curves and len(reasons) == 1:
        write_in(ax, next(iter(reasons)))
        return
    lines = [f"{', '.join(label for label, why in empty if why == reason)}: {reason}" for reason in reasons]
    if below:
        lines.append(f"{count(below, 'value')} below the axis")
    if lines:
        ax.text(
            0.98, 0.98, "\n".join(lines), transform=ax.transAxes, ha="right", va="top", color=GREY, fontsize=7, zorder=6
        )


# ---- the figure


def _has_repeated(one: View, hops: Sequence[int]) -> bool:
    shown = [hop in hops for hop in one.hops]
    return not one.is_merged and bool(np.any((one.multiplicity > 1)[shown] & one.off_zero[shown]))


def _legend(
    axes: np.ndarray, hops: Sequence[int], series: Sequence[Series], notes: list[str], own_figure: bool, chance: bool
) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks: dict[str, Any] = {"color": GREY, "linestyle": "none", "markersize": 4.2, "markeredgewidth": 1.0}
    many = max(_widest(one.view) for one in series) > MANY
    handles: list[Any] = [
        Line2D(
            [], [], color=one.color, linestyle="none" if many else one.dashes, linewidth=1.4, marker="o", markersize=4.2
        )
        for one in series
        if one.in_legend
    ]
    labels = [one.label for one in series if one.in_legend]
    if any(_has_repeated(one.view, hops) for one in series):
        handles.append(Line2D([], [], marker="o", markerfacecolor="white", **marks))
        labels.append("repeated eigenvalue: the split is arbitrary")
    handles.append(Line2D([], [], marker="s", **marks))
    labels.append("zero component")
    if chance:
        handles.append(Patch(facecolor="#999999", alpha=0.28))
        labels.append("chance: mean, 2 standard deviations")
    if own_figure:
        figure = axes[0].figure
        place: dict[str, Any] = {"loc": "outside upper center", "frameon": False, "fontsize": 8}
        place["title_fontsize"] = 8
        most = max(1, min(len(labels), 2 * min(3, len(axes))))
        for columns in range(most, 0, -1):  # as many as fit the width
            legend = figure.legend(handles, labels, title="; ".join(notes), ncols=columns, **place)
            if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
                break
            legend.remove()
    else:
        axes[0].legend(handles, labels, fontsize=7, frameon=False, title="; ".join(notes), title_fontsize=7)
