"""The test of band shares in ``compare``: exchanges by brute force, its null, and what it refuses."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import calls
import spectrata as st
from spectrata.stats.describe.compare import band_forms, comparable, exchanged_shifts, max_shift_test


def test_the_largest_shift_of_four_draws():
    reach, p = max_shift_test(np.array([[0.3, -0.3], [0.1, -0.1], [-0.1, 0.1], [0.1, -0.1]]))
    assert p.tolist() == [0.25, 0.25]
    np.testing.assert_allclose(reach, [0.3, 0.3])


GRAPH = nx.connected_watts_strogatz_graph(18, 4, 0.2, seed=1)
RNG = np.random.default_rng(5)


def shares(strat, values, bands=4, **options):
    """Band shares off zero by way of ``summary``-free arithmetic: gft energies of components in quarters."""
    ds = st.merge_eigenspaces(calls.spectra(strat, values, "gft", metric="euclidean", **options))
    energy = ds["magnitude"].loc["gft", 1].values ** 2
    sizes = ds["multiplicity"].loc[1].values
    zero = ds["is_zero"].loc[1].values
    off = np.flatnonzero(~zero & (sizes > 0))
    middle = (np.cumsum(sizes[off]) - sizes[off] / 2) / sizes[off].sum()
    band = np.minimum((middle * bands).astype(int), bands - 1)
    found = np.array([energy[off][band == b].sum() for b in range(bands)])
    return found / found.sum()


@pytest.mark.parametrize("options", [{}, {"laplacian": "random_walk", "self_loops": True}, {"laplacian": "normalized"}])
@pytest.mark.parametrize("d", [1, 3])
def test_an_exchange_is_the_spectrum_of_exchanged_signals(options, d):
    strat = st.Stratification(GRAPH, hops=1)
    a, b = RNG.normal(size=(2, 18, d))
    signs = np.vstack([np.ones(18), RNG.choice([-1.0, 1.0], size=(4, 18))])
    forms = band_forms(strat.basis(1, **({"laplacian": "combinatorial"} | options)), 4)
    found = exchanged_shifts(a, b, forms, signs)
    for row, s in zip(found, signs, strict=True):
        turn = (s < 0)[:, None]
        expected = shares(strat, np.where(turn, a, b), **options) - shares(strat, np.where(turn, b, a), **options)
        np.testing.assert_allclose(row, expected, atol=1e-12)


def test_the_p_is_that_of_all_exchanges():
    """Eight nodes: all 256 exchanges, the statistic written out."""
    graph = nx.path_graph(8)
    strat = st.Stratification(graph, hops=1)
    a, b = np.arange(8.0), RNG.normal(size=8)
    found = st.compare(strat.spectra(a, "gft"), strat.spectra(b, "gft"), bands=2, draws=4000).loc[{"algorithm": "gft"}]
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    u = np.linalg.eigh(nx.laplacian_matrix(graph).toarray().astype(float))[1]  # simple eigenvalues, bands of 3 and 4

    def halves(signal):
        energy = np.sum((u[:, 1:].T @ signal) ** 2, axis=1)
        return np.array([energy[:3].sum(), energy[3:].sum()]) / energy.sum()

    worst = np.zeros(2)
    for first, second in comparable(a[:, None], b[:, None], np.zeros(8, dtype=int), "euclidean"):
        shifts = []
        for s in signs:
            turn = (s < 0)[:, None]
            sides = np.where(turn, first, second), np.where(turn, second, first)
            shifts.append(np.subtract(*map(halves, sides)))
        shifts = np.array(shifts)
        size = np.sqrt((shifts**2).mean(axis=0))
        np.testing.assert_allclose(shifts[0], found["energy_shift"].loc[1], atol=1e-12)
        largest = np.abs(shifts / size).max(axis=1)
        worst = np.maximum(worst, [(largest >= abs(shift) - 1e-9).mean() for shift in shifts[0] / size])
    np.testing.assert_allclose(found["shift_p"].loc[1], worst, atol=0.04)
    inside = (found["shift_low"] <= found["energy_shift"]) & (found["energy_shift"] <= found["shift_high"])
    np.testing.assert_array_equal(inside, found["shift_p"] > 0.05)


def test_the_common_mean_and_size_do_not_change_when_nodes_are_exchanged():
    a, b = RNG.normal(3.0, 1.0, (9, 2)), RNG.standard_cauchy((9, 2))
    parts = np.array([0] * 5 + [1] * 4)
    plain = comparable(a, b, parts, "euclidean")[0]
    turn = RNG.random((9, 1)) < 0.5
    turned = comparable(np.where(turn, b, a), np.where(turn, a, b), parts, "euclidean")[0]
    np.testing.assert_allclose(turned[0], np.where(turn, plain[1], plain[0]), atol=1e-12)
    np.testing.assert_allclose(turned[1], np.where(turn, plain[0], plain[1]), atol=1e-12)


@pytest.mark.parametrize("kind", ["normal", "cauchy", "offset and factor", "one signal with errors"])
def test_two_signals_of_one_distribution_are_told_apart_at_the_level(kind):
    strat = st.Stratification(GRAPH, hops=1)
    forms, parts = band_forms(strat.basis(1), 4), np.zeros(18, dtype=int)
    rng = np.random.default_rng(0)
    runs, count = 300, 0
    for _ in range(runs):
        a, b = rng.standard_cauchy((2, 18, 1)) if kind == "cauchy" else rng.normal(size=(2, 18, 1))
        if kind == "offset and factor":
            b = 10 * b + 100
        if kind == "one signal with errors":
            a, b = np.arange(18.0)[:, None] + a, np.arange(18.0)[:, None] + b
        signs = np.vstack([np.ones(18), rng.choice([-1.0, 1.0], size=(99, 18))])
        p = np.max(
            [max_shift_test(exchanged_shifts(*pair, forms, signs))[1] for pair in comparable(a, b, parts, "euclidean")],
            0,
        )
        count += p.min() <= 0.05
    assert count / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
def test_exchanging_the_two_results_turns_signs_and_nothing_else(metric):
    """All variables, with labels in another order on one side."""
    graph = nx.disjoint_union(GRAPH, nx.path_graph(4))
    strat = st.Stratification(graph, hops=3)
    signals = RNG.normal(1.0, 1.0, (2, 3, 22, 2))
    a, b = (strat.spectra(values, metric=metric) for values in signals)
    b = b.isel(snapshot=[2, 0, 1], hop=[1, 0, 2], node=RNG.permutation(22), algorithm=[1, 0, 2, 3])
    one, other = st.compare(a, b, draws=49), st.compare(b, a, draws=49)
    other = other.sel({dim: one[dim].values for dim in ("snapshot", "hop", "algorithm")})
    assert set(one.data_vars) == set(other.data_vars)
    turned = {"largest_difference": -1, "energy_shift": -1}
    partner = {"shift_low": ("shift_high", -1), "shift_high": ("shift_low", -1)}
    for name in ("cosine_flat", "off_zero"):
        partner |= {f"{name}_a": (f"{name}_b", 1), f"{name}_b": (f"{name}_a", 1)}
    for name in one.data_vars:
        twin, sign = partner.get(name, (name, turned.get(name, 1)))
        expected = other[twin].transpose(*one[name].dims)
        if name == "status":
            assert (one[name] == expected).all()
        else:
            np.testing.assert_allclose(one[name], sign * expected, rtol=1e-9, atol=1e-9, err_msg=name)


def test_a_signal_differs_from_itself_in_nothing():
    ds = st.spectra(GRAPH, RNG.normal(size=18), "gft", hops=2)
    found = st.compare(ds, ds, draws=19)
    assert (found["shift_p"] == 1).all()
    np.testing.assert_allclose(found["shift_high"], 0, atol=1e-12)


def test_a_smooth_and_a_rough_signal_differ():
    grid = nx.grid_2d_graph(7, 7)
    smooth = {node: sum(node) for node in grid}
    rough = {node: (-1) ** sum(node) for node in grid}
    found = st.compare(*(st.spectra(grid, s, "gft", hops=1) for s in (smooth, rough)), draws=199)
    assert found["shift_p"].values.min() == 1 / 200


def test_many_snapshots_are_tested_at_both_ends():
    strat = st.Stratification(nx.cycle_graph(12), hops=1)
    a, b = (strat.spectra(values, "gft") for values in RNG.normal(size=(2, 12, 12, 2)))
    tested = st.compare(a, b, draws=19)["shift_p"].notnull().all("band").values.ravel()
    assert tested.tolist() == [True, *[False] * 10, True]
    alone = st.compare(a.isel(snapshot=0), b, draws=19)  # one signal against all snapshots
    assert alone["shift_p"].sizes["snapshot"] == 12


def reason(a, b, **more):
    found = st.compare(a, b, **more)
    assert "shift_p" not in found
    return found.attrs["shift_test"]


def test_what_has_no_test_says_why():
    strat = st.Stratification(GRAPH, hops=1)
    x, y = RNG.normal(size=(2, 18, 2))
    ds = strat.spectra(x)
    assert reason(ds, strat.spectra(y), draws=0) == "none: no draws"
    assert "not kept" in reason(ds, strat.using(keep=()).spectra(y))
    assert "2 and 3 columns" in reason(ds, strat.spectra(RNG.normal(size=(18, 3))))
    assert "only gft" in reason(ds.sel(algorithm=["in_agg"]), strat.spectra(y))
    constant = st.compare(ds, strat.spectra(np.ones((18, 2))), draws=9)
    assert constant["shift_p"].isnull().all()


def test_a_large_mean_does_not_hide_a_spectrum():
    """Differences that double precision still holds are no rounding, whatever the mean."""
    strat = st.Stratification(nx.path_graph(24), hops=2)
    slope = np.linspace(-1, 1, 24)
    other = strat.spectra(RNG.normal(size=24), "gft")
    plain = st.compare(strat.spectra(slope, "gft"), other, draws=49)
    given = slope + 1e13  # a unit in the last place of 1e13 is 0.002
    exact = st.compare(strat.spectra(given - 1e13, "gft"), other, draws=49)
    found = st.compare(strat.spectra(given, "gft"), other, draws=49)
    assert (found["status"] == "ok").all()
    for name in ("correlation", "cosine", "energy_shift", "wasserstein"):
        np.testing.assert_allclose(found[name], exact[name], rtol=1e-6, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(found[name], plain[name], atol=2e-2, err_msg=name)
    np.testing.assert_allclose(
        st.response(given, slope, strat)["share_before"],
        st.response(given - 1e13, slope, strat)["share_before"],
        rtol=1e-6,
    )
    for value in (0.1, 1e13 + 0.3):
        constant = st.compare(strat.spectra(np.full(24, value), "gft"), other, draws=9)
        assert (constant["status"] == "undefined: a spectrum without energy").all()


def test_separate_columns_are_matched_by_their_names():
    ring = nx.cycle_graph(14)
    tables = [pd.DataFrame(RNG.normal(size=(14, 3)), columns=list("xyz")) for _ in range(2)]
    a, b = (st.spectra(ring, table, "gft", hops=1, columns="separate") for table in tables)
    found = st.compare(a, b.isel(column=[2, 0, 1]), draws=19)
    for name in "xyz":
        alone = st.compare(*(st.spectra(ring, table[name], "gft", hops=1) for table in tables), draws=19)
        for variable in ("energy_shift", "shift_p", "correlation"):
            np.testing.assert_allclose(found[variable].sel(column=name), alone[variable])
