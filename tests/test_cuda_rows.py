"""The CUDA kernels for compressed rows, run on a processor, against numpy, scipy and the compiled loops."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import brute
import cupy_double
import oracle
import plain_kernels
from spectrata.bands.operators import RowLaplacian
from spectrata.core.operators import Laplacian
from spectrata.inputs.graphs import as_graph


@pytest.fixture(scope="module")
def rows_module():
    with cupy_double.installed() as fused:
        yield fused


@pytest.fixture(params=[2048, 3], ids=["short rows", "runs of long rows"])
def fused(request, rows_module, monkeypatch):
    """The kernels with rows that one thread goes through, and with rows that are cut into runs of three."""
    monkeypatch.setattr(rows_module, "LONGEST", request.param)
    return rows_module


def graph_of_parts(weighted=False, seed=0):
    """A random part, a star, a triangle, an edge, and nodes without an edge."""
    rng = np.random.default_rng(seed)
    parts = [nx.gnm_random_graph(60, 150, seed=seed), nx.star_graph(20), nx.cycle_graph(3), nx.path_graph(2)]
    plain = nx.disjoint_union_all([nx.empty_graph(2), *parts, nx.empty_graph(2)])
    order = rng.permutation(len(plain))
    edges = order[np.array(plain.edges)]
    weights = rng.uniform(0.5, 2.0, len(edges)) if weighted else None
    return as_graph(edges=edges, n_nodes=len(plain), weights=weights)


def both(graph):
    """Weights beside indices."""
    if graph.weights is None:
        return None
    matrix = sp.coo_array((graph.weights, graph.edges.T), shape=(graph.n_nodes,) * 2).tocsr()
    return (matrix + matrix.T).tocsr().sorted_indices().data


def on_device(fused, graph):
    return fused.DeviceRows(graph.indptr.copy(), graph.indices.astype(np.int32), both(graph))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("laplacian", "dtype"), [("combinatorial", "float64"), ("random_walk", "float32")])
def test_steps_are_those_of_the_compiled_loops(fused, weighted, laplacian, dtype):
    graph = graph_of_parts(weighted)
    rows = on_device(fused, graph)
    operator = RowLaplacian(graph.indptr, graph.indices, both(graph), Laplacian(laplacian))
    rng = np.random.default_rng(1)
    for width in (1, 17):
        x, previous = rng.standard_normal((2, graph.n_nodes, width)).astype(dtype)
        scale, back = rng.standard_normal((2, width))
        expected, found = previous.copy(), previous.copy()
        dots = operator.step(x, expected, scale, back)
        np.testing.assert_allclose(
            rows.step(x, found, scale, back, operator._inverse_root), dots, rtol=1e-12, atol=1e-12
        )
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(found, expected, rtol=4 * eps, atol=40 * eps)
        squares = operator.subtract(expected, x, scale)
        np.testing.assert_allclose(fused.subtract(found, x, scale), squares, rtol=40 * eps)
        np.testing.assert_allclose(found, expected, rtol=8 * eps, atol=80 * eps)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_those_of_the_compiled_loops(fused, weighted):
    graph = graph_of_parts(weighted)
    t = np.random.default_rng(2).standard_normal((graph.n_nodes, 5))
    keys = np.array([0, 12345677], dtype=np.uint64)
    mean, divergence, squares = on_device(fused, graph).gradients(t, keys)
    expected = RowLaplacian(graph.indptr, graph.indices, both(graph)).gradients(t, keys)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-13)
    np.testing.assert_allclose(divergence, expected[1], atol=1e-12)
    assert squares == pytest.approx(expected[2], rel=1e-13)


def test_parts_are_numbered_by_their_first_nodes(fused):
    for seed in range(5):
        graph = graph_of_parts(seed=seed)
        labels = on_device(fused, graph).parts
        joined = oracle.adjacency_matrix(graph.edges, graph.n_nodes)
        np.testing.assert_array_equal(labels, brute.parts_of(joined))


def test_asymmetric_entries_are_counted(fused):
    matrix = sp.csr_array(np.array([[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0.0]]))
    rows = fused.DeviceRows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))
    assert rows.asymmetry(1e-12) == (1, 0)
    graph = graph_of_parts(weighted=True)
    rows = on_device(fused, graph)
    assert rows.asymmetry(1e-12) == (0, 0)
    rows.weights[7] *= 1 + 1e-9
    assert rows.asymmetry(1e-12) == (0, 2)


def test_rows_as_given_become_canonical(rows_module):
    """Unsorted rows with loops, repeats and zeros, 32 and 64 bits, against scipy."""
    fused, rng = rows_module, np.random.default_rng(3)
    for dtype in (np.int32, np.int64):
        dense = rng.random((30, 30)) < 0.2
        plain = sp.csr_array(dense)
        lists = [rng.permutation(np.append(row, row[:2])) for row in np.split(plain.indices, plain.indptr[1:-1])]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in lists])])
        indices = np.concatenate(lists).astype(dtype)
        found = fused.inspect(indptr, indices)
        assert found.loops == sum((row == v).sum() for v, row in enumerate(lists))
        assert (found.outside, found.unsorted > 0) == (0, True)
        fused.CHUNK, kept = 50, fused.CHUNK
        try:
            indices, weights = fused.sorted_rows(indptr, indices, indices.astype(float))
            np.testing.assert_array_equal(indices, weights)
            assert fused.inspect(indptr, indices)[1:] == (0, found.loops, sum(min(2, len(set(r))) for r in lists))
            keep = fused.distinct(indptr, indices)
            indptr, indices, weights = fused.kept(indptr, indices, weights, keep)
        finally:
            fused.CHUNK = kept
        np.testing.assert_array_equal(indices, weights)
        expected = dense.copy()
        np.fill_diagonal(expected, False)
        expected = sp.csr_array(expected)
        np.testing.assert_array_equal(indptr, expected.indptr)
        np.testing.assert_array_equal(indices, expected.indices)
    assert fused.inspect(np.array([0, 1, 3]), np.array([1, 0, 5])).outside == 1


def test_pairs_become_rows(rows_module):
    graph = graph_of_parts()
    tails, heads = graph.edges.T.copy()
    for pairs, given in (((tails, heads), 1), ((np.append(tails, heads), np.append(heads, tails)), 2)):
        rows, forward, edges = rows_module.rows_of_pairs(*pairs, graph.n_nodes)
        np.testing.assert_array_equal(rows.indptr, graph.indptr)
        np.testing.assert_array_equal(rows.indices, graph.indices)
        assert (forward, edges) == (given * graph.n_edges, graph.n_edges)
    edges, _ = rows.upper()
    np.testing.assert_array_equal(edges, graph.edges)


def test_fingerprints_tell_graphs_apart(rows_module):
    graph = graph_of_parts(weighted=True)
    rows = on_device(rows_module, graph)
    plain = rows_module.DeviceRows(rows.indptr, rows.indices)
    changed = rows_module.DeviceRows(rows.indptr, rows.indices, rows.weights * 2)
    other = on_device(rows_module, graph_of_parts(weighted=True, seed=4))
    found = [one.fingerprint() for one in (rows, plain, changed, other, rows)]
    assert len(set(found)) == 4
    assert found[0] == found[4]


def test_pair_sums_of_stacks(rows_module):
    rng = np.random.default_rng(5)
    vectors, n = rng.standard_normal((3, 6, 6)), 6
    pairs = np.column_stack(np.triu_indices(n, 1))
    flow = rng.standard_normal((3, len(pairs)))
    absolute, squared = rows_module.pair_sums(flow, vectors)
    difference = flow[:, :, None] * (vectors[:, pairs[:, 0]] - vectors[:, pairs[:, 1]])
    np.testing.assert_allclose(absolute, np.abs(difference).sum(axis=1))
    np.testing.assert_allclose(squared, (difference**2).sum(axis=1))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_difference_sums_are_those_of_numpy(rows_module, monkeypatch, dtype):
    """Runs of edges and blocks of eigenvectors that end before they are full."""
    monkeypatch.setattr(rows_module, "RUN", 40)
    monkeypatch.setattr(rows_module, "COLUMNS", 16)
    graph, rng = graph_of_parts(), np.random.default_rng(6)
    weights = rng.random((2, graph.n_edges)).astype(dtype)
    vectors = rng.standard_normal((graph.n_nodes, 50)).astype(dtype)
    found = rows_module.difference_sums(graph.edges, weights, vectors)
    expected = plain_kernels.difference_sums(graph.edges, weights, vectors)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13 if dtype == "float64" else 1e-5)
