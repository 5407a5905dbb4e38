"""Nodes painted on their graph, or where their vectors are: values, labels, energies, local verdicts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, SignalTypeError, SignalValueError
from spectrata.inputs.graphs import Graph, as_graph, as_pairs
from spectrata.inputs.labels import Labels, as_labels, coded
from spectrata.inputs.signals import as_signal
from spectrata.plot import style
from spectrata.plot.positions import given_places, node_places
from spectrata.stats.verbs.local import WORDS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

MOST_EDGES = 20_000  # more would be one grey patch
MANY = 100  # nodes from which none is named
NAMED = 30  # nodes up to which they carry their names
TOP = 0.99  # colours reach their end at this quantile of the sizes: one node would pale all the rest


class Panel(NamedTuple):
    """One picture of a graph: a title, a number or label for each node, and what the numbers are."""

    title: str
    values: "np.ndarray | Labels"
    words: str


# ---- one panel


def place_nodes(ax: "Axes", places: np.ndarray, edges: np.ndarray) -> float:
    """Draw the edges, and give the size of a node in square points."""
    from matplotlib.collections import LineCollection

    n, own = len(places), style.theme_of(ax)
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
    there = places[np.isfinite(places).all(axis=1)]
    if len(edges) <= MOST_EDGES:
        width, alpha = (0.8, 0.9) if len(edges) <= 300 else (0.4, 0.6) if len(edges) <= 2000 else (0.25, 0.3)
        lines = LineCollection(places[edges], colors=own.edge, linewidths=width, alpha=alpha, zorder=1)
        lines.set_rasterized(len(edges) > style.RASTER)
        ax.add_collection(lines, autolim=False)
    if len(there) < 2:
        return 90.0
    from scipy.spatial import cKDTree

    width = ax.get_window_extent().width / ax.figure.dpi * 72 * 0.85 / max(np.ptp(there, axis=0).max(), 1e-9)
    apart = float(np.median(cKDTree(there).query(there, 2)[0][:, 1])) * width  # points between neighbours
    return float(np.clip(min(7_000.0 / n, (0.8 * apart) ** 2), 4.0, 90.0))


def dots(ax: "Axes", places: np.ndarray, size: float, **look: Any) -> Any:
    """Nodes as circles of a size in square points."""
    return ax.scatter(places[:, 0], places[:, 1], s=size, rasterized=len(places) > style.RASTER, **{"zorder": 2} | look)


def paint(ax: "Axes", places: np.ndarray, edges: np.ndarray, panel: Panel) -> None:
    """One panel: numbers with a colour bar, labels with a legend."""
    if isinstance(panel.values, Labels):
        below(ax, paint_labels(ax, places, edges, panel.values))
        return
    values, own = panel.values, style.theme_of(ax)
    if len(places) != len(values):
        raise OptionError(f"There are {len(values)} values and {len(places)} places; give one of each per node.")
    size = place_nodes(ax, places, edges)
    there = np.isfinite(values)
    if not there.any():
        style.write_in(ax, "no node has a number")
        return
    signed = bool((values[there] < 0).any())
    top = float(np.quantile(np.abs(values[there]), TOP)) or float(np.abs(values[there]).max()) or 1.0
    least = -top if signed else min(0.0, top) if values[there].min() < 0.5 * top else float(values[there].min())
    # The largest lie on top: they are what is looked for.
    order = np.flatnonzero(there)[np.argsort(np.abs(values[there]), kind="stable")]
    thin = 0.5 if len(places) <= 300 else 0.0
    scale: dict[str, Any] = {
        "cmap": style.signed_map(ax) if signed else style.MAP,
        "vmin": least,
        "vmax": max(top, least + 1e-12),
    }
    look: dict[str, Any] = {"edgecolors": own.muted, "linewidths": thin, "gid": "nodes"}
    drawn = dots(ax, places[order], size, c=values[order], **look, **scale)
    dots(ax, places[~there], size, facecolors="none", edgecolors=own.muted, linewidths=0.5)
    beyond = bool((np.abs(values[there]) > top).any())
    style.side_bar(ax, drawn, panel.words, shrink=0.8, extend="neither" if not beyond else "both" if signed else "max")


def paint_labels(ax: "Axes", places: np.ndarray, edges: np.ndarray, labels: Labels) -> list[Any]:
    """One colour for each class; nodes without a class are hollow. Gives what a legend names, with counts."""
    size, own = place_nodes(ax, places, edges), style.theme_of(ax)
    thin = 0.8 if len(places) <= 300 else 0.0
    most = len(own.colors)
    order = np.argsort(-np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.classes)), kind="stable")
    colors = dict(zip(order[:most].tolist() if len(order) > most else range(most), own.colors, strict=False))
    handles = []
    for code, name in enumerate(labels.classes):
        which = labels.codes == code
        color = colors.get(code, own.muted)
        dots(ax, places[which], size, color=color, edgecolors=own.paper, linewidths=thin, gid=str(name))
        if code in colors:
            handles.append(_dot(f"{name} ({np.count_nonzero(which)})", color))
    others = len(labels.classes) - len(handles)
    if others:
        handles.append(_dot(style.count(others, "other class").replace("classs", "classes"), own.muted))
    none = labels.codes < 0
    if none.any():
        dots(ax, places[none], size, facecolors=own.paper, edgecolors=own.muted, linewidths=0.6)
        handles.append(_dot(f"no label ({np.count_nonzero(none)})", own.muted, own.paper))
    return handles


def below(ax: "Axes", handles: Sequence[Any]) -> None:
    """A legend under a panel that has no axes."""
    width = max((len(handle.get_label()) for handle in handles), default=1)
    columns = max(1, min(len(handles), int(46 / (width + 4))))
    ax.legend(handles=handles, fontsize=8, frameon=False, ncols=columns, loc="upper center", bbox_to_anchor=(0.5, 0.02))


def _dot(label: str, color: Any, face: Any = None) -> Any:
    look: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 6, "color": color}
    return style.mark(style.plain(label), **look, markerfacecolor=color if face is None else face)


def panel_height(places: np.ndarray) -> float:
    """Inches of a row of panels: as high as the places are, beside a colour bar."""
    extent = np.ptp(places[np.isfinite(places).all(axis=1)], axis=0) if len(places) else np.ones(2)
    return float(np.clip(2.9 * extent[1] / max(extent[0], 1e-12), 1.2, 3.2))


# ---- what is painted


def graph_from(graph: Any) -> Graph:
    """The graph of what stands for one."""
    return graph.graph if isinstance(graph, Stratification) else as_graph(graph, weights=False)


def places_for(pos: Any, graph: Graph | None, own: np.ndarray | None = None, n: int = 0) -> np.ndarray:
    """Where nodes are drawn: as given, as the result or the graph has it, else by a layout."""
    known = graph or Graph(n, np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64), tuple(range(n)))
    found = given_places(own if pos is None else pos, known)
    if found is None and graph is None:
        raise OptionError("The values do not hold their graph; give graph= or pos=.")
    return node_places(known.edges, known.n_nodes) if found is None else found


def panels_of(values: Any, graph: Graph, snapshot: Any = None, label: str | None = None) -> list[Panel]:
    """One panel for each column of a signal in any form, texts as labels."""
    words = label or str(getattr(values, "name", None) or (values if isinstance(values, str) else ""))
    try:
        signal = as_signal(_one(values, "snapshot", snapshot) if hasattr(values, "dims") else values, graph, texts=True)
    except (SignalTypeError, SignalValueError):
        labels = as_labels(values, graph)
        if not any(isinstance(name, str) for name in labels.classes):
            raise
        return [Panel(words, labels, "")]
    array = signal.values[-1 if snapshot is None else 0]
    width = array.shape[1]
    names = signal.columns or getattr(values, "columns", None)
    titles = [""] if width == 1 and names is None else [f"column {k}" for k in range(width)]
    titles = titles if names is None else [str(name) for name in names]
    found = [Panel(title, array[:, k], words if title in ("", words) else "") for k, title in enumerate(titles[:width])]
    return found + [Panel(str(name), one, "") for name, one in signal.texts]


def _graph_of(ds: "xr.Dataset") -> Graph | None:
    if "edges" not in ds:
        return None
    graph = as_graph(edges=as_pairs(ds["edges"].values), n_nodes=int(ds.attrs["n_nodes"]))
    names = tuple(str(name) for name in ds["node"].values)
    return replace(graph, names=names, named=True) if len(set(names)) == len(names) else graph


def _one(ds: Any, dim: str, wanted: Any, default: int = -1) -> Any:
    """One label of a dimension, where there is such a dimension."""
    if dim not in ds.dims:
        return ds
    labels = ds[dim].values.tolist() if dim in ds.coords else list(range(ds.sizes[dim]))
    at = default if wanted is None else labels.index(style.chosen(labels, dim, wanted)[0])
    return ds.isel({dim: at})


def _in_graph_order(ds: "xr.Dataset") -> "xr.Dataset":
    """Nodes in the order that edges count them."""
    return ds.isel(node=np.argsort(ds["node_row"].values)) if "node_row" in ds.coords else ds


def _of_dataset(ds: "xr.Dataset", hop: Any, snapshot: Any, label: str | None) -> list[Panel]:
    ds = _one(_one(ds, "snapshot", snapshot), "hop", hop, 0)
    if "energy" in ds:
        total = float(ds["total_energy"])
        found = []
        for band in range(ds.sizes["band"]):
            one = ds.isel(band=band)
            low, high = one["band_lower"].item(), one["band_upper"].item()
            share = f": {one['energy'].sum().item() / total:.0%} of the energy" if total > 0 else ""
            title = f"{style.hop_words(one['hop'].item())}, λ in ({low:.3g}, {high:.3g}]{share}"
            found.append(Panel(title, one["energy"].values, label or "energy"))
        return found
    if "decoupling" in ds:
        with np.errstate(divide="ignore"):
            index = np.log2(ds["decoupling"].values)
        index = np.where(np.isfinite(index), index, np.nan)
        return [Panel("structural decoupling", index, label or "log2 of the index")]
    raise OptionError("The Dataset has no values per node; give a result of node_energy or decoupling.")


def nodes(
    values: Any,
    graph: Any = None,
    ax: "Axes | Sequence[Axes] | None" = None,
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
    Values of both signs have a scale that is pale at 0. Every panel has its own colour bar; colours end at the 99th
    percentile of the sizes. Nodes without a number are hollow.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.node_energy(nx.path_graph(4), [0.0, 1.0, 0.0, 1.0], bands=[0, 2, 4])
    >>> [panel.get_title() for panel in st.plot.nodes(ds)]
    ['1 hop, λ in (0, 2]: 7% of the energy', '1 hop, λ in (2, 4]: 43% of the energy']
    """
    own_places = None
    if hasattr(values, "data_vars"):
        values = _in_graph_order(values)
        known = _graph_of(values) if graph is None else graph_from(graph)
        own_places = values["position"].values if "position" in values else None
        panels = _of_dataset(values, hop, snapshot, label)
    elif graph is not None:
        known = graph_from(graph)
        panels = panels_of(values, known, snapshot, label)
    else:
        known, array = None, np.asarray(values)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or array.dtype.kind not in "fiubU":
            raise OptionError(f"The values have shape {array.shape}; give one number, or a row of numbers, per node.")
        titles = [""] if array.shape[1] == 1 else [f"column {k}" for k in range(array.shape[1])]
        texts = array.dtype.kind == "U"
        columns = [coded(column.tolist()) if texts else column.astype(float) for column in array.T]
        panels = [Panel(title, one, label or "") for title, one in zip(titles, columns, strict=True)]
    first = panels[0].values
    places = places_for(pos, known, own_places, len(first.codes if isinstance(first, Labels) else first))
    edges = np.empty((0, 2), dtype=np.int64) if known is None else known.edges
    shown = panels if ax is not None else panels[: style.MAX_PANELS]
    axes = (
        style.new_axes(len(shown), height=panel_height(places))
        if ax is None
        else style.given_axes(ax, len(shown), "panels")
    )
    for panel, one in zip(axes, shown, strict=True):
        paint(panel, places, edges, one)
        panel.set_title(style.plain(one.title), fontsize=9)
    if len(shown) < len(panels):
        style.head(axes, ax is None, f"{style.count(len(panels) - len(shown), 'panel')} of {len(panels)} not drawn")
    return axes


