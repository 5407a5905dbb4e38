"""Chance without a misleading floor: exact on tiny graphs, sequential beyond, from moments on large ones."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import false_discovery_control

import spectrata as st
from spectrata.errors import OptionError
from spectrata.stats import approximate, judge
from spectrata.stats.sequential import ENOUGH, Orders, Sequential, draws_needed
from spectrata.stats.tails import pearson_p, signal_thirds, space_thirds, third_moment

TINY = {
    "path": nx.path_graph(6),
    "star with a pair": nx.disjoint_union(nx.star_graph(3), nx.path_graph(2)),
    "weighted": nx.Graph(
        [(0, 1, {"w": 2.0}), (1, 2, {"w": 0.5}), (2, 3, {"w": 3.0}), (3, 4, {"w": 1.0}), (4, 5, {"w": 1.5})]
    ),
}
SIGNALS = {
    "noise": np.random.default_rng(1).normal(size=6) + 2,
    "pulse": np.eye(6)[2],
    "ties": np.array([1.0, 1, 0, 0, 3, 3]),
    "vectors": np.random.default_rng(2).normal(size=(6, 2)) + 0.5,
}


def energies(graph, t, laplacian, weights=None):
    """Energies per eigenspace of a signal ``(n, d)``, from the definition: ``{eigenvalue: energy}``."""
    w = nx.to_numpy_array(graph, nodelist=range(6), weight=weights)
    degrees = w.sum(axis=1)
    c = np.ones(6) if laplacian == "combinatorial" else np.where(degrees > 0, degrees, 1.0)
    root = np.diag(c**-0.5)
    values, u = np.linalg.eigh(root @ (np.diag(degrees) - w) @ root)
    along = u if laplacian == "normalized" else np.diag(c) @ root @ u
    energy = ((along.T @ t) ** 2).sum(axis=1)
    spaces = np.cumsum(np.diff(values, prepend=values[0]) > 1e-8)
    return np.bincount(spaces, energy)


@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk", "normalized"])
@pytest.mark.parametrize("kind", SIGNALS)
@pytest.mark.parametrize("name", TINY)
def test_z_and_p_are_those_over_all_permutations(name, kind, laplacian):
    graph, signal = TINY[name], SIGNALS[kind].reshape(6, -1)
    weights = "w" if name == "weighted" else None
    given = {"laplacian": laplacian, "metric": "euclidean", "algorithms": "gft", "hops": 1}
    found = st.calibrate(graph, signal, weights=weights or False, **given)
    every = np.array(
        [energies(graph, signal[list(order)], laplacian, weights) for order in itertools.permutations(range(6))]
    )
    observed, scale = every[0], (signal**2).sum()
    upper, lower = ((every >= observed - 1e-9 * scale).mean(axis=0), (every <= observed + 1e-9 * scale).mean(axis=0))
    moving = every.std(axis=0) > 1e-9 * scale
    p = np.where(moving, np.minimum(1, 2 * np.minimum(upper, lower)), 1.0)
    here = found.sel(algorithm="gft", hop=1)
    np.testing.assert_allclose(here["p"], p, rtol=1e-12)
    z = (observed - every.mean(axis=0))[moving] / every.std(axis=0)[moving]
    np.testing.assert_allclose(here["z"].values[moving], z, rtol=1e-6, atol=1e-9)
    assert (here["degenerate"].values == ~moving).all()
    assert (here["draws_used"] == 719).all()


def test_sequential_p_values_have_their_level():
    """Exchangeable numbers: the observed is one among the draws, whatever their distribution."""
    rng, cells, first, limit = np.random.default_rng(3), 40_000, 49, 999
    for alternative in ("two-sided", "greater"):
        draws = (
            rng.standard_normal((cells, limit + 1))
            if alternative == "greater"
            else rng.integers(9, size=(cells, limit + 1))
        )
        above, below = draws[:, 1:] >= draws[:, :1], draws[:, 1:] <= draws[:, :1]
        counts = above[:, :first].sum(axis=1), below[:, :first].sum(axis=1), np.full(cells, first)
        test, made = Sequential(*counts, alternative), first
        while made < limit:
            some = np.flatnonzero(test.running)
            more = slice(made, min(limit, made + 50))
            test.add(some, above[some, more], below[some, more])
            made = more.stop
        for level in (0.5, 0.2, 0.05, 0.01, 0.002):
            rate = (test.p <= level + 1e-12).mean()
            assert rate <= level + 3 * np.sqrt(level * (1 - level) / cells)
            if alternative == "greater":  # no ties: close to the level where the draws allow it
                assert rate >= 0.85 * level
        dull = counts[0] >= ENOUGH
        if alternative == "greater":
            assert (test.used[dull] == first).all()
            assert (test.used[~dull] > first).all()


def test_a_clear_cell_is_followed_to_its_end():
    """Les Miserables and its first eigenvector: 199 draws could not tell it, more do."""
    graph = nx.les_miserables_graph()
    strat = st.Stratification(graph, hops=1, weights=False)
    slow = strat.basis(1).dense()[:, 1]
    given = {"algorithms": "gft", "draws": 199, "alternative": "greater"}
    short = st.calibrate(strat, dict(zip(graph, slow, strict=True)), max_draws=199, **given)
    assert float(short["q"].min()) > 0.05
    assert "With 199 draws one eigenspace alone cannot reach q <= .05; use max_draws=" in str(short["status"].item())
    long = st.calibrate(strat, dict(zip(graph, slow, strict=True)), max_draws=19_999, **given)
    clear = long.sel(algorithm="gft", hop=1).isel(component=1)
    assert int(clear["draws_used"]) == 19_999
    assert float(clear["p"]) == float(clear["p_floor"]) == 1 / 20_000
    assert float(clear["q"]) <= 0.05
    assert "draws" not in str(long["status"].item())
    assert (long["draws_used"] >= 199).all()
    same = st.calibrate(strat, dict(zip(graph, slow, strict=True)), max_draws=19_999, **given)
    xr.testing.assert_identical(long, same)


@pytest.mark.parametrize("algorithm", ["gft", "in_agg", "apprx_ls", "adj_diff"])
@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk"])
def test_more_draws_are_the_draws_of_one_long_run(algorithm, laplacian):
    """Some cells alone, from their components alone, count what all of them count in one run."""
    graph = nx.disjoint_union(nx.connected_watts_strogatz_graph(12, 4, 0.3, seed=1), nx.path_graph(3))
    graph.add_node(15)
    signal = np.random.default_rng(2).normal(size=(16, 2)) + np.linspace(0, 3, 16)[:, None]
    given = {
        "algorithms": algorithm,
        "laplacian": laplacian,
        "hops": 2,
        "metric": "euclidean",
        "alternative": "greater",
    }
    short = st.calibrate(graph, signal, draws=20, max_draws=80, **given)
    long = st.calibrate(graph, signal, draws=80, max_draws=80, **given)
    full = short["draws_used"].values == 80
    assert full.any()
    np.testing.assert_array_equal(short["p"].values[full], long["p"].values[full])
    for place in np.argwhere((short["draws_used"].values < 80) & (short["draws_used"].values > 20)):
        used = int(short["draws_used"].values[tuple(place)])
        assert short["p"].values[tuple(place)] == 10 / used
        before = st.calibrate(graph, signal, draws=used - 1, max_draws=used - 1, **given)
        assert before["p"].values[tuple(place)] == 10 / used  # nine of the draws before, and the observed


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ties_are_recognised_in_both_precisions(dtype):
    """Two pulses on a ring: the energies have few values, and all orders of one distance tie."""
    ring = nx.cycle_graph(9)
    rng = np.random.default_rng(0)
    pairs = [np.isin(np.arange(9), rng.permutation(9)[:2]).astype(np.float32) for _ in range(200)]
    found = st.calibrate(
        ring, np.stack(pairs)[:, :, None], algorithms="gft", hops=1, draws=99, max_draws=99, dtype=dtype
    )
    distance = np.array([min(abs(a - b), 9 - abs(a - b)) for a, b in (np.flatnonzero(pair) for pair in pairs)])
    for d in range(1, 5):  # a quarter of all pairs each: the smaller tail has at least a quarter, ties included
        assert (found["p"].values[0, distance == d] >= 0.25).all()


@pytest.mark.parametrize("kind", ["normal", "cauchy", "pulses", "binary", "lognormal", "one-hot"])
def test_p_values_hold_their_level(kind):
    """A small share of the study in docs/testing.md."""
    graph = nx.connected_watts_strogatz_graph(30, 4, 0.3, seed=1)
    rng, signals = np.random.default_rng(7), 300
    values = {
        "normal": lambda: rng.normal(size=(signals, 30, 1)),
        "cauchy": lambda: rng.standard_cauchy(size=(signals, 30, 1)),
        "pulses": lambda: rng.permuted(np.tile((np.arange(30) < 2) * 1.0, (signals, 1)), axis=1)[..., None],
        "binary": lambda: rng.permuted(np.tile((np.arange(30) < 3) * 1.0, (signals, 1)), axis=1)[..., None],
        "lognormal": lambda: rng.lognormal(size=(signals, 30, 1)),
        "one-hot": lambda: np.eye(4)[rng.integers(4, size=(signals, 30))],
    }[kind]()
    found = st.calibrate(graph, values, algorithms="gft", hops=1, draws=99, max_draws=999, level="band")
    p = found["p"].values[0, :, 0]  # (signal, band)
    for level in (0.05, 0.01):
        rate = (p <= level + 1e-12).mean(axis=0)
        assert (rate <= level + 4 * np.sqrt(level * (1 - level) / signals)).all(), (kind, level, rate)


# ---- columns


def test_columns_have_their_own_p_and_one_family():
    graph = nx.connected_watts_strogatz_graph(40, 4, 0.2, seed=3)
    strat = st.Stratification(graph, hops=1)
    values = np.random.default_rng(0).normal(size=(40, 6))
    values[:, 1] = strat.basis(1).dense()[:, 1] * 5
    values[:, 4] = 7.0
    table = pd.DataFrame(values, columns=list("abcdef"))
    found = st.calibrate(strat, table, algorithms="gft", level="band", columns="separate", max_draws=9_999)
    assert found["p"].dims == ("algorithm", "column", "hop", "band")
    assert found["column"].values.tolist() == list("abcdef")
    for name in "abcdf":
        alone = st.calibrate(strat, table[name], algorithms="gft", level="band", draws=0)
        for variable in ("z", "ratio", "null_std"):
            np.testing.assert_allclose(found[variable].sel(column=name), alone[variable], rtol=1e-9, atol=1e-12)
    p, still = found["p"].values.ravel(), found["degenerate"].values.ravel()
    assert still.reshape(6, 4)[4].all()
    np.testing.assert_allclose(found["q"].values.ravel()[~still], false_discovery_control(p[~still]))
    q = found["q"].sel(algorithm="gft", hop=1)
    assert float(q.sel(column="b")[0]) < 0.01
    assert "degenerate" in str(found["status"].sel(column="e").item())


def test_columns_of_snapshots_compose(tmp_path):
    graph = nx.path_graph(12)
    values = np.random.default_rng(0).normal(size=(2, 12, 3))
    found = st.calibrate(
        graph, values, hops=2, algorithms=["gft", "in_agg"], columns="separate", draws=19, max_draws=19
    )
    assert found["q"].dims == ("algorithm", "snapshot", "column", "hop", "component")
    for m, t in np.ndindex(2, 2):
        p = found["p"].values[m, t].ravel()
        used = ~np.isnan(p) & ~found["degenerate"].values[m, t].ravel()
        np.testing.assert_allclose(found["q"].values[m, t].ravel()[used], false_discovery_control(p[used]))
    for ending in ("nc", "zarr"):
        again = st.open(st.save(found, tmp_path / f"chance.{ending}"))
        xr.testing.assert_identical(again, found)


def test_given_nulls_go_column_by_column():
    graph = nx.path_graph(12)
    values, null = np.random.default_rng(0).normal(size=(12, 3)), np.random.default_rng(1).normal(size=(9, 12, 3))
    found = st.calibrate(graph, values, null, hops=1, algorithms="gft", columns="separate")
    for j in range(3):
        alone = st.calibrate(graph, values[:, j], null[:, :, [j]], hops=1, algorithms="gft")
        for name in ("p", "null_energy", "null_std"):
            np.testing.assert_allclose(found[name].isel(column=j), alone[name], rtol=1e-12)
    with pytest.raises(OptionError, match="3 columns and those of null have 2"):
        st.calibrate(graph, values, null[:, :, :2], hops=1, algorithms="gft", columns="separate")


# ---- tails from moments


@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk"])
@pytest.mark.parametrize("width", [1, 2])
def test_the_third_moment_is_that_over_all_permutations(width, laplacian):
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (4, 5), (5, 6)]
    basis = st.Stratification(edges=edges, n_nodes=7, hops=1).basis(1, laplacian)
    t = np.random.default_rng(0).lognormal(size=(2, 7, width))
    groups = np.where(basis.is_zero, -1, (np.arange(7) > 4).astype(int))
    third = third_moment(space_thirds(basis, groups, 2), signal_thirds(t), 7)
    along = basis.dense() * (1 if basis.root is None else basis.root[:, None])
    orders = np.array(list(itertools.permutations(range(7))))
    for row in range(2):
        energy = (np.einsum("ni,pnd->pid", along, t[row][orders]) ** 2).sum(axis=2)
        for group in range(2):
            one = energy[:, groups == group].sum(axis=1)
            assert third[row, group] == pytest.approx(((one - one.mean()) ** 3).mean(), rel=1e-9)


def test_tails_from_moments():
    z = np.linspace(-6, 6, 25)
    np.testing.assert_allclose(pearson_p(z, 0 * z, "greater") + pearson_p(z, 0 * z, "less"), 1)
    for skewness in (-1.5, 1.5):
        for alternative in ("greater", "less", "two-sided"):
            p = pearson_p(z, skewness + 0 * z, alternative)
            assert ((p > 0) & (p <= 1)).all()


@pytest.fixture(scope="module")
def large():
    graph = nx.disjoint_union(nx.connected_watts_strogatz_graph(500, 6, 0.1, seed=1), nx.grid_2d_graph(20, 25))
    strat = st.Stratification(graph, hops=1)
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.normal(size=(1000, 30)), rng.lognormal(size=(1000, 10)), strat.basis(1).dense()[:, [1]]]
    )
    return strat, values


def test_bands_of_many_columns_from_moments(large, monkeypatch):
    strat, values = large
    monkeypatch.setattr(approximate, "CONFIRMED", 40)
    given = {"algorithms": "gft", "level": "band", "columns": "separate"}
    found = st.calibrate(strat, values, p_method="moments", **given)
    assert found.attrs["p_method"] == "moments"
    assert found.attrs["p_confirmed"] == 40
    assert found.attrs["p_agreement"] >= 0.95
    assert found["confirmed_p"].dims == ("confirmed",)
    p, cells = found["p"].values[0, :, 0], (found["confirmed_row"].values, found["confirmed_band"].values)
    np.testing.assert_array_equal(found["confirmed_p_moments"], p[cells])
    assert (found["draws_used"][0, :30] == 0).all()
    assert float(found["q"].sel(algorithm="gft", hop=1)[-1, 0]) < 1e-6
    drawn = st.calibrate(strat, values[:, :4], draws=499, max_draws=499, **given)
    np.testing.assert_allclose(drawn["z"].values[0], found["z"].values[0, :4], rtol=1e-9)
    near = np.abs(drawn["p"].values[0, :, 0] - p[:4])
    assert (near <= 4 * np.sqrt(p[:4] / 499) + 0.004).all()
    monkeypatch.setattr(approximate, "AFFORDABLE", 1e9)
    monkeypatch.setattr(approximate, "CONFIRMED", 2)
    assert st.calibrate(strat, values, **given).attrs["p_method"] == "moments"


def test_skewed_cells_get_permutations(large, monkeypatch):
    strat, values = large
    monkeypatch.setattr(approximate, "CONFIRMED", 10)
    nodes = np.random.default_rng(4).choice(1000, 15, replace=False)
    spikes = np.zeros((1000, 15))
    spikes[nodes, np.arange(15)] = 1.0
    given = {"algorithms": "gft", "level": "band", "columns": "separate", "p_method": "moments"}
    found = st.calibrate(strat, np.column_stack([values[:, :3], spikes]), **given).sel(algorithm="gft", hop=1)
    assert (found["draws_used"][:3] == 0).all()
    assert np.isnan(found["p_floor"][:3]).all()
    basis = strat.basis(1)
    ends = np.cumsum(found["band_size"].values)[:-1]  # 249, 249, 250, 250
    bands = np.split(np.flatnonzero(~basis.is_zero), ends)  # the energies of a spike, in all orders, are those of nodes
    energy = np.stack([np.sum(basis.dense()[:, band] ** 2, axis=1) for band in bands], axis=1)
    tails = [np.mean(sign * energy[:, None] >= sign * energy[nodes] - 1e-12, axis=0) for sign in (1, -1)]
    exact = np.minimum(1.0, 2 * np.minimum(*tails))
    p, used = found["p"].values[3:], found["draws_used"].values[3:]
    drawn = used > 0
    assert drawn.sum() >= 30
    assert (np.abs(np.log(p[drawn] / exact[drawn])) <= np.log(3)).all()  # ten draws as extreme: a third, three times
    assert p[drawn].min() < 0.05


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"level": "eigenspace"}, "is for level='band'"),
        ({"algorithms": ["gft", "in_agg"]}, "no moments for in_agg"),
        ({"laplacian": "normalized"}, "laplacian='normalized'"),
        ({"null": "rotate"}, "null='permute'"),
        ({"p_method": "gamma"}, "p_method"),
    ],
)
def test_moments_are_refused_where_they_do_not_hold(large, more, words):
    strat, values = large
    given = {"algorithms": "gft", "level": "band", "p_method": "moments"} | more
    with pytest.raises(OptionError, match=words):
        st.calibrate(strat, values[:, 0], **given)


def test_small_graphs_get_no_p_from_moments():
    with pytest.raises(OptionError, match="at least 1,000 nodes and the graph has 30"):
        st.calibrate(nx.path_graph(30), range(30), algorithms="gft", level="band", p_method="moments", hops=1)


# ---- pieces


def test_orders_depend_on_the_seed_and_their_number_alone():
    orders = Orders(20, (3, 4), 1000)
    whole = orders.take(0, 300)
    np.testing.assert_array_equal(orders.take(63, 130), whole[63:130])
    assert (np.sort(whole, axis=1) == np.arange(20)).all()
    assert len(np.unique(whole, axis=0)) == 300
    assert not np.array_equal(whole, Orders(20, (3, 5), 1000).take(0, 300))
    first = Orders(4, (0,), 10_000)
    assert sorted(map(tuple, first.take(0, 23).tolist())) == sorted(itertools.permutations(range(4)))[1:]


def test_the_draws_needed_let_one_cell_through():
    for cells in (1, 7, 8, 250):
        for alternative, tails in (("two-sided", 2), ("greater", 1)):
            needed = draws_needed(cells, alternative)
            assert cells * tails / (needed + 1) <= 0.05 + 1e-12
            assert cells * tails / needed > 0.05


def test_the_work_of_more_draws_is_bounded(monkeypatch):
    graph = nx.connected_watts_strogatz_graph(40, 4, 0.2, seed=3)
    strat = st.Stratification(graph, hops=1)
    monkeypatch.setattr(judge, "MORE", 1e6)
    found = st.calibrate(strat, strat.basis(1).dense()[:, 1], algorithms="gft", draws=99)
    assert 99 < int(found["draws_used"].max()) < 20_000
    assert float(found["p"].min()) == 2 / (int(found["draws_used"].max()) + 1)
