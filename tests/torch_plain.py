"""A model of plain torch, which starts fast in a process of its own."""

import numpy as np
import torch

EDGES = np.array([[i, (i + k) % 24] for i in range(24) for k in (1, 5)])


class Mean(torch.nn.Module):
    """The mean over neighbours, mapped."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.lin = torch.nn.Linear(inputs, outputs)

    def forward(self, x, adjacency):
        return (adjacency @ self.lin(x)).tanh()


class PlainNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Mean(6, 16), Mean(16, 3)

    def forward(self, x, adjacency):
        return self.second(self.first(x, adjacency), adjacency)


def fit_plain(model, epochs, after=lambda epoch: None):
    """Train towards random targets, calling ``after`` each epoch."""
    source = torch.Generator().manual_seed(5)
    x, y = torch.randn(24, 6, generator=source), torch.randn(24, 3, generator=source)
    adjacency = torch.zeros(24, 24)
    adjacency[EDGES[:, 0], EDGES[:, 1]] = adjacency[EDGES[:, 1], EDGES[:, 0]] = 0.25
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        optimizer.zero_grad()
        (model(x, adjacency) - y).square().mean().backward()
        optimizer.step()
        after(epoch)
