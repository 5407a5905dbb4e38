"""Energy over frequencies, one panel per hop: stems beside chance, or cumulative energy; one result or two."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.errors import OptionError
from spectrata.inputs.numbers import one_of
from spectrata.plot import style
from spectrata.plot.cells import BINNED, LEVEL, RANK_AXIS, Cells, as_components, cells_of
from spectrata.plot.table import columns
from spectrata.results.schema import View, view
from spectrata.stats.describe.compare import compare as compare_results

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

MOST_COLUMNS = 7  # columns from which they are ranked instead
MANY = 40  # cells from which they are placed by rank
CROWDED = 0.15  # the median eigenvalue below this share of the largest: components are placed by rank
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # ticks of ranks
FLAT = "flat spectrum: equal energy per component"
FRONT, BACK = 3.0, 1.0


class Series(NamedTuple):
    """One spectrum at every hop: a row of cells."""

    label: str
    cells: dict[Any, Cells]
    row: int


def spectra(
    ds: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    algorithms: str | Iterable[str] | None = None,
    snapshots: Iterable[Any] | None = None,
    hops: Iterable[Any] | None = None,
    x: str = "auto",
    cumulative: bool | None = None,
    max_panels: int = style.MAX_PANELS,
) -> np.ndarray:
    """Draw the share of energy over graph frequencies, one panel per hop, all on one scale.

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
        What to draw, by name. By default gft (or the first algorithm), and all snapshots and hops.
    x : {"auto", "eigenvalue", "rank"}
        Place components by eigenvalue or by rank, the share of components below. "auto" is by rank where most
        eigenvalues are far below the largest, and for cumulative energy.
    cumulative : bool, optional
        Draw cumulative energy, or stems.
    max_panels : int
        Hops beyond so many are left out, and the figure says how many.

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
    views = style.graph_views(as_components(ds))
    wanted = style.chosen(sorted({hop for _, one in views for hop in one.hops}, key=_order), "hop", hops)
    axes, shown = style.panels_for(ax, wanted, max_panels, height=2.4)
    series = _series(views, algorithms, snapshots)
    here = [one.cells[hop] for one in series for hop in shown if hop in one.cells]
    cut = any(cells.cut for cells in here)
    if cumulative is None:
        cumulative = not cut and (len(series) > 1 or max(len(cells.size) for cells in here) > BINNED)
    rank = x == "rank" or (x == "auto" and (cumulative or _crowded(here)) and not cut)
    _draw(axes, shown, series, views, rank, cumulative)
    across = RANK_AXIS if rank else "eigenvalue λ"
    up = "magnitude" if cut else "share of the energy up to λ" if cumulative else "share of the energy off zero"
    style.name_axes(axes, ax is None, across, up)
    title = _title(views, series, algorithms)
    style.head(axes, ax is None, "; ".join(filter(None, [title, style.left_out(wanted, shown)])))
    _legend(axes, ax is None, series, here, cumulative)
    return axes


