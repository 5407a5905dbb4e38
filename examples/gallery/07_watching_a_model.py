"""
Watching a model train
======================

Three lines on a PyTorch Geometric model: every message-passing layer, every epoch. Here a two-layer GCN, and one of
twenty-four layers that does not learn.
"""

from itertools import pairwise

import networkx as nx
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import spectrata as st
import spectrata.torch

# %%
# Three communities to tell apart, from noisy features.

torch.manual_seed(0)
torch.set_num_threads(1)
graph = nx.planted_partition_graph(3, 50, 0.12, 0.01, seed=3)
label = torch.tensor([graph.nodes[node]["block"] for node in graph])
edges = torch.tensor(list(graph.edges)).T
features = F.one_hot(label, 3) + 1.5 * torch.randn(150, 3)
data = Data(x=features, edge_index=torch.cat([edges, edges.flip(0)], dim=1))


class GCN(torch.nn.Module):
    """Graph convolutions, one after the other."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        sizes = [3, *[16] * (depth - 1), 3]
        self.layers = torch.nn.ModuleList([GCNConv(a, b) for a, b in pairwise(sizes)])

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:-1]:
            x = layer(x, edge_index).relu()
        return self.layers[-1](x, edge_index)


def train(model: GCN, w: spectrata.torch.Watch, epochs: int = 60) -> float:
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(epochs):
        optimiser.zero_grad()
        F.cross_entropy(model(data.x, data.edge_index), label).backward()
        optimiser.step()
        w.step(epoch=epoch)
    model.eval()
    return float((model(data.x, data.edge_index).argmax(1) == label).float().mean())


# %%
# The stratification is shared, so that the graph is decomposed once.

strat = st.Stratification(data, hops=2)
watched = {}
for depth in (2, 24):
    model = GCN(depth)
    with spectrata.torch.watch(
        model, strat, every=2, algorithms="gft", mode="train"
    ) as w:
        accuracy = train(model, w)
    watched[depth] = w
    print(f"{depth} layers: accuracy {accuracy:.2f}")

# %%
# How much of each layer's energy still tells nodes apart, over the epochs. In the deep model it is gone after the first
# layers, and training does not bring it back for long: what most layers get is the same for every node.

figure = st.plot.training(watched[24].dataset, "off_zero_live").figure
