"""Mini-batches of many small graphs."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool

import calls
import spectrata as st
from spectrata.errors import HopError, OptionError, ResultError
from spectrata.results.schema import view
from spectrata.stats.describe.levels import group_reduce, level_groups, merge_rules
from spectrata.torch import Recorder, watch
from spectrata.torch.watching.batches import GraphCache
from spectrata.torch.watching.spectra import BANDS, shares_of


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


def expected(data, values, hop, bands=4):
    """Share of energy per band and off zero, one graph by itself."""
    strat = st.Stratification(data, hops=[hop])
    magnitude = strat.spectra(values, "gft")["magnitude"].values[0]
    basis = strat.basis(hop)
    groups, _ = level_groups(basis.axis, "band", bands)
    energy = np.nan_to_num(group_reduce(magnitude, groups, bands)[0] ** 2)
    return energy / (energy.sum() or np.nan), energy.sum() / (magnitude**2).sum()


def test_bands_are_the_mean_over_the_graphs_of_the_batch():
    graphs, model, heard = small_graphs(), Graphs(), []
    batch = Batch.from_data_list(graphs)
    model.conv2.register_forward_hook(lambda module, args, out: heard.append(out.detach().double().numpy()))
    with watch(model, batch, hops=2, algorithms="gft") as w:
        model(batch.x, batch.edge_index, batch.batch)
    assert w.dataset["band_share"].dims == ("algorithm", "layer", "step", "hop", "band")
    one = w.dataset.sel(layer="conv2").isel(step=0)
    for hop, members in ((1, [0, 1, 2, 3]), (2, [0, 1, 2])):  # the complete graph has no second hop
        want = [expected(graphs[i], heard[0][batch.batch == i], hop) for i in members]
        shares = one["band_share"].sel({"algorithm": "gft", "hop": hop}).values
        # GCNConv averages a complete graph to equal rows: what rounding leaves of them has no shares
        np.testing.assert_allclose(shares, np.mean([share for share, off in want if off > 1e-10], axis=0), rtol=1e-6)
        np.testing.assert_allclose(one["off_zero"].sel(hop=hop), np.mean([off for _, off in want]), rtol=1e-6)
        assert int(one["n_graphs"].sel(hop=hop)) == len(members)
    assert "no edge" in str(one["status"].values.ravel()[0])
    with pytest.raises(ResultError, match="table"):
        w.report("never.html")


@pytest.mark.parametrize(
    "options",
    [
        {"algorithms": ("gft", "ln_vx", "ens"), "ln_vx": {"transform": "incidence"}, "hops": [2]},
        {
            "algorithms": ("adj_diff", "apprx_ls"),
            "adj_diff": {"scaling": "eigenvalue"},
            "apprx_ls": {"orientation": "index"},
        },
    ],
    ids=str,
)
def test_every_algorithm_and_option_per_graph(options):
    graphs = small_graphs()[:3]
    batch = Batch.from_data_list(graphs)
    hops = options.pop("hops", 2)
    probe = Recorder(None, hops=hops, **({"algorithms": "gft"} | options))
    probe.record({"x": batch.x}, edge_index=batch.edge_index, batch=batch.batch)
    found = probe.snapshots
    names = tuple(found["algorithm"].values.tolist())
    assert found["hop"].values.tolist() == ([1, 2] if hops == 2 else hops)
    for hop in found["hop"].values.tolist():
        shares = []
        for graph in graphs:
            plain = {key: value for key, value in options.items() if key != "algorithms"}
            ds = calls.spectra(st.Stratification(graph, hops=[hop]), graph.x.double(), names, **plain)
            known = view(ds)
            groups, count = level_groups(known, "band", BANDS)
            shares.append(shares_of(known.balanced, groups, count, merge_rules(known))[:, 0, 0])
        ours = found["band_share"].sel(hop=hop).values[:, 0]
        np.testing.assert_allclose(ours, np.nanmean(np.nan_to_num(shares), axis=0), rtol=1e-9)


def test_a_shuffled_loader_reuses_the_graphs(tmp_path):
    model = Graphs()
    loader = DataLoader(small_graphs() * 4, batch_size=5, shuffle=True)
    with watch(model, loader, log=tmp_path / "run.zarr", flush_every=3, algorithms="gft") as w:
        for epoch in range(2):
            w.step(epoch=epoch)
            for batch in loader:
                model(batch.x, batch.edge_index, batch.batch)
    assert len(w.recorder.batches) == 4  # one has no edge
    assert w.dataset.sizes["step"] == 8
    table = w.table()
    assert {"n_graphs", "off_zero", "gft_band_1"} <= set(table.columns)
    import xarray as xr

    with xr.open_zarr(tmp_path / "run.zarr", chunks=None) as log:
        np.testing.assert_allclose(log["band_share"].values, w.snapshots["band_share"].values)


def test_graphs_are_read_from_data_objects_and_keywords():
    class Takes(Graphs):
        def forward(self, data):
            return super().forward(data.x, data.edge_index, data.batch)

    batch = Batch.from_data_list(small_graphs())
    for model, call in (
        (Takes(), lambda m: m(batch)),
        (Graphs(), lambda m: m(x=batch.x, edge_index=batch.edge_index, batch=batch.batch)),
    ):
        with watch(model, hops=1, algorithms="gft") as w:
            call(model)
        assert w.dataset["layer"].values.tolist() == ["input", "conv1", "conv1/hidden", "conv2"]
        assert w.dataset["n_graphs"].values.tolist() == [[[4]]] * 4


def test_dead_graphs_are_left_out_and_said():
    graphs = small_graphs()[:2]
    graphs[1].x[0] = 0
    batch = Batch.from_data_list(graphs)
    probe = Recorder(None, hops=1, algorithms="gft", zero_vectors="nan")
    probe.record({"x": batch.x}, edge_index=batch.edge_index, batch=batch.batch)
    ds = probe.snapshots
    assert int(ds["n_graphs"].values[0, 0]) == 1
    assert "zero vector" in str(ds["status"].values.ravel()[0])
    with pytest.raises(OptionError, match="edge_index"):
        probe.record({"x": batch.x})


def test_every_measure_is_that_of_the_batch_as_one_graph():
    """Against ``smoothness`` of the graphs side by side, a dead row included."""
    graphs = small_graphs()
    graphs[1].x[0] = 0
    batch = Batch.from_data_list(graphs)
    probe = Recorder(None)
    probe.record({"x": batch.x}, edge_index=batch.edge_index, batch=batch.batch)
    ds = probe.snapshots
    whole = Data(x=batch.x, edge_index=batch.edge_index)
    want = st.smoothness(whole, whole.x, hops=1, zero_vectors="zero")
    for name in ("off_zero_live", "effective_rank", "dead_rows", "norm", "mean_row_norm"):
        assert float(ds[name][0]) == pytest.approx(float(want[name].squeeze()), rel=1e-5), name


def test_the_cache_forgets_and_refuses_endless_hops():
    cache = GraphCache(2, most=3)
    for n in range(2, 8):
        assert cache.get(np.array([[0], [1]]), n) is not None
    assert len(cache) == 3
    assert cache.get(np.array([[0, 1], [1, 0]]), 7) is cache.get(np.array([[1], [0]]), 7)
    with pytest.raises(OptionError):
        GraphCache(None)
    with pytest.raises(OptionError, match="exceeds the limit for mini-batches"):
        GraphCache(10**15)
    with pytest.raises(HopError, match="not understood"):
        GraphCache("two")
    assert GraphCache([3, 1]).hops == (1, 3)
    assert GraphCache([3, 1]).get(np.array([[0, 1], [1, 2]]), 3).hops == (1,)


def test_a_graph_of_its_own_may_be_watched_at_all_hops():
    probe = Recorder(nx.path_graph(5), hops=None, algorithms="gft")
    probe.record({"x": torch.eye(5)[:, :2] + 1})
    assert probe.snapshots["hop"].values.tolist() == [1, 2, 3, 4]


def test_a_graph_with_constant_activations_counts_whatever_rounding_leaves():
    complete, ring = small_graphs()[3], small_graphs()[0]
    batch = Batch.from_data_list([complete, ring])
    alone = Batch.from_data_list([ring])
    exact = torch.ones(4, 3)
    for rounding in (0.0, 1.0, 2.0):  # rows equal, or equal up to units of rounding
        noisy = exact + rounding * torch.finfo(torch.float32).eps * torch.eye(4, 3)
        ring_values = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
        probe = Recorder(None, hops=1, algorithms="gft")
        probe.record({"x": torch.cat([noisy, ring_values])}, edge_index=batch.edge_index, batch=batch.batch)
        ds = probe.snapshots
        assert int(ds["n_graphs"].values[0, 0]) == 2
        probe = Recorder(None, hops=1, algorithms="gft")
        probe.record({"x": ring_values}, edge_index=alone.edge_index, batch=alone.batch)
        # a constant activation has no shares, and 0 energy off zero
        np.testing.assert_allclose(ds["band_share"], probe.snapshots["band_share"], rtol=1e-12)
        np.testing.assert_allclose(ds["off_zero"], probe.snapshots["off_zero"] / 2, rtol=1e-6)


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
    assert "Mini-batches are described, not judged" in found.notes[0]
    assert f"{float(layers['off_zero_live'].sel(snapshot='convs.1')):.3g}" in str(found)