def compare(
    a: "xr.Dataset",
    b: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    algorithm: str | None = None,
    hops: Iterable[Any] | None = None,
    names: tuple[str, str] = ("a", "b"),
    x: str = "auto",
    max_panels: int = style.MAX_PANELS,
) -> np.ndarray:
    """Draw the cumulative energy of two results, one panel per hop, with their correlation.

    A curve that rises early has its energy at low frequencies. The correlation in the title is that of
    :func:`spectrata.compare`.

    Parameters
    ----------
    a, b : xarray.Dataset
        Two results without snapshots, of one graph.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn.
    algorithm : str, optional
        gft by default, or the first that both have.
    hops : optional
        All by default.
    names : pair of str
        For the legend.
    x : {"auto", "eigenvalue", "rank"}
        Place components by eigenvalue or by rank; "auto" is by rank.
    max_panels : int

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(8), hops=1)
    >>> slow, fast = strat.spectra(range(8)), strat.spectra([i % 2 for i in range(8)])
    >>> st.plot.compare(slow, fast)[0].get_title()
    '1 hop: correlation −0.06'
    """
    one_of(x, "x", ("auto", "eigenvalue", "rank"))
    sides = [view(style.as_result(ds), f"The result {name!r}") for ds, name in zip((a, b), names, strict=True)]
    for side in sides:
        if side.row_dims:
            dim = side.row_dims[0]
            raise OptionError(f"{side.name} holds {dim}s; choose one, such as ds.isel({dim}=-1, drop=True).")
    shared = [name for name in sides[0].algorithms if name in sides[1].algorithms]
    name = style.one_algorithm(sides[0], algorithm)
    name = name if name in shared or not shared or algorithm is not None else shared[0]
    found = compare_results(
        *(side.ds.sel({"algorithm": [name]}) if name in side.algorithms else side.ds for side in sides), draws=0
    )
    wanted = style.chosen(found["hop"].values.tolist(), "hop", hops)
    axes, shown = style.panels_for(ax, wanted, max_panels, height=2.6)
    series = [Series(style.plain(label), cells_of(side, name), 0) for side, label in zip(sides, names, strict=True)]
    _draw(axes, shown, series, [("", side) for side in sides], x != "eigenvalue", True)
    for panel, hop in zip(axes, shown, strict=True):
        at = found.sel({"algorithm": name, "hop": hop})
        value = f"{float(at['correlation']):.2f}".replace("-", "\N{MINUS SIGN}")
        status = str(at["status"].values)
        panel.set_title(
            f"{style.hop_words(hop)}: " + (f"correlation {value}" if value != "nan" else status), fontsize=9
        )
    across = "eigenvalue λ" if x == "eigenvalue" else RANK_AXIS
    style.name_axes(axes, ax is None, across, "share of the energy up to λ")
    style.head(
        axes,
        ax is None,
        "; ".join(filter(None, [f"{name} of {names[0]} and {names[1]}", style.left_out(wanted, shown)])),
    )
    _legend(axes, ax is None, series, [], True)
    return axes


# ---- what is drawn


def _order(hop: Any) -> tuple[bool, Any]:
    return isinstance(hop, str), 0 if isinstance(hop, str) else hop


def _series(views: Sequence[tuple[str, View]], algorithms: Any, snapshots: Any) -> list[Series]:
    """The spectra of every panel, with their names."""
    first = views[0][1]
    names = (
        [style.one_algorithm(first, None)]
        if algorithms is None
        else style.chosen(first.algorithms, "algorithm", algorithms)
    )
    found = []
    for name in names:
        for graph, one in views:
            cells = cells_of(one, name, cut=True)
            rows = range(len(one.rows)) if one.rows is not None else [0]
            if one.rows is not None and snapshots is not None:
                rows = [one.rows.index(label) for label in style.chosen(one.rows, ", ".join(one.row_dims), snapshots)]
            for row in rows:
                words = [name] if len(names) > 1 else []
                words += [word for word in (graph, style.row_names(one)[row]) if word]
                found.append(Series(style.plain(", ".join(words) or name), cells, row))
    return found


def _title(views: Sequence[tuple[str, View]], series: Sequence[Series], algorithms: Any) -> str:
    first = views[0][1]
    names = (
        [style.one_algorithm(first, None)]
        if algorithms is None
        else style.chosen(first.algorithms, "algorithm", algorithms)
    )
    text = ", ".join(names) + f", {first.operator_name} Laplacian"
    size = style.count(len(views), "graph") if len(views) > 1 else style.count(first.n_nodes, "node")
    only = f"{first.row_dims[0]} {series[0].label}, " if len(series) == 1 and first.row_dims else ""
    why = [str(word) for word in first.status.ravel() if word != "ok" and "draws" in str(word)]
    return f"{only}{text}: {size}" + (f". {why[0]}" if why else "")


