"""
Lesson 2: over-smoothing on Cora
================================

How many steps of message passing help on a citation graph, and from which step on do they erase what tells papers
apart? Cora has 2,708 papers, 5,278 citations, and a bag of 1,433 words for each paper.

The script reads ``cora.npz`` from the folder of ``--data`` or of the variable ``SPECTRATA_DATA``, or from a folder
``shared/data`` beside the repository, or PyTorch Geometric's folder ``Planetoid``. If it finds no data, it uses a
random graph with seven communities and prints a note. It downloads nothing.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import scipy.sparse as sp

import spectrata as st


def candidates():
    """Folders that may hold the data, in the order they are tried."""
    if "--data" in sys.argv[:-1]:
        yield Path(sys.argv[sys.argv.index("--data") + 1])
    if os.environ.get("SPECTRATA_DATA"):
        yield Path(os.environ["SPECTRATA_DATA"])
    yield from (folder / "shared" / "data" for folder in Path.cwd().resolve().parents)
    yield Path("Planetoid")


def load(folder):
    """Edges, features and labels of Cora, or None where the folder does not hold it."""
    if (folder / "cora.npz").exists():
        file = np.load(folder / "cora.npz")
        words = sp.csr_array(
            (file["features_data"], file["features_indices"], file["features_indptr"])
        )
        return file["edges"], words.toarray(), file["labels"]
    if (folder / "Cora" / "raw").exists():
        from torch_geometric.datasets import Planetoid

        data = Planetoid(folder, "Cora")[0]
        return data.edge_index.T.numpy(), data.x.numpy(), data.y.numpy()
    return None


def stand_in():
    """Seven communities with features that hint at the community."""
    graph = nx.planted_partition_graph(7, 60, 0.08, 0.004, seed=0)
    labels = np.repeat(np.arange(7), 60)
    features = np.random.default_rng(0).random((420, 100)) < 0.03 + 0.05 * (
        np.arange(100) % 7 == labels[:, None]
    )
    return np.array(graph.edges), features.astype(float), labels


found = next((data for data in map(load, candidates()) if data is not None), None)
print(
    "Cora"
    if found
    else "Cora was not found: the numbers below are those of a random graph."
)
edges, features, labels = found or stand_in()

# %%
# The largest connected component
# -------------------------------
#
# Message passing cannot join components, so we take the largest.

graph = nx.Graph(edges.tolist())
graph = graph.subgraph(max(nx.connected_components(graph), key=len))
nodes = np.array(sorted(graph))
adjacency = nx.to_scipy_sparse_array(graph, nodelist=nodes, weight=None, format="csr")
features, labels = features[nodes], labels[nodes]
n_edges, n_classes = adjacency.nnz // 2, len(np.unique(labels))
print(f"{len(nodes):,} nodes, {n_edges:,} edges, {n_classes} classes")

# %%
# Propagate
# ---------
#
# One step averages over a node and its neighbours: a graph convolution without weights. After each number of steps, we
# also train the simplest classifier, the nearest class mean, on 20 papers of each class. The features are first
# reduced to 256 random directions, which keeps their distances and saves time.

loops = adjacency + sp.eye_array(len(nodes))
average = sp.diags_array(1 / loops.sum(axis=1)) @ loops
depths = [0, 1, 2, 4, 16, 64, 256, 1024]
rng = np.random.default_rng(0)
sketch = rng.normal(size=(features.shape[1], 256)) / 16
layers, current = [], (features - features.mean(axis=0)) @ sketch
for step in range(max(depths) + 1):
    if step in depths:
        layers.append(current)
    current = average @ current

train = np.concatenate(
    [rng.permutation(np.flatnonzero(labels == one))[:20] for one in np.unique(labels)]
)
test = np.setdiff1d(np.arange(len(labels)), train)


def accuracy(layer):
    """Of the nearest class mean, by cosine, on the nodes outside the training set."""
    unit = layer / np.maximum(np.linalg.norm(layer, axis=1, keepdims=True), 1e-12)
    means = np.stack(
        [unit[train][labels[train] == one].mean(axis=0) for one in np.unique(labels)]
    )
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return float(
        (np.unique(labels)[(unit[test] @ means.T).argmax(axis=1)] == labels[test]).mean()
    )


scores = [accuracy(layer) for layer in layers]

# %%
# Where does the energy go?
# -------------------------
#
# The spectrum of each layer on the graph. ``off_zero`` is the share of the energy that is not at eigenvalue 0, where
# every node has the same vector. The operator is that of the convolution: the random-walk Laplacian with self-loops.

ds = st.spectra(
    st.Stratification(adjacency, hops=1, keep=()),
    np.stack(layers),
    "gft",
    laplacian="random_walk",
    self_loops=True,
    zero_vectors="zero",
)
share = st.off_zero(ds).sel(hop=1).values
for depth, score, rest in zip(depths, scores, share, strict=True):
    print(f"{depth:4d} steps: accuracy {score:.2f}, energy off zero {rest:.3f}")

# %%
# On Cora the accuracy rises over the first four steps: they remove high frequencies (left), where the classes have
# little energy. It falls slowly while most energy is off zero, and to the level of the raw features when none is left.

energy = ds["magnitude"].sel(algorithm="gft", hop=1) ** 2
value = ds["eigenvalue"].sel(hop=1).values
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for at, depth in enumerate(depths):
    row = energy[at].where(value > 1e-9, 0)
    color = plt.cm.viridis(0.75 * at / len(depths))
    left.plot(value, np.cumsum(row) / row.sum(), color=color, label=f"{depth} steps")
left.set(xlabel="eigenvalue", ylabel="cumulative energy off zero", ylim=(0, 1.02))
left.legend(fontsize=8, ncols=2)
right.plot(scores, "o-", label="accuracy")
right.plot(share, "s--", label="energy off zero")
right.set_xticks(range(len(depths)), depths)
right.set(xlabel="steps of message passing", ylim=(0, 1.02))
right.legend()

# %%
# Is it more than averaging?
# --------------------------
#
# These layers have no weights. For a trained model, ``st.diagnose`` of a watched run states which layers have
# collapsed, with the rates at which the rule is right. The next lesson trains such a model.
