"""Likeness per hop against chance: correlograms, agreement of two signals, and findings beside their graph."""

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.errors import OptionError
from spectrata.plot import style
from spectrata.plot.painting import dots, graph_from, paint, panels_of, place_nodes, places_for
from spectrata.plot.table import columns
from spectrata.stats.findings import Findings

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

MAX_SERIES = 6
SIDES = {"alike": 0, "agree": 0, "unlike": 1, "opposite": 1}  # verdicts, and the colour of each
ROOM = 38  # points beside a stem from which its number is written
WORDS_POINTS = 40  # how much a number with its verdict takes
LEAST = 0.1  # of r: the shortest axis to either side


class Line(NamedTuple):
    """One signal at all hops: arrays over hops."""

    name: str
    hops: list[Any]
    r: np.ndarray
    low: np.ndarray
    high: np.ndarray
    given: np.ndarray  # r given covariates; NaN where there was no second test
    verdict: list[str]
    near: list[bool]
    status: str


def correlogram(
    found: "xr.Dataset | Findings",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    hops: Iterable[Any] | None = None,
    given: bool = True,
    max_panels: int = MAX_SERIES,
) -> np.ndarray:
    """Draw r per hop as stems, with the interval of chance as boxes.

    A filled marker is a verdict (alike, unlike), a hollow one none. A box has 95 % of the permutations of its hop.
    Diamonds show r given degree, or other covariates.

    Parameters
    ----------
    found : xarray.Dataset or Findings
        A result of :func:`spectrata.correlogram`, :func:`spectrata.homophily` or :func:`spectrata.diagnose`; one panel
        for each snapshot and column. More columns than ``max_panels`` are ranked in one heat map, as
        :func:`spectrata.plot.columns` does.
    ax : Axes or sequence of Axes, optional
        One for each snapshot and column.
    hops : optional
        All by default.
    given : bool
        Whether to draw r given covariates.
    max_panels : int
        Snapshots and columns drawn in a new figure.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> found = st.correlogram(nx.path_graph(12), range(12), hops=2)
    >>> st.plot.correlogram(found)[0].figure.get_suptitle()
    'Alike at 1 and 2 hops'
    """
    kind = "findings" if isinstance(found, Findings) else getattr(found, "attrs", {}).get("kind")
    if kind not in ("correlogram", "homophily", "findings"):
        raise OptionError("plot.correlogram draws a result of st.correlogram, st.homophily or st.diagnose; give one.")
    many = not isinstance(found, Findings) and found.sizes.get("column", 0) > max_panels
    if ax is None and many:
        return columns(found, hops=hops)
    return _draw(found, ax, hops, given, max_panels, "orders")


def agree(
    found: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    hops: Iterable[Any] | None = None,
    max_panels: int = MAX_SERIES,
) -> np.ndarray:
    """Draw how two signals agree per hop, with the interval that surrogates as smooth give.

    Hop 0 compares the two values of the same node. Marks are those of :func:`correlogram`.

    Parameters
    ----------
    found : xarray.Dataset
        A result of :func:`spectrata.agree`; one panel for each column. More columns than ``max_panels`` are ranked in
        one heat map.
    ax : Axes or sequence of Axes, optional
        One for each column.
    hops : optional
        All by default.
    max_panels : int
        Columns drawn in a new figure.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> graph = nx.karate_club_graph()
    >>> found = st.agree(graph, nx.pagerank(graph), dict(graph.degree), weights=False, draws=199)
    >>> [tick.get_text() for tick in st.plot.agree(found)[0].get_xticklabels()]
    ['same node', '1 hop']
    """
    if getattr(found, "attrs", {}).get("kind") != "agree":
        raise OptionError("plot.agree draws a result of st.agree; give one.")
    if ax is None and "column" in found.dims and found.sizes["column"] > max_panels:
        return columns(found, hops=hops)
    return _draw(found, ax, hops, False, max_panels, "surrogates")


