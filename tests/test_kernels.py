"""kernels/searches and kernels/edge_sums against plain_kernels, by value, on random and degenerate inputs."""

import hypothesis.strategies as hs
import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.testing import assert_array_equal

import plain_kernels
from spectrata.kernels import edge_sums, searches, threads
from strategies import cases, sorted_edges


@pytest.fixture(params=["numpy", "compiled"])
def way(request, monkeypatch):
    """Both ways through the kernels, whatever the size of the input."""
    monkeypatch.setattr(threads, "COMPILED_WORK", np.inf if request.param == "numpy" else 1)
    return request.param


# The fixture sets the same numbers for every example, so hypothesis need not mind it.
every_way = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def csr(edges, n):
    """indptr, indices of an undirected edge list."""
    both = np.concatenate([edges, edges[:, ::-1]]).reshape(-1, 2)
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=n))]), both[:, 1]


def distances(kernel, edges, n):
    """Distances as int64 with -1 where no path leads, whatever the mark of the type."""
    found = kernel.hop_distances(*csr(np.asarray(edges, dtype=np.int64).reshape(-1, 2), n))
    assert found.shape == (n, n)
    return np.where(found == np.iinfo(found.dtype).max, -1, found.astype(np.int64))


def assert_same_distances(edges, n):
    assert_array_equal(distances(searches, edges, n), distances(plain_kernels, edges, n))


# --- hop distances ------------------------------------------------------------------------------------------


@every_way
@given(case=cases(max_nodes=30))
def test_hop_distances(way, case):
    assert_same_distances(case.edges, case.n)


@pytest.mark.parametrize("n", [2, 63, 64, 65, 127, 128, 129, 200])
def test_hop_distances_whatever_the_word_boundary(way, n):
    edges = np.array(nx.gnp_random_graph(n, 3 / n, seed=n).edges).reshape(-1, 2)
    assert_same_distances(edges, n)


@pytest.mark.parametrize("n", [1, 3, 70])
def test_no_edges_at_all(way, n):
    expected = np.where(np.eye(n, dtype=bool), 0, -1)
    assert_array_equal(distances(searches, [], n), expected)


@pytest.mark.parametrize("n", [253, 254, 255, 256, 257, 258, 300, 401, 700])
def test_long_paths_outgrow_a_byte(way, n):
    expected = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    path = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    assert_array_equal(distances(searches, path, n), expected)


@pytest.mark.parametrize("long_first", [True, False])
@pytest.mark.parametrize("words", [1, 2, 1000])
def test_a_long_path_among_short_parts(monkeypatch, way, long_first, words):
    """Blocks of roots that need a byte and blocks that need two, in either order, and isolated nodes."""
    long, short = nx.path_graph(320), nx.disjoint_union(nx.star_graph(150), nx.empty_graph(3))
    graph = nx.disjoint_union(*((long, short) if long_first else (short, long)))
    edges = np.array(graph.edges)
    monkeypatch.setattr(threads, "BLOCK", words * 2 * len(edges))
    assert_same_distances(edges, len(graph))


# --- kernels on edges ---------------------------------------------------------------------------------------


def edge_inputs(n, m, snapshots, dims, seed):
    """Edges, values (T, n, d), weights (T, m), vectors (n, c)."""
    rng = np.random.default_rng(seed)
    every = np.column_stack(np.triu_indices(n, 1))
    edges = every[np.sort(rng.choice(len(every), min(m, len(every)), replace=False))]
    values = rng.standard_normal((snapshots, n, dims))
    return (edges, values, rng.standard_normal((snapshots, len(edges))), rng.standard_normal((n, max(1, n - 1))))


def assert_same_kernels(edges, values, weights, vectors):
    n = len(vectors)
    np.testing.assert_allclose(
        edge_sums.edge_lengths(values, edges), plain_kernels.edge_lengths(values, edges), rtol=1e-13, atol=0
    )
    pairs = [
        (edge_sums.node_sums(edges, weights, n), plain_kernels.node_sums(edges, weights, n)),
        (edge_sums.divergence(edges, weights, n), plain_kernels.divergence(edges, weights, n)),
    ]
    lengths = np.abs(weights)  # `difference_sums` is for gradients and densities, which are not negative
    pairs += zip(
        edge_sums.difference_sums(edges, lengths, vectors),
        plain_kernels.difference_sums(edges, lengths, vectors),
        strict=True,
    )
    for ours, theirs in pairs:
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * (1 + np.abs(theirs).max()))


