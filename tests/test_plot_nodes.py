"""Values painted on nodes: the numbers, places and words of a picture, and its refusals."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from spectrata.errors import OptionError
from spectrata.plot.places import ALL_PAIRS, node_places

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
    assert axes[0].get_title() == f"K = 1, (0, 2], {share[0]:.0%} of the energy"


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


@pytest.mark.parametrize("n", [30, 900])
def test_a_layout_tells_near_from_far(n):
    """On a ring, neighbours lie closer than nodes far apart, whichever layout serves its size."""
    ring = np.array([[i, (i + 1) % n] for i in range(n)])
    places = node_places(ring, n)
    assert (n > ALL_PAIRS) == (n == 900)
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