def diagnose(
    found: Findings,
    graph: Any = None,
    signal: Any = None,
    ax: "Sequence[Axes] | None" = None,
    *,
    column: Any = None,
    snapshot: Any = None,
    pos: Any = None,
) -> np.ndarray:
    """Draw findings: the signal on its graph, and likeness per hop beside it.

    Parameters
    ----------
    found : Findings
        A result of :func:`spectrata.diagnose`.
    graph : graph-like or Stratification, optional
        The graph; without it likeness alone is drawn.
    signal : optional
        The signal in any form, such as the name of a node attribute. Vectors are drawn without colours.
    ax : sequence of Axes, optional
        One for the graph, where it is given, and one for likeness.
    column, snapshot : optional
        Which of several; the first column and the last snapshot by default.
    pos : array, mapping from node, DataFrame or path, optional
        Two or three coordinates per node; by default those of the graph, or a layout by hop distances.

    Returns
    -------
    ndarray of Axes, shape (1,) or (2,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> graph = nx.karate_club_graph()
    >>> found = st.diagnose(graph, "club", hops=4, weights=False)
    >>> [panel.get_title(loc="left") for panel in st.plot.diagnose(found, graph, "club")]
    ['club: 34 nodes, 78 edges', 'Alike at 1 and 2 hops; unlike at 3 and 4 hops']
    """
    lines = _lines(found, None)
    name = lines[0].name if column is None and snapshot is None else _line_name(column, snapshot)
    line = lines[0] if column is None and snapshot is None else _named(lines, name)
    panels = 1 if graph is None else 2
    if ax is not None:
        axes = style.given_axes(ax, panels, "panels")
    elif graph is None:
        axes = style.new_axes(1, height=2.6, least=5.6)
    else:
        from matplotlib.figure import Figure

        axes = Figure((9.0, 3.9), layout="constrained").subplots(1, 2, width_ratios=[0.78, 1])
    if graph is not None:
        known = graph_from(graph)
        _graph_beside(axes[0], known, signal, line.name if column is None else column, snapshot, pos)
    _panel(axes[-1], line, True)
    _one_scale(axes[-1:], [line])
    _left_title(axes[-1], headline(line))
    axes[-1].set_ylabel("correlation of nodes so far apart, r", fontsize=9)
    _legend(axes[-1:], False, [line], "orders", True, outside=ax is None)
    return axes


def _graph_beside(ax: "Axes", graph: Any, signal: Any, column: Any, snapshot: Any, pos: Any) -> None:
    places = places_for(pos, graph)
    panels = [] if signal is None else panels_of(signal, graph, snapshot)
    named = [panel for panel in panels if panel.title == str(column)]
    size = f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges"
    if len(panels) == 1 or named:
        panel = (named or panels)[0]
        paint(ax, places, graph.edges, panel)
        title = panel.title or panel.words
        _left_title(ax, f"{title}: {size}" if title else size)
        return
    area = place_nodes(ax, places, graph.edges)
    dots(ax, places, area, color=style.theme_of(ax).colors[0], edgecolors=style.theme_of(ax).paper)
    _left_title(ax, size)


def _left_title(ax: "Axes", words: str) -> None:
    width = int(ax.get_window_extent().width / ax.figure.dpi * 13.5)
    ax.set_title(fill(style.plain(words), max(24, width)), loc="left", fontsize=10, fontweight="bold")


# ---- lines


def _line_name(column: Any, snapshot: Any) -> str:
    return ", ".join(str(part) for part in (snapshot, column) if part is not None)


def _named(lines: list[Line], name: str) -> Line:
    return lines[[line.name for line in lines].index(style.chosen([line.name for line in lines], "line", name)[0])]


def _lines(found: "xr.Dataset | Findings", hops: Any) -> list[Line]:
    """Each snapshot and column with its name."""
    if isinstance(found, Findings):
        return _of_findings(found, hops)
    ds = found.sel(hop=style.chosen(np.atleast_1d(found["hop"].values).tolist(), "hop", hops))
    pieces: list[tuple[str, xr.Dataset]] = [("", ds)]
    for dim in [dim for dim in ("snapshot", "column") if dim in ds.dims]:
        labels = ds[dim].values.tolist() if dim in ds.coords else list(range(ds.sizes[dim]))
        pieces = [
            (f"{name}, {label}" if name else f"{dim} {label}" if isinstance(label, int) else str(label), one)
            for name, whole in pieces
            for label, one in zip(labels, (whole.isel({dim: row}) for row in range(len(labels))), strict=True)
        ]
    return [_of_dataset(name, one) for name, one in pieces]


def _of_dataset(name: str, one: "xr.Dataset") -> Line:
    r = one["r"].values
    given = one["r_given"].values if "r_given" in one else np.full(r.shape, np.nan)
    near = one["near_level"].values.tolist() if "near_level" in one else [False] * len(r)
    verdict = [str(word) for word in one["verdict"].values]
    status = str(np.ravel(one["status"].values)[0])
    low, high = one["chance_low"].values, one["chance_high"].values
    return Line(name, one["hop"].values.tolist(), r, low, high, given, verdict, near, status)


