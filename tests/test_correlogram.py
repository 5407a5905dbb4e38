"""The correlogram against enumeration, the textbook formulas of Geary and Moran, and its own null."""

import itertools
import math
from contextlib import nullcontext

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import spectrata as st
from spectrata.core.strata import Strata
from spectrata.errors import HopError, OptionError, SpectrataWarning, ZeroVectorError
from spectrata.inputs.graphs import as_graph
from spectrata.stats import pair_cells, pair_draws, pair_sources
from spectrata.stats.pair_draws import agreement, drawn_p, moments_p
from spectrata.stats.pairs import centred, pair_null, pair_rows, pair_sums

KITE = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])
PARTS = nx.Graph([(0, 1), (1, 2), (3, 4)])
PARTS.add_node(5)


# ---- an oracle that shares no code with the product


def pair_weight(graph, x, y, distance):
    """Largest, over shortest paths, of the smallest weight on the path."""
    if not nx.get_edge_attributes(graph, "weight"):
        return 1.0
    paths = nx.all_shortest_paths(graph, x, y)
    return max(min(graph[a][b]["weight"] for a, b in itertools.pairwise(path)) for path in paths)


def pairs_of(graph):
    """``hop -> [(x, y, weight)]``."""
    found = {}
    for x, lengths in nx.all_pairs_shortest_path_length(graph):
        for y, distance in lengths.items():
            if x < y:
                found.setdefault(distance, []).append((x, y, pair_weight(graph, x, y, distance)))
    return dict(sorted(found.items()))


def difference(a, b, angular):
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    if not angular:
        return float(np.sum((a - b) ** 2))
    return float((1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)) / 2)


def brute(graph, signal, angular=False):
    """Per hop: mean square, and its value for every order of the nodes."""
    n = len(graph)
    square = np.array([[difference(a, b, angular) for b in signal] for a in signal])
    observed, every = [], []
    for pairs in pairs_of(graph).values():
        x, y, w = (np.array(part) for part in zip(*pairs, strict=True))
        orders = np.array(list(itertools.permutations(range(n))))
        drawn = square[orders[:, x], orders[:, y]] @ w / w.sum()
        observed.append(drawn[0])
        every.append(drawn)
    return np.array(observed), np.array(every)


