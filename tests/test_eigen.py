"""Eigenbases: closed-form spectra, residuals in full, signs, zero components, eigenspaces."""

from math import comb

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from spectrata.core.bases import solve as eigen
from spectrata.core.bases.basis import EIGENSPACE_TOLERANCE, spaces_of
from spectrata.core.bases.solve import decompose
from spectrata.core.bases.verify import SAFETY
from spectrata.core.operators import COMBINATORIAL
from spectrata.core.strata import Stratum
from strategies import case_of, cases, dense_laplacian, each_operator, measure_root, stratum_of


def angles(n):
    return np.pi * np.arange(n) / n


CLOSED = {
    "two nodes": (nx.path_graph(2), [0, 2]),
    "path": (nx.path_graph(11), 2 - 2 * np.cos(angles(11))),
    "long path": (nx.path_graph(301), 2 - 2 * np.cos(angles(301))),
    "ring": (nx.cycle_graph(12), 2 - 2 * np.cos(2 * angles(12))),
    "odd ring": (nx.cycle_graph(77), 2 - 2 * np.cos(2 * angles(77))),
    "star": (nx.star_graph(9), [0] + [1] * 8 + [10]),
    "complete": (nx.complete_graph(9), [0] + [9] * 8),
    "large complete": (nx.complete_graph(130), [0] + [130] * 129),
    "hypercube": (nx.hypercube_graph(4), np.repeat(2 * np.arange(5), [comb(4, k) for k in range(5)])),
    "bipartite": (nx.complete_bipartite_graph(3, 5), [0] + [3] * 4 + [5] * 2 + [8]),
    "large bipartite": (nx.complete_bipartite_graph(80, 80), [0] + [80] * 158 + [160]),
    "grid": (nx.grid_2d_graph(3, 4), np.add.outer(2 - 2 * np.cos(angles(3)), 2 - 2 * np.cos(angles(4))).ravel()),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_form_spectra(name):
    graph, expected = CLOSED[name]
    basis = decompose(stratum_of(graph))
    assert_allclose(basis.values, np.sort(expected), rtol=0, atol=1e-12 * len(graph) * max(expected))
    assert basis.values[0] == 0
    assert basis.values[1] > 0
    counts = np.unique(np.round(expected, 6), return_counts=True)[1]
    assert_array_equal(np.bincount(basis.eigenspace), counts)
    assert_array_equal(basis.multiplicity, np.repeat(counts, counts))


def check_basis(stratum, operator=COMBINATORIAL, basis=None):
    """Everything that must hold of any eigenbasis; the residual computed in full."""
    matrix, n = dense_laplacian(stratum, operator), stratum.n_nodes
    basis = decompose(stratum, operator) if basis is None else basis
    vectors = basis.dense()
    norm = np.linalg.norm(matrix, 2)
    assert np.linalg.norm(matrix @ vectors - vectors * basis.values) <= 1e-12 * n * norm
    assert_allclose(vectors.T @ vectors, np.eye(n), rtol=0, atol=1e-12)
    assert (np.diff(basis.values) >= 0).all()
    assert_allclose(basis.values, np.linalg.eigvalsh(matrix), rtol=0, atol=1e-12 * n * max(norm, 1))
    check_zero_components(stratum, basis, vectors, operator)
    check_signs(vectors)
    rng = np.random.default_rng(0)
    signals = rng.standard_normal((n, 3))
    assert_allclose(basis.project(signals), vectors.T @ signals, rtol=0, atol=1e-13 * n)
    assert_allclose(basis.rebuild(signals), vectors @ signals, rtol=0, atol=1e-13 * n)
    return basis


def check_zero_components(stratum, basis, vectors, operator):
    """The k-th zero component is the indicator of the k-th part (times roots of the measure)."""
    zeros = stratum.n_parts
    assert_array_equal(basis.is_zero, np.arange(stratum.n_nodes) < zeros)
    assert_array_equal(basis.values[:zeros], 0)
    assert (basis.values[zeros:] > 0).all()
    assert_array_equal(basis.eigenspace[:zeros], 0)
    assert (basis.eigenspace[zeros:] > 0).all()
    weight = measure_root(stratum.degrees, operator)
    for k in range(zeros):
        indicator = np.where(stratum.parts == k, weight, 0.0)
        assert_allclose(vectors[:, k], indicator / np.linalg.norm(indicator), rtol=1e-14, atol=0)
    assert_array_equal(basis.alone[0], np.flatnonzero(stratum.degrees == 0))


def check_signs(vectors):
    """The first entry within 1e-8 of the largest is positive."""
    for column in vectors.T:
        size = np.abs(column)
        assert column[np.flatnonzero(size >= (1 - 1e-8) * size.max())[0]] > 0


@each_operator
@given(case=cases(max_nodes=16))
def test_any_basis(operator, case):
    check_basis(stratum_of(case), operator)


@each_operator
@pytest.mark.parametrize("n", [63, 64, 65, 130])
def test_larger_bases_around_the_batch_limit(operator, n):
    check_basis(stratum_of(nx.gnp_random_graph(n, 2.5 / n, seed=n)), operator)


def test_near_zero_is_not_zero():
    """A tiny nonzero eigenvalue never joins the zero eigenspace, however small against the largest."""
    spaces = spaces_of(np.array([0.0, 1e-10, 1.0]), np.array([True, False, False]), EIGENSPACE_TOLERANCE["float64"])
    assert_array_equal(spaces, [0, 1, 2])


@each_operator
def test_batched_small_parts_equal_solo_solves(monkeypatch, operator):
    rng = np.random.default_rng(3)
    pieces = [nx.gnp_random_graph(int(n), 0.6, seed=int(n)) for n in rng.integers(2, 9, 25)]
    stratum = stratum_of(case_of(nx.disjoint_union_all(pieces), rng.permutation(sum(map(len, pieces)))))
    batched = check_basis(stratum, operator)
    monkeypatch.setattr(eigen, "BATCHED_PART", 0)
    solo = check_basis(stratum, operator)
    assert_allclose(batched.values, solo.values, rtol=0, atol=1e-13 * batched.values[-1])
    for one, other in zip(batched.parts, solo.parts, strict=True):
        assert_array_equal(one.nodes, other.nodes)
        assert_allclose(one.values, other.values, rtol=0, atol=1e-13 * batched.values[-1])
        same = np.abs(np.subtract.outer(one.values, one.values)) < 1e-9
        for row in same:
            assert_allclose(
                one.vectors[:, row] @ one.vectors[:, row].T,
                other.vectors[:, row] @ other.vectors[:, row].T,
                rtol=0,
                atol=1e-11,
            )


def test_singletons_only():
    """The line graph of edges that do not meet: nothing to solve."""
    basis = decompose(Stratum(3, 4, np.empty((0, 2), dtype=np.int64)))
    assert_array_equal(basis.values, 0)
    assert_array_equal(basis.dense(), np.eye(4))
    assert_array_equal(basis.multiplicity, 4)
    assert_array_equal(basis.column_residual, 0)


def test_the_reported_residual_is_about_the_true_one():
    stratum = stratum_of(nx.gnp_random_graph(80, 0.2, seed=1))
    basis, matrix = decompose(stratum), dense_laplacian(stratum)
    vectors = basis.dense()
    true = np.linalg.norm(matrix @ vectors - vectors * basis.values)
    assert 0.3 * true <= np.linalg.norm(basis.column_residual) / SAFETY <= 3 * true + 80 * basis.norm * 1e-16
