"""Likeness per hop against the statistics of spatial analysis: esda and libpysal."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from outside import outside

esda, neighbours = outside("esda"), outside("libpysal.weights")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of geopandas and of islands
GRAPHS = {
    "les miserables": nx.les_miserables_graph,
    "a grid": lambda: nx.grid_2d_graph(7, 9),
    "a power law": lambda: nx.barabasi_albert_graph(80, 2, seed=4),
}
SIGNALS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "gamma": lambda rng, n: rng.gamma(0.5, size=n),
    "counts": lambda rng, n: rng.poisson(0.7, n).astype(float),
}


def drawn(kind, n):
    return SIGNALS[kind](np.random.default_rng(5), n)


def compare(found, x, weights):
    """Geary's C and Moran's I, to rounding."""
    moran = esda.Moran(x, weights, transformation="O", permutations=0)
    geary = esda.Geary(x, weights, transformation="O", permutations=0)
    theirs = [geary.C, moran.I]
    ours = [found[name].item() for name in ("geary", "moran")]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", SIGNALS)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_hop(name, kind):
    """libpysal joins the nodes at an exact distance by itself."""
    graph = GRAPHS[name]()
    x = drawn(kind, len(graph))
    near = neighbours.full2W((nx.to_numpy_array(graph) > 0).astype(float))
    found = st.correlogram(graph, x, hops=3, weights=False, draws=0)
    for hop in (1, 2, 3):
        at = near if hop == 1 else neighbours.higher_order(near, hop)
        assert found["n_pairs"].sel(hop=hop).item() == at.s0 / 2
        compare(found.sel(hop=hop), x, at)


@pytest.mark.parametrize("kind", SIGNALS)
def test_weights(kind):
    graph = nx.les_miserables_graph()
    x = drawn(kind, len(graph))
    found = st.correlogram(graph, x, hops=1, weights=True, draws=0)
    compare(found.sel(hop=1), x, neighbours.full2W(nx.to_numpy_array(graph)))


def test_p_by_permutation():
    """The share of random orders beyond the value, drawn by each with its own generator.

    On a torus r is Moran's I; elsewhere they are two statistics with a p each.
    """
    graph = nx.grid_2d_graph(6, 7, periodic=True)
    x = np.random.default_rng(8).standard_normal(42) + 0.3 * np.sin(2 * np.pi * np.array([i for i, _ in graph]) / 6)
    near = neighbours.full2W(nx.to_numpy_array(graph))
    np.random.seed(3)  # noqa: NPY002 - esda draws from it
    theirs = esda.Moran(x, near, transformation="O", permutations=9999).p_sim
    ours = st.correlogram(graph, x, hops=1, draws=9999)["p"].item()
    assert 2 * theirs == pytest.approx(ours, abs=4 * np.sqrt(2 * ours / 999))  # the first look may decide
    assert 0.001 < ours < 0.5


def test_join_counts():
    """Pairs of equal labels over all pairs."""
    graph = nx.les_miserables_graph()
    near = neighbours.full2W((nx.to_numpy_array(graph) > 0).astype(float))
    labels = np.random.default_rng(2).integers(2, size=len(graph))
    found = st.homophily(graph, labels, hops=2, weights=False, draws=0)
    for hop, at in ((1, near), (2, neighbours.higher_order(near, 2))):
        counted = esda.Join_Counts(labels, at, permutations=0)
        share = (counted.bb + counted.ww) / counted.J
        assert found["homophily"].sel(hop=hop, measure="edge").item() == pytest.approx(share, rel=1e-12)


def test_bins_of_distance():
    """Rings around every point: the pairs of a larger distance band without those of a smaller one."""
    rng = np.random.default_rng(3)
    xy, x = rng.uniform(size=(120, 2)), rng.gamma(1.0, size=120)
    found = st.correlogram(st.Stratification.from_positions(xy, bins=[0, 0.1, 0.2, 0.3]), x, draws=0)
    inner = None
    for place, edge in enumerate((0.1, 0.2, 0.3)):
        band = neighbours.DistanceBand(xy, edge, silence_warnings=True)
        ring = band if inner is None else neighbours.w_difference(band, inner, constrained=False, silence_warnings=True)
        compare(found.isel(hop=place), x, ring)
        inner = band


def test_parts_of_nodes():
    """Where all degrees are equal, local Moran statistics are the parts of nodes, up to their sum."""
    torus = nx.convert_node_labels_to_integers(nx.grid_2d_graph(7, 8, periodic=True))
    x = np.random.default_rng(2).gamma(1.0, size=56)
    near = neighbours.full2W(nx.to_numpy_array(torus))
    theirs = esda.Moran_Local(x, near, transformation="R", permutations=0).Is
    ours = st.local(torus, x, draws=0)["r"].sel(hop=1).values
    np.testing.assert_allclose(ours / ours.sum(), theirs / theirs.sum(), rtol=1e-9)
