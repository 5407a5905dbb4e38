"""Likeness per hop against chance: correlograms, agreement of two signals, and findings beside their graph."""

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.core.registry import EXACT
from spectrata.errors import OptionError
from spectrata.plot import style
from spectrata.plot.cells import LEVEL
from spectrata.plot.painting import below, dots, graph_from, paint, panels_of, place_nodes, places_for
from spectrata.plot.reading import chosen, hop_panels, one_of_dim
from spectrata.plot.table import SIDES, columns, verdict_colors, verdict_handles
from spectrata.results.schema import ROW_DIMS
from spectrata.stats.findings import Findings
from spectrata.stats.findings.sentences import runs

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

MOST = 6  # signals drawn in a new figure
ROOM = 34  # points beside a stem from which its number is written
WORDS_POINTS = 40  # how much a number with its verdict takes
LEAST = 0.1  # of r: the shortest axis to either side
FIELDS = ("r", "chance_low", "chance_high", "r_given", "verdict", "near_level", "status")
FOUND = {"value": "r", "value_given": "r_given", "text": "status"}  # the same in findings


class Line(NamedTuple):
    """One signal at all hops: a row of ``FIELDS`` for each hop."""

    snapshot: Any
    column: Any
    rows: "pd.DataFrame"

    @property
    def name(self) -> str:
        """Snapshot and column, where there are such."""
        parts = {"snapshot": self.snapshot, "column": self.column}
        known = {dim: one for dim, one in parts.items() if one is not None}
        return ", ".join(f"{dim} {one}" if isinstance(one, int) else str(one) for dim, one in known.items())

    @property
    def hops(self) -> list[Any]:
        """Hops in their order."""
        return self.rows["hop"].tolist()

    @property
    def sizes(self) -> np.ndarray:
        """r and the ends of its interval of chance, ``(H, 3)``."""
        return self.rows[["r", "chance_low", "chance_high"]].to_numpy(dtype=float)


