"""What is watched beside layers: inputs, hidden states, outputs, evaluation and control passes, scores."""

import copy
import random

import networkx as nx
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCN2Conv, GCNConv
from torch_geometric.utils import k_hop_subgraph

import calls
import spectrata as st
from spectrata.errors import OptionError, ResultError, SpectrataWarning
from spectrata.stats.findings.watched import with_scores
from spectrata.torch import Recorder, recover, watch
from torch_models import Net, fit, off_zero, small_data


@pytest.fixture
def data():
    return small_data()


class Layered(torch.nn.Module):
    """A GCN with batch normalisation, dropout and a linear classifier, as they are written every day."""

    def __init__(self, features=8, hidden=16, classes=3, depth=2):
        super().__init__()
        self.convs = torch.nn.ModuleList(GCNConv(features if i == 0 else hidden, hidden) for i in range(depth))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm1d(hidden) for _ in range(depth))
        self.head = torch.nn.Linear(hidden, classes)
        self.states = []

    def forward(self, x, edge_index):
        self.states = []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = F.dropout(F.relu(norm(conv(x, edge_index))), 0.5, self.training)
            self.states.append(x.detach().clone())
        return F.log_softmax(self.head(x), dim=1)


def test_hidden_states_are_what_the_next_layer_is_given(data):
    torch.manual_seed(0)
    model = Layered()
    with watch(model, data, mode="train") as w:
        model(data.x, data.edge_index)
    found = w.over_layers()
    names = ["input", "convs.0", "convs.0/hidden", "convs.1", "convs.1/hidden", "head"]
    assert found["snapshot"].values.tolist() == names
    assert found["role"].values.tolist() == ["input", "layer", "hidden", "layer", "hidden", "output"]
    shares = dict(zip(names, found["off_zero_live"].values, strict=True))
    assert shares["input"] == pytest.approx(off_zero(data, data.x), rel=1e-5)
    for index, state in enumerate(model.states):
        live = state[state.ne(0).any(dim=1)]
        assert len(live) == len(state)
        assert shares[f"convs.{index}/hidden"] == pytest.approx(off_zero(data, state), rel=1e-5)
        live = found["dead_rows"].sel(snapshot=f"convs.{index}/hidden")
        assert float(live) == np.mean(~np.any(state.numpy() != 0, axis=1))
    logits = model.head(model.states[-1])
    assert shares["head"] == pytest.approx(off_zero(data, logits.detach()), rel=1e-5)  # before the softmax


