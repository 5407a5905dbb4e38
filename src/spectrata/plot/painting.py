"""Nodes painted on their graph, or where their vectors are: values, labels, energies, local verdicts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from scipy.spatial import cKDTree

from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SignalTypeError, SignalValueError
from spectrata.inputs.graphs import Graph, as_graph
from spectrata.inputs.labels import Labels, as_labels
from spectrata.inputs.signals import as_signal
from spectrata.plot import style
from spectrata.plot.positions import given_places, node_places
from spectrata.plot.reading import MAX_PANELS, one_of_each
from spectrata.results.build import graph_of
from spectrata.results.schema import in_order
from spectrata.stats.verbs.local import WORDS

MOST_EDGES = 20_000  # more would be one grey patch
MANY = 100  # nodes from which none is named
NAMED = 30  # nodes up to which they carry their names
COLORS = (0, 3, 1, 4, 0, 1, 0, 1, 3, 4)  # of local verdicts
TOP = 0.98  # of 20 nodes or more, colours reach their end at this quantile: one node would pale all the rest


class Panel(NamedTuple):
    """One picture of a graph: a title, a number or label for each node, and what the numbers are."""

    title: str
    values: "np.ndarray | Labels | None"  # None: nodes of one colour
    words: str = ""


Group = tuple[str, np.ndarray, str]  # a name, which nodes, and their colour; "" for hollow nodes


def place_nodes(ax: Axes, places: np.ndarray, edges: np.ndarray) -> float:
    """Draw the edges, and give the size of a node in square points."""
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
    ax.set_rasterization_zorder(2 if max(len(places), len(edges)) > style.RASTER else None)
    if len(edges) <= MOST_EDGES:
        width, alpha = (0.8, 0.9) if len(edges) <= 300 else (0.4, 0.6) if len(edges) <= 2000 else (0.25, 0.3)
        look: dict[str, Any] = {"colors": style.theme_of(ax).edge, "linewidths": width, "alpha": alpha, "zorder": 0.5}
        ax.add_collection(LineCollection(places[edges], **look), autolim=False)
    there = places[np.isfinite(places).all(axis=1)]
    if len(there) < 2:
        return 90.0
    scale = 0.94 * style.points(ax) / max(np.ptp(there, axis=0).max(), 1e-9)
    apart = float(np.median(cKDTree(there).query(there, 2)[0][:, 1])) * scale  # points between neighbours
    return float(np.clip(min(7_000.0 / len(places), (0.8 * apart) ** 2), 4.0, 90.0))


def groups(ax: Axes, places: np.ndarray, size: float, known: Iterable[Group], **look: Any) -> list[Any]:
    """Nodes of each group, not the empty ones, in its colour, hollow where it has none; gives what a legend names."""
    theme, handles = style.theme_of(ax), []
    for name, there, color in known:
        if there.any():
            face, edge = (color, theme.paper) if color else (theme.paper, theme.muted)
            own: dict[str, Any] = {"color": face, "edgecolors": edge, "linewidths": 0.6, "gid": name}
            ax.scatter(places[there, 0], places[there, 1], size, **own | look)
            handles.append(style.mark(f"{name} ({np.count_nonzero(there):,})", color or edge, face=face))
    return handles


def paint(ax: Axes, places: np.ndarray, edges: np.ndarray, panel: Panel, size: float = 0.0) -> list[Any]:
    """One panel: numbers with a colour bar, labels, or nodes alone; gives what a legend names."""
    size, values, theme = size or place_nodes(ax, places, edges), panel.values, style.theme_of(ax)
    look: dict[str, Any] = {"linewidths": 0.6 if len(places) <= 300 else 0.0}
    if isinstance(values, Labels):
        return groups(ax, places, size, _classes(values, theme), **look)
    if values is None:
        ax.scatter(places[:, 0], places[:, 1], size, color=theme.colors[0], edgecolors=theme.paper, gid="nodes", **look)
        return []
    if len(places) != len(values):
        raise OptionError(f"There are {len(values)} values and {len(places)} places; give one of each per node.")
    there = np.isfinite(values)
    if not there.any():
        style.write_in(ax, "no node has a number")
        return []
    sizes, low = np.abs(values[there]), float(values[there].min())
    signed, top = low < 0, float(np.quantile(sizes, TOP if len(sizes) >= 20 else 1.0)) or float(sizes.max()) or 1.0
    least = -top if signed else 0.0 if low < 0.5 * top else low
    # The largest lie on top: they are what is looked for.
    order = np.flatnonzero(there)[np.argsort(sizes, kind="stable")]
    look |= {"cmap": style.color_map(ax) if signed else style.MAP, "vmin": least, "vmax": max(top, least + 1e-12)}
    look |= {"edgecolors": theme.muted, "gid": "nodes"}
    drawn = ax.scatter(places[order, 0], places[order, 1], size, c=values[order], **look)
    ax.scatter(places[~there, 0], places[~there, 1], size, facecolors="none", edgecolors=theme.muted, linewidths=0.5)
    beyond = "neither" if sizes.max() <= top else "both" if signed else "max"
    style.side_bar(ax, drawn, panel.words, shrink=0.8, extend=beyond)
    return []


def _classes(labels: Labels, theme: style.Theme) -> Iterator[Group]:
    """The nodes of each class, of the largest where there are more than colours, then of the others, then without."""
    counts = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.classes))
    named = np.sort(np.argsort(-counts, kind="stable")[: len(theme.colors)])
    for code, color in zip(named, theme.colors, strict=False):
        yield str(labels.classes[code]), labels.codes == code, color
    yield style.count(len(counts) - len(named), "other label"), ~np.isin(labels.codes, [*named, -1]), theme.muted
    yield "no label", labels.codes < 0, ""


def below(ax: Axes, handles: Sequence[Any]) -> None:
    """A legend under a panel that has no axes."""
    style.fit_legend(ax, handles, 1.15 * style.points(ax), loc="upper center", bbox_to_anchor=(0.5, 0.02))


def panel_height(places: np.ndarray) -> float:
    """Inches of a row of panels: as high as the places are, beside a colour bar."""
    extent = np.ptp(places[np.isfinite(places).all(axis=1)], axis=0)
    return float(np.clip(2.9 * extent[1] / max(extent[0], 1e-12), 1.2, 3.2))


def write_names(ax: Axes, places: np.ndarray, names: Any, which: Any = None) -> None:
    """Names beside some nodes, by default beside all in graphs of up to 30."""
    look: dict[str, Any] = {"xytext": (5, 4), "textcoords": "offset points", "fontsize": 7, "zorder": 4}
    for node in (range(len(places) if len(places) <= NAMED else 0)) if which is None else which:
        ax.annotate(style.plain(names[node]), tuple(places[node]), color=style.theme_of(ax).ink, **look)


def graph_from(source: Any) -> Graph:
    """The graph of what stands for one; that of a result with the positions that it keeps."""
    if hasattr(source, "data_vars"):
        graph = graph_of(source)
        return replace(graph, positions=source["position"].values) if "position" in source else graph
    return source.graph if isinstance(source, Stratification) else as_graph(source, weights=False)


def places_for(pos: Any, graph: Graph) -> np.ndarray:
    """Where nodes are drawn: as given, as the graph has it, else by a layout."""
    found = given_places(pos, graph)
    return node_places(graph.edges, graph.n_nodes) if found is None else found


def panels_of(values: Any, graph: Graph, snapshot: Any = None, label: str | None = None) -> list[Panel]:
    """One panel for each column of a signal in any form, texts as labels."""
    words = label or str(getattr(values, "name", None) or (values if isinstance(values, str) else ""))
    try:
        one = one_of_each(values, snapshot=snapshot) if hasattr(values, "dims") else values
        signal = as_signal(one, graph, texts=True)
    except (SignalTypeError, SignalValueError):
        labels = as_labels(values, graph)
        if not any(isinstance(name, str) for name in labels.classes):
            raise
        return [Panel(words, labels)]
    array = signal.values[-1 if snapshot is None else 0]
    names = signal.columns or getattr(values, "columns", None)
    numbered = [""] if array.shape[1] == 1 else [f"column {k}" for k in range(array.shape[1])]
    titles = numbered if names is None else [str(name) for name in names][: array.shape[1]]
    found = [Panel(title, array[:, k], words if title in ("", words) else "") for k, title in enumerate(titles)]
    return found + [Panel(str(name), labels) for name, labels in signal.texts]


def _of_dataset(ds: xr.Dataset, hop: Any, snapshot: Any, label: str | None) -> list[Panel]:
    ds = one_of_each(ds, snapshot=snapshot, hop=hop)
    if "decoupling" in ds:
        with np.errstate(divide="ignore"):
            return [Panel("structural decoupling", np.log2(ds["decoupling"].values), label or "log2 of the index")]
    if "energy" not in ds:
        raise OptionError("The Dataset has no values per node; give a result of node_energy or decoupling.")
    total, found = float(ds["total_energy"]), []
    for one in (ds.isel(band=band) for band in range(ds.sizes["band"])):
        share = f": {one['energy'].sum().item() / total:.0%} of the energy" if total > 0 else ""
        band = f"λ in ({one['band_lower'].item():.3g}, {one['band_upper'].item():.3g}]"
        title = f"{style.hop_words(one['hop'].item())}, {band}{share}"
        found.append(Panel(title, one["energy"].values, label or "energy"))
    return found


def nodes(
    values: Any,
    graph: Any = None,
    ax: style.Given = None,
    *,
    pos: Any = None,
    hop: int | None = None,
    snapshot: Any = None,
    label: str | None = None,
) -> np.ndarray:
    """Paint values on the nodes of a graph, one panel for each band or column.

    Parameters
    ----------
    values : Dataset, DataArray, or any signal of :func:`spectrata.spectra`
        A result of :func:`spectrata.node_energy` (a panel for each band), of :func:`spectrata.decoupling` (the base-2
        logarithm of the index) or of :func:`spectrata.filter_signal`; numbers or texts per node and column; the name
        of a node attribute.
    graph : graph-like or Stratification, optional
        Needed for values that do not hold their graph, unless ``pos`` is given.
    ax : Axes or sequence of Axes, optional
        One for each panel.
    pos : array, mapping from node, DataFrame or path, optional
        Two or three coordinates per node; by default those of the graph, or a layout by hop distances.
    hop, snapshot : optional
        Which of several; the first hop and the last snapshot by default.
    label : str, optional
        The name of the values, for the colour bar.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Notes
    -----
    Values of both signs have a scale that is pale at 0. Every panel has its own colour bar; of 20 nodes or more colours
    end at the 98th percentile of the sizes. Nodes without a number are hollow.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.node_energy(nx.path_graph(4), [0.0, 1.0, 0.0, 1.0], bands=[0, 2, 4])
    >>> [panel.get_title() for panel in st.plot.nodes(ds)]
    ['1 hop, λ in (0, 2]: 7% of the energy', '1 hop, λ in (2, 4]: 43% of the energy']
    """
    known = None if graph is None else graph_from(graph)
    if hasattr(values, "data_vars"):
        values = in_order(values)
        known = known or graph_from(values)
        panels = _of_dataset(values, hop, snapshot, label)
    else:
        if known is None and pos is None:
            raise OptionError("The values do not hold their graph; give graph= or pos=.")
        n = len(values) if known is None else known.n_nodes
        known = known or Graph(n, np.zeros(n + 1, np.int64), np.empty(0, np.int64), tuple(range(n)))
        panels = panels_of(values, known, snapshot, label)
    shown = panels if ax is not None else panels[:MAX_PANELS]
    return draw_panels(shown, places_for(pos, known), known, ax, len(panels))


def draw_panels(
    shown: Sequence[Panel], places: np.ndarray, graph: Graph, ax: Any, known: int, noun: str = "panels"
) -> np.ndarray:
    """Pictures of one graph, ``shown`` of all that are ``known``; nodes of small graphs carry their names."""
    sheet = style.Sheet(ax, len(shown), noun, height=panel_height(places))
    for panel, one in zip(sheet.axes, shown, strict=True):
        below(panel, paint(panel, places, graph.edges, one))
        write_names(panel, places, graph.names)
        panel.set_title(style.plain(one.title), fontsize=9)
    if len(shown) < known:
        sheet.title(f"{known - len(shown)} of {known} {noun} not drawn")
    return sheet.axes


def local(
    ds: xr.Dataset,
    ax: Axes | None = None,
    *,
    hop: Any = None,
    column: Any = None,
    snapshot: Any = None,
    pos: Any = None,
    names: int = 12,
) -> Axes:
    """Draw a map of the nodes that are like or unlike their neighbours.

    Blue nodes are like their neighbours, orange ones unlike. Nodes without a verdict are small and pale, in the colour
    of their part in r.

    Parameters
    ----------
    ds : xarray.Dataset
        A result of :func:`spectrata.local`.
    ax : Axes, optional
    hop, column, snapshot : optional
        Which of several; the first hop and column and the last snapshot by default.
    pos
        As for :func:`nodes`.
    names : int
        Nodes with a verdict that are named, those of the largest parts in r first, in graphs of up to 100 nodes.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8))
    >>> found = st.local(grid, [float(node % 8 > 4 and node > 40) for node in grid])
    >>> st.plot.local(found).get_title(loc="left")
    '1 of 64 nodes stand out among their neighbours'
    """
    if getattr(ds, "attrs", {}).get("kind") != "local":
        raise OptionError("plot.local draws a result of st.local; give one.")
    ds = one_of_each(in_order(ds), snapshot=snapshot, column=column, hop=hop)
    graph, verdict, r = graph_from(ds), ds["verdict"].values.astype(str), np.nan_to_num(ds["r"].values)
    places = places_for(pos, graph)
    sheet = style.Sheet(ax, height=1.6 * panel_height(places), least=6.4)
    ax, theme, size = sheet.ax, sheet.theme, place_nodes(sheet.ax, places, graph.edges)
    none = ~np.isin(verdict, WORDS)
    end = 2.0 * (np.abs(r).max() or 1.0)  # half of the scale: verdicts have full colours
    pale: dict[str, Any] = {"c": r[none], "cmap": style.color_map(ax), "edgecolors": theme.muted, "linewidths": 0.5}
    ax.scatter(places[none, 0], places[none, 1], size, vmin=-end, vmax=end, gid="none", **pale)
    known = [(word, verdict == word, theme.colors[at]) for word, at in zip(WORDS, COLORS, strict=True)]
    words = f"no verdict ({none.sum():,}): pale blue alike, orange unlike"
    handles = groups(ax, places, 1.8 * size, known, zorder=3)
    below(ax, [*handles, style.mark(words, theme.muted, face=theme.paper)])
    largest = [node for node in np.argsort(-np.abs(r)) if not none[node]]
    write_names(ax, places, ds["node"].values, largest[: names if len(places) <= MANY else 0])
    part, apart = f"{ds['column'].item()}: " if "column" in ds.coords else "", ds["hop"].item()
    where = "their neighbours" if apart == 1 else f"those {style.hop_words(apart)} apart"
    title = f"{part}{len(largest):,} of {len(verdict):,} nodes stand out among {where}"
    ax.set_title(style.plain(title), loc="left", fontsize=10, fontweight="bold")
    return ax
