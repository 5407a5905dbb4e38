"""The strata of a graph: sizes per hop, and the graphs themselves when they are small."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import ResultError
from spectrata.plot.places import given_places, node_places
from spectrata.plot.style import (
    GREY,
    PALETTE,
    as_result,
    count,
    given_axes,
    hop_sizes,
    hop_title,
    left_out,
    plain,
    tidy,
)
from spectrata.results.build import graph_of
from spectrata.results.schema import view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 60  # nodes up to which the graphs are drawn
NAMED = 30  # nodes up to which they carry their names
MOST_GRAPHS = 8
LEAST_SPAN = 0.6  # of a panel, whose longer side is 2


def strata(
    source: Any,
    ax: "Axes | Sequence[Axes] | None" = None,
    *,
    hops: int | Iterable[int] | None = None,
    weights: Any = None,
    hop_weights: str = "bottleneck",
    undirected: bool = False,
    graphs: bool | None = None,
    pos: Any = None,
) -> np.ndarray:
    """Draw the sizes of the strata, and the strata as graphs when they are small.

    Parameters
    ----------
    source : Dataset, Stratification, or a graph in any form
    ax : Axes or sequence of Axes, optional
        One for the sizes; one more for each hop to draw the graphs on.
    hops, weights, hop_weights, undirected
        How a graph is read, as for :func:`spectrata.spectra`; a result and a Stratification have their own.
    graphs : bool, optional
        Whether the graphs are drawn: by themselves for up to 60 nodes.
    pos : array, mapping from node, DataFrame or path, optional
        Where nodes are drawn: two or three coordinates each, of which the first two count. By default where the graph
        places them, else by a layout.

    Returns
    -------
    ndarray of Axes
        The sizes first, then a panel per hop.

    Examples
    --------
    >>> import networkx as nx, spectrata as st
    >>> axes = st.plot.strata(st.Stratification(nx.cycle_graph(6)))
    >>> [panel.get_title() for panel in axes]
    ['6 nodes, 6 edges', 'K = 1: 6 edges, 1 part', 'K = 2: 6 edges, 2 parts', 'K = 3: 3 edges, 3 parts']
    """
    import xarray as xr

    read_as = {"hops": hops, "weights": weights, "hop_weights": hop_weights, "undirected": undirected}
    if isinstance(source, (xr.Dataset, Mapping)):
        refuse_graph_arguments("A result", **read_as)
    else:
        source = as_stratification(source, **read_as)
    n, edges, known, sizes = _sizes(source)
    given = None if ax is None else np.array(ax, dtype=object).ravel()
    wanted = n <= SMALL and edges is not None if graphs is None else graphs
    if wanted and edges is None:
        raise ResultError("The result is one of many graphs and has no edges; give its Stratification instead.")
    if given is not None and graphs is None:
        wanted = len(given) > 1
    shown = known[:MOST_GRAPHS] if wanted and given is None else known if wanted else []
    axes = _axes(len(shown)) if given is None else given_axes(given, 1 + len(shown), "panels")
    note = left_out(known, shown) if wanted else ""
    title = ", ".join([count(n, "node")] + ([count(edges, "edge")] if edges is not None else []))
    title += f"\n{note}" if note else ""
    _bars(axes[0], known, sizes, n, title)
    if wanted:
        strat = source if isinstance(source, Stratification) else Stratification(graph_of(as_result(source)), known)
        places = given_places(pos, strat.graph)
        places = node_places(strat.graph.edges, n) if places is None else places
        for panel, hop in zip(axes[1:], shown, strict=True):
            _graph(panel, strat.strata.at(hop), places, strat.graph.names)
    return axes


def _sizes(source: Any) -> tuple[int, int | None, list[int], np.ndarray]:
    """Nodes and edges of the graph, hops, and edges, parts and singletons of each, ``(3, H)``.

    The edges are None for one of many graphs, whose result does not keep them.
    """
    if isinstance(source, Stratification):
        rows = [(s.n_edges, s.n_parts, s.n_singletons) for s in source.strata]
        return source.graph.n_nodes, source.graph.n_edges, list(source.hops), np.array(rows).T
    result = view(as_result(source))
    sizes = hop_sizes(result)
    if sizes.min() < 0:
        raise ResultError(f"{result.name} is of an operator, whose edges and parts are not known.")
    edges = int(result.ds.attrs["n_edges"]) if "edges" in result.ds else None
    return result.n_nodes, edges, list(result.hops), sizes


def _bars(ax: "Axes", hops: list[int], sizes: np.ndarray, n: int, title: str) -> None:
    labels = ("edges", "parts", "single nodes")
    for row, (values, label) in enumerate(zip(sizes, labels, strict=True)):
        places = np.arange(len(hops)) + (row - 1) * 0.27
        ax.bar(places, values, 0.25, color=(PALETTE[0], PALETTE[4], PALETTE[2])[row], label=label)
        if len(hops) <= 8:
            for x, y in zip(places, values, strict=True):
                ax.text(x, y, f"{y:,}" if y < 10_000 else f"{y / 1000:,.0f}k", ha="center", va="bottom", fontsize=6.5)
    if sizes.max() > 20 * max(1, sizes[1].min()):
        ax.set_yscale("symlog", linthresh=1.0)
    step = max(1, len(hops) // 15)
    ax.set_xticks(np.arange(0, len(hops), step), [f"{hop}" for hop in hops[::step]])
    ax.set_xlabel("hop distance K", fontsize=9)
    ax.set_ylabel("count", fontsize=9)
    ax.set_title(title, fontsize=9)
    ax.margins(y=0.25)  # room for the legend above the bars
    ax.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", columnspacing=1.0)
    tidy(ax)


def _axes(graphs: int) -> np.ndarray:
    from matplotlib.figure import Figure

    columns = 3 if graphs > 3 or graphs == 2 else max(1, 1 + graphs) if graphs < 2 else 2
    panels = 1 + graphs
    rows = -(-panels // columns)
    figure = Figure(figsize=(max(5.6, 3.6 * columns), 3.0 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[panels:]:
        unused.remove()
    return axes[:panels]


def _graph(ax: "Axes", stratum: Any, places: np.ndarray, names: Sequence[Any]) -> None:
    from matplotlib.collections import LineCollection

    alone = stratum.counts == 0
    ax.add_collection(LineCollection(places[stratum.edges], colors=GREY, linewidths=0.7, alpha=0.6, zorder=1))
    big = len(places) <= NAMED
    for chosen, face in ((~alone, PALETTE[3]), (alone, ax.get_facecolor())):
        ax.scatter(
            places[chosen, 0],
            places[chosen, 1],
            s=120 if big else 20,
            color=face,
            edgecolors=GREY,
            linewidths=0.8,
            zorder=2,
            gid="joined" if face == PALETTE[3] else "single",
        )
    if big:
        from matplotlib import rcParams

        for (x, y), name, single in zip(places, names, alone, strict=True):
            text, ink = plain(name), rcParams["text.color"] if single else "black"
            short = text if len(text) <= 4 else text[:3] + "…"
            ax.text(x, y, short, ha="center", va="center", fontsize=7, color=ink, zorder=3)
    sizes = (stratum.n_edges, stratum.n_parts, stratum.n_singletons)
    ax.set_title(hop_title(stratum.hop, sizes), fontsize=9)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.margins(0.12)
    for limits, setter in ((ax.get_xlim(), ax.set_xlim), (ax.get_ylim(), ax.set_ylim)):
        if limits[1] - limits[0] < LEAST_SPAN:  # a path is a line: leave room for its nodes and title
            setter(sum(limits) / 2 - LEAST_SPAN / 2, sum(limits) / 2 + LEAST_SPAN / 2)
