"""Pictures of a watched model show the numbers of its result."""

import networkx as nx
import numpy as np
import pytest
import torch

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.stats.findings.collapse import LEVELS
from spectrata.torch import Recorder


@pytest.fixture(scope="module")
def probe():
    probe = Recorder(nx.cycle_graph(40), hops=2, algorithms="gft")
    for epoch in range(4):
        x = torch.randn(40, 3, generator=torch.Generator().manual_seed(epoch), dtype=torch.float64)
        smooth = (x + x.roll(1, 0) + x.roll(-1, 0)) / 3
        probe.record({"conv1": x, "conv2": smooth}, epoch=epoch, mode="train")
        probe.record({"conv1": x * 2, "conv2": smooth + 5}, epoch=epoch, mode="eval")
        probe.score(epoch, {"acc": epoch / 4})
    return probe


def test_the_map_shows_the_measure_and_the_scores(probe):
    axes = st.plot.training(probe.dataset, "off_zero", hop=2, mode="train")
    want = probe.dataset["off_zero"].sel(mode="train", hop=2).transpose("layer", "epoch").values
    np.testing.assert_allclose(np.asarray(axes.collections[0].get_array()).reshape(want.shape), want)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["conv1", "conv2"]
    below = axes.figure.axes[1]
    assert below.get_lines()[0].get_ydata().tolist() == [0.0, 0.25, 0.5, 0.75]
    assert "evaluation" in st.plot.training(probe.dataset).get_title(loc="left")
    assert "conv2" in st.plot.training(probe.dataset).figure.get_suptitle()
    for wrong in ({"measure": "magnitude"}, {"mode": "control"}, {"layers": ["conv9"]}, {"scores": ["f1"]}):
        with pytest.raises(OptionError):
            st.plot.training(probe.dataset, **wrong)
    with pytest.raises(ResultError, match=r"w\.dataset"):
        st.plot.training(probe.over_layers())
    for draw in (st.plot.training, st.plot.collapse):  # a log is opened as rows
        assert draw(probe.snapshots).figure.get_suptitle() == draw(probe.dataset).figure.get_suptitle()


def test_losses_have_an_axis_of_their_own():
    recorder = Recorder(nx.cycle_graph(8))
    for epoch in range(3):
        recorder.record({"conv1": torch.eye(8)}, epoch=epoch, mode="eval")
        recorder.score(epoch, {"train_acc": epoch / 4, "loss": 35000.0})
    axes = st.plot.training(recorder.dataset).figure.axes
    drawn = {line.get_gid(): one for one in axes for line in one.get_lines()}
    assert drawn["loss"] is not drawn["train_acc"]
    assert drawn["train_acc"].get_ylim()[1] < 1
    assert (drawn["train_acc"].get_ylabel(), drawn["loss"].get_ylabel()) == ("train_acc", "loss")


def test_a_run_without_spectra_and_a_tensor_as_labels_are_refused_in_a_sentence(probe):
    recorder = Recorder(nx.cycle_graph(8))
    recorder.record({"conv1": torch.eye(8), "conv2": torch.eye(8)}, mode="eval")
    for draw in (st.plot.layers, st.plot.filters):
        with pytest.raises(ResultError, match=r"holds no spectra; .*algorithms"):
            draw(recorder.over_layers())
    with pytest.raises(ResultError, match="The result given as labels is of type Tensor"):
        st.plot.layers(probe.over_layers(), labels=torch.zeros(40))


def test_spectra_and_responses_in_bins_are_those_of_the_transform(probe):
    """The ring's filter is known: (1 + 2 cos) / 3 at each frequency; three bins of 13 components."""
    layers = probe.over_layers(mode="train")
    frequency = 2 * np.pi * np.arange(40) / 40
    x, y = (np.linalg.norm(np.fft.fft(layer, axis=0), axis=1) ** 2 for layer in directions())
    order = np.argsort(2 - 2 * np.cos(frequency), kind="stable")[1:]
    bins = np.minimum((st.stats.describe.levels.band_groups(*levels(layers), 3))[0][1:], 2)
    shares = [np.array([e[order][bins == b].sum() for b in range(3)]) / e[order].sum() for e in (x, y)]
    size = np.bincount(bins)
    axes = st.plot.layers(layers, bins=3)
    for line, share in zip(axes.get_lines()[:2], shares, strict=True):
        np.testing.assert_allclose(line.get_ydata()[:3], share * size.sum() / size, rtol=1e-8)
    found = st.plot.filters(layers, bins=3).get_lines()[0].get_ydata()[:3]
    np.testing.assert_allclose(found, np.sqrt(shares[1] / shares[0]), rtol=1e-8)
    labels = st.spectra(nx.cycle_graph(40), np.eye(2)[np.arange(40) // 20], "gft", hops=2)
    assert "labels" in [line.get_gid() for line in st.plot.layers(layers, labels=labels).get_lines()]
    with pytest.raises(ResultError, match="two states"):
        st.plot.filters(layers, names=["conv1"])


def test_many_layers_are_rows_of_a_map_and_few_are_named():
    names = [f"convs.{k}/hidden" for k in range(32)]
    signal = np.random.default_rng(0).normal(size=(32, 40, 2))
    ds = st.spectra(nx.cycle_graph(40), signal, "gft", hops=1).assign_coords(snapshot=names)
    eigenvalues = np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(40) / 40))[1:]
    for draw, rows in ((st.plot.layers, 32), (st.plot.filters, 31)):
        axes = draw(ds, bins=4)
        mesh = axes.collections[0]
        assert mesh.get_array().shape == (rows, 4)
        edges = mesh.get_coordinates()[0, :, 0]
        assert (edges[0], edges[-1]) == pytest.approx((eigenvalues[0], eigenvalues[-1]))
        assert [tick.get_text() for tick in axes.get_yticklabels()][-1].endswith(names[-1])
        few = draw(ds.isel(snapshot=slice(3)), bins=4)
        np.testing.assert_allclose(2 ** mesh.get_array()[0], few.get_lines()[0].get_ydata()[:4])
        assert [text.get_text() for text in few.figure.legends[0].get_texts()][-1].endswith(names[2])
    operator = {"laplacian": "normalized", "self_loops": True, "hops": 1}
    assert st.plot.filters(st.spectra(nx.cycle_graph(40), signal, "gft", **operator)).get_xlim() == (0.0, 2.0)


