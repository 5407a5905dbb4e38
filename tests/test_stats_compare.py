"""Two results, a step, two groups, a score: each against an independent computation."""

import networkx as nx
import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import spectrata as st
from spectrata.errors import OptionError, ResultError

PATH = nx.path_graph(14)  # simple eigenvalues


def random_signal(n, *shape, seed=0):
    return np.random.default_rng(seed).normal(size=(*shape, n, 2))


def test_compare_lines_up_snapshots_and_says_what_is_undefined():
    strat = st.Stratification(PATH, hops=2)
    a = strat.spectra(random_signal(14, 3))
    single = strat.spectra(random_signal(14, seed=9))
    assert st.compare(a, single)["correlation"].dims == ("algorithm", "snapshot", "hop")
    np.testing.assert_allclose(st.compare(a, a)["correlation"], 1.0)
    np.testing.assert_allclose(st.compare(a, a)["wasserstein"], 0.0, atol=1e-12)
    flat = strat.spectra(np.ones((14, 2)))
    cell = st.compare(single, flat).sel({"algorithm": "apprx_ls", "hop": 1})
    assert np.isnan(cell["cosine"])
    assert "without energy" in str(cell["status"].values)
    with pytest.raises(ResultError, match="3 labels along snapshot and the second has 2"):
        st.compare(a, strat.spectra(random_signal(14, 2)))
    with pytest.raises(ResultError, match="different graphs"):
        st.compare(single, st.spectra(nx.cycle_graph(14), random_signal(14)))
    with pytest.raises(ResultError, match="no algorithm"):
        st.compare(strat.spectra(random_signal(14), "gft"), strat.spectra(random_signal(14), "in_agg"))


def test_response_is_the_filter_that_was_applied():
    ring = nx.cycle_graph(30)
    strat = st.Stratification(ring, hops=1)
    x = np.random.default_rng(0).normal(size=(30, 2))
    y = x + 0.5 * (np.roll(x, 1, 0) + np.roll(x, -1, 0))  # gain 1 + cos w = 2 - lam / 2
    found = st.response(x, y, strat, level="eigenspace", metric="euclidean")
    lam = found["eigenvalue"].loc[1].values
    np.testing.assert_allclose(found["response"].loc[1], 2 - lam / 2, atol=1e-9)
    energies = [np.linalg.norm(signal - signal.mean(axis=0)) ** 2 for signal in (x, y)]
    spectra = (strat.spectra(signal, "gft", metric="euclidean") for signal in (x, y))
    for name, ds, energy in zip(("share_before", "share_after"), spectra, energies, strict=True):
        merged = st.merge_eigenspaces(ds)["magnitude"].loc["gft", 1].values[1:] ** 2
        np.testing.assert_allclose(found[name].loc[1][1:], merged / energy, atol=1e-12)
        assert np.isnan(found[name].loc[1][0])  # the constant part has no share off zero


@pytest.mark.parametrize("step", ["linear", "relu", "rows"])
def test_noise_stays_exchangeable_under_maps_of_single_nodes(step):
    """The test of a step that the documentation recommends: calibrate what the step makes of noise."""
    graph = nx.random_geometric_graph(30, 0.35, seed=2)
    strat = st.Stratification(graph, hops=1)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(120, 30, 3))
    mixed = noise @ rng.normal(size=(3, 3))
    made = {
        "linear": mixed,
        "relu": np.maximum(mixed, 0) + 1e-3,
        "rows": mixed / np.linalg.norm(mixed, axis=2, keepdims=True),
    }[step]
    arguments = {"level": "band", "metric": "euclidean", "draws": 199}
    p = st.calibrate(strat, made, **arguments)["p"].loc["gft"].values[:, 0]
    assert (p <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 480)
    walk = np.eye(30) + nx.to_numpy_array(graph)
    walked = (walk / walk.sum(axis=1, keepdims=True)) @ made
    assert (st.calibrate(strat, walked, **arguments)["p"].loc["gft"].values[:, 0, 0] <= 0.05).mean() > 0.5


def test_response_of_results_and_of_signals_agree():
    x, y = random_signal(14, seed=1), random_signal(14, seed=2)
    strat = st.Stratification(PATH, hops=1)
    direct = st.response(x, y, strat)
    for keep in (None, ()):
        found = st.response(strat.using(keep=keep).spectra(x), strat.using(keep=keep).spectra(y))
        for name in ("relative", "share_before", "share_after"):
            np.testing.assert_allclose(found[name], direct[name])
    with pytest.raises(OptionError, match="two results, or two signals"):
        st.response(x, y)
    one = st.response(x[:, :1], y, strat)  # one metric for both sides
    assert one.attrs["metric"] == "euclidean"
    results = [strat.spectra(signal, ["gft", "apprx_ls"], seed=3) for signal in (x, y)]
    found, direct = st.response(*results, algorithm="apprx_ls"), st.response(x, y, strat, algorithm="apprx_ls", seed=3)
    np.testing.assert_allclose(found["relative"], direct["relative"])
    with pytest.raises(ResultError, match="in_agg"):
        st.response(*results, algorithm="in_agg")
    with pytest.raises(OptionError, match="leave out metric"):
        st.response(*results, metric="euclidean")
    np.testing.assert_allclose(one["share_after"], st.response(x, y, strat, metric="euclidean")["share_after"])


