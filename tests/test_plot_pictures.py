"""Strata, heat maps, comparison, evolution and embedding, read back from the artists."""

import io
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.figure import Figure

import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.plot.places import node_places, two_axes

GRAPH = nx.cycle_graph(6)
VALUES = [3.0, 1.0, 0.0, 2.0, 1.0, 0.5]


@pytest.fixture(scope="module")
def ring():
    return st.spectra(GRAPH, VALUES)


@pytest.fixture(scope="module")
def moments():
    return st.spectra(GRAPH, np.random.default_rng(3).normal(size=(4, 6, 3)))


@pytest.fixture(scope="module")
def star():
    """At K = 2 the centre is single."""
    return st.spectra(nx.star_graph(4), np.random.default_rng(1).normal(size=(5, 2)))


@pytest.fixture(scope="module")
def flat():
    """All differences are zero, and so is every magnitude off zero."""
    return st.spectra(GRAPH, np.ones(6))


@pytest.fixture(scope="module")
def broken():
    """The second snapshot holds a zero vector."""
    values = np.random.default_rng(2).normal(size=(2, 6, 3))
    values[1, 2] = 0.0
    return st.spectra(GRAPH, values, zero_vectors="nan")


def words(ax):
    return [text.get_text() for text in ax.texts]


def saved(axes):
    memory = io.BytesIO()
    np.ravel(axes)[0].figure.savefig(memory, format="png", dpi=60)
    return memory.tell()


def meshes(ax):
    return [one for one in ax.collections if isinstance(one, QuadMesh)]


def off_zero_units(ds, algorithm, hop, snapshot=None):
    """Magnitudes off zero of unit length, even inside eigenspaces: by hand."""
    at = ds["magnitude"].loc[algorithm] if snapshot is None else ds["magnitude"].loc[algorithm, snapshot]
    values = at.sel({"hop": hop}).values.copy()
    space = ds["eigenspace"].sel({"hop": hop}).values
    values = np.where(space > 0, values, 0.0)
    size = np.linalg.norm(values)
    values = values / size if size > 0 else values
    even = [np.sqrt(np.mean(values[space == a] ** 2)) for a in range(1, space.max() + 1)]
    return np.array(even)


# ---- hops


@pytest.mark.parametrize("algorithm", ["gft", "in_agg"])
def test_hops_colours_are_the_magnitudes_off_zero(ring, algorithm):
    ax = st.plot.hops(ring, algorithm=algorithm)
    rows = meshes(ax)
    assert len(rows) == 3
    for mesh, hop in zip(rows, [1, 2, 3], strict=True):
        drawn = np.ma.filled(mesh.get_array().ravel(), np.nan)
        assert np.isnan(drawn[0])
        np.testing.assert_allclose(drawn[1:], off_zero_units(ring, algorithm, hop), atol=1e-12)


def test_hops_cells_are_as_wide_as_their_eigenspaces(ring):
    for mesh, hop in zip(meshes(st.plot.hops(ring)), [1, 2, 3], strict=True):
        bounds = mesh.get_coordinates()[0, :, 0]
        space = ring["eigenspace"].sel({"hop": hop}).values
        np.testing.assert_array_equal(np.diff(bounds), np.bincount(space))
    by_value = meshes(st.plot.hops(ring, x="eigenvalue"))[0].get_coordinates()[0, :, 0]
    np.testing.assert_allclose(by_value, [0.0, 0.5, 2.0, 3.5, 4.5])


@pytest.fixture(scope="module")
def long_path():
    """A path of 1,051 nodes: more than 300 components, and too many nodes for a calibration by itself."""
    strat = st.Stratification(nx.path_graph(1051), hops=1)
    return [strat.spectra(np.random.default_rng(seed).normal(size=1051), algorithms="gft") for seed in (0, 1)]


def test_maps_of_many_components_have_bins(long_path):
    ds = long_path[0]
    ax = st.plot.hops(ds)
    assert ax.get_title().endswith("rms of 30 bins")
    energy = ds["magnitude"].values.ravel()[1:] ** 2
    expected = [np.sqrt(part.mean() / energy.sum()) for part in np.array_split(energy, 30)]
    drawn = ax.collections[0].get_array().ravel()
    assert len(drawn) == 31  # the zero component first
    np.testing.assert_allclose(drawn[1:], expected, rtol=1e-12)
    panel = st.plot.compare(*long_path)[0]
    assert [len(line.get_xdata()) for line in panel.lines if line.get_gid() == "curve"] == [30, 30]
    assert len(st.plot.spectrogram(ds)[0].collections[0].get_array().ravel()) == 31


