"""Values painted on the nodes of a graph: energies per band, filtered signals, any number per node."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.errors import OptionError
from spectrata.inputs.graphs import Graph, as_graph, as_pairs
from spectrata.inputs.signals import as_signal
from spectrata.plot.places import given_places, node_places
from spectrata.plot.style import GREY, MAP, MAX_PANELS, chosen, count, given_axes, new_axes, plain, write_in

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

SIGNED = "RdBu_r"
MOST_EDGES = 20_000  # more would be one grey patch
RASTER = 2000  # nodes from which a vector file holds a picture of them instead
TOP = 0.99  # colours reach their end at this quantile of the sizes: one node would pale all the rest


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
        What :func:`spectrata.node_energy` gives (a panel for each band), what
        :func:`spectrata.decoupling` gives (the base-2 logarithm of the index), what
        :func:`spectrata.filter_signal` gives, or one number per node and column.
    graph : graph-like, optional
        Needed for values that do not hold their graph, unless ``pos`` is given.
    ax : Axes or sequence of Axes, optional
        One for each panel.
    pos : array, mapping from node, DataFrame or path, optional
        Two or three coordinates per node; by default those of the graph, or a layout by hop distances.
    hop, snapshot : optional
        Which of several; the first hop and the last snapshot by default.
    label : str, optional
        What the numbers are, for the colour bar.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Notes
    -----
    Values of both signs have a scale that is white at 0. Every panel has its own colour bar; colours end at the 99th
    percentile of the sizes. Nodes without a number are hollow.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> ds = st.node_energy(nx.path_graph(4), [0.0, 1.0, 0.0, 1.0], bands=[0, 2, 4])
    >>> [panel.get_title() for panel in st.plot.nodes(ds)]
    ['K = 1, (0, 2], 7% of the energy', 'K = 1, (2, 4], 43% of the energy']
    """
    known, own_places, panels = _panels(values, graph, hop, snapshot, label)
    places = given_places(pos, known) if known is not None else None
    if places is None and own_places is not None and pos is None:
        places = given_places(own_places, known or _only_nodes(len(own_places)))
    if places is None and known is None:
        if pos is None:
            raise OptionError("The values do not hold their graph; give graph= or pos=.")
        places = given_places(pos, _only_nodes(len(panels[0][1])))
    edges = np.empty((0, 2), dtype=np.int64) if known is None else known.edges
    if places is None:
        assert known is not None
        places = node_places(edges, known.n_nodes)
    shown = panels if ax is not None else panels[:MAX_PANELS]
    axes = new_axes(len(shown), height=_height(places)) if ax is None else given_axes(ax, len(shown), "panels")
    for panel, (title, numbers, words) in zip(axes, shown, strict=True):
        _paint(panel, places, edges, numbers, words)
        panel.set_title(plain(title), fontsize=9)
    if len(shown) < len(panels):
        axes[0].figure.suptitle(f"{count(len(panels) - len(shown), 'panel')} of {len(panels)} not drawn", fontsize=9)
    return axes


def _height(places: np.ndarray) -> float:
    """Inches of a row of panels: as high as the places are, beside a colour bar."""
    extent = np.ptp(places[np.isfinite(places).all(axis=1)], axis=0) if len(places) else np.ones(2)
    return float(np.clip(2.7 * extent[1] / max(extent[0], 1e-12), 1.2, 3.0))


Panel = tuple[str, np.ndarray, str]  # title, values (n,), words of the colour bar


def _panels(
    values: Any, graph: Any, hop: Any, snapshot: Any, label: str | None
) -> tuple[Graph | None, np.ndarray | None, list[Panel]]:
    """The graph where it is known, the places a Dataset holds, and what each panel shows."""
    if hasattr(values, "data_vars"):
        if "node_row" in values.coords:  # edges name rows
            values = values.isel(node=np.argsort(values["node_row"].values))
        known = _graph_of(values) if graph is None else as_graph(graph)
        places = values["position"].values if "position" in values else None
        return known, places, _of_dataset(values, hop, snapshot, label)
    known = None if graph is None else as_graph(graph)
    given = _one(values, "snapshot", snapshot) if hasattr(values, "dims") else values
    name = label or str(getattr(values, "name", None) or "value")
    if known is None:
        array = np.asarray(given, dtype=float)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2:
            raise OptionError(f"The values have shape {array.shape}; give one number, or a row of numbers, per node.")
        titles = [""] if array.shape[1] == 1 else [f"column {k}" for k in range(array.shape[1])]
    else:
        signal = as_signal(given, known)
        array = signal.values[-1 if snapshot is None else 0]
        names = signal.columns or getattr(values, "columns", None)
        plain_names = [""] if array.shape[1] == 1 else [f"column {k}" for k in range(array.shape[1])]
        titles = plain_names if names is None else [str(name) for name in names]
    return known, None, [(title, array[:, k], name) for k, title in enumerate(titles)]