@pytest.mark.parametrize("name", ["kite", "parts", "star", "path"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["scalar", "euclidean", "angular"])
def test_moments_and_p_are_those_of_all_orders(name, weighted, kind):
    rng = np.random.default_rng(7)
    graph = {"kite": KITE, "parts": PARTS, "star": nx.star_graph(4), "path": nx.path_graph(6)}[name].copy()
    if weighted:
        nx.set_edge_attributes(graph, {edge: rng.uniform(0.5, 3) for edge in graph.edges}, "weight")
    signal = rng.standard_normal(len(graph)) if kind == "scalar" else rng.standard_normal((len(graph), 3)) + 1
    signal[1] = signal[0]
    observed, every = brute(graph, signal, kind == "angular")
    metric = "auto" if kind == "scalar" else kind
    found = st.correlogram(graph, signal, metric=metric, weights=weighted, draws=4000, max_draws=0)
    assert found["mean_square"].values == pytest.approx(observed, rel=1e-12)
    assert found["null_mean"].values == pytest.approx(every.mean(axis=1), rel=1e-12)
    assert found["null_std"].values == pytest.approx(every.std(axis=1), rel=1e-9)
    assert found["ratio"].values == pytest.approx(observed / every.mean(axis=1), rel=1e-12)
    assert found["z"].values == pytest.approx((observed - every.mean(axis=1)) / every.std(axis=1), rel=1e-9)
    tie = 1e-9 * every.mean(axis=1, keepdims=True)
    tail = np.minimum(*(np.mean(side * (every - every[:, :1]) <= tie, axis=1) for side in (1, -1)))
    exact, spread = np.minimum(1.0, 2 * tail), 2 * np.sqrt(tail * (1 - tail) / 4000)
    assert np.all(np.abs(found["p"].values - exact) <= 4 * spread + 2 / 4000)


def test_geary_and_moran():
    graph = nx.karate_club_graph()
    nodes = list(graph)
    matrix = nx.to_numpy_array(graph, nodelist=nodes)
    x = np.random.default_rng(1).gamma(1.0, size=len(nodes))
    n, d = len(nodes), x - x.mean()
    total = matrix.sum()
    geary = (n - 1) / (2 * total) * np.sum(matrix * (x[:, None] - x) ** 2) / np.sum(d**2)
    moran = n / total * np.sum(matrix * np.outer(d, d)) / np.sum(d**2)
    # Cliff and Ord 1981, randomisation.
    s1, s2 = 2 * np.sum(matrix**2), 4 * np.sum(matrix.sum(axis=0) ** 2)
    b2 = n * np.sum(d**4) / np.sum(d**2) ** 2
    second = n * ((n * n - 3 * n + 3) * s1 - n * s2 + 3 * total**2)
    second -= b2 * ((n * n - n) * s1 - 2 * n * s2 + 6 * total**2)
    second /= (n - 1) * (n - 2) * (n - 3) * total**2
    std = math.sqrt(second - 1 / (n - 1) ** 2)
    geary_variance = (n - 1) * s1 * (n * n - 3 * n + 3 - (n - 1) * b2)
    geary_variance -= (n - 1) * s2 * (n * n + 3 * n - 6 - (n * n - n + 2) * b2) / 4
    geary_variance += total**2 * (n * n - 3 - (n - 1) ** 2 * b2)
    geary_variance /= n * (n - 2) * (n - 3) * total**2
    found = st.correlogram(graph, dict(zip(nodes, x, strict=True)), hops=1, weights=True, draws=0)
    assert float(found["ratio"][0]) == pytest.approx(geary, rel=1e-12)
    assert float(found["z"][0]) == pytest.approx((geary - 1) / math.sqrt(geary_variance), rel=1e-9)
    assert float(found["moran"][0]) == pytest.approx(moran, rel=1e-12)
    assert float(found["moran_z"][0]) == pytest.approx((moran + 1 / (n - 1)) / std, rel=1e-9)
    assert np.isnan(found["p"]).all()


def test_planted_signals_have_their_sign():
    ring = nx.cycle_graph(40)
    slow, fast = np.cos(2 * np.pi * np.arange(40) / 40), (-1.0) ** np.arange(40)
    z = st.correlogram(ring, slow, draws=0)["z"].values
    assert z[0] < -4
    assert z[19] > 3
    assert np.all(np.sign(st.correlogram(ring, fast, draws=0)["z"].values) == -fast[1:21])


def test_distant_characters_of_les_miserables_are_unlike_in_the_spectral_layout():
    graph = nx.les_miserables_graph()
    found = st.correlogram(graph, nx.spectral_layout(graph), weights=False, metric="euclidean")
    assert found["z"].sel(hop=2) < -2
    assert (found["z"].sel(hop=[4, 5]) > 4).all()
    assert (found["p"].sel(hop=[4, 5]) <= 1e-3).all()


# ---- p


def null_p(signals, graph, draws, **options):
    strat = st.Stratification(graph, hops=2)
    return st.correlogram(strat, signals, draws=draws, max_draws=0, **options)["p"].values


@pytest.mark.parametrize("kind", ["normal", "pulses", "vectors"])
def test_p_is_uniform_or_conservative_under_the_null(kind):
    rng = np.random.default_rng(11)
    shape = (600, 25, 3 if kind == "vectors" else 1)
    signals = rng.standard_normal(shape) if kind != "pulses" else (rng.random(shape) < 0.15).astype(float)
    signals[:, 0] += (kind == "pulses") * (signals.sum(axis=1) == 0)
    p = null_p(signals, nx.connected_watts_strogatz_graph(25, 4, 0.2, seed=1), 99)
    p = p[~np.isnan(p).any(axis=1)]
    for level in (0.01, 0.05, 0.2, 0.5):
        share = np.mean(p <= level, axis=0)
        error = np.sqrt(level * (1 - level) / len(p))
        assert np.all(share <= level + 3 * error)
        if kind != "pulses":
            assert np.all(share >= level - 3 * error)


def test_sequential_draws_keep_the_level(monkeypatch):
    """The rule alone: observed and drawn sums are of one distribution."""
    rng = np.random.default_rng(2)

    class Fake:
        def __init__(self, rows, t, seed):
            pass

        def choose(self, rows):
            pass

        def batches(self, draws, every=None):
            return (np.empty((count, 1)) for count in np.diff([*range(0, draws, 500), draws]) if count)

        def sums(self, orders):
            return rng.random((len(orders), 1))

    monkeypatch.setattr(pair_draws, "Orders", Fake)
    one, found = np.ones(1), []
    for observed in rng.random(8_000):
        found.append(drawn_p([None], np.zeros((20, 1)), observed * one, one / 2, one, 399, np.array([7999]), 0))
    p = np.array([drawn.p[0] for drawn in found])
    used = np.array([drawn.draws[0] for drawn in found])
    for level in (0.05, 0.01, 0.005, 0.001):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level / len(p))
    assert np.mean(p <= 0.05) > 0.045
    assert used.max() == 7999
    early = (used > 399) & (used < 7999)
    assert early.any()
    assert p[early] * used[early] == pytest.approx(40)  # stopped at the twentieth of one tail


