"""Strata of large graphs: whole ones against all-pairs distances, and their estimated size."""

import networkx as nx
import numpy as np
import pytest

import brute
import spectrata as st
from spectrata.core.stratum_rows import hop_rows, stratum_bytes
from spectrata.errors import HopError, MemoryEstimateError
from spectrata.inputs.graphs import as_graph
from spectrata.kernels import searches


@pytest.mark.parametrize("hop", [1, 2, 3, 4])
@pytest.mark.parametrize("probability", [0.004, 0.02])
def test_rows_are_those_of_the_all_pairs_search(hop, probability):
    graph = as_graph(nx.fast_gnp_random_graph(500, probability, seed=hop))
    indptr, indices, _ = hop_rows(graph, hop)
    distances = st.Stratification(graph).strata.distances
    for v in range(500):
        np.testing.assert_array_equal(indices[indptr[v] : indptr[v + 1]], np.flatnonzero(distances[v] == hop))


@pytest.mark.parametrize("hop", [1, 2, 3, 4])
@pytest.mark.parametrize("rule", ["bottleneck", "product", "unit"])
def test_weights_of_rows_are_those_of_the_best_shortest_paths(hop, rule):
    plain = nx.fast_gnp_random_graph(40, 0.08, seed=hop)
    for edge, weight in zip(plain.edges, np.random.default_rng(hop).uniform(0.1, 3.0, 1000), strict=False):
        plain.edges[edge]["w"] = float(weight)
    graph = as_graph(plain, weights="w")
    indptr, indices, found = hop_rows(graph, hop, rule)
    if rule == "unit" and hop > 1:
        assert found is None
        return
    expected = brute.pair_weights(plain, hop, rule)
    rows = np.repeat(np.arange(40), np.diff(indptr))
    assert len(rows) == np.count_nonzero(expected)
    np.testing.assert_allclose(found, expected[rows, indices], rtol=1e-14)


def test_weights_do_not_depend_on_threads(monkeypatch):
    plain = nx.fast_gnp_random_graph(2000, 0.003, seed=9)
    graph = as_graph(plain, weights=np.random.default_rng(9).uniform(0.1, 3.0, plain.number_of_edges()))
    strata = st.Stratification(graph, hops=3).strata
    for threads in ("1", "3"):
        monkeypatch.setenv("SPECTRATA_THREADS", threads)
        indptr, indices, weights = hop_rows(graph, 3)
        rows = np.repeat(np.arange(2000), np.diff(indptr))
        np.testing.assert_array_equal(weights[rows < indices], strata.at(3).weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_estimate_comes_first_and_is_close(monkeypatch, weighted):
    plain = nx.fast_gnp_random_graph(4000, 8 / 4000, seed=1)
    graph = as_graph(plain, weights=np.ones(plain.number_of_edges()) if weighted else None)
    monkeypatch.setenv("SPECTRATA_THREADS", "1")
    needed = stratum_bytes(graph, 2, weighted=weighted)
    truth = (12 if weighted else 4) * len(hop_rows(graph, 2).indices) + (32 if weighted else 24) * 4000
    assert truth <= needed <= 1.3 * truth
    monkeypatch.setattr("spectrata.core.resources.available_memory", lambda: needed // 2)
    with pytest.raises(MemoryEstimateError, match=r"K = 2 of 4,000 nodes.*use fewer hops"):
        hop_rows(graph, 2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", ["bottleneck", "product", "unit"])
def test_bounded_searches_give_the_strata_of_all_pairs(weighted, rule, monkeypatch):
    plain = nx.disjoint_union(nx.fast_gnp_random_graph(60, 0.05, seed=2), nx.path_graph(9))
    weights = np.random.default_rng(0).uniform(0.5, 2.0, plain.number_of_edges()) if weighted else None
    given = {"weights": weights, "hop_weights": rule}
    whole = st.Stratification(plain, hops=[1, 2, 4], **given)
    everything = st.Stratification(plain, **given)
    monkeypatch.setattr("spectrata.core.strata.ALL_PAIRS_NODES", 10)
    bounded = st.Stratification(plain, hops=[1, 2, 4], **given)
    assert bounded.strata.is_bounded
    assert not whole.strata.is_bounded
    assert bounded.hops == whole.hops
    assert bounded.strata.sizes == whole.strata.sizes
    for one, other in zip(bounded.strata, whole.strata, strict=True):
        np.testing.assert_array_equal(one.edges, other.edges)
        np.testing.assert_array_equal(one.parts, other.parts)
        assert (one.weights is None) == (other.weights is None)
        if one.weights is not None:
            np.testing.assert_allclose(one.weights, other.weights, rtol=1e-14)
    assert bounded.diameter is None
    far = st.Stratification(plain, hops=1000, **given)
    assert far.hops == everything.hops
    assert far.diameter == everything.diameter
    with pytest.raises(HopError, match="larger than the diameter"):
        st.Stratification(plain, hops=[1, 50], **given)
    signal = np.random.default_rng(1).standard_normal((69, 3))
    assert st.smoothness(bounded, signal).drop_attrs().identical(st.smoothness(whole, signal).drop_attrs())
    assert bounded.spectra(signal, "gft").equals(whole.spectra(signal, "gft"))


def test_bounded_strata_say_how_much_they_need(monkeypatch):
    graph = nx.fast_gnp_random_graph(3000, 8 / 3000, seed=1)
    monkeypatch.setattr("spectrata.core.strata.ALL_PAIRS_NODES", 10)
    monkeypatch.setattr("spectrata.core.resources.available_memory", lambda: 10**5)
    assert st.Stratification(graph, hops=1).strata.sizes == {1: graph.number_of_edges()}
    with pytest.raises(MemoryEstimateError, match="K = 2 of 3,000 nodes"):
        st.Stratification(graph, hops=2)


@pytest.mark.parametrize("compiled", [False, True])
def test_parts_are_numbered_by_first_appearance(compiled, monkeypatch):
    monkeypatch.setattr("spectrata.kernels.searches.JOINED", 0 if compiled else 2**60)
    for seed in range(20):
        graph = nx.fast_gnp_random_graph(50, 0.03, seed=seed)
        expected = brute.parts_of(nx.to_numpy_array(graph))
        known = as_graph(graph)
        np.testing.assert_array_equal(searches.part_labels(known.indptr, known.indices), expected)
        np.testing.assert_array_equal(searches.pair_part_labels(known.edges, 50), expected)


def test_hops_drawn_together_are_those_drawn_alone(monkeypatch):
    for size in (2, 30, 2**22):
        monkeypatch.setattr("spectrata.core.strata.PAIRS_AT_ONCE", size)
        for work in (0.0, 2e7):
            monkeypatch.setattr("spectrata.kernels.threads.COMPILED_WORK", work)
            strata = st.Stratification(nx.disjoint_union(nx.path_graph(12), nx.cycle_graph(7))).strata
            for stratum in [*strata, *reversed(list(strata))]:
                expected = np.argwhere(np.triu(strata.distances == stratum.hop))
                np.testing.assert_array_equal(stratum.edges, expected)
