"""Magnitudes over eigenvalues: one panel per hop, each eigenspace beside what chance gives it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.inputs.numbers import one_of
from spectrata.kernels.scaling import squarable
from spectrata.plot.chance import Chance, auto_calibrated, chance_mean, judged_by
from spectrata.plot.columns import columns
from spectrata.plot.steps import BINNED, binned
from spectrata.plot.style import (
    COMPONENT_AXIS,
    GREY,
    MANY,
    MAX_PANELS,
    PALETTE,
    Series,
    chosen,
    count,
    few,
    graph_views,
    hop_sizes,
    hop_title,
    left_out,
    look,
    name_axes,
    one_algorithm,
    panels_for,
    plain,
    row_names,
    tidy,
    write_in,
)
from spectrata.results.schema import View, view
from spectrata.stats.describe.spectrum import merge_eigenspaces

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["MANY", "PALETTE", "spectra"]
MOST_STEMS = 2  # series over each other that still have stems
LEAST = 0.01  # share of the smallest values that a log axis may leave below it
LOG_SPAN = 1e-5  # a log axis reaches so far below the largest value


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
    merge: bool = True,
    calibrated: "xr.Dataset | bool | None" = None,
    max_panels: int = MAX_PANELS,
) -> np.ndarray:
    """Draw magnitudes over eigenvalues, one panel per hop, all on one scale.

    Each eigenspace is a stem, with the range of chance beside it where it is known. Zero components are squares, and
    a panel says where values are zero or undefined. Beyond 300 components the spectrum is drawn in 30 bins: the root
    mean square of their magnitudes, with the mean of chance where it is known.

    Parameters
    ----------
    ds : xarray.Dataset, or a mapping of names to them
        A result of :func:`spectrata.spectra`; of bands; of many graphs, each a series; several signals on one graph by
        name. More than 7 columns (``columns="separate"``) are ranked in a heat map per hop, as
        :func:`spectrata.plot.columns` does; name some as ``snapshots``, or select them, for spectra.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn; a new figure without it.
    algorithms, snapshots, hops : optional
        What to draw, by name. By default gft (or the first algorithm), and all snapshots and hops.
    x : {"eigenvalue", "rank"}
        Place components by eigenvalue, or by rank where eigenvalues crowd; ticks then give both.
    y : {"auto", "linear", "log"}
        Scale of magnitudes; "auto" is "log" beyond 60 components, where zero components would dwarf the rest. What
        lies below a log axis is counted in the panel.
    normalize : bool
        Divide each curve by its l2 norm over components, to compare shapes.
    merge : bool
        One stem per eigenspace. Without it, components that share an eigenvalue are hollow: the split between them is
        arbitrary.
    calibrated : xarray.Dataset or bool, optional
        What :func:`spectrata.calibrate` gave for the same signal: chance, its mean and two standard deviations of the
        energy to either side. For the first algorithm and, of several snapshots, the last that is drawn. By default it
        is computed for gft where the result kept its signal and has up to 1,000 nodes; False leaves it out.
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
    given = graph_views(ds)
    views = [(name, _merged(one) if merge else one) for name, one in given]
    wanted = chosen(sorted({hop for _, one in views for hop in one.hops}), "hop", hops)
    axes, shown = panels_for(ax, wanted, max_panels)
    series, note = _series(views, algorithms, snapshots)
    many = max(_widest(one.view) for one in series)
    steps = many > BINNED and merge and all(_is_whole(one) for _, one in given)
    log = y == "log" or (y == "auto" and many > MANY and not steps)
    if calibrated is None or calibrated is True:
        calibrated = auto_calibrated([one for _, one in given], series, steps)
    judged: Chance | None = None
    if calibrated is not None and calibrated is not False:
        judged = judged_by(calibrated, series, steps)
    elif calibrated is None and steps:
        judged = chance_mean([one for _, one in given], series)
    look_of = (series, x, log, normalize, judged, steps)
    found = [_panel(panel, hop, *look_of) for panel, hop in zip(axes, shown, strict=True)]
    _one_scale(axes, found, log, len(series))
    up = "root mean square magnitude" if steps else "magnitude"
    name_axes(axes, ax is None, _across(x, steps), f"{up} / l2 norm" if normalize else up)
    notes = [word for word in (note, left_out(wanted, shown)) if word]
    _legend(axes, shown, series, notes, ax is None, judged, steps)
    return axes