def test_ties_count_also_in_single_precision():
    labels = np.repeat([0.1, 0.7], 10)
    graph = nx.random_regular_graph(3, 20, seed=3)
    rng = np.random.default_rng(0)
    order = rng.permutation(20)
    double = st.correlogram(graph, labels[order], draws=499)
    single = st.correlogram(graph, labels.astype(np.float32)[order], draws=499)
    assert single["p"].values.tolist() == double["p"].values.tolist()
    scaled = st.correlogram(graph, 1e3 * labels[order] + 7, draws=499)
    assert scaled["p"].values.tolist() == double["p"].values.tolist()


def test_the_floor_is_stored():
    found = st.correlogram(nx.path_graph(60), np.arange(60.0), hops=1, max_draws=1999)
    assert int(found["draws_used"][0]) == 1999
    assert float(found["p"][0]) == float(found["p_floor"][0]) == 2 / 2000
    assert found["p_method"].values.tolist() == ["permutation"]


def test_matched_p_agree_with_draws_from_a_thousand_nodes():
    rng = np.random.default_rng(5)
    graph = nx.random_geometric_graph(1000, 0.06, seed=4)
    spread = rng.standard_normal((1000, 30)) ** 3  # heavy tails
    spread[:, :10] += 8 * np.array([graph.nodes[node]["pos"] for node in graph])[:, :1] * rng.random(10)
    found = st.correlogram(graph, spread, hops=1, columns="separate", draws=999)
    small = found["p_permutation"].values < 0.01
    assert small.any()
    assert np.array_equal(found["p_method"].values == "moments", small)
    assert found.attrs["moments_confirmed"] == 30
    assert found.attrs["moments_agreement"] >= 0.9
    strata = Strata(as_graph(graph), 1)
    t = centred(spread.T[:, :, None])
    skew = pair_draws_skewness(strata, t)
    matched = moments_p(found["z"].values[:, 0], skew)
    used = np.full(len(matched), 999)
    assert agreement(matched, found["p_permutation"].values[:, 0], used) >= 0.9


@pytest.mark.parametrize("kind", ["lognormal", "pulses", "normal"])
def test_skewed_columns_on_hubs_keep_their_level(kind):
    """Moments alone give 19 % of lognormal columns p <= .01 on this graph."""
    rng = np.random.default_rng(6)
    values = rng.standard_normal((1000, 400))
    values = {"lognormal": np.exp(values), "pulses": 1.0 * (values > 2.6), "normal": values}[kind]
    graph = nx.barabasi_albert_graph(1000, 3, seed=1)
    found = st.correlogram(graph, values, hops=1, columns="separate", draws=199)
    p = found["p"].values[:, 0]
    assert np.array_equal(np.isnan(p), values.max(axis=0) == values.min(axis=0))
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level * (1 - level) / 400)
    matched = found["p_method"].values == "moments"
    assert matched.any() == (kind == "normal")
    assert np.nanmax(found["p_floor"].values) == 2 / 200


