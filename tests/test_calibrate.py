"""Shares of energy against chance: by brute force, in closed form, under every null, and what is refused."""

import itertools

import networkx as nx
import numpy as np
import pytest
import xarray as xr

import brute
import calls
import spectrata as st
from spectrata.errors import OptionError, ResultError
from spectrata.stats.nulls.orders import orders
from spectrata.stats.nulls.surrogates import rotate_signal

GRAPH = nx.connected_watts_strogatz_graph(18, 4, 0.4, seed=3)
PARTS = nx.disjoint_union_all([nx.path_graph(6), nx.cycle_graph(5), nx.empty_graph(1)])
STRAT = st.Stratification(GRAPH, 2)
SIGNAL = np.random.default_rng(0).normal(size=18)


def energies(graph, signals, laplacian="combinatorial", hop=1):
    """Energies of the eigenspaces off zero, ``(T, spaces)``, of signals ``(T, n)``."""
    away = dict(nx.all_pairs_shortest_path_length(graph))
    nodes = range(len(graph))
    adjacency = np.array([[float(away[x].get(y) == hop) for y in nodes] for x in nodes])
    op = brute.operator(adjacency, laplacian)
    squares = (signals @ op.dual) ** 2
    return np.stack([squares[:, op.space == space].sum(axis=1) for space in range(1, op.space.max() + 1)], axis=1)


def shares(graph, signals, laplacian="combinatorial", hop=1):
    found = energies(graph, signals, laplacian, hop)
    return found / found.sum(axis=1, keepdims=True)


def expected_p(observed, drawn):
    """Two-sided p of each column: stops at 64 draws with 20 in the smaller tail, else all 99 count."""
    out = []
    for value, own in zip(observed, drawn.T, strict=True):
        for count in (64, len(own)):
            tails = np.sum(own[:count] >= value - 1e-10), np.sum(own[:count] <= value + 1e-10)
            if min(tails) >= 20:
                break
        out.append(min(1.0, 2 * (min(tails) + 1) / (count + 1)))
    return np.array(out)


@pytest.mark.parametrize("graph", [GRAPH, PARTS, nx.cycle_graph(9)], ids=["connected", "parts", "ring"])
@pytest.mark.parametrize("laplacian", ["combinatorial", "random_walk", "normalized"])
@pytest.mark.parametrize("hop", [1, 2])
def test_eigenspaces_by_brute_force(graph, laplacian, hop):
    signal = np.random.default_rng(len(graph)).normal(size=len(graph)) + 3.0
    strat = st.Stratification(graph, [hop], laplacian=laplacian)
    found = st.calibrate(strat, signal, draws=99, seed=4).sel(algorithm="gft", hop=hop)
    off = ~found["is_zero"].values
    observed = shares(graph, signal[None], laplacian, hop)[0]
    drawn = shares(graph, signal[orders(4, len(graph), 0, 99)], laplacian, hop)
    np.testing.assert_allclose(found["share"].values[off], observed, atol=1e-12)
    np.testing.assert_allclose(found["p"].values[off], expected_p(observed, drawn))
    assert np.isnan(found["p"].values[~off]).all()
    assert found["energy"].item() == pytest.approx(energies(graph, signal[None], laplacian, hop).sum())
    assert (found["chance_low"] <= found["chance_high"]).values[off].all()


@pytest.mark.parametrize("algorithm", ["apprx_ls", "in_agg", "adj_diff"])
@pytest.mark.parametrize("level", ["component", "eigenspace", "band"])
def test_other_algorithms_are_their_spectra_of_permuted_signals(algorithm, level):
    found = st.calibrate(STRAT, SIGNAL, algorithm, level=level, bands=3, draws=99).sel(hop=1, algorithm=algorithm)
    mixed = SIGNAL[orders(0, 18, 0, 99)][:, :, None]
    drawn = st.spectra(STRAT, np.concatenate([SIGNAL[None, :, None], mixed]), algorithm, metric="euclidean")
    merged = drawn if level == "component" else st.merge_eigenspaces(drawn)
    merged = merged.sel(hop=1, algorithm=algorithm)
    energy = merged["magnitude"].values[:, ~merged["is_zero"].values] ** 2
    if level == "band":
        sizes = merged["multiplicity"].values[~merged["is_zero"].values]
        middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        energy = np.stack([energy[:, (middle * 3).astype(int) == band].sum(axis=1) for band in range(3)], axis=1)
    share = energy / energy.sum(axis=1, keepdims=True)
    off = slice(None) if level == "band" else ~found["is_zero"].values
    np.testing.assert_allclose(found["share"].values[off], share[0], atol=1e-12)
    np.testing.assert_allclose(found["p"].values[off], expected_p(share[0], share[1:]))


