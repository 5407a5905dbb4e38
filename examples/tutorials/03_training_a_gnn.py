"""
Lesson 3: training a graph neural network
=========================================

``spectrata.torch.watch`` records every layer of a PyTorch model while it trains. Here, two graph convolutional networks
on the same data: one of 2 layers that learns, and one of 16 layers that collapses.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import networkx as nx
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import spectrata as st
import spectrata.torch

# %%
# Data and model
# --------------
#
# Four communities of 40 nodes. The features are noisy copies of the labels.

torch.manual_seed(0)
torch.set_num_threads(1)
graph = nx.planted_partition_graph(4, 40, 0.15, 0.01, seed=2)
labels = torch.tensor([graph.nodes[node]["block"] for node in graph])
edges = torch.tensor(list(graph.edges)).T
features = F.one_hot(labels, 4) + 1.2 * torch.randn(160, 4)
data = Data(x=features, edge_index=torch.cat([edges, edges.flip(0)], dim=1))
train = torch.arange(160) % 4 == 0


class GCN(torch.nn.Module):
    """Graph convolutions with ReLU between them."""

    def __init__(self, depth):
        super().__init__()
        widths = [4, *[16] * (depth - 1), 4]
        self.layers = torch.nn.ModuleList([GCNConv(a, b) for a, b in pairwise(widths)])

    def forward(self, x, edge_index):
        for layer in self.layers[:-1]:
            x = layer(x, edge_index).relu()
        return self.layers[-1](x, edge_index)


# %%
# Train and watch
# ---------------
#
# ``evaluate=10`` runs the model in evaluation mode every tenth epoch; these passes are the ones to judge.
# ``control="no_messages"`` adds a pass with the same weights and self-loops as the only edges: what the layers do
# without message passing. ``w.step`` stores the scores of an epoch.

runs = {}
for depth in (2, 16):
    torch.manual_seed(1)
    model = GCN(depth)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    with spectrata.torch.watch(
        model,
        data,
        mode="none",
        hops=1,
        algorithms="gft",
        evaluate=10,
        control="no_messages",
    ) as w:
        for epoch in range(100):
            model.train()
            optimiser.zero_grad()
            logits = model(data.x, data.edge_index)
            F.cross_entropy(logits[train], labels[train]).backward()
            optimiser.step()
            right = logits.argmax(dim=1) == labels
            accuracy = float(right[~train].float().mean())
            w.step(epoch=epoch, test_acc=accuracy)
    runs[depth] = w
    print(f"{depth:2d} layers: accuracy on the other nodes {accuracy:.2f}")

# %%
# What the layers hold
# --------------------
#
# ``off_zero_live`` is the share of the energy that tells nodes apart, over the nodes whose vector is not zero.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
for ax, (depth, w) in zip(axes, runs.items(), strict=True):
    last = w.over_layers(mode="eval")
    share = last["off_zero_live"].values.ravel()
    names = last["snapshot"].values.tolist()
    ax.plot(range(len(names)), share, "o-")
    marked = range(0, len(names), 1 if depth == 2 else 6)
    ax.set_xticks(marked, [names[k] for k in marked], rotation=25, ha="right", fontsize=8)
    ax.set(title=f"{depth} layers, last evaluation", xlabel="layer", ylim=(0, 1.02))
axes[0].set_ylabel("energy off zero, live nodes")

# %%
# Findings
# --------
#
# ``diagnose`` states which layers have collapsed. It names message passing as the cause only where the control has not
# collapsed.

for depth, w in runs.items():
    print(f"--- {depth} layers")
    found = st.diagnose(w.over_layers(mode="eval"), control=w.over_layers(mode="control"))
    lost = [one for one in found if one.kind == "collapsed"]
    print("\n".join(str(one) for one in lost) if lost else "No layer has collapsed.")

# %%
# At most of these evaluations the deep model is below the level without message passing, too: its stack of ReLU layers
# maps all nodes to one direction. spectrata therefore does not name message passing as the cause.
#
# In continuous integration: ``spectrata check run.zarr --fail-on collapse`` exits with code 3 where a layer of a logged
# run has collapsed.