def pair_draws_skewness(strata, t):
    from spectrata.stats.pair_skewness import graph_cubes, signal_cubes, skewness

    rows = pair_rows(strata, strata.hops)
    n = t.shape[1]
    return skewness(graph_cubes(rows, n), signal_cubes(t[:, :, 0].T), pair_null(strata, t)[1], n)[:, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_skewness_is_that_of_all_orders(weighted):
    rng = np.random.default_rng(8)
    for edges, n in (([(0, 1), (1, 2)], 3), ([(0, 1), (1, 2), (2, 3), (3, 0), (1, 4)], 5), (KITE.edges, 6)):
        weights = rng.uniform(0.5, 3, len(edges)) if weighted else None
        strata = Strata(as_graph(edges=list(edges), n_nodes=n, weights=weights), 1)
        t = centred(rng.gamma(1.0, size=(2, n, 1)))
        orders = np.array(list(itertools.permutations(range(n))))
        for row, found in zip(t, pair_draws_skewness(strata, t), strict=True):
            drawn = pair_sums(strata, row[orders])[:, 0]
            off = drawn - drawn.mean()
            assert found == pytest.approx(np.mean(off**3) / np.mean(off**2) ** 1.5, rel=1e-9)


# ---- columns, snapshots, unusual signals


def test_columns_are_signals_of_their_own():
    rng = np.random.default_rng(3)
    graph = nx.karate_club_graph()
    table = pd.DataFrame(rng.standard_normal((34, 4)), index=list(graph), columns=["a", "b", "c", "d"])
    table["c"] = 2.5
    found = st.correlogram(graph, table, hops=2, columns="separate", weights=False, draws=99)
    assert found["column"].values.tolist() == ["a", "b", "c", "d"]
    assert found["ratio"].dims == ("column", "hop")
    for name in "abd":
        one = st.correlogram(graph, table[name], hops=2, weights=False, draws=99)
        for field in ("ratio", "z", "p", "moran", "mean_square"):
            assert found[field].sel(column=name).values == pytest.approx(one[field].values, rel=1e-12)
    for hop in (1, 2):
        p = found["p"].sel(hop=hop, column=["a", "b", "d"]).values
        rank = np.argsort(np.argsort(p))
        expected = [min(1.0, min(p[j] * 3 / (rank[j] + 1) for j in range(3) if rank[j] >= rank[i])) for i in range(3)]
        assert found["q"].sel(hop=hop, column=["a", "b", "d"]).values == pytest.approx(expected)
    constant = found.sel(column="c")
    assert np.isnan(constant[["ratio", "z", "p", "q", "moran"]].to_array()).all()
    assert constant["status"].values.tolist() == [pair_cells.CONSTANT_SIGNAL] * 2
    with pytest.raises(OptionError, match="separate"):
        st.correlogram(graph, table, columns="separate", metric="angular", weights=False)


def test_snapshots_are_tested_one_by_one():
    rng = np.random.default_rng(4)
    graph = nx.path_graph(15)
    for d in (1, 3):
        values = rng.standard_normal((3, 15, d))
        found = st.correlogram(graph, values, draws=99)
        assert found["ratio"].dims == ("snapshot", "hop")
        for row in range(3):
            one = st.correlogram(graph, values[row], draws=99)
            for field in ("ratio", "z", "p", "draws_used"):
                assert found[field].values[row] == pytest.approx(one[field].values, rel=1e-10)
    wide = st.correlogram(graph, values, columns="separate", draws=0)
    assert dict(wide["ratio"].sizes) == {"snapshot": 3, "column": 3, "hop": 14}
    assert wide["ratio"].values[1, 2] == pytest.approx(st.correlogram(graph, values[1, :, 2], draws=0)["ratio"].values)


@pytest.mark.parametrize("change", [lambda x: x * 1e200, lambda x: x * 1e-200, lambda x: x + 1e5, lambda x: -3 * x])
def test_size_and_shift_do_not_matter(change):
    x = np.random.default_rng(6).standard_normal(30)
    graph = nx.connected_watts_strogatz_graph(30, 4, 0.3, seed=2)
    plain = st.correlogram(graph, x, draws=99)
    with pytest.warns(SpectrataWarning) if abs(change(1.0)) in (1e200, 1e-200) else nullcontext():
        moved = st.correlogram(graph, change(x), draws=99)
    for field in ("ratio", "z", "moran", "moran_z"):
        assert moved[field].values == pytest.approx(plain[field].values, rel=1e-8)
    assert moved["p"].values.tolist() == plain["p"].values.tolist()


def test_relabelled_nodes_change_nothing_but_the_draws():
    graph = nx.les_miserables_graph()
    degree = dict(graph.degree)
    other = nx.Graph()
    other.add_nodes_from(sorted(graph, reverse=True))
    other.add_edges_from(graph.edges)
    first, second = (st.correlogram(one, degree, weights=False, draws=0) for one in (graph, other))
    for field in ("ratio", "z", "moran_z"):
        assert first[field].values == pytest.approx(second[field].values, rel=1e-10)


def test_degenerate_and_tiny_graphs_have_words():
    complete = st.correlogram(nx.complete_graph(6), range(6))
    assert float(complete["ratio"][0]) == pytest.approx(1)
    assert complete["status"].values.tolist() == [pair_cells.DEGENERATE]
    assert np.isnan(complete["z"][0])
    assert float(complete["p"][0]) == 1
    pair = st.correlogram(nx.path_graph(2), [0.0, 1.0])
    assert pair["status"].values.tolist() == [pair_cells.DEGENERATE]
    three = st.correlogram(nx.path_graph(3), [0.0, 1.0, 5.0])
    assert np.isfinite(three["z"]).all()
    assert (three["p"] > 0.1).all()
    constant = st.correlogram(nx.path_graph(4), np.full((4, 2), 0.1))
    assert set(constant["status"].values) == {pair_cells.CONSTANT_SIGNAL}
    lengths = np.arange(1.0, 5)[:, None] * [0.3, 0.4]  # one direction
    assert set(st.correlogram(nx.path_graph(4), lengths)["status"].values) == {pair_cells.CONSTANT_SIGNAL}


def test_zero_vectors():
    values = np.array([[[1.0, 0], [0, 1], [1, 1], [2, 0]], [[1.0, 0], [0, 0], [1, 1], [2, 0]]])
    with pytest.raises(ZeroVectorError):
        st.correlogram(nx.path_graph(4), values)
    found = st.correlogram(nx.path_graph(4), values, zero_vectors="nan")
    assert set(found["status"].values[1]) == {pair_cells.ZERO_VECTORS}
    assert np.isnan(found["ratio"].values[1]).all()
    assert np.isnan(found["mean_square"].values[1]).all()
    assert np.isfinite(found["ratio"].values[0]).all()
    zero = st.correlogram(nx.path_graph(4), values, zero_vectors="zero", draws=0)
    assert np.isfinite(zero["ratio"].values[1]).all()


def test_same_seed_same_bits_for_any_number_of_threads(monkeypatch):
    graph = nx.connected_watts_strogatz_graph(120, 4, 0.2, seed=2)
    for d in (1, 3, 9):
        values = np.random.default_rng(d).standard_normal((120, d)) + np.linspace(0, 2, 120)[:, None]
        found = []
        for threads in ("1", "3"):
            monkeypatch.setenv("SPECTRATA_THREADS", threads)
            monkeypatch.setattr("spectrata.kernels.fast.COMPILED_WORK", 1e3)
            found.append(st.correlogram(graph, values, hops=3, max_draws=4000))
        assert found[0].equals(found[1])
        other = st.correlogram(graph, values, hops=3, max_draws=4000, seed=1)
        assert not np.array_equal(other["p"], found[0]["p"])


def test_draws_of_long_vectors_read_the_same_orders():
    rng = np.random.default_rng(9)
    graph = as_graph(nx.connected_watts_strogatz_graph(40, 4, 0.2, seed=2), weights=None)
    for weights in (None, rng.uniform(0.5, 2, graph.n_edges)):
        strata = Strata(as_graph(graph, weights=weights))
        rows = pair_rows(strata, strata.hops)
        t = centred(rng.standard_normal((1, 40, 6)))[0]
        orders = rng.permuted(np.broadcast_to(np.arange(40), (17, 40)), axis=1)
        expected = pair_sums(strata, t[orders])
        dense = pair_draws.Orders(rows, t, 0)
        assert dense.known is not None
        assert dense.sums(orders) == pytest.approx(expected, rel=1e-10)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("spectrata.kernels.fast.COMPILED_WORK", 1)
            assert dense.sums(orders) == pytest.approx(expected, rel=1e-10)
            patch.setattr(pair_draws, "GRAM_NODES", 0)
            assert pair_draws.Orders(rows, t, 0).sums(orders) == pytest.approx(expected, rel=1e-10)


# ---- large graphs


def test_all_roots_give_all_pairs():
    graph = nx.fast_gnp_random_graph(90, 0.03, seed=2)
    for values in (np.random.default_rng(0).standard_normal((2, 90, 3)), np.random.default_rng(0).standard_normal(90)):
        found = st.correlogram(graph, values, roots=90, draws=99)
        exact = st.correlogram(graph, values, draws=99)
        for field in ("ratio", "z", "mean_square"):
            assert found[field].values == pytest.approx(exact[field].values, rel=1e-9)
        assert found["n_pairs"].values == pytest.approx(exact["n_pairs"].values)
        assert float(found["ratio_error"].max()) == 0
        assert found.attrs["roots"] == 90


def test_sampled_ratios_have_honest_errors_and_exact_z():
    rng = np.random.default_rng(3)
    graph = as_graph(nx.fast_gnp_random_graph(200, 0.04, seed=5))
    signal = rng.standard_normal((200, 2)) + np.linspace(0, 1, 200)[:, None]
    truth = st.correlogram(graph, signal, 3, metric="euclidean", draws=0)
    found = [st.correlogram(graph, signal, 3, roots=60, metric="euclidean", draws=0, seed=k) for k in range(200)]
    ratio, error = (np.stack([one[name].values for one in found]) for name in ("ratio", "ratio_error"))
    assert ratio[:, 0] == pytest.approx(np.full(200, truth["ratio"].values[0]))  # hop 1 is read whole
    assert not error[:, 0].any()
    inside = np.mean(np.abs(ratio - truth["ratio"].values) <= 2 * error, axis=0)[1:]
    assert np.all((inside > 0.9) & (inside < 0.99))
    noise = rng.standard_normal((300, 200, 1))
    z = st.correlogram(graph, noise, [2, 3], roots=40, draws=0)["z"].values
    assert np.all(np.abs(z.mean(axis=0)) < 4 / np.sqrt(300))
    assert np.all(np.abs(z.std(axis=0) - 1) < 0.16)


def test_roots_and_refusals():
    path, signal = nx.path_graph(9), range(9)
    with pytest.raises(OptionError, match="roots"):
        st.correlogram(path, signal, roots=1)
    with pytest.raises(HopError, match="20"):
        st.correlogram(path, signal, roots=9, hops=[20])
    with pytest.raises(OptionError, match="roots= counts"):
        st.correlogram(nx.path_graph(4), range(4), weights=[1, 2, 3], roots=2)
    with pytest.raises(OptionError, match="draws"):
        st.correlogram(path, signal, draws=-1)
    with pytest.raises(OptionError, match="columns"):
        st.correlogram(path, signal, columns="each")
    with pytest.raises(OptionError, match="graph read already"):
        st.correlogram(st.Stratification(path), signal, hops=2)
    with pytest.raises(OptionError, match="This is a result"):
        st.correlogram(st.spectra(path, signal), signal)
    with pytest.raises(HopError, match="larger than the diameter"):
        st.correlogram(path, signal, hops=[20])
    long = st.correlogram(nx.path_graph(300), np.arange(300.0), roots=300, draws=0)
    assert long.sizes["hop"] == 299
    clique = st.correlogram(nx.lollipop_graph(150, 9), np.arange(159.0), roots=100, draws=0)
    assert str(clique["status"].sel(hop=1).values) == "ok"
    assert str(clique["status"].sel(hop=3).values) == pair_cells.FEW


def test_large_graphs_need_no_distances(monkeypatch):
    graph = nx.connected_watts_strogatz_graph(80, 4, 0.2, seed=2)
    signal = np.random.default_rng(0).standard_normal(80)
    weights = np.random.default_rng(1).uniform(0.5, 2, graph.number_of_edges())
    exact = [st.correlogram(graph, signal, 3, weights=w, draws=0) for w in (None, weights)]
    monkeypatch.setattr(pair_sources, "ALL_PAIRS", 50)
    monkeypatch.setattr("spectrata.kernels.fast.hop_distances", None)
    for w, truth in zip((None, weights), exact, strict=True):
        found = st.correlogram(graph, signal, 3, weights=w, draws=0)
        for field in ("ratio", "z", "moran_z", "n_pairs"):
            assert found[field].values == pytest.approx(truth[field].values, rel=1e-10)
    with pytest.warns(SpectrataWarning, match="100 random roots"):
        every = st.correlogram(graph, signal, draws=0)
    assert every["ratio"].values[:3] == pytest.approx(exact[0]["ratio"].values)
    with pytest.raises(HopError, match="larger than the diameter"):
        st.correlogram(graph, signal, hops=[1, 70])