def test_the_mean_of_chance_needs_no_eigenvectors(long_path):
    panel = st.plot.spectra(long_path[0])[0]
    drawn = next(line for line in panel.lines if line.get_gid() == "null").get_ydata()
    values = np.random.default_rng(0).normal(size=1051)
    np.testing.assert_allclose(drawn, values.std(ddof=1), rtol=1e-9)  # sum of squares off the mean / (n - 1)
    assert "chance: mean" in [text.get_text() for text in panel.figure.legends[0].get_texts()]


def test_hops_shows_the_snapshot_asked_for(moments):
    ax = st.plot.hops(moments, snapshot=1)
    np.testing.assert_allclose(
        np.ma.filled(meshes(ax)[0].get_array().ravel(), np.nan)[1:], off_zero_units(moments, "gft", 1, 1)
    )
    assert ax.get_title().startswith("gft, 1:")
    assert st.plot.hops(moments).get_title().startswith("gft, 3:")


def marks(ax, gid):
    """Where triangles stand: pairs of hop row and middle of the cell."""
    lines = [line for line in ax.lines if line.get_gid() == gid]
    return {(int(y), round(float(x), 6)) for line in lines for x, y in zip(*line.get_data(), strict=True)}


def test_hops_marks_what_lies_beyond_chance():
    """Against the shares under all 5,040 orders of the nodes; what is neither clear nor ordinary may go either way."""
    signal = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.0])
    orders = np.array(list(permutations(signal)))
    ds = st.spectra(nx.path_graph(7), signal, hops=2)
    clear, possible = {1: set(), -1: set()}, {1: set(), -1: set()}
    for at, hop in enumerate((1, 2)):
        graph = nx.path_graph(7) if hop == 1 else nx.Graph([(i, i + 2) for i in range(5)])
        values, vectors = np.linalg.eigh(nx.laplacian_matrix(graph, nodelist=range(7)).toarray().astype(float))
        spaces = np.append(0, np.cumsum(np.diff(values) > 1e-9))
        drawn = np.stack([((orders @ vectors[:, spaces == a]) ** 2).sum(axis=1) for a in range(spaces[-1] + 1)], axis=1)
        energy = np.array([((signal @ vectors[:, spaces == a]) ** 2).sum() for a in range(spaces[-1] + 1)])
        ends = np.append(0, np.cumsum(np.bincount(spaces)))
        middles = ((ends[1:] + ends[:-1]) / 2).tolist()
        drawn, energy = drawn[:, 1:] / drawn[:, 1:].sum(axis=1, keepdims=True), energy[1:] / energy[1:].sum()
        for cells, outer in ((clear, 0.01), (possible, 0.05)):
            low, high = np.quantile(drawn, (outer, 1 - outer), axis=0)
            cells[1] |= {(at, middles[a + 1]) for a in np.flatnonzero(energy > high)}
            cells[-1] |= {(at, middles[a + 1]) for a in np.flatnonzero(energy < low)}
    assert clear[1]
    strat = st.Stratification(nx.path_graph(7), hops=2)
    judged = st.calibrate(strat, signal, algorithms="gft")
    bare = st.spectra(st.Stratification(nx.path_graph(7), hops=2, keep=()), signal)
    for ax in (st.plot.hops(ds), st.plot.hops(bare, calibrated=judged), st.plot.hops(judged)):
        assert clear[1] <= marks(ax, "above") <= possible[1]
        assert clear[-1] <= marks(ax, "below") <= possible[-1]
        assert "triangles: energy beyond chance" in ax.get_xlabel()
    for ax in (st.plot.hops(ds, calibrated=False), st.plot.hops(bare), st.plot.hops(ds, algorithm="in_agg")):
        assert marks(ax, "above") == set()
        assert "triangles" not in ax.get_xlabel()
    with pytest.raises(ResultError, match="other eigenspaces or bands"):
        st.plot.hops(bare, calibrated=st.calibrate(strat, signal, draws=0, algorithms="gft", level="band", bands=2))