def correlogram(
    found: "xr.Dataset | Findings",
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    hops: Iterable[Any] | None = None,
    given: bool = True,
) -> np.ndarray:
    """Draw r per hop as stems, with the interval of chance as boxes.

    A filled marker is a verdict (alike, unlike), a hollow one none. A box has 95 % of the permutations of its hop.
    Diamonds show r given degree, or other covariates.

    Parameters
    ----------
    found : xarray.Dataset or Findings
        A result of :func:`spectrata.correlogram`, :func:`spectrata.homophily` or :func:`spectrata.diagnose`; one panel
        for each snapshot and column, up to 6 in a new figure. More columns are ranked in one heat map, as
        :func:`spectrata.plot.columns` does.
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
    return _draw(found, ax, hops, given, "orders")


def agree(
    found: "xr.Dataset", ax: "Axes | Sequence[Axes] | None" = None, *, hops: Iterable[Any] | None = None
) -> np.ndarray:
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
    return _draw(found, ax, hops, False, "surrogates")


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
    first = chosen([one.column for one in lines], "column", column)[0]
    last = chosen([one.snapshot for one in lines], "snapshot", snapshot)[-1]
    line = next(one for one in lines if (one.column, one.snapshot) == (first, last))
    beside = graph is not None
    shape: dict[str, Any] = {"height": 3.0, "least": 9.0, "ratios": (0.78, 1)} if beside else {"height": 2.6}
    sheet = style.Sheet(ax, 1 + beside, **shape)
    if beside:
        _graph_beside(sheet.axes[0], graph_from(graph), signal, line.name if column is None else column, snapshot, pos)
    panel = sheet.axes[-1]
    _panel(panel, line, True)
    _one_scale([panel], [line])
    _left_title(panel, headline(line))
    panel.set_ylabel("correlation of nodes so far apart, r", fontsize=9)
    sheet.legend(_handles(sheet.theme, [line], "orders", True))
    return sheet.axes


def compare(
    found: "xr.Dataset",
    ax: "Axes | Sequence[Axes] | None" = None,
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
    import pandas as pd

    if getattr(found, "attrs", {}).get("kind") != "comparison":
        raise OptionError("plot.compare draws a result of st.compare; give one.")
    known = found["algorithm"].values.tolist()
    name = chosen(known, "algorithm", algorithm or (EXACT if EXACT in known else None))[0]
    ds = found.sel(algorithm=name)
    for dim in [dim for dim in ROW_DIMS if dim in ds.dims]:
        ds = one_of_dim(ds, dim, snapshot)
    sheet, shown, note = hop_panels(ax, ds["hop"].values.tolist(), hops, height=2.6)
    bands = ["low", *map(str, range(2, ds.sizes["band"])), "high"] if ds.sizes["band"] > 1 else ["all"]
    lines = []
    for hop in shown:
        one = ds.sel(hop=hop)
        nothing = np.full(len(bands), np.nan)
        low, high, p = (one[part].values if part in one else nothing for part in ("shift_low", "shift_high", "shift_p"))
        shift = one["energy_shift"].values
        word = np.where(np.isnan(p), "not tested", np.where(p > LEVEL, "chance", np.where(shift > 0, "more", "less")))
        cells = {"hop": bands, "r": shift, "chance_low": low, "chance_high": high, "verdict": word}
        lines.append(Line(None, None, pd.DataFrame(cells | {"status": one["status"].item(), "near_level": False})))
    for panel, hop, line in zip(sheet.axes, shown, lines, strict=True):
        _panel(panel, line, False)
        value = ds["correlation"].sel(hop=hop).item()
        words = f"correlation {style.number(value)}" if value == value else line.rows["status"].iloc[0]
        panel.set_title(f"{style.hop_words(hop)}: {words}", fontsize=9)
    _one_scale(sheet.axes, lines)
    sheet.name_axes("frequency band", "share of the energy")
    why = str(found.attrs["shift_test"])
    why = f"not tested: {why.removeprefix('none: ')}" if why.startswith("none: ") else ""
    sheet.title(f"{name}: what {names[1]} has more or less than {names[0]} in each band", why, note)
    sheet.legend(_handles(sheet.theme, lines, "exchanges", False))
    return sheet.axes


def _graph_beside(ax: "Axes", graph: Any, signal: Any, column: Any, snapshot: Any, pos: Any) -> None:
    places = places_for(pos, graph)
    panels = [] if signal is None else panels_of(signal, graph, snapshot)
    named = [panel for panel in panels if panel.title == str(column)] or panels
    title = ""
    if len(panels) == 1 or len(named) == 1:
        title = named[0].title or named[0].words
        below(ax, paint(ax, places, graph.edges, named[0]))
    else:
        look = {"color": style.theme_of(ax).colors[0], "edgecolors": style.theme_of(ax).paper}
        dots(ax, places, place_nodes(ax, places, graph.edges), **look)
    size = f"{style.count(graph.n_nodes, 'node')}, {style.count(graph.n_edges, 'edge')}"
    _left_title(ax, f"{title}: {size}" if title else size)


def _left_title(ax: "Axes", words: str) -> None:
    width = max(24, int(style.points(ax) / 4.8))
    ax.set_title(fill(style.plain(words), width), loc="left", fontsize=10, fontweight="bold")


# ---- lines


def _lines(found: "xr.Dataset | Findings", hops: Any) -> list[Line]:
    """Each snapshot and column."""
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
    labels = frame[["snapshot", "column"]].astype(object)
    keys = list(labels.where(labels.notna(), None).itertuples(index=False, name=None))
    return [Line(key[0], key[1], frame[[one == key for one in keys]]) for key in dict.fromkeys(keys)]


def headline(line: Line) -> str:
    """The verdicts of all hops: ``Alike at 1 and 2 hops; unlike at 3 hops``."""
    groups: dict[str, list[Any]] = {}
    for hop, word in line.rows.loc[line.rows["r"].notna(), ["hop", "verdict"]].itertuples(index=False):
        groups.setdefault(word, []).append(hop)
    text = "; ".join(f"{word} at {_where(hops)}" for word, hops in groups.items() if word != "chance")
    if not text:
        text = "not distinguishable from chance at any hop" if groups else line.rows["status"].iloc[0]
    return text[:1].upper() + text[1:]


def _where(hops: list[Any]) -> str:
    """``1, 2 and 5 hops``; hop 0 is the same node, and intervals of distance have no noun."""
    if any(isinstance(hop, str) for hop in hops):
        return ", ".join(hops)
    far = [hop for hop in hops if hop > 0]
    words = [f"{runs(far)} hop{'s' if far[-1] > 1 else ''}"] if far else []
    return " and ".join([*(["the same node"] if 0 in hops else []), *words])


# ---- drawing


def _draw(found: Any, ax: Any, hops: Any, given: bool, chance: str) -> np.ndarray:
    if ax is None and getattr(found, "sizes", {}).get("column", 0) > MOST:
        return columns(found, hops=hops)
    lines = _lines(found, hops)
    drawn = lines if ax is not None else lines[:MOST]
    wide = max(len(line.hops) for line in drawn)
    one = len(drawn) == 1
    least = float(np.clip(1.1 * wide + 1, 5.6, 9.0)) if one else 7.0
    sheet = style.Sheet(ax, len(drawn), "snapshots and columns", height=2.6 if one else 2.3, least=least)
    for panel, line in zip(sheet.axes, drawn, strict=True):
        _panel(panel, line, given)
        if not one:
            said = headline(line)
            panel.set_title(fill(style.plain(f"{line.name}: {said[:1].lower()}{said[1:]}"), 40), fontsize=9)
    _one_scale(sheet.axes, drawn)
    if one:
        sheet.title(": ".join(filter(None, [drawn[0].name, headline(drawn[0])])))
    else:
        rest = len(lines) - len(drawn)
        sheet.title("Likeness per hop", f"{rest} of {len(lines)} signals not drawn" if rest else "")
    sheet.name_axes("hops apart" if wide > MOST else "", "correlation r")
    sheet.legend(_handles(sheet.theme, drawn, chance, given))
    return sheet.axes


def _panel(ax: "Axes", line: Line, given: bool) -> None:
    theme, at = style.theme_of(ax), np.arange(len(line.hops))
    ax.axhline(0.0, color=theme.muted, linewidth=0.8, zorder=1)
    r, low, high = line.sizes.T
    if np.isnan(r).all():
        style.write_in(ax, line.rows["status"].iloc[0])
    # An interval without width is a line.
    ax.bar(at, high - low, 0.72, low, color=theme.chance, edgecolor=theme.chance, linewidth=1, zorder=0, gid="chance")
    size = 8 if len(at) <= 8 else 5.5 if len(at) <= 25 else 3.0
    for place, (value, word) in enumerate(zip(r, line.rows["verdict"], strict=True)):
        color, face = verdict_colors(theme, word)
        ax.vlines(place, 0.0, value, color, linewidth=2.4 if len(at) <= 12 else 1.2, zorder=2)
        ax.plot(place, value, "o", color=color, markersize=size, markerfacecolor=face, zorder=3, gid="r")
    if given and len(at) <= 25:
        look: dict[str, Any] = {"color": theme.muted, "markerfacecolor": theme.paper, "markersize": 0.45 * size}
        ax.plot(at + 0.22, line.rows["r_given"].astype(float), "D", zorder=3, gid="given", **look)
    ax.set_xlim(-0.6, len(at) - 0.4)
    style.tidy(ax)


def _one_scale(axes: Sequence[Any] | np.ndarray, drawn: Sequence[Line]) -> None:
    """The same scale on all panels, hops as ticks, and numbers with verdicts where there is room."""
    from matplotlib.ticker import MaxNLocator

    sizes = np.nan_to_num(np.concatenate([line.sizes for line in drawn]))
    ends = np.array([min(-LEAST, sizes.min()), max(LEAST, sizes.max())])
    ticks = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(max(-1.0, ends[0]), min(1.0, ends[1]))
    room = [style.points(ax) / len(line.hops) for ax, line in zip(axes, drawn, strict=True)]
    known = [_written(line, len(drawn) == 1) for line in drawn]
    written = [rows if width >= ROOM else {} for rows, width in zip(known, room, strict=True)]
    every = np.array([row["r"] for rows in written for row in rows.values()])
    words = np.where([(every < 0).any(), (every >= 0).any()], WORDS_POINTS, 8)  # points below and above
    scale = np.ptp(ends) / max(20.0, style.points(axes[0], upwards=True) - words.sum())
    for ax, line, width, rows in zip(axes, drawn, room, written, strict=True):
        for place, row in rows.items():
            _say(ax, place, row, width)
        ax.set_ylim(ends[0] - scale * words[0], ends[1] + scale * words[1])
        ax.set_yticks([tick for tick in ticks if abs(tick) <= 1.0 + 1e-9])
        spelled = len(line.hops) <= MOST or isinstance(line.hops[0], str)
        names = [("same node" if hop == 0 else style.hop_words(hop)) if spelled else str(hop) for hop in line.hops]
        at = style.thinned(len(names), max(2, int(style.points(ax) / 22)))
        ax.set_xticks(at, [names[one] for one in at], fontsize=9 if width > 36 else 7.5)


def _written(line: Line, all_of_them: bool) -> dict[int, dict[str, Any]]:
    """Places and rows of the hops whose number is written: those with a verdict, of a single signal all."""
    rows = enumerate(line.rows.to_dict("records"))
    return {at: row for at, row in rows if row["r"] == row["r"] and (all_of_them or row["verdict"] in SIDES)}


def _say(ax: "Axes", place: int, row: dict[str, Any], width: float) -> None:
    """The number and the verdict at the end of a stem, beyond the interval where there is none."""
    word, r = row["verdict"], row["r"]
    clear, up = word in SIDES, r >= 0
    words = word.upper() if clear else fill(word, max(6, int(width / 5)))
    words += "\nnear the level" if row["near_level"] is True else ""
    ends = [r] if clear else [r, row["chance_low"], row["chance_high"]]
    text = f"{words}\n{style.number(r, '+')}" if up else f"{style.number(r, '+')}\n{words}"
    look: dict[str, Any] = {"ha": "center", "va": "bottom" if up else "top", "textcoords": "offset points", "zorder": 4}
    look |= {"fontsize": 9 if clear and width > 60 else 7.5, "fontweight": "bold" if clear else "normal"}
    tip, color = (np.nanmax if up else np.nanmin)(ends), verdict_colors(style.theme_of(ax), word)[0]
    ax.annotate(text, (place, tip), xytext=(0, 7 if up else -7), color=color, **look)


def _handles(theme: style.Theme, drawn: Sequence[Line], chance: str, given: bool) -> list[Any]:
    how = chance if chance == "exchanges" else f"{chance}, hop by hop"
    handles = verdict_handles(theme, how, [word for line in drawn for word in line.rows["verdict"]])
    handles = handles[0 if any(line.rows["chance_low"].notna().any() for line in drawn) else 1 :]
    if given and any(line.rows["r_given"].notna().any() for line in drawn):
        handles.append(style.mark("r given degree", theme.muted, "D", theme.paper, size=4))
    return handles
