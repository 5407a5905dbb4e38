"""Evaluations without messages: what the control replaces, what it is compared with, and where it is refused."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

import spectrata as st
from spectrata.errors import OptionError
from spectrata.torch import watch
from torch_models import ByData, Net, fit, off_zero, small_data


@pytest.fixture
def data():
    return small_data()


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("form", ["edge_index", "weights", "data", "adj_t", "cached"])
def test_the_control_passes_no_messages(data, form):
    """Against the same weights on a graph whose only edges are self-loops, made by hand."""
    torch.manual_seed(0)
    model = Net()
    if form == "cached":
        model.conv1 = GCNConv(8, 16, cached=True)
    weight = torch.rand(data.edge_index.shape[1]) + 0.5
    loops = torch.arange(30).expand(2, 30)
    if form == "data":
        model = ByData(model, "x", "edge_index")
    sparse = torch.sparse_coo_tensor(data.edge_index, torch.ones(data.edge_index.shape[1]), (30, 30)).to_sparse_csr()

    class Weighted(Net):
        def forward(self, x, edge_index, edge_weight):
            return self.conv2(self.conv1(x, edge_index, edge_weight).relu(), edge_index, edge_weight)

    if form == "weights":
        model = Weighted()
    calls = {
        "data": lambda e: model(Data(x=data.x, edge_index=e)),
        "weights": lambda e: model(data.x, e, weight if e is not loops else torch.ones(30)),
        "adj_t": lambda e: model(data.x, torch.eye(30).to_sparse_csr() if e is loops else sparse),
    }
    call = calls.get(form, lambda e: model(data.x, e))
    with watch(model, data, hops=1, weights=False, evaluate=True, control="no_messages") as w:
        call(data.edge_index)
    assert not w.problems
    if form == "cached":
        assert model.conv1._cached_edge_index is not None
        model.conv1.cached, model.conv1._cached_edge_index = False, None
    model.eval()
    inner = model.inner if form == "data" else model
    heard = []
    inner.conv2.register_forward_hook(lambda module, args, out: heard.append(out.detach()))
    call(data.edge_index)
    call(loops)
    for mode, want in zip(("eval", "control"), heard, strict=True):
        last = w.over_layers(mode=mode).isel(snapshot=-1)
        assert float(last["off_zero_live"]) == pytest.approx(off_zero(data, want), rel=1e-5), mode
    layers = w.over_layers()
    assert layers.attrs["pass_mode"] == "eval"  # never the control
    without = w.over_layers(mode="control")
    both = [name for name in layers["snapshot"].values if name in without["snapshot"].values and name != "input"]
    assert both
    carried = layers["off_zero_live_control"].sel(snapshot=both).values
    np.testing.assert_array_equal(carried, without["off_zero_live"].sel(snapshot=both).values)
    assert "off_zero_live_control" not in without


def test_a_control_without_edges_is_refused_at_the_first_call(data):
    model = torch.nn.Sequential(torch.nn.Linear(8, 3))
    with pytest.raises(OptionError, match="no edge_index"), watch(model, data, layers="0", control="no_messages"):
        model(data.x)
    with pytest.raises(OptionError, match="control"):
        watch(model, data, layers="0", control="x")


class Spread(torch.nn.Module):
    """A layer called as those of DGL: the graph first."""

    def __init__(self, width_in, width_out):
        super().__init__()
        self.lin = torch.nn.Linear(width_in, width_out)

    def forward(self, graph, x):
        tails, heads = graph.edges()
        return self.lin(torch.zeros_like(x).index_add(0, heads, x[tails]))


class Graph:
    """What spectrata asks of a DGLGraph; DGL itself is not needed."""

    def __init__(self, edge_index, n):
        self.ends, self.n, self.ndata, self.edata, self.is_homogeneous = tuple(edge_index), n, {}, {}, True

    def edges(self):
        return self.ends

    def num_nodes(self):
        return self.n


class GraphFirst(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = Spread(8, 16), Spread(16, 3)

    def forward(self, graph, x):
        return self.conv2(graph, self.conv1(graph, x).relu())


def test_a_model_of_a_dgl_graph_has_its_control_by_a_second_evaluation(data):
    torch.manual_seed(0)
    model, graph = GraphFirst(), Graph(data.edge_index, 30)
    layers = ["conv1", "conv2"]
    for given in (graph, None):  # None: the graph is read from the call
        refused = pytest.raises(OptionError, match="does not support DGL graphs; leave control out, watch one more")
        with refused, watch(model, given, layers=layers, control="no_messages"):
            model(graph, data.x)
    with watch(model, graph, layers=layers, hops=1, evaluate=True) as w:
        model(graph, data.x)
    assert not w.problems
    model.conv2.lin.bias.data += 1e3  # so that the outputs have one direction, with messages or without
    loops = Graph(torch.arange(30).expand(2, 30), 30)
    heard = []
    model.conv2.register_forward_hook(lambda module, args, out: heard.append(out.detach()))
    found = []
    for edges in (graph, loops):
        with watch(model, graph, layers=layers, hops=1, mode="eval") as one, torch.no_grad():
            model.eval()(edges, data.x)
        found.append(one.over_layers())
        assert float(found[-1]["off_zero_live"][-1]) == pytest.approx(off_zero(data, heard[-1]), rel=1e-4)
    judged = st.diagnose(found[0], control=found[1])
    (verdict,) = [one for one in judged if one.kind == "collapsed" and one.snapshot == "conv2"]
    assert "control without messages: too" in verdict.text


def test_an_evaluation_has_the_control_that_follows_it(data):
    torch.manual_seed(0)
    model = Net()
    with watch(model, data, hops=1, mode="none", evaluate=1, control="no_messages") as w:
        for epoch in range(3):
            fit(model, data, 1)
            w.step(epoch=epoch)
    both = w.snapshots
    layer, step, mode, measure = (both[name].values for name in ("layer", "step", "mode", "off_zero_live"))
    passes = [sorted(set(step[mode == name].tolist())) for name in ("eval", "control")]
    assert len(passes[0]) == len(passes[1]) >= 3
    for own, other in zip(*passes, strict=True):
        here = w.over_layers(step=own)
        known = {"input": measure[layer == "input"][0]}  # the same with and without messages
        known |= dict(zip(layer[step == other].tolist(), measure[step == other].tolist(), strict=True))
        want = [known.get(name, np.nan) for name in here["layer"].values.tolist()]
        assert np.isfinite(want).any()
        np.testing.assert_array_equal(here["off_zero_live_control"].values, want)
