"""Likeness per hop against chance: correlograms, agreement of two signals, and findings beside their graph."""

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from spectrata.core.registry import EXACT
from spectrata.errors import OptionError
from spectrata.inputs.graphs import Graph
from spectrata.plot import style
from spectrata.plot.cells import LEVEL
from spectrata.plot.painting import Panel, below, graph_from, paint, panels_of, places_for
from spectrata.plot.reading import chosen, hop_panels, one_of_each
from spectrata.plot.table import columns
from spectrata.results.schema import ROW_DIMS
from spectrata.stats.findings import Findings
from spectrata.stats.findings.sentences import runs

MOST = 6  # signals drawn in a new figure, and hops whose names are spelled out
ROOM = 34  # points beside a stem from which its number is written
WORDS_POINTS = 40  # how much a number with its verdict takes
LEAST = 0.1  # of r: the shortest axis to either side
ORDERS = "orders, hop by hop"
DIMS = ("snapshot", "column")
R = ["r", "chance_low", "chance_high"]
FIELDS = [*R, "r_given", "verdict", "near_level", "status"]
FOUND = {"value": "r", "value_given": "r_given", "text": "status"}  # the same in findings
SHIFT = {"energy_shift": "r", "shift_low": "chance_low", "shift_high": "chance_high"}  # the same in a comparison


def correlogram(
    found: xr.Dataset | Findings, ax: style.Given = None, *, hops: Iterable[Any] | None = None, given: bool = True
) -> np.ndarray:
    """Draw r per hop as stems, with the interval of chance as boxes.

    A filled marker is a verdict (alike, unlike), a hollow one none. A box has 95 % of the permutations of its hop.
    Diamonds show r given degree, or other covariates.

    Parameters
    ----------
    found : xarray.Dataset or Findings
        A result of :func:`spectrata.correlogram`, :func:`spectrata.homophily` or :func:`spectrata.diagnose`; one panel
        for each snapshot and column, up to 6 in a new figure, those with a verdict first. More columns of a dataset
        are ranked in one heat map, as :func:`spectrata.plot.columns` does.
    ax : Axes or sequence of Axes, optional
        One for each snapshot and column.
    hops : optional
        All by default.
    given : bool
        Whether to draw r given covariates.

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
    return _draw(found, ax, hops, given, ORDERS)


def agree(found: xr.Dataset, ax: style.Given = None, *, hops: Iterable[Any] | None = None) -> np.ndarray:
    """Draw how two signals agree per hop, with the interval that surrogates as smooth give.

    Hop 0 compares the two values of the same node. Marks are those of :func:`correlogram`.

    Parameters
    ----------
    found : xarray.Dataset
        A result of :func:`spectrata.agree`.
    ax, hops
        As for :func:`correlogram`.

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
    return _draw(found, ax, hops, False, "surrogates, hop by hop")


