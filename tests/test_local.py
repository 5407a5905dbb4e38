"""Likeness of single nodes: r by loops, conditional randomisation by hand, words, and levels."""

from itertools import permutations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from spectrata.stats.observation import observe, pairs_of
from spectrata.stats.statistics.likeness import LocalLikeness
from strategies import regular_graph
from test_agree import weighted


def brute(w, t):
    """r of every node by loops."""
    n, k = len(w), w.sum(axis=1)
    mu = sum(k[i] * t[i] for i in range(n)) / k.sum()
    below = sum(k[i] * np.sum((t[i] - mu) ** 2) for i in range(n))
    return np.array([sum(w[i, j] * np.dot(t[i] - mu, t[j] - mu) for j in range(n)) / below for i in range(n)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("width", [1, 3])
def test_parts_by_loops_and_their_sum(seed, width):
    graph = weighted(seed)
    values = np.random.default_rng(seed).normal(size=(len(graph), width))
    found = st.local(graph, values, weights="w", metric="euclidean", draws=0)
    wanted = brute(nx.to_numpy_array(graph, weight="w"), values)
    linked = np.array([d > 0 for _, d in graph.degree])
    np.testing.assert_allclose(found["r"].values[0, linked], wanted[linked], atol=1e-10)
    assert np.isnan(found["r"].values[0, ~linked]).all()
    assert set(found["status"].values[0, ~linked].tolist()) == {"no pair at this hop"}
    together = st.agree(graph, values, values, weights="w", metric="euclidean", draws=0)["r"].sel(hop=1).item()
    assert float(found["r"].sum()) == pytest.approx(together, abs=1e-10)


def test_sums_are_assortativity():
    graph = nx.karate_club_graph()
    clubs = nx.get_node_attributes(graph, "club")
    by_label = st.local(graph, clubs, weights=False, labels=True, draws=0)
    assert float(by_label["r"].sum()) == pytest.approx(nx.attribute_assortativity_coefficient(graph, "club"), abs=1e-10)
    by_degree = st.local(graph, dict(graph.degree), weights=False, draws=0, given=None)
    assert float(by_degree["r"].sum()) == pytest.approx(nx.degree_assortativity_coefficient(graph), abs=1e-10)


@pytest.mark.parametrize("graph", [nx.path_graph(6), nx.star_graph(5)], ids=["path", "star"])
def test_draws_are_all_orders_of_the_others(graph):
    """Every order of the others counted, node by node, against what the draws give on average and in quantiles."""
    n = len(graph)
    values = np.array([3.0, -1.0, 0.5, 2.0, -2.5, 0.1])[:, None]
    strat = st.Stratification(graph, 1)
    made = LocalLikeness(observe(values, pairs_of(strat, 1), 0.0))
    drawn = made.permuted(0, 6000, np.arange(n), seed=1) * made.unit
    w = nx.to_numpy_array(graph)
    k = w.sum(axis=1)
    z = values[:, 0] - k @ values[:, 0] / k.sum()
    for node in range(n):
        others = [i for i in range(n) if i != node]
        exact = []
        for order in permutations(others):
            moved = z.copy()
            moved[others] = z[list(order)]
            exact.append(z[node] * (w[node] @ moved) / (k @ z**2))
        np.testing.assert_allclose(drawn[:, node].mean(), np.mean(exact), atol=0.02)
        np.testing.assert_allclose(drawn[:, node].std(), np.std(exact), atol=0.02)
        assert set(drawn[:, node].round(9)) == set(np.round(exact, 9))


def test_residuals_move_within_blocks_only():
    graph = nx.barabasi_albert_graph(30, 2, seed=0)
    rng = np.random.default_rng(0)
    values, residual = rng.normal(size=(2, 30, 1))
    blocks = np.arange(30) % 3
    pairs = pairs_of(st.Stratification(graph, 1), 1)
    obs = observe(values, pairs, 0.0)
    made = LocalLikeness(obs, residual, blocks)
    drawn = made.permuted(0, 4000, np.array([2, 7]), seed=0) * (made.unit[[2, 7]] * made.variation)
    k = pairs.k
    z = obs.values[:, 0] - k @ obs.values[:, 0] / k.sum()
    w = nx.to_numpy_array(graph)
    fitted = z - residual[:, 0]
    for column, node in enumerate((2, 7)):
        pool = {b: [i for i in range(30) if blocks[i] == b and i != node] for b in range(3)}
        mean = sum(w[node, j] * (fitted[j] + residual[pool[blocks[j]], 0].mean()) for j in range(30))
        assert drawn[:, column].mean() == pytest.approx(z[node] * mean, abs=0.05 * abs(z[node]) * k[node] + 1e-9)


def test_a_dense_and_a_sparse_matrix_draw_alike():
    """Strata with most pairs keep W as an array."""
    graph = nx.gnp_random_graph(25, 0.6, seed=1)
    obs = observe(np.random.default_rng(0).normal(size=(25, 2)), pairs_of(st.Stratification(graph, 1), 1), 0.0)
    from scipy.sparse import csr_array

    made, sparse = LocalLikeness(obs), LocalLikeness(obs)
    assert isinstance(made.matrix, np.ndarray)
    sparse.matrix = csr_array(made.matrix)
    some = np.array([0, 3, 20])
    np.testing.assert_allclose(made.permuted(5, 60, some, 0), sparse.permuted(5, 60, some, 0), atol=1e-12)
    np.testing.assert_allclose(made.permuted(0, 60, np.arange(25), 0)[5:, some], made.permuted(5, 60, some, 0))


# ---- words


def spot(side=24, size=5, seed=0, height=4.0):
    """A hot spot in the middle of a grid."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side), label_attribute="place")
    first = (side - size) // 2
    inside = np.array([all(first <= c < first + size for c in graph.nodes[v]["place"]) for v in graph])
    return graph, inside, height * inside + np.random.default_rng(seed).normal(size=len(graph))


def test_a_hot_spot_is_high_among_high():
    graph, inside, values = spot()
    words = st.local(graph, values)["verdict"].values[0]
    high = words == "high among high"
    assert high[inside].sum() >= 10
    assert not high[~inside].any()
    cold = st.local(graph, -values)["verdict"].values[0]
    np.testing.assert_array_equal(cold == "low among low", high)


def test_an_outlier_is_low_among_high():
    graph, _, values = spot()
    middle = next(v for v in graph if graph.nodes[v]["place"] == (11, 11))
    values[middle] = -6.0
    words = st.local(graph, values)["verdict"].values[0]
    assert words[middle] == "low among high"
    assert st.local(graph, -values)["verdict"].values[0][middle] == "high among low"


@pytest.mark.long
def test_vectors_and_labels_have_words_of_their_own():
    graph, inside, _ = spot()
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(576, 3)) + 4 * np.where(inside, 1, -0.1)[:, None] * np.array([1.0, 1.0, 0.0])
    words = st.local(graph, vectors, metric="euclidean")["verdict"].values[0]
    assert (words[inside] == "like its neighbours").sum() >= 8
    labels = np.where(inside, "red", "blue")
    found = st.local(graph, labels, labels=True)
    assert (found["verdict"].values[0][inside] == "more of its own class").sum() >= 8
    codes = st.local(graph, inside.astype(int), labels=True)
    np.testing.assert_allclose(codes["r"], found["r"])
    stranger = labels.copy()
    middle = next(v for v in graph if graph.nodes[v]["place"] == (11, 11))
    stranger[middle] = "blue"
    assert st.local(graph, stranger, labels=True)["verdict"].values[0, middle] == "fewer of its own class"


def test_tables_snapshots_and_hops():
    graph, _, values = spot(side=8, size=3)
    table = pd.DataFrame({"spot": values, "noise": np.random.default_rng(3).normal(size=64)})
    found = st.local(graph, table, hops=2, draws=99)
    assert found["r"].dims == ("column", "hop", "node")
    alone = st.local(graph, values, hops=2, draws=99)
    np.testing.assert_allclose(found["p"].sel(column="spot"), alone["p"])
    assert (found["q"].values >= found["p"].values - 1e-12).all()
    times = st.local(graph, np.stack([values, -values])[:, :, None], draws=0, given=None)
    assert times["r"].dims == ("snapshot", "hop", "node")
    assert "p_given" not in times
    np.testing.assert_allclose(times["r"][0], times["r"][1], atol=1e-12)


def test_what_has_no_p_says_why():
    graph = nx.path_graph(12)
    flat = st.local(graph, np.ones(12), draws=99)
    assert set(flat["status"].values.ravel().tolist()) == {"no variance among nodes with a pair"}
    by_degree = st.local(nx.barabasi_albert_graph(60, 2, seed=0), dict(nx.barabasi_albert_graph(60, 2, seed=0).degree))
    assert set(by_degree["status"].values.ravel().tolist()) == {"a function of degree"}
    assert not set(by_degree["verdict"].values.ravel().tolist()) & {"high among high", "high among low"}


@pytest.mark.long
def test_noise_times_degree_has_no_findings():
    graph = nx.barabasi_albert_graph(200, 3, seed=0)
    strat = st.Stratification(graph, 1)
    degree = np.array([d for _, d in graph.degree])
    rng = np.random.default_rng(0)
    maps = 0
    for seed in range(20):
        words = st.local(strat, rng.normal(size=200) * degree, seed=seed)["verdict"].values
        maps += bool(np.char.find(words, "among").max() >= 0)
    assert maps <= 3


def test_p_is_uniform_for_independent_values():
    graph = regular_graph(4, 60, seed=0)
    strat = st.Stratification(graph, 1)
    rng = np.random.default_rng(4)
    p = np.concatenate(
        [st.local(strat, rng.standard_t(2, 60), given=None, draws=199)["p"].values[0] for _ in range(60)]
    )
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(p <= level) - level) < 0.03


def test_words_that_other_orders_could_change_are_marked():
    """Seeds 0 to 2 give some members of the club different words."""
    words = [st.local(nx.karate_club_graph(), "club", weights=False, seed=seed).sel(hop=1) for seed in range(3)]
    differ = np.any([one["verdict"].values != words[0]["verdict"].values for one in words], axis=0)
    assert differ.any()
    assert all(one["near_level"].values[differ].all() for one in words)
    assert words[0]["near_level"].values.mean() < 0.5
