"""Mini-batches of many small graphs."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.torch import Recorder, watch
from torch_models import ByData


class Graphs(torch.nn.Module):
    """A graph classifier."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.head = GCNConv(4, 8), GCNConv(8, 8), torch.nn.Linear(8, 2)

    def forward(self, x, edge_index, batch):
        x = self.conv2(self.conv1(x, edge_index).tanh(), edge_index)
        return self.head(global_mean_pool(x, batch))


def small_graphs():
    made = [nx.cycle_graph(6), nx.star_graph(5), nx.path_graph(7), nx.complete_graph(4), nx.empty_graph(1)]
    out = []
    for index, graph in enumerate(made):
        edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
        both = torch.tensor(np.concatenate([edges, edges[:, ::-1]]).T.copy())
        x = torch.randn(len(graph), 4, generator=torch.Generator().manual_seed(index))
        out.append(Data(x=x, edge_index=both, y=torch.tensor([index % 2])))
    return out


def test_spectra_of_mini_batches_are_refused_and_lead_on():
    with pytest.raises(OptionError, match="spectra_many"):
        Recorder(None, algorithms="gft")
    with pytest.raises(OptionError, match="not an array"):
        Recorder(None, weights=np.ones(3))
    batch, model = Batch.from_data_list(small_graphs()), Graphs()
    with watch(model, batch, mode="train") as w:
        model(batch.x, batch.edge_index, batch.batch)
    with pytest.raises(ResultError, match="table"):
        w.report("never.html")
    with pytest.raises(OptionError, match="edge_index"):
        w.record({"x": batch.x})


def test_a_shuffled_loader_is_logged(tmp_path):
    model = Graphs()
    loader = DataLoader(small_graphs() * 4, batch_size=5, shuffle=True)
    with watch(model, loader, log=tmp_path / "run.zarr", flush_every=3, mode="train") as w:
        for epoch in range(2):
            w.step(epoch=epoch)
            for batch in loader:
                model(batch.x, batch.edge_index, batch.batch)
    assert w.dataset.sizes["step"] == 8
    import xarray as xr

    with xr.open_zarr(tmp_path / "run.zarr", chunks=None) as log:
        np.testing.assert_array_equal(log["off_zero_live"].values, w.snapshots["off_zero_live"].values)


def test_graphs_are_read_from_data_objects_and_keywords():
    batch = Batch.from_data_list(small_graphs())
    for model, before, call in (
        (ByData(Graphs(), "x", "edge_index", "batch"), "inner.", lambda m: m(batch)),
        (Graphs(), "", lambda m: m(x=batch.x, edge_index=batch.edge_index, batch=batch.batch)),
    ):
        with watch(model, mode="train") as w:
            call(model)
        names = [f"{before}conv1", f"{before}conv1/hidden", f"{before}conv2"]
        assert w.dataset["layer"].values.tolist() == ["input", *names]


def test_every_measure_is_that_of_the_batch_as_one_graph():
    """Against ``smoothness`` of the graphs side by side, a dead row included."""
    graphs = small_graphs()
    graphs[1].x[0] = 0
    batch = Batch.from_data_list(graphs)
    probe = Recorder(None)
    probe.record({"x": batch.x}, edge_index=batch.edge_index)
    ds = probe.snapshots
    whole = Data(x=batch.x, edge_index=batch.edge_index)
    want = st.smoothness(whole, whole.x, hops=1, zero_vectors="zero")
    for name in ("off_zero_live", "effective_rank", "dead_rows", "norm", "mean_row_norm"):
        assert float(ds[name][0]) == pytest.approx(float(want[name].squeeze()), rel=1e-5), name


def test_a_batch_without_an_edge_is_measured():
    probe = Recorder(None)
    probe.record({"x": torch.eye(3)}, edge_index=torch.empty(2, 0, dtype=torch.int64))
    assert float(probe.snapshots["off_zero_live"][0]) == 0  # every node is a part of its own
    assert np.isnan(float(probe.snapshots["r"][0]))


def test_a_graph_of_its_own_may_be_watched_at_all_hops():
    probe = Recorder(nx.path_graph(5), hops=None, algorithms="gft")
    probe.record({"x": torch.eye(5)[:, :2] + 1})
    assert probe.snapshots["hop"].values.tolist() == [1, 2, 3, 4]


def test_neighbourhoods_of_one_graph_are_recorded_and_described():
    """As ``NeighborLoader`` gives them: seeds with their neighbourhoods, numbered anew, and ``batch_size``."""
    from torch_geometric.nn.models import GraphSAGE
    from torch_geometric.utils import k_hop_subgraph

    graph = nx.connected_watts_strogatz_graph(60, 4, 0.1, seed=0)
    edge_index = torch.tensor(list(graph.to_directed().edges)).T
    x = torch.randn(60, 6, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    model, seen = GraphSAGE(6, 8, 2, 3), []
    with watch(model, None, hops=1, mode="eval") as w, torch.no_grad():
        for seeds in torch.randperm(60).reshape(3, 20):
            nodes, edges, _, _ = k_hop_subgraph(seeds, 1, edge_index, relabel_nodes=True)
            batch = Data(x=x[nodes], edge_index=edges, n_id=nodes, batch_size=20)
            seen.append((batch, model.eval()(batch.x, batch.edge_index)))
    last, out = seen[-1]
    part = nx.Graph(last.edge_index.T.tolist())
    part.add_nodes_from(range(last.num_nodes))
    ordered = nx.Graph()
    ordered.add_nodes_from(range(last.num_nodes))
    ordered.add_edges_from(part.edges)
    want = st.smoothness(ordered, out.numpy(), hops=1, zero_vectors="zero")
    layers = w.over_layers()
    for name in ("off_zero_live", "effective_rank", "dead_rows", "norm"):
        assert float(layers[name].sel(snapshot="convs.1")) == pytest.approx(float(want[name].squeeze()), rel=1e-5)
    found = st.diagnose(layers)
    assert not len(found)
    assert "described, not judged" in found.notes[0]
    assert "watch(model, data)" in found.notes[1]
    assert f"{float(layers['off_zero_live'].sel(snapshot='convs.1')):.3g}" in str(found)