def test_bins_of_hops_are_marked_too():
    """Against 1,500 orders of the nodes; bins that are neither clear nor ordinary may go either way."""
    n, rng = 320, np.random.default_rng(0)
    vectors = np.linalg.eigh(nx.laplacian_matrix(nx.path_graph(n)).toarray().astype(float))[1]
    signal = rng.normal(size=n) + 4.0 * vectors[:, 40:60].sum(axis=1)
    bins = np.array_split(np.arange(1, n), 30)
    energies = lambda rows: np.stack([((rows @ vectors)[:, part] ** 2).sum(axis=1) for part in bins], axis=1)  # noqa: E731
    drawn = energies(rng.permuted(np.tile(signal, (1500, 1)), axis=1))
    z = (energies(signal[None])[0] - drawn.mean(axis=0)) / drawn.std(axis=0)
    ds = st.spectra(st.Stratification(nx.path_graph(n), hops=1, keep=["signal"]), signal, "gft")
    found = sorted(x for _, x in marks(st.plot.hops(ds), "above"))
    clear = [at for at in range(30) if z[at] > 2.6]
    assert clear
    assert {int((x - 1) * 30 / (n - 1)) for x in found} >= set(clear)
    assert not {int((x - 1) * 30 / (n - 1)) for x in found} & {at for at in range(30) if z[at] < 1.6}


def test_hops_says_where_nothing_is(flat, broken):
    assert words(st.plot.hops(flat, algorithm="in_agg")) == ["all zero"] * 3
    assert words(st.plot.hops(broken)) == ["undefined: zero vector"] * 3
    assert saved(st.plot.hops(flat)) > 2000


# ---- spectrogram


def test_spectrogram_columns_are_snapshots(moments):
    axes = st.plot.spectrogram(moments)
    assert axes[0].get_title() == "K = 1: 6 edges, 1 part"
    for ax, hop in zip(axes, [1, 2, 3], strict=True):
        (mesh,) = meshes(ax)
        drawn = np.ma.filled(mesh.get_array(), np.nan).reshape(-1, 4)
        for t in range(4):
            np.testing.assert_allclose(drawn[1:, t], off_zero_units(moments, "gft", hop, t), atol=1e-12)


def test_spectrogram_of_one_snapshot_is_one_column(ring, moments):
    for ds in (ring, moments.isel(snapshot=[2])):
        (mesh,) = meshes(st.plot.spectrogram(ds)[0])
        assert mesh.get_array().reshape(-1, 1).shape[1] == 1
    assert saved(st.plot.spectrogram(ring)) > 2000


def test_spectrogram_of_zeros_and_of_undefined_snapshots(flat, broken):
    assert words(st.plot.spectrogram(flat)[0]) == ["all zero"]
    (mesh,) = meshes(st.plot.spectrogram(broken)[0])
    drawn = np.ma.filled(mesh.get_array(), np.nan).reshape(-1, 2)
    assert np.isnan(drawn[:, 1]).all()
    assert not np.isnan(drawn[1:, 0]).any()
    assert words(st.plot.spectrogram(broken.isel(snapshot=[1]))[0]) == ["undefined: zero vector"]


# ---- strata


def test_strata_bars_are_the_sizes(ring):
    for source in (ring, st.Stratification(GRAPH)):
        bars = st.plot.strata(source)[0].containers
        assert [[int(bar.get_height()) for bar in group] for group in bars] == [[6, 6, 3], [1, 2, 3], [0, 0, 0]]


