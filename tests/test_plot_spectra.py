"""What is drawn, read back from the artists."""

import io
import sys

import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.plot.spectra import MANY, PALETTE

FOUR = ["gft", "apprx_ls", "in_agg", "adj_diff"]


def lines(ax, gid):
    return [line for line in ax.get_lines() if line.get_gid() == gid]


def texts(ax):
    return " | ".join(text.get_text() for text in ax.texts)


def legend(axes):
    found = axes[0].figure.legends
    return [text.get_text() for text in found[0].get_texts()], found[0].get_title().get_text()


@pytest.fixture(scope="module")
def ring():
    """Six nodes: 0, 1 twice, 3 twice, 4 at K = 1; two triangles at K = 2; three pairs at K = 3."""
    return st.spectra(nx.cycle_graph(6), [3.0, 1.0, 0.0, 2.0, 1.0, 0.5])


@pytest.fixture(scope="module")
def moments():
    values = np.random.default_rng(3).normal(size=(3, 6, 4))
    return st.spectra(nx.cycle_graph(6), values)


def test_a_panel_for_each_hop_with_its_sizes(ring):
    axes = st.plot.spectra(ring)
    assert [ax.get_title() for ax in axes] == [
        "K = 1: 6 edges, 1 part",
        "K = 2: 6 edges, 2 parts",
        "K = 3: 3 edges, 3 parts",
    ]


def test_single_nodes_are_in_the_title():
    axes = st.plot.spectra(st.spectra(nx.star_graph(3), [1.0, 2.0, 3.0, 5.0]))
    assert axes[1].get_title() == "K = 2: 3 edges, 2 parts (1 single)"


def test_curves_are_the_magnitudes(ring):
    merged = st.merge_eigenspaces(ring)
    for ax, hop in zip(st.plot.spectra(ring), [1, 2, 3], strict=True):
        (curve,) = lines(ax, "curve")
        used = merged["multiplicity"].sel({"hop": hop}).values > 0
        np.testing.assert_array_equal(curve.get_ydata(), merged["magnitude"].loc["gft", hop].values[used])
        assert curve.get_linestyle() == "None"  # eigenspaces do not follow each other
    for ax, hop in zip(st.plot.spectra(ring, algorithms=FOUR, merge=False), [1, 2, 3], strict=True):
        curves = lines(ax, "curve")
        assert [curve.get_label() for curve in curves] == FOUR
        for curve in curves:
            np.testing.assert_array_equal(curve.get_ydata(), ring["magnitude"].loc[curve.get_label(), hop])
            np.testing.assert_array_equal(curve.get_xdata(), ring["eigenvalue"].sel({"hop": hop}))


def test_normalised_curves_have_length_one(ring):
    for ax in st.plot.spectra(ring, normalize=True):
        for curve in lines(ax, "curve"):
            assert np.linalg.norm(curve.get_ydata()) == pytest.approx(1.0)
    raw, unit = (st.plot.spectra(ring, normalize=choice)[0] for choice in (False, True))
    assert raw.figure.get_supylabel() == "magnitude"
    assert unit.figure.get_supylabel() == "magnitude / l2 norm"


def test_markers_tell_zero_repeated_and_simple_components(ring):
    ax = st.plot.spectra(ring, merge=False)[0]
    (zero,), (repeated,), (simple,) = (lines(ax, kind) for kind in ("zero", "repeated", "simple"))
    np.testing.assert_allclose(zero.get_xdata(), [0.0], atol=1e-12)
    np.testing.assert_allclose(repeated.get_xdata(), [1.0, 1.0, 3.0, 3.0])
    np.testing.assert_allclose(simple.get_xdata(), [4.0])
    assert zero.get_marker() == "s"
    assert repeated.get_marker() == simple.get_marker() == "o"
    assert to_hex(repeated.get_markerfacecolor()) == "#ffffff"
    assert to_hex(simple.get_markerfacecolor()) == PALETTE[0].lower()
    magnitude = ring["magnitude"].loc["gft", 1].values
    np.testing.assert_array_equal(repeated.get_ydata(), magnitude[1:5])


def test_several_zero_components_are_hollow_squares(ring):
    (zero,) = lines(st.plot.spectra(ring, merge=False)[2], "zero")
    assert len(zero.get_xdata()) == 3
    assert to_hex(zero.get_markerfacecolor()) == "#ffffff"


def test_the_legend_explains_what_is_there(ring):
    chance = "chance: 95 % of permutations"
    assert legend(st.plot.spectra(ring)) == (["gft", "zero component", chance], "gft; 3 more algorithms in the result")
    labels, title = legend(st.plot.spectra(ring, algorithms=FOUR, merge=False, calibrated=False))
    assert labels == [*FOUR, "repeated eigenvalue: the split is arbitrary", "zero component"]
    assert title == ""
    path = st.spectra(nx.path_graph(4), [1.0, 0.0, 2.0, 1.0], hops=1, algorithms="gft")
    assert legend(st.plot.spectra(path, calibrated=False))[0] == ["gft", "zero component"]


