"""Watching a model: it changes nothing, records what it says, and never gets in the way."""

import numpy as np
import pytest
import torch
from torch_geometric.nn import GAT, GCNConv

import calls
import spectrata as st
import spectrata.torch
from spectrata.errors import OptionError, ResultError, SpectrataWarning
from spectrata.torch import Recorder, ZarrLog, watch
from spectrata.torch.watching.hooks import copied
from torch_models import Net, fit, off_zero, small_data


@pytest.fixture
def data():
    return small_data()


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_weights_gradients_and_random_state_are_bit_identical(data):
    ends = []
    for watched in (False, True):
        torch.manual_seed(0)
        np.random.seed(0)  # noqa: NPY002
        model = Net()
        if watched:
            with watch(model, data, every=2, flush_every=3, mode="train") as w:
                fit(model, data, 25, after=lambda epoch: w.step(epoch=epoch))
        else:
            fit(model, data, 25)
        grads = [p.grad for p in model.parameters()]
        ends.append([*model.parameters(), *grads, torch.rand(3), torch.tensor(np.random.rand(3))])  # noqa: NPY002
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))
    assert w.overhead.recorded == 13


def likeness(arcs, x):
    """The correlation of directions at the two ends of an arc, by the arcs one after the other."""
    t = x.astype(float) / np.linalg.norm(x.astype(float), axis=1, keepdims=True)
    mean = np.mean([t[one] for one, _ in arcs], axis=0)
    both = sum((t[one] - mean) @ (t[other] - mean) for one, other in arcs)
    return both / sum(np.sum((t[one] - mean) ** 2) for one, _ in arcs)


def test_the_spectra_are_those_of_the_activations(data):
    """Against a hook of our own and the package's own transform; conv1's output is changed in place afterwards."""
    torch.manual_seed(0)
    model, heard = Net(), []
    model.conv1.register_forward_hook(lambda module, args, out: heard.append(out.detach().numpy().copy()))
    with watch(model, data, hops=2, algorithms=("gft", "adj_diff"), mode="train") as w:
        fit(model, data, 12)
    strat = st.Stratification(data, hops=2)
    want = strat.spectra(np.stack(heard).astype(float), ("gft", "adj_diff"))
    found = w.over_epochs("conv1")
    np.testing.assert_allclose(found["magnitude"].values, want["magnitude"].values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["gradient_norm"].values, want["gradient_norm"].values, rtol=1e-9)
    np.testing.assert_allclose(found["off_zero"].values, st.off_zero(want).values, rtol=1e-9)
    measures = st.smoothness(st.Stratification(data, hops=1), np.stack(heard).astype(float))
    for name in ("off_zero_live", "effective_rank", "dead_rows", "norm", "mean_row_norm"):
        np.testing.assert_allclose(found[name].values, measures[name].values.reshape(12), rtol=1e-5)
    graph = data.edge_index.numpy().T
    want = [likeness(graph, one) for one in heard]
    np.testing.assert_allclose(found["r"].values, want, rtol=1e-4)


OPERATORS = [
    {"laplacian": "normalized"},
    {"laplacian": "normalized", "self_loops": True},
    {"laplacian": "random_walk"},
    {"laplacian": "random_walk", "self_loops": True, "adj_diff": {"scaling": "eigenvalue"}},
]


