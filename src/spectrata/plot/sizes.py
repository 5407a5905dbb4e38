"""The strata of a graph: pairs, parts and single nodes per hop, and the graphs themselves when they are small."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectrata.core.spectra import as_stratification, refuse_graph_arguments
from spectrata.core.stratification import Stratification
from spectrata.errors import ResultError
from spectrata.plot import style
from spectrata.plot.painting import NAMED, dots, place_nodes, places_for
from spectrata.plot.reading import as_result, hop_sizes, hop_title
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
    if isinstance(source, Mapping):  # a Dataset is one
        refuse_graph_arguments("A result", hops=hops, weights=weights)
        result = view(as_result(source))
        n, known, sizes, strat = result.n_nodes, list(result.hops), hop_sizes(result), None
        if sizes.min() < 0:
            raise ResultError(f"{result.name} is of an operator, whose edges and parts are not known.")
        drawable = "edges" in result.ds  # one of many graphs has none
        edges = result.ds.attrs.get("n_edges") if drawable else None
    else:
        strat = as_stratification(source, hops, weights=weights)
        n, edges, known, drawable = strat.graph.n_nodes, strat.graph.n_edges, list(strat.hops), True
        sizes = np.array([(one.n_edges, one.n_parts, one.n_singletons) for one in strat.strata]).T
    wanted = n <= SMALL and drawable if graphs is None else graphs
    if wanted and not drawable:
        raise ResultError("The result is one of many graphs and has no edges; give its Stratification instead.")
    if ax is not None and graphs is None:
        wanted = np.size(np.array(ax, dtype=object)) > 1
    shown = (known if ax is not None else known[:MOST_GRAPHS]) if wanted else []
    sheet = style.Sheet(ax, 1 + len(shown))
    _bars(sheet.ax, known, sizes)
    if wanted:
        strat = strat or Stratification(graph_of(result.ds), known)
        places = places_for(pos, strat.graph)
        for panel, hop in zip(sheet.axes[1:], shown, strict=True):
            _graph(panel, strat.strata.at(hop), places, strat.graph.names)
    rest = f"the first {len(shown)} of {len(known)} hops drawn" if 0 < len(shown) < len(known) else ""
    size = [style.count(n, "node")] + ([style.count(int(edges), "edge")] if edges is not None else [])
    sheet.title(", ".join(size), rest)
    return sheet.axes


def _bars(ax: "Axes", hops: list[Any], sizes: np.ndarray) -> None:
    colors = [style.theme_of(ax).colors[at] for at in (0, 4, 2)]
    for row, (values, label) in enumerate(zip(sizes, ("pairs", "parts", "single nodes"), strict=True)):
        bars = ax.bar(np.arange(len(hops)) + (row - 1) * 0.27, values, 0.25, color=colors[row], label=label)
        if len(hops) <= 6:
            words = [f"{value:,}" if value < 10_000 else f"{value / 1000:,.0f}k" for value in values]
            ax.bar_label(bars, words, fontsize=6.5)
    if sizes.max() > 20 * max(1, sizes[1].min()):
        ax.set_yscale("symlog", linthresh=1.0)
    at, spelled = style.thinned(len(hops), 12), len(hops) <= 4 or isinstance(hops[0], str)
    ax.set_xticks(at, [style.hop_words(hops[one]) if spelled else str(hops[one]) for one in at])
    ax.set_xlabel("" if spelled else "hops apart", fontsize=9)
    ax.set_ylabel("count", fontsize=9)
    ax.margins(y=0.25)  # room for the legend above the bars
    ax.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", columnspacing=1.0)
    style.tidy(ax)


def _graph(ax: "Axes", stratum: Any, places: np.ndarray, names: Sequence[Any]) -> None:
    alone, theme = stratum.counts == 0, style.theme_of(ax)
    size = 1.6 * place_nodes(ax, places, stratum.edges)
    for which, face, gid in ((~alone, theme.colors[3], "joined"), (alone, theme.paper, "single")):
        dots(ax, places[which], size, color=face, edgecolors=theme.muted, linewidths=0.8, gid=gid)
    for place, name, single in zip(places, names, alone, strict=True) if len(places) <= NAMED else ():
        text, ink = style.plain(name), theme.ink if single else "black"
        short = text if len(text) <= 4 else text[:3] + "…"
        ax.text(place[0], place[1], short, ha="center", va="center", fontsize=7, color=ink, zorder=3)
    ax.set_title(hop_title(stratum.hop, (stratum.n_edges, stratum.n_parts, stratum.n_singletons)), fontsize=9)