def test_states_follow_branches_residuals_and_encoders(data):
    """A linear branch beside a convolution is no state of it; a first linear layer makes one."""

    class Residual(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.conv1, self.skip1 = torch.nn.Linear(8, 8), GCN2Conv(8, 0.1), torch.nn.Linear(8, 8)
            self.conv2 = GCN2Conv(8, 0.1)

        def forward(self, x, edge_index):
            x = start = self.first(x).relu()
            x = (self.conv1(x, start, edge_index) + self.skip1(x)).tanh()
            return x + self.conv2(x, start, edge_index)

    model = Residual()
    with watch(model, data, hops=1, mode="train") as w:
        out = model(data.x, data.edge_index)
    found = w.over_layers()
    assert found["snapshot"].values.tolist() == [
        "input", "first/hidden", "conv1", "conv1/hidden", "conv2", "output"
    ]  # fmt: skip
    want = off_zero(data, out.detach())
    assert float(found["off_zero_live"].sel(snapshot="output")) == pytest.approx(want, rel=1e-5)
    with watch(model, data, hops=1, states=["output"], mode="train") as w:
        model(data.x, data.edge_index)
    assert w.over_layers()["snapshot"].values.tolist() == ["conv1", "conv2", "output"]


def test_the_input_is_copied_when_it_changes(data):
    model = Net()
    with watch(model, data, hops=1, mode="train") as w:
        for epoch in range(4):
            model(data.x if epoch < 2 else data.x + epoch // 3, data.edge_index)
            w.step(epoch=epoch)
    rows = w.snapshots
    assert rows["step"].values[rows["role"].values == "input"].tolist() == [0, 3]
    stands = w.dataset["off_zero_live"].sel(layer="input").values
    np.testing.assert_allclose(stands[:3], off_zero(data, data.x), rtol=1e-6)
    assert stands[3] == pytest.approx(off_zero(data, data.x + 1), rel=1e-6)
    assert float(w.over_layers(step=1)["off_zero_live"][0]) == stands[0]


def test_patterns_choose_layers(data):
    model = Layered(depth=3)
    for pattern, names in (("convs.*", ["convs.0", "convs.1", "convs.2"]), ("convs.[12]", ["convs.1", "convs.2"])):
        assert list(watch(model, data, layers=pattern, mode="train").layers) == names
    with pytest.raises(OptionError, match=r"No module of the model matches 'nets\.\*'"):
        watch(model, data, layers="nets.*", mode="train")


def everything(model, optimizer=None):
    state = [torch.get_rng_state(), torch.tensor(np.random.rand(2)), torch.tensor(random.random())]  # noqa: NPY002
    return [*model.state_dict().values(), *(p.grad for p in model.parameters()), *state]


@pytest.mark.parametrize("arguments", [{"evaluate": 3}, {"evaluate": 2, "control": "no_messages", "mode": "none"}])
def test_evaluations_leave_no_trace(data, arguments):
    """Weights, buffers, gradients and random states to the last bit, with dropout and batch normalisation."""

    class Counting(Layered):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x, edge_index):
            self.count += 1  # a buffer that evaluation mode would move too
            self.count = self.count * 1.0  # and replace
            np.random.rand(), random.random(), torch.rand(1)  # noqa: NPY002
            return super().forward(x, edge_index)

    ends = []
    for watched in (False, True):
        torch.manual_seed(0)
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        model = Counting()
        if watched:
            with watch(model, data, hops=1, **arguments) as w:
                fit(model, data, 8, after=lambda epoch: w.step(epoch=epoch))
                assert model.training
        else:
            fit(model, data, 8)
        ends.append(everything(model))
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))
    assert not w.problems
    assert w.overhead.evaluations >= 3


def test_evaluations_that_nothing_counts_are_reported(data):
    model = Layered()
    with (
        pytest.warns(SpectrataWarning, match=r"evaluate=3 counts calls of w\.step"),
        watch(model, data, hops=1, evaluate=3) as w,
    ):
        fit(model, data, 8)
    assert w.overhead.evaluations == 1


def test_evaluations_are_the_model_in_evaluation_mode(data):
    torch.manual_seed(0)
    model, ends = Layered(), {}

    def after(epoch):
        if epoch in (2, 5, 7):  # every third epoch, and the end of the block
            copied = copy.deepcopy(model).eval()
            with torch.no_grad():
                copied(data.x, data.edge_index)
            ends[epoch] = off_zero(data, copied.states[-1])
        w.step(epoch=epoch, acc=epoch / 10, loss=1.0)

    with watch(model, data, every=2, mode="train", evaluate=3, control=None) as w:
        fit(model, data, 8, after=after)
    found = w.over_epochs("convs.1/hidden")
    assert found["snapshot"].values.tolist() == [2, 5, 7]
    assert found.attrs["snapshot_kind"] == "epochs"
    assert found.attrs["pass_mode"] == "eval"
    np.testing.assert_allclose(found["off_zero_live"].values, list(ends.values()), rtol=1e-5)
    assert w.over_epochs("convs.1/hidden", mode="train")["snapshot"].values.tolist() == [0, 2, 4, 6]
    judged = w.over_layers()
    assert {key: judged.attrs[f"pass_{key}"] for key in ("mode", "epoch")} == {"mode": "eval", "epoch": 7}
    assert judged.attrs["snapshot_kind"] == "layers"
    assert w.over_layers(mode="train").attrs["pass_epoch"] == 6
    grid = w.dataset
    assert grid["off_zero_live"].dims == ("layer", "mode", "epoch")
    assert grid["mode"].values.tolist() == ["train", "eval"]
    assert grid["acc"].dims == ("epoch",)
    np.testing.assert_allclose(grid["acc"].values, grid["epoch"].values / 10)
    assert judged["acc"].values.tolist() == [0.7] * judged.sizes["snapshot"]
    with pytest.raises(OptionError, match="mode='control'"):
        w.over_layers(mode="control")


