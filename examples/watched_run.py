"""One watched run as a figure and a report: a deep GCN, its layers over training, and a control without messages.

    python examples/watched_run.py --small
    python examples/watched_run.py --cora ../shared/data/cora.npz --depth 16

Writes ``watched-run.pdf``, ``watched-run.png`` and ``watched-run.html``, and prints the verdicts.
"""

import argparse
import sys
from pathlib import Path
from textwrap import fill

import torch
import torch.nn.functional as F
from gcn_depth import cora, planted
from matplotlib.figure import Figure
from torch_geometric.data import Data
from torch_geometric.nn.models import GCN

import spectrata as st
import spectrata.torch


def train(data: Data, depth: int, epochs: int, every: int) -> "spectrata.torch.Watch":
    """Train a GCN of PyTorch Geometric; evaluate it, with and without messages, every so many epochs."""
    torch.manual_seed(0)
    model = GCN(data.num_features, 64, depth, int(data.y.max()) + 1, dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    watched = spectrata.torch.watch(
        model,
        data,
        every=every,
        mode="train",
        evaluate=every,
        hops=1,
        algorithms="gft",
        metric="euclidean",
        laplacian="normalized",  # with self-loops the operator of GCNConv, frequencies 0 to 2
        self_loops=True,
        control="no_messages",
    )
    with watched as w:
        for epoch in range(epochs):
            model.train()
            optimizer.zero_grad()
            output = model(data.x, data.edge_index)
            loss = F.cross_entropy(output[data.train_mask], data.y[data.train_mask])
            loss.backward()
            optimizer.step()
            with w.pause(), torch.no_grad():
                found = model.eval()(data.x, data.edge_index).argmax(dim=1)
            correct = (found == data.y)[~data.train_mask].float().mean()
            w.step(epoch=epoch, loss=loss, test_acc=correct)
    return w


def figure(w: "spectrata.torch.Watch") -> Figure:
    """Four panels: the measure over layers and epochs, the last evaluation, spectra and responses of the layers."""
    found = Figure(figsize=(8.5, 7.2), layout="constrained")
    axes = found.subplots(2, 2)
    last = w.over_layers()
    states = last["snapshot"].values[last["role"].values != "layer"]
    st.plot.training(w.dataset, ax=axes[0, 0], layers=states)
    st.plot.collapse(last, axes[0, 1])
    st.plot.layers(last, axes[1, 0])
    st.plot.filters(last, axes[1, 1])
    for letter, ax in zip("abcd", axes.ravel(), strict=True):
        ax.set_title(
            fill(f"({letter}) {ax.get_title() or ax.get_title(loc='left')}", 42),
            fontsize=9,
            loc="left",
        )
        ax.set_title("")
    return found


def main(arguments: list[str] | None = None) -> "spectrata.torch.Watch":
    """Train, draw, report, and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--small",
        action="store_true",
        help="a few seconds' worth: small graph, few epochs",
    )
    parser.add_argument(
        "--cora", type=Path, help="cora.npz; train on its largest component"
    )
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--epochs", type=int)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("watched-run"),
        help="folder for the figure and the report",
    )
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    data = planted(25 if given.small else 100) if given.cora is None else cora(given.cora)
    epochs = given.epochs or (20 if given.small else 60)
    w = train(data, given.depth, epochs, max(1, epochs // 12))
    drawn = figure(w)
    for ending in ("pdf", "png"):
        drawn.savefig(given.out / f"watched-run.{ending}", dpi=150)
    name = "a planted partition" if given.cora is None else "Cora, largest component"
    print(
        w.report(
            given.out / "watched-run.html",
            title=name,
            name=f"GCN of {given.depth} layers",
        )
    )
    print(st.diagnose(w.over_layers()))
    print(w.overhead)
    return w


if __name__ == "__main__":
    main(sys.argv[1:])