def test_p_is_uniform_under_its_null_and_finds_what_is_planted():
    rng = np.random.default_rng(5)
    noise = st.calibrate(STRAT, rng.standard_normal((600, 18, 1)), level="band", draws=199)["p"].values[0]
    for level in (0.05, 0.2, 0.5):
        rate = (noise <= level).mean(axis=0)
        assert (rate <= level + 4 * np.sqrt(level * (1 - level) / 600)).all()
    assert ((noise <= 0.5).mean(axis=0) > 0.35).all()
    counts = st.calibrate(STRAT, rng.poisson(0.4, (300, 18, 1)) + 0.0, level="band", draws=199)["p"].values[0]
    assert (np.nanmean(counts <= 0.05, axis=0) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 300)).all()
    slow = st.calibrate(nx.path_graph(60), np.arange(60.0), hops=1, level="band").sel(algorithm="gft", hop=1)
    assert slow["p"].values[0] < 1e-3
    assert slow["q"].values[0] <= 0.001
    assert slow["ratio"].values[0] > 3
    assert slow["share"].values[0] > slow["chance_high"].values[0]


def test_a_seed_gives_the_same_p_whatever_is_tested_beside():
    together = st.calibrate(STRAT, SIGNAL, ["gft", "in_agg"])
    alone = st.calibrate(STRAT.only(2), SIGNAL)
    np.testing.assert_array_equal(alone["p"].sel(algorithm="gft", hop=2), together["p"].sel(algorithm="gft", hop=2))
    many = st.calibrate(STRAT, np.stack([SIGNAL, SIGNAL[::-1]])[:, :, None], metric="euclidean")
    np.testing.assert_array_equal(many["p"].isel(snapshot=0), st.calibrate(STRAT, SIGNAL)["p"])
    other = st.calibrate(STRAT, SIGNAL, seed=1)["p"]
    assert not other.equals(st.calibrate(STRAT, SIGNAL)["p"])
    big = st.calibrate(STRAT, SIGNAL * 1e150)
    np.testing.assert_allclose(big["p"], st.calibrate(STRAT, SIGNAL)["p"])


def test_q_counts_hops_bands_and_columns():
    table = np.random.default_rng(2).normal(size=(18, 3))
    found = st.calibrate(STRAT, table, columns="separate", level="band", draws=99)
    p = found["p"].sel(algorithm="gft").values.ravel()
    order = np.argsort(p)
    ranked = np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]
    np.testing.assert_allclose(found["q"].sel(algorithm="gft").values.ravel()[order], np.minimum(ranked, 1))
    for column in range(3):
        alone = st.calibrate(STRAT, table[:, column], level="band", draws=99)
        np.testing.assert_allclose(found["p"].isel(column=column), alone["p"])


# ---- other nulls


def test_rotated_signals_keep_mean_and_covariance_and_no_direction():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 3)) * [1, 2, 3] + 5.0
    drawn = rotate_signal(values, 400, rng)  # (draws, n, d)
    np.testing.assert_allclose(drawn.mean(axis=1), np.broadcast_to(values.mean(axis=0), (400, 3)))
    for one in drawn[:5]:
        np.testing.assert_allclose(np.cov(one.T), np.cov(values.T))
    spread = (drawn - drawn.mean(axis=1, keepdims=True)).var(axis=0)
    np.testing.assert_allclose(spread, np.broadcast_to(spread.mean(axis=0), spread.shape), rtol=0.35)
    found = st.calibrate(STRAT, SIGNAL, null="rotate", level="band", draws=999).sel(algorithm="gft", hop=1)
    sizes = found["band_size"].values
    np.testing.assert_allclose(found["chance"], sizes / sizes.sum(), rtol=0.2)
    assert found.attrs["null"] == "rotate"


