"""How depth over-smooths a GCN, and what residual connections, PairNorm or a spectral loss do about it.

Trains GCNs of several depths on a planted-partition graph with noisy features (and, with ``--cora``, on the largest
component of Cora), watches their layers, and prints for each: accuracy, the energy off zero in the last hidden
layer, and what ``diagnose`` says. Ends in one report page per model.

    python examples/gcn_depth.py --small
    python examples/gcn_depth.py --cora ../shared/data/cora.npz
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
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, PairNorm

import spectrata as st
import spectrata.torch
from spectrata.stats.findings import Findings

SIGNS = ("collapsed", "dead", "not_finite")  # kinds of findings that are printed
KINDS = ("plain", "residual", "pairnorm", "loss")
TARGET = 0.3  # energy off zero that the spectral loss asks of every block
WEIGHT = 0.3
STEP = 0.1  # of a residual block, so that 32 of them neither explode nor vanish


class Block(torch.nn.Module):
    """A graph convolution and what surrounds it: the hidden state is what comes out of here."""

    def __init__(self, inputs: int, outputs: int, kind: str) -> None:
        super().__init__()
        self.conv = GCNConv(inputs, outputs)
        self.norm = PairNorm() if kind == "pairnorm" else torch.nn.Identity()
        self.residual = kind == "residual" and inputs == outputs

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        h = self.norm(self.conv(x, edge_index)).relu()
        return x + STEP * h if self.residual else h


class DeepGCN(torch.nn.Module):
    """``depth - 1`` hidden blocks and a last convolution."""

    def __init__(
        self, features: int, hidden: int, classes: int, depth: int, kind: str
    ) -> None:
        super().__init__()
        widths = [features] + [hidden] * (depth - 1)
        self.blocks = torch.nn.ModuleList(Block(a, b, kind) for a, b in pairwise(widths))
        self.head = GCNConv(hidden, classes)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        states = []
        x = F.dropout(x, 0.5, self.training)
        for block in self.blocks:
            x = block(x, edge_index)
            states.append(x)
        return self.head(F.dropout(x, 0.5, self.training), edge_index), states


@dataclass
class Outcome:
    """What one training run ended in."""

    name: str
    accuracy: float
    off_zero: float
    findings: Findings
    watch: "spectrata.torch.Watch"


def planted(per_block: int, seed: int = 0) -> Data:
    """Four communities with noisy features that say a little of each node's own."""
    graph = nx.planted_partition_graph(
        4, per_block, min(1.0, 12 / per_block), 1.2 / per_block, seed=seed
    )
    largest = sorted(max(nx.connected_components(graph), key=len))
    labels = np.array(largest) // per_block
    edges = np.array(
        nx.convert_node_labels_to_integers(
            graph.subgraph(largest), ordering="sorted"
        ).edges
    )
    x = np.random.default_rng(seed).normal(size=(len(largest), 32))
    x[np.arange(len(x)), labels] += 1.5
    return as_data(edges, x.astype(np.float32), labels, seed)


def cora(path: Path, seed: int = 0) -> Data:
    """The largest connected component of Cora."""
    with np.load(path) as file:
        stored = {name: file[name] for name in file.files}
    n, edges = int(stored["n_nodes"]), stored["edges"].astype(np.int64)
    adjacency = csr_array((np.ones(len(edges)), edges.T), shape=(n, n))
    part = connected_components(adjacency, directed=False)[1]
    kept = np.flatnonzero(part == np.bincount(part).argmax())
    row = np.full(n, -1)
    row[kept] = np.arange(len(kept))
    matrix = csr_array(
        tuple(stored[f"features_{name}"] for name in ("data", "indices", "indptr")),
        shape=stored["features_shape"],
    )
    inside = row[edges]
    return as_data(
        inside[(inside >= 0).all(axis=1)],
        matrix[kept].toarray(),
        stored["labels"][kept],
        seed,
    )