def test_small_eigenvalues_are_on_a_log_axis_with_decades():
    """A star beside a long path: half of the eigenvalues are far below the hub's, 121."""
    graph = nx.disjoint_union(nx.star_graph(120), nx.path_graph(130))
    graph.add_edge(0, 121)
    signal = np.random.default_rng(0).normal(size=(2, 251, 2))
    axes = st.plot.layers(st.spectra(graph, signal, "gft", hops=1))
    axes.figure.draw_without_rendering()
    assert axes.get_xscale() == "log"
    low, high = axes.get_xlim()
    ticks = [text for text in axes.get_xticklabels() if low <= text.get_position()[0] <= high]
    assert all(text.get_text() for text in ticks)
    assert [text.get_position()[0] for text in ticks] == [
        10.0**power for power in range(int(np.ceil(np.log10(low))), int(np.floor(np.log10(high))) + 1)
    ]


def test_layers_are_drawn_against_their_control_and_the_levels():
    """Values of the probe's own rows; levels from the file of the study, at their two places alone."""
    probe, level = Recorder(nx.cycle_graph(40)), {place: one.level for place, one in LEVELS.items()}
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for epoch in range(4):
        for mode, shift in (("eval", 2.0 + epoch), ("control", 1e6)):
            probe.record({"conv1": x, "conv2": x + shift, "head": x + 1.0}, epoch=epoch, mode=mode)
    layers = probe.over_layers().assign_coords(role=("snapshot", ["hidden", "hidden", "output"]))
    axes = st.plot.collapse(layers)
    lines = {}
    for line in axes.get_lines():
        lines.setdefault(line.get_gid(), []).append((line.get_xdata().tolist(), np.asarray(line.get_ydata())))
    rows = probe.table()
    at = {mode: rows[(rows["mode"] == mode) & (rows["epoch"] == 3)]["off_zero_live"] for mode in ("eval", "control")}
    np.testing.assert_allclose(lines["evaluation"][0][1], at["eval"])
    np.testing.assert_allclose(lines["control"][0][1], np.maximum(at["control"], 1e-7))
    assert lines["control below"][0][0] == [1]
    last = rows[(rows["mode"] == "eval") & (rows["layer"] == "conv2") & (rows["epoch"] >= 2)]["off_zero_live"]
    (ranges,) = [one for one in axes.collections if one.get_gid() == "range"]
    np.testing.assert_allclose(ranges.get_segments()[1][:, 1], [last.min(), last.max()])  # the second half of the run
    for place, where in (("last hidden", 1), ("outputs", 2)):
        ((ends, values),) = lines[f"level {place}"]
        assert ends == ([-0.6, 2.6] if place == "last hidden" else [where - 0.4, where + 0.4])
        assert values.tolist() == [level[place]] * 2
    assert "conv2" in axes.figure.get_suptitle()
    assert "below 1e-07" in [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert any("collapsed (below 0.022," in text.get_text() for text in axes.texts)
    assert "1" in [tick.get_text() for tick in axes.get_yticklabels()]
    assert st.plot.collapse(probe.dataset).get_ylabel() == axes.get_ylabel()
    with pytest.raises(ResultError, match="over_layers"):
        st.plot.collapse(probe.over_epochs("conv1"))


def directions():
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64).numpy()
    y = (x + np.roll(x, 1, 0) + np.roll(x, -1, 0)) / 3
    return [s / np.linalg.norm(s, axis=1, keepdims=True) for s in (x, y)]


def levels(ds):
    return (ds[name].values[:1] for name in ("is_zero", "eigenspace", "multiplicity"))