def test_chance_is_drawn_without_being_asked_for(ring):
    """Up to 1,000 nodes, where the result kept its signal."""
    strat = st.Stratification(nx.cycle_graph(6))
    values = np.array([3.0, 1.0, 0.0, 2.0, 1.0, 0.5])
    judged = st.calibrate(strat, values, algorithms="gft", draws=0)
    for ax, hop in zip(st.plot.spectra(ring), [1, 2, 3], strict=True):
        (null,) = lines(ax, "null")
        used = judged["multiplicity"].sel({"hop": hop}).values > 0
        used &= ~judged["is_zero"].sel({"hop": hop}).values
        energy = (judged["chance"] * judged["energy"]).sel(algorithm="gft", hop=hop).values
        np.testing.assert_allclose(null.get_ydata(), np.sqrt(energy[used]))
    bare = st.plot.spectra(ring.drop_vars("signal"))[0]
    assert not lines(bare, "null")


def test_all_hops_have_one_scale(ring):
    assert len({ax.get_ylim() for ax in st.plot.spectra(ring)}) == 1


def test_beyond_300_components_a_spectrum_is_drawn_in_bins():
    graph = nx.gnp_random_graph(310, 0.03, seed=2)
    strat = st.Stratification(graph, hops=1)
    values = np.random.default_rng(1).normal(size=310)
    ds = strat.using(keep=["signal"]).spectra(values, "gft")
    ax = st.plot.spectra(ds, x="rank")[0]
    (curve,) = lines(ax, "curve")
    assert len(curve.get_ydata()) == 31
    energy = ds["magnitude"].loc["gft", 1].values[~ds["is_zero"].loc[1].values] ** 2
    judged = st.calibrate(strat, values, algorithms="gft", level="band", bands=30, draws=0).sel(algorithm="gft", hop=1)
    sizes = judged["band_size"].values
    assert sizes.sum() == len(energy)
    starts = np.append(0, np.cumsum(sizes)[:-1])
    expected = np.sqrt(np.add.reduceat(energy, starts) / sizes)
    np.testing.assert_allclose(curve.get_ydata()[:-1], expected)
    (null,) = lines(ax, "null")
    np.testing.assert_allclose(null.get_ydata()[:-1], np.sqrt(judged["chance"] * judged["energy"] / sizes))


def test_rank_places_components_evenly_and_names_eigenvalues(ring):
    ax = st.plot.spectra(ring, x="rank", hops=[1])[0]
    (curve,) = lines(ax, "curve")
    np.testing.assert_array_equal(curve.get_xdata(), [0, 1, 3, 5])  # eigenspaces of 1, 2, 2 and 1 components
    (curve,) = lines(st.plot.spectra(ring, x="rank", hops=[1], merge=False)[0], "curve")
    np.testing.assert_array_equal(curve.get_xdata(), np.arange(6))
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert ticks[0] == "0\nλ = 0"
    assert ticks[-1] == "5\nλ = 4"


def test_snapshots_lie_over_each_other(moments):
    axes = st.plot.spectra(moments, merge=False)
    curves = lines(axes[0], "curve")
    assert [curve.get_label() for curve in curves] == ["0", "1", "2"]
    for number, curve in enumerate(curves):
        np.testing.assert_array_equal(curve.get_ydata(), moments["magnitude"].loc["gft", number, 1])
    assert legend(axes)[1] == "gft; 3 more algorithms in the result"


def test_one_snapshot_shows_its_algorithms(moments):
    axes = st.plot.spectra(moments, snapshots=[1], algorithms=FOUR, merge=False)
    curves = lines(axes[1], "curve")
    assert [curve.get_label() for curve in curves] == FOUR
    np.testing.assert_array_equal(curves[3].get_ydata(), moments["magnitude"].loc["adj_diff", 1, 2])
    assert legend(axes)[1] == "snapshot 1"


def test_algorithms_and_snapshots_that_are_named_are_all_drawn(moments):
    curves = lines(st.plot.spectra(moments, algorithms=["gft", "in_agg"], snapshots=[0, 2])[0], "curve")
    assert [curve.get_label() for curve in curves] == ["gft, 0", "gft, 2", "in_agg, 0", "in_agg, 2"]


def test_many_snapshots_get_a_scale_and_a_short_legend():
    values = np.random.default_rng(0).normal(size=(40, 6, 3))
    axes = st.plot.spectra(st.spectra(nx.cycle_graph(6), values, hops=1, algorithms="gft"))
    curves = lines(axes[0], "curve")
    assert len({to_hex(curve.get_color()) for curve in curves}) == 40
    labels, title = legend(axes)
    assert labels[:6] == ["0", "8", "16", "23", "31", "39"]
    assert title == "gft"


def test_an_all_zero_hop_says_so():
    ds = st.spectra(nx.cycle_graph(6), np.ones(6), algorithms=["adj_diff", "in_agg"])
    ax = st.plot.spectra(ds, algorithms=["adj_diff", "in_agg"])[0]
    assert texts(ax) == "all zero"
    assert all(not np.any(curve.get_ydata()) for curve in lines(ax, "curve"))
    mixed = st.plot.spectra(st.spectra(nx.cycle_graph(6), np.ones(6)), algorithms=FOUR)[0]
    assert texts(mixed) == "apprx_ls, in_agg, adj_diff: all zero"


