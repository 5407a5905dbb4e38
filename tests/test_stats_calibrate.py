"""Chance: exact moments, valid p-values, and honest words where nothing can be said."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.stats import false_discovery_control

import spectrata as st
from spectrata.errors import OptionError
from spectrata.inputs.graphs import as_graph
from spectrata.stats.describe.levels import level_groups
from spectrata.stats.moments import gft_null, signal_moments
from spectrata.stats.nulls.surrogates import permute_nodes, rewire, rotate_signal
from spectrata.stats.tally import adjust

SMALL = {
    "disconnected": [(0, 1), (1, 2), (3, 4)],
    "path": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    "clique with a tail": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5)],
}


@pytest.mark.parametrize("level", ["component", "eigenspace", "band"])
@pytest.mark.parametrize("name", SMALL)
def test_moments_of_the_gft_null_are_those_over_all_permutations(name, level):
    strat = st.Stratification(edges=SMALL[name], n_nodes=6, hops=1)
    basis = strat.basis(1)
    t = np.random.default_rng(0).normal(size=(2, 6, 2)) + 0.5
    groups, count = level_groups(basis.axis, level, 2)
    mean, variance = gft_null(basis, groups[0], count, signal_moments(t))
    orders = np.array(list(itertools.permutations(range(6))))
    for row, values in enumerate(t):
        coefficients = np.einsum("ni,pnd->pid", basis.dense(), values[orders])
        energy = (coefficients**2).sum(axis=2)
        grouped = np.stack([energy[:, groups[0] == a].sum(axis=1) for a in range(count)], axis=1)
        np.testing.assert_allclose(mean[row], grouped.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(variance[row], grouped.var(axis=0), atol=1e-12)


@pytest.mark.parametrize("n", [2, 3])
def test_moments_hold_on_the_smallest_graphs(n):
    strat = st.Stratification(nx.path_graph(n), hops=1)
    t = np.random.default_rng(1).normal(size=(1, n, 1))
    basis = strat.basis(1)
    mean, variance = gft_null(basis, np.arange(n), n, signal_moments(t))
    orders = np.array(list(itertools.permutations(range(n))))
    energy = (np.einsum("ni,pnd->pid", basis.dense(), t[0][orders]) ** 2).sum(axis=2)
    np.testing.assert_allclose(mean[0], energy.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(variance[0], energy.var(axis=0), atol=1e-14)


def test_the_null_mean_is_the_closed_form_of_the_design():
    graph = nx.disjoint_union(nx.petersen_graph(), nx.path_graph(4))
    strat = st.Stratification(graph, hops=1)
    values = np.random.default_rng(0).normal(size=(14, 3)) + 1
    found = st.calibrate(strat, values, draws=0, algorithms="gft", level="component", metric="euclidean")
    v = ((values - values.mean(0)) ** 2).sum() / 13
    null = found["null_energy"].loc["gft", 1].values
    np.testing.assert_allclose(null[2:], v)
    for zero, size in enumerate((10, 4)):
        assert null[zero] == pytest.approx(size * (values.mean(0) ** 2).sum() + (1 - size / 14) * v)
    assert (found["status"] == "no draws: p and q not computed").all()
    assert np.isnan(found["p"]).all()


def test_monte_carlo_agrees_with_the_closed_form():
    strat = st.Stratification(nx.petersen_graph(), hops=1)
    values = np.random.default_rng(0).normal(size=(10, 2))
    exact = st.calibrate(strat, values, draws=0, algorithms="gft")
    drawn = strat.spectra(permute_nodes(values[None], 4000, np.random.default_rng(1))[0], "gft")
    energy = st.merge_eigenspaces(drawn)["magnitude"].loc["gft"].sel(hop=1).values ** 2
    np.testing.assert_allclose(energy.mean(0), exact["null_energy"].loc["gft", 1], rtol=0.03)
    np.testing.assert_allclose(energy.std(0)[1:], exact["null_std"].loc["gft", 1][1:], rtol=0.06)


@pytest.mark.parametrize("kind", ["connected", "disconnected", "symmetric: Petersen"])
def test_p_values_reject_at_their_level_under_the_null(kind):
    from reproduction.studies import calibration

    # The full 10,000 signals are `python -m reproduction calibration`; this is its smaller twin.
    name, graph = next(item for item in calibration.graphs().items() if item[0].startswith(kind))
    for row in calibration.rates(name, graph, 1, 600, seed=5):
        standard_error = np.sqrt(0.05 * 0.95 / 600)
        assert row["rejected"] < 0.05 + 3.5 * standard_error, row
        assert row["rejected"] > 0.05 - 4.5 * standard_error, row


def test_p_values_are_uniform_under_the_null():
    strat = st.Stratification(nx.connected_watts_strogatz_graph(16, 4, 0.4, seed=1), hops=1)
    values = np.random.default_rng(3).normal(size=(4000, 16, 1))
    options = {"algorithms": "gft", "level": "band", "bands": 2, "alternative": "greater"}
    found = st.calibrate(strat, values, draws=19, max_draws=19, **options)
    for band in range(2):
        counts = np.bincount(np.rint(found["p"].loc["gft"].values[:, 0, band] * 20).astype(int), minlength=21)[1:]
        expected = 4000 / 20
        assert ((counts - expected) ** 2 / expected).sum() < 43.8  # chi-square, 19 degrees of freedom, p = 0.001


def test_ties_make_p_values_larger_never_smaller():
    # A pulse on a vertex-transitive graph: every permutation gives the same spectrum.
    strat = st.Stratification(nx.petersen_graph(), hops=1)
    found = st.calibrate(strat, np.eye(10)[0], draws=39, algorithms=["gft", "in_agg", "adj_diff", "apprx_ls"])
    assert (found["p"].fillna(1.0) == 1.0).loc[["gft", "in_agg"]].all()
    assert (found["degenerate"].loc["gft"]).all()
    assert found["status"].loc["gft", 1] == "degenerate: no draw differs"


def test_a_discrete_null_is_conservative():
    strat = st.Stratification(nx.path_graph(5), hops=1)
    values = permute_nodes(np.array([[[1.0], [0], [0], [0], [0]]]), 800, np.random.default_rng(0))[0]
    for alternative in ("greater", "less", "two-sided"):
        found = st.calibrate(strat, values, draws=39, algorithms="gft", alternative=alternative)
        rejected = (found["p"] <= 0.05).mean("snapshot")
        assert float(rejected.max()) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 800)


@pytest.mark.parametrize("values", [np.ones(8), np.tile([1.0, 2.0], (8, 1)), np.zeros(8)])
def test_a_constant_signal_is_called_degenerate(values):
    strat = st.Stratification(nx.cycle_graph(8), hops=2)
    found = st.calibrate(strat, values, draws=19)
    assert (found["status"].astype(str).str.startswith("degenerate")).all()
    assert (found["p"].fillna(1.0) == 1.0).all()
    assert np.isnan(found["z"]).all()


def test_zero_vectors_leave_a_status():
    strat = st.Stratification(nx.cycle_graph(8), hops=1)
    values = np.random.default_rng(0).normal(size=(2, 8, 2))
    values[1, 3] = 0
    found = st.calibrate(strat, values, draws=9, algorithms="gft", zero_vectors="nan")
    assert np.isnan(found["p"].isel(snapshot=1)).all()
    assert "zero vector" in str(found["status"].isel(snapshot=1).values.item())
    assert not np.isnan(found["p"].isel(snapshot=0)).any()


def test_q_is_benjamini_hochberg():
    p = np.random.default_rng(0).uniform(size=(3, 40)) ** 2
    np.testing.assert_allclose(adjust(p), false_discovery_control(p, axis=1))
    p[:, ::4] = np.nan
    expected = false_discovery_control(p[:, ~np.isnan(p[0])], axis=1)
    np.testing.assert_allclose(adjust(p)[:, ~np.isnan(p[0])], expected)


def test_q_is_taken_over_hops_and_components_of_one_algorithm_and_snapshot():
    strat = st.Stratification(nx.path_graph(9), hops=2)
    found = st.calibrate(strat, np.random.default_rng(0).normal(size=(2, 9, 1)), draws=99, algorithms=["gft", "in_agg"])
    for m, t in np.ndindex(2, 2):
        p = found["p"].values[m, t].ravel()
        used = ~found["degenerate"].values[m, t].ravel() & ~np.isnan(p)
        np.testing.assert_allclose(found["q"].values[m, t].ravel()[used], false_discovery_control(p[used]))


def test_planted_structure_is_found_and_shuffling_loses_it():
    graph = nx.planted_partition_graph(2, 20, 0.5, 0.05, seed=2)
    strat = st.Stratification(graph, hops=1)
    values = np.random.default_rng(0).normal(size=(40, 3)) + 2 * (np.arange(40) < 20)[:, None]
    found = st.calibrate(strat, values, draws=199, level="band", algorithms=["gft", "apprx_ls"])
    assert float(found["q"].loc["gft", 1][0]) <= 0.04
    assert float(found["z"].loc["gft", 1][0]) > 3
    shuffled = st.calibrate(
        strat, np.random.default_rng(1).permutation(values), draws=199, level="band", algorithms="gft"
    )
    assert float(shuffled["q"].min()) > 0.05


@pytest.mark.parametrize("null", ["permute", "rotate"])
def test_drawn_signals_keep_what_the_null_says(null):
    values = np.random.default_rng(0).normal(size=(2, 9, 3)) + 1
    sample = permute_nodes if null == "permute" else rotate_signal
    drawn = sample(values, 5, np.random.default_rng(1))
    assert drawn.shape == (2, 5, 9, 3)
    np.testing.assert_allclose(drawn.mean(axis=2), np.broadcast_to(values.mean(axis=1)[:, None], (2, 5, 3)))
    gram = np.einsum("sknd,skne->skde", drawn, drawn)
    np.testing.assert_allclose(gram, np.broadcast_to(np.einsum("snd,sne->sde", values, values)[:, None], gram.shape))
    assert not np.allclose(drawn[:, 0], drawn[:, 1])


def test_rotations_of_wide_signals_work():
    values = np.random.default_rng(0).normal(size=(1, 5, 9))
    drawn = rotate_signal(values, 3, np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=(2, 3)), np.linalg.norm(values))


def test_rewiring_keeps_degrees_and_changes_edges():
    graph = as_graph(nx.barabasi_albert_graph(40, 3, seed=1))
    edges = rewire(graph, np.random.default_rng(0))
    assert (np.bincount(edges.ravel(), minlength=40) == np.diff(graph.indptr)).all()
    assert len({frozenset(edge) for edge in edges.tolist()}) == graph.n_edges
    kept = {frozenset(edge) for edge in edges.tolist()} & {frozenset(edge) for edge in graph.edges.tolist()}
    assert len(kept) < 0.6 * graph.n_edges


def test_rewired_and_given_nulls():
    graph = nx.planted_partition_graph(2, 15, 0.6, 0.03, seed=1)
    strat = st.Stratification(graph, hops=2)
    values = np.random.default_rng(0).normal(size=(30, 2)) + 3 * (np.arange(30) < 15)[:, None]
    rewired = st.calibrate(strat, values, "rewire", 39, level="band", algorithms="gft", alternative="greater")
    assert float(rewired["p"].loc["gft", 1][0]) == pytest.approx(1 / 40)
    untrained = np.random.default_rng(1).normal(size=(39, 30, 2))
    given = st.calibrate(strat, values, untrained, level="band", algorithms="gft", alternative="greater", relative=True)
    assert float(given["p"].loc["gft", 1][0]) == pytest.approx(1 / 40)
    assert given.attrs["null"] == "given"


def test_batches_do_not_change_the_result(monkeypatch):
    strat = st.Stratification(nx.petersen_graph(), hops=2)
    values = np.random.default_rng(0).normal(size=(3, 10, 2))
    from spectrata.stats import draws as module

    together = st.calibrate(strat, values, draws=20, algorithms=["gft", "adj_diff"], max_draws=200)
    monkeypatch.setattr(module, "BATCH", 10 * 2 * 7)  # seven signals at a time
    apart = st.calibrate(strat, values, draws=20, algorithms=["gft", "adj_diff"], max_draws=200)
    for name in ("p", "q", "draws_used", "status"):
        np.testing.assert_array_equal(together[name], apart[name], err_msg=name)
    np.testing.assert_allclose(together["z"], apart["z"], rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"null": "shuffle"}, "null"),
        ({"null": "rewire"}, "band"),
        ({"draws": -1}, "draws"),
        ({"level": "part"}, "level"),
        ({"level": "band", "bands": 0}, "bands"),
        ({"level": "band", "bands": 2**31}, "bands"),
        ({"alternative": "both"}, "alternative"),
        ({"null": np.ones((1, 10, 2))}, "several"),
    ],
)
def test_bad_arguments_are_said(arguments, word):
    strat = st.Stratification(nx.petersen_graph(), hops=1)
    with pytest.raises(OptionError, match=word):
        st.calibrate(strat, np.random.default_rng(0).normal(size=(10, 2)), **arguments)


def test_no_status_asks_for_draws_that_were_allowed():
    """Cells of noise stop early: that no q reaches .05 is then no lack of draws."""
    strat = st.Stratification(nx.karate_club_graph(), hops=1, weights=False)
    silent = 0
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(size=34)
        found = st.calibrate(strat, noise, algorithms="gft", draws=99)
        assert "use " not in str(found["status"].values)
        silent += float(found["q"].min()) > 0.05
        short = st.calibrate(strat, noise, algorithms="gft", draws=99, max_draws=99)
        assert "use max_draws=" in str(short["status"].values)
    assert silent