def test_rewired_graphs_tell_communities_from_degrees():
    graph = nx.planted_partition_graph(2, 12, 0.8, 0.05, seed=1)
    side = np.repeat([0.0, 1.0], 12)
    found = st.calibrate(graph, side, hops=1, null="rewire", level="band", draws=39)
    assert found["p"].values.ravel()[0] == pytest.approx(2 / 40)
    assert found.attrs["draws"] == 39
    again = st.calibrate(graph, side, hops=1, null="rewire", level="band", draws=39)
    np.testing.assert_array_equal(found["p"], again["p"])


@pytest.mark.parametrize("separate", [False, True])
def test_given_draws_are_compared_column_by_column(separate):
    rng = np.random.default_rng(3)
    signal, drawn = rng.normal(size=(18, 2)), rng.normal(size=(60, 18, 2))
    how = {"columns": "separate" if separate else "joint", "metric": "euclidean"}
    found = st.calibrate(STRAT, signal, null=drawn, level="eigenspace", **how)
    spectra = st.merge_eigenspaces(st.spectra(STRAT, np.concatenate([signal[None], drawn]), "gft", **how))
    energy = spectra["magnitude"].where(~spectra["is_zero"]) ** 2
    share = (
        (energy / energy.sum("component")).sel(algorithm="gft").transpose("snapshot", ..., "hop", "component").values
    )
    np.testing.assert_allclose(found["share"].sel(algorithm="gft"), share[0])
    observed, others = share[0].ravel(), share[1:].reshape(60, -1)
    known = ~np.isnan(observed)
    smaller = np.minimum((others >= observed - 1e-10).sum(axis=0), (others <= observed + 1e-10).sum(axis=0))
    wanted = np.minimum(1, 2 * (smaller + 1) / 61)
    np.testing.assert_allclose(found["p"].sel(algorithm="gft").values.ravel()[known], wanted[known])
    assert found.attrs["null"] == "draws"
    assert "give more" in str(found["status"].values.ravel()[0])


# ---- results, bands, status


def test_a_result_is_tested_as_it_was_computed():
    table = np.random.default_rng(2).normal(size=(3, 18, 2))
    strat = STRAT.using(laplacian="random_walk")
    ds = st.spectra(strat, table, ["gft", "apprx_ls"], apprx_ls={"orientation": "index"})
    direct = st.calibrate(strat, table, draws=99)
    for found in (st.calibrate(ds, draws=99), st.calibrate(ds, table, draws=99)):
        np.testing.assert_allclose(found["p"], direct["p"])
        assert found.attrs["laplacian"] == "random_walk"
    own = st.calibrate(ds, None, "apprx_ls", draws=99)
    np.testing.assert_allclose(own["magnitude"], st.merge_eigenspaces(ds)["magnitude"].sel(algorithm=["apprx_ls"]))
    bare = st.spectra(strat.using(keep=()), table, "gft")
    with pytest.raises(ResultError, match="keeps no signal"):
        st.calibrate(bare)
    with pytest.raises(OptionError, match="leave out hops"):
        st.calibrate(ds, hops=1)


@pytest.mark.parametrize("columns", ["joint", "separate"])
def test_bands_of_large_graphs_by_brute_force(columns):
    graph = nx.cycle_graph(40)
    signal = np.random.default_rng(1).normal(size=(40, 2)) + np.sin(np.arange(40) / 6)[:, None]
    how = {"algorithms": "gft", "bands": [0, 1, 3], "columns": columns, "metric": "euclidean"}
    found = st.calibrate(calls.band_spectra(graph, signal, **how), signal, draws=99)
    drawn = []
    for order in [np.arange(40), *orders(0, 40, 0, 99)]:
        one = calls.band_spectra(graph, signal[order], **how)
        drawn.append((one["energy"] / (one["energy"].sum("band") + one["energy_outside"])).values.ravel())
    drawn = np.array(drawn)
    np.testing.assert_allclose(found["share"].values.ravel(), drawn[0], rtol=1e-9)
    np.testing.assert_allclose(found["p"].values.ravel(), expected_p(drawn[0], drawn[1:]))
    with pytest.raises(OptionError, match="only null='permutation'"):
        st.calibrate(calls.band_spectra(graph, signal, **how), signal, null="rotate")
    with pytest.raises(OptionError, match="keeps no signal"):
        st.calibrate(calls.band_spectra(graph, signal, **how))


