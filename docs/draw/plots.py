"""Draw one picture for every function of `spectrata.plot`, for its page of the reference: `python docs/draw/plots.py`.

The build of the site runs this, so that the pictures are those of the current version. Each is drawn for the light and
for the dark scheme, so that the colours of maps mean the same in both.
"""

from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib import rc_context, style
from matplotlib.figure import Figure

import spectrata as st

FOLDER = Path(__file__).parents[1] / "api" / "pictures"
WIDTH = 7.4  # inches: about the width of a page, so that text is read at its own size
DARK = {f"{part}.facecolor": "#131416" for part in ("figure", "axes", "savefig")}


@cache
def club():
    """The karate club with its layout, and layers of averaging of noise."""
    graph = nx.Graph(nx.karate_club_graph().edges)
    places = nx.spring_layout(graph, seed=0)
    average = nx.to_numpy_array(graph) + np.eye(34)
    average /= average.sum(axis=1, keepdims=True)
    layers = [np.random.default_rng(0).normal(size=(34, 8))]
    for _ in range(12):
        layers.append(average @ layers[-1])
    return st.Stratification(graph, hops=3), places, np.array(layers)


@cache
def result():
    """The spectra of the layout."""
    strat, places, _ = club()
    return strat.spectra(places, metric="euclidean")


@cache
def snapshots():
    """The spectra of the layers."""
    import xarray as xr

    strat, _, layers = club()
    named = xr.DataArray(layers, dims=("layer", "node", "column")).assign_coords(node=list(strat.graph.names))
    return strat.spectra(named, algorithms="gft")


@cache
def genes():
    """A correlogram of ten columns on a grid, of which two have a pattern."""
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8))
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(64, 8)), columns=[f"gene {k}" for k in range(8)])
    table["east"], table["check"] = np.arange(64) // 8, (np.arange(64) // 8 + np.arange(64)) % 2
    return st.correlogram(grid, table, hops=3, columns="separate")


@cache
def watched():
    """A small model that was watched while it trained."""
    import torch
    from torch_geometric.nn.models import GCN
    from torch_geometric.utils import from_networkx

    import spectrata.torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = from_networkx(nx.Graph(nx.karate_club_graph().edges))
    features, target = torch.randn(34, 8), torch.arange(34) % 2
    model = GCN(8, hidden_channels=16, num_layers=3, out_channels=2)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    with spectrata.torch.watch(model, data, every=2, hops=1, algorithms="gft", mode="train", evaluate=True) as w:
        for epoch in range(30):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(features, data.edge_index), target)
            loss.backward()
            optimiser.step()
            w.step(epoch=epoch, loss=float(loss.detach()))
    return w


def figure_of(axes) -> Figure:
    """The figure of axes, or of the first of several."""
    return np.ravel(axes)[0].figure


PICTURES = {
    "spectra": lambda: st.plot.spectra(result(), algorithms="gft"),
    "hops": lambda: st.plot.hops(result()),
    "spectrogram": lambda: st.plot.spectrogram(snapshots()),
    "correlogram": lambda: st.plot.correlogram(st.correlogram(club()[0], club()[1], metric="euclidean")),
    "strata": lambda: st.plot.strata(club()[0]),
    "compare": lambda: st.plot.compare(snapshots().isel(snapshot=0), snapshots().isel(snapshot=3)),
    "evolution": lambda: st.plot.evolution(snapshots(), measures=["gradient_norm", "lowest"]),
    "training": lambda: st.plot.training(watched().dataset, "effective_rank", mode="train"),
    "layers": lambda: st.plot.layers(watched().over_layers()),
    "filters": lambda: st.plot.filters(watched().over_layers()),
    "collapse": lambda: st.plot.collapse(watched().over_layers()),
    "columns": lambda: st.plot.columns(genes()),
    "embedding": lambda: st.plot.embedding(result()),
    "nodes": lambda: st.plot.nodes(pd.DataFrame(club()[1], index=["x", "y"]).T, club()[0].graph),
}


def fit(figure: Figure) -> Figure:
    """Narrow a figure of several panels to the page."""
    width, height = figure.get_size_inches()
    if width > WIDTH:
        figure.set_size_inches(WIDTH, max(2.7, height * (WIDTH / width) ** 0.5))
    return figure


def write() -> None:
    """All pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for ending, settings in (("", {}), ("-dark", {**style.library["dark_background"], **DARK})):
        with rc_context(settings):
            for name, draw in PICTURES.items():
                fit(figure_of(draw())).savefig(FOLDER / f"{name}{ending}.png", dpi=150)


if __name__ == "__main__":
    write()