def as_data(edges: np.ndarray, x: np.ndarray, labels: np.ndarray, seed: int) -> Data:
    """A PyG graph with 20 labelled nodes per class, or a third of a small class."""
    rng = np.random.default_rng(seed)
    mask = np.zeros(len(x), dtype=bool)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        mask[members[: min(20, len(members) // 3)]] = True
    both = torch.tensor(np.concatenate([edges, edges[:, ::-1]]).T.copy())
    x_tensor, y = torch.tensor(np.asarray(x, dtype=np.float32)), torch.tensor(labels)
    return Data(x=x_tensor, edge_index=both, y=y, train_mask=torch.tensor(mask))


def train(
    data: Data,
    strat: "st.Stratification",
    depth: int,
    kind: str,
    epochs: int,
    every: int,
    seed: int = 0,
) -> Outcome:
    """Train one model and watch its hidden blocks in evaluation passes."""
    torch.manual_seed(seed)
    model = DeepGCN(data.x.shape[1], 64, int(data.y.max()) + 1, depth, kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    shown = sorted({0, (depth - 1) // 4, (depth - 1) // 2, depth - 2})
    layers = [f"blocks.{index}" for index in shown if index < depth - 1]
    with spectrata.torch.watch(model, strat, layers=layers, mode="eval", algorithms="gft") as w:
        for epoch in range(epochs + 1):
            w.step(epoch=epoch)
            if epoch % every == 0 or epoch == epochs:
                model.eval()
                with torch.no_grad():
                    output, _ = model(data.x, data.edge_index)
            model.train()
            optimizer.zero_grad()
            prediction, states = model(data.x, data.edge_index)
            loss = F.cross_entropy(prediction[data.train_mask], data.y[data.train_mask])
            if kind == "loss":
                loss = loss + WEIGHT * smoothing_loss(strat, states)
            loss.backward()
            optimizer.step()
    rest = ~data.train_mask
    accuracy = float((output.argmax(dim=1) == data.y)[rest].float().mean())
    last = w.over_layers()
    off_zero = float(st.off_zero(last).sel(hop=1, snapshot=layers[-1]))
    findings = st.diagnose(
        last
    )  # the hidden layers of the last pass, one after the other
    return Outcome(f"{kind} {depth}", accuracy, off_zero, findings, w)


def smoothing_loss(
    strat: "st.Stratification", states: list[torch.Tensor]
) -> torch.Tensor:
    """How far the blocks fall short of the wanted energy off zero at K = 1, in orders of magnitude.

    The logarithm pulls as hard on a collapsed layer as on one that has just begun to collapse.
    """
    chosen = [*states[:: max(1, len(states) // 8)], states[-1]]
    energy = spectrata.torch.magnitudes(strat, torch.stack(chosen), hops=[1])[
        :, 0
    ].square()  # (T, n)
    share = energy[:, 1:].sum(dim=1) / (
        energy.sum(dim=1) + 1e-12
    )  # the graph is connected: one zero component
    return F.relu(torch.log(TARGET / (share + 1e-6))).mean()


def study(
    name: str,
    data: Data,
    runs: list[tuple[int, str]],
    epochs: int,
    every: int,
    folder: Path,
) -> list[Outcome]:
    """Train all models on one graph, which is decomposed once, and print what came out."""
    strat = st.Stratification(
        edges=data.edge_index.T.numpy()[: data.num_edges // 2],
        n_nodes=data.num_nodes,
        hops=2,
    )
    print(f"\n{name}: {data.num_nodes} nodes, {data.num_edges // 2} edges")
    print(f"{'model':<14}{'accuracy':>9}{'off zero, K = 1':>17}   last hidden layer")
    outcomes = []
    for depth, kind in runs:
        one = train(data, strat, depth, kind, epochs, every)
        words = [f.text for f in one.findings if f.kind in SIGNS]
        said = " ".join(words) or "no layer has collapsed"
        print(f"{one.name:<14}{one.accuracy:>9.3f}{one.off_zero:>17.3f}   {said}")
        path = one.watch.report(
            folder / f"{name}-{one.name.replace(' ', '-')}.html",
            title=f"{name}: {one.name}",
        )
        print(f"{'':<14}{path}")
        outcomes.append(one)
    print(outcomes[-1].watch.overhead)
    return outcomes


def main(arguments: list[str] | None = None) -> dict[str, list[Outcome]]:
    """Run the study; gives the outcomes per graph."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--small",
        action="store_true",
        help="a few seconds' worth: small graph, shallow models",
    )
    parser.add_argument(
        "--cora", type=Path, help="cora.npz; also train on its largest component"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("gcn-depth"), help="folder for the report pages"
    )
    parser.add_argument("--epochs", type=int, help="epochs of every model")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    epochs = given.epochs or (50 if given.small else 75)
    depths = (2, 8) if given.small else (2, 8, 32)
    kinds = ("plain", "loss") if given.small else KINDS
    runs = [
        (depth, kind)
        for kind in kinds
        for depth in depths
        if kind == "plain" or depth > 2
    ]
    data = planted(25 if given.small else 100)
    found = {
        "planted": study("planted", data, runs, epochs, max(1, epochs // 5), given.out)
    }
    if given.cora is not None:
        runs = [
            (2, "plain"),
            (8, "plain"),
            (32, "plain"),
            (32, "residual"),
            (32, "pairnorm"),
            (32, "loss"),
        ]
        found["cora"] = study(
            "cora", cora(given.cora), runs, epochs, max(1, epochs // 3), given.out
        )
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
