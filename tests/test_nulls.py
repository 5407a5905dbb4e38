"""Orders, stopping, correction and covariates: the one place that draws."""

from itertools import permutations

import networkx as nx
import numpy as np
import pytest

import spectrata as st
from spectrata.stats.nulls.correction import adjust, over_columns, smallest_p, tails, two_sided
from spectrata.stats.nulls.given import (
    Covariates,
    degree_runs,
    independent,
    leaves_nothing,
    read_given,
    relative_degrees,
    residual,
)
from spectrata.stats.nulls.orders import arrangements, block_orders, orders
from spectrata.stats.nulls.stopping import Chance, chance_interval, interval, looks, run_columns, run_family, tail_p


@pytest.mark.parametrize("n", [1, 7, 300, 70_000])
@pytest.mark.parametrize("blocked", [False, True])
def test_an_order_depends_on_seed_and_number_alone(n, blocked):
    blocks = np.arange(n) // 3 if blocked else None
    some = orders(5, n, 0, 3, blocks) if n > 1000 else orders(5, n, 0, 70, blocks)
    for start, stop in ((1, 3), (2, 3)):
        assert (orders(5, n, start, stop, blocks) == some[start:stop]).all()
    assert (np.sort(some, axis=1) == np.arange(n)).all()
    if blocked:
        assert (some // 3 == np.arange(n) // 3).all()
    if n > 100:
        assert (orders(6, n, 0, 1, blocks) != some[:1]).any()
        assert (some == np.arange(n)).mean() < (0.4 if blocked else 0.02)  # of three, one keeps its place on average


def test_all_orders_are_equally_likely():
    found, counts = np.unique(orders(1, 4, 0, 24_000), axis=0, return_counts=True)
    assert len(found) == 24
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)


@pytest.mark.parametrize("values", [[0, 0, 1, 1, 2], [0, 1, 2, 3, 4], [3, 3, 3, 3, 3]])
@pytest.mark.parametrize("nodes", [[0, 1, 2, 3, 4], [1, 3], [4]])
def test_arrangements_have_the_shares_of_all_orders(values, nodes):
    values = np.array(values, dtype=float)[:, None]
    found = arrangements(values, np.array(nodes))
    expected = {}
    for order in permutations(range(5)):
        key = tuple(values[list(order), 0][nodes])
        expected[key] = expected.get(key, 0) + 1 / 120
    got = {tuple(values[row, 0][nodes]): w for row, w in zip(*found, strict=True)}
    assert got.keys() == expected.keys()
    assert all(abs(got[key] - expected[key]) < 1e-12 for key in got)


def test_too_many_arrangements_are_not_listed():
    assert arrangements(np.arange(9.0)[:, None], np.arange(9)) is None
    assert len(arrangements(np.arange(8.0)[:, None], np.arange(8))[0]) == 40_320
    assert arrangements(np.arange(3000.0)[:, None], np.arange(2)) is None
    assert block_orders(np.zeros(9, dtype=int)) is None
    assert len(block_orders(np.array([0, 0, 0, 1, 1, 2]))[0]) == 12


def test_the_interval_covers_and_the_second_look_is_taken_near_the_level():
    rng = np.random.default_rng(0)
    counts = rng.binomial(999, 0.025, size=4000)
    low, high = interval(counts, 999)
    assert np.mean((low <= 0.025) & (high >= 0.025)) > 0.997
    normal = np.random.default_rng(1).normal(size=(9_999, 2))
    result = run_family(np.array([1.96, 0.1]), lambda a, b, which: normal[a:b, which], looks(10), 10)
    assert result.draws.tolist() == [9_999, 999]
    assert result.near_level.tolist() == [False, False]  # corrected over two, p is .1
    alone = run_family(np.array([1.96]), lambda a, b, which: normal[a:b, :1], looks(10), 10)
    assert alone.p[0] == result.p[0] == alone.p_family[0]
    assert alone.near_level[0]