def _merged(one: View) -> View:
    """Eigenspaces for components; a cut spectrum may have part of one, and stays as it is."""
    return one if one.is_merged or not _is_whole(one) else view(merge_eigenspaces(one.ds), one.name)


def _is_whole(one: View) -> bool:
    """Whether a result has all components, which bins are made of."""
    return not one.is_bands and bool(one.ds["complete"].values.all())


def _across(x: str, steps: bool) -> str:
    if steps:
        return "eigenvalue" if x == "eigenvalue" else "share of the components off zero, by ascending eigenvalue"
    return "eigenvalue" if x == "eigenvalue" else COMPONENT_AXIS


# ---- what is drawn


def _first(algorithms: str | Iterable[str]) -> str:
    return algorithms if isinstance(algorithms, str) else next(iter(algorithms))


def _widest(one: View) -> int:
    return int(one.present.sum(axis=1).max())


def _series(views: Sequence[tuple[str, View]], algorithms: Any, snapshots: Any) -> tuple[list[Series], str]:
    """The curves of every panel, and a word on what they leave out or have in common."""
    first = views[0][1]
    names = [one_algorithm(first, None)] if algorithms is None else chosen(first.algorithms, "algorithm", algorithms)
    moments = [(graph, one, row) for graph, one in views for row in _rows(one, snapshots)]
    others = len(first.algorithms) - len(names)
    words = [names[0]] if len(names) == 1 and (len(moments) > 1 or first.row_dims) else []
    if algorithms is None and others:
        words = [names[0], f"{count(others, 'more algorithm')} in the result"]
    if len(moments) == 1 and first.row_dims:
        words.append(f"{first.row_dims[0]} {plain(row_names(first)[moments[0][2]])}")
    note = "; ".join(words)
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


# ---- one panel


Empty = list[tuple[str, str]]  # series without a curve, and why


def _panel(
    ax: "Axes",
    hop: int,
    series: Sequence[Series],
    x: str,
    log: bool,
    normalize: bool,
    judged: Chance | None,
    steps: bool,
) -> tuple[np.ndarray, Empty]:
    """Draw one hop; give the values and what is empty."""
    empty: Empty = []
    drawn = []
    for order, one in enumerate(series):
        if hop not in one.view.hops:
            empty.append((one.label, "past the diameter"))
            continue
        at = one.view.hops.index(hop)
        here = one.view.present[at]
        where = (one.view.algorithms.index(one.algorithm), one.row, at)
        values = one.view.magnitude[where][here]
        if np.isnan(values).all():
            empty.append((one.label, str(one.view.status[where])))
            continue
        if not np.nanmax(np.abs(values)) > 0.0:
            empty.append((one.label, "all zero"))
        even, scale = squarable(values)  # squares of tiny and of huge magnitudes have no digits
        size = np.sqrt(np.nansum(even**2)) * scale[0] if normalize and np.nansum(even**2) > 0 else 1.0
        if steps:
            edges, heights = binned(one, at, x)
            if judged is not None and one is judged.series:
                drawn.append(judged.shade(ax, hop, edges, size))
            _stairs(ax, edges, heights / size, one, 3 + order * 0.1)
            drawn.append(heights / size)
            continue
        places = (one.view.eigenvalue[at] if x == "eigenvalue" else _ranks(one.view, at))[here]
        if judged is not None and one is judged.series:
            drawn.append(judged.shade(ax, hop, places, size))
        repeated = (one.view.multiplicity[at][here] > 1) & (not one.view.is_merged)
        stems = not log and len(series) <= MOST_STEMS
        _curve(ax, places, values / size, one, one.view.is_zero[at][here], repeated, 3 + order * 0.1, stems)
        drawn.append(values / size)
    ax.set_title(_title(hop, series), fontsize=9)
    ax.margins(x=0.03)
    if x == "rank" and not steps:
        _rank_ticks(ax, hop, series)
    tidy(ax)
    return (np.concatenate(drawn) if drawn else np.empty(0)), empty


def _ranks(one: View, at: int) -> np.ndarray:
    """Rank of each component; of an eigenspace that of its first."""
    if not one.is_merged or one.is_bands:
        return one.component
    sizes = np.where(one.present[at], one.multiplicity[at], 0)
    return np.cumsum(sizes) - sizes