@every_way
@given(
    n=hs.integers(2, 20),
    m=hs.integers(0, 60),
    snapshots=hs.sampled_from([1, 2, 5, 8, 11]),
    dims=hs.integers(1, 5),
    seed=hs.integers(0, 2**32 - 1),
)
def test_edge_kernels(way, n, m, snapshots, dims, seed):
    assert_same_kernels(*edge_inputs(n, m, snapshots, dims, seed))


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("snapshots", [1, 3, 9])
def test_edge_kernels_in_many_small_blocks(monkeypatch, way, block, snapshots):
    monkeypatch.setattr(threads, "BLOCK", block)
    monkeypatch.setattr(edge_sums, "COLUMNS", 1 + block // 8)
    assert_same_kernels(*edge_inputs(12, 41, snapshots, 3, seed=1))


@pytest.mark.parametrize("work", [0, 1e9])
@pytest.mark.parametrize("block", [1, 17, 10_000])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_products_with_the_laplacian_are_those_of_the_matrix(monkeypatch, work, block, dtype, is_weighted):
    """By differences and by sparse matrices, all edges at once and in pieces; nodes 0 and 29 have none."""
    monkeypatch.setattr(edge_sums, "LAPLACIAN_WORK", work)
    monkeypatch.setattr(threads, "BLOCK", block)
    rng = np.random.default_rng(1)
    graph = nx.relabel_nodes(nx.gnm_random_graph(28, 90, seed=2), lambda node: node + 1)
    edges = sorted_edges(graph)
    weights = rng.uniform(0.5, 2.0, len(edges)) if is_weighted else None
    values = rng.standard_normal((30, 3)).astype(dtype)
    matrix = np.zeros((30, 30))
    for k, (x, y) in enumerate(edges):
        step = np.zeros(30)
        step[x], step[y] = 1.0, -1.0
        matrix += np.outer(step, step) * (1.0 if weights is None else weights[k])
    found = edge_sums.laplacian_product(edges, None if weights is None else weights.astype(dtype), values)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, matrix @ values, atol=1e-12 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("count", ["1", "2", "5"])
def test_threads_change_no_bit(monkeypatch, way, count):
    edges, values, weights, vectors = edge_inputs(30, 200, 3, 4, seed=2)
    case = csr(edges, 30)
    expected = searches.hop_distances(*case), edge_sums.edge_lengths(values, edges)
    expected += edge_sums.difference_sums(edges, weights, vectors)
    monkeypatch.setenv("SPECTRATA_THREADS", count)
    assert threads.threads() == int(count)
    found = searches.hop_distances(*case), edge_sums.edge_lengths(values, edges)
    found += edge_sums.difference_sums(edges, weights, vectors)
    for ours, theirs in zip(found, expected, strict=True):
        assert_array_equal(ours, theirs)


def test_edge_lengths_of_read_only_and_strided_values(way):
    edges, values, *_ = edge_inputs(10, 30, 2, 3, seed=5)
    strided = np.asfortranarray(values)
    strided.setflags(write=False)
    np.testing.assert_allclose(
        edge_sums.edge_lengths(strided, edges), edge_sums.edge_lengths(values, edges), rtol=1e-14
    )


def test_difference_sums_of_fortran_ordered_vectors(way):
    edges, _, weights, vectors = edge_inputs(10, 30, 2, 3, seed=5)
    weights = np.abs(weights)
    ours = edge_sums.difference_sums(edges, weights, np.asfortranarray(vectors))
    for one, other in zip(ours, plain_kernels.difference_sums(edges, weights, vectors), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@every_way
@given(case=cases(max_nodes=20))
def test_pairs(way, case):
    found = searches.hop_distances(*csr(case.edges, case.n))
    upper = np.triu(distances(plain_kernels, case.edges, case.n), 1)
    counts = searches.pairs_per_hop(found)
    assert len(counts) == upper.max() + 1
    for hop in range(1, len(counts)):
        pairs = searches.pairs_at(found, hop, int(counts[hop]))
        assert_array_equal(pairs, np.argwhere(upper == hop))
