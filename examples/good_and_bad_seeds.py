"""The over-smoothing study of the paper on a trained GNN: can good and bad seeds be told apart by their spectra?

Trains one deep GCN from many seeds on a planted-partition graph, calls seeds good or bad by their accuracy, and asks
``distinguish`` at which hop and by which algorithm the two groups' last hidden layers differ more than chance would
have it, and ``off_zero`` whether the bad ones are over-smoothed. Two groups of good seeds are the control. Ends in a
report page.

    python examples/good_and_bad_seeds.py --small
    python examples/good_and_bad_seeds.py
"""

import argparse
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import torch
import torch.nn.functional as F
import xarray as xr
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import spectrata as st
import spectrata.torch

EPOCHS = 40  # few enough that some seeds have not found their way


class GCN(torch.nn.Module):
    """Hidden graph convolutions with ReLU, and a last one."""

    def __init__(self, features: int, hidden: int, classes: int, depth: int) -> None:
        super().__init__()
        widths = [features] + [hidden] * (depth - 1)
        self.convs = torch.nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))
        self.head = GCNConv(hidden, classes)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.head(x, edge_index), x


@dataclass
class Study:
    """What the seeds came to."""

    accuracy: np.ndarray  # (seeds,)
    good: np.ndarray  # (seeds,) bool
    off_zero: np.ndarray  # (seeds,) at K = 1
    distinguished: xr.Dataset
    control: xr.Dataset | None
    report: Path


def planted(per_block: int) -> Data:
    """Three communities with noisy features."""
    graph = nx.planted_partition_graph(
        3, per_block, min(1.0, 8 / per_block), 0.8 / per_block, seed=3
    )
    largest = sorted(max(nx.connected_components(graph), key=len))
    labels = np.array(largest) // per_block
    edges = np.array(
        nx.convert_node_labels_to_integers(
            graph.subgraph(largest), ordering="sorted"
        ).edges
    )
    rng = np.random.default_rng(3)
    x = rng.normal(size=(len(largest), 16))
    x[np.arange(len(x)), labels] += 1.0
    mask = np.zeros(len(x), dtype=bool)
    for label in range(3):
        mask[rng.permutation(np.flatnonzero(labels == label))[: per_block // 3]] = True
    both = torch.tensor(np.concatenate([edges, edges[:, ::-1]]).T.copy())
    return Data(
        x=torch.tensor(x, dtype=torch.float32),
        edge_index=both,
        y=torch.tensor(labels),
        train_mask=torch.tensor(mask),
    )


def train(data: Data, depth: int, epochs: int, seed: int) -> tuple[float, torch.Tensor]:
    """Accuracy on the other nodes, and the last hidden layer."""
    torch.manual_seed(seed)
    model = GCN(data.x.shape[1], 32, 3, depth)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        prediction, _ = model(data.x, data.edge_index)
        F.cross_entropy(prediction[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        prediction, hidden = model(data.x, data.edge_index)
    right = (prediction.argmax(dim=1) == data.y)[~data.train_mask]
    return float(right.float().mean()), hidden


def main(arguments: list[str] | None = None) -> Study:
    """Run the study and print what came out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="few seeds and epochs")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("good-and-bad-seeds"),
        help="folder for the report page",
    )
    parser.add_argument("--seeds", type=int, help="how many models")
    parser.add_argument("--depth", type=int, help="layers of every model")
    given = parser.parse_args(arguments)
    seeds, depth = (
        given.seeds or (16 if given.small else 40),
        given.depth or (8 if given.small else 12),
    )
    data = planted(20 if given.small else 40)
    half = data.edge_index.T.numpy()[: data.num_edges // 2]
    probe = spectrata.torch.Recorder(
        st.Stratification(edges=half, n_nodes=data.num_nodes, hops=3),
        algorithms="gft",
    )
    accuracy = np.empty(seeds)
    for seed in range(seeds):
        accuracy[seed], hidden = train(data, depth, EPOCHS, seed)
        probe.record({"last hidden": hidden}, epoch=seed)
    # Two natural groups: the largest gap between neighbouring accuracies divides them.
    ranked = np.sort(accuracy)
    gap = int(np.argmax(np.diff(ranked)[1:-2])) + 1
    good = accuracy > (ranked[gap] + ranked[gap + 1]) / 2
    study = compare(probe, accuracy, good, given.out)
    tell(study)
    return study


def compare(
    probe: "spectrata.torch.Recorder",
    accuracy: np.ndarray,
    good: np.ndarray,
    out: Path,
) -> Study:
    """Good seeds against bad ones, and good against good."""
    ds = probe.snapshots
    off_zero = ds["off_zero"].sel(hop=1).values
    defined = ~np.isnan(
        off_zero
    )  # a model whose units all died on a node has no direction there
    groups = [ds.isel(snapshot=np.flatnonzero(defined & side)) for side in (good, ~good)]
    found = st.stats.distinguish(*groups, draws=199)
    rows = np.flatnonzero(defined & good)
    control = None
    if len(rows) >= 6:
        control = st.stats.distinguish(
            ds.isel(snapshot=rows[::2]), ds.isel(snapshot=rows[1::2]), draws=199
        )
    out.mkdir(parents=True, exist_ok=True)
    order = np.argsort(-accuracy, kind="stable")
    title = "Good and bad seeds, best first"
    report = st.write_report(
        ds.isel(snapshot=order), path=out / "seeds.html", title=title
    ).path
    return Study(accuracy, good, off_zero, found, control, report)


def tell(study: Study) -> None:
    """Print the outcome."""
    for name, side in (("good", study.good), ("bad", ~study.good)):
        low, high = study.accuracy[side].min(), study.accuracy[side].max()
        print(
            f"{int(side.sum())} {name} seeds: accuracy {low:.2f} to {high:.2f}, "
            f"energy off zero at K = 1 {np.nanmean(study.off_zero[side]):.3f} "
            f"({np.isnan(study.off_zero[side]).sum()} with dead nodes left out)"
        )
    for algorithm in study.distinguished["algorithm"].values:
        for hop in study.distinguished["hop"].values:
            one = study.distinguished.sel(algorithm=algorithm, hop=hop)
            control = ""
            if study.control is not None:
                other = study.control.sel(algorithm=algorithm, hop=hop)
                control = f"; good against good p = {float(other['largest_p']):.3f}"
            apart = float(one["p"].sel(pair="AB-AA", kind="mean"))
            print(
                f"{algorithm:<9} K = {hop}: Wasserstein AB-AA p = {apart:.3f}; largest difference of mean "
                f"spectra {float(one['largest_mean_difference']):.3f} "
                f"at component {int(one['at_component'])}, p = {float(one['largest_p']):.3f}{control}"
            )
    print(study.report)


if __name__ == "__main__":
    main(sys.argv[1:])
