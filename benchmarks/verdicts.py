"""Verdicts of ``diagnose`` on models trained on Cora: which healthy ones draw one, which failed ones do.

    python benchmarks/verdicts.py --data FOLDER [--seeds 20] [--workers 8]

FOLDER holds ``cora.npz``. A model has failed when its test accuracy is less than 10 % of the way from the majority
class to the best mean of any kind here, and is good above 75 %.
"""

import argparse
import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

KINDS = {
    "GCN": 2,
    "GAT": 2,
    "GraphSAGE": 2,
    "APPNP": 2,
    "GCNII": 2,
    "plain GCN, 16 layers": 16,
    "plain GCN, 32 layers": 32,
}
WIDTH, EPOCHS = 64, 200


def network(kind, width_in, classes):
    """A model of PyTorch Geometric's own parts."""
    from torch import nn
    from torch.nn import functional as F
    from torch_geometric import nn as pyg

    if kind == "GAT":
        return pyg.GAT(width_in, WIDTH, 2, classes, dropout=0.5, heads=8, v2=False)
    if kind == "GraphSAGE":
        return pyg.GraphSAGE(width_in, WIDTH, 2, classes, dropout=0.5)
    if "GCN" in kind and kind != "GCNII":
        return pyg.GCN(width_in, WIDTH, KINDS[kind], classes, dropout=0.5)

    class Appnp(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(width_in, WIDTH), nn.Linear(WIDTH, classes)
            self.spread = pyg.APPNP(10, 0.1)

        def forward(self, x, edge_index):
            x = F.dropout(self.first(F.dropout(x, 0.5, self.training)).relu(), 0.5, self.training)
            return self.spread(self.last(x), edge_index)

    class Gcnii(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(width_in, WIDTH), nn.Linear(WIDTH, classes)
            self.convs = nn.ModuleList(pyg.GCN2Conv(WIDTH, 0.1, 0.5, layer + 1) for layer in range(8))

        def forward(self, x, edge_index):
            start = x = self.first(F.dropout(x, 0.5, self.training)).relu()
            for conv in self.convs:
                x = conv(F.dropout(x, 0.5, self.training), start, edge_index).relu()
            return self.last(F.dropout(x, 0.5, self.training))

    return Appnp() if kind == "APPNP" else Gcnii()


def load(folder):
    """Features, edges in both directions, labels, training and test nodes."""
    import torch
    from scipy.sparse import csr_array

    with np.load(Path(folder) / "cora.npz") as file:
        parts = [file[f"features_{name}"] for name in ("data", "indices", "indptr")]
        x = csr_array(tuple(parts), shape=tuple(file["features_shape"])).toarray().astype(np.float32)
        edges = np.concatenate([file["edges"], file["edges"][:, ::-1]]).T
        edges = np.unique(edges[:, edges[0] != edges[1]], axis=1).astype(np.int64)
        found = x / np.maximum(x.sum(axis=1, keepdims=True), 1), edges, file["labels"], file["train"], file["test"]
    return [torch.as_tensor(np.ascontiguousarray(array)) for array in found]


def one(task):
    """Train one model; its accuracy and what ``diagnose`` says of its last evaluation."""
    import torch
    from torch.nn import functional as F

    import spectrata as st
    from spectrata.torch import watch

    folder, kind, seed = task
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, edges, y, train, test = (array.to(device) for array in load(folder))
    torch.manual_seed(seed)
    model = network(kind, x.shape[1], int(y.max()) + 1).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(EPOCHS):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x, edges)[train], y[train].long()).backward()
        optimizer.step()
    model.eval()
    graph = st.Stratification(edges=st_edges(edges), n_nodes=len(x), hops=1)
    with watch(model, graph, mode="eval", algorithms="gft") as w, torch.no_grad():
        accuracy = float((model(x, edges).argmax(dim=1)[test] == y[test]).float().mean())
    layers = w.over_layers()
    found = st.diagnose(layers).of("collapsed")
    values = {
        str(name): float(value)
        for name, value in zip(layers["layer"].values, layers["off_zero_live"].values, strict=True)
    }
    return {"kind": kind, "seed": seed, "test": accuracy, "collapsed": [f.snapshot for f in found], "off_zero": values}


def st_edges(edges):
    pairs = edges.T.cpu().numpy()
    return [tuple(pair) for pair in pairs[pairs[:, 0] < pairs[:, 1]].tolist()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", help="JSON file of all models")
    given = parser.parse_args()
    tasks = [(given.data, kind, seed) for kind in KINDS for seed in range(given.seeds)]
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        rows = list(pool.map(one, tasks))
    with np.load(Path(given.data) / "cora.npz") as file:
        labels = file["labels"][file["test"]]
    majority = np.bincount(labels).max() / len(labels)
    best = max(np.mean([row["test"] for row in rows if row["kind"] == kind]) for kind in KINDS)
    print(f"majority {majority:.3f}, best mean {best:.3f}")
    print(f"{'kind':22} {'accuracy':>8} {'good':>5} {'failed':>7} {'collapsed: good':>16} {'failed':>7} {'middle':>7}")
    for kind in KINDS:
        here = [row for row in rows if row["kind"] == kind]
        way = [(row["test"] - majority) / (best - majority) for row in here]
        group = ["failed" if one < 0.10 else "good" if one > 0.75 else "middle" for one in way]
        flagged = {
            name: sum(bool(row["collapsed"]) for row, own in zip(here, group, strict=True) if own == name)
            for name in ("good", "failed", "middle")
        }
        mean = np.mean([row["test"] for row in here])
        print(
            f"{kind:22} {mean:8.3f} {group.count('good'):5} {group.count('failed'):7} {flagged['good']:16} "
            f"{flagged['failed']:7} {flagged['middle']:7}"
        )
    if given.out:
        Path(given.out).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