def diagnose(
    found: Findings,
    graph: Any = None,
    signal: Any = None,
    ax: Sequence[Axes] | None = None,
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
    pos
        As for :func:`nodes`.

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
    first = chosen([key[1] for key in lines], "column", column)[0]
    last = chosen([key[0] for key in lines], "snapshot", snapshot)[-1]
    rows, beside = lines[last, first], graph is not None
    shape: dict[str, Any] = {"height": 3.0, "least": 9.0, "width_ratios": (0.78, 1)} if beside else {"height": 2.6}
    sheet = style.Sheet(ax, 1 + beside, **shape)
    if beside:
        wanted = _name(last, first) if column is None else column
        _graph_beside(sheet.axes[0], graph_from(graph), signal, wanted, snapshot, pos)
    panel = sheet.axes[-1]
    _panels([panel], [rows], True, ORDERS)
    _left_title(panel, headline(rows))
    panel.set_ylabel("correlation of nodes so far apart, r", fontsize=9)
    sheet.legend()
    return sheet.axes


def compare(
    found: xr.Dataset,
    ax: style.Given = None,
    *,
    algorithm: str | None = None,
    hops: Iterable[Any] | None = None,
    snapshot: Any = None,
    names: tuple[str, str] = ("A", "B"),
) -> np.ndarray:
    """Draw where energy moves from one result to another: the shift of each band, one panel per hop.

    Boxes hold the shifts of all bands in 95 % of random exchanges of the two signals; a filled marker is a p of at
    most .05. ``st.plot.spectra({"A": a, "B": b})`` draws the two spectra.

    Parameters
    ----------
    found : xarray.Dataset
        A result of :func:`spectrata.compare`.
    ax : Axes or sequence of Axes, optional
        One for each hop drawn.
    algorithm, hops, snapshot : optional
        By default gft (or the first algorithm), up to 12 hops, and the last snapshot.
    names : pair of str
        For the title.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> strat = st.Stratification(nx.path_graph(16), hops=1)
    >>> slow, fast = strat.spectra(range(16)), strat.spectra([i % 2 for i in range(16)])
    >>> st.plot.compare(st.compare(slow, fast))[0].get_title()
    '1 hop: correlation −0.05'
    """
    if getattr(found, "attrs", {}).get("kind") != "comparison":
        raise OptionError("plot.compare draws a result of st.compare; give one.")
    known = found["algorithm"].values.tolist()
    name = chosen(known, "algorithm", algorithm or (EXACT if EXACT in known else None))[0]
    ds = one_of_each(found.sel(algorithm=name), **dict.fromkeys(ROW_DIMS, snapshot))
    sheet, shown, note = hop_panels(ax, ds["hop"].values.tolist(), hops, height=2.6)
    bands = ["low", *map(str, range(2, ds.sizes["band"])), "high"] if ds.sizes["band"] > 1 else ["all"]
    _panels(sheet.axes, [_shifts(ds.sel(hop=hop), bands) for hop in shown], False, "exchanges")
    for panel, hop in zip(sheet.axes, shown, strict=True):
        one = ds.sel(hop=hop)
        value = one["correlation"].item()
        words = f"correlation {style.number(value)}" if value == value else one["status"].item()
        panel.set_title(f"{style.hop_words(hop)}: {words}", fontsize=9)
    sheet.name_axes("frequency band", "share of the energy")
    why = str(found.attrs["shift_test"])
    why = f"not tested: {why.removeprefix('none: ')}" if why.startswith("none: ") else ""
    sheet.title(f"{name}: what {names[1]} has more or less than {names[0]} in each band", why, note)
    sheet.legend()
    return sheet.axes


def _shifts(one: xr.Dataset, bands: list[str]) -> pd.DataFrame:
    """The shift of each band at one hop, as rows of what is drawn."""
    rows = one[[name for name in (*SHIFT, "shift_p", "status") if name in one]].to_dataframe()
    rows = rows.rename(columns=SHIFT).reindex(columns=[*FIELDS, "shift_p"]).assign(hop=bands)
    p = rows.pop("shift_p")
    words = np.select([p.isna(), p > LEVEL, rows["r"] > 0], ["not tested", "chance", "more"], "less")
    return rows.assign(verdict=words)


def _graph_beside(ax: Axes, graph: Graph, signal: Any, column: Any, snapshot: Any, pos: Any) -> None:
    panels = [] if signal is None else panels_of(signal, graph, snapshot)
    named = [panel for panel in panels if panel.title == str(column)] or panels
    shown = named[0] if len(named) == 1 or len(panels) == 1 else Panel("", None)
    below(ax, paint(ax, places_for(pos, graph), graph.edges, shown))
    size = f"{style.count(graph.n_nodes, 'node')}, {style.count(graph.n_edges, 'edge')}"
    _left_title(ax, ": ".join(filter(None, [shown.title or shown.words, size])))


def _left_title(ax: Axes, words: str) -> None:
    width = max(24, int(style.points(ax) / 4.8))
    ax.set_title(fill(style.plain(words), width), loc="left", fontsize=10, fontweight="bold")


def _lines(found: xr.Dataset | Findings, hops: Any) -> dict[Any, pd.DataFrame]:
    """The rows of each snapshot and column, None where there is no such."""
    if isinstance(found, Findings):
        frame = found.to_frame().rename(columns=FOUND)
        frame = frame[frame["statistic"] == "r"]
        if frame.empty:
            raise OptionError("The findings hold no test of likeness; st.plot.collapse draws layers of a model.")
        frame["verdict"] = frame["verdict"].where(frame["verdict"] != "", frame["kind"])
    else:
        ds = found if "hop" in found.dims else found.expand_dims("hop")
        frame = ds[[name for name in FIELDS if name in ds]].to_dataframe().reset_index()
    frame = frame.reindex(columns=["snapshot", "column", "hop", *FIELDS])
    frame = frame[frame["hop"].isin(chosen(frame["hop"].drop_duplicates().tolist(), "hop", hops))]
    groups = frame.groupby(["snapshot", "column"], sort=False, dropna=False)
    return {tuple(None if label != label else label for label in names): rows for names, rows in groups}


def _name(*labels: Any) -> str:
    """Snapshot and column, where there are such."""
    named = [f"{dim} {one}" if isinstance(one, int) else one for dim, one in zip(DIMS, labels, strict=True)]
    return ", ".join(str(one) for one in named if one is not None)


def headline(rows: pd.DataFrame) -> str:
    """The verdicts of all hops: ``Alike at 1 and 2 hops; unlike at 3 hops``."""
    known = rows[rows["r"].notna()]
    groups = {word: some["hop"].tolist() for word, some in known.groupby("verdict", sort=False) if word != "chance"}
    text = "; ".join(f"{word} at {_where(hops)}" for word, hops in groups.items())
    if not text:
        text = rows["status"].iloc[0] if known.empty else "not distinguishable from chance at any hop"
    return text[:1].upper() + text[1:]


def _where(hops: list[Any]) -> str:
    """``1, 2 and 5 hops``; hop 0 is the same node, and intervals of distance have no noun."""
    far = [hop for hop in hops if hop != 0]
    noun = "" if not far or isinstance(far[-1], str) else " hop" if far == [1] else " hops"
    return " and ".join((["the same node"] if 0 in hops else []) + ([runs(far) + noun] if far else []))


def _draw(found: Any, ax: Any, hops: Any, given: bool, chance: str) -> np.ndarray:
    if ax is None and getattr(found, "sizes", {}).get("column", 0) > MOST:
        return columns(found, hops=hops)
    lines = _lines(found, hops)
    if ax is None and len(lines) > MOST:  # those with a verdict, the largest r first
        clear = {name: rows["r"].abs()[rows["verdict"].isin(style.SIDES)].max() for name, rows in lines.items()}
        lines = {name: lines[name] for name in sorted(lines, key=lambda name: -np.nan_to_num(clear[name]))}
    names, drawn = ([*some][: MOST if ax is None else None] for some in (lines, lines.values()))
    one, wide = len(drawn) == 1, max(map(len, drawn))
    least = float(np.clip(1.1 * wide + 1, 5.6, 9.0)) if one else 7.0
    sheet = style.Sheet(ax, len(drawn), "snapshots and columns", height=2.6 if one else 2.3, least=least)
    _panels(sheet.axes, drawn, given, chance)
    if one:
        sheet.title(": ".join(filter(None, [_name(*names[0]), headline(drawn[0])])))
    else:
        for panel, name, rows in zip(sheet.axes, names, drawn, strict=True):
            said = headline(rows)
            panel.set_title(fill(style.plain(f"{_name(*name)}: {said[:1].lower()}{said[1:]}"), 40), fontsize=9)
        rest = len(lines) - len(drawn)
        sheet.title("Likeness per hop", f"{rest} of {len(lines)} signals not drawn" if rest else "")
    sheet.name_axes("hops apart" if wide > MOST else "", "correlation r")
    sheet.legend()
    return sheet.axes


def _panels(axes: Any, lines: Sequence[pd.DataFrame], given: bool, chance: str) -> None:
    """Stems of every signal on one scale, with hops as ticks, and numbers with verdicts where there is room."""
    every = pd.concat(lines)[R].fillna(0.0)
    ends = np.array([min(-LEAST, every.min(axis=None)), max(LEAST, every.max(axis=None))])
    ticks: Any = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(*np.clip(ends, -1.0, 1.0))
    ticks = [tick for tick in ticks if abs(tick) < 1.01]
    sides = set()
    for ax, rows in zip(axes, lines, strict=True):
        hops, theme = rows["hop"].tolist(), style.theme_of(ax)
        if rows["r"].isna().all():
            style.write_in(ax, rows["status"].iloc[0])
        size = 8.0 if len(hops) <= 8 else 5.5 if len(hops) <= 25 else 3.0
        style.verdict_stems(ax, rows, size, chance)
        if given and len(hops) <= 25:
            look: dict[str, Any] = {"color": theme.muted, "markerfacecolor": theme.paper, "markersize": 0.45 * size}
            look["label"] = "r given degree" if rows["r_given"].notna().any() else ""
            ax.plot(np.arange(len(hops)) + 0.22, rows["r_given"].astype(float), "D", zorder=3, gid="given", **look)
        width = style.points(ax) / len(hops)
        for place, row in enumerate(rows.to_dict("records")):
            if width >= ROOM and row["r"] == row["r"] and (len(lines) == 1 or row["verdict"] in style.SIDES):
                _say(ax, place, row, width)
                sides.add(row["r"] >= 0)
        spelled = len(hops) <= MOST or isinstance(hops[0], str)
        names = [("same node" if hop == 0 else style.hop_words(hop)) if spelled else str(hop) for hop in hops]
        style.fit_ticks(ax, names, 9 if width > 36 else 7.5)
    words = np.where([False in sides, True in sides], WORDS_POINTS, 8)  # points below and above
    scale = np.ptp(ends) / max(20.0, style.points(axes[0], upwards=True) - words.sum())
    for ax, rows in zip(axes, lines, strict=True):
        ax.set(xlim=(-0.6, len(rows) - 0.4), ylim=ends + scale * words * [-1, 1], yticks=ticks)


def _say(ax: Axes, place: int, row: dict[str, Any], width: float) -> None:
    """The number and the verdict at the end of a stem, beyond the interval where there is none."""
    word, r = row["verdict"], row["r"]
    clear, up = word in style.SIDES, r >= 0
    words = word.upper() if clear else fill(word, max(6, int(width / 5)))
    words += "\nnear the level" if row["near_level"] is True else ""
    ends = [r] if clear else [row[name] for name in R]
    text = f"{words}\n{style.number(r, '+')}" if up else f"{style.number(r, '+')}\n{words}"
    look: dict[str, Any] = {"ha": "center", "va": "bottom" if up else "top", "textcoords": "offset points", "zorder": 4}
    look |= {"fontsize": 9 if clear and width > 60 else 7.5, "fontweight": "bold" if clear else "normal"}
    tip, color = (np.nanmax if up else np.nanmin)(ends), style.verdict_colors(style.theme_of(ax), word)[0]
    ax.annotate(text, (place, tip), xytext=(0, 7 if up else -7), color=color, **look)