def _crowded(here: Sequence[Cells]) -> bool:
    """Whether a hop has many cells, or most of its eigenvalues lie far below the largest."""
    return any(
        len(one.size) > MANY or np.median(one.upper) < CROWDED * one.upper.max() for one in here if len(one.size)
    )


# ---- panels


def _draw(
    axes: np.ndarray,
    shown: Sequence[Any],
    series: Sequence[Series],
    views: Sequence[tuple[str, View]],
    rank: bool,
    cumulative: bool,
) -> None:
    top = 0.0
    for panel, hop in zip(axes, shown, strict=True):
        empty: dict[str, list[str]] = {}
        colors = style.depth_colors(panel, len(series))
        drawn: list[Cells] = []
        for one, color in zip(series, colors, strict=True):
            why = "past the diameter" if hop not in one.cells else one.cells[hop].why_empty(one.row)
            if why:
                empty.setdefault(why, []).append(one.label)
            elif cumulative:
                _curve(panel, one.cells[hop], one, color, rank, one.cells[hop].chance is None)
                drawn.append(one.cells[hop])
            else:
                top = max(top, _stems(panel, one.cells[hop], one, color, rank))
                drawn.append(one.cells[hop])
        if cumulative and drawn:
            flat, own = drawn[0], style.theme_of(panel)
            where = flat.ranks if rank else np.append(flat.lower[:1], flat.upper)
            dashes: dict[str, Any] = {"color": own.muted, "linewidth": 0.9, "linestyle": (0, (4, 3))}
            panel.plot(where, flat.ranks, zorder=BACK, gid="flat", **dashes)
        _say(panel, empty, len(series))
        panel.margins(x=0.04)
        panel.set_title(_panel_title(hop, views), fontsize=9)
        if rank:
            _rank_ticks(panel, drawn[0] if drawn and len({one.n_nodes for _, one in views}) == 1 else None)
        style.tidy(panel)
    for panel in axes:
        panel.set_ylim(*((-0.02, 1.04) if cumulative else (0.0, 1.08 * top or 1.0)))


def _panel_title(hop: Any, views: Sequence[tuple[str, View]]) -> str:
    if len({id(one) for _, one in views}) > 1 and len({one.n_nodes for _, one in views}) > 1:
        return f"{style.hop_words(hop)}: {style.count(sum(hop in one.hops for _, one in views), 'graph')}"
    one = next(one for _, one in views if hop in one.hops)
    return style.hop_title(hop, style.hop_sizes(one)[:, one.hops.index(hop)])


def _stems(ax: "Axes", cells: Cells, one: Series, color: Any, rank: bool) -> float:
    """A stem for each cell, chance or a flat spectrum behind it; gives the largest value."""
    own, share = style.theme_of(ax), cells.share[one.row]
    ends = cells.ranks if rank else cells.edges
    middle = (ends[1:] + ends[:-1]) / 2 if rank else (cells.lower + cells.upper) / 2
    many = len(share)
    width = float(np.clip(170 / max(many, 1), 0.7, 3.0))
    box = np.minimum(np.diff(ends) * 0.8, (ends[-1] - ends[0]) * 0.04) if many > 1 else np.full(1, 0.1)
    box = np.maximum(box, (ends[-1] - ends[0]) * 0.004)
    largest = float(np.nanmax(share))
    clear = np.zeros(many, dtype=bool)
    if cells.chance is not None:
        low, high = (cells.chance[name][one.row] for name in ("chance_low", "chance_high"))
        ax.bar(middle, high - low, box, low, color=own.chance, zorder=BACK, gid="chance")
        clear = cells.chance["q"][one.row] <= LEVEL
        largest = max(largest, float(np.nanmax(high)))
    elif not cells.cut:
        ax.plot(middle, cells.flat, "_", color=own.muted, markersize=2 + 2 * width, zorder=BACK, gid="flat")
    ax.vlines(middle, 0.0, share, color=color, linewidth=width, zorder=FRONT, gid="stems")
    if cells.chance is not None:
        size = float(np.clip(260 / max(many, 1), 2.2, 6.0))
        for which, face in ((clear, color), (~clear, own.paper)):
            look: dict[str, Any] = {"color": color, "markersize": size, "markerfacecolor": face, "linestyle": "none"}
            ax.plot(middle[which], share[which], marker="o", markeredgewidth=0.8, zorder=FRONT + 0.1, gid="r", **look)
    return largest


