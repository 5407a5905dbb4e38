"""r, its spectrum and its permutations, against networkx, dense algebra and brute force."""

from dataclasses import replace
from itertools import permutations

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.kernels.backend import NUMPY, Backend
from spectrata.stats.nulls.given import read_given
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.stopping import looks
from spectrata.stats.observation import moved, observe, pairs_of
from spectrata.stats.statistics.likeness import Likeness, Statistic, by_sums, moran, participation_ratio
from spectrata.stats.statistics.shares import bands, between_parts, shares
from spectrata.stats.testing import Cell, run_tests, verdicts

EPS = 2.0**-52


def weighted_graph(seed):
    """A weighted graph with several parts and isolated nodes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    graph = nx.gnp_random_graph(n, 2.0 / n, seed=seed)
    graph.add_edge(0, 1)
    for edge in graph.edges:
        graph.edges[edge]["w"] = float(rng.uniform(0.2, 3.0))
    return graph, rng


def dense_r(matrix, values):
    k = matrix.sum(axis=1)
    centred = values - k @ values / k.sum()
    return np.sum(centred * (matrix @ centred)) / np.sum(k[:, None] * centred**2)


def random_walk_shares(pairs, signal):
    """Frequencies and shares of energy by numpy, on the nodes that have a pair."""
    matrix = np.zeros((len(pairs.nodes), len(pairs.nodes)))
    matrix[tuple(pairs.ends.T)] = matrix[tuple(pairs.ends[:, ::-1].T)] = pairs.weights
    root = np.sqrt(matrix.sum(axis=1))
    frequency, vectors = np.linalg.eigh(np.eye(len(root)) - matrix / root / root[:, None])
    values = signal[pairs.nodes]
    centred = (values - root**2 @ values / np.sum(root**2)) * root[:, None]
    return frequency, np.sum((vectors.T @ centred) ** 2, axis=1) / np.sum(centred**2)


def test_r_is_assortativity_and_the_mean_of_one_minus_frequency():
    for seed in range(200):
        graph, rng = weighted_graph(seed)
        strat = st.Stratification(graph, weights="w")
        values = rng.normal(size=(len(graph), 1)) + 10 * rng.normal()
        labels = rng.integers(3, size=len(graph))
        for hop in strat.hops:
            pairs = pairs_of(strat, hop)
            for signal in (values, rng.normal(size=(len(graph), 3)), np.eye(3)[labels]):
                obs = observe(signal, pairs, EPS)
                r = Likeness().value(obs)
                if np.isnan(r):
                    continue
                frequency, share = random_walk_shares(pairs, signal)
                assert r == pytest.approx(np.sum(share * (1 - frequency)), abs=1e-10)
                assert share.sum() == pytest.approx(1, abs=1e-10)
                assert between_parts(obs) == pytest.approx(share[frequency < 1e-9].sum(), abs=1e-10)
        one = pairs_of(st.Stratification(graph, 1), 1)
        nx.set_node_attributes(graph, dict(enumerate(labels.tolist())), "c")
        if len(set(labels[one.nodes].tolist())) > 1:
            theirs = nx.attribute_assortativity_coefficient(graph, "c")
            assert Likeness().value(observe(np.eye(3)[labels], one, EPS)) == pytest.approx(theirs, abs=1e-10)
            theirs = nx.numeric_assortativity_coefficient(graph, "c")  # of whole numbers: it bins them by value
            assert Likeness().value(observe(labels[:, None] * 1.0, one, EPS)) == pytest.approx(theirs, abs=1e-10)


def test_weights_count_as_repeated_pairs():
    for seed in range(30):
        graph, rng = weighted_graph(seed)
        matrix = nx.to_numpy_array(graph, weight="w")
        values = rng.normal(size=(len(graph), 2))
        pairs = pairs_of(st.Stratification(graph, 1, weights="w"), 1)
        assert Likeness().value(observe(values, pairs, EPS)) == pytest.approx(dense_r(matrix, values), abs=1e-12)
        one = observe(values[:, :1], pairs, EPS)
        x, n = values[:, 0] - values[:, 0].mean(), len(graph)
        geary = (n - 1) * np.sum(matrix * (x[:, None] - x) ** 2) / (2 * matrix.sum() * np.sum(x**2))
        assert participation_ratio(one) * (1 - Likeness().value(one)) == pytest.approx(geary, abs=1e-12)
        assert moran(one) == pytest.approx(n * x @ matrix @ x / (matrix.sum() * np.sum(x**2)), abs=1e-12)


@pytest.mark.parametrize("width", [1, 3, 20])
@pytest.mark.parametrize("given", [None, "degree"])
def test_permuted_values_are_those_of_permuted_signals(width, given):
    graph = nx.barabasi_albert_graph(40, 2, seed=3)
    strat = st.Stratification(graph, 4)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, width))
    made = orders(1, 40, 0, 6)
    for hop in strat.hops:
        pairs = pairs_of(strat, hop)
        obs = observe(values, pairs, EPS)
        known = None
        if given:
            known = read_given(given, strat).at(pairs.stratum.degrees)
            obs = obs.beyond(known)
        statistics = [Likeness(), *shares(pairs)]
        for order, *drawn in zip(made, *(one.permuted(obs, made) for one in statistics), strict=True):
            permuted = obs.values[order]
            permuted = permuted if known is None else permuted - known @ (known.T @ permuted)
            expected = [one.value(observe(permuted, pairs, EPS)) for one in statistics]
            np.testing.assert_allclose(drawn, expected, atol=1e-11)
        np.testing.assert_allclose(by_sums(obs, made), Statistic.permuted(Likeness(), obs, made), atol=1e-11)


@pytest.mark.parametrize("given", [None, "degree"])
@pytest.mark.parametrize(("width", "separate"), [(1, False), (3, False), (14, False), (5, True)])
@pytest.mark.parametrize(
    "backend",
    [
        NUMPY,
        pytest.param(Backend("torch"), marks=pytest.mark.needs("torch")),
        pytest.param(Backend("torch", "cuda:0"), marks=pytest.mark.gpu),
        pytest.param(Backend("cupy", "cuda:0"), marks=pytest.mark.gpu),
    ],
)
def test_sums_over_permuted_pairs_equal_the_plain_computation(width, separate, given, backend):
    graph = nx.barabasi_albert_graph(90, 2, seed=2)
    graph.add_edges_from([(90, 91), (92, 93)])
    strat = st.Stratification(graph, 4)
    values = np.random.default_rng(5).normal(size=(94, width)) ** 3
    made = orders(1, 94, 0, 23)
    for hop in strat.hops:
        pairs = pairs_of(strat, hop)
        obs = observe(values, replace(pairs, backend=backend), EPS, separate=separate)
        obs = obs if given is None else obs.beyond(read_given(given, strat).at(pairs.stratum.degrees))
        expected = Statistic.permuted(Likeness(), obs, made)
        np.testing.assert_allclose(by_sums(obs, made), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(by_sums(obs, made[9:11]), expected[9:11], rtol=0, atol=1e-12)


def test_a_draw_without_variance_stays_undefined_on_many_pairs():
    graph = nx.star_graph(6)
    graph.add_nodes_from(range(7, 20_000))
    values = np.zeros((20_000, 1))
    values[:2, 0] = 1.0
    obs = observe(values, pairs_of(st.Stratification(graph, 1), 1), EPS)
    made = np.stack([np.arange(20_000), np.roll(np.arange(20_000), 50)])
    assert np.isnan(Likeness().permuted(obs, made)).tolist() == [False, True]


def test_many_columns_have_the_same_r_under_the_same_orders():
    graph = nx.barabasi_albert_graph(60, 2, seed=1)
    strat = st.Stratification(graph, 4)
    values = np.random.default_rng(0).normal(size=(60, 5))
    pairs = [pairs_of(strat, hop) for hop in strat.hops]
    covariates = read_given("degree", strat)
    cells = [Cell(observe(values, one, EPS, separate=True), Likeness()) for one in pairs]
    many = run_tests(cells, covariates, looks(60), 3)
    for column in range(5):
        cells = [Cell(observe(values[:, [column]], one, EPS), Likeness()) for one in pairs]
        few = run_tests(cells, covariates, looks(60), 3)
        np.testing.assert_allclose(many[0].value[column], few[0].value, atol=1e-12)
        np.testing.assert_allclose(many[1].value[column], few[1].value, atol=1e-12)
        both = [moran(observe(values, one, EPS, separate=True))[column] for one in pairs]
        np.testing.assert_allclose(both, [moran(cell.obs) for cell in cells], atol=1e-12)
        fewer = np.abs(many[0].p[column] - few[0].p) < 0.25
        assert fewer.all()


@pytest.mark.parametrize("kind", ["numbers", "counts", "labels"])
def test_p_of_tiny_graphs_is_that_of_all_orders(kind):
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (1, 3), (3, 4), (4, 5)])
    rng = np.random.default_rng(4)
    values = {"numbers": rng.normal(size=(6, 1)), "counts": np.array([[3.0], [0], [0], [1], [0], [0]])}
    values |= {"labels": np.eye(2)[[0, 1, 0, 0, 1, 1]]}
    strat = st.Stratification(graph)
    for hop in strat.hops:
        pairs = pairs_of(strat, hop)
        obs = observe(values[kind], pairs, EPS)
        observed = Likeness().value(obs)
        drawn = []
        for order in permutations(range(6)):
            ends = moved(obs, np.array([order]))
            drawn.append(Likeness().of(obs, ends)[0])
        drawn = np.array(drawn)
        lost = np.isnan(drawn)
        upper = np.mean(lost | (drawn >= observed - 1e-10))
        lower = np.mean(lost | (drawn <= observed + 1e-10))
        found = run_tests([Cell(obs, Likeness())], read_given(None, strat), looks(6), 0)[0]
        assert found.p[0] == pytest.approx(min(1, 2 * min(upper, lower)), abs=1e-12)
        assert found.draws[0] == 0
        if abs(upper - lower) > 1e-9:
            assert found.tail[0] == (1 if upper < lower else -1)


def test_own_p_does_not_depend_on_the_family():
    graph = nx.barabasi_albert_graph(80, 2, seed=2)
    values = np.random.default_rng(8).normal(size=80)
    alone = st.correlogram(graph, values, hops=[2])
    together = st.correlogram(graph, values)
    found = st.diagnose(graph, values, hops=3).to_frame()
    at_two = found[(found["hop"] == 2) & (found["statistic"] == "r")].iloc[0]
    for name in ("p", "p_given"):
        assert alone[name].item() == together[name].sel(hop=2).item() == at_two[name]
    assert (together["p_family"] >= together["p"]).all()


def test_bands_keep_eigenspaces_whole_and_a_large_one_is_no_divide():
    turan = pairs_of(st.Stratification(nx.turan_graph(60, 3), 1), 1)
    assert set(bands(turan)) == {"rough"}  # 57 of 59 components share one eigenvalue
    ring = pairs_of(st.Stratification(nx.cycle_graph(41), 1), 1)
    found = bands(ring)
    assert {name: len(some) for name, some in found.items()} == {"smooth": 10, "rough": 10, "main_divide": 2}
    two = pairs_of(st.Stratification(nx.disjoint_union(nx.cycle_graph(12), nx.cycle_graph(12)), 1), 1)
    assert "main_divide" not in bands(two)
    assert bands(pairs_of(st.Stratification(nx.path_graph(6), 1), 1)).keys() == {"main_divide"}
    assert shares(pairs_of(st.Stratification(nx.complete_graph(20), 1), 1)) == []


def test_no_variance_is_undefined_and_float32_is_read_with_its_rounding():
    graph = nx.star_graph(9)
    graph.add_node(10)
    values = np.zeros(11)
    values[10] = 5.0  # varies at a node without a pair
    found = st.correlogram(graph, values, hops=1)
    assert np.isnan(found["r"].item())
    assert found["status"].item() == "no variance among nodes with a pair"
    noise = np.float32(1.0) + np.finfo(np.float32).eps * np.arange(11, dtype=np.float32) % 3
    assert np.isnan(st.correlogram(graph, noise.astype(np.float32), hops=1)["r"].item())


def test_remarks_say_what_makes_a_hop_weak():
    found = st.correlogram(nx.path_graph(30), np.arange(30.0) ** 2, hops=[1, 15, 29])
    assert found["status"].values.tolist()[1:] == ["only 15 pairs", "r same in every order; only 1 pair"]
    star = st.correlogram(nx.star_graph(30), np.random.default_rng(0).normal(size=31), hops=1)
    assert "all pairs share one node" in star["status"].item()


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        ((0.01, 1), (0.02, 1), "alike"),
        ((0.01, -1), (0.02, -1), "unlike"),
        ((0.01, 1), (0.5, 1), "not beyond degree"),
        ((0.01, 1), (np.nan, 0), "not beyond degree"),
        ((0.2, 1), (0.02, 1), "alike only given degree"),
        ((0.2, 1), (0.02, -1), "unlike only given degree"),
        ((0.01, 1), (0.02, -1), "reversed given degree"),
        ((0.2, 1), (0.6, -1), "chance"),
        ((np.nan, 0), (0.6, -1), "not tested"),
    ],
)
def test_verdicts(first, second, word):
    assert verdicts(*first, *second, "degree").item() == word
    assert verdicts(*first, np.nan, 0, "").item() == (word if word == "not tested" else words_without(*first))


def words_without(p, tail):
    """The verdict of one test alone."""
    return "chance" if p > 0.05 else "alike" if tail > 0 else "unlike"


def test_without_draws_a_verdict_is_not_tested_and_a_constant_undefined():
    values = np.column_stack([np.arange(12.0), np.ones(12)])
    found = st.correlogram(nx.path_graph(12), values, hops=1, columns="separate", draws=0)
    assert found["verdict"].values.ravel().tolist() == ["not tested", "undefined"]


def test_the_footnote_has_covariates_in_the_plural():
    graph = nx.barabasi_albert_graph(60, 2, seed=0)
    degree = np.array([float(graph.degree[node]) for node in graph])
    said = " ".join(str(st.diagnose(graph, degree, hops=1, given=degree)).split())
    assert "missing where covariates explain the whole signal" in said
    assert "missing where degree explains the whole signal" in " ".join(str(st.diagnose(graph, degree, hops=1)).split())


def test_noise_on_a_clique_with_a_tail_is_noise_given_degree():
    """The covariates nearly explain the tail, whose residuals were too small where orders put them."""
    strat = st.Stratification(nx.lollipop_graph(40, 6), 1)
    rng, small = np.random.default_rng(0), 0
    for _ in range(60):
        small += st.correlogram(strat, rng.normal(size=46), draws=199)["p_given"].item() <= 0.05
    assert small <= 8  # 3 expected; 16 before residuals had one variance
