"""Graphs that are hard on an eigensolver: huge multiplicities, near-copies of eigenvalues, graphs about to fall apart.

Sizes here are those that a test suite can pay; ``benchmarks/stress.py`` does the same for 5,000 nodes.
"""

import math

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import spectrata as st
from spectrata.core.bases import partial
from spectrata.core.bases.solve import decompose
from spectrata.core.bases.verify import SAFETY
from strategies import assert_same_spectra, case_of, run, stratum_of
from test_eigen import check_basis

SIZE = 200


def path_of_cliques(size=15, count=12):
    graph = nx.disjoint_union_all([nx.complete_graph(size)] * count)
    graph.add_edges_from((size * k + size - 1, size * (k + 1)) for k in range(count - 1))
    return graph


def path_and_one_edge(n=SIZE):
    graph = nx.path_graph(n)
    graph.add_edge(n // 2, n - 1)
    return graph


def joined_cliques(n=SIZE):
    graph = nx.disjoint_union(nx.complete_graph(n // 2), nx.complete_graph(n // 2))
    graph.add_edge(0, n // 2)
    return graph


def near_copies():
    """Thirty trees, equal but for one leaf that hangs elsewhere: eigenvalues in clusters of thirty."""
    trees = []
    for k in range(30):
        tree = nx.balanced_tree(2, 2)
        tree.add_edge(k % 7, 7)
        trees.append(tree)
    return nx.disjoint_union_all(trees)


def barely(factor, seed=1):
    return nx.gnp_random_graph(SIZE, factor * math.log(SIZE) / SIZE, seed=seed)


GRAPHS = {
    "regular tree": lambda: nx.balanced_tree(3, 4),
    "hypercube": lambda: nx.hypercube_graph(8),
    "complete multipartite": lambda: nx.complete_multipartite_graph(*[15] * 14),
    "uneven multipartite": lambda: nx.complete_multipartite_graph(1, 2, 3, 40, 60, 94),
    "path of cliques": path_of_cliques,
    "barbell": lambda: nx.barbell_graph(80, 40),
    "joined cliques": joined_cliques,
    "near-copies": near_copies,
    "star": lambda: nx.star_graph(SIZE - 1),
    "complete": lambda: nx.complete_graph(SIZE),
    "grid": lambda: nx.grid_2d_graph(10, 20),
    "ring": lambda: nx.cycle_graph(SIZE),
    "path and one edge": path_and_one_edge,
    "barely connected": lambda: barely(1.0),
    "barely not connected": lambda: barely(0.7),
    "many parts": lambda: nx.disjoint_union_all([nx.cycle_graph(6)] * 20 + [nx.empty_graph(40), barely(0.5)]),
    "one edge among many nodes": lambda: nx.disjoint_union(nx.path_graph(2), nx.empty_graph(SIZE)),
}


@pytest.fixture(scope="module", params=GRAPHS)
def hard(request):
    return case_of(GRAPHS[request.param]())


def test_eigenbases_hold(hard):
    basis = check_basis(stratum_of(hard))
    assert np.linalg.norm(basis.column_residual) <= SAFETY * 1e-14 * hard.n * basis.norm


def test_energy_is_kept_and_relabelling_changes_nothing(hard):
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((hard.n, 3))
    new = rng.permutation(hard.n)
    moved_signal = np.empty_like(signal)
    moved_signal[new] = signal
    one = run(hard, signal, metric="euclidean", hops=[1])
    energy = np.sqrt(np.sum(one["eigenvalue"].values * one["magnitude"].values[0] ** 2))
    assert energy == pytest.approx(one["gradient_norm"].item(), rel=1e-11)
    other = run(case_of(hard.graph, new), moved_signal, metric="euclidean", hops=[1])
    assert_same_spectra(one, other, 1.0)


def test_stacks_agree(hard):
    signal = np.random.default_rng(0).standard_normal((hard.n, 2))
    one = run(hard, signal, hops=[1])
    many = st.spectra_many([(hard.graph, signal)], hops=[1]).isel(graph=0)
    assert_same_spectra(one, many, 0.5)


@pytest.mark.parametrize("which", ["lowest", "highest"])
def test_some_components_of_hard_graphs(hard, which, monkeypatch):
    """The iteration for large parts, made to work on these: every copy of an eigenvalue is found."""
    monkeypatch.setattr(partial, "DENSE_PART", 40)
    whole = decompose(stratum_of(hard))
    count = 7
    basis = partial.partial_basis(stratum_of(hard), count, which)
    rows = slice(0, count) if which == "lowest" else slice(hard.n - basis.n, None)
    assert_allclose(basis.values, whole.values[rows], atol=1e-10 * whole.norm)
    assert_array_equal(basis.multiplicity, whole.multiplicity[rows])
    vectors = basis.dense()
    assert np.abs(vectors.T @ vectors - np.eye(basis.n)).max() <= 1e-10


def test_thousands_of_dimensions_are_as_good_as_one():
    """The same differences, written in 5,000 coordinates: an isometry changes nothing."""
    rng = np.random.default_rng(0)
    case = case_of(nx.gnp_random_graph(40, 0.15, seed=3))
    narrow = rng.standard_normal((40, 3))
    frame = np.linalg.qr(rng.standard_normal((5000, 3)))[0].T
    for metric in ("angular", "euclidean"):
        one, other = (run(case, s, metric=metric) for s in (narrow, narrow @ frame))
        assert_same_spectra(one, other, 3.0)
    column = narrow[:, :1]
    assert_same_spectra(run(case, column), run(case, column @ frame[:1], metric="euclidean"), 3.0)