def test_labels_before_the_pass_belong_to_the_epoch_that_ended(data):
    model = Layered()
    with watch(model, data, hops=1, evaluate=2) as w:
        fit(model, data, 4, before=lambda epoch: w.step(epoch=epoch))
    assert w.over_epochs("convs.0")["snapshot"].values.tolist() == [1, 3]


def test_an_evaluation_that_fails_is_a_problem_and_no_error(data):
    class TrainsOnly(Net):
        def forward(self, x, edge_index):
            assert self.training, "not for you"
            return super().forward(x, edge_index)

    model = TrainsOnly()
    with pytest.warns(SpectrataWarning, match="AssertionError: not for you"), watch(model, data, evaluate=True):
        fit(model, data, 2)
    assert model.training


def test_copies_and_files_of_a_watched_model(data, tmp_path):
    model = Net()
    with watch(model, data, hops=1, mode="train") as w:
        fit(model, data, 2)
        twin = copy.deepcopy(model)
        averaged = torch.optim.swa_utils.AveragedModel(model)
        torch.save(model, tmp_path / "model.pt")
        averaged.update_parameters(model)
        for other in (twin, averaged, torch.load(tmp_path / "model.pt", weights_only=False)):
            other(data.x, data.edge_index)
        assert w.overhead.passes == 2
    assert not w.problems
    assert b"spectrata" not in (tmp_path / "model.pt").read_bytes()


def test_signals_are_kept_on_request(data, tmp_path):
    model = Net()
    for log in (None, tmp_path / "run.zarr"):
        with watch(model, data, hops=1, evaluate=True, mode="train", keep=("signal",), log=log) as w:
            fit(model, data, 3)
        found = w.over_layers()
        kept = found["signal"].sel(snapshot="input").values
        np.testing.assert_array_equal(kept[:, :8], data.x.numpy())
        assert (kept[:, 8:] == 0).all()
        assert kept.shape == (30, 16)
        assert {one.kind for one in st.diagnose(found)} == {"training"}
        assert found["signal"].notnull().all()
        assert w.over_epochs("conv1", mode="train")["signal"].shape == (3, 30, 16)
    with pytest.raises(OptionError, match="keep"):
        Recorder(data, keep=("spectrum",))


def test_scores_reach_the_log_and_survive(data, tmp_path):
    path = tmp_path / "run.zarr"
    model = Net()
    with watch(model, data, hops=1, log=path, mode="train") as w:
        fit(model, data, 3, after=lambda epoch: w.step(epoch=epoch, acc=torch.tensor(epoch / 4)))
    held = with_scores(st.open(path))
    np.testing.assert_allclose(held["acc"].values, held["epoch"].values / 4)
    left = watch(model, data, hops=1, log=path, mode="train")
    left.start()
    fit(model, data, 2, after=lambda epoch: left.step(epoch=epoch + 3, acc=0.9, loss=0.1))
    left.listener.detach()
    left.log.close()  # as after a kill: the passes, their labels and scores are in the journal
    found = with_scores(recover(path))
    assert found["epoch"].values.max() == 4
    np.testing.assert_allclose(found["acc"].values, np.where(found["epoch"] < 3, found["epoch"] / 4, 0.9))
    assert np.isnan(found["loss"].values[found["epoch"].values < 3]).all()
    with watch(model, data, hops=1, log=path, mode="train") as again:
        fit(model, data, 1, after=lambda epoch: again.step(epoch=5, acc=1.0))
        with pytest.raises(OptionError, match="dead_rows"):
            again.step(epoch=6, dead_rows=1)
        with pytest.raises(OptionError, match="one number"):
            again.step(epoch=6, acc="high")
    assert again.dataset["acc"].values.tolist() == [0.0, 0.25, 0.5, 0.9, 0.9, 1.0]
    assert with_scores(st.open(path))["acc"].values[-1] == 1.0


