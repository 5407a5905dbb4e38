"""Edge weights of watched models and of losses."""

import warnings

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv

import calls
import spectrata as st
from spectrata.errors import InputError, OptionError, ResultError
from spectrata.torch import Recorder, magnitudes, off_zero, recover, watch
from torch_models import ByData


def data(seed=0, n=10):
    graph = nx.connected_watts_strogatz_graph(n, 4, 0.3, seed=seed)
    edges = np.array(graph.edges).T
    weights = np.random.default_rng(seed).uniform(0.2, 3.0, edges.shape[1])
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    both = np.concatenate([edges, edges[::-1]], axis=1)
    return Data(x=x, edge_index=torch.tensor(both), edge_weight=torch.tensor(np.tile(weights, 2)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = GCNConv(4, 3).double()

    def forward(self, x, edge_index, edge_weight=None):
        return self.conv(x, edge_index, edge_weight)


def test_weights_are_ignored_with_one_warning():
    one, model = data(), Net()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with watch(model, one, hops=1, mode="train"):
            model(one.x, one.edge_index, one.edge_weight)
    assert [str(warning.message)[:13] for warning in seen] == ["Ignoring edge"]


def passes(model, batch, count=2, **arguments):
    with watch(model, None, states=(), mode="train", **arguments) as w:
        for _ in range(count):
            model(batch.x, batch.edge_index, batch.edge_weight)
    return w


def test_mini_batches():
    graphs = [data(seed) for seed in range(3)]
    batch, model = Batch.from_data_list(graphs), Net()
    model.conv.bias.data += 0.3

    outer, found = ByData(model, "x", "edge_index", "edge_weight"), {}
    for weights in (True, False):
        with watch(outer, None, layers=[model.conv], weights=weights, states=(), mode="train") as w:
            out = outer(batch)
        assert w.problems == []
        whole = Data(edge_index=batch.edge_index, edge_weight=batch.edge_weight, num_nodes=batch.num_nodes)
        want = st.correlogram(whole, out.detach().double().numpy(), hops=[1], weights=weights, draws=0)
        found[weights] = float(w.snapshots["r"][0])
        assert found[weights] == pytest.approx(float(want["r"].squeeze()), abs=1e-5)
    assert abs(found[True] - found[False]) > 1e-4


def test_mini_batches_say_that_weights_are_ignored():
    batch, model = Batch.from_data_list([data(0), data(1)]), Net()
    with pytest.warns(match="Ignoring edge weights"):
        w = passes(model, batch)
    assert len(w.problems) == 1
    assert passes(model, batch, weights=False).problems == []


def test_mini_batches_without_weights():
    batch, model = Batch.from_data_list([data(0), data(1)]), Net()
    with pytest.warns(match="showed no edge weights"):  # noqa: SIM117
        with watch(model, None, hops=1, weights=True, mode="train"):
            model(batch.x, batch.edge_index)


def test_weights_that_disagree_are_refused():
    graphs = [data(0), data(1)]
    graphs[0].edge_weight[0] *= 2
    batch = Batch.from_data_list(graphs)
    probe = Recorder(weights=True)
    with pytest.raises(InputError, match="disagree"):
        probe.record({"x": batch.x}, edge_index=batch.edge_index, edge_weight=batch.edge_weight)


def test_a_log_knows_its_weights(tmp_path):
    batch, model = Batch.from_data_list([data(0), data(1)]), Net()
    path = tmp_path / "run.zarr"
    passes(model, batch, weights=True, log=path)
    with pytest.warns(match="holds an earlier run: the passes of this run are appended"):
        passes(model, batch, weights=True, log=path)
    assert recover(path).sizes["snapshot"] == 4
    with pytest.raises(ResultError, match="options"):
        passes(model, batch, log=path, weights=False)


def test_a_recorder_without_a_graph():
    one, probe = data(), Recorder(weights=True)
    probe.record({"x": one.x}, edge_index=one.edge_index, edge_weight=one.edge_weight)
    want = st.correlogram(one, one.x, hops=[1], weights=True, draws=0)["r"].squeeze()
    assert float(probe.snapshots["r"][0]) == pytest.approx(float(want), abs=1e-6)
    with pytest.raises(OptionError, match="give edge_weight"):
        probe.record({"x": one.x}, edge_index=one.edge_index)
    with pytest.raises(OptionError, match="not an array"):
        Recorder(weights=[1.0, 2.0])


@pytest.mark.parametrize("rule", ["bottleneck", "product", "unit"])
def test_losses(rule):
    one = data()
    x = one.x.clone().requires_grad_()
    read_as = {"weights": True, "hop_weights": rule}
    ds = calls.spectra(one, one.x, hops=2, laplacian="random_walk", **read_as)
    strat = st.Stratification(one, 2, **read_as)
    for name in ("gft", "apprx_ls", "in_agg", "adj_diff"):
        found = magnitudes(strat, x, name, laplacian="random_walk")
        np.testing.assert_allclose(found.detach(), ds["magnitude"].sel(algorithm=name).values, atol=1e-10)
    for hop in (1, 2):
        found = off_zero(strat, x, hop=hop, laplacian="random_walk")
        assert float(found.detach()) == pytest.approx(float(st.off_zero(ds).sel(hop=hop)))
    found.backward()
    assert torch.isfinite(x.grad).all()
    if rule == "bottleneck":  # as a graph is read by itself
        np.testing.assert_array_equal(magnitudes(one, x, hops=2, weights=True).detach(), magnitudes(strat, x).detach())


def test_a_stratification_has_its_own():
    one = data()
    strat = st.Stratification(one, hops=2, weights=True)
    for call in (magnitudes, off_zero):
        with pytest.raises(OptionError, match="leave out weights"):
            call(strat, one.x, weights=True)
    with pytest.raises(OptionError, match="leave out hops and weights"):
        watch(Net(), strat, weights=True, mode="train")
    assert magnitudes(strat, one.x, hops=1).shape == (1, 10)
    assert watch(Net(), strat, mode="train").strat is strat