def _of_findings(found: Findings, hops: Any) -> list[Line]:
    groups: dict[str, list[Any]] = {}
    for one in found:
        if one.statistic == "r":
            groups.setdefault(_line_name(one.column, one.snapshot), []).append(one)
    if not groups:
        raise OptionError("The findings hold no test of likeness per hop; st.plot.collapse draws layers of a model.")
    lines = []
    for name, rows in groups.items():
        wanted = style.chosen([one.hop for one in rows], "hop", hops)
        rows = [one for one in rows if one.hop in wanted]
        values = ("value", "chance_low", "chance_high", "value_given")
        r, low, high, given = (np.array([getattr(one, name) for one in rows], dtype=float) for name in values)
        words = [one.verdict or one.kind for one in rows]
        lines.append(Line(name, wanted, r, low, high, given, words, [one.near_level for one in rows], rows[0].text))
    return lines


def headline(line: Line) -> str:
    """The verdicts of all hops: ``Alike at 1 and 2 hops; unlike at 3 hops``."""
    groups: dict[str, list[Any]] = {}
    for hop, word, r in zip(line.hops, line.verdict, line.r, strict=True):
        if np.isfinite(r):
            groups.setdefault(word, []).append(hop)
    said = [f"{word} at {_listed(hops)}" for word, hops in groups.items() if word != "chance"]
    if said:
        text = "; ".join(said)
    elif groups:
        text = "not distinguishable from chance at any hop"
    else:
        text = line.status
    return text[:1].upper() + text[1:]


def _listed(hops: list[Any]) -> str:
    """``1, 2 and 5 hops``; runs of four or more as ``1 to 6 hops``."""
    if not all(isinstance(hop, int) for hop in hops):
        return ", ".join(map(str, hops))
    here, words = [hop for hop in hops if hop > 0], []
    if 0 in hops:
        words.append("the same node")
    while here:
        end = next((at for at in range(1, len(here)) if here[at] != here[0] + at), len(here))
        words += [f"{here[0]} to {here[end - 1]}"] if end > 3 else [str(hop) for hop in here[:end]]
        here = here[end:]
    text = " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    return text if hops[-1] == 0 else text + (" hop" if hops[-1] == 1 else " hops")


# ---- drawing


def _draw(found: Any, ax: Any, hops: Any, given: bool, max_panels: int, chance: str) -> np.ndarray:
    lines = _lines(found, hops)
    drawn = lines if ax is not None else lines[: max(1, max_panels)]
    axes = style.given_axes(ax, len(lines), "snapshots and columns") if ax is not None else _axes(drawn)
    for panel, line in zip(axes, drawn, strict=True):
        _panel(panel, line, given)
        if len(drawn) > 1 or ax is not None:
            panel.set_title(style.plain(f"{line.name}: {headline(line)}" if ax is None else line.name), fontsize=8.5)
            if ax is None:
                panel.set_title(fill(panel.get_title(), 44), fontsize=8.5)
    _one_scale(axes, drawn)
    rest = len(lines) - len(drawn)
    own = ax is None
    if len(drawn) == 1:
        text = headline(drawn[0])
        style.head(axes, own, f"{drawn[0].name}: {text}" if drawn[0].name else text)
    elif own:
        style.head(axes, own, "Likeness per hop" + (f"; {rest} of {len(lines)} signals not drawn" if rest else ""))
    far = any(len(line.hops) > 6 for line in drawn)
    style.name_axes(axes, own, "hops apart" if far else "", "r")
    _legend(axes, own, drawn, chance, given)
    return axes


def _axes(lines: list[Line]) -> np.ndarray:
    many = max(len(line.hops) for line in lines)
    if len(lines) == 1:
        return style.new_axes(1, height=2.6, least=float(np.clip(1.1 * many + 1, 5.6, 9.0)))
    return style.new_axes(len(lines), height=2.3, least=7.0)


def _panel(ax: "Axes", line: Line, given: bool) -> None:
    own, at = style.theme_of(ax), np.arange(len(line.hops))
    ax.axhline(0.0, color=own.muted, linewidth=0.8, zorder=1)
    known = np.isfinite(line.r)
    if not known.any():
        style.write_in(ax, line.status)
    look: dict[str, Any] = {"color": own.chance, "zorder": 0, "gid": "chance"}
    ax.bar(at, line.high - line.low, 0.72, line.low, **look)
    colors = [own.colors[SIDES[word]] if word in SIDES else own.muted for word in line.verdict]
    ax.vlines(at[known], 0.0, line.r[known], [color for color, there in zip(colors, known, strict=True) if there])
    ax.collections[-1].set(linewidth=2.4 if len(at) <= 12 else 1.2, zorder=2, gid="stems")
    size = 8 if len(at) <= 8 else 5.5 if len(at) <= 25 else 3.0
    for place, (r, word, color) in enumerate(zip(line.r, line.verdict, colors, strict=True)):
        face = color if word in SIDES else own.paper
        ax.plot(place, r, "o", color=color, markersize=size, markerfacecolor=face, zorder=3, gid="r")
    if given and len(at) <= 25:
        diamond: dict[str, Any] = {"marker": "D", "color": own.muted, "markersize": 0.45 * size, "linestyle": "none"}
        ax.plot(at + 0.22, line.given, markerfacecolor=own.paper, zorder=3, gid="given", **diamond)
    ax.set_xlim(-0.6, len(at) - 0.4)
    style.tidy(ax)