def test_strata_draws_the_graphs_when_small(star):
    axes = st.plot.strata(star)
    assert [ax.get_title() for ax in axes[1:]] == ["K = 1: 4 edges, 1 part", "K = 2: 6 edges, 2 parts (1 single)"]
    for ax, edges in zip(axes[1:], [4, 6], strict=True):
        (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
        assert len(lines.get_segments()) == edges
        assert sorted(words(ax)) == ["0", "1", "2", "3", "4"]
    (single,) = [one for one in axes[2].collections if one.get_gid() == "single"]
    assert len(single.get_offsets()) == 1
    assert saved(axes) > 5000


def test_strata_of_a_large_graph_are_sizes_alone():
    strat = st.Stratification(nx.cycle_graph(80), hops=30)
    axes = st.plot.strata(strat)
    assert len(axes) == 1
    given = Figure().subplots()
    assert st.plot.strata(strat, given)[0] is given
    assert len(st.plot.strata(st.Stratification(nx.path_graph(20)))) == 9  # the sizes and eight graphs
    with pytest.raises(OptionError):
        st.plot.strata(strat, list(Figure().subplots(1, 3)))


# ---- compare


def test_compare_draws_both_with_their_correlation(moments):
    a, b = (moments.isel(snapshot=t, drop=True) for t in (0, 3))
    axes = st.plot.compare(a, b, names=("first", "last"))
    found = st.compare(a, b)
    for ax, hop in zip(axes, [1, 2, 3], strict=True):
        first, last = [line for line in ax.get_lines() if line.get_gid() == "curve"]
        assert [first.get_label(), last.get_label()] == ["first", "last"]
        np.testing.assert_allclose(first.get_ydata(), off_zero_units(moments, "gft", hop, 0), atol=1e-12)
        np.testing.assert_allclose(last.get_ydata(), off_zero_units(moments, "gft", hop, 3), atol=1e-12)
        correlation = float(found["correlation"].loc["gft", hop])
        shown = "–" if np.isnan(correlation) else f"{correlation:.2f}"
        flat_a = float(found["cosine_flat_a"].loc["gft", hop])
        assert f"correlation {shown}" in ax.get_title()
        assert f"(flat: {flat_a:.2f}" in ax.get_title()
    assert saved(axes) > 5000


def test_compare_by_rank(ring):
    other = st.spectra(GRAPH, VALUES[::-1])
    line = st.plot.compare(ring, other, x="rank")[0].get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata(), [1, 3, 5])  # 0; 1 twice; 3 twice; 4
    with pytest.raises(OptionError):
        st.plot.compare(ring, other, x="magic")


def test_compare_says_when_a_spectrum_is_empty(flat, ring):
    assert words(st.plot.compare(ring, flat, algorithm="in_agg")[0]) == ["undefined: a spectrum without energy"]


def test_compare_refuses_snapshots_and_other_graphs(moments, ring, star):
    with pytest.raises(OptionError, match="snapshots"):
        st.plot.compare(moments, ring)
    with pytest.raises(ResultError):
        st.plot.compare(ring, star)


# ---- evolution


def test_evolution_curves_are_the_measures(moments):
    axes = st.plot.evolution(moments)
    assert len(axes) == 3
    off = st.off_zero(moments)
    for line in axes[0].get_lines():
        np.testing.assert_array_equal(line.get_ydata(), moments["gradient_norm"].sel({"hop": int(line.get_gid())}))
    for line in axes[1].get_lines():
        np.testing.assert_allclose(line.get_ydata(), off.sel({"hop": int(line.get_gid())}))
    assert [line.get_label() for line in axes[0].get_lines()] == ["K = 1", "K = 2", "K = 3"]


def test_evolution_of_one_snapshot_and_of_undefined_ones(ring, broken):
    assert [len(line.get_ydata()) for line in st.plot.evolution(ring)[0].get_lines()] == [1, 1, 1]
    values = st.plot.evolution(broken)[0].get_lines()[0].get_ydata()
    assert not np.isnan(values[0])
    assert np.isnan(values[1])
    assert saved(st.plot.evolution(broken)) > 2000


def test_evolution_needs_gft_for_off_zero():
    ds = st.spectra(GRAPH, VALUES, algorithms="in_agg")
    assert len(st.plot.evolution(ds)) == 2
    with pytest.raises(OptionError, match="off_zero"):
        st.plot.evolution(ds, measures=["off_zero"])


# ---- embedding


def nodes(ax):
    (found,) = [one for one in ax.collections if isinstance(one, PathCollection)]
    return found