@pytest.mark.parametrize(
    ("n", "draws", "at"),
    [(100, None, (999, 9_999)), (100, 99_999, (999, 99_999)), (100, 199, (199,)), (200_000, None, (499,)), (9, 0, ())],
)
def test_looks(n, draws, at):
    assert looks(n, draws) == at


def test_the_interval_of_few_draws_is_as_wide_as_its_level_promises():
    drawn = np.random.default_rng(0).normal(size=(39, 4))
    assert np.array_equal(chance_interval(drawn), [drawn.min(axis=0), drawn.max(axis=0)])
    lost = np.vstack([drawn, np.full(4, np.nan)])  # undefined draws drop out
    assert np.array_equal(chance_interval(lost), chance_interval(drawn))
    many = np.random.default_rng(1).normal(size=(2_000, 40, 1))  # the last of each 40 is a further draw
    ends = np.array([chance_interval(one[:-1])[:, 0] for one in many])
    misses = np.mean((many[:, -1, 0] < ends[:, 0]) | (many[:, -1, 0] > ends[:, 1]))
    assert 0.035 < misses < 0.065  # 5 %; of linear quantiles 9.5 %


def test_tails_and_corrections_of_a_few_values():
    upper, lower = tails(np.array([0.5]), np.array([[0.1], [0.5], [0.9], [np.nan]]))
    assert (upper.tolist(), lower.tolist()) == ([3.0], [3.0])  # a tie and an undefined draw count in both
    assert two_sided(np.array([0.0, 1.0, 2.0, 2.0]), np.full(4, 0.25)).tolist() == [0.5, 1.0, 1.0, 1.0]
    np.testing.assert_allclose(adjust(np.array([0.01, 0.04, np.nan, 0.03])), [0.03, 0.04, np.nan, 0.04])
    np.testing.assert_allclose(over_columns(np.array([[0.01, 0.5], [0.04, 0.8]])), [[0.02, 1.0], [0.04, 0.8]])
    lacking = np.array([[np.nan, 0.02], [np.nan, np.nan]])
    np.testing.assert_allclose(over_columns(lacking), lacking)


def test_p_from_a_tail_is_refused_where_draws_repeat():
    drawn = np.random.default_rng(0).exponential(size=999)
    assert 1e-5 < tail_p(10.0, drawn) < 1e-3  # exp(-10) is 4.5e-5 on one side
    assert np.isnan(tail_p(50.0, np.round(drawn)))


def test_smallest_p_against_a_direct_count():
    rng = np.random.default_rng(2)
    drawn = np.round(rng.normal(size=(60, 3)), 1)
    drawn[5, 1] = np.nan
    observed = np.array([1.9, -0.4, 0.0])
    rows = np.concatenate([observed[None], drawn])
    each = np.empty(rows.shape)
    for i, row in enumerate(rows):
        for s in range(3):
            if np.isnan(row[s]):
                each[i, s] = 2 * np.isnan(rows[:, s]).sum() / 61
                continue
            upper, lower = tails(row[s : s + 1], rows[:, s : s + 1])
            each[i, s] = min(1, 2 * min(upper[0], lower[0]) / 61)
    expected = [(each.min(axis=1) <= each[0, s] + 1e-12).mean() for s in range(3)]
    assert smallest_p(observed, drawn)[0] == pytest.approx(expected, abs=1e-12)


def test_smallest_p_keeps_the_level_of_the_family():
    rng = np.random.default_rng(3)
    some = rng.normal(size=(400, 200, 1)) + 0.5 * rng.normal(size=(400, 200, 4))
    smallest = [smallest_p(one[0], one[1:])[0].min() for one in some]
    assert np.mean(np.array(smallest) <= 0.05) < 0.09