def test_distinguish_agrees_with_scipy_and_tells_groups_apart():
    strat = st.Stratification(nx.path_graph(10), hops=1)
    rng = np.random.default_rng(0)
    a = rng.normal(size=(7, 10, 1))
    b = np.linspace(-1, 1, 10)[:, None] + 0.1 * rng.normal(size=(9, 10, 1))
    ds_a, ds_b = strat.spectra(a, "gft"), strat.spectra(b, "gft")
    found = st.stats.distinguish(ds_a, ds_b, draws=199)
    x, y = (st.stats.normalize(ds)["magnitude"].loc["gft"].values[:, 0] for ds in (ds_a, ds_b))
    for kind, of in (("mean", np.mean), ("max", np.max)):
        within_a = [of(np.abs(x[i] - x[j])) for i in range(7) for j in range(i)]
        within_b = [of(np.abs(y[i] - y[j])) for i in range(9) for j in range(i)]
        across = [of(np.abs(p - q)) for p in x for q in y]
        cell = found["wasserstein"].loc["gft", 1].sel(kind=kind)
        assert float(cell.sel(pair="AB-AA")) == pytest.approx(wasserstein_distance(across, within_a))
        assert float(cell.sel(pair="AB-BB")) == pytest.approx(wasserstein_distance(across, within_b))
        assert float(cell.sel(pair="AA-BB")) == pytest.approx(wasserstein_distance(within_a, within_b))
    gap = np.abs(x.mean(0) - y.mean(0))
    assert float(found["largest_mean_difference"].loc["gft", 1]) == pytest.approx(gap.max())
    assert int(found["at_component"].loc["gft", 1]) == gap.argmax()
    assert float(found["largest_p"].loc["gft", 1]) == pytest.approx(1 / 200)


def test_distinguish_rejects_at_its_level_when_groups_are_alike():
    strat = st.Stratification(nx.path_graph(8), hops=1)
    rng = np.random.default_rng(1)
    p = []
    for _ in range(120):
        ds = strat.using(keep=()).spectra(rng.normal(size=(12, 8, 1)), "gft")
        found = st.stats.distinguish(ds.isel(snapshot=slice(0, 6)), ds.isel(snapshot=slice(6, 12)), draws=19)
        p.append(float(found["largest_p"][0, 0]))
    assert (np.array(p) <= 0.05).mean() < 0.12
    with pytest.raises(OptionError, match="two snapshots"):
        st.stats.distinguish(ds.isel(snapshot=[0]), ds)


def test_what_does_not_vary_is_not_correlated():
    ds = st.spectra(PATH, random_signal(14, 25), hops=2)
    score = np.random.default_rng(5).normal(size=25) + ds["gradient_norm"].values[:, 0]
    assert st.stats.correlate(ds, score, of="magnitude")["pearson"].dims == ("algorithm", "hop", "component")
    norms = st.stats.correlate(ds, score, of="magnitude_norm")["pearson"].loc["gft", 1]
    size = np.linalg.norm(ds["magnitude"].loc["gft"].values[:, 0], axis=1)
    # Unit vectors: the norm of their gft does not vary at all, so there is nothing to correlate.
    assert np.isnan(norms)
    assert size.std() < 1e-12
    for bad in ({"score": score[:-1]}, {"score": score, "of": "edges"}, {"score": score, "confidence": 2}):
        with pytest.raises(OptionError):
            st.stats.correlate(ds, **bad)


def test_a_comparison_says_what_was_compared():
    strat = st.Stratification(PATH, hops=2)
    a = strat.spectra(random_signal(14, 3), ["gft", "in_agg"])
    b = strat.spectra(random_signal(14, 3, seed=5), ["adj_diff", "gft"])
    found = st.compare(a, b, zero=True)
    assert found["algorithm"].values.tolist() == ["gft"]
    assert found["snapshot"].values.tolist() == a["snapshot"].values.tolist()
    named = a.assign_coords(snapshot=["x", "y", "z"])
    for pair in ((named, b.isel(snapshot=0)), (b.isel(snapshot=0), named)):
        alone = st.compare(*pair)
        assert alone["snapshot"].values.tolist() == ["x", "y", "z"]
        assert alone["energy_shift"].dims[-1] == "band"
    assert found.attrs["graph_hash"] == a.attrs["graph_hash"] != ""
    assert (found.attrs["metric"], found.attrs["kind"], found.attrs["zero"]) == ("angular", "comparison", 1)


def test_shifts_are_corrected_over_hops():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 6))
    strat, found = st.Stratification(graph, hops=5), 0
    for seed in range(60):
        a, b = (strat.spectra(one, "gft") for one in np.random.default_rng(seed).normal(size=(2, 30)))
        found += bool((st.compare(a, b, draws=199)["shift_p"] <= 0.05).any())
    assert found <= 8  # 3 expected; corrected over the bands of each hop alone about 9
