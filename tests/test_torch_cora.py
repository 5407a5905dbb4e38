"""What watching costs on the largest component of Cora, and what trained GCNs show there."""

from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCN

import spectrata as st
from having import shared
from spectrata.torch import watch
from test_examples import example


@pytest.fixture(scope="module")
def cora():
    return example("gcn_depth").cora(shared("cora.npz"))


@pytest.fixture(scope="module")
def strat(cora):
    return st.Stratification(edges=cora.edge_index.T.numpy()[: cora.num_edges // 2], n_nodes=cora.num_nodes, hops=1)


def trained(data, epochs, watching=lambda model: nullcontext()):
    torch.manual_seed(0)
    model = GCN(data.x.shape[1], 64, 2, 7, dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    with watching(model) as w:
        for _ in range(epochs):
            optimizer.zero_grad()
            prediction = model(data.x, data.edge_index)
            F.cross_entropy(prediction[data.train_mask], data.y[data.train_mask]).backward()
            optimizer.step()
    return model, w


def test_recording_changes_no_weight_and_counts_its_cost(cora, strat, monkeypatch):
    """What it costs is measured by benchmarks/watching.py."""
    assert cora.num_nodes == 2485
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("SPECTRATA_THREADS", "1")
    try:
        model, w = trained(cora, 40, lambda model: watch(model, strat, every=10, mode="train"))
        plain, _ = trained(cora, 40)  # with as many threads: sums depend on them
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), model.parameters(), strict=True))
    cost = w.overhead
    layers = len(w.over_layers()["snapshot"]) - 1
    assert (cost.passes, cost.recorded, cost.activations) == (40, 4, 4 * layers + 1)  # the input did not change
    assert 0 < cost.record < cost.training + cost.record < cost.elapsed


@pytest.mark.long
def test_depth_and_residual_connections(cora, strat):
    """Plain 32 layers collapse and are said to; 2 layers, and 32 with residual connections, are not."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        train = example("gcn_depth").train
        runs = [(32, "plain", 50), (2, "plain", 50), (32, "residual", 50)]  # the fewest that are judged
        found = [train(cora, strat, depth, kind, epochs, epochs) for depth, kind, epochs in runs]
    finally:
        torch.set_num_threads(before)
    assert found[0].off_zero < 0.05
    assert found[1].off_zero > 0.1
    assert found[2].off_zero > 0.1
    assert ["collapsed" in one.findings.kinds for one in found] == [True, False, False]