def _one_scale(axes: np.ndarray, drawn: Sequence[Line]) -> None:
    """The same scale on all panels, hops as ticks, and numbers with verdicts where there is room."""
    from matplotlib.ticker import MaxNLocator

    sizes = np.nan_to_num(np.concatenate([np.ravel([line.r, line.low, line.high]) for line in drawn]))
    ends = np.array([min(-LEAST, sizes.min()), max(LEAST, sizes.max())])
    every = np.concatenate([line.r[_written(line, len(drawn))] for line in drawn])
    sides = [(every < 0).any(), (every >= 0).any()]
    ticks = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(max(-1.0, ends[0]), min(1.0, ends[1]))
    for ax, line in zip(axes, drawn, strict=True):
        width = ax.get_window_extent().width / ax.figure.dpi * 72 * 0.9 / len(line.hops)
        if width >= ROOM:
            for place in np.flatnonzero(_written(line, len(drawn))).tolist():
                _say(ax, place, line, width)
        tall = ax.get_window_extent().height / ax.figure.dpi * 72 * 0.9
        words = np.where(sides, WORDS_POINTS, 8) if width >= ROOM else np.array([8, 8])
        margin = words * np.ptp(ends) / max(20.0, tall - words.sum())
        ax.set_ylim(ends[0] - margin[0], ends[1] + margin[1])
        ax.set_yticks([tick for tick in ticks if abs(tick) <= 1.0 + 1e-9])
        spelled = len(line.hops) <= 6 or not isinstance(line.hops[0], int)
        names = [("same node" if hop == 0 else style.hop_words(hop)) if spelled else str(hop) for hop in line.hops]
        step = 1 if width > 22 else -(-22 // max(1, int(width)))
        ax.set_xticks(np.arange(len(names))[::step], names[::step], fontsize=9 if width > 36 else 7.5)


def _written(line: Line, panels: int) -> np.ndarray:
    """Hops whose number is written; beside other panels those with a verdict."""
    return np.isfinite(line.r) & (np.isin(line.verdict, list(SIDES)) | (panels == 1))


def _say(ax: "Axes", place: int, line: Line, width: float) -> None:
    """The number and the verdict at the end of a stem."""
    own, word, r = style.theme_of(ax), line.verdict[place], float(line.r[place])
    number = f"{r:+.2f}".replace("-", "\N{MINUS SIGN}")
    words = word.upper() if word in SIDES else fill(word, max(6, int(width / 5)))
    words += "\nnear the level" if line.near[place] else ""
    up = r >= 0
    tip = max(r, line.high[place]) if up and word not in SIDES else min(r, line.low[place]) if word not in SIDES else r
    color = own.colors[SIDES[word]] if word in SIDES else own.muted
    look: dict[str, Any] = {"ha": "center", "va": "bottom" if up else "top", "color": color, "zorder": 4}
    text = f"{words}\n{number}" if up else f"{number}\n{words}"
    weight = "bold" if word in SIDES else "normal"
    size = (9 if width > 60 else 7.5) if word in SIDES else 7.5
    tip = r if not np.isfinite(tip) else tip
    ax.annotate(
        text,
        (place, tip),
        xytext=(0, 7 if up else -7),
        textcoords="offset points",
        fontsize=size,
        fontweight=weight,
        **look,
    )


def _legend(
    axes: np.ndarray, own: bool, drawn: Sequence[Line], chance: str, given: bool, outside: bool = False
) -> None:
    theme: style.Theme = style.theme_of(axes[0])
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 6}
    verdicts = dict.fromkeys(word for line in drawn for word in line.verdict if word in SIDES)
    handles = [style.patch(theme.chance, f"chance: 95 % of {chance}, hop by hop")]
    handles += [style.mark(word, color=theme.colors[SIDES[word]], **dot) for word in verdicts]
    if any(word not in SIDES for line in drawn for word in line.verdict):
        handles.append(style.mark("no verdict", color=theme.muted, markerfacecolor=theme.paper, **dot))
    if given and any(np.isfinite(line.given).any() for line in drawn):
        diamond = dot | {"marker": "D", "markersize": 4, "color": theme.muted, "markerfacecolor": theme.paper}
        handles.append(style.mark("r given degree", **diamond))
    if outside:
        figure = axes[0].figure
        figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), frameon=False, fontsize=8)
    else:
        style.legend(axes, own, handles)