@pytest.mark.parametrize("options", OPERATORS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_laplacian_with_its_own_eigenvalues(data, options, dtype):
    """Magnitudes, eigenvalues and what the result says of itself, as ``spectra`` has them."""
    rng = np.random.default_rng(0)
    layers = {"wide": rng.normal(size=(9, 30, 5)), "thin": rng.normal(size=(9, 30, 3))}
    operator = {name: value for name, value in options.items() if name != "adj_diff"}
    served = ["gft"] if options["laplacian"] == "normalized" else ["gft", "adj_diff"]
    strat = st.Stratification(data, hops=2, dtype=dtype, **operator)
    probe = Recorder(strat, algorithms=served, **{name: options[name] for name in options if name not in operator})
    for t in range(9):
        probe.record({name: torch.tensor(values[t]) for name, values in layers.items()}, epoch=t)
    assert probe.snapshots["algorithm"].values.tolist() == served
    for name, values in layers.items():
        want = calls.spectra(st.Stratification(data, hops=2), values, served, **options)
        found = probe.over_epochs(name)
        for label in ("eigenvalue", "eigenspace", "multiplicity", "is_zero", "complete", "made_with"):
            np.testing.assert_array_equal(found[label], want[label])
        same = ("laplacian", "self_loops", "metric", "weights", "graph_hash", "seed")
        assert {key: found.attrs[key] for key in same} == {key: want.attrs[key] for key in same}
        scale = np.nanmax(want["magnitude"].values)
        slack = 1e-5 * scale if dtype == "float32" else 1e-11 * scale
        np.testing.assert_allclose(found["magnitude"].values, want["magnitude"].values, rtol=0, atol=slack)
        np.testing.assert_allclose(found["off_zero"], st.off_zero(want), rtol=1e-5)
        assert found.attrs["dtype"] == dtype


def test_layers_of_one_column_are_compared_by_length_and_said_to_be(data, tmp_path):
    """The attribute is the metric of all rows, "auto" where they differ, and that of the rows selected."""
    rng = np.random.default_rng(0)
    probe = Recorder(data, hops=1, algorithms="gft", writers=[ZarrLog(tmp_path / "run.zarr")])
    probe.record({"wide": torch.tensor(rng.normal(size=(30, 4)))}, epoch=0)
    assert probe.snapshots.attrs["metric"] == "angular"
    probe.record({"one": torch.tensor(rng.normal(size=(30, 1)))}, epoch=1)
    probe.close()
    for ds in (probe.snapshots, probe.dataset, st.open(tmp_path / "run.zarr")):
        assert ds.attrs["metric"] == "auto"
        assert "auto metric" in ds["made_with"].item()
        assert ds.attrs["n_dimensions"] == 4
    assert probe.over_epochs("one").attrs["metric"] == "euclidean"
    assert probe.over_epochs("wide").attrs["metric"] == "angular"
    assert "angular metric" in probe.over_epochs("wide")["made_with"].item()
    assert probe.over_layers().attrs["snapshot_kind"] == "layers"


def test_each_hop_is_decomposed_once_even_when_nothing_is_kept(data, monkeypatch):
    solved = []
    solve = spectrata.core.stratification.decompose
    monkeypatch.setattr(
        "spectrata.core.stratification.decompose", lambda *given, **named: solved.append(1) or solve(*given, **named)
    )
    probe = Recorder(st.Stratification(data, hops=2, max_basis_bytes=0), algorithms="gft")
    for width in (2, 3, 4):
        for _ in range(10):
            probe.record({f"layer {width}": torch.randn(30, width)})
    assert probe.snapshots.sizes["snapshot"] == 30
    assert len(solved) == 2


def test_passes_without_any_output_still_make_a_result(data):
    probe = Recorder(data, hops=1, algorithms="gft")
    probe.record({"broken": torch.full((30, 2), torch.nan)})
    ds = probe.snapshots
    assert set(ds["status"].values.ravel()) == {"undefined: NaN or infinite values"}
    assert ds["magnitude"].isnull().all()
    assert ds["complete"].all()


def test_other_algorithms_and_options_go_through_the_package(data):
    model = Net()
    arguments = {
        "algorithms": ("gft", "adj_diff", "ens"),
        "ens": {"weights": "fast"},
        "adj_diff": {"scaling": "eigenvalue"},
    }
    with watch(model, data, hops=1, mode="train", **arguments) as w:
        fit(model, data, 3)
    assert list(w.dataset["algorithm"].values) == ["gft", "adj_diff", "ens"]
    assert np.isnan(w.snapshots["magnitude"].loc["adj_diff"].values[..., 0]).all()
    assert "undefined at zero eigenvalues" in set(w.snapshots["status"].values.ravel())


def test_shape_of_the_dataset_and_composition_with_the_analyses(data, tmp_path):
    model = Net()
    with watch(model, data, every=2, algorithms=("gft", "adj_diff"), mode="train") as w:
        fit(model, data, 8)
    assert w.dataset["magnitude"].dims == ("algorithm", "layer", "step", "hop", "component")
    assert w.dataset["layer"].values.tolist() == ["input", "conv1", "conv1/hidden", "conv2"]
    assert w.dataset["role"].values.tolist() == ["input", "layer", "hidden", "output"]
    assert w.dataset["step"].values.tolist() == [0, 2, 4, 6]
    assert w.dataset["width"].values.tolist() == [8, 16, 16, 3]
    layers = w.over_layers()
    assert layers["snapshot"].values.tolist() == ["input", "conv1", "conv1/hidden", "conv2"]
    assert st.diagnose(layers).kinds == {"training"}  # 8 epochs, and no loss
    assert len(st.summary(w.over_epochs("conv2"))) == 2 * 4 * w.dataset.sizes["hop"]
    assert st.merge_eigenspaces(st.stats.normalize(w.snapshots)).sizes["snapshot"] == 13
    table = w.table()
    assert len(table) == 13 * w.dataset.sizes["hop"]
    brief = st.summary(w.snapshots)
    for name in ("lowest", "highest", "centroid"):
        np.testing.assert_array_equal(table[f"gft_{name}"], brief[name][brief["algorithm"] == "gft"])
    path = w.report(tmp_path / "run.html").path
    assert path.stat().st_size > 10_000
    st.save(w.dataset, tmp_path / "grid.nc")
    assert st.open(tmp_path / "grid.nc")["magnitude"].shape == w.dataset["magnitude"].shape


@pytest.mark.parametrize("first", [True, False])
def test_labels_by_hand_before_or_after_the_pass(data, first):
    model = Net()
    with watch(model, data, flush_every=1, mode="train") as w:
        label = {"before" if first else "after": lambda epoch: w.step(epoch=10 * epoch)}
        fit(model, data, 4, **label)
    assert w.dataset["epoch"].values.tolist() == [0, 10, 20, 30]
    assert w.dataset["r"].dims == ("layer", "epoch")
    assert w.snapshots["snapshot"].values[-1] == "conv2, epoch 30"


def test_several_passes_with_one_label_stay_steps(data):
    model = Net()
    with watch(model, data, mode="train") as w:
        for epoch in range(2):
            w.step(epoch=epoch)
            fit(model, data, 3)
    assert w.dataset["r"].dims == ("layer", "step")
    assert w.dataset["epoch"].values.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(("mode", "count"), [("train", 4), ("eval", 2), ("both", 6)])
def test_modes(data, mode, count):
    model = Net()
    with watch(model, data, mode=mode) as w:
        for _ in range(2):
            fit(model.train(), data, 2)
            with torch.no_grad():
                model.eval()(data.x, data.edge_index)
    assert w.overhead.recorded == count
    assert set(w.snapshots["mode"].values.tolist()) == ({"train", "eval"} if mode == "both" else {mode})


def test_dead_rows_and_nan_are_nan_with_a_status(data):
    class Dying(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.mode = GCNConv(8, 4), "fine"
            self.out = torch.nn.Identity()

        def forward(self, x, edge_index):
            x = self.conv(x, edge_index)
            if self.mode == "dead":
                x = x * (torch.arange(30) != 7)[:, None]
            elif self.mode == "nan":
                x = x / 0
            return self.out(x)

    model = Dying()
    with watch(model, data, layers=["out"], states=(), algorithms="gft", mode="train") as w:
        for mode in ("fine", "dead", "nan", "fine"):
            model.mode = mode
            model(data.x, data.edge_index)
    status = w.snapshots["status"].isel(algorithm=0, hop=0).values.tolist()
    assert status == ["ok", "ok", "undefined: NaN or infinite values", "ok"]
    bad = np.isnan(w.snapshots["magnitude"].values).all(axis=(0, 2, 3))
    assert bad.tolist() == [False, False, True, False]
    assert np.isnan(w.table()["off_zero"]).sum() == w.dataset.sizes["hop"]
    assert w.snapshots["dead_rows"].values[:2].tolist() == [0.0, 1 / 30]
    with watch(model, data, layers=["out"], states=(), algorithms="gft", zero_vectors="nan", mode="train") as w:
        model.mode = "dead"
        model(data.x, data.edge_index)
    assert w.snapshots["status"].values[0, 0, 0] == "undefined: zero vector"


def test_hooks_go_on_exit_and_after_an_exception(data):
    model = Net()
    before = hooks(model)
    with pytest.raises(RuntimeError, match="mine"), watch(model, data, mode="train") as w:  # noqa: PT012
        fit(model, data, 3)
        assert hooks(model) > before
        raise RuntimeError("mine")
    assert hooks(model) == before
    assert w.dataset.sizes["step"] == 3


def test_an_exception_inside_the_model_drops_that_pass_alone(data):
    model = Net()
    with watch(model, data, mode="train") as w:
        model(data.x, data.edge_index)
        with pytest.raises(RuntimeError):
            model(data.x[:, :5], data.edge_index)
        model(data.x, data.edge_index)
    assert w.dataset["step"].values.tolist() == [0, 2]


def test_a_failure_of_ours_never_reaches_the_model(data, monkeypatch):
    model = Net()
    monkeypatch.setattr("spectrata.torch.watching.passes.copied", None)
    with pytest.warns(SpectrataWarning, match="not callable"), watch(model, data, mode="train"):
        out = model(data.x, data.edge_index)
    assert out.shape == (30, 3)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_by_default_evaluations_and_a_control_at_the_end_are_recorded(data, dtype):
    """Every tenth epoch, then half as often; no pass with dropout is recorded, and weights are bit-identical."""
    data.edge_index, ends = data.edge_index.to(dtype), []
    for watched in (False, True):
        torch.manual_seed(0)
        model = Net()
        if watched:
            with watch(model, data) as w:
                fit(model, data, 145, after=lambda epoch: w.step(epoch=epoch))
        else:
            fit(model, data, 145)
        ends.append(list(model.parameters()))
    assert all(map(torch.equal, *ends))
    assert w.over_epochs("conv1")["epoch"].values.tolist() == [*range(9, 100, 10), 119, 139, 144]
    assert w.over_epochs("conv1", mode="control")["epoch"].values.tolist() == [144]
    assert set(w.snapshots["mode"].values.tolist()) == {"eval", "control"}
    assert "evaluations: 13, controls: 1" in str(w.overhead)
    assert not w.problems


def test_a_control_follows_evaluations_with_a_low_layer(data):
    model = Net()
    model.conv2.bias.data += 1e3
    with watch(model, data) as w:
        fit(model, data, 30, after=lambda epoch: w.step(epoch=epoch))
    assert w.over_epochs("conv2", mode="control")["epoch"].values.tolist() == [9, 19, 29]
    judged = st.diagnose(w.over_layers().assign_attrs(epochs=60))
    (found,) = [one for one in judged if one.kind == "collapsed"]
    assert found.text.endswith("control without messages: too (no loss given: end of training not checked)")


@pytest.mark.parametrize("stepping", [True, False])
def test_a_model_without_edges_has_no_control(data, stepping):
    """Also where nobody calls w.step: the end of the block is evaluated."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    with watch(model, data, layers=["0", "2"]) as w:
        for _ in range(12):
            model(data.x)
            if stepping:
                w.step()
    assert (w.overhead.evaluations, w.overhead.controls, w.problems) == (1 + stepping, 0, [])
    assert w.over_layers().attrs["pass_mode"] == "eval"
    assert "off_zero_live_control" not in w.over_layers()


def test_a_failing_writer_does_not_stop_training(data):
    class Full:
        def write(self, ds):
            raise OSError("no space left")

        def close(self):
            pass

    model = Net()
    w = watch(model, data, log=Full(), flush_every=1, mode="train")
    w.start()
    fit(model, data, 2)
    assert any("no space left" in problem for problem in w.problems)
    w.stop(quiet=True)


def test_layers_are_found_or_chosen(data):
    assert list(spectrata.torch.find_layers(GAT(8, 4, 2))) == ["convs.0", "convs.1"]
    model = Net()
    for layers in ("conv2", [model.conv2], ["conv2"]):
        with watch(model, data, layers=layers, mode="train") as w:
            model(data.x, data.edge_index)
        assert w.dataset["layer"].values.tolist() == ["input", "conv1/hidden", "conv2"]
    for wrong in ("conv9", [torch.nn.Linear(2, 2)], []):
        with pytest.raises(OptionError):
            watch(model, data, layers=wrong, mode="train")
    with pytest.raises(OptionError, match="layers="):
        watch(torch.nn.Sequential(torch.nn.Linear(8, 2)), data, mode="train")


def test_plain_torch_layers_with_tuples_heads_and_reuse(data):
    """A layer of one's own, called twice, that returns (output, attention) with heads; another that pools."""

    class Mean(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(8, 8)

        def forward(self, x, adjacency):
            out = (adjacency @ self.lin(x)).reshape(len(x), 2, 4)
            return out, adjacency

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.pool = Mean(), Pool()

        def forward(self, x, adjacency):
            for _ in range(2):
                x = self.mean(x, adjacency)[0].reshape(len(x), 8)
            return self.pool(x)

    class Pool(torch.nn.Module):
        def forward(self, x):
            return x.mean(dim=0)

    adjacency = torch.zeros(30, 30).index_put(tuple(data.edge_index), torch.tensor(1.0))
    model = Model()
    with watch(model, data, mode="train") as w:
        model(data.x, adjacency)
    assert w.dataset["layer"].values.tolist() == ["input", "mean", "mean#2", "pool"]  # nothing between the calls
    assert w.dataset["width"].values.tolist() == [8, 8, 8, 0]
    assert w.dataset["status"].sel(layer="pool").values.ravel()[0] == "missing: no output with one row per node"


def test_a_model_whose_forward_nobody_calls(data):
    class Encoder(Net):
        def encode(self, x, edge_index):
            return self.conv2(self.conv1(x, edge_index).relu(), edge_index)

    model = Encoder()
    with watch(model, data, mode="train") as w:
        for _ in range(3):
            model.encode(data.x, data.edge_index)
    assert w.dataset.sizes["step"] == 3


def test_checkpointed_layers_are_recorded_once(data):
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(Net):
        def forward(self, x, edge_index):
            x = checkpoint(self.conv1, x, edge_index, use_reentrant=False).relu()
            return self.conv2(x, edge_index)

    model = Checkpointed()
    with watch(model, data, mode="train") as w:
        fit(model, data, 3)
    assert w.dataset["layer"].values.tolist() == ["input", "conv1", "conv1/hidden", "conv2"]
    assert w.overhead.activations == 10


def test_a_compiled_model_is_said_and_left_alone(data):
    model = Net().eval()
    want = model(data.x, data.edge_index)
    compiled = torch.compile(model, backend="eager")
    with pytest.warns(SpectrataWarning, match="compiled"), watch(compiled, data, mode="eval") as w:
        found = compiled(data.x, data.edge_index)
    torch.testing.assert_close(found, want)
    with pytest.raises(ResultError, match="Nothing was recorded"):
        _ = w.dataset
    with watch(compiled, data, evaluate=True, control="no_messages") as w:  # evaluations run the uncompiled model
        compiled(data.x, data.edge_index)
    assert w.over_layers()["snapshot"].values.tolist() == ["input", "conv1", "conv1/hidden", "conv2"]
    with watch(compiled, data, mode="eval", states=()) as w:
        w.record({"conv1": model.conv1(data.x, data.edge_index)}, epoch=0)
    assert w.dataset["layer"].values.tolist() == ["conv1"]


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of the compiler itself
@pytest.mark.parametrize("how", ["wrapped", "in place", "a layer", "in place, not compiled"])
def test_evaluations_of_a_compiled_model_run_the_uncompiled_one(data, how, request):
    """Training is that of the compiled model alone, to the last bit; measures are those of the model as written."""
    if how == "in place, not compiled":
        request.addfinalizer(lambda: torch.compiler.set_stance("default"))
        torch.compiler.set_stance("force_eager")
    ends = []
    for watched in (False, True):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model = Net()
        called = torch.compile(model, backend="eager") if how == "wrapped" else model
        if how != "wrapped":
            (model.conv1 if how == "a layer" else model).compile(backend="eager")
        own = model._compiled_call_impl
        if watched:
            with watch(called, data, evaluate=2, control="no_messages") as w:
                fit(called, data, 4, after=lambda epoch: w.step(epoch))
            assert model._compiled_call_impl is own
        else:
            fit(called, data, 4)
        ends.append(list(model.parameters()))
    assert all(map(torch.equal, *ends))
    assert not w.problems
    assert (w.overhead.evaluations, w.overhead.controls) == (2, 2)
    assert w.dataset["epoch"].values.tolist() == [1, 3]
    assert w.facts["epochs"] == 4
    twin = Net().eval()
    twin.load_state_dict(model.state_dict())
    want = off_zero(data, twin(data.x, data.edge_index).detach())
    assert float(w.over_layers()["off_zero_live"][-1]) == pytest.approx(want, rel=1e-5)


def test_a_model_compiled_in_place_or_elsewhere_is_said_without_evaluations(data):
    model = Net().eval()
    with pytest.warns(SpectrataWarning, match="compiled"), watch(model, data, mode="eval"):
        torch.compile(model, backend="eager")(data.x, data.edge_index)
    model.compile(backend="eager")
    with (
        pytest.warns(SpectrataWarning, match="compiled models call no hooks"),
        watch(model.train(), data, mode="train"),
    ):
        fit(model, data, 2)


def test_low_precision_and_inference_mode(data):
    model = Net().to(torch.bfloat16).eval()
    with watch(model, data, mode="eval") as w, torch.inference_mode():
        model(data.x.to(torch.bfloat16), data.edge_index)
    assert set(w.snapshots["status"].values.ravel()) == {"ok"}


def test_a_full_buffer_is_transformed_during_training(data):
    model = Net()
    with watch(model, data, memory_bytes=20_000, algorithms="gft", mode="train") as w:
        fit(model, data, 20)
        assert w.overhead.spectra > 0
    assert w.dataset.sizes["step"] == 20
    assert w.overhead.record < w.overhead.elapsed


def test_influence_reads_as_far_as_the_layer_is_deep(data):
    torch.manual_seed(0)
    model = Net()
    model.conv1 = GCNConv(8, 16, cached=True)
    with watch(model, data, algorithms="gft", mode="train") as w:
        fit(model, data, 2)
        kept, mode, state = model.conv1._cached_edge_index, model.training, torch.get_rng_state()
        found = w.influence(data, hops=3, samples=5)
        assert model.conv1._cached_edge_index is kept
        assert model.training is mode
        assert torch.equal(torch.get_rng_state(), state)
    assert w.overhead.recorded == 2
    reads = found["reads"].values
    np.testing.assert_allclose(reads.sum(axis=1), 1.0)
    assert (reads[0, 2:] == 0).all()
    assert reads[1, 2] > 0
    shown = w.over_layers().sel(snapshot=["conv1", "conv2"])["gradient_norm"].values / np.sqrt(
        w.dataset["n_edges"].values
    )
    np.testing.assert_allclose(found["shows"].values[:, 1 : 1 + shown.shape[1]], shown)


@pytest.mark.parametrize(
    "arguments",
    [
        {"every": 0},
        {"every": 2},  # of which passes?
        {"mode": "x"},
        {"dtype": "int8"},
        {"flush_every": 0},
        {"algorithms": "x"},
        {"algorithms": "in_agg", "zero_vectors": "error"},
        {"keep": "spectrum"},
        {"seed": -1},
    ],
)
def test_wrong_arguments_are_said_before_training(data, arguments):
    with pytest.raises(OptionError):
        watch(Net(), data, **arguments)


def test_the_probe_by_hand_refuses_other_sizes(data):
    probe = Recorder(data, hops=1)
    with pytest.raises(ValueError, match="30 nodes"):
        probe.record({"x": torch.randn(29, 2)})


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_copies_hold_what_was_there(device, dtype, monkeypatch):
    values = torch.randn(40, 5, generator=torch.Generator().manual_seed(0)).to(device, dtype)
    wanted = values.cpu().double().numpy().copy()
    copies = [copied(values), copied(values.to_sparse())]
    with monkeypatch.context() as full:
        full.setattr(torch.Tensor, "clone", lambda one: (_ for _ in ()).throw(torch.cuda.OutOfMemoryError))
        spare = copied(values)
    values.zero_()  # as an in-place activation does
    for one in copies:
        assert one.device.type == device
        np.testing.assert_array_equal(one.cpu().numpy().astype(float), wanted)
    if device == "cuda":
        assert spare.device.type == "cpu"
        np.testing.assert_array_equal(spare.numpy().astype(float), wanted)