def test_columns_stop_early_and_clear_ones_have_a_fitted_tail():
    rng = np.random.default_rng(4)
    normal = rng.normal(size=(9_999, 30, 1))
    observed = rng.normal(size=(30, 1))
    observed[0] = 4.5
    asked = []

    def draw(start, stop, columns):
        asked.append(len(columns) * (stop - start))
        return normal[start:stop, columns]

    result = run_columns(observed, draw, looks(10))
    assert sum(asked) < 0.4 * 30 * 999
    assert result.by_tail[0, 0]
    assert 1e-6 <= result.p[0, 0] < 1e-4
    assert over_columns(result.p_family)[0, 0] < 0.05
    assert not result.by_tail[1:].any() or result.p[1:][result.by_tail[1:]].max() < 0.03


def test_p_of_a_column_does_not_depend_on_what_is_tested_with_it():
    rng = np.random.default_rng(7)
    normal, observed = rng.normal(size=(9_999, 40, 3)), rng.normal(size=(40, 3))
    observed[:5, 0] = 3.5  # draws on, beside statistics that stop early
    every = run_columns(observed, lambda a, b, some: normal[a:b, some], looks(10))
    for s in range(3):
        alone = run_columns(observed[:, [s]], lambda a, b, some, s=s: normal[a:b, some][:, :, [s]], looks(10))
        for name in ("p", "tail", "low", "high", "draws", "by_tail"):
            assert np.array_equal(getattr(every, name)[:, s], getattr(alone, name)[:, 0]), name
        assert (every.p_family[:, s] >= alone.p[:, 0]).all()


def test_near_the_level_by_q():
    found = Chance.unknown((5, 1))
    found.p[:] = found.p_family[:] = np.array([[0.01], [0.004], [0.4], [1e-4], [np.nan]])
    found.draws[:4], found.by_tail[3] = 999, True
    near = found.near_by_q(np.array([[0.045], [0.004], [0.8], [0.03], [np.nan]]))
    assert near[:, 0].tolist() == [True, False, False, True, False]
    assert not found.near_by_q(5 * found.p_family)[3, 0]


@pytest.mark.parametrize("kind", ["normal", "t3", "exponential"])
def test_a_fitted_tail_keeps_small_levels(kind):
    rng = np.random.default_rng(5)
    make = {
        "normal": rng.standard_normal,
        "t3": lambda s: rng.standard_t(3, s),
        "exponential": rng.standard_exponential,
    }
    reference = np.sort(np.abs(make[kind](200_000)))
    value = reference[-20] if kind != "exponential" else reference[-10]  # p is about 1e-4
    found = [tail_p(value, make[kind](999)) for _ in range(60)]
    assert 1e-5 < np.nanmedian(found) < 1e-3


def test_runs_and_columns_of_degree():
    rng = np.random.default_rng(6)
    degrees = rng.integers(1, 30, size=200).astype(float)
    runs = degree_runs(degrees, np.zeros(200, dtype=int))
    assert np.bincount(runs).min() >= 10
    order = np.argsort(degrees, kind="stable")
    assert (np.diff(runs[order]) >= 0).all()
    assert all(len(set(runs[degrees == d])) == 1 for d in degrees)
    basis = independent(np.column_stack([degrees, 3 * degrees - 2, np.full(200, 7.0)]))
    assert basis.shape == (200, 2)
    assert np.abs(basis.T @ basis - np.eye(2)).max() < 1e-12


def test_hubs_do_not_change_places_with_leaves():
    """K(3, 400): three hubs of degree 400 are a run of their own, so that no order mixes them with leaves."""
    rng = np.random.default_rng(0)
    signal = np.r_[5.0, -5.2, 4.8, rng.normal(size=400)]
    found = st.correlogram(nx.complete_bipartite_graph(3, 400), signal, hops=2, draws=199)
    assert found["p_given"].values.tolist() == [1.0, 1.0]  # all pairs of a run are joined: nothing changes
    assert found["verdict"].values[1] == "not beyond degree"
    runs = degree_runs(np.array([0.0] * 3 + [0.1] * 4 + [0.3] * 8 + [7.0, 20.0]), np.zeros(17, dtype=int))
    assert runs.tolist() == [0] * 3 + [1] * 12 + [2] * 2


