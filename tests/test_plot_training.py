"""Pictures of a watched model show the numbers of its result."""

import networkx as nx
import numpy as np
import pytest
import torch

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.torch import SpectrumProbe


@pytest.fixture(scope="module")
def probe():
    probe = SpectrumProbe(nx.cycle_graph(40), hops=2)
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
    assert "evaluation" in st.plot.training(probe.dataset).get_title()
    for wrong in ({"measure": "magnitude"}, {"mode": "control"}, {"layers": ["conv9"]}, {"scores": ["f1"]}):
        with pytest.raises(OptionError):
            st.plot.training(probe.dataset, **wrong)
    with pytest.raises(ResultError, match=r"w\.dataset"):
        st.plot.training(probe.snapshots)


def test_spectra_and_responses_in_bins_are_those_of_the_transform(probe):
    """The ring's filter is known: (1 + 2 cos) / 3 at each frequency; three bins of 13 components."""
    layers = probe.over_layers(mode="train")
    frequency = 2 * np.pi * np.arange(40) / 40
    x, y = (np.linalg.norm(np.fft.fft(layer, axis=0), axis=1) ** 2 for layer in directions())
    order = np.argsort(2 - 2 * np.cos(frequency), kind="stable")[1:]
    bins = np.minimum((st.analysis.levels.band_groups(*levels(layers), 3))[0][1:], 2)
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


def directions():
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64).numpy()
    y = (x + np.roll(x, 1, 0) + np.roll(x, -1, 0)) / 3
    return [s / np.linalg.norm(s, axis=1, keepdims=True) for s in (x, y)]


def levels(ds):
    return (ds[name].values[:1] for name in ("is_zero", "eigenspace", "multiplicity"))
