"""What watching refuses, in one sentence each, and the forms in which layers give their rows."""

import re

import networkx as nx
import pytest
import torch
from torch_geometric.data import HeteroData
from torch_geometric.nn import HeteroConv, SAGEConv

import spectrata as st
from spectrata.errors import OptionError, ResultError, SpectrataWarning
from spectrata.torch import Recorder, watch
from spectrata.torch.hop_influence import influence
from spectrata.torch.watching.layers import node_rows
from spectrata.torch.watching.spectra import large_hops
from torch_models import Net, fit, small_data


@pytest.fixture(scope="module")
def watched():
    model, data = Net(), small_data()
    with watch(model, data, hops=1, mode="train") as w:
        fit(model, data, 2, after=lambda epoch: w.step(epoch=epoch))
    return w


def test_layers_modes_and_steps_that_were_not_recorded_are_named(watched):
    with pytest.raises(OptionError, match=r"There is no layer 'conv9'; the layers are input, conv1"):
        watched.over_epochs("conv9")
    with pytest.raises(OptionError, match=r"'conv1' has no pass of mode='eval'; it has train"):
        watched.over_epochs("conv1", mode="eval")
    with pytest.raises(OptionError, match=r"No pass was recorded with mode='control'; recorded were train"):
        watched.over_layers(mode="control")
    with pytest.raises(OptionError, match=r"step 7 was not recorded; recorded were 0, 1"):
        watched.over_layers(step=7)


def test_misuse_is_answered_in_a_sentence():
    model, data = Net(), small_data()
    w = watch(model, data)
    model(data.x, data.edge_index)
    with pytest.raises(ResultError, match=r"inside `with watch\(model, data\) as w:`"):
        w.over_layers()
    with watch(model, data) as w:
        model(data.x, data.edge_index)
        with pytest.raises(OptionError, match=r"scores by name, such as w\.step\(loss=0\.4"):
            w.step({"loss": 1})
    with pytest.raises(OptionError, match=r"st\.diagnose\(w\.over_layers\(\)\)"):
        st.diagnose(w)


def test_batches_of_other_sizes_are_one_problem():
    model, data = Net(), small_data()
    w = watch(model, nx.path_graph(12), mode="train")
    w.start()
    for n in (30, 25, 20):
        model(data.x[:n], data.edge_index[:, (data.edge_index < n).all(dim=0)])
    with pytest.warns(SpectrataWarning, match="the graph has 12 nodes"):
        w.stop()
    assert len(w.problems) == 1
    assert "for sampled batches none" in w.problems[0]
    assert "No layer has a number" in str(st.diagnose(w.over_layers()))


def test_one_zarr_log_is_enough(tmp_path):
    with pytest.raises(OptionError, match=r"One Zarr log is enough; give a single path that ends in \.zarr"):
        watch(Net(), small_data(), log=[tmp_path / "a.zarr", tmp_path / "b.zarr"], mode="train")


@pytest.mark.parametrize("given", [{"samples": 0}, {"hops": 0}])
def test_influence_needs_a_sample_and_a_hop(given):
    with pytest.raises(OptionError, match="must be at least 1"):
        influence(Net(), small_data(), **given)


def test_influence_needs_features():
    data = small_data()
    data.x = None
    for one in (data, object()):
        with pytest.raises(OptionError, match="data has no tensor x"):
            influence(Net(), one)


def test_the_hops_of_a_large_graph_are_named():
    settings = Recorder(small_data(), algorithms="gft").settings
    for hops, found in (("auto", (1,)), (3, (1, 2, 3)), ([2, 5], (2, 5))):
        with pytest.warns(SpectrataWarning, match="32 bands"):
            assert large_hops(hops, settings) == found
    with pytest.raises(OptionError, match=r"name the hops, such as hops=\[1\]"):
        large_hops(None, settings)


def test_several_kinds_of_edges_lead_to_a_graph_that_can_be_watched():
    data = HeteroData()
    data["paper"].x, data["author"].x = torch.randn(6, 4), torch.randn(3, 4)
    data["paper", "cites", "paper"].edge_index = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 2], [0, 2, 4]])
    data["paper", "by", "author"].edge_index = torch.tensor([[0, 2, 4], [0, 1, 2]])
    model = HeteroConv({kind: SAGEConv((4, 4), 5) for kind in data.edge_types})
    with pytest.raises(OptionError, match="has no one Laplacian") as told:
        watch(model, data, mode="train")
    graph = eval(re.search(r"watch\(model, (.*), \.\.\.\)", str(told.value))[1], {"data": data})
    with watch(model, st.Stratification(graph, undirected=True), mode="train") as w:
        model(data.x_dict, data.edge_index_dict)
    assert {"convs.<paper___cites___paper>", "convs.<author___writes___paper>"} <= set(w.dataset["layer"].values)


@pytest.mark.filterwarnings("ignore:Sparse")  # of AddMetaPaths itself
def test_kinds_of_edges_between_two_kinds_of_nodes_lead_on_too():
    from torch_geometric.transforms import AddMetaPaths

    data = HeteroData()
    data["paper"].x, data["author"].x = torch.randn(6, 4), torch.randn(4, 4)
    ends = torch.tensor([[0, 0, 1, 1, 2, 3, 3, 0], [0, 1, 1, 2, 3, 4, 5, 3]])
    data["author", "writes", "paper"].edge_index = ends
    data["paper", "by", "author"].edge_index = ends.flip(0)
    model = HeteroConv({kind: SAGEConv((4, 4), 5) for kind in data.edge_types})
    with pytest.raises(OptionError, match="joins nodes of one kind") as told:
        watch(model, data, mode="train")
    form, graph = re.search(r"data = (.*) of torch.*watch\(model, (.*), \.\.\.\)", str(told.value)).groups()
    names = {"TYPE": ("author", "writes", "paper"), "REVERSED": ("paper", "by", "author")}
    data = eval(form, {"AddMetaPaths": AddMetaPaths, "data": data} | names)
    with pytest.warns(SpectrataWarning, match="Dropped"), watch(model, eval(graph, {"data": data}), mode="train") as w:
        model(data.x_dict, {kind: data[kind].edge_index for kind in names.values()})
    assert w.dataset["off_zero_live"].sel(layer="convs.<paper___by___author>").notnull().all()


def test_rows_of_nodes_are_found_in_what_layers_return():
    rows = torch.arange(12.0).reshape(6, 2)
    for output in (rows, rows[None], (torch.ones(3), rows), {"attention": torch.ones(6, dtype=torch.int64), "x": rows}):
        assert torch.equal(node_rows(output, 6), rows)
    assert torch.equal(node_rows([rows.reshape(6, 1, 2)], 6), rows)
    assert node_rows((torch.ones(3), None), 6) is None
