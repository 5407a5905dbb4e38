"""Nodes, drawn: the numbers, places and words of a picture, layouts, and refusals."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import spectrata as st
from spectrata.errors import OptionError
from spectrata.plot.positions import node_places, two_axes

GRAPH = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 5))
PLACES = np.array([(x, y) for x in range(4) for y in range(5)], dtype=float)
SIGNAL = np.random.default_rng(0).standard_normal(20)


def painted(panel):
    """Numbers by place, as the picture has them."""
    drawn = next(one for one in panel.collections if one.get_gid() == "nodes")
    return {
        tuple(place): value
        for place, value in zip(drawn.get_offsets().round(9).tolist(), drawn.get_array(), strict=True)
    }


def test_bands_of_a_result():
    ds = st.node_energy(GRAPH, SIGNAL, [0, 2, 8])
    axes = st.plot.nodes(ds, pos=PLACES)
    assert len(axes) == 2
    middle, size = PLACES.min(axis=0) + np.ptp(PLACES, axis=0) / 2, np.ptp(PLACES, axis=0).max() / 2
    for band, panel in enumerate(axes):
        numbers = painted(panel)
        for node, place in enumerate((PLACES - middle) / size):
            assert numbers[tuple(place.round(9).tolist())] == pytest.approx(ds["energy"][node, 0, band].item())
    share = ds["energy"].sum("node").values[0] / (ds["energy"].sum() + ds["zero_energy"].sum()).item()
    assert axes[0].get_title() == f"1 hop, λ in (0, 2]: {share[0]:.0%} of the energy"


def test_names_orders_and_snapshots():
    named = nx.relabel_nodes(GRAPH, {v: f"n{v}" for v in GRAPH})
    values = np.stack([SIGNAL, 2 * SIGNAL])[..., None]
    ds = st.node_energy(named, values, 2)
    places = {f"n{v}": PLACES[v] for v in reversed(range(20))}
    whole = painted(st.plot.nodes(ds, pos=places, snapshot=0)[0])
    assert painted(st.plot.nodes(ds.isel(node=slice(None, None, -1)), pos=places, snapshot=0)[0]) == whole
    last = painted(st.plot.nodes(ds, pos=places)[0])
    assert all(last[place] == pytest.approx(4 * value) for place, value in whole.items())


def test_filtered_signals_have_a_scale_around_zero():
    found = st.filter_signal(GRAPH, np.column_stack([SIGNAL, -SIGNAL]), (0, 3))
    axes = st.plot.nodes(found, GRAPH, pos=PLACES)
    assert [panel.get_title() for panel in axes] == ["column 0", "column 1"]
    table = pd.DataFrame({"low": found[:, 0], "high": SIGNAL - found[:, 0]})
    assert [panel.get_title() for panel in st.plot.nodes(table, GRAPH)] == ["low", "high"]
    drawn = next(one for one in axes[0].collections if one.get_gid() == "nodes")
    assert drawn.norm.vmin == -drawn.norm.vmax
    np.testing.assert_allclose(np.sort(drawn.get_array()), np.sort(found[:, 0]))


def test_decoupling_and_nodes_without_a_number():
    graph = nx.disjoint_union(nx.cycle_graph(8), nx.empty_graph(1))
    found = st.decoupling(graph, np.random.default_rng(0).standard_normal((9, 5)), draws=39)
    panel = st.plot.nodes(found)[0]
    np.testing.assert_allclose(sorted(painted(panel).values()), np.sort(np.log2(found["decoupling"][:8])))
    assert [len(one.get_offsets()) for one in panel.collections[1:]] == [8, 1]


def test_places_come_from_the_graph():
    graph = GRAPH.copy()
    nx.set_node_attributes(graph, {v: tuple(PLACES[v]) for v in graph}, "pos")
    ds = st.node_energy(graph, SIGNAL, 2)
    assert painted(st.plot.nodes(ds)[0]) == painted(st.plot.nodes(ds, pos=PLACES)[0])


@pytest.mark.parametrize("n", [30, 1200])
def test_a_layout_tells_near_from_far(n):
    """On a ring, neighbours lie closer than nodes far apart, with all nodes as pivots and with some."""
    ring = np.array([[i, (i + 1) % n] for i in range(n)])
    places = node_places(ring, n)
    step = np.linalg.norm(places[ring[:, 0]] - places[ring[:, 1]], axis=1)
    across = np.linalg.norm(places - np.roll(places, n // 2, axis=0), axis=1)
    assert step.max() < 0.3 * across.min()


def test_refusals():
    with pytest.raises(OptionError, match="give graph= or pos="):
        st.plot.nodes(SIGNAL)
    with pytest.raises(OptionError, match="not understood"):
        st.plot.nodes(SIGNAL, pos=PLACES[:19])
    with pytest.raises(OptionError, match="no values per node"):
        st.plot.nodes(st.smoothness(GRAPH, SIGNAL), GRAPH)
    with pytest.raises(OptionError, match="no hop 7"):
        st.plot.nodes(st.node_energy(GRAPH, SIGNAL), hop=7)
    axes = st.plot.nodes(SIGNAL, GRAPH)
    with pytest.raises(OptionError, match="2 panels are to be drawn on 1 axes"):
        st.plot.nodes(st.node_energy(GRAPH, SIGNAL, 2), ax=axes)


def test_texts_are_classes_with_their_counts():
    labels = ["left", "right"] * 10
    panel = st.plot.nodes(labels, GRAPH)[0]
    legend = [text.get_text() for text in panel.get_legend().get_texts()]
    assert legend == ["left (10)", "right (10)"]
    many = [f"class {k % 10}" for k in range(20)]
    words = [text.get_text() for text in st.plot.nodes(many, GRAPH)[0].get_legend().get_texts()]
    assert len(words) == 8
    assert words[-1] == "3 other labels (6)"
    assert len(st.plot.nodes(np.array(labels), pos=PLACES)) == 1


# ---- local verdicts


def test_a_map_of_local_verdicts():
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(9, 9))
    y, x = np.divmod(np.arange(81), 9)
    values = np.exp(-((x - 2) ** 2 + (y - 2) ** 2) / 4) - np.exp(-((x - 6) ** 2 + (y - 6) ** 2) / 4)
    found = st.local(grid, values)
    ax = st.plot.local(found)
    counts = found["verdict"].to_series().value_counts()
    words = ["high among high", "low among low", "high among low", "low among high"]
    expected = {word: int(counts[word]) for word in words if word in counts}
    drawn = {one.get_gid(): len(one.get_offsets()) for one in ax.collections if one.get_gid() not in (None, "none")}
    assert drawn == expected
    assert len(expected) > 0
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend[:-1] == [f"{word} ({number})" for word, number in expected.items()]
    assert f"{sum(expected.values())} of 81 nodes stand out" in ax.get_title(loc="left")
    assert len(ax.texts) == min(12, sum(expected.values()))
    club = st.local(nx.karate_club_graph(), "club", hops=2, weights=False, draws=199)
    assert "2 hops apart" in st.plot.local(club, hop=2, names=0).get_title(loc="left")
    with pytest.raises(OptionError, match="no hop 5"):
        st.plot.local(club, hop=5)


# ---- embeddings


def embedded(ax):
    (found,) = [one for one in ax.collections if one.get_gid() == "nodes"]
    return found


def test_an_embedding_has_directions_edges_and_names():
    vectors = np.random.default_rng(1).normal(size=(5, 2))
    (ax,) = st.plot.embedding(st.spectra(nx.star_graph(4), vectors))
    np.testing.assert_allclose(embedded(ax).get_offsets(), vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
    assert len(lines.get_segments()) == 4
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2", "3", "4"]


def test_an_embedding_keeps_its_axes_over_snapshots_and_paints_numbers():
    values = np.random.default_rng(2).normal(size=(4, 6, 3))
    axes = st.plot.embedding(st.spectra(nx.cycle_graph(6), values))
    assert [ax.get_title() for ax in axes] == ["snapshot 0", "snapshot 2", "snapshot 3"]
    flat = (unit := values / np.linalg.norm(values, axis=2, keepdims=True)).reshape(-1, 3)
    _, _, right = np.linalg.svd(flat - flat.mean(axis=0))
    expected = np.abs((unit[2] - flat.mean(axis=0)) @ right[:2].T)
    np.testing.assert_allclose(np.abs(embedded(axes[1]).get_offsets()), expected, atol=1e-10)
    assert len({ax.get_xlim() for ax in axes}) == 1
    one = st.plot.embedding(st.spectra(nx.cycle_graph(6), values[0, :, 0]))[0]
    assert sorted(embedded(one).get_array()) == pytest.approx(sorted(values[0, :, 0]))
    np.testing.assert_array_equal(two_axes(values[..., :2])[0], values[..., :2])


def test_embedding_colours_undefined_and_missing():
    ds = st.spectra(nx.star_graph(4), np.random.default_rng(1).normal(size=(5, 2)))
    ax = st.plot.embedding(ds, color=["a", "b", "a", "b", "a"])[0]
    sizes = {one.get_gid(): len(one.get_offsets()) for one in ax.collections if one.get_gid()}
    assert sizes == {"a": 3, "b": 2}
    with pytest.raises(OptionError, match="color"):
        st.plot.embedding(ds, color=[1, 2])
    with pytest.raises(OptionError, match="keep"):
        st.plot.embedding(ds.drop_vars("signal"))


# ---- strata and layouts


def test_strata_have_sizes_and_small_graphs():
    ring = nx.cycle_graph(6)
    for source in (st.spectra(ring, range(6)), st.Stratification(ring)):
        bars = st.plot.strata(source)[0].containers
        assert [[int(bar.get_height()) for bar in group] for group in bars] == [[6, 6, 3], [1, 2, 3], [0, 0, 0]]
    axes = st.plot.strata(nx.star_graph(4))
    assert [ax.get_title() for ax in axes[1:]] == ["1 hop: 4 pairs", "2 hops: 6 pairs, 2 parts (1 single)"]
    for ax, edges in zip(axes[1:], [4, 6], strict=True):
        (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
        assert len(lines.get_segments()) == edges
        assert sorted(text.get_text() for text in ax.texts) == ["0", "1", "2", "3", "4"]
    (single,) = [one for one in axes[2].collections if one.get_gid() == "single"]
    assert to_hex(single.get_facecolor()[0]) == "#ffffff"
    large = st.Stratification(nx.cycle_graph(80), hops=30)
    assert len(st.plot.strata(large)) == 1
    assert len(st.plot.strata(nx.path_graph(20))) == 9  # the sizes and eight graphs
    with pytest.raises(OptionError):
        st.plot.strata(large, list(Figure().subplots(1, 3)))


def test_a_layout_keeps_neighbours_near_and_parts_apart():
    edges = np.array(nx.disjoint_union(nx.path_graph(12), nx.cycle_graph(5)).edges)
    places = node_places(edges, 18)  # and one single node
    assert len(np.unique(places.round(6), axis=0)) == 18
    lengths = np.linalg.norm(places[edges[:, 0]] - places[edges[:, 1]], axis=1)
    assert np.linalg.norm(places[0] - places[11]) > 5 * np.median(lengths)
    np.testing.assert_array_equal(places, node_places(edges, 18))


def test_a_layout_of_all_pivots_has_small_stress():
    """Not much above that of scikit-learn's or networkx's stress layout of the same graph."""
    graph = nx.karate_club_graph()
    hops = np.array([[nx.shortest_path_length(graph, a, b) for b in graph] for a in graph], dtype=float)
    other = np.array(list(nx.kamada_kawai_layout(graph, weight=None).values()))

    def stress(places):
        apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
        used = hops > 0
        scale = (apart[used] / hops[used]).sum() / ((apart[used] / hops[used]) ** 2).sum()
        return np.sum((scale * apart[used] / hops[used] - 1) ** 2)

    assert stress(node_places(np.array(graph.edges), 34)) < 1.1 * stress(other)
