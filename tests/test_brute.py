"""The brute-force oracle against closed forms, least squares and full enumeration."""

import itertools

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose

import brute
import brute_readers
import oracle

RNG = np.random.default_rng(5)
SMALL = {
    "path": nx.path_graph(5),
    "ring": nx.cycle_graph(6),
    "star": nx.star_graph(4),
    "complete": nx.complete_graph(5),
    "parts": nx.disjoint_union(nx.path_graph(3), nx.complete_graph(2)),
    "singleton": nx.disjoint_union(nx.path_graph(4), nx.empty_graph(1)),
}


def op_of(graph, laplacian="combinatorial", self_loops=False):
    return brute.operator(nx.to_numpy_array(graph), laplacian, self_loops)


def test_eigenvalues_are_the_closed_forms():
    n = 6
    k = np.arange(n)
    assert_allclose(op_of(nx.path_graph(n)).values, 2 - 2 * np.cos(np.pi * k / n), atol=1e-13)
    assert_allclose(op_of(nx.cycle_graph(n)).values, np.sort(2 - 2 * np.cos(2 * np.pi * k / n)), atol=1e-13)
    assert_allclose(op_of(nx.star_graph(n - 1)).values, [0, *[1] * (n - 2), n], atol=1e-13)
    assert_allclose(op_of(nx.complete_graph(n)).values, [0, *[n] * (n - 1)], atol=1e-13)
    for laplacian in ("random_walk", "normalized"):
        one = op_of(nx.complete_graph(n), laplacian)
        assert_allclose(one.values, [0, *[n / (n - 1)] * (n - 1)], atol=1e-13)
        assert_allclose(op_of(nx.cycle_graph(n), laplacian).values, op_of(nx.cycle_graph(n)).values / 2, atol=1e-13)
        looped = op_of(nx.complete_graph(n), laplacian, self_loops=True)
        assert_allclose(looped.values, [0, *[1] * (n - 1)], atol=1e-13)


def test_eigenspaces_and_parts():
    assert op_of(nx.cycle_graph(6)).sizes.tolist() == [1, 2, 2, 1]
    two = op_of(SMALL["parts"])
    assert (two.n_parts, two.sizes.tolist(), two.part.tolist()) == (2, [2, 1, 1, 1], [0, 0, 0, 1, 1])
    assert op_of(SMALL["singleton"]).n_singletons == 1


@pytest.mark.parametrize("laplacian", brute.LAPLACIANS)
@pytest.mark.parametrize("self_loops", [False, True])
def test_weighted_identities(laplacian, self_loops):
    """sum lam M^2 = sum w g^2 and sum M^2 = norm(C^1/2 t)^2; "normalized": norm(t)^2 and tr(t^T N t)."""
    adjacency = nx.to_numpy_array(SMALL["path"]) * np.outer(np.arange(1, 6), np.arange(1, 6))
    op = brute.operator(adjacency, laplacian, self_loops)
    t = brute.potential(RNG.normal(size=(5, 3)), "euclidean")
    m, plain = brute.gft(op, t), t.astype(float)
    assert_allclose(op.values, [op.w @ row**2 for row in brute._differences(op).T], atol=1e-12)
    if laplacian == "normalized":
        assert_allclose(np.sum(m**2), np.sum(plain**2))
        plain = plain / np.sqrt(op.c)[:, None]
    else:
        assert_allclose(np.sum(m**2), op.c @ np.sum(plain**2, axis=1))
    assert_allclose(op.values @ m**2, op.w @ brute.gradient(plain, op) ** 2)


def test_least_squares_in_the_weights():
    """apprx_ls with orientation "index" is phi^T C f of the weighted least squares solution."""
    adjacency = nx.to_numpy_array(nx.cycle_graph(5)) * np.outer(np.arange(1, 6), np.arange(1, 6))
    for laplacian in ("combinatorial", "random_walk"):
        op = brute.operator(adjacency, laplacian)
        g = brute.gradient(brute.potential(RNG.normal(size=5), "euclidean"), op)
        incidence = oracle.oriented_incidence(op.edges, 5, np.ones(5, dtype=int))
        root = np.sqrt(op.w)
        f = np.linalg.lstsq(root[:, None] * incidence, root * g, rcond=None)[0]
        off = op.space > 0
        assert_allclose(brute.apprx_ls(op, g, "index")[off], np.abs((op.c[:, None] * op.phi).T @ f)[off])


def test_a_large_mean_costs_no_digits():
    op, noise = op_of(nx.path_graph(6)), np.round(RNG.normal(size=6) * 64) / 64
    plain, shifted = (brute.gft(op, brute.potential(x, "euclidean")) for x in (noise, noise + 2.0**40))
    assert_allclose(plain[1:], shifted[1:], rtol=0, atol=1e-14 * plain.max())


def test_bands_keep_eigenspaces_whole():
    assert brute_readers.bands_of([1, 1, 2, 1], 2).tolist() == [-1, 0, 1, 1]
    assert brute_readers.bands_of([2, 1, 1, 1, 1]).tolist() == [-1, 0, 1, 2, 3]
    assert brute_readers.bands_of([1, 4]).tolist() == [-1, 2]


def test_readers_on_a_spectrum_done_by_hand():
    levels, sizes = np.array([0.0, 1.0, 3.0]), [1, 2, 1]
    a, b = np.array([2.0, np.sqrt(2.0), 1.0]), np.array([0.0, 0.0, 2.0])
    assert brute_readers.off_zero(a) == pytest.approx(3 / 7)
    found = brute_readers.summary(levels, sizes, a)
    assert found["centroid"] == pytest.approx((2 * 1 + 3) / 3)
    assert found["cosine_flat"] == pytest.approx(1.0)
    found = brute_readers.compare(levels, sizes, a, b)
    assert found["cosine"] == pytest.approx(1 / np.sqrt(3))
    assert found["wasserstein"] == pytest.approx(2 / 3 * 2)
    assert found["largest_difference"] == pytest.approx(-1 / np.sqrt(3))
    assert list(found["at_eigenspace"]) == [1]
    assert "correlation" not in found
    gain, ratio, _ = brute_readers.response(sizes, a, b, "eigenspace")
    assert gain == pytest.approx(2 / np.sqrt(3))
    assert ratio.tolist() == pytest.approx([0, 0, 2])


@pytest.mark.parametrize("name", ["path", "star", "parts", "singleton"])
@pytest.mark.parametrize("laplacian", brute.LAPLACIANS)
def test_the_mean_is_that_of_all_permutations(name, laplacian):
    graph = SMALL[name]
    op, n = op_of(graph, laplacian), len(graph)
    t = brute.potential(RNG.normal(size=(n, 2)) + 1, "euclidean")
    for space in range(len(op.sizes)):
        columns = np.flatnonzero(op.space == space)
        a, plain = op.dual[:, columns], t.astype(float)
        energy = [np.sum((a.T @ plain[list(order)]) ** 2) for order in itertools.permutations(range(n))]
        assert_allclose(brute.null_mean(op, t, columns), np.mean(energy))
