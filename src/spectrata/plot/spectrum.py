"""Energy over frequencies, one panel per hop: stems beside chance, or cumulative energy."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from spectrata.inputs.numbers import one_of
from spectrata.plot import reading, style
from spectrata.plot.cells import BINNED, LEVEL, RANK_AXIS, Cells, as_components, cells_of, rank_ticks
from spectrata.plot.table import columns
from spectrata.results.schema import View

MOST_COLUMNS = 7  # columns from which they are ranked instead
MANY = 40  # cells from which they are placed by rank, and from which only verdicts have a marker
CROWDED = 0.15  # the median eigenvalue below this share of the largest: components are placed by rank
FLAT = "flat spectrum: equal energy per component"
FRONT, BACK = 3.0, 1.0
DOTTED: dict[str, Any] = {"linewidth": 0.9, "linestyle": ":"}
Views = Sequence[tuple[str, View]]


class Series(NamedTuple):
    """One spectrum at every hop: a row of cells."""

    label: str
    cells: dict[Any, Cells]
    row: int


def spectra(
    ds: xr.Dataset,
    ax: style.Given = None,
    *,
    algorithms: str | Iterable[str] | None = None,
    snapshots: Iterable[Any] | None = None,
    hops: Iterable[Any] | None = None,
    x: str = "auto",
    cumulative: bool | None = None,
) -> np.ndarray:
    """Draw the share of energy over graph frequencies, one panel per hop, all on one scale and one axis of frequencies.

    One spectrum has a stem for each eigenspace off zero (for each band of a calibration or of ``band_spectra``). Of a
    calibration, boxes show the interval of chance, 2.5 to 97.5 % of the draws, and a filled marker q of at most .05;
    without one, dashes show a flat spectrum. Several spectra, and one of more than 300 eigenspaces, are drawn as
    cumulative energy: the share up to each frequency. Of a cut spectrum (``n_eigs``) stems are magnitudes.

    Parameters
    ----------
    ds : xarray.Dataset, or a mapping of names to them
        A result of :func:`spectrata.spectra`, :func:`spectrata.calibrate` or :func:`spectrata.band_spectra`; of many
        graphs, each a series; several signals on one graph by name. More than 7 columns are ranked in a heat map per
        hop, as :func:`spectrata.plot.columns` does; name some as ``snapshots`` for spectra.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn; a new figure without it.
    algorithms, snapshots, hops : optional
        What to draw, by name. By default gft (or the first algorithm), all snapshots, and up to 12 hops.
    x : {"auto", "eigenvalue", "rank"}
        Place components by eigenvalue or by rank, the share of components below. "auto" is by rank where most
        eigenvalues are far below the largest, and for cumulative energy.
    cumulative : bool, optional
        Draw cumulative energy, or stems.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.spectra(nx.path_graph(5), [0.0, 1.0, 0.0, 2.0, 1.0], hops=2)
    >>> [panel.get_title() for panel in st.plot.spectra(ds)]
    ['1 hop: 4 pairs', '2 hops: 3 pairs, 2 parts']
    """
    one_of(x, "x", ("auto", "eigenvalue", "rank"))
    if snapshots is None and "column" in getattr(ds, "dims", ()) and ds.sizes["column"] > MOST_COLUMNS:
        names = algorithms if algorithms is None or isinstance(algorithms, str) else next(iter(algorithms))
        return columns(ds, ax, hops=hops, algorithm=names)
    views = reading.graph_views(as_components(ds))
    first = views[0][1]
    known = list(dict.fromkeys(hop for _, one in views for hop in one.hops))
    sheet, shown, note = reading.hop_panels(ax, known, hops, height=2.4)
    algorithms = reading.one_algorithm(first, None) if algorithms is None else algorithms
    used = reading.chosen(first.algorithms, "algorithm", algorithms)
    series = _series(views, used, snapshots)
    here = [one.cells[hop] for one in series for hop in shown if hop in one.cells]
    cut = any(cells.cut for cells in here)
    if cumulative is None:
        cumulative = not cut and (len(series) > 1 or max(len(cells.size) for cells in here) > BINNED)
    rank = x == "rank" or (x == "auto" and (cumulative or _crowded(here)) and not cut)
    _draw(sheet, shown, series, views, rank, cumulative)
    up = "magnitude" if cut else "share of the energy up to λ" if cumulative else "share of the energy off zero"
    sheet.name_axes(RANK_AXIS if rank else "eigenvalue λ", up)
    size = style.count(len(views), "graph") if len(views) > 1 else style.count(first.n_nodes, "node")
    only = f"{first.row_dims[0]} {series[0].label}, " if len(series) == 1 and first.row_dims else ""
    why = [str(word) for word in first.status.ravel() if word != "ok" and "draws" in str(word)]
    sheet.title(f"{only}{', '.join(used)}, {first.operator_name} Laplacian: {size}", *why[:1], note)
    sheet.legend(_handles(sheet, series, here, cumulative, " ".join(first.row_dims[:1])))
    return sheet.axes


def _series(views: Views, algorithms: Sequence[str], snapshots: Any) -> list[Series]:
    """The spectra of every panel, with their names."""
    found = []
    for name in algorithms:
        for graph, one in views:
            cells = cells_of(one, name, cut=True)
            for row in reading.chosen_rows(one, snapshots):
                words = [name if len(algorithms) > 1 else "", graph, reading.row_names(one)[row]]
                found.append(Series(style.plain(", ".join(filter(None, words)) or name), cells, row))
    return found


def _crowded(here: Sequence[Cells]) -> bool:
    """Whether a hop has many cells, or most of its eigenvalues lie far below the largest."""
    known = [one for one in here if len(one.size)]
    return any(len(one.size) > MANY or np.median(one.upper) < CROWDED * one.upper.max() for one in known)


def _draw(
    sheet: style.Sheet, shown: Sequence[Any], series: Sequence[Series], views: Views, rank: bool, cumulative: bool
) -> None:
    sizes, ends = {one.n_nodes for _, one in views}, []
    for panel, hop in zip(sheet.axes, shown, strict=True):
        empty: dict[str, list[str]] = {}
        drawn: list[Cells] = []
        for one, color in zip(series, style.depth_colors(panel, len(series)), strict=True):
            why = "past the diameter" if hop not in one.cells else one.cells[hop].why_empty(one.row)
            if why:
                empty.setdefault(why, []).append(one.label)
                continue
            drawn.append(one.cells[hop])
            (_curve if cumulative else _stems)(panel, one, drawn[-1], color, rank)
        if drawn:
            ends.append((panel.get_xlim()[1], panel.get_ylim()[1]))
        if cumulative and drawn:
            where = _places(drawn[0], rank)
            panel.plot(where, drawn[0].ranks, color=sheet.theme.muted, zorder=BACK, gid="flat", **style.DASHED)
        _say(panel, empty, len(series))
        known = [one for _, one in views if hop in one.hops]
        title = reading.hop_title(hop, reading.hop_sizes(known[0], hop))
        title = title if len(sizes) == 1 else f"{style.hop_words(hop)}: {style.count(len(known), 'graph')}"
        panel.set_title(title, fontsize=9)
        if rank:
            rank_ticks(panel.xaxis, drawn[0] if drawn and len(sizes) == 1 else None)
    right, top = np.max(ends, axis=0, initial=0.0) if ends else (1.0, 1.0)
    for panel in sheet.axes:  # one scale: hops are compared
        panel.set_xlim(*((-0.03, 1.03) if rank else (0.0, right)))
        panel.set_ylim(*((-0.02, 1.04) if cumulative else (0.0, top)))


def _places(cells: Cells, rank: bool) -> np.ndarray:
    """Where the cumulative energy is known, ``(a + 1,)``."""
    return cells.ranks if rank else np.append(cells.lower[:1], cells.upper)


def _stems(ax: Axes, one: Series, cells: Cells, color: Any, rank: bool) -> None:
    """A stem for each cell, chance or a flat spectrum behind it."""
    own, share = style.theme_of(ax), cells.share[one.row]
    ends = cells.ranks if rank else cells.edges
    middle = (ends[1:] + ends[:-1]) / 2 if rank else (cells.lower + cells.upper) / 2
    many, span = len(share), float(ends[-1] - ends[0]) or float(ends[-1])
    width = float(np.clip(170 / max(many, 1), 0.7, 3.0))
    if cells.chance is not None:
        low, high, q = (cells.chance[name][one.row] for name in ("chance_low", "chance_high", "q"))
        box = np.clip(np.diff(ends) * 0.8, 0.004 * span, 0.04 * span)
        ax.bar(middle, high - low, box, low, color=own.chance, zorder=BACK, gid="chance")
        look: dict[str, Any] = {"color": color, "markersize": float(np.clip(260 / many, 2.2, 6.0))}
        for which, face in ((q <= LEVEL, color), (~(q <= LEVEL), own.paper))[: 1 if many > MANY else 2]:
            ax.plot(middle[which], share[which], "o", markerfacecolor=face, zorder=FRONT + 0.1, gid="r", **look)
    elif not cells.cut:
        ax.plot(middle, cells.flat, "_", color=own.muted, markersize=2 + 2 * width, zorder=BACK, gid="flat")
    ax.vlines(middle, 0.0, share, color=color, linewidth=width, zorder=FRONT, gid="stems")


def _curve(ax: Axes, one: Series, cells: Cells, color: Any, rank: bool) -> None:
    """Energy up to each frequency; behind it the mean of chance, where it is known."""
    where, look = _places(cells, rank), {"color": color, "linewidth": 1.6, "zorder": FRONT, "gid": "curve"}
    ax.plot(where, np.append(0.0, np.nancumsum(cells.share[one.row])), label=one.label, **look)
    if cells.chance is not None:
        mean = np.append(0.0, np.nancumsum(cells.chance["chance"][one.row]))
        ax.plot(where, mean, color=style.theme_of(ax).muted, gid="null", **DOTTED)


def _say(ax: Axes, empty: dict[str, list[str]], curves: int) -> None:
    """Write into the panel which spectra are zero or undefined."""
    if sum(map(len, empty.values())) == curves and len(empty) == 1:
        style.write_in(ax, next(iter(empty)))
    elif empty:
        lines = [f"{', '.join(labels[:4])}{', ...' if len(labels) > 4 else ''}: {why}" for why, labels in empty.items()]
        place: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom", "fontsize": 7}
        ax.text(0.98, 0.04, "\n".join(lines), color=style.theme_of(ax).muted, zorder=6, **place)


def _handles(
    sheet: style.Sheet, series: Sequence[Series], here: Sequence[Cells], cumulative: bool, noun: str = ""
) -> list[Any]:
    """Legend entries; ``noun`` stands before a first name that is a number."""
    theme, handles = sheet.theme, []
    if len(series) > 1:
        colors = style.depth_colors(sheet.ax, len(series))
        names = [one.label for one in series]
        names[0] = f"{noun} {names[0]}" if names[0].isdigit() else names[0]
        shown = sorted({round(step * (len(series) - 1) / 6) for step in range(7)})
        handles = [style.mark(names[at], colors[at], "", linewidth=1.6) for at in shown]
    tested = any(cells.chance is not None for cells in here)
    if cumulative:
        handles.append(style.mark(FLAT, theme.muted, "", **style.DASHED))
        handles += [style.mark("chance: mean", theme.muted, "", **DOTTED)] if tested else []
    elif tested:
        handles.append(style.mark("chance: 2.5 to 97.5 % of the draws", theme.chance, "s", size=8))
        if any((cells.chance["q"] <= LEVEL).any() for cells in here if cells.chance is not None):
            handles.append(style.mark("beyond chance (q ≤ 0.05)", theme.colors[0]))
        if any(len(cells.size) <= MANY for cells in here):
            handles.append(style.mark("no verdict", theme.colors[0], face=theme.paper))
    elif not any(cells.cut for cells in here):
        handles.append(style.mark(FLAT, theme.muted, "_", size=7))
    return handles