def test_status_says_what_was_not_tested():
    constant = st.calibrate(STRAT, np.ones(18), draws=39)
    assert set(constant["status"].values.ravel()) == {"undefined: no energy off zero"}
    assert constant["p"].isnull().all()
    whole = st.calibrate(nx.complete_graph(6), np.arange(6.0), draws=39)  # one eigenspace off zero
    assert whole["status"].item() == "degenerate: no draw differs"
    assert float(whole["p"].values.ravel()[1]) == 1.0
    assert float(whole["q"].values.ravel()[1]) == 1.0
    short = st.calibrate(STRAT, SIGNAL, draws=39)
    assert "With 39 draws no eigenspace can reach q <= .05; use draws=999" in str(short["status"].values)
    described = st.calibrate(STRAT, SIGNAL, draws=0)
    np.testing.assert_allclose(described["ratio"], described["share"] / described["chance"])
    assert described["p"].isnull().all()
    assert set(described["status"].values.ravel()) == {"no draws: p and q not computed"}


@pytest.mark.parametrize(
    ("graph", "signal"),
    [
        (nx.path_graph(3), [0.0, 1.0, 3.0]),
        (nx.star_graph(4), [0.0, 1.0, 1.0, 5.0, 2.0]),
        (nx.disjoint_union(nx.path_graph(3), nx.path_graph(4)), [1.0, 0, 0, 1, 0, 0, 0]),
    ],
    ids=["path", "star", "parts"],
)
def test_few_arrangements_are_all_counted(graph, signal):
    """p and the interval of chance are those of all n! orders."""
    every = np.array(list(itertools.permutations(signal)))
    with np.errstate(invalid="ignore"):
        drawn, own = shares(graph, every), shares(graph, np.array([signal]))[0]
    lost = np.isnan(drawn)
    tails = [np.mean(side | lost, axis=0) for side in (drawn >= own - 1e-10, drawn <= own + 1e-10)]
    found = [st.calibrate(graph, signal, hops=1, seed=seed).sel(algorithm="gft", hop=1) for seed in (0, 1)]
    off = ~found[0]["is_zero"].values
    np.testing.assert_allclose(found[0]["p"].values[off], np.minimum(1, 2 * np.minimum(*tails)))
    for name, share in (("chance_low", 0.025), ("chance_high", 0.975)):
        wanted = [np.quantile(one[~np.isnan(one)], share, method="inverted_cdf") for one in drawn.T]
        np.testing.assert_allclose(found[0][name].values[off], wanted)
    np.testing.assert_array_equal(found[0]["p"], found[1]["p"])


def test_ties_are_recognised_in_single_precision():
    """One of two values per node on a ring: many orders give the same share, in both precisions."""
    ring = st.Stratification(nx.cycle_graph(8), 1)
    signal = np.array([1.0, 1, 1, 0, 0, 0, 0, 0])
    p = [st.calibrate(ring.using(dtype=dtype), signal, draws=199)["p"].values for dtype in ("float64", "float32")]
    np.testing.assert_allclose(*p)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"null": "shuffle"}, "null='shuffle' is not one of permutation, rotate, rewire"),
        ({"null": "rewire"}, "use level='band'"),
        ({"null": np.ones((1, 18, 1))}, "null holds one signal"),
        ({"null": np.ones((3, 18, 2))}, "The signal has 1 columns and those of null have 2"),
        ({"level": "octave"}, "level"),
        ({"draws": 9}, "use 39 or more"),
        ({"algorithms": "fourier"}, "fourier"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(OptionError, match=words):
        st.calibrate(STRAT, SIGNAL, **given)


def test_the_size_of_a_block_changes_no_number(monkeypatch):
    graph, signal = nx.cycle_graph(12), np.random.default_rng(0).normal(size=(2, 12, 1))
    whole = st.calibrate(graph, signal, "gft", hops=1, draws=99)
    monkeypatch.setattr("spectrata.stats.statistics.shares.NUMBERS", 10)
    xr.testing.assert_allclose(st.calibrate(graph, signal, "gft", hops=1, draws=99), whole)
