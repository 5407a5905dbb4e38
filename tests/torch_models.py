"""Small models and graphs for the tests of watching."""

import networkx as nx
import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import spectrata as st


def small_data(seed: int = 0) -> Data:
    """Three communities of ten nodes with noisy features."""
    graph = nx.planted_partition_graph(3, 10, 0.6, 0.08, seed=2)
    edges = torch.tensor(np.array(graph.edges).T.copy())
    y = torch.arange(30) // 10
    x = torch.randn(30, 8, generator=torch.Generator().manual_seed(seed)) + F.one_hot(y, 8)
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=y)


class Net(torch.nn.Module):
    """Two graph convolutions with dropout, so that random state matters, and an in-place ReLU after the first."""

    def __init__(self, features: int = 8, hidden: int = 16, classes: int = 3) -> None:
        super().__init__()
        self.conv1, self.conv2 = GCNConv(features, hidden), GCNConv(hidden, classes)

    def forward(self, x, edge_index):
        x = F.dropout(self.conv1(x, edge_index).relu_(), 0.5, self.training)
        return self.conv2(x, edge_index)


class ByData(torch.nn.Module):
    """A model that is given a whole Data object, and hands these parts of it to another."""

    def __init__(self, inner, *names: str) -> None:
        super().__init__()
        self.inner, self.names = inner, names

    def forward(self, data):
        return self.inner(*(data[name] for name in self.names))


def fit(model, data, epochs, after=lambda epoch: None, before=lambda epoch: None):
    """Train, calling ``before`` and ``after`` each epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        before(epoch)
        optimizer.zero_grad()
        F.cross_entropy(model(data.x, data.edge_index), data.y).backward()
        optimizer.step()
        after(epoch)
    return model


def off_zero(data, values) -> float:
    """Energy off zero of values at K = 1, from their spectrum."""
    strat = st.Stratification(data, hops=1)
    return st.off_zero(strat.spectra(np.asarray(values, dtype=float), "gft", zero_vectors="zero")).values.ravel()[0]