def test_embedding_places_are_the_vectors(star):
    (ax,) = st.plot.embedding(star)
    vectors = star["signal"].values
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(nodes(ax).get_offsets(), unit)  # the metric is angular: directions
    (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
    assert len(lines.get_segments()) == 4
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2", "3", "4"]


def test_embedding_of_numbers_lies_over_rows(ring):
    places = nodes(st.plot.embedding(ring)[0]).get_offsets()
    np.testing.assert_array_equal(places[:, 0], VALUES)


def test_embedding_keeps_its_axes_over_snapshots(moments):
    axes = st.plot.embedding(moments)
    assert [ax.get_title() for ax in axes] == ["0", "2", "3"]
    values = moments["signal"].values
    unit = values / np.linalg.norm(values, axis=2, keepdims=True)
    flat = unit.reshape(-1, 3)
    _, _, right = np.linalg.svd(flat - flat.mean(axis=0))
    expected = np.abs((unit[2] - flat.mean(axis=0)) @ right[:2].T)
    np.testing.assert_allclose(np.abs(nodes(axes[1]).get_offsets()), expected, atol=1e-10)


def test_embedding_colours_undefined_and_missing(star, broken):
    labels = nodes(st.plot.embedding(star, color=["a", "b", "a", "b", "a"])[0]).get_facecolors()
    assert (labels[0] == labels[2]).all()
    assert not (labels[0] == labels[1]).all()
    assert saved(st.plot.embedding(broken)) > 2000
    with pytest.raises(OptionError, match="color"):
        st.plot.embedding(star, color=[1, 2])
    with pytest.raises(OptionError, match="keep"):
        st.plot.embedding(star.drop_vars("signal"))


# ---- several results by name, merged results and chance


def test_several_results_by_name_are_snapshots():
    strat = st.Stratification(GRAPH)
    a, b = strat.spectra(VALUES), strat.spectra(VALUES[::-1])
    ax = st.plot.spectra({"there": a, "back": b}, hops=[1], merge=False)[0]
    curves = [line for line in ax.get_lines() if line.get_gid() == "curve"]
    assert [line.get_label() for line in curves] == ["there", "back"]
    np.testing.assert_array_equal(curves[1].get_ydata(), b["magnitude"].loc["gft", 1])
    with pytest.raises(ResultError, match="different graphs"):
        st.plot.spectra({"a": a, "b": st.spectra(nx.path_graph(6), VALUES)})
    with pytest.raises(OptionError):
        st.plot.spectra({})


def test_merged_results_have_nothing_arbitrary_to_mark(ring):
    merged = st.merge_eigenspaces(ring)
    ax = st.plot.spectra(merged, algorithms="gft")[0]
    assert not [line for line in ax.get_lines() if line.get_gid() == "repeated"]
    (curve,) = [line for line in ax.get_lines() if line.get_gid() == "curve"]
    np.testing.assert_array_equal(curve.get_ydata(), merged["magnitude"].loc["gft", 1])
    short = st.plot.spectra(merged, algorithms="gft")[2]  # fewer eigenspaces: the padding is left out
    (curve,) = [line for line in short.get_lines() if line.get_gid() == "curve"]
    assert len(curve.get_ydata()) == 2


@pytest.mark.parametrize("merge", [False, True])
def test_chance_is_shaded_where_calibrate_puts_it(merge):
    strat = st.Stratification(GRAPH)
    ds, cal = strat.spectra(VALUES), st.calibrate(strat, VALUES, draws=199)
    drawn = st.plot.spectra(ds, merge=merge, calibrated=cal)[0]
    (line,) = [line for line in drawn.get_lines() if line.get_gid() == "null"]
    expected = np.sqrt((cal["chance"] * cal["energy"]).sel(algorithm="gft", hop=1).values)[1:]
    if not merge:  # one value for each component: even inside an eigenspace
        sizes = cal["multiplicity"].loc[1].values[1:]
        expected = np.repeat(expected / np.sqrt(sizes), sizes)
    np.testing.assert_allclose(line.get_ydata(), expected)
    assert [one for one in drawn.collections if one.get_gid() == "chance"]
    with pytest.raises(ResultError):
        st.plot.spectra(ds, calibrated=ds)


def test_names_that_look_like_mathematics_are_drawn():
    graph = nx.relabel_nodes(nx.path_graph(4), {0: "$x", 1: "$\\frac", 2: "a$b$", 3: "<b>"})
    ds = st.spectra(graph, dict(zip(graph, [[1.0, 2], [2, 1], [1, 1], [3, 1]], strict=True)))
    assert saved(st.plot.embedding(ds)) > 2000
    assert saved(st.plot.strata(ds)) > 2000


# ---- layouts


def test_layout_keeps_neighbours_near_and_parts_apart():
    graph = nx.disjoint_union(nx.path_graph(12), nx.cycle_graph(5))
    edges = np.array(graph.edges)
    places = node_places(edges, 18)  # and one single node
    assert np.isfinite(places).all()
    assert len(np.unique(places.round(6), axis=0)) == 18
    lengths = np.linalg.norm(places[edges[:, 0]] - places[edges[:, 1]], axis=1)
    assert np.linalg.norm(places[0] - places[11]) > 5 * np.median(lengths)
    np.testing.assert_array_equal(places, node_places(edges, 18))


def test_two_axes_of_one_and_two_columns_are_the_columns():
    values = np.random.default_rng(0).normal(size=(2, 5, 2))
    np.testing.assert_array_equal(two_axes(values)[0], values)
    np.testing.assert_array_equal(two_axes(values[..., :1])[0][..., 0], values[..., 0])