def _graph_of(ds: "xr.Dataset") -> Graph | None:
    if "edges" not in ds:
        return None
    from dataclasses import replace

    graph = as_graph(edges=as_pairs(ds["edges"].values), n_nodes=int(ds.attrs["n_nodes"]))
    names = tuple(str(name) for name in ds["node"].values)
    return replace(graph, names=names, named=True) if len(set(names)) == len(names) else graph


def _only_nodes(n: int) -> Graph:
    return Graph(n, np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64), tuple(range(n)))


def _one(ds: Any, dim: str, wanted: Any, default: int = -1) -> Any:
    """One label of a dimension, where there is such a dimension."""
    if dim not in ds.dims:
        return ds
    labels = ds[dim].values.tolist() if dim in ds.coords else list(range(ds.sizes[dim]))
    at = default if wanted is None else labels.index(chosen(labels, dim, wanted)[0])
    return ds.isel({dim: at})


def _of_dataset(ds: "xr.Dataset", hop: Any, snapshot: Any, label: str | None) -> list[Panel]:
    ds = _one(_one(ds, "snapshot", snapshot), "hop", hop, 0)
    if "energy" in ds:
        total = float(ds["total_energy"])
        found = []
        for band in range(ds.sizes["band"]):
            one = ds.isel(band=band)
            low, high = one["band_lower"].item(), one["band_upper"].item()
            share = f", {one['energy'].sum().item() / total:.0%} of the energy" if total > 0 else ""
            found.append(
                (f"K = {one['hop'].item()}, ({low:.3g}, {high:.3g}]{share}", one["energy"].values, label or "energy")
            )
        return found
    if "decoupling" in ds:
        with np.errstate(divide="ignore"):
            index = np.log2(ds["decoupling"].values)
        return [("structural decoupling", np.where(np.isfinite(index), index, np.nan), label or "log2 of the index")]
    raise OptionError("The Dataset has no values per node; give what node_energy or decoupling gives.")


def _paint(ax: "Axes", places: np.ndarray, edges: np.ndarray, values: np.ndarray, words: str) -> None:
    from matplotlib.collections import LineCollection

    if len(places) != len(values):
        raise OptionError(f"There are {len(values)} values and {len(places)} places; give one of each per node.")
    n = len(places)
    ax.set_axis_off()
    ax.set_aspect("equal")
    for limits, column in ((ax.set_xlim, places[:, 0]), (ax.set_ylim, places[:, 1])):
        limits(column.min() - 0.08, column.max() + 0.08)
    there = np.isfinite(values)
    if not there.any():
        write_in(ax, "no node has a number")
        return
    if len(edges) <= MOST_EDGES:
        ax.add_collection(
            LineCollection(
                places[edges],
                colors=GREY,
                linewidths=0.5 if n <= 300 else 0.25,
                alpha=0.35 if n <= 300 else 0.2,
                zorder=1,
                rasterized=len(edges) > RASTER,
            ),
            autolim=False,
        )
    size = float(np.clip(12_000.0 / n, 4.0, 60.0))
    signed = bool((values[there] < 0).any())
    top = float(np.quantile(np.abs(values[there]), TOP)) or float(np.abs(values[there]).max()) or 1.0
    # The largest lie on top: they are what is looked for.
    order = np.flatnonzero(there)[np.argsort(np.abs(values[there]), kind="stable")]
    drawn = ax.scatter(
        places[order, 0],
        places[order, 1],
        c=values[order],
        s=size,
        cmap=SIGNED if signed else MAP,
        vmin=-top if signed else 0.0,
        vmax=top,
        linewidths=0.3 if n <= 300 else 0.0,
        edgecolors=GREY,
        zorder=2,
        gid="nodes",
        rasterized=n > RASTER,
    )
    if not there.all():
        ax.scatter(
            places[~there, 0], places[~there, 1], s=size, facecolors="none", edgecolors=GREY, linewidths=0.5, zorder=2
        )
    beyond = bool((np.abs(values[there]) > top).any())
    extend = "neither" if not beyond else "both" if signed else "max"
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.04, pad=0.01, shrink=0.8, extend=extend)
    bar.ax.tick_params(labelsize=7)
    bar.set_label(plain(words), fontsize=8)
