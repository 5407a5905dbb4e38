"""Strata, spectra and adjusted homophily against networkx, scikit-learn and scipy."""

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.stats

import spectrata as st
from outside import by_space, outside

GRAPHS = {
    "karate": nx.karate_club_graph,
    "les miserables": nx.les_miserables_graph,
    "two parts": lambda: nx.disjoint_union(nx.petersen_graph(), nx.lollipop_graph(4, 5)),
    "power law": lambda: nx.barabasi_albert_graph(70, 2, seed=1),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_adjusted_homophily_is_attribute_assortativity(name):
    """Newman's coefficient: the trace of the mixing matrix, corrected for the degrees of the classes."""
    graph = GRAPHS[name]()
    for seed in range(4):
        labels = dict(zip(graph, np.random.default_rng(seed).choice(list("abc"), len(graph)).tolist(), strict=True))
        nx.set_node_attributes(graph, labels, "class")
        found = st.homophily(graph, "class", hops=2, weights=False, draws=0)
        for hop in (1, 2):
            pairs = nx.Graph()
            pairs.add_nodes_from(graph.nodes(data=True))
            for x, distances in nx.all_pairs_shortest_path_length(graph, cutoff=hop):
                pairs.add_edges_from((x, y) for y, distance in distances.items() if distance == hop)
            assert found["n_pairs"].sel(hop=hop).item() == pairs.number_of_edges()
            theirs = nx.attribute_assortativity_coefficient(pairs, "class")
            assert found["r"].sel(hop=hop).item() == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_spectra_of_the_laplacians(name, weight):
    graph = GRAPHS[name]()
    weights = weight is not None and nx.is_weighted(graph)
    signal = np.random.default_rng(0).standard_normal(len(graph))
    for kind, spectrum in (("combinatorial", nx.laplacian_spectrum), ("normalized", nx.normalized_laplacian_spectrum)):
        ds = st.spectra(graph, signal, "gft", hops=1, weights=weights, laplacian=kind)
        theirs = np.sort(spectrum(graph, weight="weight" if weights else None))
        np.testing.assert_allclose(ds["eigenvalue"].sel(hop=1), theirs, atol=1e-10 * theirs[-1])


@pytest.mark.parametrize("seed", range(3))
def test_the_transform_against_the_spectral_embedding_of_scikit_learn(seed):
    """Its columns are eigenvectors of the normalized Laplacian over the root of the degree."""
    manifold = outside("sklearn.manifold")
    graph = nx.connected_watts_strogatz_graph(60, 6, 0.3, seed=seed)
    matrix, signal = nx.to_numpy_array(graph), np.random.default_rng(seed).standard_normal((60, 3))
    columns = manifold.spectral_embedding(matrix, n_components=20, drop_first=False, random_state=0)
    vectors = columns * np.sqrt(matrix.sum(axis=1))[:, None]
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    ds = st.spectra(graph, signal, "gft", hops=1, metric="euclidean", laplacian="normalized").sel(hop=1)
    values, ours = ds["eigenvalue"].values[:20], ds["magnitude"].sel(algorithm="gft").values[:20] ** 2
    theirs = np.sum((vectors.T @ signal) ** 2, axis=1)
    np.testing.assert_allclose(by_space(values, ours), by_space(values, theirs), rtol=1e-6)


def test_ranks():
    rng = np.random.default_rng(0)
    for shape in ((30, 4), (30, 30), (12, 40)):
        signal = rng.standard_normal(shape) * 2.0 ** -np.arange(shape[1])
        graph = nx.cycle_graph(shape[0])
        values = scipy.linalg.svdvals(signal)
        found = st.smoothness(graph, signal, hops=1)
        assert found["effective_rank"].item() == pytest.approx(np.exp(scipy.stats.entropy(values)), rel=1e-9)
        assert found["stable_rank"].item() == pytest.approx((values @ values) / values[0] ** 2, rel=1e-9)