def _stairs(ax: "Axes", edges: np.ndarray, heights: np.ndarray, one: Series, order: float) -> None:
    style: dict[str, Any] = {"color": one.color, "linestyle": one.dashes, "linewidth": 1.4, "label": one.label}
    ax.plot(edges, np.append(heights, heights[-1]), drawstyle="steps-post", zorder=order, gid="curve", **style)


def _title(hop: int, series: Sequence[Series]) -> str:
    views = {id(one.view): one.view for one in series}
    if len(views) > 1:
        return f"K = {hop}: {count(sum(hop in one.hops for one in views.values()), 'graph')}"
    one = series[0].view
    return hop_title(hop, hop_sizes(one)[:, one.hops.index(hop)])


def _one_scale(axes: np.ndarray, found: Sequence[tuple[np.ndarray, Empty]], log: bool, curves: int) -> None:
    """The same limits of the magnitudes on all panels; each panel says what is empty, or below them."""
    values = np.concatenate([one for one, _ in found])
    positive = values[np.isfinite(values) & (values > 0.0)]
    bottom, top = 0.0, 1.0
    if len(positive) and log:
        # Components that are zero but for rounding would take most of the axis; the panel counts them.
        bottom = max(float(np.quantile(positive, LEAST)) / 2, positive.max() * LOG_SPAN)
        top = 1.8 * positive.max()
    elif len(positive):
        bottom, top = -0.03 * positive.max(), 1.06 * positive.max()  # markers at 0 stay whole
    for ax, (own, empty) in zip(axes, found, strict=True):
        if log and len(positive):
            ax.set_yscale("log")
        ax.set_ylim(bottom, top)
        _say(ax, empty, curves, int(np.count_nonzero(own < bottom)) if log else 0)


def _rank_ticks(ax: "Axes", hop: int, series: Sequence[Series]) -> None:
    """Ranks with their eigenvalues, which several graphs do not share."""
    one = series[0].view
    if any(other.view is not one for other in series):
        return
    at = one.hops.index(hop)
    ranks, values = _ranks(one, at)[one.present[at]], one.eigenvalue[at][one.present[at]]
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
    stems: bool,
) -> None:
    """Stems and markers by kind. No line joins eigenspaces: they do not follow each other."""
    many = len(places) > MANY
    size, edge = (2.6, 0.6) if many else (4.2, 1.0)
    ax.plot(places, values, linestyle="none", color=one.color, label=one.label, zorder=order, gid="curve")
    if stems:
        ax.vlines(places, 0.0, values, color=one.color, linewidth=0.9, alpha=0.8, zorder=order - 0.05)
    paper = ax.get_facecolor()
    for kind, which, marker, face in (
        ("simple", ~zero & ~repeated, "o", one.color),
        ("repeated", ~zero & repeated, "o", paper),
        ("zero", zero, "s", paper if np.count_nonzero(zero) > 1 else one.color),
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
                alpha=0.7 if many and kind != "zero" else 1.0,
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
    axes: np.ndarray,
    hops: Sequence[int],
    series: Sequence[Series],
    notes: list[str],
    own_figure: bool,
    judged: Chance | None,
    steps: bool,
) -> None:
    from matplotlib.lines import Line2D

    marks: dict[str, Any] = {"color": GREY, "linestyle": "none", "markersize": 4.2, "markeredgewidth": 1.0}
    handles: list[Any] = [
        Line2D([], [], color=one.color, linestyle=one.dashes, linewidth=1.4)
        if steps
        else Line2D([], [], color=one.color, linestyle="none", marker="o", markersize=4.2)
        for one in series
        if one.in_legend
    ]
    labels = [one.label for one in series if one.in_legend]
    if any(_has_repeated(one.view, hops) for one in series):
        handles.append(Line2D([], [], marker="o", markerfacecolor=axes[0].get_facecolor(), **marks))
        labels.append("repeated eigenvalue: the split is arbitrary")
    if not steps:
        handles.append(Line2D([], [], marker="s", **marks))
        labels.append("zero component")
    if judged is not None:
        handles.append(judged.handle())
        labels.append(judged.WORDS)
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
