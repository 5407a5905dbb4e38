"""Draw the pictures of the page of concepts: `python docs/draw/concepts.py`."""

from pathlib import Path

import networkx as nx
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import spectrata as st

IMAGES = Path(__file__).parents[1] / "images"
BLUE, ORANGE, GREY = "#1f5fa8", "#d55e00", "#8a8a8a"


def strata() -> Figure:
    """The graph, and its strata at two and three hops."""
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6), (6, 4)])
    place = {0: (0, 1), 1: (-1, 0.5), 2: (0, -1), 3: (0.75, -0.15), 4: (2.3, 0.1), 5: (3.2, 1), 6: (3.2, -1)}
    strat = st.Stratification(graph, hops=3)
    figure = Figure(figsize=(6.6, 1.6), layout="constrained")
    for hop, ax in zip((1, 2, 3), figure.subplots(1, 3), strict=True):
        for a, b in strat.strata.at(hop).edges:
            ax.plot(*zip(place[a], place[b], strict=True), color=BLUE, lw=1.6, zorder=1)
        ax.scatter(*zip(*place.values(), strict=True), s=150, color="white", edgecolors="black", zorder=2)
        for node, (x, y) in place.items():
            ax.text(x, y, str(node), ha="center", va="center_baseline", fontsize=9)
        title = "the graph" if hop == 1 else f"{hop} hops apart"
        ax.set(title=f"K = {hop}: {title}", aspect="equal", xlim=(-1.4, 3.6), ylim=(-1.35, 1.35))
        ax.axis("off")
    return figure


def frequencies() -> Figure:
    """Eigenvectors of a path from slow to fast, and the energy of a noisy slow signal over them."""
    graph, n = nx.path_graph(24), 24
    strat = st.Stratification(graph, hops=1)
    signal = np.cos(np.pi * (np.arange(n) + 0.5) / n) + 0.8 * np.random.default_rng(1).normal(size=n)
    ds = strat.using(keep=["eigenvectors"]).spectra(signal, "gft").sel(algorithm="gft", hop=1)
    vectors, value = ds["eigenvectors"].values, ds["eigenvalue"].values
    figure = Figure(figsize=(6.6, 2.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    for row, at in enumerate((0, 1, 4, n - 1)):
        left.plot(vectors[:, at] - row, "o-", ms=3, color=BLUE)
        left.text(n, vectors[:, at].mean() - row, f"λ = {value[at]:.2f}", va="center", fontsize=9)
    left.set(
        title="eigenvectors of a path of 24 nodes",
        xlabel="node",
        yticks=[],
        xticks=[0, 6, 12, 18, 23],
        xlim=(-1, n + 9),
    )
    right.vlines(value, 0, ds["magnitude"].values ** 2, color=BLUE, lw=1.5)
    right.plot(value, ds["magnitude"].values ** 2, "o", ms=3.5, color=BLUE)
    right.set(title="energy of a noisy slow wave", xlabel="eigenvalue", ylabel="energy", ylim=(0, None))
    return figure


def repeated() -> Figure:
    """One signal on a ring: the split over a repeated eigenvalue depends on the basis, the sum does not."""
    n = 12
    turn = 2 * np.pi * np.arange(n) / n
    signal = np.cos(turn - 0.4) + 0.5 * np.cos(2 * turn)
    figure = Figure(figsize=(6.6, 2.3), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    for ax, shift, title in ((axes[0], 0.0, "one basis"), (axes[1], 0.9, "another basis")):
        parts = []
        for k in (1, 2):
            basis = np.stack([np.cos(k * turn - shift), np.sin(k * turn - shift)]) * np.sqrt(2 / n)
            parts += (basis @ signal).tolist()
        ax.bar(range(4), np.square(parts), color=[BLUE, BLUE, ORANGE, ORANGE])
        ax.set(title=title, xticks=range(4), xticklabels=[".27", ".27", "1", "1"], xlabel="eigenvalue")
    axes[2].bar(range(2), [n / 2, n / 8], color=[BLUE, ORANGE])
    axes[2].set(title="merged: equal", xticks=range(2), xticklabels=[".27", "1"], xlabel="eigenvalue")
    axes[0].set_ylabel("energy")
    return figure


def chance() -> Figure:
    """The energy of a signal in every eigenspace, over what permutations give."""
    graph = nx.Graph(nx.karate_club_graph().edges)
    split = [float(nx.karate_club_graph().nodes[node]["club"] == "Officer") for node in graph]
    strat = st.Stratification(graph, hops=1)
    random = np.random.default_rng(0)
    draws = xr.DataArray(
        [random.permutation(split)[:, None] for _ in range(500)], dims=("snapshot", "node", "column")
    ).assign_coords(node=list(graph))
    known = dict(zip(graph, split, strict=True))
    found = st.merge_eigenspaces(strat.spectra(known, "gft")).sel(algorithm="gft", hop=1)
    null = st.merge_eigenspaces(strat.spectra(draws, "gft")).sel(algorithm="gft", hop=1)["magnitude"] ** 2
    value = found["eigenvalue"].values
    low, high = np.quantile(null.values, [0.025, 0.975], axis=0)
    figure = Figure(figsize=(6.6, 2.8), layout="constrained")
    ax = figure.subplots()
    ax.vlines(value[1:], low[1:], high[1:], color=GREY, lw=2.5, alpha=0.7, label="95 % of 500 permutations")
    ax.plot(value[1:], found["magnitude"].values[1:] ** 2, "o", color=BLUE, ms=4, label="the split of the club")
    ax.set(xlabel="eigenvalue", ylabel="energy", title="karate club, K = 1, eigenspaces off zero")
    ax.legend()
    return figure


PICTURES = {"strata": strata, "frequencies": frequencies, "repeated": repeated, "chance": chance}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        draw().savefig(IMAGES / f"concept_{name}.png", dpi=150)
