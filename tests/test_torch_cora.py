"""What watching costs on the largest component of Cora, and what trained GCNs show there."""

import pytest
import torch

import spectrata as st
from having import shared
from test_examples import example


@pytest.fixture(scope="module")
def cora():
    return example("gcn_depth").cora(shared("cora.npz"))


@pytest.fixture(scope="module")
def strat(cora):
    return st.Stratification(edges=cora.edge_index.T.numpy()[: cora.num_edges // 2], n_nodes=cora.num_nodes, hops=1)


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
