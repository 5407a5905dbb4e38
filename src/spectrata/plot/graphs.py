"""Graphs as panels: nodes where their vectors are, and the strata with their sizes."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import OptionError, ResultError
from spectrata.inputs.labels import coded
from spectrata.plot import style
from spectrata.plot.painting import NAMED, Panel, draw_panels, groups, paint, place_nodes, places_for, write_names
from spectrata.plot.positions import directions, node_places, two_axes
from spectrata.plot.reading import as_result, chosen_rows, hop_sizes, hop_title, row_names
from spectrata.results.build import graph_of
from spectrata.results.schema import view

SMALL = 60  # nodes up to which the strata are drawn as graphs
MOST_GRAPHS = 8


def embedding(
    ds: xr.Dataset, ax: style.Given = None, *, snapshots: Iterable[Any] | None = None, color: Any = None
) -> np.ndarray:
    """Draw the nodes where their vectors are, one panel per snapshot, with the edges of the graph.

    More than two columns are seen along their first two principal axes, the same for all snapshots; under the angular
    metric vectors are taken as directions. One number per node is painted on the graph.

    Parameters
    ----------
    ds : xarray.Dataset
        A result that kept its signal (by itself up to 200 nodes, else with ``keep=["signal"]``).
    ax : Axes or sequence of Axes, optional
        One for each snapshot drawn.
    snapshots : optional
        Which; by default first, middle and last.
    color : array_like, shape (n,), optional
        A number or a label for each node.

    Returns
    -------
    ndarray of Axes, shape (panels,)

    Examples
    --------
    >>> import networkx as nx, numpy as np, spectrata as st
    >>> values = np.random.default_rng(0).normal(size=(4, 5, 2))
    >>> axes = st.plot.embedding(st.spectra(nx.path_graph(5), values))
    >>> [panel.get_title() for panel in axes]
    ['snapshot 0', 'snapshot 2', 'snapshot 3']
    """
    result = view(as_result(ds))
    values, moments = result.signal, row_names(result)
    if values is None:
        raise OptionError("The result did not keep its signal; compute it with keep=['signal'].")
    graph, n = graph_of(result.ds), values.shape[1]
    first = sorted({0, len(moments) // 2, len(moments) - 1})
    shown = first if snapshots is None or result.rows is None else chosen_rows(result, snapshots)
    titles = [f"{result.row_dims[0]} {moments[index]}" if result.row_dims else "" for index in shown]
    colors: Any = None if color is None else np.asarray(color)
    if color is not None and colors.shape != (n,):
        raise OptionError(f"color has shape {colors.shape}; give one number or label for each of the {n} nodes.")
    if color is not None and colors.dtype.kind != "f":
        colors = coded(colors.tolist())
    if values.shape[2] == 1:
        words = str((result.column_names or ("value",))[0])
        own = [values[index, :, 0] if colors is None else colors for index in shown]
        panels = [Panel(title, one, words) for title, one in zip(titles, own, strict=True)]
        return draw_panels(panels, node_places(graph.edges, n), graph, ax, len(panels), "snapshots")
    places, words = two_axes(directions(values, result.metric), result.column_names)
    sheet = style.Sheet(ax, len(shown), "snapshots", height=3.2)
    ends = np.array([f(places[shown], (0, 1), initial=0.0) for f in (np.nanmin, np.nanmax)])  # (2, 2)
    ends += np.array([[-0.06], [0.06]]) * max(1e-9, np.ptp(ends, axis=0).max())
    handles: list[Any] = []
    for panel, index, title in zip(sheet.axes, shown, titles, strict=True):
        known = np.isfinite(places[index]).all(axis=1)
        if known.any():
            place_nodes(panel, places[index], graph.edges[known[graph.edges].all(axis=1)])
            size = float(np.clip(2_500.0 / n, 4.0, 60.0))  # the same in all panels
            handles = paint(panel, places[index], graph.edges, Panel("", colors), size)
            write_names(panel, places[index], graph.names, np.flatnonzero(known) if n <= NAMED else [])
        else:
            style.write_in(panel, "undefined: zero vector")
        panel.set_axis_on()
        panel.set(xlim=ends[:, 0], ylim=ends[:, 1])
        panel.set_aspect("equal", adjustable="box")
        panel.locator_params(nbins=5)
        panel.set_title(style.plain(title), fontsize=9)
    sheet.ax.set_xlabel(style.plain(words), fontsize=8, loc="left")
    sheet.legend(handles)
    return sheet.axes


def strata(
    source: Any,
    ax: style.Given = None,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    graphs: bool | None = None,
    pos: Any = None,
) -> np.ndarray:
    """Draw the sizes of the strata, and the strata as graphs when they are small.

    Parameters
    ----------
    source : Dataset, Stratification, or a graph in any form
    ax : Axes or sequence of Axes, optional
        One for the sizes; one more for each hop to draw the graphs on.
    hops, weights
        How a graph is read, as for :func:`spectrata.spectra`; a result and a Stratification have their own.
    graphs : bool, optional
        Whether the graphs are drawn: by themselves for up to 60 nodes.
    pos
        As for :func:`nodes`.

    Returns
    -------
    ndarray of Axes
        The sizes first, then a panel per hop.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> axes = st.plot.strata(st.Stratification(nx.cycle_graph(6)))
    >>> [panel.get_title() for panel in axes[1:]]
    ['1 hop: 6 pairs', '2 hops: 6 pairs, 2 parts', '3 hops: 3 pairs, 3 parts']
    """
    graph, strat = None, None
    if isinstance(source, Mapping):  # a Dataset is one
        refuse_graph_arguments("A result", hops=hops, weights=weights)
        result = view(as_result(source))
        n, known = result.n_nodes, list(result.hops)
        sizes = [hop_sizes(result, hop) for hop in known]
        if np.min(sizes) < 0:
            raise ResultError(f"{result.name} is of an operator, whose edges and parts are not known.")
        graph = graph_of(result.ds) if "edges" in result.ds else None
    else:
        strat = as_stratification(source, hops, weights=weights)
        graph, n, known = strat.graph, strat.graph.n_nodes, list(strat.hops)
        sizes = [[one.n_edges, one.n_parts, one.n_singletons] for one in strat.strata]
    if graphs and graph is None:
        raise ResultError("The result is one of many graphs and has no edges; give its Stratification instead.")
    if graphs is None:
        graphs = n <= SMALL and graph is not None if ax is None else np.size(np.array(ax, dtype=object)) > 1
    shown = known[: MOST_GRAPHS if ax is None else None] if graphs else []
    sheet = style.Sheet(ax, 1 + len(shown))
    _bars(sheet.ax, known, np.transpose(sizes))
    if graph is not None and shown:
        strat, places = strat or Stratification(graph, known), places_for(pos, graph)
        for panel, hop in zip(sheet.axes[1:], shown, strict=True):
            stratum = strat.strata.at(hop)
            alone, size = stratum.counts == 0, place_nodes(panel, places, stratum.edges)
            groups(panel, places, 1.6 * size, [("joined", ~alone, sheet.theme.colors[3]), ("single", alone, "")])
            write_names(panel, places, graph.names)
            panel.set_title(hop_title(hop, sizes[known.index(hop)]), fontsize=9)
    rest = f"the first {len(shown)} of {len(known)} hops drawn" if 0 < len(shown) < len(known) else ""
    edges = style.count(graph.n_edges, "edge") if graph is not None else ""
    sheet.title(", ".join(filter(None, [style.count(n, "node"), edges])), rest)
    return sheet.axes


def _bars(ax: Axes, hops: list[Any], sizes: np.ndarray) -> None:
    """Bars of each hop: edges, parts and singletons."""
    colors, place = style.theme_of(ax).colors, np.arange(len(hops)) - 0.27
    for values, label, color in zip(sizes, ("pairs", "parts", "single nodes"), (0, 4, 2), strict=True):
        bars = ax.bar(place, values, 0.25, color=colors[color], label=label)
        place = place + 0.27
        if len(hops) <= 6:
            ax.bar_label(bars, [f"{x:,}" if x < 10_000 else f"{x / 1000:,.0f}k" for x in values], fontsize=6.5)
    if sizes.max() > 20 * max(1, sizes[1].min()):
        ax.set_yscale("symlog", linthresh=1.0)
    style.fit_ticks(ax, [style.hop_words(hop) if len(hops) <= 4 else hop for hop in hops])
    ax.set_xlabel("" if len(hops) <= 4 else "hops apart", fontsize=9)
    ax.set_ylabel("count", fontsize=9)
    ax.margins(y=0.25)  # room for the legend above the bars
    ax.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", columnspacing=1.0)
