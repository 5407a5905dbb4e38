"""Draw `docs/images/hero.png`, the picture of the first page: `python docs/draw/hero.py`.

A signal of communities and noise goes through layers of neighbourhood averaging, the linear part of a graph
convolutional network. The first layers remove the noise; too many leave one value for all nodes.
"""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import CenteredNorm, LogNorm
from matplotlib.figure import Figure

import spectrata as st

PICTURE = Path(__file__).parents[1] / "images" / "hero.png"
LAYERS, SHOWN = 64, {0: "input", 4: "layer 4", 64: "layer 64"}
HOPS, BANDS = 3, 8
OPERATOR = {"laplacian": "random_walk", "self_loops": True}  # what a layer averages over: neighbours and the node
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#595959"
INCHES, DPI = (8.4, 6.1), 150  # text of 13 points can still be read at the width of a phone


def example() -> tuple[nx.Graph, np.ndarray]:
    """A graph of four communities, and a signal after 0 to 64 layers: ``(65, n)``."""
    graph = nx.planted_partition_graph(4, 30, 0.22, 0.012, seed=4)
    graph = nx.convert_node_labels_to_integers(graph.subgraph(max(nx.connected_components(graph), key=len)))
    levels = np.array([-2.0, 1.4, -0.6, 2.2])[[graph.nodes[node]["block"] for node in graph]]
    signal = 1.0 + levels + 1.6 * np.random.default_rng(1).normal(size=len(graph))
    adjacency = nx.to_numpy_array(graph, weight=None) + np.eye(len(graph))
    average = adjacency / adjacency.sum(axis=1, keepdims=True)
    layers = [signal]
    for _ in range(LAYERS):
        layers.append(average @ layers[-1])
    return graph, np.array(layers)


def draw() -> Figure:
    """The figure: the signal on the graph, its energy over chance, and two curves."""
    graph, layers = example()
    strat = st.Stratification(graph, hops=HOPS)
    chosen = list(SHOWN)
    judged = st.calibrate(strat.using(**OPERATOR), layers[chosen][:, :, None], draws=0, level="band", bands=BANDS)
    share = st.off_zero(strat.spectra(layers[:, :, None], algorithms="gft", **OPERATOR)).sel(hop=1).values
    likeness = st.correlogram(graph, layers[chosen][:, :, None], draws=0)

    figure = Figure(figsize=INCHES, facecolor="white", layout="constrained")
    figure.get_layout_engine().set(rect=(0.01, 0.015, 0.98, 0.97))
    rows = figure.subfigures(3, 1, height_ratios=[1.5, 1.0, 1.2])
    places = nx.spring_layout(graph, seed=7, iterations=300)
    _graphs(rows[0].subplots(1, 3), graph, places, layers[chosen])
    _maps(rows[1], judged["ratio"].sel(algorithm="gft").values)
    left, right = rows[2].subplots(1, 2)
    _decay(left, share)
    _likeness(right, likeness["hop"].values, likeness["r"].transpose("snapshot", "hop").values)
    return figure


def _graphs(axes: Any, graph: nx.Graph, places: dict[int, np.ndarray], signals: np.ndarray) -> None:
    """The signal painted on the graph, one scale for all layers."""
    norm = CenteredNorm(signals[0].mean(), 3.0)
    words = ("communities and noise", "communities", "over-smoothed")
    for ax, signal, name, what in zip(axes, signals, SHOWN.values(), words, strict=True):
        edges = nx.draw_networkx_edges(graph, places, ax=ax, edge_color="#b0b0b0", width=0.5)
        edges.set_zorder(1)
        xy = np.array([places[node] for node in graph])
        ax.scatter(*xy.T, c=signal, cmap="RdBu_r", norm=norm, s=36, edgecolors="#404040", linewidths=0.5, zorder=2)
        ax.set_title(f"{name}: {what}", fontsize=12)
        ax.set_axis_off()
        ax.margins(0.03)


def _maps(row: Any, ratios: np.ndarray) -> None:
    """Energy over chance, hop by frequency band."""
    axes = row.subplots(1, 3, sharey=True)
    norm = LogNorm(1 / 8, 8)
    for ax, ratio in zip(axes, ratios, strict=True):
        drawn = ax.pcolormesh(np.clip(ratio, 1 / 8, 8), cmap="PuOr_r", norm=norm, edgecolors="white", linewidth=0.6)
        ax.set_yticks(np.arange(HOPS) + 0.5, ["1 hop", *(f"{hop} hops" for hop in range(2, HOPS + 1))], fontsize=12)
        ax.set_xticks([0.0, BANDS], ["smooth", "rough"], fontsize=12)
        for tick, side in zip(ax.get_xticklabels(), ("left", "right"), strict=True):
            tick.set_horizontalalignment(side)
        ax.tick_params(length=0)
        ax.invert_yaxis()
    axes[1].set_title("energy over chance, by hop and frequency", fontsize=12)
    bar = row.colorbar(drawn, ax=axes, fraction=0.05, pad=0.02, ticks=[1 / 8, 1, 8])
    bar.ax.set_yticklabels(["1/8", "chance", "8 ×"], fontsize=12)
    bar.ax.minorticks_off()


def _decay(ax: Axes, share: np.ndarray) -> None:
    """The share of energy off zero, layer by layer."""
    ax.plot(share, color=BLUE, linewidth=2.5)
    ax.plot(list(SHOWN), share[list(SHOWN)], "o", color=ORANGE, markersize=8, clip_on=False, zorder=3)
    ax.set(xlim=(0, LAYERS), ylim=(0, 1), xticks=[0, 4, 16, 32, 48, 64], yticks=[0, 0.5, 1])
    _finish(ax, "share of energy that tells nodes apart", "layer")


def _likeness(ax: Axes, hops: np.ndarray, correlations: np.ndarray) -> None:
    """The correlogram: the correlation between nodes K hops apart."""
    ax.axhline(0, color=GREY, linewidth=1)
    for r, colour, marker, name in zip(correlations[:2], (GREY, BLUE), "so", list(SHOWN.values())[:2], strict=True):
        ax.plot(hops, r, marker=marker, color=colour, linewidth=2, markersize=7, label=name)
    ax.set(xticks=hops, ylim=(-1, 1), yticks=[-1, 0, 1])
    ax.legend(frameon=False, fontsize=12, loc="upper right")
    _finish(ax, "correlation between nodes K hops apart", "hops K")


def _finish(ax: Axes, title: str, x: str) -> None:
    ax.set_title(title, fontsize=12)
    ax.set_xlabel(x, fontsize=12)
    ax.tick_params(labelsize=12)
    ax.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=DPI, metadata={"Software": None})