def _curve(ax: "Axes", cells: Cells, one: Series, color: Any, rank: bool, flat: bool) -> None:
    """Energy up to each frequency; behind it the mean of chance, where it is known."""
    total = np.append(0.0, np.nancumsum(cells.share[one.row]))
    where = cells.ranks if rank else np.append(cells.lower[:1], cells.upper)
    ax.plot(where, total, color=color, linewidth=1.6, zorder=FRONT, label=one.label, gid="curve")
    if not flat and cells.chance is not None:
        mean = np.append(0.0, np.nancumsum(cells.chance["chance"][one.row]))
        ax.plot(where, mean, color=style.theme_of(ax).muted, linewidth=0.9, linestyle=(0, (1, 2)), gid="null")


def _rank_ticks(ax: "Axes", cells: Cells | None) -> None:
    """Shares of the components, with the eigenvalue there; several graphs do not share it."""
    words = [f"{share:.0%}" for share in SHARES]
    if cells is not None:
        at = np.minimum(np.searchsorted(cells.ranks[1:], np.array(SHARES) - 1e-9), len(cells.upper) - 1)
        words = [f"{word}\nλ = {cells.upper[one]:.3g}" for word, one in zip(words, at, strict=True)]
    ax.set_xticks(SHARES, words, fontsize=7.5)
    ax.set_xlim(-0.03, 1.03)


def _say(ax: "Axes", empty: dict[str, list[str]], curves: int) -> None:
    """Write into the panel which spectra are zero or undefined."""
    if sum(map(len, empty.values())) == curves and len(empty) == 1:
        style.write_in(ax, next(iter(empty)))
        return
    lines = [f"{', '.join(labels[:4])}{', ...' if len(labels) > 4 else ''}: {why}" for why, labels in empty.items()]
    if lines:
        place: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom", "fontsize": 7}
        ax.text(0.98, 0.04, "\n".join(lines), color=style.theme_of(ax).muted, zorder=6, **place)


def _legend(axes: np.ndarray, own: bool, series: Sequence[Series], here: Sequence[Cells], cumulative: bool) -> None:
    theme, handles = style.theme_of(axes[0]), []
    if len(series) > 1:
        colors = style.depth_colors(axes[0], len(series))
        named = sorted({round(step * (len(series) - 1) / 6) for step in range(7)})
        handles = [style.mark(series[at].label, color=colors[at], linewidth=1.6) for at in named]
    tested = any(cells.chance is not None for cells in here)
    if tested and not cumulative:
        dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 5, "color": theme.colors[0]}
        handles.append(style.patch(theme.chance, "chance: 2.5 to 97.5 % of the draws"))
        handles.append(style.mark("beyond chance (q ≤ 0.05)", **dot))
        handles.append(style.mark("no verdict", **dot, markerfacecolor=theme.paper))
    elif cumulative:
        handles.append(style.mark(FLAT, color=theme.muted, linewidth=0.9, linestyle=(0, (4, 3))))
        if tested:
            handles.append(style.mark("chance: mean", color=theme.muted, linewidth=0.9, linestyle=(0, (1, 2))))
    elif not any(cells.cut for cells in here):
        handles.append(style.mark(FLAT, color=theme.muted, marker="_", markersize=7, linestyle="none"))
    style.legend(axes, own, handles)