def test_an_undefined_hop_says_why():
    values = np.ones((2, 6, 2))
    values[1, 3] = 0.0
    values[0, 0] = [1.0, -1.0]
    ds = st.spectra(nx.cycle_graph(6), values, zero_vectors="nan", algorithms="gft")
    ax = st.plot.spectra(ds)[0]
    assert [curve.get_label() for curve in lines(ax, "curve")] == ["0"]
    assert texts(ax) == "1: undefined: zero vector"
    assert texts(st.plot.spectra(ds, snapshots=[1])[0]) == "undefined: zero vector"


def test_components_without_a_value_are_left_out_of_the_norm():
    ds = st.spectra(
        nx.cycle_graph(6), [3.0, 1.0, 0.0, 2.0, 1.0, 0.5], algorithms="adj_diff", adj_diff={"scaling": "eigenvalue"}
    )
    (curve,) = lines(st.plot.spectra(ds, normalize=True)[0], "curve")
    assert np.isnan(curve.get_ydata()[0])
    assert np.nansum(np.asarray(curve.get_ydata()) ** 2) == pytest.approx(1.0)


def test_hops_beyond_the_limit_are_counted():
    ds = st.spectra(nx.path_graph(20), np.arange(20.0) ** 2, algorithms="gft")
    axes = st.plot.spectra(ds)
    assert len(axes) == 12
    assert len(axes[0].figure.axes) == 12
    assert legend(axes)[1] == "7 of 19 hops not drawn (K = 13 and on)"
    assert len(st.plot.spectra(ds, hops=range(5, 8))) == 3


def test_many_components_use_small_marks_and_a_log_axis():
    graph = nx.gnp_random_graph(MANY + 20, 0.1, seed=2)
    ds = st.spectra(graph, np.random.default_rng(1).normal(size=(MANY + 20, 3)), hops=1)
    ax = st.plot.spectra(ds, algorithms=FOUR, merge=False, calibrated=False)[0]
    assert ax.get_yscale() == "log"
    for curve in lines(ax, "curve"):
        assert curve.get_linestyle() == "None"
        np.testing.assert_array_equal(curve.get_ydata(), ds["magnitude"].loc[curve.get_label(), 1])
    bottom = ax.get_ylim()[0]
    below = int(np.count_nonzero(ds["magnitude"].values < bottom))
    assert below >= 1  # apprx_ls is exactly 0 at the zero component
    assert f"{below} value" in texts(ax)
    assert st.plot.spectra(ds, y="linear")[0].get_yscale() == "linear"


def test_drawing_on_axes_that_are_given(ring):
    figure = Figure()
    ax = figure.subplots()
    (drawn,) = st.plot.spectra(ring, ax, hops=[2])
    assert drawn is ax
    assert ax.get_xlabel() == "eigenvalue"
    assert ax.get_legend() is not None
    three = figure.subplots(1, 3)
    assert list(st.plot.spectra(ring, three)) == list(three)


@pytest.mark.parametrize(
    "wrong",
    [
        {"x": "magic"},
        {"y": "magic"},
        {"algorithms": "magic"},
        {"algorithms": []},
        {"hops": [9]},
        {"ax": Figure().subplots()},
    ],
)
def test_wrong_arguments_are_refused(ring, wrong):
    with pytest.raises(OptionError):
        st.plot.spectra(ring, **wrong)


def test_what_is_no_result_is_refused(ring):
    with pytest.raises(ResultError):
        st.plot.spectra(ring.drop_vars("status"))


def test_the_picture_saves_and_pyplot_is_not_loaded(ring, tmp_path):
    import subprocess

    code = (
        "import sys, networkx as nx, spectrata as st\n"
        "axes = st.plot.spectra(st.spectra(nx.cycle_graph(6), [3.0, 1, 0, 2, 1, 0]))\n"
        "axes[0].figure.savefig(sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.png")], check=True, timeout=60)
    assert (tmp_path / "a.png").stat().st_size > 10_000
    for kind in ("svg", "pdf"):
        memory = io.BytesIO()
        st.plot.spectra(ring)[0].figure.savefig(memory, format=kind)
        assert memory.tell() > 1000


@pytest.mark.parametrize("hops", [1, 2, 3, 4, 6])
def test_the_legend_lies_inside_the_figure(hops):
    graph = nx.path_graph(7)
    graph.add_edges_from([(0, 2), (4, 6)])
    algorithms = ["gft", "apprx_ls", "in_agg", "adj_diff", "ens", "ens_raw"]
    figure = st.plot.spectra(st.spectra(graph, range(7), algorithms, hops=hops), algorithms=algorithms)[0].figure
    figure.canvas.draw()
    (legend,) = figure.legends
    box, whole = legend.get_window_extent(), figure.bbox
    assert box.x0 >= whole.x0 - 1
    assert box.x1 <= whole.x1 + 1