# ---- local likeness


def local(
    ds: "xr.Dataset",
    ax: "Axes | None" = None,
    *,
    hop: Any = None,
    column: Any = None,
    snapshot: Any = None,
    pos: Any = None,
    names: int = 12,
) -> "Axes":
    """Draw a map of the nodes that are like or unlike their neighbours.

    Blue nodes are like their neighbours, orange ones unlike; nodes without a verdict are hollow.

    Parameters
    ----------
    ds : xarray.Dataset
        A result of :func:`spectrata.local`.
    ax : Axes, optional
    hop, column, snapshot : optional
        Which of several; the first hop and column and the last snapshot by default.
    pos : array, mapping from node, DataFrame or path, optional
        Two or three coordinates per node; by default a layout by hop distances.
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
    'Neighbours: 1 of 64 nodes have a verdict'
    """
    if getattr(ds, "attrs", {}).get("kind") != "local":
        raise OptionError("plot.local draws a result of st.local; give one.")
    ds = _one(_one(_one(_in_graph_order(ds), "snapshot", snapshot), "column", column, 0), "hop", hop, 0)
    graph = _graph_of(ds)
    assert graph is not None
    places = places_for(pos, graph)
    ax = style.new_axes(1, height=1.6 * panel_height(places), least=6.4)[0] if ax is None else ax
    verdict, own = ds["verdict"].values.astype(str), style.theme_of(ax)
    size = place_nodes(ax, places, graph.edges)
    words = [word for kind in WORDS.values() for word in kind.values()]
    colors = dict(zip(words, [own.colors[at] for at in (0, 3, 1, 4, 0, 1, 0, 1)], strict=True))
    none = ~np.isin(verdict, words)
    dots(ax, places[none], size, facecolors=own.paper, edgecolors=own.muted, linewidths=0.6, gid="none")
    handles = []
    for word in [word for word in words if (verdict == word).any()]:
        which = verdict == word
        dots(
            ax, places[which], 1.8 * size, linewidths=0.6, color=colors[word], edgecolors=own.paper, zorder=3, gid=word
        )
        handles.append(_dot(f"{word} ({np.count_nonzero(which)})", colors[word]))
    below(ax, [*handles, _dot(f"no verdict ({np.count_nonzero(none)})", own.muted, own.paper)])
    largest = np.argsort(-np.abs(np.nan_to_num(ds["r"].values)))
    for node in [node for node in largest if not none[node]][: names if len(places) <= MANY else 0]:
        write_name(ax, places[node], ds["node"].values[node])
    where = "Neighbours" if ds["hop"].item() == 1 else f"Nodes {style.hop_words(ds['hop'].item())} apart"
    part = f", {ds['column'].item()}" if "column" in ds.coords else ""
    found = len(verdict) - np.count_nonzero(none)
    title = f"{where}{part}: {found} of {len(verdict)} nodes have a verdict"
    ax.set_title(style.plain(title), loc="left", fontsize=10, fontweight="bold")
    return ax


def write_name(ax: "Axes", place: np.ndarray, name: Any) -> None:
    ax.annotate(
        style.plain(name),
        tuple(place),
        xytext=(5, 4),
        textcoords="offset points",
        fontsize=7,
        color=style.theme_of(ax).ink,
        zorder=4,
    )
