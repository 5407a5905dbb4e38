"""Draw one picture for every function of `spectrata.plot`, for its page of the reference: `python docs/draw/plots.py`.

The build of the site runs this, so that the pictures are those of the current version. Each is drawn for the light and
for the dark scheme, so that the colours of maps mean the same in both.
"""

from contextlib import nullcontext
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import spectrata as st

FOLDER = Path(__file__).parents[1] / "api" / "pictures"
WIDTH = 7.4  # inches: about the width of a page, so that text is read at its own size


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
def grid():
    """A grid of 100 nodes, and a table of ten columns, of which three have a pattern."""
    known = nx.convert_node_labels_to_integers(nx.grid_2d_graph(10, 10))
    y, x = np.divmod(np.arange(100), 10)
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 7)), columns=[f"gene {k}" for k in "ABCDEFG"])
    table["east"], table["check"] = x, (x + y) % 2
    table["spots"] = np.exp(-((x - 2) ** 2 + (y - 2) ** 2) / 6) - np.exp(-((x - 7) ** 2 + (y - 7) ** 2) / 6)
    return known, table


@cache
def findings():
    """The sides of the karate club, tested at four hops."""
    return st.diagnose(nx.karate_club_graph(), "club", hops=4, weights=False)


@cache
def calibrated():
    """The sides of the karate club, with the interval of chance of every eigenspace."""
    graph = nx.karate_club_graph()
    side = {node: float(graph.nodes[node]["club"] == "Officer") for node in graph}
    return st.calibrate(club()[0], side, "gft", draws=1999)


@cache
def probed():
    """A probe of three communities whose features are noisy labels."""
    graph = nx.planted_partition_graph(3, 60, 0.08, 0.01, seed=1)
    labels = np.repeat(range(3), 60)
    return st.probe(graph, np.random.default_rng(0).normal(size=(180, 6)) + 0.5 * np.eye(3, 6)[labels], labels)


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
    "agree": lambda: st.plot.agree(st.agree(grid()[0], grid()[1]["spots"], grid()[1]["east"], hops=3)),
    "collapse": lambda: st.plot.collapse(watched().over_layers()),
    "columns": lambda: st.plot.columns(st.rank_columns(*grid())),
    "compare": lambda: st.plot.compare(
        st.compare(snapshots().isel(snapshot=0), snapshots().isel(snapshot=3)), names=("noise", "averaged")
    ),
    "correlogram": lambda: st.plot.correlogram(findings()),
    "dark": lambda: st.plot.diagnose(findings(), nx.karate_club_graph(), "club"),
    "diagnose": lambda: st.plot.diagnose(findings(), nx.karate_club_graph(), "club"),
    "embedding": lambda: st.plot.embedding(result()),
    "filters": lambda: st.plot.filters(watched().over_layers()),
    "layers": lambda: st.plot.layers(watched().over_layers()),
    "local": lambda: st.plot.local(st.local(grid()[0], grid()[1]["spots"])),
    "nodes": lambda: st.plot.nodes(grid()[1][["spots", "gene A"]], grid()[0]),
    "probe": lambda: st.plot.probe(probed()),
    "spectra": lambda: st.plot.spectra(calibrated()),
    "spectrogram": lambda: st.plot.spectrogram(snapshots()),
    "strata": lambda: st.plot.strata(club()[0]),
    "training": lambda: st.plot.training(watched().dataset, "effective_rank", mode="train"),
}


def fit(figure: Figure) -> Figure:
    """Narrow a figure of several panels to the page."""
    width, height = figure.get_size_inches()
    if width > WIDTH:
        figure.set_size_inches(WIDTH, max(2.7, height * (WIDTH / width) ** 0.5))
    return figure


def write() -> None:
    """All pictures; that of `dark` is dark in both schemes."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        for ending in ("", "-dark"):
            with st.plot.dark() if ending or name == "dark" else nullcontext():
                fit(figure_of(draw())).savefig(FOLDER / f"{name}{ending}.png", dpi=150)


if __name__ == "__main__":
    write()
