"""Draw `docs/images/hero.png`, the picture of the first page: `python docs/draw/hero.py`.

The numbers are those that the first block of README.md prints: r of the karate club's sides at hops 1 to 4.
"""

from pathlib import Path
from typing import Any

import networkx as nx
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import spectrata as st

PICTURE = Path(__file__).parents[1] / "images" / "hero.png"
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#595959"
COLOURS = {"alike": BLUE, "unlike": ORANGE}
INCHES, DPI = (8.4, 3.4), 150  # text of 10 points can still be read at the width of a phone


def example() -> tuple[nx.Graph, xr.Dataset]:
    """The karate club, and the correlation between members K hops apart."""
    graph = nx.karate_club_graph()
    return graph, st.correlogram(graph, "club", hops=4, weights=False)


def draw() -> Figure:
    """The club on the left, the correlogram of its two sides on the right."""
    graph, found = example()
    figure = Figure(INCHES, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[0.75, 1])
    _network(left, graph)
    _likeness(right, found)
    return figure


def _title(ax: Axes, words: str, below: str) -> None:
    ax.set_title(words, loc="left", fontsize=12, fontweight="bold", pad=24)
    ax.text(0, 1.035, below, transform=ax.transAxes, fontsize=9.5, color=GREY)


def _network(ax: Axes, graph: nx.Graph) -> None:
    places = nx.kamada_kawai_layout(graph, weight=None)
    colours = [ORANGE if graph.nodes[node]["club"] == "Officer" else BLUE for node in graph]
    how: dict[str, Any] = {"ax": ax, "edgecolors": "white", "linewidths": 1, "node_size": 110}
    nx.draw_networkx_edges(graph, places, ax=ax, edge_color="#c8c8c8", width=0.9)
    nx.draw_networkx_nodes(graph, places, node_color=colours, **how)
    ax.set_axis_off()
    _title(ax, "A network, one value per node", "karate club: who left with the officer")


def _likeness(ax: Axes, found: xr.Dataset) -> None:
    ax.axhline(0, color=GREY, linewidth=0.8)
    for hop in found["hop"].values.tolist():
        one = found.sel(hop=hop)
        r, verdict = float(one["r"]), str(one["verdict"].values)
        low, high = float(one["chance_low"]), float(one["chance_high"])
        colour = COLOURS.get(verdict, GREY)
        ax.bar(hop, high - low, 0.7, low, color="#d5d9de", zorder=0)
        ax.vlines(hop, 0, r, color=colour, linewidth=2.5)
        ax.plot(hop, r, "o", color=colour, markersize=9, markerfacecolor=colour if verdict in COLOURS else "white")
        side = 1 if r > 0 else -1
        words = f"{r:+.2f}".replace("-", "\N{MINUS SIGN}")
        ax.annotate(
            f"{words}\n{verdict}" if side < 0 else f"{verdict}\n{words}",
            (hop, r),
            xytext=(0, side * 8),
            textcoords="offset points",
            ha="center",
            va="bottom" if side > 0 else "top",
            color=colour,
            fontsize=10,
            fontweight="bold",
        )
    ax.set(xlim=(0.4, len(found["hop"]) + 0.6), ylim=(-1.5, 1.3), yticks=[-1, 0, 1])
    ax.set_xticks(found["hop"].values, [f"{hop} hop{'s' if hop > 1 else ''}" for hop in found["hop"].values])
    ax.spines[["top", "right"]].set_visible(False)
    _title(ax, "How far does likeness reach?", "correlation of members K hops apart (grey: chance)")


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=DPI)