def test_a_log_of_another_model_is_refused(data, tmp_path):
    with watch(Net(), data, hops=1, log=tmp_path / "run.zarr", mode="train") as w:
        w.listener.model(data.x, data.edge_index)
    with pytest.raises(ResultError, match="another model"):
        watch(Net(hidden=17), data, hops=1, log=tmp_path / "run.zarr", mode="train")


def test_a_graph_of_another_size_and_nothing_but_nan_are_reported(data):
    model = Net()
    with (
        pytest.warns(SpectrataWarning, match="the graph has 12 nodes.*30, 16"),
        watch(model, nx.path_graph(12), mode="train") as w,
    ):
        model(data.x, data.edge_index)
    assert any("12 nodes" in problem for problem in w.problems)
    with (
        pytest.warns(SpectrataWarning, match="every activation of every layer has NaN"),
        watch(model, data, mode="train") as w,
    ):
        model(data.x * torch.nan, data.edge_index)
    assert any("NaN" in problem for problem in w.problems)


def test_large_graphs_are_read_in_bands(data, monkeypatch, tmp_path):
    """The same numbers as ``band_spectra``; measures as for any graph; one warning with the cost."""
    monkeypatch.setattr("spectrata.torch.watching.record.LARGE", 20)
    torch.manual_seed(0)
    model = Net()
    path = tmp_path / "run.zarr"
    with pytest.warns(SpectrataWarning, match=r"spectra are computed in 32 bands"):
        w = watch(model, data, evaluate=True, mode="both", control=None, algorithms="gft", log=path)
    with w:
        fit(model, data, 3)
    assert w.strat is None
    found = w.over_layers()
    assert found.attrs["kind"] == "bands"
    assert found["hop"].values.tolist() == [1]
    heard = []
    model.eval().conv2.register_forward_hook(lambda module, args, out: heard.append(out.detach().double().numpy()))
    model(data.x, data.edge_index)
    want = calls.band_spectra(data, heard[0], 32, hops=[1], algorithms="gft", tol=0.02)
    last = found.sel(snapshot="conv2")
    np.testing.assert_allclose(last["magnitude"].values, want["magnitude"].values, rtol=1e-4, atol=1e-6)
    assert float(last["off_zero"][0]) == pytest.approx(off_zero(data, heard[0]), rel=1e-5)
    assert float(last["effective_rank"]) == pytest.approx(
        float(st.smoothness(data, heard[0], hops=1)["effective_rank"]), rel=1e-5
    )
    assert st.open(path).sizes["snapshot"] == w.snapshots.sizes["snapshot"]
    with pytest.warns(SpectrataWarning, match="bands"):  # and a later run continues it
        again = watch(model, data, algorithms="gft", log=path, mode="train")
    with pytest.warns(SpectrataWarning, match="earlier run"), again:
        model.train()(data.x, data.edge_index)
    assert len(set(again.snapshots["step"].values.tolist())) == 5
    with watch(model, st.Stratification(data, hops=1), algorithms="gft", mode="train") as w:
        model(data.x, data.edge_index)
    assert w.dataset.sizes["component"] == 30
    with pytest.raises(OptionError, match="give a Stratification"):
        watch(model, data, algorithms="adj_diff", mode="train")


