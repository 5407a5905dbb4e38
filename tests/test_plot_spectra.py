"""Energy over frequencies: numbers read back from what is drawn, against the definition."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.plot.cells import BINNED, BINS

FOUR = ["gft", "apprx_ls", "in_agg", "adj_diff"]
VALUES = [3.0, 1.0, 0.0, 2.0, 1.0, 0.5]
GRAPH = nx.cycle_graph(6)


def lines(ax, gid):
    return [line for line in ax.get_lines() if line.get_gid() == gid]


def stems(ax):
    """Places and heights of the stems."""
    (found,) = [one for one in ax.collections if one.get_gid() == "stems"]
    ends = np.array(found.get_segments())
    return ends[:, 0, 0], ends[:, 1, 1]


def words(ax):
    return [text.get_text() for text in ax.texts]


def meshes(ax):
    return [one for one in ax.collections if type(one).__name__ == "QuadMesh"]


def shares(graph, values):
    """Energy per eigenvalue off zero over its sum, by numpy."""
    value, vector = np.linalg.eigh(nx.laplacian_matrix(graph, weight=None).toarray().astype(float))
    energy = (vector.T @ np.asarray(values)) ** 2
    spaces = np.unique(value.round(9))[1:]
    merged = np.array([energy[np.isclose(value, one)].sum() for one in spaces])
    return spaces, merged / merged.sum()


@pytest.fixture(scope="module")
def ring():
    """Six nodes: 0, 1 twice, 3 twice, 4 at K = 1; two triangles at K = 2; three pairs at K = 3."""
    return st.spectra(GRAPH, VALUES)


@pytest.fixture(scope="module")
def moments():
    return st.spectra(GRAPH, np.random.default_rng(3).normal(size=(4, 6, 3)))


@pytest.fixture(scope="module")
def flat():
    return st.spectra(GRAPH, np.ones(6))


@pytest.fixture(scope="module")
def broken():
    values = np.ones((2, 6, 2))
    values[1, 3], values[0, 0] = 0.0, [1.0, -1.0]
    return st.spectra(GRAPH, values, zero_vectors="nan", algorithms="gft")


def test_stems_are_shares_of_merged_eigenspaces_on_one_scale(ring):
    axes = st.plot.spectra(ring)
    titles = ["1 hop: 6 pairs", "2 hops: 6 pairs, 2 parts", "3 hops: 3 pairs, 3 parts"]
    assert [ax.get_title() for ax in axes] == titles
    for ax, graph in zip(axes[:2], (GRAPH, nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))), strict=True):
        order = range(6) if graph is GRAPH else [0, 2, 4, 1, 3, 5]
        where, share = shares(graph, np.array(VALUES)[list(order)])
        found = stems(ax)
        np.testing.assert_allclose(found[0], where, atol=1e-9)
        np.testing.assert_allclose(found[1], share, atol=1e-12)
    assert len({ax.get_ylim() for ax in axes}) == 1
    (level,) = lines(axes[0], "flat")
    np.testing.assert_allclose(level.get_ydata(), np.array([2, 2, 1]) / 5)
    assert axes[0].figure.get_suptitle() == "gft, combinatorial Laplacian: 6 nodes"


def test_a_calibration_has_boxes_of_chance_and_filled_markers_for_verdicts():
    graph = nx.karate_club_graph()
    club = [float(graph.nodes[node]["club"] == "Officer") for node in graph]
    cal = st.calibrate(st.Stratification(graph, hops=2, weights=False), club, "gft", draws=999)
    for ax, hop in zip(st.plot.spectra(cal), (1, 2), strict=True):
        at = cal.sel(algorithm="gft", hop=hop)
        used = ((at["multiplicity"] > 0) & ~at["is_zero"]).values
        boxes = [one for one in ax.patches if one.get_gid() == "chance"]
        np.testing.assert_allclose([box.get_y() for box in boxes], at["chance_low"].values[used])
        np.testing.assert_allclose([box.get_y() + box.get_height() for box in boxes], at["chance_high"].values[used])
        np.testing.assert_allclose(stems(ax)[1], at["share"].values[used])
        filled, hollow = lines(ax, "r")
        assert len(filled.get_xdata()) == np.count_nonzero(at["q"].values[used] <= 0.05)
        assert to_hex(filled.get_markerfacecolor()) != to_hex(hollow.get_markerfacecolor())
    few = st.calibrate(GRAPH, VALUES, "gft", draws=39, level="band", bands=3)
    panel = st.plot.spectra(few)[0]
    np.testing.assert_allclose(stems(panel)[1], few["share"].sel(algorithm="gft", hop=1))
    assert "With 39 draws" in panel.figure.get_suptitle()
    at = few.sel(algorithm="gft", hop=1)
    mesh = meshes(st.plot.spectrogram(few)[0])[0]
    ratio = at["share"] / (at["band_size"] / at["band_size"].sum())
    np.testing.assert_allclose(mesh.get_array().ravel(), np.clip(np.log2(ratio), -2, 4))


def test_several_spectra_are_cumulative_energy(ring, moments):
    ax = st.plot.spectra(moments)[0]
    curves = lines(ax, "curve")
    assert [curve.get_label() for curve in curves] == ["0", "1", "2", "3"]
    merged = st.merge_eigenspaces(moments).sel(algorithm="gft", hop=1, snapshot=2)
    energy = merged["magnitude"].values[1:] ** 2
    np.testing.assert_allclose(curves[2].get_ydata()[1:], np.cumsum(energy) / energy.sum())
    np.testing.assert_allclose(curves[2].get_xdata(), [0, 0.4, 0.8, 1.0])  # by rank: two, two and one component
    by_value = st.plot.spectra(moments, x="eigenvalue", snapshots=[1], cumulative=True)[0]
    np.testing.assert_allclose(lines(by_value, "curve")[0].get_xdata(), [1, 1, 3, 4])
    assert [one.get_label() for one in lines(st.plot.spectra(ring, algorithms=FOUR)[0], "curve")] == FOUR
    axes = st.plot.spectra({"there": ring, "back": st.spectra(GRAPH, VALUES[::-1])}, hops=[1])
    assert [one.get_label() for one in lines(axes[0], "curve")] == ["there", "back"]


def test_a_large_spectrum_is_cumulative_energy_beside_a_flat_one():
    n = BINNED + 20
    graph, values = nx.path_graph(n), np.random.default_rng(0).normal(size=n)
    ds = st.spectra(graph, values, "gft", hops=1)
    panel = st.plot.spectra(ds)[0]
    (curve,), (level,) = lines(panel, "curve"), lines(panel, "flat")
    np.testing.assert_allclose(curve.get_ydata()[1:], np.cumsum(shares(graph, values)[1]), atol=1e-9)
    np.testing.assert_allclose(level.get_ydata(), np.arange(n) / (n - 1))
    mesh = meshes(st.plot.spectrogram(ds)[0])[0]
    assert mesh.get_array().size == BINS
    sizes = np.diff(mesh.get_coordinates()[:, 0, 1]) * (n - 1)
    energy = np.add.reduceat(shares(graph, values)[1], np.append(0, np.cumsum(sizes.round().astype(int))[:-1]))
    np.testing.assert_allclose(2.0 ** mesh.get_array().ravel(), energy / (sizes / (n - 1)), atol=1e-9)


def test_cut_spectra_are_magnitudes_in_stems_and_refused_as_shares():
    cut = st.Stratification(nx.path_graph(11), n_eigs=4).spectra(np.arange(11.0) ** 2)
    panel = st.plot.spectra(cut, algorithms="gft")[0]
    np.testing.assert_allclose(stems(panel)[1], cut["magnitude"].loc["gft", 1][1:])
    assert panel.get_ylabel() == "magnitude"
    for draw in (st.plot.spectrogram, lambda ds: st.compare(ds, ds)):
        with pytest.raises(ResultError, match="4 of the 11 components"):
            draw(cut)


def test_compare_draws_the_shift_of_each_band_beside_its_interval():
    strat = st.Stratification(nx.path_graph(16), hops=2)
    results = [strat.spectra(np.random.default_rng(seed).normal(size=(2, 16, 1))) for seed in (0, 1)]
    found = st.compare(*results, draws=199)
    for snapshot in (0, None):
        for ax, hop in zip(st.plot.compare(found, snapshot=snapshot, names=("old", "new")), (1, 2), strict=True):
            one = found.sel(algorithm="gft", hop=hop).isel(snapshot=-1 if snapshot is None else snapshot)
            np.testing.assert_allclose([line.get_ydata()[0] for line in lines(ax, "r")], one["energy_shift"])
            boxes = [(box.get_y(), box.get_y() + box.get_height()) for box in ax.patches if box.get_gid() == "chance"]
            np.testing.assert_allclose(boxes, np.stack([one["shift_low"], one["shift_high"]], axis=1))
            value = f"{one['correlation'].item():.2f}".replace("-", "\N{MINUS SIGN}")
            assert ax.get_title() == f"{hop} hop{'s' * (hop > 1)}: correlation {value}"
            assert [tick.get_text() for tick in ax.get_xticklabels()] == ["low", "2", "3", "high"]
    assert "what new has more or less than old" in ax.figure.get_suptitle()
    slow, fast = (strat.only(1).spectra(one) for one in (range(16), [i % 2 for i in range(16)]))
    tested = st.compare(slow, fast)
    faces = [to_hex(line.get_markerfacecolor()) != "#ffffff" for line in lines(st.plot.compare(tested)[0], "r")]
    assert (
        faces == (tested["shift_p"].sel(algorithm="gft", hop=1) <= 0.05).values.tolist() == [True, False, False, True]
    )
    untested = st.plot.compare(st.compare(slow, fast, draws=0))[0]
    assert not any("chance" in text.get_text() for text in untested.texts)
    with pytest.raises(OptionError, match=r"draws a result of st\.compare"):
        st.plot.compare(slow)


def test_maps_have_energy_over_a_flat_spectrum(ring, moments):
    merged = st.merge_eigenspaces(ring).sel(algorithm="gft", hop=1)
    energy = merged["magnitude"].values[1:] ** 2
    ratio = energy / energy.sum() / (np.array([2, 2, 1]) / 5)
    (by_hop,) = st.plot.spectrogram(ring)
    assert [tick.get_text() for tick in by_hop.get_xticklabels()] == ["1 hop", "2 hops", "3 hops"]
    mesh = meshes(by_hop)[0]
    np.testing.assert_allclose(mesh.get_array().ravel(), np.clip(np.log2(ratio), -2, 4))
    np.testing.assert_allclose(mesh.get_coordinates()[:, 0, 1], [0, 0.4, 0.8, 1.0])
    axes = st.plot.spectrogram(moments)
    whole = meshes(axes[0])[0].get_array()
    assert whole.shape == (3, 4)
    one = meshes(st.plot.spectrogram(moments.isel(snapshot=1, drop=True))[0])[0].get_array().ravel()
    np.testing.assert_allclose(whole[:, 1], one)
    assert [tick.get_text() for tick in axes[0].get_xticklabels()] == ["0", "1", "2", "3"]


def test_triangles_mark_what_is_beyond_chance():
    """A planted eigenvector of a path holds all energy: its cell is above chance."""
    n = 24
    graph = nx.path_graph(n)
    values = np.cos(np.pi * 3 * (np.arange(n) + 0.5) / n)
    (ax,) = st.plot.spectrogram(st.calibrate(st.Stratification(graph, hops=1), values, "gft", draws=999))
    (above,) = lines(ax, "above")
    assert above.get_xdata().tolist() == [0]
    np.testing.assert_allclose(above.get_ydata(), [2.5 / 23])
    assert not lines(st.plot.spectrogram(st.spectra(graph, values, hops=1))[0], "above")


def test_a_panel_says_why_it_is_empty(flat, broken):
    axes = st.plot.spectra(flat, algorithms=["adj_diff", "in_agg"])
    assert words(axes[0]) == ["all zero"]
    panel = st.plot.spectra(broken)[0]
    assert [curve.get_label() for curve in lines(panel, "curve")] == ["0"]
    assert words(panel) == ["1: undefined: zero vector"]
    assert words(st.plot.spectra(broken, snapshots=[1])[0]) == ["undefined: zero vector"]
    assert words(st.plot.spectrogram(flat, algorithm="in_agg")[0]) == ["all zero"]
    assert words(st.plot.spectrogram(broken.isel(snapshot=1))[0]) == ["undefined: zero vector"]
    drawn = np.ma.filled(meshes(st.plot.spectrogram(broken)[0])[0].get_array().astype(float), np.nan)
    assert np.isnan(drawn[:, 1]).all()
    assert not np.isnan(drawn[:, 0]).any()


def test_many_hops_snapshots_and_given_axes(ring):
    ds = st.spectra(nx.path_graph(20), np.arange(20.0) ** 2, algorithms="gft")
    axes = st.plot.spectra(ds)
    assert len(axes) == len(axes[0].figure.axes) == 12
    assert "7 of 19 hops not drawn (13 hops and on)" in axes[0].figure.get_suptitle().replace("\n", " ")
    assert len(st.plot.spectra(ds, hops=range(5, 8))) == 3
    forty = st.plot.spectra(st.spectra(GRAPH, np.random.default_rng(0).normal(size=(40, 6, 2)), hops=1))
    assert len({to_hex(curve.get_color()) for curve in lines(forty[0], "curve")}) == 40
    assert len(forty[0].figure.legends[0].get_texts()) == 8  # seven of the forty, and the flat spectrum
    (drawn,) = st.plot.spectra(ring, ax := Figure().subplots(), hops=[2])
    assert drawn is ax
    assert ax.get_legend() is not None


@pytest.mark.parametrize(
    "wrong",
    [{"x": "magic"}, {"algorithms": "magic"}, {"algorithms": []}, {"hops": [9]}, {"ax": Figure().subplots()}],
    ids=str,
)
def test_wrong_arguments_are_refused(ring, wrong):
    with pytest.raises(OptionError):
        st.plot.spectra(ring, **wrong)
    with pytest.raises(ResultError):
        st.plot.spectra(ring.drop_vars("status"))
    with pytest.raises(OptionError):
        st.plot.spectra({})


def test_computing_loads_no_matplotlib_and_drawing_no_pyplot(tmp_path):
    code = (
        "import sys, networkx as nx, spectrata as st\n"
        "ds = st.spectra(nx.cycle_graph(6), [3.0, 1, 0, 2, 1, 0])\n"
        "assert 'matplotlib' not in sys.modules\n"
        "assert 'spectra' in dir(st.plot) and 'style' not in dir(st.plot)\n"
        "axes = st.plot.spectra(ds)\n"
        "axes[0].figure.savefig(sys.argv[1] + '.png')\n"
        "axes[0].figure.savefig(sys.argv[1] + '.svg')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], check=True)
    assert (tmp_path / "a.png").stat().st_size > 10_000
