"""The strata of a graph: pairs, parts and single nodes per hop, and the graphs themselves when they are small."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import ResultError
from spectrata.plot import style
from spectrata.plot.painting import NAMED, dots, place_nodes, places_for
from spectrata.results.build import graph_of
from spectrata.results.schema import view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 60  # nodes up to which the graphs are drawn
MOST_GRAPHS = 8


def strata(
    source: Any,
    ax: "Axes | Sequence[Axes] | None" = None,
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
    pos : array, mapping from node, DataFrame or path, optional
        Two or three coordinates per node; by default those of the graph, or a layout by hop distances.

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
    import xarray as xr

    if isinstance(source, (xr.Dataset, Mapping)):
        refuse_graph_arguments("A result", hops=hops, weights=weights)
    else:
        source = as_stratification(source, hops, weights=weights)
    n, edges, known, sizes = _sizes(source)
    wanted = n <= SMALL and edges is not None if graphs is None else graphs
    if wanted and edges is None:
        raise ResultError("The result is one of many graphs and has no edges; give its Stratification instead.")
    if ax is not None and graphs is None:
        wanted = np.size(np.array(ax, dtype=object)) > 1
    shown = known[:MOST_GRAPHS] if wanted and ax is None else known if wanted else []
    axes = style.new_axes(1 + len(shown), height=2.5) if ax is None else style.given_axes(ax, 1 + len(shown), "panels")
    note = style.left_out(known, shown) if wanted else ""
    title = ", ".join([style.count(n, "node")] + ([style.count(edges, "edge")] if edges is not None else []))
    _bars(axes[0], known, sizes)
    if wanted:
        strat = (
            source if isinstance(source, Stratification) else Stratification(graph_of(style.as_result(source)), known)
        )
        places = places_for(pos, strat.graph)
        for panel, hop in zip(axes[1:], shown, strict=True):
            _graph(panel, strat.strata.at(hop), places, strat.graph.names)
    style.head(axes, ax is None, "; ".join(filter(None, [title, note])))
    return axes


def _sizes(source: Any) -> tuple[int, int | None, list[Any], np.ndarray]:
    """Nodes and edges of the graph, hops, and pairs, parts and singletons of each, ``(3, H)``.

    The edges are None for one of many graphs, whose result does not keep them.
    """
    if isinstance(source, Stratification):
        rows = [(s.n_edges, s.n_parts, s.n_singletons) for s in source.strata]
        return source.graph.n_nodes, source.graph.n_edges, list(source.hops), np.array(rows).T
    result = view(style.as_result(source))
    sizes = style.hop_sizes(result)
    if sizes.min() < 0:
        raise ResultError(f"{result.name} is of an operator, whose edges and parts are not known.")
    edges = int(result.ds.attrs["n_edges"]) if "edges" in result.ds else None
    return result.n_nodes, edges, list(result.hops), sizes


def _bars(ax: "Axes", hops: list[Any], sizes: np.ndarray) -> None:
    colors = [style.theme_of(ax).colors[at] for at in (0, 4, 2)]
    for row, (values, label) in enumerate(zip(sizes, ("pairs", "parts", "single nodes"), strict=True)):
        places = np.arange(len(hops)) + (row - 1) * 0.27
        ax.bar(places, values, 0.25, color=colors[row], label=label)
        if len(hops) <= 6:
            for x, y in zip(places, values, strict=True):
                ax.text(x, y, f"{y:,}" if y < 10_000 else f"{y / 1000:,.0f}k", ha="center", va="bottom", fontsize=6.5)
    if sizes.max() > 20 * max(1, sizes[1].min()):
        ax.set_yscale("symlog", linthresh=1.0)
    step = max(1, len(hops) // 10)
    spelled = len(hops) <= 4 or isinstance(hops[0], str)
    names = [style.hop_words(hop) if spelled else str(hop) for hop in hops[::step]]
    ax.set_xticks(np.arange(0, len(hops), step), names)
    if not spelled:
        ax.set_xlabel("hops apart", fontsize=9)
    ax.set_ylabel("count", fontsize=9)
    ax.margins(y=0.25)  # room for the legend above the bars
    ax.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", columnspacing=1.0)
    style.tidy(ax)


def _graph(ax: "Axes", stratum: Any, places: np.ndarray, names: Sequence[Any]) -> None:
    alone, own = stratum.counts == 0, style.theme_of(ax)
    size = 1.6 * place_nodes(ax, places, stratum.edges)
    for which, face, gid in ((~alone, own.colors[3], "joined"), (alone, own.paper, "single")):
        look: dict[str, Any] = {"color": face, "edgecolors": own.muted, "linewidths": 0.8, "gid": gid}
        dots(ax, places[which], size, **look)
    if len(places) <= NAMED:
        for (x, y), name, single in zip(places, names, alone, strict=True):
            text, ink = style.plain(name), own.ink if single else "black"
            short = text if len(text) <= 4 else text[:3] + "…"
            ax.text(x, y, short, ha="center", va="center", fontsize=7, color=ink, zorder=3)
    ax.set_title(style.hop_title(stratum.hop, (stratum.n_edges, stratum.n_parts, stratum.n_singletons)), fontsize=9)