def test_neighbour_batches_have_every_measure_and_evaluations(data):
    """Subgraphs around some nodes, as a neighbour loader brings them."""
    loader = []
    for seeds in torch.arange(30).split(8):
        nodes, edges, _, _ = k_hop_subgraph(seeds, 1, data.edge_index, relabel_nodes=True, num_nodes=30)
        loader.append(Data(x=data.x[nodes], edge_index=edges))
    model = Net()
    with watch(model, hops=1, evaluate=1, control="no_messages") as w:
        for epoch in range(2):
            for batch in loader:
                model(batch.x, batch.edge_index)
            w.step(epoch=epoch, acc=0.5)
    assert not w.problems
    found = w.over_layers()
    assert found.attrs["pass_mode"] == "eval"
    assert found["role"].values.tolist() == ["input", "layer", "hidden", "output"]
    for name in ("off_zero_live", "effective_rank", "dead_rows", "r", "acc"):
        assert np.isfinite(found[name].values).all(), name
    assert np.isfinite(w.over_layers(mode="control")["r"].values).all()  # along the edges of the batch


def test_readers_take_the_dataset(data, tmp_path):
    torch.manual_seed(0)
    model = Layered()
    with watch(model, data, hops=2, mode="both", algorithms="gft", evaluate=2, control=None) as w:
        fit(model, data, 4, after=lambda epoch: w.step(epoch=epoch, acc=epoch / 4))
    grid = w.dataset
    assert st.plot.training(grid).figure.get_suptitle().startswith("Layered, last epoch: acc 0.75\nconvs")
    assert len(st.diagnose(grid)) > 0
    assert len(st.summary(grid.sel(mode="eval"))) > 0
    st.save(grid, tmp_path / "grid.nc")
    assert st.open(tmp_path / "grid.nc")["mode"].values.tolist() == ["train", "eval"]
    assert st.write_report(grid, path=tmp_path / "grid.html").path.stat().st_size > 10_000
    assert w.report(tmp_path / "run.html").path.stat().st_size > 10_000


def test_a_stratification_has_its_own_hops(data):
    strat = st.Stratification(data, hops=2)
    for hops in (1, [1], None):
        with pytest.raises(OptionError, match="A Stratification has its graph read already; leave out hops"):
            watch(Net(), strat, hops=hops, mode="train")
    assert watch(Net(), strat, mode="train").strat is strat


def test_what_was_recorded_is_counted_by_its_kind(data):
    """Passes and extra evaluations, of a run with both, of evaluations alone, and of activations given by hand."""
    with watch(Net(), data, every=2, mode="train", evaluate=2, control="no_messages") as both:
        fit(both.plain, data, 4, after=lambda epoch: both.step(epoch=epoch))
    assert "(2 of 4 passes, evaluations: 2, controls: 2; " in str(both.overhead)
    with watch(Net(), data, hops=1, control=None, evaluate=1) as alone:
        fit(alone.plain, data, 3, after=lambda epoch: alone.step(epoch=epoch))
    assert "(evaluations: 3; " in str(alone.overhead)
    assert "Watch: recorded evaluations: 3" in alone._repr_html_()
    assert not alone.problems
    probe = Recorder(data, hops=1)
    probe.record({"x": data.x})
    assert "(1 of 1 passes; 1 activations)" in str(probe.overhead)


def test_operators_of_measures_follow_the_activations():
    """Activations of one pass may be on two devices, a wide input in main memory and layers on a GPU."""
    from spectrata.torch.watching.measures import Neighbours

    near = Neighbours.of(np.array([[0, 1], [1, 2]]), 4)
    for device, dtype in (("meta", torch.float32), ("cpu", torch.float64), ("cpu", torch.float32)):
        moved = near.like(torch.empty(4, 2, device=device, dtype=dtype))
        assert {one.device.type for one in (moved.adjacency, moved.degrees, moved.members, moved.parts)} == {device}
        assert {one.dtype for one in (moved.adjacency, moved.degrees, moved.members)} == {dtype}
