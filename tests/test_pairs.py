"""Sums of squared differences over the pairs of each hop, and their permutation null, against enumeration."""

import itertools

import networkx as nx
import numpy as np
import pytest

from spectrata.core.strata import Strata
from spectrata.inputs.graphs import as_graph
from spectrata.kernels import fast
from spectrata.stats.pairs import pair_null, pair_sums

EDGES = {
    "pair": (2, [(0, 1)]),
    "path of three": (3, [(0, 1), (1, 2)]),
    "path of four": (4, [(0, 1), (1, 2), (2, 3)]),
    "star": (6, [(0, k) for k in range(1, 6)]),
    "complete": (5, list(itertools.combinations(range(5), 2))),
    "two parts and a singleton": (6, [(0, 1), (1, 2), (3, 4)]),
    "kite": (6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5)]),
}


def brute_sums(strata: Strata, t: np.ndarray) -> np.ndarray:
    """``(n, d) -> (H,)`` from the definition."""
    found = []
    for stratum in strata:
        weights = np.ones(stratum.n_edges) if stratum.weights is None else stratum.weights
        pairs = zip(stratum.edges.tolist(), weights, strict=True)
        found.append(sum(w * float(np.sum((t[x] - t[y]) ** 2)) for (x, y), w in pairs))
    return np.array(found)


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_the_null_moments_are_those_of_all_permutations(name, weighted, d):
    n, edges = EDGES[name]
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.2, 3, len(edges)) if weighted else None
    strata = Strata(as_graph(edges=edges, n_nodes=n, weights=weights))
    t = rng.standard_normal((2, n, d)) + 5
    t[1, :2] = t[1, 2:3] if n > 2 else t[1, :2]  # ties
    mean, variance = pair_null(strata, t)
    assert pair_sums(strata, t) == pytest.approx(np.array([brute_sums(strata, row) for row in t]), rel=1e-12)
    for row in range(2):
        every = np.array([brute_sums(strata, t[row, list(p)]) for p in itertools.permutations(range(n))])
        assert mean[row] == pytest.approx(every.mean(axis=0), rel=1e-12)
        assert variance[row] == pytest.approx(every.var(axis=0), rel=1e-9, abs=1e-12 * np.max(every) ** 2)


def test_what_no_permutation_changes_has_variance_zero():
    strata = Strata(as_graph(nx.complete_graph(6)))
    t = np.random.default_rng(0).standard_normal((1, 6, 2)) * 1e3
    assert pair_null(strata, t)[1].tolist() == [[0.0]]
    ring = Strata(as_graph(nx.cycle_graph(6)))
    assert pair_null(ring, np.full((1, 6, 2), 7.1))[1].max() == 0
    assert pair_null(ring, np.eye(6)[None])[1].max() == 0  # all vectors equally far apart


def test_a_large_common_vector_costs_no_digits():
    strata = Strata(as_graph(nx.karate_club_graph(), weights=False))
    whole = np.random.default_rng(1).integers(0, 9, (1, 34, 2)).astype(float)
    assert np.array_equal(pair_sums(strata, whole + 2.0**40), pair_sums(strata, whole)) or pair_sums(
        strata, whole + 2.0**40
    ) == pytest.approx(pair_sums(strata, whole), rel=1e-13)
    for moved, plain in zip(pair_null(strata, whole + 2.0**30), pair_null(strata, whole), strict=True):
        assert moved == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_compiled_loops_give_the_same_sums(monkeypatch, weighted):
    graph = nx.connected_watts_strogatz_graph(60, 4, 0.1, seed=2)
    rng = np.random.default_rng(3)
    known = as_graph(graph, weights=rng.uniform(0.5, 2, graph.number_of_edges()) if weighted else None)
    scalars, vectors = rng.standard_normal((20, 60, 1)), rng.standard_normal((2, 60, 5))
    strata = Strata(known)
    plain = [pair_sums(strata, t) for t in (scalars, vectors)]
    monkeypatch.setattr(fast, "COMPILED_WORK", 1)
    for t, expected in zip((scalars, vectors), plain, strict=True):
        assert pair_sums(strata, t) == pytest.approx(expected, rel=1e-12)
