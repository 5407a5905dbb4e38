"""Cumulative energy against a dense eigendecomposition, and its range of chance against the exact mean."""

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.stats.describe.cumulative import cumulative_energy

GRAPH = nx.barbell_graph(5, 3)  # eigenvalue 5 of each bell is repeated
RNG = np.random.default_rng(4)


def expected(laplacian, t):
    values, vectors = np.linalg.eigh(laplacian)
    energy = ((vectors.T @ t) ** 2).sum(axis=1)
    off = values > 1e-9
    levels = np.unique(values[off].round(8))
    total = [energy[off & (values <= level + 1e-6)].sum() for level in levels]
    return [np.mean(values[off] <= level + 1e-6) for level in levels], np.array(total) / total[-1]


@pytest.mark.parametrize("hop", [1, 2])
def test_shares_are_those_of_a_dense_decomposition(hop):
    lengths = dict(nx.all_pairs_shortest_path_length(GRAPH))
    adjacency = np.array([[float(lengths[x][y] == hop) for y in GRAPH] for x in GRAPH])
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    signal = RNG.normal(size=(13, 3)) + 5.0
    found = cumulative_energy(st.Stratification(GRAPH, hops=[hop]), signal, metric="euclidean", draws=0).isel(hop=0)
    frequency, share = expected(laplacian, signal)
    np.testing.assert_allclose(found["frequency"], frequency)
    np.testing.assert_allclose(found["share"], share, atol=1e-10)
    unit = signal / np.linalg.norm(signal, axis=1, keepdims=True) / 2
    angular = cumulative_energy(st.Stratification(GRAPH, hops=[hop]), signal, draws=0).isel(hop=0)
    np.testing.assert_allclose(angular["share"], expected(laplacian, unit)[1], atol=1e-10)


def test_chance_has_its_exact_mean_and_holds_permuted_signals():
    strat = st.Stratification(GRAPH, hops=1)
    signal = RNG.normal(size=13)
    found = cumulative_energy(strat, signal, draws=2000)
    # All components off zero of a connected graph have the same mean energy under permutations.
    np.testing.assert_allclose(found["chance"], found["frequency"], atol=0.02)
    inside = []
    for _ in range(300):
        share = cumulative_energy(strat, RNG.permutation(signal), draws=0)["share"].values[0]
        low, high = found["chance_low"].values[0], found["chance_high"].values[0]
        inside.append((low[:-1] <= share[:-1]) & (share[:-1] <= high[:-1]))
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_points_are_thinned_and_empty_spectra_are_nan():
    signals = np.stack([RNG.normal(size=(40, 1)), np.full((40, 1), 0.1)])
    assert (
        cumulative_energy(st.Stratification(nx.path_graph(150), hops=1), np.arange(150), draws=0).sizes["point"] == 100
    )
    found = cumulative_energy(nx.path_graph(40), signals, points=7, draws=5)
    assert found.sizes["point"] <= 7
    assert found["share"].sel(hop=1)[0].values[-1] == 1.0
    assert np.isnan(found["share"].values[1]).all()
    again = cumulative_energy(nx.path_graph(40), signals, points=7, draws=5)
    assert found.identical(again)