def test_too_few_nodes_to_account_for_degree_are_named():
    graph = nx.lollipop_graph(3, 4)
    found = st.correlogram(graph, np.random.default_rng(1).normal(size=7), hops=2)
    few = [
        leaves_nothing(at) for at in map(read_given("degree", st.Stratification(graph, 2)).at, _participations(graph))
    ]
    assert any(few)
    for untested, status, p in zip(few, found["status"].values, found["p_given"].values, strict=True):
        assert np.isnan(p) == untested == ("too few nodes to account for degree" in status)


def _participations(graph):
    away = dict(nx.all_pairs_shortest_path_length(graph))
    return [np.array([sum(d == hop for d in away[x].values()) for x in graph], dtype=float) for hop in (1, 2)]


def test_given_degree_explains_functions_of_its_columns():
    graph = nx.barabasi_albert_graph(80, 2, seed=1)
    strat = st.Stratification(graph, 1)
    hop_two = np.array([sum(d == 2 for d in nx.single_source_shortest_path_length(graph, v).values()) for v in graph])
    assert relative_degrees(strat, 2) == pytest.approx(hop_two)
    known = read_given("degree", strat)
    at = known.at(relative_degrees(strat, 1))
    degree = np.array([graph.degree[v] for v in graph], dtype=float)
    for column in (degree, np.sqrt(degree), np.log1p(degree), np.log1p(hop_two), np.ones(80)):
        assert np.linalg.norm(residual(at, column[:, None])) < 1e-10 * np.linalg.norm(column)
    assert np.linalg.norm(residual(at, (degree**3)[:, None])) > 1e-3 * np.linalg.norm(degree**3)
    assert known.name == "degree"
    assert read_given(None, strat).name == ""


def test_given_takes_numbers_categories_and_several():
    import pandas as pd

    graph = nx.path_graph(40)
    nx.set_node_attributes(graph, {v: "ab"[v % 2] for v in graph}, "batch")
    strat = st.Stratification(graph, 1)
    counts = np.arange(40.0)
    one = read_given(counts, strat)
    assert (one.blocks == 0).all()
    assert np.linalg.norm(residual(one.at(np.ones(40)), counts[:, None])) < 1e-9
    batch = read_given("batch", strat)
    assert (batch.blocks == np.arange(40) % 2).all()
    both = read_given(["degree", "batch", counts], strat)
    assert both.name == "covariates"
    assert len(np.unique(both.blocks + 100 * (np.arange(40) % 2))) == len(np.unique(both.blocks))
    table = pd.DataFrame({"batch": ["ab"[v % 2] for v in graph], "total": counts})
    again = read_given(table, strat)
    assert (again.blocks == batch.blocks).all()
    assert again.numbers.shape == (40, 3)
    assert isinstance(again.of(np.arange(10)), Covariates)


def test_two_spikes_that_meet_are_counted_and_not_extrapolated():
    """Two of 2,001 nodes on a ring hold each column. They meet in one order of 1,000, which few of 999 see."""
    table = 1e-3 * np.random.default_rng(0).normal(size=(2001, 24))
    table[:2] = 1.0
    found = st.correlogram(nx.cycle_graph(2001), table, hops=1, columns="separate", given=None)
    assert not found["p_from_tail"].any()
    # Twice the share of orders that bring them together, times the rank of the noise among these: 0.002 times a
    # uniform number. A tail fitted to the other orders gives 1e-6.
    assert 0.0005 < found["p"].mean() < 0.002


def test_a_p_by_all_orders_within_blocks_is_not_zero():
    """The observed order is none of those of evened residuals; where it alone is so far out, it is one of them all."""
    graph = nx.gnp_random_graph(8, 0.35, seed=321)
    strat = st.Stratification(graph, 1)
    count = len(block_orders(read_given("degree", strat).blocks)[0])
    found = st.correlogram(strat, np.random.default_rng(321).normal(size=8))
    assert count == 5040
    assert found["p_given"].item() == pytest.approx(2 / (count + 1))
